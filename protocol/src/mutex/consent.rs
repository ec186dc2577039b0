//! Consent: what the locks share in which everybody must agree.
//!
//! Whoever wants a lock asks every other member of the view, and enters when all have consented to that very question.
//! What a consent means differs: with Ricart and Agrawala "I do not come before you", with Lamport "I have written you
//! down, and this is what I want myself". What has to hold so that a crash, a reboot and a change of the view do no harm
//! is the same, and is here.
//!
//! # Why never two hold one
//! - A consent ends: the giver counts [`crate::config::granted`] the lease from when it gave it, the asker [`crate::config::usable`] the
//!   lease from when it asked. Between two members that count each other the algorithm's own rule decides; consents only
//!   have to end for the sake of those who are gone.
//! - A consent is for a view. It is given only where both have the same, and a change of the view voids all that was
//!   given: everybody of the new view is asked.
//! - Whoever leaves the view may still hold on the word of those who stay. Nobody gives or uses a consent in the new view
//!   before its own word to those outside has run out. Any two views share a member, as each is a majority, and that
//!   member's word keeps the two holders apart who do not count each other.
//! - A member that has just started gives no word and uses none until whatever it has forgotten has run out.
//! - Mere suspicion changes nothing: only a leader with a majority changes the view ([`crate::mandate`]). Where there is
//!   none, as in [`crate::mandate::Mode::Available`], all members must be up.
//!
//! # Why fences grow
//! The fence is the request's stamp, and grants are in the order of stamps among those who count each other. A member that
//! was away may come back with an old request, above which others were granted: whoever saw it return tells it that the
//! request is outdated, and it makes a new one.
//!
//! # Limits
//! A group of [`MEMBERS_MAX`] with [`LOCKS_MAX`] locks each; [`HEARD_MAX`] requests wait at a node. One more is answered
//! with [`Word::Full`]. What does not fit into one step is done in the next, at once.

use super::claims::{Claim, Granted, Phase, Renewal};
use super::{Claims, Fence, LOCKS_MAX, LockId, Notice, Refusal};
use crate::algorithm::{Context, OUTPUTS_MAX, Outbox};
use crate::clock::{Stamp, Term};
use crate::group::{NodeId, NodeSet, SLOTS_MAX};
use crate::time::{Instant, Span, sooner};
use heapless::Vec;

mod heard;
mod polls;
mod promises;
mod word;

pub use heard::{Heard, rank};
pub use polls::Poll;
use polls::{Polls, Subject};
use promises::{Promises, Verdict};
pub use word::{Ask, Turns, Word};

/// How many members a group may have in which all must consent. To those beyond, nothing is consented.
pub const MEMBERS_MAX: usize = 16;
/// How many requests of others a node keeps: all there can be.
pub const HEARD_MAX: usize = (MEMBERS_MAX - 1) * LOCKS_MAX;
/// A step that has said so much leaves the rest to the next: nothing here says more than two things at a time.
const CROWD: usize = OUTPUTS_MAX - 2;

/// An answer to several at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Whom it is for.
    pub to: NodeSet,
    /// About which lock.
    pub lock: LockId,
    /// Which question of each.
    pub turns: Turns,
}

/// What is decided about an own question that everybody consented to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It is this node's.
    Mine,
    /// So many come first.
    After(u8),
}

/// One node's part in locks where all must consent.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Consent {
    /// What it asked for and holds.
    pub claims: Claims,
    polls: Polls,
    promises: Promises,
    heard: Vec<Heard, HEARD_MAX>,
    /// Nobody is asked anything before this, unless the application wants it: nodes that ask each other about all their
    /// locks at once, when a member is back, keep each other from answering.
    pace: Instant,
    /// When there is something to be done besides: its word to those who are gone has run out, or a step was not enough.
    wake: Option<Instant>,
}

type Out<M> = Outbox<M, Notice>;

impl Consent {
    /// A node that takes part in nothing.
    #[must_use]
    pub fn new() -> Self {
        Self {
            claims: Claims::new(),
            polls: Polls::default(),
            promises: Promises::NONE,
            heard: Vec::new(),
            pace: Instant::ZERO,
            wake: None,
        }
    }

    /// It has started anew; nothing above `stamp` was agreed to before.
    pub fn resume(&mut self, stamp: Stamp) {
        self.promises.resume(stamp);
    }

    /// The highest number it has asked under.
    #[must_use]
    pub fn floor(&self) -> Stamp {
        self.claims.iter().map(|claim| claim.request).max().unwrap_or(Stamp(0))
    }

