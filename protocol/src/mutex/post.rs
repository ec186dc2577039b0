//! What one step says, to others and to itself: a node is one of its own voters, and there are no letters to oneself.

use super::Notice;
use crate::algorithm::{Context, Outbox};
use crate::group::NodeSet;
use crate::link::ANSWERS_MAX;
use heapless::Deque;

/// How much a node may have to say to itself at a time.
const OWN_MAX: usize = 8;

/// Where a step's messages go.
pub(super) struct Post<'o, M> {
    /// What leaves the node.
    pub(super) out: &'o mut Outbox<M, Notice>,
    me: NodeSet,
    own: Deque<M, OWN_MAX>,
    letters: usize,
}

impl<'o, M: Clone> Post<'o, M> {
    pub(super) fn new(cx: &Context<'_>, out: &'o mut Outbox<M, Notice>) -> Self {
        Self { out, me: cx.roster.set_of(cx.me), own: Deque::new(), letters: 0 }
    }

    /// Says `message` to everyone in `to`, this node included.
    pub(super) fn send(&mut self, to: NodeSet, message: M) {
        let others = to.without(self.me);
        if !others.is_empty() {
            self.letters = self.letters.saturating_add(1);
            self.out.send(others, message.clone());
        }
        if to.meets(self.me) {
            let kept = self.own.push_back(message);
            debug_assert!(kept.is_ok(), "a node has less to say to itself");
        }
    }

    /// The next message of this node to itself.
    pub(super) fn next_own(&mut self) -> Option<M> {
        self.own.pop_front()
    }

    /// Whether what can wait should: the link has room for so many letters, and one may be needed yet.
    pub(super) const fn is_full(&self) -> bool {
        self.letters.saturating_add(1) >= ANSWERS_MAX
    }

    /// Whether anything has been written to others.
    pub(super) const fn has_written(&self) -> bool {
        self.letters > 0
    }
}
