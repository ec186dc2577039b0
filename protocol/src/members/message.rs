//! What nodes send each other about the list.

use super::list::List;
use super::round::{Phase, Round};
use crate::wire::{self, Delivery};
use serde::{Deserialize, Serialize};

/// Messages about the list. They go to all in range, under the group's key without the list.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// The last list that was decided, as far as the sender knows.
    List(List),
    /// What the sender knows of the round that would change it.
    Round(Round),
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        Delivery::Unreliable // repeated until it is known
    }

    fn name(&self) -> &'static str {
        match self {
            Self::List(_) => "list",
            Self::Round(Round { phase: Phase::Asking { .. }, .. }) => "ask-change",
            Self::Round(Round { phase: Phase::Storing { .. }, .. }) => "store-change",
        }
    }
}
