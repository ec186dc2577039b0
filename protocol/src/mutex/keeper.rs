//! The keeper of tokens: what every lock that hands a token round has in common.
//!
//! A token says who may enter; it cannot say that there is no other. Here the leader vouches for that. It makes a lock's
//! token when somebody first wants it, under a [`Generation`] above all earlier ones, and it *warrants* its use: a member
//! with the token enters only while a warrant for that very token lasts. A warrant lasts as long as the longest lease,
//! counted by the member from when it called and by the leader from when it answered. So when a token is lost, the leader
//! can make another: it recalls the old one, and everybody who answers will never enter by it. The new token is made when
//! the old one was given back, when all have answered, or when whatever was warranted to those who did not has ended.
//!
//! # Paper
//! C. Gray, D. Cheriton: Leases, SOSP 1989. Of lost tokens, G. Le Lann: Distributed Systems, Towards a Formal Approach,
//! IFIP 1977: there any member makes a new one, which two do when they cannot hear each other.
//!
//! # Assumes
//! [`crate::mandate::Mode::Quorum`]: one leader at a time. In [`crate::mandate::Mode::Available`] a network in two parts, or
//! one so crowded that its election does not settle, has two leaders and two tokens, which only the terms in their fences
//! tell apart. Within one term fences grow in any mode: a leader makes no token that bears another's name.
//!
//! # Messages
//! [`Word::Call`] to the leader, [`Word::Warrant`] or [`Word::Refuse`] back; [`Word::Recall`] to everybody,
//! [`Word::Clear`] back.
//!
//! # Cost
//! A call and a warrant where a member has no warrant that lasts for half the lease it wants. A lost token: two letters a
//! member.

use super::claims::{Phase, Renewal};
use super::{Claims, LOCKS_MAX, LockId, Notice, Refusal};
use crate::algorithm::{Context, Fact, Outbox};
use crate::clock::Term;
use crate::config::{granted, usable};
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, sooner};
use heapless::Vec;

mod hear;
mod office;
mod place;
mod word;

use office::{Office, Post, Ruling};
use place::{Pending, Place};
pub use word::{Generation, Need, Token, Word};

/// All tokens, seen from one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Keeper {
    leader: Option<(NodeId, Term)>,
    places: Vec<Place, LOCKS_MAX>,
    office: Option<Office>,
    /// The last token this node began to make. A leader may lose the lead and have it again under the same term: it must
    /// not make a token of the same generation twice.
    last: Option<Generation>,
}

impl Keeper {
    /// Nothing is known yet.
    pub(super) const fn new() -> Self {
        Self { leader: None, places: Vec::new(), office: None, last: None }
    }

    /// The leader.
    pub(super) fn leader(&self, cx: &Context<'_>) -> NodeSet {
        self.leader.map_or(NodeSet::EMPTY, |(leader, _)| cx.roster.set_of(leader))
    }

    /// Who wants the token of `lock`, if this node leads.
    pub(super) fn calls(&mut self, lock: LockId) -> Option<&mut NodeSet> {
        self.office.as_mut()?.post_mut(lock).map(|post| &mut post.calls)
    }

    /// Whether this node leads.
    pub(super) const fn leads(&self) -> bool {
        self.office.is_some()
    }

    /// The locks it knows.
    pub(super) fn locks(&self) -> Vec<LockId, LOCKS_MAX> {
        let mut locks = Vec::new();
        for place in &self.places {
            let _ = locks.push(place.lock); // there is room: the tables have one size
        }
        locks
    }

    /// What is known of `lock`.
    pub(super) fn get(&mut self, lock: LockId) -> Option<&mut Place> {
        self.places.iter_mut().find(|place| place.lock == lock)
    }

    /// What is known of `lock`, from now on; `None` where there is no room for it.
    pub(super) fn open(&mut self, cx: &Context<'_>, lock: LockId, claims: &Claims) -> Option<&mut Place> {
        if self.get(lock).is_none() {
            if self.places.is_full() {
                let idle = self.places.iter().map(|place| place.lock).find(|&lock| self.is_idle(cx, lock, claims))?;
                self.places.retain(|place| place.lock != idle);
                if let Some(office) = &mut self.office {
                    office.forget(idle);
                }
            }
            let term = self.leader.map_or(Term::ZERO, |(_, term)| term);
            let place = Place::new(lock, Generation::before(term), self.leader(cx), cx.now);
            self.places.push(place).ok()?;
        }
        self.get(lock)
    }

