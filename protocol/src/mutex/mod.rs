//! Mutual exclusion: who may touch a shared thing.
//!
//! The place of the locks in a node; [`NoMutex`] is a node without any.

use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use crate::time::Instant;
use crate::wire::{self, Silence};
use core::convert::Infallible;

/// An algorithm that locks.
pub trait Mutex: Algorithm<Message: wire::Message> {}

/// No lock at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NoMutex;

impl Algorithm for NoMutex {
    type Message = Silence;
    type Command = Infallible;
    type Notice = Infallible;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, _: &Context<'_>, _: Input<Silence, Infallible>, _: &mut Outbox<Silence, Infallible>) {}

    fn deadline(&self) -> Option<Instant> {
        None
    }
}

impl Mutex for NoMutex {}
