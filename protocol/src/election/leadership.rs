//! Leadership between elections: heartbeats, their flooding, and stepping down when the leader is lost or outranked.
//!
//! A `Leader` is a term, a candidate and a heartbeat counter. Heartbeats are flooded (`flood`), the less often the longer
//! the leader has led. A node adopts a leader only if (term, heartbeat) is above everything it ever adopted, so the last
//! heartbeats of a crashed leader die out however long they are delayed, and no node's term ever decreases.
//!
//! # Failover
//! The leader's neighbours notice its loss by its pulses (`watch`), and announce its heir, the best other candidate, under
//! a term that the leader set aside for that heir alone (`heir`). In a group they start an election instead, as its
//! paper has it. Nodes far from the leader miss its heartbeats if all its neighbours are lost with it.
//!
//! # Merging
//! Where two networks meet, nodes receive heartbeats of two leaders. The better one wins if its term is higher. If its
//! term is lower, it is asked to raise it ([`LeaderMessage::RaiseTerm`]): the request travels back along the path of
//! the heartbeats, and the leader continues under a term above the requested one. A worse leader is adopted only by
//! authority: of an election this node took part in, or of the current leader, handing over. While there is a
//! leader, another one is adopted only so often (`turnover`).
//!
//! # Incumbents
//! Until its heartbeat number `INCUMBENT_AFTER` a leader counts with the capacity it was elected with. From then on
//! it counts with its current capacity plus an eighth, in elections and against challengers, so that noise in a board's
//! measurements does not change the leader.

use super::Notice;
use crate::algorithm::{Context, Outbox};
use crate::base::capacity::{Candidate, Capacity};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};

mod flood;
mod heir;
mod leader;
mod turnover;
mod watch;

use flood::Flood;
use heir::{Bid, Testament};
pub(super) use leader::Leader;
pub use leader::{Heir, LeaderMessage};
use turnover::Turnover;
use watch::Watch;

type Out<M> = Outbox<M, Notice>;

/// What this node believes about the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Belief {
    /// There is no leader; `lost` was the last one.
    Vacant { lost: Option<NodeId> },
    /// Another node leads, until `until` without a heartbeat; `via` is the neighbour its heartbeats come from. The node asks
    /// for the next one at `ask`, having missed it.
    Following { leader: Leader, until: Instant, via: NodeSet, ask: Instant },
    /// This node leads; its next heartbeat is due at `next`, its next pulse at `pulse`.
    Leading { leader: Leader, next: Instant, pulse: Instant, testament: Testament },
}

/// How a leader was given up that has no heir here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    /// Others miss it too.
    Silent,
    /// Only this node doubts it, and has asked for long enough to start an election at once.
    DoubtedAlone,
}

/// The part of an election that outlives its rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leadership {
    belief: Belief,
    /// The highest (term, heartbeat) ever adopted.
    floor: (Term, u32),
    /// The highest term number ever observed, in elections too.
    term_number: u32,
    flood: Flood,
    /// What this node, a neighbour of the leader, knows of its pulses.
    watch: Option<Watch>,
    /// The candidate to tell the leader of.
    bid: Option<Bid>,
    /// A term the leader must rise above; not above its own when there is no such demand.
    demanded: Term,
    /// How often one leader was adopted after another.
    turnover: Turnover,
    /// Whether others follow a later leader, though this node leads.
    deposed: bool,
    /// Whether elections announce the winner to all nodes themselves, so that only heartbeats are flooded.
    announced_by_election: bool,
}

impl Leadership {
    /// Creates the state of a node that never had a leader.
    pub(super) const fn new() -> Self {
        Self {
            belief: Belief::Vacant { lost: None },
            floor: (Term::ZERO, 0),
            term_number: 0,
            flood: Flood::Done,
            watch: None,
            bid: None,
            demanded: Term::ZERO,
            turnover: Turnover::NONE,
            deposed: false,
            announced_by_election: false,
        }
    }

    /// Creates the same state for elections that announce the winner to all nodes themselves.
    pub(super) const fn announced_by_election() -> Self {
        Self { announced_by_election: true, ..Self::new() }
    }

    /// Continues from stored records: adopts no leader of a term up to `number`.
    pub(super) fn resume(&mut self, number: u32) {
        self.floor = (Term { number, by: NodeId(u32::MAX) }, u32::MAX);
        self.observe_term(number);
    }

