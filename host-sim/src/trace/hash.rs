//! One number that stands for all that happened.

use super::{TraceEvent, What, act, deed};
use crate::random::mix;
use protocol::clock::Term;

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
            let (tag, a, b) = deed::digest(deed);
            (20 + tag, a, b << 8 | u64::from(*lock))
        }
        What::App { act } => {
            let (tag, a, b) = act::digest(act);
            (40 + tag, a, b)
        }
        What::Clocks { set, apart } => (60, u64::from(*set), *apart),
    }
}

/// The first eight letters of a word: enough to tell the words of a trace apart.
pub(super) fn word_of(word: &str) -> u64 {
    word.bytes().take(8).fold(0, |sum, byte| sum << 8 | u64::from(byte))
}
