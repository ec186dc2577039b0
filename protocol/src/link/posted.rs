//! An own message until it has reached everybody it is for, or they were given up.

use super::Place;
use crate::algorithm::Scope;
use crate::clock::Stamp;
use crate::config::{Moment, Timing};
use crate::dice::within;
use crate::group::NodeSet;
use crate::time::{Instant, Span};
use crate::wire::{Letter, NEIGHBOURS_MAX, Path, To};
use heapless::Vec;

/// How often a letter to a neighbour is tried: one that cannot be reached is no neighbour any more.
pub(super) const NEAR_ROUNDS: u8 = 6;
/// How often a letter to a member of the group is tried: it is for the detector to give up first.
pub(super) const MEMBER_ROUNDS: u8 = 10;
/// How often the pause between two attempts doubles.
pub(super) const DOUBLINGS_MAX: u8 = 5;

/// A message that waits to be sent or acknowledged.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted<P> {
    pub(super) message: P,
    pub(super) scope: Scope,
    /// Whom it still has to reach.
    pub(super) to: NodeSet,
    /// When it is sent; for a letter that was sent, when it is sent again.
    pub(super) due: Instant,
    pub(super) letter: Option<Post>,
}

/// What makes a message a letter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Post {
    pub(super) number: u32,
    pub(super) stamp: Stamp,
    /// Whom it has not been sent to in this round: at its beginning, everybody.
    pub(super) unsent: NodeSet,
    /// How many rounds have begun.
    pub(super) rounds: u8,
    /// How many frames it took so far.
    pub(super) attempts: u8,
}

impl Post {
    /// How long to wait for receipts before the next round.
    fn pause(&self, timing: &Timing, random: u32) -> Span {
        let pause = timing.retry.doubled(self.rounds.min(DOUBLINGS_MAX));
        pause.plus(within(pause.share(1, 2), random))
    }
}

impl<P> Posted<P> {
    /// These need it no more.
    pub(super) fn reached(&mut self, set: NodeSet) {
        if let Some(post) = &mut self.letter {
            post.unsent = post.unsent.without(set);
            if self.to.meets(set) {
                post.rounds = 0; // the others' silence begins anew: it was not the way to all of them
            }
        }
        self.to = self.to.without(set);
    }

    /// How many rounds it was tried.
    pub(super) fn rounds(&self) -> u8 {
        self.letter.map_or(0, |post| post.rounds)
    }

    /// Whether its time will come: a letter that was not sent in this round waits for another letter instead.
    pub(super) fn is_waiting(&self) -> bool {
        self.letter.is_none_or(|post| post.unsent != self.to)
    }

    /// Everybody who sent no receipt in time is tried again, but not for ever. The members that are given up.
    pub(super) fn end_round(&mut self, now: Instant) -> NodeSet {
        if self.due > now || !self.is_waiting() {
            return NodeSet::EMPTY;
        }
        let Some(post) = &mut self.letter else { return NodeSet::EMPTY };
        post.unsent = self.to;
        match self.scope {
            Scope::Neighbours if post.rounds >= NEAR_ROUNDS => {
                self.to = NodeSet::EMPTY;
                NodeSet::EMPTY
            }
            Scope::Group if post.rounds >= MEMBER_ROUNDS => core::mem::take(&mut self.to),
            Scope::Neighbours | Scope::Group | Scope::Nobody => NodeSet::EMPTY,
        }
    }

    /// The path of the next frame of this message, to any or all of `ready`.
    pub(super) fn send(&mut self, place: &Place<'_>, ready: NodeSet, peers: NodeSet) -> Path {
        let Some(post) = &mut self.letter else {
            let everyone = match self.scope {
                Scope::Neighbours => peers,
                Scope::Group | Scope::Nobody => place.group.without(place.myself()),
            };
            if everyone.without(self.to).is_empty() {
                self.to = NodeSet::EMPTY;
                return Path::Everyone;
            }
            let named =
                self.to.slots().take(NEIGHBOURS_MAX).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)));
            self.to = self.to.without(named);
            let mut ids = Vec::new();
            for name in place.roster.ids_of(named) {
                let _ = ids.push(name); // there is room: no more were taken
            }
            return Path::Neighbours(ids);
        };
        let first = ready.slots().next().map_or(NodeSet::EMPTY, NodeSet::slot);
        let name = place.roster.ids_of(first).next().unwrap_or(place.me);
        let (to, hops, sent) = match self.scope {
            Scope::Neighbours => (To::Node(name), 1, first),
            Scope::Group | Scope::Nobody => (To::Members(ready), place.hops, ready),
        };
        let Post { number, stamp, attempts, .. } = *post;
        if post.unsent == self.to {
            let Moment { now, random, timing } = place.moment;
            self.due = now.after(post.pause(timing, random));
            post.rounds = post.rounds.saturating_add(1);
        }
        post.unsent = post.unsent.without(sent);
        post.attempts = attempts.wrapping_add(1);
        Path::Letter(Letter { writer: None, number, attempt: attempts, hops, stamp, to })
    }
}