    /// Whether a lock can be forgotten: nobody wants it, and no old token of it can be used any more.
    fn is_idle(&self, cx: &Context<'_>, lock: LockId, claims: &Claims) -> bool {
        let over = self.office.as_ref().is_none_or(|office| office.is_over(cx, lock));
        let old = |place: &&Place| {
            let mine = place.here && !self.leads();
            place.lock == lock
                && !mine
                && !place.busy
                && place.owed.is_empty()
                && place.touched.after(granted(cx.timing.lock_lease)) <= cx.now
        };
        over && claims.get(lock).is_none() && self.places.iter().any(|place| old(&place))
    }

    /// Hears who leads.
    pub(super) fn learn(&mut self, cx: &Context<'_>, fact: Fact) {
        match fact {
            Fact::Leader { leader, term } => {
                self.leader = Some((leader, term));
                self.take_office(cx, leader, term);
                let mut due = cx.now;
                for place in &mut self.places {
                    place.raise(Generation::before(term), cx.now);
                    (place.root, place.told, place.pending, place.due) =
                        (cx.roster.set_of(leader), None, None, Some(due));
                    due = due.after(cx.timing.retry); // one after the other: letters take room
                }
            }
            Fact::NoLeader => {
                self.leave_office();
                self.leader = None;
            }
            Fact::PeerUp(set) => {
                let called = self.leader(cx).meets(set);
                let mut due = cx.now;
                for place in self.places.iter_mut().filter(|_| called) {
                    (place.told, place.pending, place.due) = (None, None, Some(due));
                    due = due.after(cx.timing.retry);
                }
                if let Some(office) = &mut self.office {
                    office.ask_again(cx);
                }
            }
            Fact::PeerDown(set) | Fact::PeerReset(set) => self.lose(cx, set),
            Fact::View | Fact::Parent(_) => {} // the ring is that of the moment, and knows no tree
        }
    }

    fn take_office(&mut self, cx: &Context<'_>, leader: NodeId, term: Term) {
        match &mut self.office {
            Some(office) if leader == cx.me && office.last().term != term => office.go_on(cx, term),
            Some(_) if leader == cx.me => {}
            Some(_) | None => {
                self.leave_office();
                let last = self.last.filter(|last| last.term == term).unwrap_or(Generation::before(term));
                self.office = (leader == cx.me).then(|| Office::new(cx.now, last));
            }
        }
    }

    fn leave_office(&mut self) {
        if let Some(office) = self.office.take() {
            self.last = Some(office.last());
        }
    }

    /// These peers are gone, and with them perhaps a token.
    fn lose(&mut self, cx: &Context<'_>, set: NodeSet) {
        let mut due = cx.now;
        for place in self.places.iter_mut().filter(|place| !place.here && place.passed.meets(set)) {
            (place.trouble, place.passed, place.due) = (Some(Need::Missing), NodeSet::EMPTY, Some(due));
            due = due.after(cx.timing.retry);
        }
        let Self { places, office: Some(office), .. } = self else { return };
        office.recall_all(cx, |lock| !places.iter().any(|place| place.lock == lock && place.here));
    }

