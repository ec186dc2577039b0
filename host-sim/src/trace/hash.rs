//! The hash of a trace.

use super::{EventKind, TraceEvent, app_event, lock_event};
use crate::base::rng::mix;
use protocol::base::term::Term;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceHash(u64);

impl Default for TraceHash {
    fn default() -> Self {
        Self(0x243F_6A88_85A3_08D3)
    }
}

impl TraceHash {
    pub(crate) fn write(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }
    pub(crate) fn write_event(&mut self, event: &TraceEvent) {
        let (tag, a, b) = digest(&event.kind);
        self.write(event.at);
        self.write(event.node.map_or(u64::MAX, u64::from) << 8 | tag);
        self.write(a);
        self.write(b);
    }
    pub(crate) fn value(self) -> u64 {
        mix(self.0)
    }
}

/// Returns an event's tag and data in three words.
fn digest(kind: &EventKind) -> (u64, u64, u64) {
    let words = |term: &Term| u64::from(term.number) << 32 | u64::from(term.by.0);
    match kind {
        EventKind::Boot { blank } => (0, u64::from(*blank), 0),
        EventKind::Crash => (1, 0, 0),
        EventKind::Pause => (2, 0, 0),
        EventKind::Resume => (3, 0, 0),
        EventKind::Capacity { capacity } => (4, capacity.map_or(u64::MAX, u64::from), 0),
        EventKind::Command { command } => (5, code(command), 0),
        EventKind::Stored { incarnation, term } => (6, u64::from(*incarnation), u64::from(*term)),
        EventKind::Sent { kind, bytes } => (7, message_code(kind), u64::from(*bytes)),
        EventKind::Dropped { kind, reason } => (8, message_code(kind), *reason as u64),
        EventKind::Received { from, kind, quality } => {
            (9, message_code(kind), u64::from(*from) << 8 | u64::from(*quality))
        }
        EventKind::Missed { from, reason } => (10, u64::from(*from), *reason as u64),
        EventKind::Leads { term } => (11, words(term), 0),
        EventKind::Follows { leader, term } => (12, words(term), u64::from(*leader)),
        EventKind::Leaderless => (13, 0, 0),
        EventKind::TwoLeaders { other } => (19, u64::from(*other), 0),
        EventKind::Halted { reason } => (14, code(reason), 0),
        EventKind::Partition => (15, 0, 0),
        EventKind::Heal => (16, 0, 0),
        EventKind::LinkFault { fault } => (17, code(fault), 0),
        EventKind::CapacityFault => (17, code("capacity"), 0),
        EventKind::Moved => (18, 0, 0),
        EventKind::Lock { lock, event } => {
            let (tag, a, b) = lock_event::digest(event);
            (20 + tag, a, b << 8 | u64::from(*lock))
        }
        EventKind::App { event } => {
            let (tag, a, b) = app_event::digest(event);
            (40 + tag, a, b)
        }
        EventKind::Steady { flaps } => (61, u64::from(*flaps), 0),
        EventKind::NewList { epoch, members } => (62, u64::from(*epoch), *members),
        EventKind::ListDecided => (63, 0, 0),
        EventKind::Clocks { synced, skew } => (60, u64::from(*synced), *skew),
    }
}

/// Returns a digest of bytes.
pub(crate) fn digest_of_bytes(bytes: &[u8]) -> u64 {
    let mut hash = TraceHash::default();
    for &byte in bytes {
        hash.write(u64::from(byte));
    }
    hash.value()
}

/// Returns the code of a word: its first eight bytes, enough to tell the words of a trace apart.
pub(super) fn code(word: &str) -> u64 {
    word.bytes().take(8).fold(0, |sum, byte| sum << 8 | u64::from(byte))
}

/// Returns the code of a message's name. A message that was renamed keeps the code of its first name, so that the same
/// behaviour keeps its hash.
fn message_code(name: &str) -> u64 {
    match name {
        "ack" => 0x0072_6563_6569_7074,
        "heartbeat" => 0x0061_6C69_7665,
        "lease" => 0x006D_616E_6461_7465,
        "leader-heartbeat" => 0x6265_6174,
        "broadcast" => 0x0073_686F_7574,
        "report" | "request-ack" => 0x0061_636B,
        "token-request" => 0x6361_6C6C,
        "token-lease" => 0x0077_6172_7261_6E74,
        "recall-ack" => 0x0063_6C65_6172,
        "fragment" => 0x7061_7274,
        "announce" => 0x6861_696C,
        "resync" => 0x6D65_6E64,
        _ => code(name),
    }
}
