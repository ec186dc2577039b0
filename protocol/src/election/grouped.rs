//! An election among neighbours at a node that is a member of a group besides.

use super::{Command, Election, Notice};
use crate::algorithm::{Algorithm, Context, Input, Outbox, Scope};
use crate::clock::Term;
use crate::group::{NodeId, NodeSet};
use crate::time::Instant;

/// The election `E`, at a node that links what a group needs: for a leader that needs a majority of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Grouped<E>(pub E);

impl<E: Election> Algorithm for Grouped<E> {
    const GROUP: bool = true;

    type Message = E::Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        self.0.scope()
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<E::Message, Command>, out: &mut Outbox<E::Message, Notice>) {
        self.0.handle(cx, input, out);
    }

    fn deadline(&self) -> Option<Instant> {
        self.0.deadline()
    }
}

impl<E: Election> Election for Grouped<E> {
    fn resume(&mut self, number: u32) {
        self.0.resume(number);
    }

    fn number(&self) -> u32 {
        self.0.number()
    }

    fn leader(&self) -> Option<(NodeId, Term)> {
        self.0.leader()
    }

    fn parent(&self) -> NodeSet {
        self.0.parent()
    }
}