    /// Calls the leader, or rules itself.
    pub(super) fn call<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        claims: &Claims,
        lock: LockId,
        need: Need,
        out: &mut Outbox<M, Notice>,
    ) -> bool {
        let leader = self.leader(cx);
        let me = cx.roster.set_of(cx.me);
        let Some(place) = self.open(cx, lock, claims) else { return false };
        let generation = place.token.generation;
        if leader.is_empty() {
            return true; // the next one will be called
        }
        let number = cx.stamp;
        if leader != me {
            if matches!(need, Need::Want | Need::Enter | Need::Keep) {
                place.pending = Some(Pending { number, at: cx.now });
                place.due = place.due.or(Some(cx.now.after(cx.timing.lock_lease))); // not every call is answered
            }
            out.send(leader, Word::Call { lock, number, need, generation }.into());
            return true;
        }
        match self.rule(cx, me, lock, (need, generation)) {
            Some(Ruling::Warranted(generation)) => {
                let until = cx.now.after(usable(cx.timing.lock_lease));
                if let Some(place) = self.get(lock) {
                    place.warrant = Some((generation, until));
                }
                true
            }
            Some(Ruling::Void(_) | Ruling::Noted | Ruling::Lost) => true,
            None => false,
        }
    }

    /// Agrees to a renewal, if this node leads and so asked itself.
    pub(super) fn renew_own<M>(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        renewal: Renewal,
        claims: &mut Claims,
        out: &mut Outbox<M, Notice>,
    ) {
        let leads = self.leads();
        let Some(place) = self.get(lock).filter(|place| leads && place.pending.is_none()) else { return };
        if let Some((_, until)) = place.warrant.filter(|&(_, until)| until > cx.now) {
            claims.renewed(lock, renewal.number, until.min(renewal.asked.after(renewal.lease)), out);
        }
    }

    /// Rules on a call as leader; `None` where there is no room for the lock.
    fn rule(&mut self, cx: &Context<'_>, from: NodeSet, lock: LockId, call: (Need, Generation)) -> Option<Ruling> {
        let here = self.get(lock)?.here;
        let office = self.office.as_mut()?;
        if !office.open(cx, lock) {
            return None;
        }
        let ruling = office.rule(cx, from, lock, call);
        if ruling == Ruling::Lost && !(here && call.0 == Need::Missing) {
            office.recall(cx, lock, cx.now);
        }
        Some(ruling)
    }

    /// Does what is due, one thing a step. A lock whose waiting claim is to be called for again.
    pub(super) fn tend<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        claims: &Claims,
        out: &mut Outbox<M, Notice>,
    ) -> Option<LockId> {
        self.tend_office(cx, claims, out);
        let place = self.places.iter_mut().find(|place| place.due.is_some_and(|at| at <= cx.now))?;
        let lock = place.lock;
        let claim = claims.get(lock).map(|claim| claim.phase);
        let lease = cx.timing.lock_lease;
        let trouble = place.trouble.take();
        let (need, again) = match claim {
            _ if trouble.is_some() => (trouble, claim.map(|_| lease)),
            Some(Phase::Held { .. }) => (Some(Need::Using), Some(lease.share(1, 3))),
            Some(Phase::Waiting { .. }) => (None, Some(lease)),
            None => (None, None),
        };
        place.due = again.map(|span| cx.now.after(span));
        let waiting = matches!(claim, Some(Phase::Waiting { .. }));
        if waiting || claim.is_none() {
            (place.told, place.pending) = (None, None); // the next claim must not wait for an answer to the last one
        }
        if let Some(need) = need {
            self.call(cx, claims, lock, need, out);
        }
        waiting.then_some(lock)
    }

    /// What a leader does by itself: asks, and makes tokens.
    fn tend_office<M: From<Word>>(&mut self, cx: &Context<'_>, claims: &Claims, out: &mut Outbox<M, Notice>) {
        let Some(office) = &mut self.office else { return };
        if let Some((post, clear)) = office.question(cx) {
            let Post { lock, generation, direct, .. } = post;
            let via = if direct { NodeSet::EMPTY } else { cx.up };
            out.send(cx.up.without(clear), Word::Recall { lock, generation, via }.into());
            let (me, inside) = (cx.roster.set_of(cx.me), claims.holds(lock, cx.now).is_some());
            if let Some(place) = self.get(lock) {
                place.raise(generation, cx.now);
                (place.root, place.owed) = (me, me);
            }
            self.clear(cx, lock, inside, out);
        }
        if let Some(lock) = self.office.as_ref().and_then(|office| office.ripe(cx)) {
            self.make(cx, lock);
        }
    }

    /// Refuses a claim that is only tried, when it was not granted at once. Whether it did.
    pub(super) fn try_no_longer<M>(
        &mut self,
        cx: &Context<'_>,
        lock: LockId,
        claims: &mut Claims,
        out: &mut Outbox<M, Notice>,
    ) -> bool {
        let leaderless = self.leader.is_none();
        let Some(place) = self.get(lock) else { return false };
        let Some(&claim) = claims.get(lock).filter(|claim| matches!(claim.phase, Phase::Waiting { trying: true, .. }))
        else {
            place.tried = None;
            return false;
        };
        let until = *place.tried.get_or_insert(claim.asked.after(cx.timing.heartbeat));
        let over = leaderless || until <= cx.now;
        if over {
            place.tried = None;
            claims.refuse(lock, claim.request, Refusal::Busy, out);
        }
        over
    }

    /// Begins to keep `lock`, if this node leads.
    pub(super) fn demand(&mut self, cx: &Context<'_>, lock: LockId) {
        if let Some(office) = &mut self.office {
            office.open(cx, lock);
        }
    }

    /// When [`Keeper::tend`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let office = self.office.as_ref().and_then(Office::deadline);
        self.places.iter().fold(office, |soonest, place| sooner(soonest, sooner(place.due, place.tried)))
    }
}