    /// Returns the highest term ever adopted: no lower one will be.
    pub(super) const fn floor(&self) -> Term {
        self.floor.0
    }

    pub(super) const fn term_number(&self) -> u32 {
        self.term_number
    }

    pub(super) fn observe_term(&mut self, number: u32) {
        self.term_number = self.term_number.max(number);
    }

    /// Returns `term`, if a leader under it would still be adopted; otherwise a new one.
    pub(super) fn term_or_new(&mut self, term: Term, me: NodeId) -> Term {
        if (term, 0) > self.floor { term } else { self.new_term(me) }
    }

    /// Returns a term no node has used before.
    pub(super) fn new_term(&mut self, me: NodeId) -> Term {
        self.term_number = self.term_number.saturating_add(1);
        Term { number: self.term_number, by: me }
    }

    pub(super) fn leader(&self) -> Option<&Leader> {
        match &self.belief {
            Belief::Vacant { .. } => None,
            Belief::Following { leader, .. } | Belief::Leading { leader, .. } => Some(leader),
        }
    }

    /// Returns the leader that was lost, while there is no other.
    pub(super) const fn lost(&self) -> Option<NodeId> {
        match self.belief {
            Belief::Vacant { lost } => lost,
            Belief::Following { .. } | Belief::Leading { .. } => None,
        }
    }

    /// Forgets which leader was lost: it counts as any other node.
    pub(super) fn forget_lost(&mut self) {
        if let Belief::Vacant { lost } = &mut self.belief {
            *lost = None;
        }
    }

    /// Returns the neighbour the leader's heartbeats come from.
    pub(super) const fn parent(&self) -> NodeSet {
        match self.belief {
            Belief::Following { via, .. } => via,
            Belief::Vacant { .. } | Belief::Leading { .. } => NodeSet::EMPTY,
        }
    }

    /// Returns whether others gave this node up while it led, since the last call.
    pub(super) const fn take_deposed(&mut self) -> bool {
        core::mem::replace(&mut self.deposed, false)
    }

    /// Sends this node's next heartbeat at once, if it leads.
    pub(super) fn hurry(&mut self, now: Instant) {
        if let Belief::Leading { next, .. } = &mut self.belief {
            *next = now.min(*next);
        }
    }

    pub(super) const fn is_leader(&self) -> bool {
        matches!(self.belief, Belief::Leading { .. })
    }

    /// Returns whether the leader, this node or another, is an incumbent.
    pub(super) fn has_incumbent(&self) -> bool {
        self.leader().is_some_and(Leader::is_incumbent)
    }

    /// Returns whether `candidate` outranks the leader, incumbency counted.
    pub(super) fn is_outranked_by(&self, candidate: Candidate) -> bool {
        self.leader().is_some_and(|leader| leader.candidate.id != candidate.id && leader.defender() < candidate)
    }

    /// Returns the time between a leader's heartbeat and the next. In a group that is always the first interval: the failure
    /// detector's heartbeats are no less frequent.
    fn interval(&self, cx: &Context<'_>, leader: &Leader) -> Duration {
        if self.announced_by_election { cx.timing.heartbeat } else { cx.timing.interval_of(leader.heartbeat) }
    }

    /// Returns how long a follower trusts the leader after a heartbeat.
    fn lease(&self, cx: &Context<'_>, leader: &Leader) -> Duration {
        cx.timing.lease().plus(self.interval(cx, leader).minus(cx.timing.heartbeat))
    }

