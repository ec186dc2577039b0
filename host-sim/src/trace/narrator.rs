//! Events in sentences: the same for simulated nodes and for boards.

use crate::base::Micros;
use crate::trace::{AppEvent, AppRequest, EventKind, LockEvent, RequestStep, TraceEvent, TransactionStep};
use protocol::service::snapshot::Id;

/// What the narrator knows about a node.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    up: bool,
    /// Whether it is on no list of members.
    outside: bool,
    started: bool,
    /// Its boot, which is reported together with its capacity.
    starting: Option<Start>,
    capacity: Option<u16>,
    follows: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    First,
    Again,
    Blank,
}

/// Puts events into sentences.
#[derive(Clone, Debug)]
pub struct Narrator {
    nodes: Vec<Known>,
    /// The epoch of the last list of members, 0 where there is none, and its members.
    list: (u32, u64),
}

/// Returns whether a list of members, a bit for each by its id, has a node.
fn has(members: u64, node: u32) -> bool {
    members.checked_shr(node).is_some_and(|bits| bits & 1 == 1)
}

impl Narrator {
    /// Creates a narrator for this many nodes.
    #[must_use]
    pub fn new(nodes: u32) -> Self {
        Self { nodes: vec![Known::default(); nodes as usize], list: (0, 0) }
    }

    /// Returns the line for an event, with its time; `None` if the event is not worth a line.
    pub fn line(&mut self, event: &TraceEvent) -> Option<String> {
        let sentence = self.sentence(event)?;
        Some(format!("{} {sentence}", time(event.at)))
    }

    /// Returns the sentence for an event; `None` if the event is not worth one.
    pub fn sentence(&mut self, event: &TraceEvent) -> Option<String> {
        match event.kind {
            EventKind::Partition => Some("THE NETWORK IS PARTITIONED: each part is on its own".to_owned()),
            EventKind::Heal => Some("THE PARTITION IS HEALED: nodes in range receive each other again".to_owned()),
            EventKind::LinkFault { fault } => Some(format!("link fault: {fault}")),
            EventKind::CapacityFault => Some("capacities change".to_owned()),
            of_node => self.node_event(event.node?, of_node),
        }
    }

    fn node_event(&mut self, node: u32, kind: EventKind) -> Option<String> {
        match kind {
            EventKind::Boot { blank } => {
                let known = self.nodes.get_mut(node as usize)?;
                known.starting = Some(match (known.started, blank) {
                    (_, true) => Start::Blank,
                    (false, false) => Start::First,
                    (true, false) => Start::Again,
                });
                (known.up, known.started, known.follows) = (true, true, None);
                None
            }
            EventKind::Capacity { capacity } => self.measured(node, capacity),
            EventKind::Steady { .. } => Some(format!("node {node} has been steady, and counts for more again")),
            EventKind::Crash => {
                let led = self.leads(node);
                let known = self.nodes.get_mut(node as usize)?;
                (known.up, known.follows) = (false, None);
                Some(format!("node {node}{} fails", if led { ", the leader," } else { "" }))
            }
            EventKind::Pause => {
                Some(format!("node {node}{} is paused", if self.leads(node) { ", the leader," } else { "" }))
            }
            EventKind::Resume => Some(format!("node {node} resumes")),
            EventKind::Command { command } => Some(match command {
                "yield" => format!("node {node} is asked to hand over"),
                "add-member" => format!("node {node}, the leader, is told to add a member"),
                "remove-member" => format!("node {node}, the leader, is told to remove a member"),
                _ => format!("node {node} is asked for an election"), // the only other command
            }),
            EventKind::Leads { term } => {
                let led = self.leads(node);
                self.nodes.get_mut(node as usize)?.follows = Some(node);
                Some(if led {
                    format!("node {node} leads on, now under term {}", term.number)
                } else {
                    format!("node {node} LEADS, term {}{}", term.number, self.reason(node))
                })
            }
            EventKind::Follows { leader, term } => {
                let before = self.nodes.get_mut(node as usize)?.follows.replace(leader);
                (before != Some(leader)).then(|| format!("node {node} follows node {leader}, term {}", term.number))
            }
            EventKind::Leaderless => {
                let before = self.nodes.get_mut(node as usize)?.follows.take()?;
                Some(if before == node {
                    format!("node {node} no longer leads")
                } else {
                    format!("node {node} has lost its leader, node {before}")
                })
            }
            EventKind::NewList { epoch, members } => {
                let change = self.change_of_list(epoch, members);
                let known = self.nodes.get_mut(node as usize)?;
                (known.follows, known.outside) = (None, !has(members, node));
                let place = if known.outside { "is no member of" } else { "is a member of" };
                Some(format!("node {node} {place} list {epoch}, which has {}{change}", members.count_ones()))
            }
            EventKind::ListDecided => Some(format!("node {node}, the leader, knows that the change is decided")),
            EventKind::TwoLeaders { other } => Some(format!("node {node} LEADS WHILE node {other} MAY ACT")),
            EventKind::Halted { reason } => Some(format!("node {node} stopped itself: {reason}")),
            EventKind::Lock { lock, event } => lock_event(node, lock, event),
            EventKind::App { event } => app_event(node, event),
            _ => None, // too frequent, or of the network
        }
    }

