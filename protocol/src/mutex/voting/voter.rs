//! A node as a voter: one vote for each lock, lent to one request at a time, refused to all others.

use super::Message;
use crate::algorithm::Context;
use crate::clock::Stamp;
use crate::config::granted;
use crate::group::NodeSet;
use crate::mutex::numbers::Numbers;
use crate::mutex::post::Post;
use crate::mutex::{LOCKS_MAX, LockId};
use crate::time::{Instant, Span};
use heapless::Vec;

/// For how many locks a voter lends its vote at a time. One more is refused until another is back.
pub const VOTES_MAX: usize = 4 * LOCKS_MAX;

/// A vote that is lent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Vote {
    lock: LockId,
    /// To whom.
    slot: u8,
    /// Whether that one has restarted: it cannot give the vote back, and what it held ends by its time.
    gone: bool,
    request: Stamp,
    until: Instant,
    number: Stamp,
}

/// A request, as it came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub(super) slot: u8,
    pub(super) lock: LockId,
    pub(super) request: Stamp,
    pub(super) lease: Span,
}

impl Asked {
    fn asker(&self) -> NodeSet {
        NodeSet::slot(usize::from(self.slot))
    }
}

/// The voter. What is lent comes back by its time, looked at when the next one asks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Voter {
    votes: Vec<Vote, VOTES_MAX>,
    pub(super) numbers: Numbers,
}

type Out<'o> = Post<'o, Message>;

/// Whether this node may have lent its vote before it started.
fn abstains(cx: &Context<'_>) -> bool {
    cx.uptime < granted(cx.timing.lock_lease)
}

impl Voter {
    /// To be told before everything else in a step.
    pub(super) fn wake(&mut self, cx: &Context<'_>) {
        self.numbers.wake(cx, abstains(cx));
    }

    /// A request has come, or has come again.
    pub(super) fn ask(&mut self, cx: &Context<'_>, asked: Asked, out: &mut Out<'_>) {
        let Asked { slot, lock, request, .. } = asked;
        let before = self.vote(cx.now, lock).copied();
        let mine = before.filter(|vote| vote.slot == slot && !vote.gone);
        if mine.is_some_and(|vote| request < vote.request) {
            return; // out of date
        }
        let number = match mine {
            Some(vote) if vote.request == request => vote.number,
            Some(_) | None => self.numbers.proposal(lock, request),
        };
        // Whoever asks anew has given up what it had.
        let lent = !abstains(cx) && (before.is_none() || mine.is_some()) && self.lend(cx, asked, number);
        let answer = if lent { Message::Vote { lock, request, number } } else { Message::Refuse { lock, request } };
        out.send(asked.asker(), answer);
    }

    fn lend(&mut self, cx: &Context<'_>, asked: Asked, number: Stamp) -> bool {
        let Asked { slot, lock, request, lease } = asked;
        self.votes.retain(|vote| vote.lock != lock && vote.until > cx.now);
        let vote = Vote { lock, slot, gone: false, request, until: cx.now.after(granted(lease)), number };
        self.numbers.agree(lock, number);
        self.votes.push(vote).is_ok()
    }

    /// A request is over.
    pub(super) fn release(&mut self, slot: u8, lock: LockId, request: Stamp) {
        self.votes.retain(|vote| !vote.is_of(slot, lock, request));
    }

    /// Agrees to a higher number for a request that has the vote.
    pub(super) fn confirm(&mut self, from: Asked, number: Stamp, out: &mut Out<'_>) {
        let Asked { slot, lock, request, .. } = from;
        let Some(vote) = self.votes.iter_mut().find(|vote| vote.is_of(slot, lock, request)) else { return };
        vote.number = vote.number.max(number);
        self.numbers.agree(lock, number);
        out.send(from.asker(), Message::Confirmed { lock, request, number });
    }

    /// Lends the vote longer to whoever has it, and to a holder that has it not if nobody else has. While somebody else has
    /// it there is no answer: the holder asks again.
    pub(super) fn renew(&mut self, cx: &Context<'_>, from: Asked, number: Stamp, out: &mut Out<'_>) {
        let Asked { slot, lock, request, lease } = from;
        let until = cx.now.after(granted(lease));
        let lent = match self.vote(cx.now, lock).copied() {
            Some(vote) => vote.is_of(slot, lock, request),
            None => !abstains(cx) && self.lend(cx, from, self.numbers.highest(lock)),
        };
        if !lent {
            return;
        }
        self.votes.iter_mut().filter(|vote| vote.lock == lock).for_each(|vote| vote.until = vote.until.max(until));
        out.send(from.asker(), Message::Renewed { lock, number });
    }

    /// These have restarted: what they held ends by its time.
    pub(super) fn reset(&mut self, who: NodeSet) {
        let lent = self.votes.iter_mut().filter(|vote| who.meets(NodeSet::slot(usize::from(vote.slot))));
        lent.for_each(|vote| vote.gone = true);
    }

    fn vote(&self, now: Instant, lock: LockId) -> Option<&Vote> {
        self.votes.iter().find(|vote| vote.lock == lock && vote.until > now)
    }
}

impl Vote {
    fn is_of(&self, slot: u8, lock: LockId, request: Stamp) -> bool {
        (self.slot, self.lock, self.request) == (slot, lock, request) && !self.gone
    }
}
