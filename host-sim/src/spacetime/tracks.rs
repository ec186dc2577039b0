//! Where messages wait between the row in which they are said and the row in which they are heard.
//!
//! A message goes straight to its receiver's side in the row in which it is said, waits beside the receiver's line, and
//! enters it in the row in which it is heard. So nothing that happens meanwhile is in its way.

use std::ops::Range;

/// A way for one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Track {
    /// The column in which it waits.
    pub(super) column: usize,
    /// The rows from the one in which it is said to the one in which it is heard.
    first: i64,
    last: i64,
}

/// The ways that are taken.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracks(Vec<Track>);

impl Tracks {
    /// The way of a message that enters a line at `to`, of lines `pitch` apart, from the left or the right: the free column
    /// nearest to the line. Where none is free, two messages share one.
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
    fn messages_that_wait_at_the_same_time_wait_side_by_side() {
        let mut tracks = Tracks::default();
        assert_eq!(tracks.take(20, true, 7, 1..5), 18);
        assert_eq!(tracks.take(20, true, 7, 3..4), 17);
        assert_eq!(tracks.take(20, false, 7, 3..4), 22);
        assert_eq!(tracks.take(20, true, 7, 6..7), 18, "it is free again");
    }

    #[test]
    fn where_there_is_no_room_two_share_one() {
        let mut tracks = Tracks::default();
        let columns: Vec<usize> = (0..5).map(|_| tracks.take(20, true, 7, 1..5)).collect();
        assert_eq!(columns, [18, 17, 16, 15, 18]);
    }
}
