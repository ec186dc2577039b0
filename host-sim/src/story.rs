//! What happens, told in sentences: the same words for simulated nodes and for real boards.

use crate::machine::Request;
use crate::queue::Micros;
use crate::trace::{Act, Deed, TraceEvent, What};

/// What the reader of the story knows about a node.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    up: bool,
    started: bool,
    /// Its start has yet to be told: that is done together with its capacity.
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

/// Tells what happens, event by event.
#[derive(Clone, Debug)]
pub struct Story {
    nodes: Vec<Known>,
}

impl Story {
    /// A story about this many nodes that has not begun.
    #[must_use]
    pub fn new(nodes: u32) -> Self {
        Self { nodes: vec![Known::default(); nodes as usize] }
    }

    /// The line for an event, with its time; `None` for what is not worth a line.
    pub fn line(&mut self, event: &TraceEvent) -> Option<String> {
        let sentence = self.sentence(event)?;
        Some(format!("{} {sentence}", time(event.at)))
    }

    /// The sentence for an event; `None` for what is not worth one.
    pub fn sentence(&mut self, event: &TraceEvent) -> Option<String> {
        match event.node {
            Some(node) => self.of_node(node, event.what),
            None => of_network(event.what),
        }
    }

    fn of_node(&mut self, node: u32, what: What) -> Option<String> {
        match what {
            What::Boot { blank } => {
                let known = self.nodes.get_mut(node as usize)?;
                known.starting = Some(match (known.started, blank) {
                    (_, true) => Start::Blank,
                    (false, false) => Start::First,
                    (true, false) => Start::Again,
                });
                (known.up, known.started, known.follows) = (true, true, None);
                None
            }
            What::Capacity { capacity } => self.measured(node, capacity),
            What::Crash => {
                let led = self.leads(node);
                let known = self.nodes.get_mut(node as usize)?;
                (known.up, known.follows) = (false, None);
                Some(format!("node {node}{} fails", if led { ", the leader," } else { "" }))
            }
            What::Pause => {
                Some(format!("node {node}{} falls silent", if self.leads(node) { ", the leader," } else { "" }))
            }
            What::Resume => Some(format!("node {node} is back")),
            What::Asked { command } => Some(match command {
                "yield" => format!("node {node} is asked to hand over"),
                _ => format!("node {node} is asked for an election"), // the one other thing that can be asked
            }),
            What::Leads { term } => {
                let led = self.leads(node);
                self.nodes.get_mut(node as usize)?.follows = Some(node);
                Some(if led {
                    format!("node {node} leads on, now under term {}", term.number)
                } else {
                    format!("node {node} LEADS, term {}{}", term.number, self.why(node))
                })
            }
            What::Follows { leader, term } => {
                let before = self.nodes.get_mut(node as usize)?.follows.replace(leader);
                (before != Some(leader)).then(|| format!("node {node} follows node {leader}, term {}", term.number))
            }
            What::Leaderless => {
                let before = self.nodes.get_mut(node as usize)?.follows.take()?;
                Some(if before == node {
                    format!("node {node} leads no more")
                } else {
                    format!("node {node} misses its leader, node {before}")
                })
            }
            What::Rival { other } => Some(format!("node {node} LEADS WHILE node {other} MAY ACT")),
            What::Halted { why } => Some(format!("node {node} stopped itself: {why}")),
            What::Stored { .. }
            | What::Sent { .. }
            | What::Unsent { .. }
            | What::Heard { .. }
            | What::Missed { .. } => {
                None // too many to tell one by one
            }
            What::Lock { lock, deed } => of_lock(node, lock, deed),
            What::App { act } => of_app(node, act),
            // the whole network's
            What::Partition | What::Heal | What::Weather { .. } | What::Moved | What::Clocks { .. } => None,
        }
    }

    fn measured(&mut self, node: u32, capacity: Option<u16>) -> Option<String> {
        let known = self.nodes.get_mut(node as usize)?;
        let before = std::mem::replace(&mut known.capacity, capacity);
        let worth = capacity.map_or_else(|| "unfit to lead".to_owned(), |worth| format!("capacity {worth}"));
        Some(match known.starting.take() {
            Some(Start::First) => format!("node {node} starts: {worth}"),
            Some(Start::Again) => format!("node {node} starts again with its records: {worth}"),
            Some(Start::Blank) => {
                format!("node {node} starts again without its records ({worth}): it decides nothing for a while")
            }
            None if before == capacity => return None,
            None => format!("node {node} is now of {worth}"),
        })
    }

    fn leads(&self, node: u32) -> bool {
        self.nodes.get(node as usize).is_some_and(|known| known.follows == Some(node))
    }

