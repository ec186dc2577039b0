//! A frame in a word, for whoever counts or watches frames. No node needs it.

use crate::election::AnyMessage;
use crate::wire::{Key, Kind, Message, open};

/// What a frame of this group says.
#[must_use]
pub fn describe(key: &Key, frame: &[u8]) -> Option<&'static str> {
    let packet = open(key, frame).ok()?;
    match packet.kind {
        Kind::Hello | Kind::Receipt | Kind::Bully | Kind::RicartAgrawala => Some(packet.kind.name()),
        Kind::Wireless | Kind::WirelessFlat => AnyMessage::decode(packet.kind, packet.body).map(|said| said.word()),
    }
}
