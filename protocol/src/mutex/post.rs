//! What one step says, to others and to itself: a node is one of its own voters, and there are no letters to oneself.

use super::{Command, LOCKS_MAX, Notice};
use crate::algorithm::{Context, Input, Outbox};
use crate::group::NodeSet;
use heapless::{Deque, Vec};

/// How much a node may have to say to itself at a time.
const OWN_MAX: usize = 8;

/// What gives locks back, until there is room to say it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Later<M> {
    said: Vec<(NodeSet, M), LOCKS_MAX>,
}

impl<M> Default for Later<M> {
    fn default() -> Self {
        Self { said: Vec::new() }
    }
}

impl<M: Copy + PartialEq> Later<M> {
    /// Keeps it; says it at once where there is no room to keep it.
    pub(super) fn say(&mut self, to: NodeSet, message: M, out: &mut Post<'_, M>) {
        if let Err((to, message)) = self.said.push((to, message)) {
            out.send(to, message);
        }
    }

    /// Whether nothing is left to say.
    pub(super) fn is_empty(&self) -> bool {
        self.said.is_empty()
    }

    /// Says the first that was kept.
    pub(super) fn tend(&mut self, out: &mut Post<'_, M>) {
        if let Some(&first) = self.said.first() {
            self.said.retain(|other| *other != first);
            out.send(first.0, first.1);
        }
    }
}

/// Where a step's messages go.
pub(super) struct Post<'o, M> {
    /// What leaves the node.
    pub(super) out: &'o mut Outbox<M, Notice>,
    me: NodeSet,
    own: Deque<M, OWN_MAX>,
    letters: usize,
    /// How many letters may be written before what can wait has to.
    room: usize,
}

impl<'o, M: Clone> Post<'o, M> {
    /// What can wait is said when time has passed: a node asks then whether the link has room. What a letter, a command or
    /// a fact leads to is noted only; otherwise nodes with much to answer would have no room to take each other's letters.
    pub(super) fn new(cx: &Context<'_>, input: &Input<M, Command>, out: &'o mut Outbox<M, Notice>) -> Self {
        let room = match input {
            Input::Timeout => 1,
            Input::Message { .. } | Input::Command(_) | Input::Fact(_) => 0,
        };
        Self { out, me: cx.roster.set_of(cx.me), own: Deque::new(), letters: 0, room }
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

    /// Whether what can wait has to.
    pub(super) const fn is_full(&self) -> bool {
        self.letters >= self.room
    }

    /// Whether anything has been written to others.
    pub(super) const fn has_written(&self) -> bool {
        self.letters > 0
    }
}
