//! The lines of the playback. The same event of many nodes is one line.

use super::flood::Step;
use super::playback::Phase;
use crate::trace::narrator::{self, Narrator};
use crate::trace::{EventKind, TraceEvent};

/// The events that share a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// None: the event has its own line.
    Alone,
    Boots,
    Called(u32),
    Reported,
    Follows(u32),
    Leaderless,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) phase: Phase,
    group: Group,
    at: u64,
    text: String,
    /// How many more nodes there are, and the time of the last.
    more: u32,
    until: u64,
}

impl Line {
    /// Returns the time at its beginning.
    pub(super) fn time(&self) -> String {
        narrator::time(self.at)
    }

    /// Returns the rest of the line.
    pub(super) fn text(&self) -> String {
        match self.more {
            0 => self.text.clone(),
            more => format!("{}, and {more} more by {}", self.text, narrator::time(self.until).trim()),
        }
    }

    /// Returns whether it is about one node or the whole network, not one of many.
    pub(super) fn is_alone(&self) -> bool {
        self.group == Group::Alone
    }
}

pub(super) struct Log {
    narrator: Narrator,
    pub(super) lines: Vec<Line>,
}

impl Log {
    pub(super) fn new(nodes: u32) -> Self {
        Self { narrator: Narrator::new(nodes), lines: Vec::new() }
    }

    /// Adds an event, if it is narrated.
    pub(super) fn add(&mut self, phase: Phase, event: &TraceEvent, step: Option<Step>) {
        let group = match (event.kind, step) {
            (_, Some(Step::Called(0))) => Group::Alone,
            (_, Some(Step::Called(hop))) => Group::Called(hop),
            (_, Some(Step::Reported)) => Group::Reported,
            (EventKind::Capacity { .. }, None) => Group::Boots,
            (EventKind::Follows { leader, .. }, None) => Group::Follows(leader),
            (EventKind::Leaderless, None) => Group::Leaderless,
            _ => Group::Alone,
        };
        let sentence = self.narrator.sentence(event);
        let text = match (event.node, step) {
            (Some(node), Some(Step::Called(hop))) => Some(narrator::election_reached(node, hop)),
            (Some(node), Some(Step::Reported)) => Some(narrator::reported(node)),
            (_, None) | (None, Some(_)) => sentence,
        };
        let Some(text) = text else { return };
        let same = |line: &&mut Line| line.phase == phase && line.group == group && group != Group::Alone;
        if let Some(line) = self.lines.iter_mut().rev().find(same) {
            line.more += 1;
            line.until = event.at;
        } else {
            self.lines.push(Line { phase, group, at: event.at, text, more: 0, until: event.at });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use protocol::base::term::Term;

    #[test]
    fn an_event_of_many_nodes_is_one_line_and_an_event_of_one_node_has_its_own() {
        let mut log = Log::new(4);
        let term = Term { number: 1, by: NodeId(0) };
        let events = [
            (0, EventKind::Leads { term }),
            (1, EventKind::Follows { leader: 0, term }),
            (2, EventKind::Follows { leader: 0, term }),
            (3, EventKind::Follows { leader: 0, term }),
            (0, EventKind::Crash),
        ];
        for (at, (node, kind)) in (1_000_000..).step_by(1_000_000).zip(events) {
            log.add(Phase::Elect, &TraceEvent { at, node: Some(node), kind }, None);
        }
        let lines: Vec<String> = log.lines.iter().map(Line::text).collect();
        let followers = "node 1 follows node 0, term 1, and 2 more by 4.000 s";
        assert_eq!(lines, ["node 0 LEADS, term 1", followers, "node 0, the leader, fails"]);
    }
}