    fn measured(&mut self, node: u32, capacity: Option<u16>) -> Option<String> {
        let known = self.nodes.get_mut(node as usize)?;
        let before = std::mem::replace(&mut known.capacity, capacity);
        let capacity_text = match capacity {
            Some(capacity) => format!("capacity {capacity}"),
            None => "unfit to lead".to_owned(),
        };
        Some(match known.starting.take() {
            Some(Start::First) => format!("node {node} starts: {capacity_text}"),
            Some(Start::Again) => format!("node {node} starts again with its records: {capacity_text}"),
            Some(Start::Blank) => {
                let records = "without its records";
                format!("node {node} starts again {records} ({capacity_text}): it decides nothing for a while")
            }
            None if before == capacity => return None,
            None => format!("node {node} now has {capacity_text}"),
        })
    }

    /// Returns how a list differs from the one before, where it is the first node that has it.
    fn change_of_list(&mut self, epoch: u32, members: u64) -> String {
        let (before, listed) = self.list;
        if epoch <= before {
            return String::new();
        }
        self.list = (epoch, members);
        let changed = (0..u64::BITS).find(|&id| before > 0 && has(members, id) != has(listed, id));
        changed.map_or_else(String::new, |id| {
            format!(": node {id} is {}", if has(members, id) { "ADDED" } else { "REMOVED" })
        })
    }

    fn leads(&self, node: u32) -> bool {
        self.nodes.get(node as usize).is_some_and(|known| known.follows == Some(node))
    }

    /// Returns why a node leads: whether its capacity is the highest of the nodes that are up.
    fn reason(&self, node: u32) -> String {
        let candidate = |node: u32| self.nodes.get(node as usize).and_then(|known| Some((known.capacity?, node)));
        let Some((capacity, _)) = candidate(node) else { return String::new() };
        let up = || (0..).zip(&self.nodes).filter(|(_, known)| known.up && !known.outside);
        let best = up().filter_map(|(other, _)| candidate(other)).max();
        if best == candidate(node) {
            let members = if self.list.0 > 0 { " members" } else { "" };
            format!(": its capacity {capacity} is the highest of the {}{members} that are up", up().count())
        } else {
            format!(": its capacity is {capacity}")
        }
    }
}

fn lock_event(node: u32, lock: u8, event: LockEvent) -> Option<String> {
    Some(match event {
        LockEvent::Acquired { fence } => {
            format!("node {node} holds lock {lock}, fence {}.{}", fence.term.number, fence.count.0)
        }
        LockEvent::TwoHolders { other } => format!("node {node} HOLDS LOCK {lock} WHILE node {other} DOES"),
        LockEvent::Lost => format!("node {node} has lost lock {lock}"),
        LockEvent::Released => format!("node {node} releases lock {lock}"),
        LockEvent::Wrote { accepted: false, .. } => format!("a late write of node {node} under lock {lock} is refused"),
        _ => return None, // too frequent
    })
}

