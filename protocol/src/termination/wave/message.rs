//! What members say in a wave.

use crate::group::{NodeId, NodeSet};
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// The name of a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Id {
    /// Who began it.
    pub initiator: NodeId,
    /// In which boot.
    pub incarnation: u32,
    /// The how many-th of that boot.
    pub number: u32,
}

/// What some members have sent and heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Sums {
    /// Who they are.
    pub covered: NodeSet,
    /// The sum of the digests of what each has sent to each.
    pub sent: u64,
    /// The sum of the digests of what each has heard from each.
    pub heard: u64,
    /// The latest job any has heard of.
    pub job: u32,
}

impl Sums {
    /// Of nobody.
    pub const NONE: Self = Self { covered: NodeSet::EMPTY, sent: 0, heard: 0, job: 0 };

    /// Of these and others.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self {
            covered: self.covered.with(other.covered),
            sent: self.sent.wrapping_add(other.sent),
            heard: self.heard.wrapping_add(other.heard),
            job: self.job.max(other.job),
        }
    }
}

/// What members say in a wave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Are you done?
    Query {
        /// Which wave.
        id: Id,
        /// Who has been asked, as far as the sender knows.
        asked: NodeSet,
    },
    /// I am, and so are those I asked.
    Done {
        /// Which wave.
        id: Id,
        /// What we have sent and heard.
        sums: Sums,
    },
    /// I am not, or one of those I asked is not.
    Continue {
        /// Which wave.
        id: Id,
    },
    /// Everybody is: the job is over.
    Terminate {
        /// Which wave has found out.
        id: Id,
        /// Which job.
        job: u32,
        /// How many waves it took to find out.
        waves: u32,
    },
    /// So many messages I have sent you in this boot: what you have not heard of them is lost.
    Mend {
        /// Which boot.
        boot: u32,
        /// How many.
        count: u32,
    },
}

impl wire::Message for Message {
    fn kind(&self) -> Kind {
        Kind::Wave
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        match self {
            Self::Query { .. } => "query",
            Self::Done { .. } => "done",
            Self::Continue { .. } => "continue",
            Self::Terminate { .. } => "terminate",
            Self::Mend { .. } => "mend",
        }
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Wave { wire::decode(body) } else { None }
    }
}
