//! The trace: a stream of events, and a hash of all of them.
//!
//! Every event goes into the hash, observed or not: two runs with the same hash had the same events.

mod app_event;
mod hash;
mod lock_event;
mod message_event;
pub mod narrator;

pub(crate) use app_event::AppRequest;
pub use app_event::{AppEvent, RequestStep, TransactionStep};
pub(crate) use hash::{TraceHash, digest_of_bytes};
pub(crate) use lock_event::LockEvent;
pub use message_event::{MessageEvent, ReliableMessage};

use crate::base::Micros;
use protocol::base::term::Term;
use serde::{Serialize, Serializer};

/// One event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TraceEvent {
    /// The moment, in microseconds since the run began.
    pub at: Micros,
    /// The id of its node; `None` for an event of the whole network.
    pub node: Option<u32>,
    /// Its kind.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum EventKind {
    /// The node booted.
    Boot {
        /// Whether it had lost its records.
        blank: bool,
    },
    /// The node crashed.
    Crash,
    /// The node was paused.
    Pause,
    /// The node resumed.
    Resume,
    /// The node measured its capacity.
    Capacity {
        /// The capacity; `None` is unfit to lead.
        capacity: Option<u16>,
    },
    /// The node has been steady for long enough to forget a flap: it advertises more of its capacity from now on.
    Steady {
        /// The flaps it still remembers.
        flaps: u8,
    },
    /// The node's application commanded the election.
    Command {
        /// The command's name.
        command: &'static str,
    },
    /// The node stored its records.
    Stored {
        /// The number of its boot.
        incarnation: u32,
        /// The highest term it may act in.
        term: u32,
    },
    /// The node sent a frame.
    Sent {
        /// The name of its message.
        kind: &'static str,
        /// Its length.
        bytes: u16,
    },
    /// A frame of the node was dropped before transmission.
    Dropped {
        /// The name of its message.
        kind: &'static str,
        /// The reason.
        reason: SendFailure,
    },
    /// The node received a frame.
    Received {
        /// The id of the sender.
        from: u32,
        /// The name of its message.
        kind: &'static str,
        /// The quality of the link, from 0 to 255.
        quality: u8,
    },
    /// A frame in range was lost to the node.
    Missed {
        /// The id of the sender.
        from: u32,
        /// The reason.
        reason: LossReason,
    },
    /// The node leads.
    Leads {
        /// Its term.
        #[serde(serialize_with = "number_and_node")]
        term: Term,
    },
    /// The node follows another.
    Follows {
        /// The id of the leader.
        leader: u32,
        /// Its term.
        #[serde(serialize_with = "number_and_node")]
        term: Term,
    },
    /// The node begins to lead while another may act as leader.
    TwoLeaders {
        /// The id of the other.
        other: u32,
    },
    /// The node knows no leader.
    Leaderless,
    /// The node stopped itself: a bound of its own was broken.
    Halted {
        /// The bound.
        reason: &'static str,
    },
    /// The node goes on with another list of members, or stops where it is not on it.
    NewList {
        /// The epoch of the list.
        epoch: u32,
        /// The members: a bit for each, by its id.
        members: u64,
    },
    /// A change of the list that this node made as the leader is decided.
    ListDecided,
    /// A partition began.
    Partition,
    /// A partition ended.
    Heal,
    /// A link fault began or ended.
    LinkFault {
        /// Its name.
        fault: &'static str,
    },
    /// Capacities of nodes were changed.
    CapacityFault,
    /// The nodes moved.
    Moved,
    /// An event of a lock.
    Lock {
        /// The lock's index in the scenario.
        lock: u8,
        /// The event.
        #[serde(flatten, rename = "lock_event")]
        event: LockEvent,
    },
    /// An event of the application.
    App {
        /// The event.
        #[serde(flatten, rename = "app_event")]
        event: AppEvent,
    },
    /// The shared clocks of all nodes were compared.
    Clocks {
        /// How many have been set.
        synced: u32,
        /// The microseconds between the first and the last of them.
        skew: u64,
    },
}

/// Why a frame was dropped before transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SendFailure {
    /// The transmit queue was full.
    QueueFull,
    /// The channel was busy each time the node sensed it.
    MediumBusy,
}

/// Why a frame was lost to one receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LossReason {
    /// Another frame, or the receiver's own, overlapped it.
    Collision,
    /// Distance or a link fault.
    Lost,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the serializer calls it so")]
fn number_and_node<S: Serializer>(term: &Term, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{}.{}", term.number, term.by.0))
}

/// An observer of a run.
pub trait Observer {
    /// Observes an event.
    fn observe(&mut self, event: &TraceEvent);

    /// Observes the bytes of a frame, just before the event that it was sent.
    fn on_frame(&mut self, _frame: &[u8]) {}

    /// Observes that a stage of a node sends or receives a reliable message.
    fn on_message(&mut self, _at: Micros, _event: &MessageEvent) {}
}

impl Observer for () {
    fn observe(&mut self, _: &TraceEvent) {}
}

impl<F: FnMut(&TraceEvent)> Observer for F {
    fn observe(&mut self, event: &TraceEvent) {
        self(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use protocol::base::lamport::LamportTime;
    use protocol::mutex::Fence;
    use protocol::service::snapshot;

    const TERM: Term = Term { number: 3, by: NodeId(9) };

    fn hash(events: &[TraceEvent]) -> u64 {
        let mut hash = TraceHash::default();
        for event in events {
            hash.write_event(event);
        }
        hash.value()
    }

    #[test]
    fn an_event_is_one_line_of_json() {
        let fence = Fence { term: TERM, count: LamportTime(7) };
        let snapshot = snapshot::Id { initiator: NodeId(2), incarnation: 1, number: 7 };
        let cases = [
            (EventKind::Follows { leader: 9, term: TERM }, r#""event":"follows","leader":9,"term":"3.9""#),
            (
                EventKind::Lock { lock: 1, event: LockEvent::Wrote { fence, accepted: false } },
                r#""event":"lock","lock":1,"lock_event":"wrote","fence":"3.9:7","accepted":false"#,
            ),
            (
                EventKind::App { event: AppEvent::Channel { snapshot, from: 0, to: 4, amount: 9 } },
                r#""event":"app","app_event":"channel","snapshot":"2.1.7","from":0,"to":4,"amount":9"#,
            ),
        ];
        for (kind, expected) in cases {
            let line = serde_json::to_string(&TraceEvent { at: 1_500, node: Some(4), kind }).unwrap();
            assert_eq!(line, format!(r#"{{"at":1500,"node":4,{expected}}}"#));
        }
    }

    #[test]
    fn every_part_of_an_event_counts_in_the_hash() {
        let event = TraceEvent { at: 1, node: Some(4), kind: EventKind::Follows { leader: 9, term: TERM } };
        let others = [
            TraceEvent { at: 2, ..event },
            TraceEvent { node: None, ..event },
            TraceEvent { kind: EventKind::Follows { leader: 8, term: TERM }, ..event },
            TraceEvent { kind: EventKind::Follows { leader: 9, term: Term { number: 4, ..TERM } }, ..event },
            TraceEvent { kind: EventKind::Leads { term: TERM }, ..event },
        ];
        assert_eq!(hash(&[event]), hash(&[event]));
        for other in others {
            assert_ne!(hash(&[event]), hash(&[other]), "{other:?}");
        }
        assert_ne!(hash(&[event, others[0]]), hash(&[others[0], event]));
    }
}
