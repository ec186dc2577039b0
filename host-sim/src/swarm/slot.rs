//! What is known of one node by what it said: its frames, its reports, and its own time.

use crate::machine::News;
use crate::queue::Micros;
use firmware::report::{Past, Report, Status};
use protocol::NodeId;
use protocol::clock::Term;
use protocol::records::Records;
use std::collections::VecDeque;

/// One line a node said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it reached us, in the swarm's time.
    pub at: Micros,
    /// When it was said, in the node's own time since it started.
    pub own: Micros,
    /// What was said.
    pub text: String,
}

impl Entry {
    /// The line as a report, if it is one.
    #[must_use]
    pub fn report(&self) -> Option<Report<'_>> {
        Report::parse(&self.text)
    }
}

/// A report on its way to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Said {
    Stored(Records),
    News(News),
}

/// One node.
#[derive(Debug, Default)]
pub(super) struct Slot {
    on: bool,
    /// Whether it has said that it started, since it was switched on.
    started: bool,
    frames: VecDeque<Vec<u8>>,
    said: VecDeque<Said>,
    leader: Option<(NodeId, Term)>,
    pub(super) diary: Vec<Entry>,
    pub(super) past: Option<Past>,
    pub(super) records: Option<Records>,
    pub(super) status: Option<Status>,
    /// How often it started over by itself.
    pub(super) resets: u32,
}

impl Slot {
    /// Its power comes on.
    pub(super) fn power_on(&mut self) {
        self.power_off();
        self.on = true;
    }

    /// Its power goes: what it said last is lost on the way.
    pub(super) fn power_off(&mut self) {
        self.on = false;
        self.started = false;
        self.leader = None;
        self.frames.clear();
        self.said.clear();
    }

    pub(super) fn is_on(&self) -> bool {
        self.on
    }

    /// It broadcast a frame.
    pub(super) fn hear_frame(&mut self, frame: &[u8]) {
        if self.on {
            self.frames.push_back(frame.to_vec());
        }
    }

    /// It said a line.
    pub(super) fn hear_line(&mut self, me: NodeId, entry: Entry) {
        if !self.on {
            return;
        }
        if let Some(report) = Report::parse(&entry.text) {
            self.hear_report(me, report);
        }
        self.diary.push(entry);
    }

    fn hear_report(&mut self, me: NodeId, report: Report<'_>) {
        if let Report::Starting { records, .. } = report {
            if std::mem::replace(&mut self.started, true) {
                self.resets += 1;
                self.believe(None, News::Leaderless);
            }
            self.past = Some(records);
            return;
        }
        if !self.started {
            return; // the last words of the life before
        }
        match report {
            Report::Starting { .. } | Report::Losing | Report::Degraded => {} // seen to above; as before
            Report::Stored(records) => {
                self.records = Some(records);
                self.said.push_back(Said::Stored(records));
            }
            Report::Leading { term } => self.believe(Some((me, term)), News::Leads(term)),
            Report::Following { leader, term } => self.believe(Some((leader, term)), News::Follows(leader, term)),
            Report::Leaderless => self.believe(None, News::Leaderless),
            Report::Status(status) => self.status = Some(status),
            Report::Stopped(_) => self.believe(None, News::Halted("its log says why")),
        }
    }

    fn believe(&mut self, leader: Option<(NodeId, Term)>, news: News) {
        self.leader = leader;
        self.said.push_back(Said::News(news));
    }

    /// Whom it last said to follow.
    pub(super) fn leader(&self) -> Option<(NodeId, Term)> {
        self.leader
    }

    /// The next records it stored.
    pub(super) fn poll_persist(&mut self) -> Option<Records> {
        let Some(&Said::Stored(records)) = self.said.front() else { return None };
        self.said.pop_front();
        Some(records)
    }

    /// The next frame it broadcast.
    pub(super) fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.frames.pop_front()
    }

    /// The next thing it said about its leader.
    pub(super) fn poll_news(&mut self) -> Option<News> {
        let Some(&Said::News(news)) = self.said.front() else { return None };
        self.said.pop_front();
        Some(news)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::clock::Stamp;

    const ME: NodeId = NodeId(4);
    const TERM: Term = Term { number: 3, by: NodeId(7) };
    const RECORDS: Records = Records { incarnation: 2, term: 17, stamp: Stamp(1) };

    fn say(slot: &mut Slot, report: Report<'_>) {
        slot.hear_line(ME, Entry { at: 2, own: 1, text: report.to_string() });
    }

    fn starting() -> Report<'static> {
        Report::Starting { node: ME, capacity: 5, records: Past::Kept }
    }

    #[test]
    fn reports_come_out_in_the_order_they_were_said() {
        let mut slot = Slot::default();
        slot.power_on();
        for report in [starting(), Report::Stored(RECORDS), Report::Leading { term: TERM }, Report::Stored(RECORDS)] {
            say(&mut slot, report);
        }
        assert_eq!((slot.poll_news(), slot.poll_persist()), (None, Some(RECORDS)));
        assert_eq!((slot.poll_persist(), slot.poll_news()), (None, Some(News::Leads(TERM))));
        assert_eq!(slot.poll_persist(), Some(RECORDS));
        assert_eq!(slot.leader(), Some((ME, TERM)));
    }

    #[test]
    fn the_last_words_of_an_earlier_life_are_not_heard() {
        let mut slot = Slot::default();
        slot.power_on();
        say(&mut slot, starting());
        slot.power_off();
        say(&mut slot, Report::Leading { term: TERM });
        slot.power_on();
        say(&mut slot, Report::Leading { term: TERM });
        assert_eq!((slot.poll_news(), slot.leader(), slot.resets), (None, None, 0));
        say(&mut slot, starting());
        say(&mut slot, Report::Leaderless);
        assert_eq!((slot.poll_news(), slot.resets), (Some(News::Leaderless), 0));
    }

    #[test]
    fn a_node_that_starts_over_by_itself_is_counted_and_knows_no_leader() {
        let mut slot = Slot::default();
        slot.power_on();
        for report in [starting(), Report::Leading { term: TERM }, starting()] {
            say(&mut slot, report);
        }
        assert_eq!(slot.resets, 1);
        assert_eq!(slot.leader(), None);
        assert_eq!([slot.poll_news(), slot.poll_news()], [Some(News::Leads(TERM)), Some(News::Leaderless)]);
    }

    #[test]
    fn frames_of_a_node_without_power_are_lost() {
        let mut slot = Slot::default();
        slot.hear_frame(b"too early");
        slot.power_on();
        slot.hear_frame(b"hello");
        assert_eq!((slot.poll_transmit(), slot.poll_transmit()), (Some(b"hello".to_vec()), None));
    }
}
