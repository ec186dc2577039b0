//! The interface of an application whose instances on the nodes of a group exchange messages.
//!
//! Its messages are reliable: in order, and none is lost while both ends are up. The node polls it for the next message
//! when the link has room, and sends that message at once. So every message the application has counted as sent is in
//! the stream that also carries the markers of a snapshot.
//!
//! [`demo`](super::demo) has two: [`Tokens`](super::demo::Tokens) and [`Diffusing`](super::demo::Diffusing).

use crate::algorithm::{Context, Input};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::time::Instant;
use crate::wire;
use heapless::Vec;

/// Longest local state of an application, in bytes.
pub const LOCAL_STATE_MAX: usize = 96;
/// Longest encoding of a message in flight, in bytes.
pub const CHANNEL_MESSAGE_MAX: usize = 32;

/// The recorded state of one node's application.
pub type LocalState = Vec<u8, LOCAL_STATE_MAX>;
/// A recorded message in flight, as its recipient's application encodes it.
pub type ChannelMessage = Vec<u8, CHANNEL_MESSAGE_MAX>;

/// An application that runs on every node of a group.
pub trait Application {
    /// Messages between nodes. They travel as [`wire::Delivery::Reliable`].
    type Message: wire::Payload;
    /// Commands of the user.
    type Command;

    /// Takes one step; sends nothing yet.
    fn handle(&mut self, cx: &Context<'_>, input: Input<Self::Message, Self::Command>);

    /// Returns the next message and its recipients, if any. It counts as sent. Every recipient must be up.
    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Self::Message)>;

    /// Returns whether it has local work. An application that is not busy sends nothing, and becomes busy only by a
    /// message or a command.
    fn is_busy(&self) -> bool;

    /// Returns its state for a snapshot; `None` while a message to a member was lost and not yet compensated.
    fn local_state(&self, cx: &Context<'_>) -> Option<LocalState>;

    /// Encodes `message` for a snapshot that finds it in flight. The application has not received it yet.
    fn channel_message(&self, cx: &Context<'_>, from: NodeId, message: &Self::Message) -> ChannelMessage;

    /// Returns the number of the latest job it knows, for an application that runs one job after the other.
    fn job(&self) -> u32 {
        0
    }

    /// Handles the termination of all jobs up to `job`: messages of these that still arrive are late.
    fn on_terminated(&mut self, _job: u32) {}

    /// When to be called with [`Input::Timeout`], if nothing happens before.
    fn deadline(&self) -> Option<Instant>;
}

/// Encodes `value` as a local state or a message in flight; `None` where it does not fit.
pub(super) fn encode<const MAX: usize>(value: &impl serde::Serialize) -> Option<Vec<u8, MAX>> {
    let mut bytes = [0; MAX];
    let len = wire::encode(value, &mut bytes)?;
    Vec::from_slice(bytes.get(..len)?).ok()
}
