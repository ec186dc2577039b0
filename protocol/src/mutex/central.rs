//! A central lock server: the elected leader grants.

use super::claims::Claims;
use super::{Command, Fence, LockId, Mutex, Notice};
use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use crate::time::Instant;

mod message;

pub use message::Message;

/// The central lock of one member.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Central {
    claims: Claims,
}

impl Algorithm for Central {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Outbox<Message, Notice>) {
        while self.claims.expire(cx.now, out).is_some() {}
        if let Input::Command(command) = input {
            self.claims.command(cx, command, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        self.claims.deadline()
    }
}

impl Mutex for Central {
    fn holds(&self, lock: LockId, now: Instant) -> Option<Fence> {
        self.claims.holds(lock, now)
    }
}
