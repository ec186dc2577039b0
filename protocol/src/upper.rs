//! What stands on top of a node: an application, and what watches it.
//!
//! A node has at most one such stage, because what it does must happen in one order: a marker of a snapshot and a message
//! of the application travel in one stream, and the message is recorded before the application sees it.
//! [`crate::suite::Suite`] joins them all. [`Nothing`] costs nothing.
//!
//! A lock answers a letter with letters, for which the link keeps room. What stands on top asks for no such room: it is
//! asked to speak ([`Upper::speak`]) when there is some, one thing at a time, and otherwise waits. So however much an
//! application has to say, elections and locks are not kept from talking.

use crate::algorithm::{Algorithm, Context, Input, OUTPUTS_MAX, Outbox, Scope};
use crate::link::WAITING_MAX;
use crate::time::Instant;
use crate::wire::{self, Silence};
use core::convert::Infallible;
use heapless::Deque;

/// How many letters may wait in the link before what stands on top has to wait too.
pub const LETTERS_MAX: usize = 4;
const _: () = assert!(LETTERS_MAX <= WAITING_MAX, "it must never keep a node from taking letters in");

/// The notices of a stage on top, until the host takes them: it does so after every input.
pub type Told<N> = Deque<N, { OUTPUTS_MAX + 4 }>;

/// A stage on top of a node.
///
/// In [`Algorithm::handle`] it writes no letters: it says what need not arrive, and tells.
pub trait Upper: Algorithm<Message: wire::Message, Notice: Clone> {
    /// Whether there is anything.
    const PRESENT: bool = true;

    /// Goes on in this boot of the node.
    fn resume(&mut self, _incarnation: u32) {}

    /// The shared time when the node's own clock shows `now`; `None` where there is none, or it was never set.
    fn time(&self, _now: Instant) -> Option<Instant> {
        None
    }

    /// Where its notices wait for the application; nowhere if it never has one.
    fn told(&mut self) -> Option<&mut Told<Self::Notice>>;

    /// Writes at most one letter, to be sent in this very order: whether it had one to write.
    fn speak(&mut self, cx: &Context<'_>, out: &mut Outbox<Self::Message, Self::Notice>) -> bool;
}

/// Nothing stands on top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Nothing;

impl Algorithm for Nothing {
    type Message = Silence;
    type Command = Infallible;
    type Notice = Infallible;

    const GROUP: bool = false;

    fn scope(&self) -> Scope {
        Scope::Nobody
    }

    fn handle(&mut self, _: &Context<'_>, _: Input<Silence, Infallible>, _: &mut Outbox<Silence, Infallible>) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Upper for Nothing {
    const PRESENT: bool = false;

    fn told(&mut self) -> Option<&mut Told<Infallible>> {
        None
    }

    fn speak(&mut self, _: &Context<'_>, _: &mut Outbox<Silence, Infallible>) -> bool {
        false
    }
}
