//! One lock's place in the tree: which way the token is, and who waits for it here.

use super::super::LockId;
use super::super::keeper::Generation;
use crate::group::NodeSet;
use crate::time::Instant;
use heapless::Vec;

/// How many may wait at one member: all others and itself, in a group of 16. One more is not heard, and asks again.
pub const QUEUE_MAX: usize = 16;

/// Somebody who waits for the token here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiter {
    pub(super) who: NodeSet,
    pub(super) number: u32,
    pub(super) since: Instant,
}

/// A request on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Asked {
    pub(super) whom: NodeSet,
    pub(super) number: u32,
    pub(super) at: Instant,
}

/// One lock's place in the tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Branch {
    pub(super) lock: LockId,
    /// The token this is about.
    pub(super) generation: Generation,
    /// Which neighbour in the tree is on the way to it; nobody, where it was never told.
    pub(super) toward: NodeSet,
    pub(super) asked: Option<Asked>,
    queue: Vec<Waiter, QUEUE_MAX>,
}

impl Branch {
    pub(super) const fn new(lock: LockId, generation: Generation, toward: NodeSet) -> Self {
        Self { lock, generation, toward, asked: None, queue: Vec::new() }
    }

    /// Begins anew: another token will be made. Whoever else waits here begins anew as well.
    pub(super) fn reset(&mut self, generation: Generation, toward: NodeSet, me: NodeSet) {
        (self.generation, self.toward, self.asked) = (generation, toward, None);
        self.queue.retain(|waiter| waiter.who == me);
    }

    /// Somebody waits. Whoever does already keeps the place, but waits anew. Whether there was room.
    pub(super) fn enqueue(&mut self, waiter: Waiter) -> bool {
        match self.queue.iter_mut().find(|known| known.who == waiter.who) {
            Some(known) => {
                *known = waiter;
                true
            }
            None => self.queue.push(waiter).is_ok(),
        }
    }

    /// Who is first.
    pub(super) fn head(&self) -> Option<&Waiter> {
        self.queue.first()
    }

    /// The first is served, or wants nothing any more.
    pub(super) fn dequeue(&mut self) {
        if let Some(&Waiter { who, .. }) = self.head() {
            self.forget(who);
        }
    }

    /// These do not wait any more.
    pub(super) fn forget(&mut self, set: NodeSet) {
        self.queue.retain(|waiter| !waiter.who.meets(set));
    }

    /// How many come before `who`.
    pub(super) fn ahead(&self, who: NodeSet) -> usize {
        self.queue.iter().take_while(|waiter| waiter.who != who).count()
    }

    /// Everybody who waits here.
    pub(super) fn waiters(&self) -> NodeSet {
        self.queue.iter().fold(NodeSet::EMPTY, |set, waiter| set.with(waiter.who))
    }

    /// Whether nobody waits here.
    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }
}
