//! What happened: a stream of events, and one number that stands for all of them.
//!
//! Every event goes into the hash, whether somebody looks at it or not: two runs with the same hash did the same.

use crate::queue::Micros;
use crate::random::mix;
use protocol::clock::Term;
use protocol::mutex::Fence;
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
}

/// What a node does about a lock, or is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "deed", rename_all = "kebab-case")]
pub enum Deed {
    /// The application asks for it.
    Asks {
        /// Whether it would rather be refused than wait.
        trying: bool,
    },
    /// The application asks for a longer hold.
    Renews,
    /// The application gives it back.
    Releases,
    /// The application wants it no more.
    Cancels,
    /// Others come first.
    Waits {
        /// How many.
        ahead: u8,
    },
    /// It is granted.
    Acquired {
        /// Under which fence.
        #[serde(serialize_with = "term_and_count")]
        fence: Fence,
    },
    /// A longer hold is granted.
    Renewed {
        /// Under which fence it is held.
        #[serde(serialize_with = "term_and_count")]
        fence: Fence,
    },
    /// The node holds it, and so does another at this very moment.
    Shared {
        /// Which.
        other: u32,
    },
    /// Its hold will end soon.
    Expiring,
    /// Its hold has ended.
    Lost,
    /// It is given back.
    Released,
    /// It is not granted, and not waited for.
    Refused {
        /// Why.
        why: &'static str,
    },
    /// A write of the node reaches the thing that the lock protects.
    Wrote {
        /// Under which fence.
        #[serde(serialize_with = "term_and_count")]
        fence: Fence,
        /// Whether it was let through.
        accepted: bool,
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

fn term_and_count<S: Serializer>(fence: &Fence, serializer: S) -> Result<S::Ok, S::Error> {
    let Fence { term, count } = fence;
    serializer.collect_str(&format_args!("{}.{}:{}", term.number, term.by.0, count.0))
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

/// The hash of all that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> Self {
        Self(0x243F_6A88_85A3_08D3)
    }
}

impl TraceHash {
    /// Takes in one word.
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }

    /// Takes in an event.
    pub fn event(&mut self, event: &TraceEvent) {
        let (tag, a, b) = digest(&event.what);
        self.word(event.at);
        self.word(event.node.map_or(u64::MAX, u64::from) << 8 | tag);
        self.word(a);
        self.word(b);
    }

    /// The hash so far.
    #[must_use]
    pub fn value(self) -> u64 {
        mix(self.0)
    }
}

/// An event's kind and all it says, in three words.
fn digest(what: &What) -> (u64, u64, u64) {
    let words = |term: &Term| u64::from(term.number) << 32 | u64::from(term.by.0);
    match what {
        What::Boot { blank } => (0, u64::from(*blank), 0),
        What::Crash => (1, 0, 0),
        What::Pause => (2, 0, 0),
        What::Resume => (3, 0, 0),
        What::Capacity { capacity } => (4, capacity.map_or(u64::MAX, u64::from), 0),
        What::Asked { command } => (5, word_of(command), 0),
        What::Stored { incarnation, term } => (6, u64::from(*incarnation), u64::from(*term)),
        What::Sent { kind, bytes } => (7, word_of(kind), u64::from(*bytes)),
        What::Unsent { kind, why } => (8, word_of(kind), *why as u64),
        What::Heard { from, kind, quality } => (9, word_of(kind), u64::from(*from) << 8 | u64::from(*quality)),
        What::Missed { from, why } => (10, u64::from(*from), *why as u64),
        What::Leads { term } => (11, words(term), 0),
        What::Follows { leader, term } => (12, words(term), u64::from(*leader)),
        What::Leaderless => (13, 0, 0),
        What::Rival { other } => (19, u64::from(*other), 0),
        What::Halted { why } => (14, word_of(why), 0),
        What::Partition => (15, 0, 0),
        What::Heal => (16, 0, 0),
        What::Weather { fault } => (17, word_of(fault), 0),
        What::Moved => (18, 0, 0),
        What::Lock { lock, deed } => {
            let (tag, a, b) = deed_digest(deed);
            (20 + tag, a, b << 8 | u64::from(*lock))
        }
    }
}

/// The same of what is done about a lock; the second word has room for another byte.
fn deed_digest(deed: &Deed) -> (u64, u64, u64) {
    let word =
        |fence: &Fence| mix(fence.count.0 ^ mix(u64::from(fence.term.number) << 32 | u64::from(fence.term.by.0)));
    match deed {
        Deed::Asks { trying } => (0, u64::from(*trying), 0),
        Deed::Renews => (1, 0, 0),
        Deed::Releases => (2, 0, 0),
        Deed::Cancels => (3, 0, 0),
        Deed::Waits { ahead } => (4, u64::from(*ahead), 0),
        Deed::Acquired { fence } => (5, word(fence), 0),
        Deed::Renewed { fence } => (6, word(fence), 0),
        Deed::Shared { other } => (7, u64::from(*other), 0),
        Deed::Expiring => (8, 0, 0),
        Deed::Lost => (9, 0, 0),
        Deed::Released => (10, 0, 0),
        Deed::Refused { why } => (11, word_of(why), 0),
        Deed::Wrote { fence, accepted } => (12, word(fence), u64::from(*accepted)),
    }
}

/// The first eight letters of a word: enough to tell the words of a trace apart.
fn word_of(word: &str) -> u64 {
    word.bytes().take(8).fold(0, |sum, byte| sum << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::NodeId;
    use protocol::clock::Stamp;

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
