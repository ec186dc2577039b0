//! The part of a history that is worth looking at.

use super::{Crossing, Cut, Event, Happening, History, Message};
use std::ops::Range;

/// How many rows of what happened before and after a snapshot are shown with it.
const CONTEXT: usize = 5;

/// How many rows a picture has at most, and how many more for each node.
const ROWS_MAX: usize = 32;
const ROWS_PER_NODE: usize = 4;

/// A row of a picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Row {
    /// What happened, by its places in the history: one event, or what belongs together and has nothing between it.
    Events(Range<usize>),
    /// The job was over here. No node knew.
    End,
}

/// A part of a history, to be drawn.
#[derive(Clone, Debug)]
pub struct Picture<'a> {
    /// The history.
    pub history: &'a History,
    /// How many nodes there are.
    pub nodes: u32,
    /// What stands above it.
    pub title: String,
    /// The cut that everything is drawn before or after, by its place; there may be others.
    pub cut: Option<usize>,
    /// What is shown, from the first to the last.
    pub rows: Vec<Row>,
    /// How many events before it are not shown.
    pub earlier: usize,
    /// How many after it.
    pub later: usize,
}

impl<'a> Picture<'a> {
    /// The picture of a snapshot: everything from the first message it found on its way, or the first node it passes, to
    /// the last, and a little around it.
    #[must_use]
    pub fn of_snapshot(history: &'a History, nodes: u32, cut: usize) -> Self {
        let records = history.cuts.iter().flat_map(|cut| cut.records.values().map(|(moment, _)| moment.order));
        let across = history.cuts.get(cut).into_iter().flat_map(|cut| {
            let across = history.messages.iter().filter(|message| cut.crossing(message) != Crossing::None);
            across.flat_map(|message| [message.said, message.heard]).flatten().map(|moment| moment.order)
        });
        let (recorded, all): (Vec<usize>, Vec<usize>) = (records.clone().collect(), records.chain(across).collect());
        let title = match &history.cuts[..] {
            [] => format!("No snapshot of {nodes} nodes"),
            [cut] => format!("A snapshot of {nodes} nodes, begun by node {}", cut.id.initiator.0),
            cuts => format!("{} snapshots of {nodes} nodes at a time", cuts.len()),
        };
        let rows = rows(history, false);
        let place = |order: Option<&usize>| order.and_then(|order| rows.iter().position(|row| row.holds(*order)));
        let first = place(all.iter().min()).unwrap_or(0).saturating_sub(CONTEXT);
        let last = (place(all.iter().max()).unwrap_or(0) + CONTEXT + 1).min(rows.len());
        // Where there is too much, the nodes that the cut passes matter more than messages that took long.
        let most = most(nodes);
        let window = if last - first <= most {
            first..last
        } else {
            let first = place(recorded.iter().min()).unwrap_or(0).saturating_sub(CONTEXT).max(first);
            first..(first + most).min(last)
        };
        Self::new(history, nodes, title, Some(cut), &rows, window)
    }

    /// The picture of a job: its end, and as much of what came before as there is room for.
    #[must_use]
    pub fn of_job(history: &'a History, nodes: u32) -> Self {
        let rows = rows(history, true);
        let is = |row: &Row, wanted: fn(&Happening) -> bool| match row {
            Row::Events(range) => history.events[range.clone()].iter().any(|event| wanted(&event.what)),
            Row::End => false,
        };
        let begin = rows.iter().position(|row| is(row, |what| matches!(what, Happening::Starts(_) | Happening::Busy)));
        let end = rows.iter().rposition(|row| is(row, |what| *what == Happening::Over));
        let end = end.map_or(rows.len(), |end| end + 1);
        let begin = begin.unwrap_or(0).max(end.saturating_sub(most(nodes)));
        Self::new(history, nodes, format!("A job on {nodes} nodes"), None, &rows, begin..end)
    }

    fn new(
        history: &'a History,
        nodes: u32,
        title: String,
        cut: Option<usize>,
        rows: &[Row],
        window: Range<usize>,
    ) -> Self {
        let shown = &rows[window];
        let ranges = || shown.iter().filter_map(Row::events);
        let first = ranges().next().map_or(0, |range| range.start);
        let end = ranges().next_back().map_or(0, |range| range.end);
        let later = history.events.len() - end;
        Self { history, nodes, title, cut, rows: shown.to_vec(), earlier: first, later }
    }

    /// The events that are shown.
    #[must_use]
    pub fn window(&self) -> Range<usize> {
        self.earlier..self.history.events.len() - self.later
    }

    /// The cut that everything is drawn before or after.
    #[must_use]
    pub fn main_cut(&self) -> Option<&Cut> {
        self.history.cuts.get(self.cut?)
    }

    /// How a message lies to that cut.
    #[must_use]
    pub fn crossing(&self, message: &Message) -> Crossing {
        self.main_cut().map_or(Crossing::None, |cut| cut.crossing(message))
    }

