//! The questions this node has put to the others, and who consented.

use super::{Ask, LOCKS_MAX};
use crate::algorithm::Context;
use crate::clock::Stamp;
use crate::config::usable;
use crate::group::NodeSet;
use crate::mutex::LockId;
use crate::time::{Instant, Span};
use heapless::Vec;

/// One question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Poll {
    /// About which lock.
    pub lock: LockId,
    /// The request it is about.
    pub request: Stamp,
    /// Its number: an answer names it.
    pub turn: u8,
    /// The renewal it asks for, where the lock is held.
    pub renewal: Option<Stamp>,
    /// For how long.
    pub lease: Span,
    /// When it was asked: no consent is older.
    pub asked: Instant,
    /// Who consented.
    pub given: NodeSet,
    /// Whether somebody has yet to be asked for the first time.
    pub(super) fresh: bool,
    /// When it is said, or said again.
    pub(super) next: Instant,
}

impl Poll {
    /// Whose consent is missing.
    #[must_use]
    pub fn missing(&self, cx: &Context<'_>) -> NodeSet {
        cx.view.without(cx.roster.set_of(cx.me)).without(self.given)
    }

    /// Until when the consents are good.
    pub(super) fn until(&self) -> Instant {
        self.asked.after(usable(self.lease))
    }

    /// As it travels.
    pub(super) const fn ask(&self, cx: &Context<'_>) -> Ask {
        Ask { lock: self.lock, request: self.request, turn: self.turn, lease: self.lease, view: cx.view }
    }
}

/// What a question is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subject {
    pub(super) lock: LockId,
    pub(super) request: Stamp,
    pub(super) renewal: Option<Stamp>,
    pub(super) lease: Span,
}

/// Every question that is open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Polls {
    polls: Vec<Poll, LOCKS_MAX>,
    turn: u8,
}

impl Polls {
    pub(super) fn get(&self, lock: LockId) -> Option<&Poll> {
        self.polls.iter().find(|poll| poll.lock == lock)
    }

    /// The open question with this number.
    pub(super) fn named(&mut self, lock: LockId, turn: u8) -> Option<&mut Poll> {
        self.polls.iter_mut().find(|poll| poll.lock == lock && poll.turn == turn)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Poll> {
        self.polls.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Poll> {
        self.polls.iter_mut()
    }

    /// Asks anew: whatever was answered before counts no more.
    pub(super) fn begin(&mut self, cx: &Context<'_>, subject: Subject) {
        let Subject { lock, request, renewal, lease } = subject;
        self.end(lock);
        self.turn = self.turn.wrapping_add(1);
        let (turn, given, now) = (self.turn, NodeSet::EMPTY, cx.now);
        let poll = Poll { lock, request, turn, renewal, lease, asked: now, given, fresh: true, next: now };
        let _ = self.polls.push(poll); // there is room: a claim has one at a time
    }

    pub(super) fn end(&mut self, lock: LockId) {
        self.polls.retain(|poll| poll.lock != lock);
    }
}