    /// Announces a leader: an election ended here, this node hands over, or the leader is lost and this is its heir. An
    /// election that ends after a later leader was adopted announces nobody.
    pub(super) fn announce<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, leader: Leader, out: &mut Out<M>) {
        if leader.term >= self.floor.0 {
            self.adopt(cx, leader, cx.timing.lease(), NodeSet::EMPTY, out);
        }
    }

    /// Leads under a new term: what was so far this node's group is now another one. Followers hear of it at once.
    pub(super) fn lead<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, elected: Leader, out: &mut Out<M>) {
        if let Belief::Leading { leader, .. } = &mut self.belief {
            leader.term = elected.term;
            self.floor = (leader.term, leader.heartbeat);
            out.notify(Notice::Gained { term: elected.term });
        } else {
            self.announce(cx, elected, out);
        }
        if let Belief::Leading { next, .. } = &mut self.belief {
            *next = cx.now;
        }
    }

    /// Returns the candidate this node would hand over to, if it leads: the best peer, or the runner-up unless that is a
    /// member that is down.
    pub(super) fn successor(&self, cx: &Context<'_>) -> Option<Candidate> {
        let Belief::Leading { leader, .. } = self.belief else { return None };
        let down = |candidate: &Candidate| {
            let member = cx.roster.set_of(candidate.id);
            self.announced_by_election && !member.is_empty() && !member.meets(cx.up)
        };
        let runner_up = leader.runner_up.filter(|candidate| !down(candidate));
        cx.best_peer.or(runner_up).filter(|successor| successor.id != cx.me)
    }

    /// Hands over to the best peer or the runner-up; returns whether there was one.
    pub(super) fn hand_over<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, out: &mut Out<M>) -> bool {
        let Some(successor) = self.successor(cx) else { return false };
        let term = self.new_term(cx.me);
        self.announce(cx, Leader::elected(term, successor, None), out);
        if self.announced_by_election {
            self.flood(cx, NodeSet::EMPTY, cx.timing.reflood_count, out); // no election announced this one
        }
        true
    }

    /// Gives the leader up without a successor.
    pub(super) fn vacate<M>(&mut self, out: &mut Out<M>) {
        let lost = self.leader().map(|leader| leader.candidate.id);
        self.belief = Belief::Vacant { lost };
        (self.flood, self.watch, self.bid) = (Flood::Done, None, None);
        out.notify(Notice::Leaderless);
    }

    /// Gives the leader up if it is one of the suspected members and its heartbeats are missing too; returns whether it
    /// was.
    pub(super) fn on_suspected<M>(&mut self, cx: &Context<'_>, suspected: NodeSet, out: &mut Out<M>) -> bool {
        let Belief::Following { leader, until, .. } = &self.belief else { return false };
        let silent = self.lease(cx, leader).minus(until.since(cx.now)) > self.interval(cx, leader).mul_ratio(3, 2);
        let lost = silent && cx.roster.set_of(leader.candidate.id).meets(suspected);
        if lost {
            self.vacate(out);
        }
        lost
    }

    /// Handles a message about the leader; a leader of the election `authority` is adopted even if it is worse than the
    /// current one. Returns whether this node adopted a new leader or term.
    pub(super) fn on_message<M: From<LeaderMessage>>(
        &mut self,
        cx: &Context<'_>,
        from: NodeSet,
        message: LeaderMessage,
        authority: Term,
        out: &mut Out<M>,
    ) -> bool {
        let (leader, age) = match message {
            LeaderMessage::Elected { term, leader, runner_up, age } => (Leader::elected(term, leader, runner_up), age),
            LeaderMessage::Heartbeat { term, leader: candidate, runner_up, count: heartbeat, age } => {
                (Leader { term, candidate, runner_up, heartbeat }, age)
            }
            LeaderMessage::RaiseTerm { term } => {
                self.demand_above(cx, term, out);
                return false;
            }
            LeaderMessage::Pulse { term, heir } => {
                self.on_pulse(cx, from, term, heir);
                return false;
            }
            LeaderMessage::Doubt { term } => {
                self.on_doubt(cx, from, term);
                return false;
            }
            LeaderMessage::Veto { term } => {
                self.on_veto(cx, from, term);
                return false;
            }
            LeaderMessage::Bid { term, candidate } => {
                self.on_bid(cx, term, candidate);
                return false;
            }
        };
        if age == u8::MAX {
            return false; // as old as a lease: the leader may be long gone
        }
        let left = self.lease(cx, &leader).mul_ratio(u32::from(u8::MAX.saturating_sub(age)), u32::from(u8::MAX));
        let changed = self.compare(cx, from, leader, authority, left, out);
        if leader.heartbeat > 0 {
            self.on_own_heartbeat(cx, from, leader.term);
        }
        changed
    }

    /// Compares an announced leader with the current one.
    fn compare<M: From<LeaderMessage>>(
        &mut self,
        cx: &Context<'_>,
        from: NodeSet,
        announced: Leader,
        authority: Term,
        left: Duration,
        out: &mut Out<M>,
    ) -> bool {
        self.observe_term(announced.term.number);
        let new = (announced.term, announced.heartbeat) > self.floor;
        let is_me = announced.candidate.id == cx.me;
        let announced =
            if is_me { Leader { candidate: as_elected(cx, announced.candidate), ..announced } } else { announced };
        if is_me && new && (announced.heartbeat > 0 || cx.candidate.is_none()) {
            // Heartbeats of an earlier boot that others still follow, or that nobody sent, or a leadership this node cannot
            // take. Even under its present term: others wait for a higher heartbeat then.
            self.demand_above(cx, Term { by: NodeId(u32::MAX), ..announced.term }, out);
            return false;
        }
        let Some(current) = self.leader().copied() else {
            if new {
                return self.adopt(cx, announced, left, from, out);
            }
            if announced.term >= self.floor.0 {
                return false;
            }
            if is_me && announced.heartbeat == 0 && cx.candidate.is_some() {
                // Elected by nodes that missed a term up to which this one has reserved: they would elect it again and again.
                let term = self.new_term(cx.me);
                self.announce(cx, Leader { term, ..announced }, out);
                return true;
            }
            if !is_me {
                out.send(from, LeaderMessage::RaiseTerm { term: self.floor.0 }.into());
            }
            return false;
        };
        if announced.candidate.id == current.candidate.id {
            if new {
                return self.adopt(cx, announced, left, from, out);
            }
            if (announced.term, announced.heartbeat) == (current.term, current.heartbeat) {
                self.on_relayed(cx, from);
            } else {
                self.inform(cx, from);
            }
            return false;
        }
        let better = announced.candidate > current.candidate;
        // Nobody follows a worse leader who has not given this one up.
        self.deposed |= self.is_leader() && current.is_incumbent() && announced.term > current.term && !better;
        // A leader that is up hands over itself: an heir that others announce was announced wrongly.
        let handed_over = announced.term.by == current.candidate.id && !self.is_leader();
        let authorised = announced.term == authority || handed_over;
        if new && (better || authorised) {
            return self.may_change(cx) && self.adopt(cx, announced, left, from, out);
        }
        match (new, better) {
            (true, _) => self.demand_above(cx, announced.term, out),
            (false, true) => out.send(from, LeaderMessage::RaiseTerm { term: self.floor.0 }.into()),
            (false, false) => self.inform(cx, from),
        }
        false
    }

    /// Raises the term above `term` if this node leads; otherwise asks the leader to.
    fn demand_above<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, term: Term, out: &mut Out<M>) {
        let fresh = term > self.demanded;
        self.demanded = self.demanded.max(term);
        self.observe_term(term.number);
        match &mut self.belief {
            Belief::Vacant { .. } => self.demanded = Term::ZERO, // observed: the next election exceeds it
            Belief::Following { leader, via, .. } => {
                if fresh && term > leader.term {
                    out.send(*via, LeaderMessage::RaiseTerm { term }.into());
                }
            }
            Belief::Leading { leader, next, .. } => {
                if term > leader.term {
                    self.term_number = self.term_number.saturating_add(1);
                    leader.term = Term { number: self.term_number, by: cx.me };
                    self.floor = (leader.term, leader.heartbeat);
                    *next = cx.now; // sends a heartbeat at once, for nodes that wait for the new term
                    out.notify(Notice::Gained { term: leader.term });
                }
            }
        }
    }

    /// Adopts a leader and relays the message; returns whether the term changed.
    fn adopt<M: From<LeaderMessage>>(
        &mut self,
        cx: &Context<'_>,
        leader: Leader,
        left: Duration,
        from: NodeSet,
        out: &mut Out<M>,
    ) -> bool {
        let Leader { term, candidate, heartbeat, .. } = leader;
        let changed = self.leader().is_none_or(|current| current.term != term);
        self.floor = (term, heartbeat);
        self.belief = if candidate.id == cx.me {
            let (next, pulse) = (cx.now.after(cx.timing.heartbeat), watch::next_pulse(cx));
            Belief::Leading { leader, next, pulse, testament: Testament::NONE }
        } else {
            let until = cx.now.after(left);
            // As the heartbeat may have been late, the next one is expected by its age.
            let missed = cx.timing.lease().minus(cx.timing.heartbeat.mul_ratio(3, 2));
            let ask = until.before(missed).after(jitter(cx.timing.heartbeat.mul_ratio(1, 4), cx.random));
            Belief::Following { leader, until, via: from, ask }
        };
        if changed {
            (self.watch, self.bid) = (None, None);
            out.notify(if candidate.id == cx.me {
                Notice::Gained { term }
            } else {
                Notice::Following { leader: candidate.id, term }
            });
        }
        if heartbeat == 0 && self.announced_by_election {
            self.flood = Flood::Done;
        } else {
            self.relay(cx, from, (heartbeat, changed), out);
        }
        self.on_heartbeat(cx, from);
        if self.demanded > term {
            // Once per heartbeat, until the leader has raised its term.
            out.send(from, LeaderMessage::RaiseTerm { term: self.demanded }.into());
        } else {
            self.demanded = Term::ZERO;
        }
        changed
    }

    /// Removes neighbours whose links are gone.
    pub(super) fn remove_peers(&mut self, set: NodeSet) {
        if let Flood::Listening { informed, .. } | Flood::Waiting { informed, .. } = &mut self.flood {
            *informed = informed.without(set);
        }
        if let Belief::Following { via, .. } = &mut self.belief {
            *via = via.without(set);
        }
    }

    /// Sends a heartbeat, refloods, or gives the leader up, whichever is due; returns how the leader was given up, if it was.
    pub(super) fn on_timeout<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, out: &mut Out<M>) -> Option<Loss> {
        match self.belief {
            Belief::Following { until, .. } if until <= cx.now => {
                self.vacate(out);
                return Some(Loss::Silent);
            }
            Belief::Leading { next, .. } if next <= cx.now => self.send_heartbeat(cx, out),
            Belief::Vacant { .. } | Belief::Following { .. } | Belief::Leading { .. } => {}
        }
        let loss = self.watch_leader(cx, out);
        if loss.is_some() {
            return loss;
        }
        self.send_bid(cx, out);
        if let Belief::Following { ask, .. } = &mut self.belief
            && *ask <= cx.now
        {
            let pause = cx.timing.heartbeat.mul_ratio(1, 8);
            *ask = cx.now.after(pause.plus(jitter(pause, cx.random)));
            self.flood(cx, NodeSet::EMPTY, 0, out); // whoever has a newer heartbeat sends that again
        }
        self.on_flood_timeout(cx, out);
        None
    }

    /// Sends this node's next heartbeat.
    fn send_heartbeat<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, out: &mut Out<M>) {
        let Belief::Leading { mut leader, testament, .. } = self.belief else { return };
        leader.heartbeat = leader.heartbeat.saturating_add(1);
        if leader.is_incumbent() {
            leader.candidate = cx.candidate.unwrap_or(leader.candidate);
        }
        leader.runner_up = leader.runner_up.filter(|_| testament.is_fresh(leader.heartbeat));
        let (next, pulse) = (cx.now.after(self.interval(cx, &leader)), watch::next_pulse(cx));
        self.belief = Belief::Leading { leader, next, pulse, testament };
        self.floor = (leader.term, leader.heartbeat);
        let repeats = if self.announced_by_election { cx.timing.reflood_count } else { flood::repeats(cx) };
        self.flood(cx, NodeSet::EMPTY, repeats, out);
    }

    /// Returns when [`Leadership::on_timeout`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let belief = match &self.belief {
            Belief::Vacant { .. } => None,
            Belief::Following { until, ask, .. } => Some(*until.min(ask)),
            Belief::Leading { next, pulse, .. } => Some(*next.min(pulse)),
        };
        let flood = match self.flood {
            Flood::Done => None,
            Flood::Waiting { at, .. } | Flood::Listening { at, .. } => Some(at),
        };
        let watch = earliest(self.watch.as_ref().map(Watch::deadline), self.bid.and_then(|bid| bid.deadline()));
        earliest(earliest(belief, flood), watch)
    }
}

/// Returns this node as the candidate it leads as. Others may have elected an earlier boot of it, before a reboot cost it
/// most of its capacity: then it leads with what is left, and a better node takes over at once.
fn as_elected(cx: &Context<'_>, elected: Candidate) -> Candidate {
    let halved = Candidate { capacity: Capacity::new(elected.capacity.get() / 2), ..elected };
    cx.candidate.filter(|&present| present < halved).unwrap_or(elected)
}