    /// The next claim whose hold has ended.
    pub fn expire<M>(&mut self, cx: &Context<'_>, out: &mut Out<M>) -> Option<Claim> {
        let ended = self.claims.expire(cx.now, out)?;
        self.polls.end(ended.lock);
        Some(ended)
    }

    /// The requests of others for `lock` by those who count.
    pub fn rivals<'a>(&'a self, cx: &'a Context<'_>, lock: LockId) -> impl Iterator<Item = &'a Heard> {
        self.heard.iter().filter(move |heard| heard.lock == lock && cx.view.meets(heard.from()))
    }

    /// The open question about `lock`.
    #[must_use]
    pub fn poll(&self, lock: LockId) -> Option<&Poll> {
        self.polls.get(lock)
    }

    /// Looks whether the view has changed: then everything is asked anew.
    pub fn look(&mut self, cx: &Context<'_>) {
        if self.promises.look(cx) {
            let open = self.polls.clone();
            for poll in open.iter() {
                self.polls.begin(cx, subject(poll));
            }
        }
    }

    /// Will ask everybody about a claim.
    pub fn ask(&mut self, cx: &Context<'_>, claim: &Claim) {
        let Claim { lock, request, lease, .. } = *claim;
        self.pace = cx.now;
        self.polls.begin(cx, Subject { lock, request, renewal: None, lease });
    }

    /// Will ask everybody whether a claim may be kept for longer.
    pub fn renew(&mut self, cx: &Context<'_>, claim: &Claim, renewal: Renewal) {
        let Renewal { number, lease, .. } = renewal;
        self.pace = cx.now;
        self.polls.begin(cx, Subject { lock: claim.lock, request: claim.request, renewal: Some(number), lease });
    }

    /// Asks no more about `lock`. Whose answer was missing.
    pub fn end(&mut self, cx: &Context<'_>, lock: LockId) -> NodeSet {
        let missing = self.polls.get(lock).map_or(NodeSet::EMPTY, |poll| poll.missing(cx));
        self.polls.end(lock);
        missing.and(cx.up)
    }

    /// Takes another's request in. Whether it was.
    pub fn hear<M: From<Word>>(&mut self, cx: &Context<'_>, from: NodeId, ask: Ask, out: &mut Out<M>) -> bool {
        let Ask { lock, request, turn, lease, view } = ask;
        let back = cx.roster.set_of(from);
        if self.promises.judge(cx, from, &ask) == Verdict::Outdated {
            // What is written down stays: it may be held on an earlier consent.
            out.send(back, Word::Outdated { lock, turn }.into());
            return false;
        }
        self.forget(lock, back);
        let place = cx.roster.slot_of(from).filter(|&slot| slot < MEMBERS_MAX).and_then(|slot| u8::try_from(slot).ok());
        let room = place.is_some_and(|slot| {
            self.heard.push(Heard { request, view, lock, lease, slot, turn, answered: false }).is_ok()
        });
        if !room {
            out.send(back, Word::Full { lock, turn }.into());
        }
        room
    }

    /// What a member of the group wants is this, as it says itself; whether there was room to write it down.
    pub fn note(&mut self, cx: &Context<'_>, from: NodeId, lock: LockId, wants: Option<Stamp>) -> bool {
        let set = cx.roster.set_of(from);
        let known = self.heard.iter_mut().find(|heard| heard.lock == lock && heard.from() == set);
        match (known, wants) {
            (None, None) => true,
            (Some(_), None) => {
                self.forget(lock, set);
                true
            }
            (Some(heard), Some(request)) => {
                heard.request = request;
                true
            }
            (None, Some(request)) => {
                let slot = cx.roster.slot_of(from).and_then(|slot| u8::try_from(slot).ok());
                // It will ask by itself; until then it is only known to come first.
                let heard = |slot| Heard {
                    request,
                    view: NodeSet::EMPTY,
                    lock,
                    lease: Span::ZERO,
                    slot,
                    turn: 0,
                    answered: true,
                };
                slot.is_some_and(|slot| self.heard.push(heard(slot)).is_ok())
            }
        }
    }

    /// These want `lock` no more.
    pub fn forget(&mut self, lock: LockId, set: NodeSet) {
        self.heard.retain(|heard| heard.lock != lock || !heard.from().meets(set));
    }

    /// Whether a request has not been answered yet.
    #[must_use]
    pub fn owes(&self, lock: LockId, set: NodeSet) -> bool {
        self.heard.iter().any(|heard| heard.lock == lock && heard.from().meets(set) && !heard.answered)
    }

    /// Forgets every request that was answered.
    pub fn forget_answered(&mut self) {
        self.heard.retain(|heard| !heard.answered);
    }

    /// Consents to what waits for one lock and may be agreed to, as far as `ready` says so.
    fn give(&mut self, cx: &Context<'_>, ready: &impl Fn(&Claims, &Heard) -> bool) -> Option<Answer> {
        let Self { claims, promises, heard, .. } = self;
        let mut answer: Option<Answer> = None;
        for heard in heard.iter_mut().filter(|heard| !heard.answered && ready(claims, heard)) {
            let from = cx.roster.id_of(usize::from(heard.slot));
            let good = from.is_some_and(|from| promises.judge(cx, from, &heard.ask()) == Verdict::Good);
            if !good || answer.as_ref().is_some_and(|answer| answer.lock != heard.lock) {
                continue;
            }
            let answer = answer.get_or_insert(Answer { to: NodeSet::EMPTY, lock: heard.lock, turns: Turns::new() });
            if answer.turns.push((heard.slot, heard.turn)).is_ok() {
                answer.to = answer.to.with(heard.from());
                heard.answered = true;
                promises.give(cx, heard.slot, heard.lease);
            }
        }
        answer
    }

    /// Consents to whatever waits and may be agreed to, as far as `ready` says so; `letter` is how that is said.
    pub fn give_all<M>(
        &mut self,
        cx: &Context<'_>,
        out: &mut Out<M>,
        ready: impl Fn(&Claims, &Heard) -> bool,
        letter: impl Fn(&Claims, LockId, Turns) -> M,
    ) {
        while !crowded(out) {
            let Some(Answer { to, lock, turns }) = self.give(cx, &ready) else { return };
            out.send(to, letter(&self.claims, lock, turns));
        }
    }

    /// Another consented to some questions, perhaps this node's.
    pub fn count(&mut self, cx: &Context<'_>, from: NodeId, lock: LockId, turns: &Turns) {
        let mine = |&&(slot, _): &&(u8, u8)| NodeSet::slot(usize::from(slot)) == cx.roster.set_of(cx.me);
        let Some(&(_, turn)) = turns.iter().find(mine) else { return };
        if let Some(poll) = self.polls.named(lock, turn) {
            poll.given = poll.given.with(cx.roster.set_of(from));
        }
    }

    /// The claim that waits for an answer to this question.
    #[must_use]
    pub fn asked(&mut self, lock: LockId, turn: u8) -> Option<Claim> {
        let request = self.polls.named(lock, turn)?.request;
        self.claims.waiting(lock, request).copied()
    }

    /// A request was too old: makes it anew.
    pub fn outdated(&mut self, cx: &Context<'_>, lock: LockId, turn: u8) {
        if self.asked(lock, turn).is_some()
            && let Some(claim) = self.claims.again(cx, lock)
        {
            self.ask(cx, &claim);
        }
    }

    /// These have started anew: they have forgotten what they asked for, and what they consented to.
    pub fn reset(&mut self, cx: &Context<'_>, set: NodeSet) {
        self.promises.came_back(cx, set);
        self.heard.retain(|heard| !heard.from().meets(set));
        for poll in self.polls.iter_mut() {
            poll.given = poll.given.without(set);
            (poll.fresh, poll.next) = (true, cx.now);
        }
    }

    /// These can be spoken to again: what they were told meanwhile is lost.
    pub fn hurry(&mut self, cx: &Context<'_>, set: NodeSet) {
        for poll in self.polls.iter_mut().filter(|poll| poll.missing(cx).meets(set)) {
            (poll.fresh, poll.next) = (true, cx.now);
        }
    }

    /// Uses what everybody consented to; `turn` says whether it is this node's turn. Returns a claim that was refused
    /// because it was only tried.
    pub fn enter<M>(
        &mut self,
        cx: &Context<'_>,
        out: &mut Out<M>,
        turn: impl Fn(&Self, &Claim) -> Turn,
    ) -> Option<Claim> {
        let open = self.polls.clone();
        let mut refused = None;
        for poll in open.iter().filter(|poll| poll.missing(cx).is_empty()) {
            if crowded(out) {
                break;
            }
            let Some(&claim) = self.claims.get(poll.lock) else { continue };
            let until = poll.until();
            match (poll.renewal, claim.phase, turn(self, &claim)) {
                (Some(number), Phase::Held { .. }, _) if self.promises.is_clear(cx) => {
                    self.polls.end(poll.lock);
                    if until > cx.now {
                        self.claims.renewed(poll.lock, number, until, out);
                    }
                }
                (None, Phase::Waiting { trying: true, .. }, Turn::After(_)) if refused.is_none() => {
                    self.polls.end(poll.lock);
                    self.claims.refuse(poll.lock, poll.request, Refusal::Busy, out);
                    refused = Some(claim);
                }
                (None, Phase::Waiting { .. }, Turn::After(first)) => {
                    self.claims.wait(poll.lock, poll.request, first, out);
                }
                (None, Phase::Waiting { .. }, Turn::Mine) if self.promises.is_clear(cx) => {
                    // What is almost over is not worth having.
                    if until <= cx.now.after(poll.lease.share(1, 4)) {
                        self.polls.begin(cx, subject(poll));
                        continue;
                    }
                    self.polls.end(poll.lock);
                    let fence = fence(cx, poll.request);
                    self.claims.grant(cx, Granted { lock: poll.lock, request: poll.request, fence, until }, out);
                }
                // Something has to run out first; a renewal is of what is held.
                (Some(_) | None, Phase::Held { .. } | Phase::Waiting { .. }, Turn::Mine | Turn::After(_)) => {}
            }
        }
        refused
    }

    /// Asks whoever has to be asked, those again that have not answered for `patience`, or not for much longer since, and
    /// those `also` says. Returns a claim that was refused because it was only tried.
    pub fn inquire<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        patience: Span,
        out: &mut Out<M>,
        also: impl Fn(&Self, &Poll) -> NodeSet,
    ) -> Option<Claim> {
        while !crowded(out) && self.pace <= cx.now {
            let due = *self.polls.iter().find(|poll| poll.next <= cx.now)?;
            let claim = self.claims.get(due.lock).copied()?;
            let trying = matches!(claim.phase, Phase::Waiting { trying: true, .. });
            if trying && !due.fresh {
                self.claims.refuse(due.lock, due.request, Refusal::Busy, out);
                return Some(claim);
            }
            let (ask, missing) = (due.ask(cx), due.missing(cx));
            let (word, to) = match (due.fresh, trying) {
                (true, true) => (Word::Try(ask), missing),
                (true, false) => (Word::Request(ask), missing),
                (false, _) => (Word::Repeat(ask), missing.with(also(self, &due))),
            };
            let to = if cx.view.meets(cx.roster.set_of(cx.me)) { to.and(cx.up) } else { NodeSet::EMPTY };
            if !to.is_empty() {
                self.pace = cx.now.after(cx.timing.retry);
                out.send(to, word.into());
            }
            if let Some(poll) = self.polls.named(due.lock, due.turn) {
                let pause = if due.fresh { patience } else { cx.timing.lease() };
                (poll.fresh, poll.next) = (false, cx.now.after(pause));
            }
        }
        None
    }

    /// Decides, after every step, when to look again.
    pub fn review<M>(&mut self, cx: &Context<'_>, out: &Out<M>) {
        let waits = self.polls.iter().next().is_some() || self.heard.iter().any(|heard| !heard.answered);
        let clear_at = Some(self.promises.clear_at(cx)).filter(|&at| waits && at > cx.now);
        self.wake = if crowded(out) { Some(cx.now) } else { clear_at };
    }

    /// When something is due.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        let next = self.polls.iter().map(|poll| poll.next.max(self.pace)).min();
        sooner(sooner(self.claims.deadline(), next), self.wake)
    }
}

impl Default for Consent {
    fn default() -> Self {
        Self::new()
    }
}

/// What a question is about.
const fn subject(poll: &Poll) -> Subject {
    Subject { lock: poll.lock, request: poll.request, renewal: poll.renewal, lease: poll.lease }
}

/// Whether a step has said enough.
fn crowded<M>(out: &Out<M>) -> bool {
    out.outputs().len() >= CROWD
}

/// The fence of a request of this node. Requests are granted in the order of their stamps, and of their members where two
/// have the same; so are fences.
fn fence(cx: &Context<'_>, request: Stamp) -> Fence {
    let [slot, slots] = [cx.roster.slot_of(cx.me).unwrap_or(0), SLOTS_MAX].map(|n| u64::try_from(n).unwrap_or(0));
    Fence { term: Term::ZERO, count: Stamp(request.0.saturating_mul(slots).saturating_add(slot)) }
}
