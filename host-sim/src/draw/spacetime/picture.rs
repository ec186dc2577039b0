//! The part of a history to be drawn.

use super::{Action, Crossing, Cut, Event, History, Message};
use std::ops::Range;

/// How many rows before and after a snapshot are shown with it.
const CONTEXT: usize = 5;

/// The most rows of a picture, and how many more for each node.
const ROWS_MAX: usize = 32;
const ROWS_PER_NODE: usize = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// Events, as a range of indices: one event, or consecutive events that belong together.
    Events(Range<usize>),
    /// The true end of the job, which no node sees.
    End,
}

/// A part of a history, to be drawn.
#[derive(Clone, Debug)]
pub(crate) struct Picture<'a> {
    pub(crate) history: &'a History,
    pub(crate) nodes: u32,
    pub(crate) title: String,
    /// The index of the cut by which events are drawn as before or after; there may be others.
    pub(crate) cut: Option<usize>,
    pub(crate) rows: Vec<Row>,
    pub(crate) earlier: usize,
    pub(crate) later: usize,
}

impl<'a> Picture<'a> {
    /// Returns the picture of a snapshot: from the first message in flight, or the first node the cut passes, to the
    /// last, with some context.
    pub(crate) fn of_snapshot(history: &'a History, nodes: u32, cut: usize) -> Self {
        let records = history.cuts.iter().flat_map(|cut| cut.records.values().map(|(moment, _)| moment.order));
        let across = history.cuts.get(cut).into_iter().flat_map(|cut| {
            let across = history.messages.iter().filter(|message| cut.crossing(message) != Crossing::None);
            across.flat_map(|message| [message.sent, message.received]).flatten().map(|moment| moment.order)
        });
        let (recorded, all): (Vec<usize>, Vec<usize>) = (records.clone().collect(), records.chain(across).collect());
        let title = match &history.cuts[..] {
            [] => format!("No snapshot of {nodes} nodes"),
            [cut] => format!("A snapshot of {nodes} nodes, begun by node {}", cut.id.initiator.0),
            cuts => format!("{} snapshots of {nodes} nodes at a time", cuts.len()),
        };
        let rows = rows(history, false);
        let row_of = |order: Option<&usize>| order.and_then(|order| rows.iter().position(|row| row.holds(*order)));
        let first = row_of(all.iter().min()).unwrap_or(0).saturating_sub(CONTEXT);
        let last = (row_of(all.iter().max()).unwrap_or(0) + CONTEXT + 1).min(rows.len());
        // If there are too many rows, the nodes that the cut passes matter more than slow messages.
        let most = rows_max(nodes);
        let window = if last - first <= most {
            first..last
        } else {
            let first = row_of(recorded.iter().min()).unwrap_or(0).saturating_sub(CONTEXT).max(first);
            first..(first + most).min(last)
        };
        Self::new(history, nodes, title, Some(cut), &rows, window)
    }

