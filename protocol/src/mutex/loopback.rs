//! An outbox with a loopback: a node is one of its own voters, and the link carries no messages to oneself.

use super::Notice;
use crate::algorithm::{Context, Outbox};
use crate::base::ids::NodeSet;
use crate::link::REPLIES_MAX;
use heapless::Deque;

/// Messages of a node to itself in one step.
const LOOPBACK_MAX: usize = 8;

/// The messages of one step.
pub(super) struct LoopbackOutbox<'o, M> {
    /// Messages to other nodes, and notices.
    pub(super) out: &'o mut Outbox<M, Notice>,
    me: NodeSet,
    loopback: Deque<M, LOOPBACK_MAX>,
    sent: usize,
}

impl<'o, M: Clone> LoopbackOutbox<'o, M> {
    pub(super) fn new(cx: &Context<'_>, out: &'o mut Outbox<M, Notice>) -> Self {
        Self { out, me: cx.roster.set_of(cx.me), loopback: Deque::new(), sent: 0 }
    }

    /// Sends `message` to every node in `to`, this one included.
    pub(super) fn send(&mut self, to: NodeSet, message: M) {
        let others = to.without(self.me);
        if !others.is_empty() {
            self.sent = self.sent.saturating_add(1);
            self.out.send(others, message.clone());
        }
        if to.meets(self.me) {
            let kept = self.loopback.push_back(message);
            debug_assert!(kept.is_ok(), "a step sends fewer messages to its own node");
        }
    }

    /// Delivers the messages of this node to itself, which may send more.
    pub(super) fn deliver_loopback<L>(
        &mut self,
        cx: &Context<'_>,
        lock: &mut L,
        on_message: impl Fn(&mut L, &Context<'_>, usize, M, &mut Self),
    ) {
        let me = cx.roster.slot_of(cx.me);
        while let (Some(slot), Some(message)) = (me, self.loopback.pop_front()) {
            on_message(lock, cx, slot, message, self);
        }
    }

    /// Returns whether a message that can wait should: the link has room for [`REPLIES_MAX`], and one may still be
    /// needed.
    pub(super) const fn is_full(&self) -> bool {
        self.sent.saturating_add(1) >= REPLIES_MAX
    }

    pub(super) const fn has_sent(&self) -> bool {
        self.sent > 0
    }
}

/// Returns the members that are up, this one included.
pub(super) fn up_with_self(cx: &Context<'_>) -> NodeSet {
    cx.up.with(cx.roster.set_of(cx.me))
}
