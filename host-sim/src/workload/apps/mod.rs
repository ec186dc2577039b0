//! Applications on simulated nodes: the protocol's own, with all their actions traced.

mod app_adapter;
mod commit;
mod in_flight;
mod ordered;
mod own;
mod plan;
mod traced;

pub use app_adapter::APP_GROUP_MAX;
pub(crate) use app_adapter::{AppAdapter, SimulatedApp};
pub(crate) use commit::CommitApp;
pub(crate) use in_flight::InFlight;
pub(crate) use ordered::OrderedApp;
pub use own::{Command as OwnCommand, Notice as OwnNotice, Own, OwnApp};
pub(crate) use plan::AppPlan;
pub(crate) use traced::Traced;

use crate::trace::AppEvent;
use protocol::NodeId;
use protocol::registry::AnyApplicationMessage;

/// An action of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppAction {
    /// It sent a message.
    Sent {
        /// The receiver.
        to: NodeId,
        /// The message.
        message: AnyApplicationMessage,
    },
    /// It received a message.
    Received {
        /// The sender.
        from: NodeId,
        /// The message.
        message: AnyApplicationMessage,
        /// The amount it carried.
        amount: u32,
    },
    /// Any other event.
    Event(AppEvent),
}