    /// Why this one: what makes it the best of those that are up, where it is.
    fn why(&self, node: u32) -> String {
        let standing = |node: u32| self.nodes.get(node as usize).and_then(|known| Some((known.capacity?, node)));
        let Some((capacity, _)) = standing(node) else { return String::new() };
        let up = || (0..).zip(&self.nodes).filter(|(_, known)| known.up);
        let best = up().filter_map(|(other, _)| standing(other)).max();
        if best == standing(node) {
            format!(": its capacity {capacity} is the highest of the {} that are up", up().count())
        } else {
            format!(": its capacity is {capacity}")
        }
    }
}

fn of_network(what: What) -> Option<String> {
    match what {
        What::Partition => Some("THE NETWORK IS CUT: each part is on its own".to_owned()),
        What::Heal => Some("THE CUT IS MENDED: everybody in range is heard again".to_owned()),
        What::Weather { fault } => Some(format!("the network changes: {fault}")),
        What::Moved
        | What::Boot { .. }
        | What::Crash
        | What::Pause
        | What::Resume
        | What::Capacity { .. }
        | What::Asked { .. }
        | What::Stored { .. }
        | What::Sent { .. }
        | What::Unsent { .. }
        | What::Heard { .. }
        | What::Missed { .. }
        | What::Leads { .. }
        | What::Follows { .. }
        | What::Rival { .. }
        | What::Leaderless
        | What::Halted { .. }
        | What::Lock { .. }
        | What::App { .. }
        | What::Clocks { .. } => None,
    }
}

fn of_lock(node: u32, lock: u8, deed: Deed) -> Option<String> {
    match deed {
        Deed::Acquired { fence } => {
            Some(format!("node {node} holds lock {lock}, fence {}.{}", fence.term.number, fence.count.0))
        }
        Deed::Shared { other } => Some(format!("node {node} HOLDS LOCK {lock} WHILE node {other} DOES")),
        Deed::Lost => Some(format!("node {node} has lost lock {lock}")),
        Deed::Released => Some(format!("node {node} gives lock {lock} back")),
        Deed::Wrote { accepted: false, .. } => {
            Some(format!("a late write of node {node} under lock {lock} is refused"))
        }
        Deed::Asks { .. }
        | Deed::Renews
        | Deed::Releases
        | Deed::Cancels
        | Deed::Waits { .. }
        | Deed::Renewed { .. }
        | Deed::Expiring
        | Deed::Refused { .. }
        | Deed::Wrote { accepted: true, .. } => None, // too many to tell one by one
    }
}

fn of_app(node: u32, act: Act) -> Option<String> {
    match act {
        Act::Asked { request } => Some(match request {
            Request::Snapshot => format!("node {node} is asked for a snapshot"),
            Request::Watch => format!("node {node} is asked to find out when all is done"),
            Request::Start { units } => format!("node {node} is given {units} units of work"),
        }),
        Act::Recorded { snapshot, amount } => Some(format!(
            "node {node} records for snapshot {} of node {} that it has {amount}",
            snapshot.number, snapshot.initiator.0
        )),
        Act::Taken { snapshot, nodes } => {
            Some(format!("node {node} has snapshot {} whole, of {nodes} nodes", snapshot.number))
        }
        Act::Aborted { snapshot, why } => {
            Some(format!("node {node} gives snapshot {} up: {}", snapshot.number, why.words()))
        }
        Act::Over { by, job, waves: 0 } if by == node => Some(format!("node {node} finds that job {job} IS OVER")),
        Act::Over { by, job, waves } if by == node => {
            Some(format!("node {node} finds that job {job} IS OVER, by its wave {waves}"))
        }
        Act::Over { by, job, .. } => Some(format!("node {node} hears from node {by} that job {job} is over")),
        Act::Unknowable { why } => Some(format!("node {node} will not find out when the job is over: {why}")),
        Act::Set => Some(format!("the clock of node {node} is set")),
        Act::Back { by } => Some(format!("the clock of node {node} RUNS BACKWARDS, by {by} us")),
        Act::Says { .. }
        | Act::Hears { .. }
        | Act::GivesUp { .. }
        | Act::Reaches { .. }
        | Act::Busy
        | Act::Idle
        | Act::State { .. }
        | Act::Channel { .. }
        | Act::Wave { .. }
        | Act::Round { .. }
        | Act::Corrected { .. } => None, // too many to tell one by one
    }
}

/// The sentence for a node that an election reaches, `hop` hops from where it was called. No event says so: only who
/// sees the whole network knows.
#[must_use]
pub fn called(node: u32, hop: u32) -> String {
    match hop {
        0 => format!("node {node} calls an election"),
        _ => format!("hop {hop}: the call reaches node {node}"),
    }
}

/// The sentence for a node that has told its parent the best of its part of the tree.
#[must_use]
pub fn reported(node: u32) -> String {
    format!("node {node} reports the best it knows of")
}

