//! One lock at one member of the tree: the direction of the token, and the queue of waiting neighbours.

use super::super::LockId;
use super::super::token::Epoch;
use crate::base::ids::NodeSet;
use crate::base::time::Instant;
use heapless::Vec;

/// Requests queued at one member: those of all others and its own, in a group of 16. One more is refused, and repeated.
pub(super) const QUEUE_MAX: usize = 16;

/// A queued request of a neighbour, or of this member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Waiter {
    pub(super) node: NodeSet,
    pub(super) number: u32,
    pub(super) since: Instant,
}

/// A request of this member that is not answered yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct OpenRequest {
    pub(super) to: NodeSet,
    pub(super) number: u32,
    pub(super) sent_at: Instant,
}

/// One lock at one member.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Branch {
    pub(super) lock: LockId,
    /// The epoch of the token this is about.
    pub(super) epoch: Epoch,
    /// The neighbour in the tree on the way to the token (the paper's HOLDER); empty where it is unknown.
    pub(super) toward: NodeSet,
    pub(super) open_request: Option<OpenRequest>,
    queue: Vec<Waiter, QUEUE_MAX>,
}

impl Branch {
    pub(super) const fn new(lock: LockId, epoch: Epoch, toward: NodeSet) -> Self {
        Self { lock, epoch, toward, open_request: None, queue: Vec::new() }
    }

    /// Starts over for another token, with the own request only: neighbours start over too.
    pub(super) fn reset(&mut self, epoch: Epoch, toward: NodeSet, me: NodeSet) {
        (self.epoch, self.toward, self.open_request) = (epoch, toward, None);
        self.queue.retain(|waiter| waiter.node == me);
    }

    /// Queues a request; a repeated one replaces the earlier in its position. Returns whether there was room.
    pub(super) fn enqueue(&mut self, waiter: Waiter) -> bool {
        match self.queue.iter_mut().find(|known| known.node == waiter.node) {
            Some(known) => {
                *known = waiter;
                true
            }
            None => self.queue.push(waiter).is_ok(),
        }
    }

    pub(super) fn head(&self) -> Option<&Waiter> {
        self.queue.first()
    }

    pub(super) fn dequeue(&mut self) {
        if let Some(&Waiter { node, .. }) = self.head() {
            self.remove(node);
        }
    }

    pub(super) fn remove(&mut self, set: NodeSet) {
        self.queue.retain(|waiter| !waiter.node.meets(set));
    }

    pub(super) fn ahead(&self, node: NodeSet) -> usize {
        self.queue.iter().take_while(|waiter| waiter.node != node).count()
    }

    pub(super) fn waiters(&self) -> NodeSet {
        self.queue.iter().fold(NodeSet::EMPTY, |set, waiter| set.with(waiter.node))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }
}