    /// What is not shown, in a sentence; nothing, where nothing is left out.
    #[must_use]
    pub fn left_out(&self) -> Option<String> {
        let events = |count: usize| if count == 1 { "1 event".to_owned() } else { format!("{count} events") };
        match (self.earlier, self.later) {
            (0, 0) => None,
            (earlier, 0) => Some(format!("Not shown: {} before this.", events(earlier))),
            (0, later) => Some(format!("Not shown: {} after this.", events(later))),
            (earlier, later) => Some(format!("Not shown: {} before this and {later} after it.", events(earlier))),
        }
    }
}

impl Row {
    /// The events in it.
    #[must_use]
    pub fn events(&self) -> Option<Range<usize>> {
        match self {
            Self::Events(range) => Some(range.clone()),
            Self::End => None,
        }
    }

    fn holds(&self, order: usize) -> bool {
        self.events().is_some_and(|range| range.contains(&order))
    }
}

fn most(nodes: u32) -> usize {
    ROWS_MAX + ROWS_PER_NODE * nodes as usize
}

/// All rows of a history, and where its job ended if it is about one.
fn rows(history: &History, of_job: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut next = 0;
    while let Some(&event) = history.events.get(next) {
        let start = next;
        next += 1;
        let mut take = |wanted: Event| {
            let taken = history.events.get(next) == Some(&wanted);
            next += usize::from(taken);
            taken
        };
        let hearer = match event.what {
            Happening::Says(message) => {
                take(Event { what: Happening::Idle, ..event });
                let Message { to, heard, .. } = history.messages[message];
                let heard = heard.map(|heard| Event { at: heard.at, node: to, what: Happening::Hears(message) });
                heard.filter(|&heard| take(heard))
            }
            Happening::Hears(_) | Happening::Starts(_) => Some(event),
            _ => None,
        };
        if let Some(hearer) = hearer {
            take(Event { what: Happening::Busy, ..hearer });
        }
        rows.push(Row::Events(start..next));
        if of_job && history.ended().is_some_and(|end| (start..next).contains(&end.order)) {
            rows.push(Row::End);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spacetime::script::Script;

    fn busy_day(messages: u32) -> Script {
        (0..messages).fold(Script::default(), |script, number| {
            let at = u64::from(number) * 10;
            script.says(at, 0, 1, number, 1).hears(at + 1, 1, 0, number, 1)
        })
    }

    #[test]
    fn what_belongs_together_is_one_row_unless_something_lies_between() {
        let script = Script::default().starts(0, 0, 9).busy(0, 0).says(1, 0, 1, 0, 4).hears(2, 1, 0, 0, 4).busy(2, 1);
        let history = script.says(3, 1, 0, 1, 1).idle(3, 1).hears(4, 0, 1, 1, 1).idle(5, 0).over(6, 0).history();
        let ranges: Vec<_> = rows(&history, true).iter().map(Row::events).collect();
        assert_eq!(ranges, [Some(0..2), Some(2..5), Some(5..8), Some(8..9), None, Some(9..10)]);
    }

    #[test]
    fn a_snapshot_is_shown_with_a_little_around_it_and_the_rest_is_counted() {
        let script = busy_day(100).recorded(1_000, 0, 1).recorded(1_001, 1, 1);
        let script = (100..200).fold(script, |script, number| script.says(1_002, 1, 0, number, 1));
        let history = script.history();
        let picture = Picture::of_snapshot(&history, 2, 0);
        assert_eq!((picture.rows.len(), picture.earlier, picture.later), (12, 190, 95));
        assert_eq!(picture.left_out().unwrap(), "Not shown: 190 events before this and 95 after it.");
    }

    #[test]
    fn a_message_that_was_on_its_way_is_shown_from_the_beginning_if_there_is_room() {
        let history = |between: u32| {
            let script = Script::default().says(0, 1, 0, 1_000, 7);
            let script = (0..between).fold(script, |script, number| script.says(1, 0, 1, number, 1));
            script.recorded(5, 0, 1).hears(6, 0, 1, 1_000, 7).recorded(7, 1, 1).history()
        };
        assert_eq!(Picture::of_snapshot(&history(20), 2, 0).earlier, 0);
        assert_eq!(Picture::of_snapshot(&history(80), 2, 0).earlier, 76);
    }

    #[test]
    fn of_a_long_job_the_end_is_shown() {
        let script = Script::default().starts(0, 0, 9).busy(0, 0);
        let script = (0..100).fold(script, |script, number| script.says(1, 0, 1, number, 1).hears(2, 1, 0, number, 1));
        let history = script.idle(3, 0).over(4, 0).over(5, 1).history();
        let picture = Picture::of_job(&history, 2);
        assert_eq!((picture.rows.len(), picture.later), (40, 0));
        assert_eq!(picture.rows[37], Row::End);
    }
}