    /// Returns the picture of a job: its end, and as many rows before it as there is room for.
    pub(crate) fn of_job(history: &'a History, nodes: u32) -> Self {
        let rows = rows(history, true);
        let is = |row: &Row, wanted: fn(&Action) -> bool| match row {
            Row::Events(range) => history.events[range.clone()].iter().any(|event| wanted(&event.action)),
            Row::End => false,
        };
        let begin = rows.iter().position(|row| is(row, |action| matches!(action, Action::Start(_) | Action::Busy)));
        let end = rows.iter().rposition(|row| is(row, |action| *action == Action::Terminated));
        let end = end.map_or(rows.len(), |end| end + 1);
        let begin = begin.unwrap_or(0).max(end.saturating_sub(rows_max(nodes)));
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

    /// Returns the range of events shown.
    pub(crate) fn window(&self) -> Range<usize> {
        self.earlier..self.history.events.len() - self.later
    }

    /// Returns the cut by which events are drawn as before or after.
    pub(crate) fn main_cut(&self) -> Option<&Cut> {
        self.history.cuts.get(self.cut?)
    }

    pub(crate) fn crossing(&self, message: &Message) -> Crossing {
        self.main_cut().map_or(Crossing::None, |cut| cut.crossing(message))
    }

    /// Returns a sentence about the events not shown, if there are any.
    pub(crate) fn omitted(&self) -> Option<String> {
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
    pub(crate) fn events(&self) -> Option<Range<usize>> {
        match self {
            Self::Events(range) => Some(range.clone()),
            Self::End => None,
        }
    }

    fn holds(&self, order: usize) -> bool {
        self.events().is_some_and(|range| range.contains(&order))
    }
}

fn rows_max(nodes: u32) -> usize {
    ROWS_MAX + ROWS_PER_NODE * nodes as usize
}

/// Returns all rows of a history, with the end of its job if `of_job`.
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
        let receiver = match event.action {
            Action::Send(message) => {
                take(Event { action: Action::Idle, ..event });
                let Message { to, received, .. } = history.messages[message];
                let received =
                    received.map(|received| Event { at: received.at, node: to, action: Action::Receive(message) });
                received.filter(|&received| take(received))
            }
            Action::Receive(_) | Action::Start(_) => Some(event),
            _ => None,
        };
        if let Some(receiver) = receiver {
            take(Event { action: Action::Busy, ..receiver });
        }
        rows.push(Row::Events(start..next));
        if of_job && history.ended.is_some_and(|end| (start..next).contains(&end.order)) {
            rows.push(Row::End);
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::spacetime::script::Script;

    fn exchange(messages: u32) -> Script {
        (0..messages).fold(Script::default(), |script, number| {
            let at = u64::from(number) * 10;
            script.sends(at, 0, 1, number, 1).receives(at + 1, 1, 0, number, 1)
        })
    }

    #[test]
    fn events_that_belong_together_are_one_row_unless_another_comes_between() {
        let script =
            Script::default().starts(0, 0, 9).busy(0, 0).sends(1, 0, 1, 0, 4).receives(2, 1, 0, 0, 4).busy(2, 1);
        let history =
            script.sends(3, 1, 0, 1, 1).idle(3, 1).receives(4, 0, 1, 1, 1).idle(5, 0).terminated(6, 0).history();
        let ranges: Vec<_> = rows(&history, true).iter().map(Row::events).collect();
        assert_eq!(ranges, [Some(0..2), Some(2..5), Some(5..8), Some(8..9), None, Some(9..10)]);
    }

    #[test]
    fn a_snapshot_is_shown_with_some_context_and_the_rest_is_counted() {
        let script = exchange(100).recorded(1_000, 0, 1).recorded(1_001, 1, 1);
        let script = (100..200).fold(script, |script, number| script.sends(1_002, 1, 0, number, 1));
        let history = script.history();
        let picture = Picture::of_snapshot(&history, 2, 0);
        assert_eq!((picture.rows.len(), picture.earlier, picture.later), (12, 190, 95));
        assert_eq!(picture.omitted().unwrap(), "Not shown: 190 events before this and 95 after it.");
    }

    #[test]
    fn a_message_in_flight_is_shown_from_its_sending_if_there_is_room() {
        let history = |between: u32| {
            let script = Script::default().sends(0, 1, 0, 1_000, 7);
            let script = (0..between).fold(script, |script, number| script.sends(1, 0, 1, number, 1));
            script.recorded(5, 0, 1).receives(6, 0, 1, 1_000, 7).recorded(7, 1, 1).history()
        };
        assert_eq!(Picture::of_snapshot(&history(20), 2, 0).earlier, 0);
        assert_eq!(Picture::of_snapshot(&history(80), 2, 0).earlier, 76);
    }

    #[test]
    fn of_a_long_job_the_end_is_shown() {
        let script = Script::default().starts(0, 0, 9).busy(0, 0);
        let script =
            (0..100).fold(script, |script, number| script.sends(1, 0, 1, number, 1).receives(2, 1, 0, number, 1));
        let history = script.idle(3, 0).terminated(4, 0).terminated(5, 1).history();
        let picture = Picture::of_job(&history, 2);
        assert_eq!((picture.rows.len(), picture.later), (40, 0));
        assert_eq!(picture.rows[37], Row::End);
    }
}
