//! Applications on simulated nodes: the protocol's own, with everything they do written down, for checkers that see it all.

mod ledger;
mod stage;
mod traced;

pub(crate) use ledger::Ledger;
pub use stage::{ACTORS_MAX, Scene, Stage};
pub use traced::Traced;

use crate::trace::Act;
use protocol::NodeId;
use protocol::application::AnyMessage;

/// Something that an application did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It said something.
    Says {
        /// To whom.
        to: NodeId,
        /// What.
        message: AnyMessage,
    },
    /// It heard something.
    Hears {
        /// From whom.
        from: NodeId,
        /// What.
        message: AnyMessage,
        /// What it brought.
        amount: u32,
    },
    /// Anything else, as the trace tells it.
    Act(Act),
}
