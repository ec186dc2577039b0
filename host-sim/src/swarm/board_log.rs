//! The log of one node: its frames, its reports, and its own time.

use crate::base::Micros;
use crate::sim::node::NodeEvent;
use firmware::report::{self, RecordsAtBoot, Report, Status};
use protocol::NodeId;
use protocol::base::records::Records;
use protocol::base::term::Term;
use std::collections::VecDeque;

/// One line of a node's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was received, in the swarm's time.
    pub at: Micros,
    /// When it was written, in the node's own time since its boot.
    pub board_time: Micros,
    /// The line.
    pub text: String,
}

impl Entry {
    /// Returns the line as a report, if it is one.
    #[must_use]
    pub fn report(&self) -> Option<Report<'_>> {
        Report::parse(&self.text)
    }
}

/// A report that the world has not polled yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum QueuedReport {
    Stored(Records),
    Event(NodeEvent),
}

#[derive(Debug, Default)]
pub(super) struct BoardLog {
    pub(super) on: bool,
    /// Whether it has logged its boot since it was switched on.
    started: bool,
    /// Whether it restarts because another node used its id.
    superseded: bool,
    frames: VecDeque<Vec<u8>>,
    queue: VecDeque<QueuedReport>,
    /// The leader it last reported.
    pub(super) leader: Option<(NodeId, Term)>,
    pub(super) entries: Vec<Entry>,
    pub(super) at_boot: Option<RecordsAtBoot>,
    pub(super) records: Option<Records>,
    pub(super) status: Option<Status>,
    pub(super) resets: u32,
}

impl BoardLog {
    pub(super) fn power_on(&mut self) {
        self.power_off();
        self.on = true;
    }

    /// Switches its power off; output that was not polled is lost.
    pub(super) fn power_off(&mut self) {
        self.on = false;
        self.started = false;
        self.superseded = false;
        self.leader = None;
        self.frames.clear();
        self.queue.clear();
    }

    pub(super) fn on_frame(&mut self, frame: &[u8]) {
        if self.on {
            self.frames.push_back(frame.to_vec());
        }
    }

    pub(super) fn on_line(&mut self, me: NodeId, entry: Entry) {
        if !self.on {
            return;
        }
        if let Some(report) = Report::parse(&entry.text) {
            self.on_report(me, report);
        }
        self.entries.push(entry);
    }

    fn on_report(&mut self, me: NodeId, report: Report<'_>) {
        if let Report::Starting { records, .. } = report {
            if std::mem::replace(&mut self.started, true) {
                self.resets += u32::from(!std::mem::take(&mut self.superseded));
                self.set_leader(None, NodeEvent::Leaderless);
            }
            self.at_boot = Some(records);
            return;
        }
        if !self.started {
            return; // from before the last boot
        }
        match report {
            Report::Starting { .. } | Report::Losing | Report::Degraded | Report::SameId => {} // without effect
            Report::Stored(records) => {
                self.records = Some(records);
                self.queue.push_back(QueuedReport::Stored(records));
            }
            Report::Leading { term } => self.set_leader(Some((me, term)), NodeEvent::Leads(term)),
            Report::Following { leader, term } => {
                self.set_leader(Some((leader, term)), NodeEvent::Follows(leader, term));
            }
            Report::Leaderless => self.set_leader(None, NodeEvent::Leaderless),
            Report::Status(status) => self.status = Some(status),
            Report::Stopped(report::SUPERSEDED) => {
                self.superseded = true;
                self.set_leader(None, NodeEvent::Leaderless);
            }
            Report::Stopped(_) => self.set_leader(None, NodeEvent::Halted("see its log")),
        }
    }

    fn set_leader(&mut self, leader: Option<(NodeId, Term)>, event: NodeEvent) {
        self.leader = leader;
        self.queue.push_back(QueuedReport::Event(event));
    }

    pub(super) fn poll_persist(&mut self) -> Option<Records> {
        let Some(&QueuedReport::Stored(records)) = self.queue.front() else { return None };
        self.queue.pop_front();
        Some(records)
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Vec<u8>> {
        self.frames.pop_front()
    }

    pub(super) fn poll_event(&mut self) -> Option<NodeEvent> {
        let Some(&QueuedReport::Event(event)) = self.queue.front() else { return None };
        self.queue.pop_front();
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::base::lamport::LamportTime;

    const ME: NodeId = NodeId(4);
    const TERM: Term = Term { number: 3, by: NodeId(7) };
    const RECORDS: Records = Records { incarnation: 2, term: 17, lamport: LamportTime(1), ..Records::FACTORY };

    fn log(board: &mut BoardLog, report: Report<'_>) {
        board.on_line(ME, Entry { at: 2, board_time: 1, text: report.to_string() });
    }

    fn starting() -> Report<'static> {
        Report::Starting { node: ME, capacity: 5, records: RecordsAtBoot::Kept }
    }

    /// Returns the log of a board that was switched on and reported this.
    fn logged(reports: &[Report<'_>]) -> BoardLog {
        let mut board = BoardLog::default();
        board.power_on();
        for &report in reports {
            log(&mut board, report);
        }
        board
    }

    #[test]
    fn reports_are_polled_in_their_order() {
        let leading = Report::Leading { term: TERM };
        let mut board = logged(&[starting(), Report::Stored(RECORDS), leading, Report::Stored(RECORDS)]);
        assert_eq!((board.poll_event(), board.poll_persist()), (None, Some(RECORDS)));
        assert_eq!((board.poll_persist(), board.poll_event()), (None, Some(NodeEvent::Leads(TERM))));
        assert_eq!(board.poll_persist(), Some(RECORDS));
        assert_eq!(board.leader, Some((ME, TERM)));
    }

    #[test]
    fn reports_from_before_the_last_boot_are_ignored() {
        let mut board = logged(&[starting()]);
        board.power_off();
        log(&mut board, Report::Leading { term: TERM });
        board.power_on();
        log(&mut board, Report::Leading { term: TERM });
        assert_eq!((board.poll_event(), board.leader, board.resets), (None, None, 0));
        log(&mut board, starting());
        log(&mut board, Report::Leaderless);
        assert_eq!((board.poll_event(), board.resets), (Some(NodeEvent::Leaderless), 0));
    }

    #[test]
    fn a_node_that_resets_itself_is_counted_and_has_no_leader() {
        let mut board = logged(&[starting(), Report::Leading { term: TERM }, starting()]);
        assert_eq!(board.resets, 1);
        assert_eq!(board.leader, None);
        let events = [board.poll_event(), board.poll_event()];
        assert_eq!(events, [Some(NodeEvent::Leads(TERM)), Some(NodeEvent::Leaderless)]);
    }

    #[test]
    fn a_node_that_restarts_because_another_used_its_id_has_not_failed() {
        let superseded = Report::Stopped(report::SUPERSEDED);
        let mut board = logged(&[starting(), superseded, starting()]);
        assert_eq!((board.resets, board.poll_event()), (0, Some(NodeEvent::Leaderless)));
        log(&mut board, starting());
        assert_eq!(board.resets, 1);
    }

    #[test]
    fn frames_of_a_node_without_power_are_lost() {
        let mut board = BoardLog::default();
        board.on_frame(b"too early");
        board.power_on();
        board.on_frame(b"hello");
        assert_eq!((board.poll_transmit(), board.poll_transmit()), (Some(b"hello".to_vec()), None));
    }
}
