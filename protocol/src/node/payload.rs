//! What the later stages say, on its way to the link.

use crate::mandate;
use crate::wire::{Delivery, Kind, Message, Stage};

/// A message of one of the stages.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<E, M, U> {
    Election(E),
    Mandate(mandate::Message),
    Mutex(M),
    Upper(U),
}

impl<E: Message, M: Message, U: Message> Message for Payload<E, M, U> {
    fn kind(&self) -> Kind {
        match self {
            Self::Election(message) => message.kind(),
            Self::Mandate(message) => message.kind(),
            Self::Mutex(message) => message.kind(),
            Self::Upper(message) => message.kind(),
        }
    }

    fn delivery(&self) -> Delivery {
        match self {
            Self::Election(message) => message.delivery(),
            Self::Mandate(message) => message.delivery(),
            Self::Mutex(message) => message.delivery(),
            Self::Upper(message) => message.delivery(),
        }
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Election(message) => message.word(),
            Self::Mandate(message) => message.word(),
            Self::Mutex(message) => message.word(),
            Self::Upper(message) => message.word(),
        }
    }

    fn about(&self) -> u32 {
        match self {
            Self::Election(message) => message.about(),
            Self::Mandate(message) => message.about(),
            Self::Mutex(message) => message.about(),
            Self::Upper(message) => message.about(),
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        match self {
            Self::Election(message) => message.encode(buffer),
            Self::Mandate(message) => message.encode(buffer),
            Self::Mutex(message) => message.encode(buffer),
            Self::Upper(message) => message.encode(buffer),
        }
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        match kind.stage() {
            Stage::Neighbours | Stage::Link | Stage::Detector => None,
            Stage::Election => E::decode(kind, body).map(Self::Election),
            Stage::Mandate => mandate::Message::decode(kind, body).map(Self::Mandate),
            Stage::Mutex => M::decode(kind, body).map(Self::Mutex),
            Stage::Upper => U::decode(kind, body).map(Self::Upper),
        }
    }
}
