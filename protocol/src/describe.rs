//! A frame in a word, for whoever counts or watches frames. No node needs it.

use crate::application::{diffusing, tokens};
use crate::termination::{dijkstra_scholten, wave};
use crate::wire::{Key, Kind, Message, Stage, open};
use crate::{clock_sync, counter, election, mutex, snapshot};

/// What a frame of this group says.
#[must_use]
pub fn describe(key: &Key, frame: &[u8]) -> Option<&'static str> {
    let packet = open(key, frame).ok()?;
    let (kind, body) = (packet.kind, packet.body);
    match kind.stage() {
        Stage::Election => word::<election::AnyMessage>(kind, body),
        Stage::Mutex => word::<mutex::AnyMessage>(kind, body),
        Stage::Upper => word::<tokens::Give>(kind, body)
            .or_else(|| word::<diffusing::Work>(kind, body))
            .or_else(|| word::<snapshot::Message>(kind, body))
            .or_else(|| word::<wave::Message>(kind, body))
            .or_else(|| word::<dijkstra_scholten::Message>(kind, body))
            .or_else(|| word::<clock_sync::Message>(kind, body))
            .or_else(|| word::<counter::Message>(kind, body)),
        Stage::Neighbours | Stage::Link | Stage::Detector | Stage::Mandate => Some(kind.name()),
    }
}

fn word<M: Message>(kind: Kind, body: &[u8]) -> Option<&'static str> {
    M::decode(kind, body).map(|said| said.word())
}
