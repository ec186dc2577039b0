//! The columns of messages between the rows in which they are sent and received.
//!
//! A message runs to its receiver's side in the row in which it is sent, then down beside the receiver's line, and
//! enters it in the row in which it is received. So it crosses no event in between.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Track {
    /// The column in which it runs down.
    pub(super) column: usize,
    /// The rows in which it is sent and received.
    first: i64,
    last: i64,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Tracks(Vec<Track>);

impl Tracks {
    /// Returns the column of a message that enters the line at `to` from the left or the right, with lines `pitch`
    /// apart: the free column nearest to the line. If none is free, two messages share one.
    pub(super) fn take(&mut self, to: usize, from_left: bool, pitch: usize, rows: Range<i64>) -> usize {
        let columns = 2..pitch.max(4) - 1;
        let at = |far: usize| if from_left { to.saturating_sub(far) } else { to + far };
        let is_free = |column: usize| {
            !self.0.iter().any(|track| track.column == column && rows.start <= track.last && track.first <= rows.end)
        };
        let column = columns.map(at).find(|&column| is_free(column)).unwrap_or(at(2));
        self.0.push(Track { column, first: rows.start, last: rows.end });
        column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simultaneous_messages_run_side_by_side() {
        let mut tracks = Tracks::default();
        assert_eq!(tracks.take(20, true, 7, 1..5), 18);
        assert_eq!(tracks.take(20, true, 7, 3..4), 17);
        assert_eq!(tracks.take(20, false, 7, 3..4), 22);
        assert_eq!(tracks.take(20, true, 7, 6..7), 18, "it is free again");
    }

    #[test]
    fn without_room_two_messages_share_a_column() {
        let mut tracks = Tracks::default();
        let columns: Vec<usize> = (0..5).map(|_| tracks.take(20, true, 7, 1..5)).collect();
        assert_eq!(columns, [18, 17, 16, 15, 18]);
    }
}
