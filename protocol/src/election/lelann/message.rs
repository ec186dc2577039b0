//! Messages of the election of Le Lann.

use crate::base::capacity::Capacity;
use crate::base::ids::NodeId;
use crate::election::leadership::{LeaderMessage, from_leader_message};
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// A member's number on its way round the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Number {
    /// The round.
    pub round: u32,
    /// The member.
    pub owner: NodeId,
    /// The member's capacity, if it can lead.
    pub capacity: Option<Capacity>,
    /// Hops from the member to the receiver.
    pub hops: u8,
}

/// Messages between the members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// A number of an open round.
    Number(Number),
    /// A message about the leader.
    Leadership(LeaderMessage),
}

from_leader_message!(Message::Leadership);

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        match self {
            Self::Number(_) => Delivery::Reliable,
            Self::Leadership(message) => message.delivery(),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Number(_) => "number",
            Self::Leadership(message) => message.name(),
        }
    }
}
