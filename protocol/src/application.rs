//! The application of a node, as far as the nodes have a part in it.
//!
//! An application hears messages of its like on other nodes and has messages for them. They travel as letters: in order,
//! and none is lost while both ends are up. It is asked for the next one when there is room for it, and only then is that
//! message sent: so whatever it has counted as sent is in the one stream that a snapshot's markers travel in too.
//!
//! Two come with the crate: [`Tokens`], a bank whose tokens move between nodes and never become more or less, and
//! [`Diffusing`], a job that spreads over the nodes and ends when it ends.

use crate::algorithm::{Context, Input};
use crate::group::{NodeId, NodeSet};
use crate::time::Instant;
use crate::wire;
use heapless::Vec;

mod any;
pub mod diffusing;
pub mod tokens;

pub use any::{AnyApplication, AnyMessage};
pub use diffusing::Diffusing;
pub use tokens::Tokens;

/// The longest state an application may show to a snapshot.
pub const RECORD_MAX: usize = 96;
/// The longest form in which a snapshot keeps a message that was on its way.
pub const ITEM_MAX: usize = 32;

/// The state of one node's application.
pub type Record = Vec<u8, RECORD_MAX>;
/// A message that was on its way, as the application that it reached describes it.
pub type Item = Vec<u8, ITEM_MAX>;

/// An application that runs on every node of a group.
pub trait Application {
    /// What nodes say to each other. It travels as [`wire::Delivery::Reliable`].
    type Message: wire::Message;
    /// What the user asks of it.
    type Command;

    /// Takes one step; says nothing yet.
    fn handle(&mut self, cx: &Context<'_>, input: Input<Self::Message, Self::Command>);

    /// The next message and whom it is for, if there is one. It is sent at once and counts as sent: nobody who is not up
    /// can be written to.
    fn speak(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Self::Message)>;

    /// Whether it has work of its own to do. One that is not busy becomes so by a message or a command only, and says
    /// nothing before.
    fn is_busy(&self) -> bool;

    /// Its state, for a snapshot; `None` while something was lost on the way to a member and not made good yet.
    fn record(&self, cx: &Context<'_>) -> Option<Record>;

    /// What `message` means to this node, for a snapshot in which it is still on its way. The application has not heard it
    /// yet.
    fn item(&self, cx: &Context<'_>, from: NodeId, message: &Self::Message) -> Item;

    /// The number of the latest job it has heard of, where it does one job after the other.
    fn job(&self) -> u32 {
        0
    }

    /// The jobs up to this one are over everywhere: what is still heard of them is too late.
    fn finish(&mut self, _job: u32) {}

    /// When to be called with [`Input::Timeout`], if nothing happens before.
    fn deadline(&self) -> Option<Instant>;
}