/// A time as it begins a line.
#[must_use]
pub fn time(at: Micros) -> String {
    format!("{:>8.3} s ", at as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use protocol::clock::{Stamp, Term};
    use protocol::mutex::Fence;
    use protocol::snapshot;

    const TERM: Term = Term { number: 3, by: NodeId(1) };

    fn tell(story: &mut Story, events: &[(Option<u32>, What)]) -> Vec<String> {
        events.iter().filter_map(|&(node, what)| story.sentence(&TraceEvent { at: 0, node, what })).collect()
    }

    fn begun(capacities: &[u16]) -> Story {
        let mut story = Story::new(capacities.len() as u32);
        for (node, &capacity) in (0..).zip(capacities) {
            let capacity = Some(capacity);
            let events = [(Some(node), What::Boot { blank: false }), (Some(node), What::Capacity { capacity })];
            assert_eq!(tell(&mut story, &events).len(), 1);
        }
        story
    }

    #[test]
    fn an_election_is_told_with_its_reason() {
        let mut story = begun(&[10, 30, 20]);
        let events = [
            (Some(1), What::Leads { term: TERM }),
            (Some(0), What::Follows { leader: 1, term: TERM }),
            (Some(0), What::Follows { leader: 1, term: Term { number: 4, ..TERM } }),
            (Some(1), What::Leads { term: Term { number: 4, ..TERM } }),
        ];
        let told = [
            "node 1 LEADS, term 3: its capacity 30 is the highest of the 3 that are up",
            "node 0 follows node 1, term 3",
            "node 1 leads on, now under term 4",
        ];
        assert_eq!(tell(&mut story, &events), told);
    }

    #[test]
    fn a_failure_and_a_return_are_told() {
        let mut story = begun(&[10, 30]);
        let events = [
            (Some(1), What::Leads { term: TERM }),
            (Some(0), What::Follows { leader: 1, term: TERM }),
            (Some(1), What::Crash),
            (Some(0), What::Leaderless),
            (Some(0), What::Leads { term: TERM }),
            (Some(1), What::Boot { blank: true }),
            (Some(1), What::Capacity { capacity: Some(30) }),
            (None, What::Partition),
        ];
        let told = tell(&mut story, &events);
        let expected = [
            "node 1, the leader, fails",
            "node 0 misses its leader, node 1",
            "node 0 LEADS, term 3: its capacity 10 is the highest of the 1 that are up",
            "node 1 starts again without its records (capacity 30): it decides nothing for a while",
            "THE NETWORK IS CUT: each part is on its own",
        ];
        assert_eq!(told[2..], expected);
    }

    #[test]
    fn the_flood_of_an_election_is_told_hop_by_hop() {
        let told = [called(1, 0), called(2, 3), reported(2)];
        let expected =
            ["node 1 calls an election", "hop 3: the call reaches node 2", "node 2 reports the best it knows of"];
        assert_eq!(told, expected);
    }

    #[test]
    fn who_comes_to_hold_a_lock_and_loses_it_is_told() {
        let mut story = begun(&[10, 30]);
        let fence = Fence { term: TERM, count: Stamp(7) };
        let of = |deed| (Some(1), What::Lock { lock: 0, deed });
        let events = [
            of(Deed::Asks { trying: false }),
            of(Deed::Acquired { fence }),
            of(Deed::Shared { other: 0 }),
            of(Deed::Lost),
            of(Deed::Wrote { fence, accepted: false }),
        ];
        let expected = [
            "node 1 holds lock 0, fence 3.7",
            "node 1 HOLDS LOCK 0 WHILE node 0 DOES",
            "node 1 has lost lock 0",
            "a late write of node 1 under lock 0 is refused",
        ];
        assert_eq!(tell(&mut story, &events), expected);
    }

    #[test]
    fn what_becomes_of_a_snapshot_and_of_a_job_is_told() {
        let mut story = begun(&[10, 30]);
        let snapshot = snapshot::Id { initiator: NodeId(1), incarnation: 2, number: 5 };
        let of = |act| (Some(1), What::App { act });
        let events = [
            of(Act::Asked { request: Request::Snapshot }),
            of(Act::Recorded { snapshot, amount: 7 }),
            of(Act::State { snapshot, of: 0, amount: 9 }),
            of(Act::Taken { snapshot, nodes: 2 }),
            of(Act::Aborted { snapshot, why: snapshot::Why::Late }),
            of(Act::Over { by: 1, job: 3, waves: 2 }),
            of(Act::Over { by: 0, job: 3, waves: 2 }),
        ];
        let expected = [
            "node 1 is asked for a snapshot",
            "node 1 records for snapshot 5 of node 1 that it has 7",
            "node 1 has snapshot 5 whole, of 2 nodes",
            "node 1 gives snapshot 5 up: it took too long",
            "node 1 finds that job 3 IS OVER, by its wave 2",
            "node 1 hears from node 0 that job 3 is over",
        ];
        assert_eq!(tell(&mut story, &events), expected);
    }

    #[test]
    fn a_line_begins_with_its_time() {
        let mut story = Story::new(1);
        let event = TraceEvent { at: 12_345_678, node: None, what: What::Heal };
        assert_eq!(story.line(&event).unwrap(), "  12.346 s  THE CUT IS MENDED: everybody in range is heard again");
    }
}
