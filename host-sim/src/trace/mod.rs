//! What happened: a stream of events, and one number that stands for all of them.
//!
//! Every event goes into the hash, whether somebody looks at it or not: two runs with the same hash did the same.

mod act;
mod deed;
mod hash;

pub use act::Act;
pub use deed::Deed;
pub use hash::TraceHash;

use crate::queue::Micros;
use protocol::clock::Term;
use serde::{Serialize, Serializer};

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct TraceEvent {
    /// When, in microseconds since the run began.
    pub at: Micros,
    /// To which node, by name; `None` for what happens to the whole network.
    pub node: Option<u32>,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum What {
    /// The node started.
    Boot {
        /// Whether it had lost what it stored.
        blank: bool,
    },
    /// The node stopped.
    Crash,
    /// The node went deaf and dumb.
    Pause,
    /// The node came back from a pause.
    Resume,
    /// The node measured its capacity; `None` is unfit to lead.
    Capacity {
        /// What it measured.
        capacity: Option<u16>,
    },
    /// The node's application asked something of the election.
    Asked {
        /// What.
        command: &'static str,
    },
    /// The node stored what a reboot must not forget.
    Stored {
        /// How often it has started.
        incarnation: u32,
        /// No term above this was acted on.
        term: u32,
    },
    /// A frame of the node went out.
    Sent {
        /// The word for what it says.
        kind: &'static str,
        /// How long it is.
        bytes: u16,
    },
    /// A frame of the node did not go out.
    Unsent {
        /// The word for what it says.
        kind: &'static str,
        /// Why not.
        why: Unsent,
    },
    /// The node heard a frame.
    Heard {
        /// Whose.
        from: u32,
        /// The word for what it says.
        kind: &'static str,
        /// How well, from 0 to 255.
        quality: u8,
    },
    /// The node was in range of a frame and did not hear it.
    Missed {
        /// Whose.
        from: u32,
        /// Why not.
        why: Missed,
    },
    /// The node leads.
    Leads {
        /// Under which term.
        #[serde(serialize_with = "number_and_node")]
        term: Term,
    },
    /// The node follows another.
    Follows {
        /// Whom.
        leader: u32,
        /// Under which term.
        #[serde(serialize_with = "number_and_node")]
        term: Term,
    },
    /// The node leads, and so does another at this very moment.
    Rival {
        /// Which.
        other: u32,
    },
    /// The node knows no leader.
    Leaderless,
    /// The node stopped itself: a bound of its own was broken.
    Halted {
        /// Which.
        why: &'static str,
    },
    /// The network was cut; from now on only nodes of one set hear each other.
    Partition,
    /// The cut was mended.
    Heal,
    /// The medium became better or worse, or some nodes did.
    Weather {
        /// The fault, by its word.
        fault: &'static str,
    },
    /// The nodes moved.
    Moved,
    /// Something was done about a lock.
    Lock {
        /// Which, by its place in the scenario.
        lock: u8,
        /// What.
        #[serde(flatten)]
        deed: Deed,
    },
    /// The application did something, or what watches it.
    App {
        /// What.
        #[serde(flatten)]
        act: Act,
    },
    /// The shared clocks of all nodes were compared.
    Clocks {
        /// How many have been set.
        set: u32,
        /// How many microseconds lie between the first and the last of them.
        apart: u64,
    },
}

/// Why a frame did not go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unsent {
    /// Too many frames were waiting.
    QueueFull,
    /// The medium was busy each time the node looked.
    MediumBusy,
}

/// Why a frame was not heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Missed {
    /// Another frame, or the hearer's own, overlapped it.
    Collision,
    /// Distance, loss or a burst of noise.
    Lost,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the serializer calls it so")]
fn number_and_node<S: Serializer>(term: &Term, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{}.{}", term.number, term.by.0))
}

/// Who watches a run.
pub trait Observer {
    /// Something happened.
    fn see(&mut self, event: &TraceEvent);

    /// This frame goes out: told just before the event that says so, for whoever wants to read what was said.
    fn read(&mut self, _frame: &[u8]) {}
}

impl Observer for () {
    fn see(&mut self, _: &TraceEvent) {}
}

impl<F: FnMut(&TraceEvent)> Observer for F {
    fn see(&mut self, event: &TraceEvent) {
        self(event);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use protocol::clock::Stamp;
    use protocol::mutex::Fence;
    use protocol::snapshot;

    const TERM: Term = Term { number: 3, by: NodeId(9) };

    fn hash(events: &[TraceEvent]) -> u64 {
        let mut hash = TraceHash::default();
        for event in events {
            hash.event(event);
        }
        hash.value()
    }

    #[test]
    fn an_event_is_one_line_of_json() {
        let event = TraceEvent { at: 1_500, node: Some(4), what: What::Follows { leader: 9, term: TERM } };
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(line, r#"{"at":1500,"node":4,"event":"follows","leader":9,"term":"3.9"}"#);
    }

    #[test]
    fn what_is_done_about_a_lock_is_one_line_too() {
        let fence = Fence { term: TERM, count: Stamp(7) };
        let what = What::Lock { lock: 1, deed: Deed::Wrote { fence, accepted: false } };
        let line = serde_json::to_string(&TraceEvent { at: 1_500, node: Some(4), what }).unwrap();
        let expected =
            r#"{"at":1500,"node":4,"event":"lock","lock":1,"deed":"wrote","fence":"3.9:7","accepted":false}"#;
        assert_eq!(line, expected);
    }

    #[test]
    fn what_an_application_does_is_one_line_too() {
        let snapshot = snapshot::Id { initiator: NodeId(2), incarnation: 1, number: 7 };
        let what = What::App { act: Act::Channel { snapshot, from: 0, to: 4, amount: 30 } };
        let line = serde_json::to_string(&TraceEvent { at: 1_500, node: Some(2), what }).unwrap();
        let expected =
            r#"{"at":1500,"node":2,"event":"app","act":"channel","snapshot":"2.1.7","from":0,"to":4,"amount":30}"#;
        assert_eq!(line, expected);
    }

    #[test]
    fn every_part_of_an_event_counts_in_the_hash() {
        let event = TraceEvent { at: 1, node: Some(4), what: What::Follows { leader: 9, term: TERM } };
        let others = [
            TraceEvent { at: 2, ..event },
            TraceEvent { node: None, ..event },
            TraceEvent { what: What::Follows { leader: 8, term: TERM }, ..event },
            TraceEvent { what: What::Follows { leader: 9, term: Term { number: 4, ..TERM } }, ..event },
            TraceEvent { what: What::Leads { term: TERM }, ..event },
        ];
        assert_eq!(hash(&[event]), hash(&[event]));
        for other in others {
            assert_ne!(hash(&[event]), hash(&[other]), "{other:?}");
        }
        assert_ne!(hash(&[event, others[0]]), hash(&[others[0], event]));
    }
}
