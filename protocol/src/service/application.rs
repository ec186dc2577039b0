//! The interface of an application whose instances on the nodes of a group exchange messages.
//!
//! [`Application`] is all a program of one's own needs; [`AppService`](super::app_service::AppService) runs it as the
//! service of a node. An application that is also [`Recordable`] can be part of a snapshot, and the termination of one that
//! is [`Terminating`] can be detected.
//!
//! # Messages
//! A message type is data with a kind of its own ([`wire::Kind::application`]); its delivery says how it travels.
//!
//! | delivery | sent by | to be relied on |
//! | --- | --- | --- |
//! | [`Reliable`](wire::Delivery::Reliable) | [`Application::poll_send`] | in order, once, while both ends are up |
//! | [`ReliableLatest`](wire::Delivery::ReliableLatest) | the outbox of a step | the last of its name and topic arrives |
//! | [`Unreliable`](wire::Delivery::Unreliable), [`Jittered`](wire::Delivery::Jittered) | the outbox of a step | nothing |
//!
//! The node polls for the next reliable message when the link has room, and sends it at once. So a busy application blocks
//! neither elections nor locks, and every message it has counted as sent is in the stream that also carries the markers of
//! a snapshot. A reliable message in the outbox of a step would break both: the node halts
//! ([`Halt::Outbox`](crate::node::Halt::Outbox)).
//!
//! Recipients are a set: `cx.roster.set_of(id)` is one member, `cx.peers` all others, `cx.up` those believed to be up. The
//! leader arrives as [`Fact::Leader`](crate::algorithm::Fact::Leader).
//!
//! [`demo`](super::demo) has two: [`Tokens`](super::demo::Tokens) and [`Diffusing`](super::demo::Diffusing).

use crate::algorithm::{Context, Input, Outbox};
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
    /// Messages between nodes.
    type Message: wire::Payload;
    /// Commands of the user.
    type Command;
    /// Notices to the user.
    type Notice: Clone;

    /// Takes one step. The outbox takes notices, and messages that are not [`wire::Delivery::Reliable`].
    fn handle(
        &mut self,
        cx: &Context<'_>,
        input: Input<Self::Message, Self::Command>,
        out: &mut Outbox<Self::Message, Self::Notice>,
    );

    /// Returns the next reliable message and its recipients, if any. It counts as sent. A recipient that is not up does
    /// not receive it: after [`Fact::PeerUp`](crate::algorithm::Fact::PeerUp), send again what still matters.
    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Self::Message)>;

    /// When to be called with [`Input::Timeout`], if nothing happens before.
    fn deadline(&self) -> Option<Instant> {
        None
    }
}

/// An application whose state can be recorded. A snapshot holds its reliable messages in flight, and no others.
pub trait Recordable: Application {
    /// Returns its state for a snapshot; `None` while a message to a member was lost and not yet compensated.
    fn local_state(&self, cx: &Context<'_>) -> Option<LocalState>;

    /// Encodes `message` for a snapshot that finds it in flight. The application has not received it yet.
    fn channel_message(&self, cx: &Context<'_>, from: NodeId, message: &Self::Message) -> ChannelMessage;
}

/// An application whose work comes to an end that can be detected. Only reliable messages carry work.
pub trait Terminating: Application {
    /// Returns whether it has local work. An application that is not busy sends no reliable message, and becomes busy
    /// only by a reliable message or a command.
    fn is_busy(&self) -> bool;

    /// Returns the number of the latest job it knows, for an application that runs one job after the other.
    fn job(&self) -> u32 {
        0
    }

    /// Handles the termination of all jobs up to `job`: messages of these that still arrive are late.
    fn on_terminated(&mut self, _job: u32) {}
}

/// Encodes `value` as a local state or a message in flight; `None` where it does not fit.
pub fn encode<const MAX: usize>(value: &impl serde::Serialize) -> Option<Vec<u8, MAX>> {
    let mut bytes = [0; MAX];
    let len = wire::encode(value, &mut bytes)?;
    Vec::from_slice(bytes.get(..len)?).ok()
}
