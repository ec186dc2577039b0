//! An application of one's own: a counter that every member can raise, and that all members agree on in the end.
//!
//! Each member counts for itself and sends its total; the value is the sum of the totals. A total only grows, so an old
//! one does no harm: whatever is lost, repeated or late, members that can reach each other end with the same value. What a
//! member counted right after a reboot, before the others told it its old total, is lost.

#![allow(unreachable_pub, reason = "it is also a module of a library")]

use protocol::NodeSet;
use protocol::algorithm::{Context, Fact, Input, Outbox};
use protocol::service::Application;
use protocol::wire::{Kind, Kinded, Message};
use serde::{Deserialize, Serialize};

/// The members of a group, at most.
pub const MEMBERS_MAX: usize = 32;

/// The total of the member in this slot of the group.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Total {
    slot: u8,
    total: u32,
}

impl Kinded for Total {
    const KIND: Kind = Kind::application::<0>();
}

impl Message for Total {
    fn name(&self) -> &'static str {
        "total"
    }
}

/// Raises the counter by so much.
#[derive(Clone, Copy, Debug)]
pub struct Add(pub u32);

/// The value has changed to this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value(pub u64);

/// The counter at one member.
#[derive(Clone, Debug, Default)]
pub struct Counter {
    totals: [u32; MEMBERS_MAX],
    /// The members that each total has yet to be sent to.
    unsent: [NodeSet; MEMBERS_MAX],
}

impl Counter {
    fn value(&self) -> u64 {
        self.totals.iter().map(|&total| u64::from(total)).sum()
    }

    /// Raises the total of a slot; `to` does not know it yet.
    fn raise(&mut self, slot: usize, total: u32, to: NodeSet, out: &mut Outbox<Total, Value>) {
        if let (Some(known), Some(unsent)) = (self.totals.get_mut(slot), self.unsent.get_mut(slot))
            && *known < total
        {
            (*known, *unsent) = (total, to);
            out.notify(Value(self.value()));
        }
    }
}

impl Application for Counter {
    type Message = Total;
    type Command = Add;
    type Notice = Value;

    fn handle(&mut self, cx: &Context<'_>, input: Input<Total, Add>, out: &mut Outbox<Total, Value>) {
        match input {
            Input::Command(Add(by)) => {
                let slot = cx.roster.slot_of(cx.me).unwrap_or(MEMBERS_MAX);
                let total = self.totals.get(slot).map_or(0, |total| total.saturating_add(by));
                self.raise(slot, total, cx.peers, out);
            }
            Input::Message { message: Total { slot, total }, .. } => {
                self.raise(slot.into(), total, NodeSet::EMPTY, out);
            }
            // The link may have abandoned what was sent to it, or it has rebooted and knows nothing.
            Input::Fact(Fact::PeerUp(members) | Fact::PeerReset(members)) => {
                self.unsent.iter_mut().for_each(|unsent| *unsent = unsent.with(members));
            }
            // It may not have reached all: every member passes its total on.
            Input::Fact(Fact::PeerDown(members)) => {
                for (slot, unsent) in self.unsent.iter_mut().enumerate() {
                    if members.meets(NodeSet::slot(slot)) {
                        *unsent = cx.peers;
                    }
                }
            }
            Input::Fact(Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) | Input::Timeout => {}
        }
    }

    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Total)> {
        let mut totals = self.totals.iter().zip(&mut self.unsent).zip(0_u8..);
        let ((&total, unsent), slot) = totals.find(|((total, unsent), _)| **total > 0 && unsent.meets(cx.up))?;
        let to = unsent.and(cx.up);
        *unsent = unsent.without(to);
        Some((to, Total { slot, total }))
    }
}