fn app_event(node: u32, event: AppEvent) -> Option<String> {
    Some(match event {
        AppEvent::Request { request: AppRequest::Snapshot } => format!("node {node} is asked for a snapshot"),
        AppEvent::Request { request: AppRequest::DetectTermination } => {
            format!("node {node} is asked to detect the end of the job")
        }
        AppEvent::Request { request: AppRequest::Start { units } } => {
            format!("node {node} is given {units} units of work")
        }
        AppEvent::Recorded { snapshot: Id { number, initiator, .. }, amount } => {
            format!("node {node} records for snapshot {number} of node {} that it has {amount}", initiator.0)
        }
        AppEvent::Completed { snapshot, nodes } => {
            format!("node {node} has snapshot {} complete, of {nodes} nodes", snapshot.number)
        }
        AppEvent::Aborted { snapshot, reason } => {
            format!("node {node} abandons snapshot {}: {}", snapshot.number, reason.description())
        }
        AppEvent::Terminated { by, job, waves: 0 } if by == node => {
            format!("node {node} detects that job {job} HAS TERMINATED")
        }
        AppEvent::Terminated { by, job, waves } if by == node => {
            format!("node {node} detects that job {job} HAS TERMINATED, by its wave {waves}")
        }
        AppEvent::Terminated { by, job, .. } => {
            format!("node {node} learns from node {by} that job {job} has terminated")
        }
        AppEvent::DetectionAborted { reason } => format!("node {node} cannot detect the end of the job: {reason}"),
        AppEvent::ClockSet => format!("the clock of node {node} is set"),
        AppEvent::ClockWentBack { by } => format!("the clock of node {node} RUNS BACKWARDS, by {by} us"),
        AppEvent::Missed { count, .. } => format!("node {node} misses the messages up to number {count}"),
        AppEvent::Transaction { step, term, number, .. } => {
            let what = match step {
                TransactionStep::Proposed => "proposes",
                TransactionStep::Voted => "votes for",
                TransactionStep::Blocked => "is in doubt about",
                TransactionStep::Committed => "commits",
                TransactionStep::Aborted => "aborts",
                TransactionStep::Completed => "knows that all have committed",
            };
            format!("node {node} {what} transaction {number} of term {term}")
        }
        AppEvent::Service { step: RequestStep::Refused, number, .. } => {
            format!("request {number} of node {node} is refused")
        }
        AppEvent::Service { step: RequestStep::TimedOut, number, .. } => {
            format!("node {node} gets no answer to its request {number}")
        }
        AppEvent::Own { name, value } => format!("node {node}: {name} {value}"),
        _ => return None, // too frequent
    })
}

/// Returns the sentence for a node that an election reaches, `hop` hops from the initiator. There is no such event: it
/// follows from the links of all nodes.
#[must_use]
pub fn election_reached(node: u32, hop: u32) -> String {
    match hop {
        0 => format!("node {node} calls an election"),
        _ => format!("hop {hop}: the call reaches node {node}"),
    }
}

/// Returns the sentence for a node that has reported the best candidate of its subtree to its parent.
#[must_use]
pub fn reported(node: u32) -> String {
    format!("node {node} reports the best it knows of")
}

