//! A frame in a word, for whoever counts or watches frames. No node needs it.

use crate::wire::{Key, Message, Stage, open};
use crate::{election, mutex};

/// What a frame of this group says.
#[must_use]
pub fn describe(key: &Key, frame: &[u8]) -> Option<&'static str> {
    let packet = open(key, frame).ok()?;
    match packet.kind.stage() {
        Stage::Election => election::AnyMessage::decode(packet.kind, packet.body).map(|said| said.word()),
        Stage::Mutex => mutex::AnyMessage::decode(packet.kind, packet.body).map(|said| said.word()),
        Stage::Neighbours | Stage::Link | Stage::Detector | Stage::Mandate | Stage::Upper => Some(packet.kind.name()),
    }
}
