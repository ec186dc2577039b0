//! What members say about who may act.

use crate::clock::Term;
use crate::group::NodeSet;
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What members say about who may act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// I was elected: promise to grant nobody else anything for a lease.
    Ask {
        /// Under which term.
        term: Term,
        /// The how many-th question under this term.
        number: u32,
        /// Who counts; nobody where the sender does not act yet.
        view: NodeSet,
        /// The how many-th view of this term.
        edition: u16,
    },
    /// I promise.
    Grant {
        /// Which term it is about.
        term: Term,
        /// Which question.
        number: u32,
    },
    /// I do not act any more: you are free.
    Release {
        /// Under which term it was.
        term: Term,
    },
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Mandate
    }

    fn delivery(&self) -> Delivery {
        Delivery::Latest
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Ask { .. } => "ask",
            Self::Grant { .. } => "grant",
            Self::Release { .. } => "release",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Mandate { wire::decode(body) } else { None }
    }
}
