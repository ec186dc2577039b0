//! The sentences of the tale. What many nodes do one after the other is one line.

use super::flood::Step;
use super::tale::Stage;
use host_sim::story::{self, Story};
use host_sim::trace::{TraceEvent, What};

/// What lines are told together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    /// A line of its own.
    Alone,
    Starts,
    Called(u32),
    Reported,
    Follows(u32),
    Misses,
}

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) stage: Stage,
    key: Key,
    at: u64,
    text: String,
    /// How many others did the same, and when the last one did.
    more: u32,
    until: u64,
}

impl Line {
    /// Its time, as it begins the line.
    pub(super) fn time(&self) -> String {
        story::time(self.at)
    }

    /// What it says.
    pub(super) fn text(&self) -> String {
        match self.more {
            0 => self.text.clone(),
            more => format!("{}, and {more} more by {}", self.text, story::time(self.until).trim()),
        }
    }

    /// Whether it tells what one node or the whole network did, not one of many.
    pub(super) fn is_alone(&self) -> bool {
        self.key == Key::Alone
    }
}

/// All lines so far.
pub(super) struct Log {
    story: Story,
    lines: Vec<Line>,
}

impl Log {
    pub(super) fn new(nodes: u32) -> Self {
        Self { story: Story::new(nodes), lines: Vec::new() }
    }

    /// Tells an event, if it is worth a line.
    pub(super) fn tell(&mut self, stage: Stage, event: &TraceEvent, step: Option<Step>) {
        let key = match (event.what, step) {
            (_, Some(Step::Called(0))) => Key::Alone,
            (_, Some(Step::Called(hop))) => Key::Called(hop),
            (_, Some(Step::Reported)) => Key::Reported,
            (What::Capacity { .. }, None) => Key::Starts,
            (What::Follows { leader, .. }, None) => Key::Follows(leader),
            (What::Leaderless, None) => Key::Misses,
            _ => Key::Alone,
        };
        let told = self.story.sentence(event);
        let text = match (event.node, step) {
            (Some(node), Some(Step::Called(hop))) => Some(story::called(node, hop)),
            (Some(node), Some(Step::Reported)) => Some(story::reported(node)),
            (_, None) | (None, Some(_)) => told,
        };
        let Some(text) = text else { return };
        let same = |line: &&mut Line| line.stage == stage && line.key == key && key != Key::Alone;
        if let Some(line) = self.lines.iter_mut().rev().find(same) {
            line.more += 1;
            line.until = event.at;
        } else {
            self.lines.push(Line { stage, key, at: event.at, text, more: 0, until: event.at });
        }
    }

    /// All lines.
    pub(super) fn lines(&self) -> &[Line] {
        &self.lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use protocol::clock::Term;

    #[test]
    fn what_many_do_is_one_line_and_what_one_does_is_its_own() {
        let mut log = Log::new(4);
        let term = Term { number: 1, by: NodeId(0) };
        let events = [
            (0, What::Leads { term }),
            (1, What::Follows { leader: 0, term }),
            (2, What::Follows { leader: 0, term }),
            (3, What::Follows { leader: 0, term }),
            (0, What::Crash),
        ];
        for (at, (node, what)) in (1_000_000..).step_by(1_000_000).zip(events) {
            log.tell(Stage::Elect, &TraceEvent { at, node: Some(node), what }, None);
        }
        let told: Vec<String> = log.lines().iter().map(Line::text).collect();
        assert_eq!(
            told,
            [
                "node 0 LEADS, term 1",
                "node 1 follows node 0, term 1, and 2 more by 4.000 s",
                "node 0, the leader, fails"
            ]
        );
    }
}