/// Formats a moment as the start of a line.
#[must_use]
pub fn time(at: Micros) -> String {
    format!("{:>8.3} s ", at as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use protocol::base::lamport::LamportTime;
    use protocol::base::term::Term;
    use protocol::mutex::Fence;
    use protocol::service::snapshot;

    const TERM: Term = Term { number: 3, by: NodeId(1) };

    fn sentences(narrator: &mut Narrator, events: &[(Option<u32>, EventKind)]) -> Vec<String> {
        events.iter().filter_map(|&(node, kind)| narrator.sentence(&TraceEvent { at: 0, node, kind })).collect()
    }

    fn booted(capacities: &[u16]) -> Narrator {
        let mut narrator = Narrator::new(capacities.len() as u32);
        for (node, &capacity) in (0..).zip(capacities) {
            let capacity = Some(capacity);
            let events =
                [(Some(node), EventKind::Boot { blank: false }), (Some(node), EventKind::Capacity { capacity })];
            assert_eq!(sentences(&mut narrator, &events).len(), 1);
        }
        narrator
    }

    #[test]
    fn an_election_is_reported_with_its_reason() {
        let mut narrator = booted(&[10, 30, 20]);
        let events = [
            (Some(1), EventKind::Leads { term: TERM }),
            (Some(0), EventKind::Follows { leader: 1, term: TERM }),
            (Some(0), EventKind::Follows { leader: 1, term: Term { number: 4, ..TERM } }),
            (Some(1), EventKind::Leads { term: Term { number: 4, ..TERM } }),
        ];
        let expected = [
            "node 1 LEADS, term 3: its capacity 30 is the highest of the 3 that are up",
            "node 0 follows node 1, term 3",
            "node 1 leads on, now under term 4",
        ];
        assert_eq!(sentences(&mut narrator, &events), expected);
    }

    #[test]
    fn a_list_is_reported_with_its_change_and_only_members_count() {
        let mut narrator = booted(&[10, 30, 99]);
        let list = |node, epoch, members| (Some(node), EventKind::NewList { epoch, members });
        let events = [
            list(0, 1, 0b011),
            list(1, 1, 0b011),
            list(2, 1, 0b011),
            (Some(1), EventKind::Leads { term: TERM }),
            (Some(1), EventKind::Command { command: "add-member" }),
            list(1, 2, 0b111),
            (Some(1), EventKind::ListDecided),
            list(2, 2, 0b111),
            (Some(2), EventKind::Leads { term: TERM }),
            list(2, 3, 0b110),
            list(0, 3, 0b110),
        ];
        let expected = [
            "node 0 is a member of list 1, which has 2",
            "node 1 is a member of list 1, which has 2",
            "node 2 is no member of list 1, which has 2",
            "node 1 LEADS, term 3: its capacity 30 is the highest of the 2 members that are up",
            "node 1, the leader, is told to add a member",
            "node 1 is a member of list 2, which has 3: node 2 is ADDED",
            "node 1, the leader, knows that the change is decided",
            "node 2 is a member of list 2, which has 3",
            "node 2 LEADS, term 3: its capacity 99 is the highest of the 3 members that are up",
            "node 2 is a member of list 3, which has 2: node 0 is REMOVED",
            "node 0 is no member of list 3, which has 2",
        ];
        assert_eq!(sentences(&mut narrator, &events), expected);
    }

    #[test]
    fn a_crash_and_a_boot_are_reported() {
        let mut narrator = booted(&[10, 30]);
        let events = [
            (Some(1), EventKind::Leads { term: TERM }),
            (Some(0), EventKind::Follows { leader: 1, term: TERM }),
            (Some(1), EventKind::Crash),
            (Some(0), EventKind::Leaderless),
            (Some(0), EventKind::Leads { term: TERM }),
            (Some(1), EventKind::Boot { blank: true }),
            (Some(1), EventKind::Capacity { capacity: Some(30) }),
            (None, EventKind::Partition),
        ];
        let found = sentences(&mut narrator, &events);
        let expected = [
            "node 1, the leader, fails",
            "node 0 has lost its leader, node 1",
            "node 0 LEADS, term 3: its capacity 10 is the highest of the 1 that are up",
            "node 1 starts again without its records (capacity 30): it decides nothing for a while",
            "THE NETWORK IS PARTITIONED: each part is on its own",
        ];
        assert_eq!(found[2..], expected);
    }

    #[test]
    fn the_flood_of_an_election_is_reported_hop_by_hop() {
        let found = [election_reached(1, 0), election_reached(2, 3), reported(2)];
        let expected =
            ["node 1 calls an election", "hop 3: the call reaches node 2", "node 2 reports the best it knows of"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_lock_that_is_acquired_and_lost_is_reported() {
        let mut narrator = booted(&[10, 30]);
        let fence = Fence { term: TERM, count: LamportTime(7) };
        let of = |event| (Some(1), EventKind::Lock { lock: 0, event });
        let events = [
            of(LockEvent::Requests { try_only: false }),
            of(LockEvent::Acquired { fence }),
            of(LockEvent::TwoHolders { other: 0 }),
            of(LockEvent::Lost),
            of(LockEvent::Wrote { fence, accepted: false }),
        ];
        let expected = [
            "node 1 holds lock 0, fence 3.7",
            "node 1 HOLDS LOCK 0 WHILE node 0 DOES",
            "node 1 has lost lock 0",
            "a late write of node 1 under lock 0 is refused",
        ];
        assert_eq!(sentences(&mut narrator, &events), expected);
    }

    #[test]
    fn a_snapshot_and_a_job_are_reported() {
        let mut narrator = booted(&[10, 30]);
        let snapshot = snapshot::Id { initiator: NodeId(1), incarnation: 2, number: 5 };
        let of = |event| (Some(1), EventKind::App { event });
        let events = [
            of(AppEvent::Request { request: AppRequest::Snapshot }),
            of(AppEvent::Recorded { snapshot, amount: 7 }),
            of(AppEvent::State { snapshot, of: 0, amount: 9 }),
            of(AppEvent::Completed { snapshot, nodes: 2 }),
            of(AppEvent::Aborted { snapshot, reason: snapshot::AbortReason::TimedOut }),
            of(AppEvent::Terminated { by: 1, job: 3, waves: 2 }),
            of(AppEvent::Terminated { by: 0, job: 3, waves: 2 }),
        ];
        let expected = [
            "node 1 is asked for a snapshot",
            "node 1 records for snapshot 5 of node 1 that it has 7",
            "node 1 has snapshot 5 complete, of 2 nodes",
            "node 1 abandons snapshot 5: the timeout expired",
            "node 1 detects that job 3 HAS TERMINATED, by its wave 2",
            "node 1 learns from node 0 that job 3 has terminated",
        ];
        assert_eq!(sentences(&mut narrator, &events), expected);
    }

    #[test]
    fn a_line_begins_with_its_time() {
        let mut narrator = Narrator::new(1);
        let event = TraceEvent { at: 12_345_678, node: None, kind: EventKind::Heal };
        let expected = "  12.346 s  THE PARTITION IS HEALED: nodes in range receive each other again";
        assert_eq!(narrator.line(&event).unwrap(), expected);
    }
}
