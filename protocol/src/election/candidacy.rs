//! This node as a candidate, and the leader it knows: the state all elections share.
//!
//! Elections differ in how they find a winner. They agree on when to hold a round: when there is no leader, or when
//! this node outranks it. They also agree on how a node counts: an incumbent counts for more, a node that yielded is no
//! candidate, and within a round every node counts as it did when it joined.

use super::leadership::{Leader, LeaderMessage, Leadership, Loss};
use super::{Notice, Winner};
use crate::algorithm::{Context, Outbox};
use crate::base::capacity::{Candidate, Capacity};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};

/// The status of another node's round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoundStatus {
    /// New: to be joined.
    Open,
    /// Started by a node that has missed a higher term: no node would adopt its result.
    Behind,
    /// Over, or joined already.
    Over,
}

type Out<M> = Outbox<M, Notice>;

/// One node's part in all rounds of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Candidacy {
    pub(super) leadership: Leadership,
    /// The last round joined, and this node as a candidate in it.
    joined: Term,
    entry: Option<Candidate>,
    /// This node yielded, and is no candidate before this time.
    abstain_until: Option<Instant>,
}

impl Candidacy {
    pub(super) const fn new(leadership: Leadership) -> Self {
        Self { leadership, joined: Term::ZERO, entry: None, abstain_until: None }
    }

    pub(super) const fn joined(&self) -> Term {
        self.joined
    }

    /// Returns this node as a candidate in the last round it joined.
    pub(super) const fn entry(&self) -> Option<Candidate> {
        self.entry
    }

    pub(super) fn classify(&self, index: Term) -> RoundStatus {
        if index <= self.joined || index <= self.leadership.floor() {
            RoundStatus::Over
        } else if index.number < self.leadership.term_number() {
            RoundStatus::Behind
        } else {
            RoundStatus::Open
        }
    }

    /// Returns whether the current leader was elected in the round `index`, or later.
    pub(super) fn has_leader_since(&self, index: Term) -> bool {
        self.leadership.leader().is_some_and(|leader| leader.term >= index)
    }

    /// Returns whether the current leader was elected in the round numbered `round`, or later.
    pub(super) fn has_leader_since_round(&self, round: u32) -> bool {
        self.leadership.leader().is_some_and(|leader| leader.term.number >= round)
    }

    /// Joins a round; returns this node as a candidate in it.
    pub(super) fn join(&mut self, cx: &Context<'_>, index: Term) -> Option<Candidate> {
        self.joined = index;
        self.leadership.observe_term(index.number);
        self.entry = self.candidate(cx);
        self.entry
    }

    /// Joins a round that `winner` decides; returns this node as a candidate in it.
    pub(super) fn join_for(&mut self, cx: &Context<'_>, index: Term, winner: Winner) -> Option<Candidate> {
        let entry = self.join(cx, index);
        if winner == Winner::Lowest {
            self.entry = entry.and(cx.candidate); // incumbency must not count against it
        }
        self.entry
    }

    pub(super) fn candidate(&self, cx: &Context<'_>) -> Option<Candidate> {
        let candidate = cx.candidate.filter(|_| self.abstain_until.is_none())?;
        let incumbent = self.leadership.is_leader() && self.leadership.has_incumbent();
        Some(if incumbent { candidate.as_incumbent() } else { candidate })
    }

    /// Returns the context of this step, in which this node is no candidate while it abstains: named leader by a round from
    /// before, it would take the leadership and give it up in the same step.
    fn context<'a>(&self, cx: &Context<'a>) -> Context<'a> {
        Context { candidate: cx.candidate.filter(|_| self.abstain_until.is_none()), ..*cx }
    }

    /// Returns this node as a candidate against the current leader. Until that is an incumbent, this node counts no
    /// better than when it joined the round: later measurements must not decide a round that is over.
    pub(super) fn challenger(&self, cx: &Context<'_>) -> Option<Candidate> {
        let now = self.candidate(cx);
        let newcomer = self.joined == Term::ZERO;
        if self.leadership.has_incumbent() || newcomer { now } else { now.min(self.entry) }
    }

    pub(super) fn outranks(&self, cx: &Context<'_>, leader: Candidate) -> bool {
        leader.id != cx.me && self.candidate(cx).is_some_and(|candidate| candidate > leader)
    }

    /// Handles a message about the leader; returns whether this node adopted a new leader or term.
    pub(super) fn on_leader_message<M: From<LeaderMessage>>(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        message: LeaderMessage,
        out: &mut Out<M>,
    ) -> bool {
        self.leadership.on_message(&self.context(cx), cx.roster.set_of(from), message, self.joined, out)
    }

    /// Handles the result of a round in which the whole group was asked; returns whether this node adopted it. The
    /// result has authority over all nodes but those that outrank the winner.
    pub(super) fn on_result<M: From<LeaderMessage>>(
        &mut self,
        cx: &Context<'_>,
        from: NodeSet,
        winner: Leader,
        out: &mut Out<M>,
    ) -> bool {
        let Leader { term, candidate: leader, runner_up, .. } = winner;
        let authority = if self.outranks(cx, leader) { self.joined } else { term };
        let message = LeaderMessage::Elected { term, leader, runner_up, age: 0 };
        self.leadership.on_message(&self.context(cx), from, message, authority, out)
    }

    /// Handles the result of a round that `rule` decided; returns whether this node adopted it.
    pub(super) fn on_result_for<M: From<LeaderMessage>>(
        &mut self,
        cx: &Context<'_>,
        from: NodeSet,
        (winner, rule): (Leader, Winner),
        out: &mut Out<M>,
    ) -> bool {
        match rule {
            Winner::Highest => self.on_result(cx, from, winner, out),
            // Higher members have no claim against the lowest.
            Winner::Lowest => {
                let Leader { term, candidate: leader, runner_up, .. } = winner;
                let message = LeaderMessage::Elected { term, leader, runner_up, age: 0 };
                self.leadership.on_message(&self.context(cx), from, message, term, out)
            }
        }
    }

    /// Makes this node abstain for a while, if it leads and another can: a network is better led by a node that would
    /// rather not than by none. Where the lowest wins no member knows the next one before it has asked all.
    pub(super) fn abstain(&mut self, cx: &Context<'_>, winner: Winner) {
        let other = self.leadership.successor(cx).is_some() || winner == Winner::Lowest;
        if self.leadership.is_leader() && other {
            self.abstain_until = Some(cx.now.after(cx.timing.takeover_delay));
        }
    }

    /// Steps down where this node leads and is no candidate any more: hands over, if there is a successor.
    pub(super) fn step_down_if_unfit<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, out: &mut Out<M>) {
        let unfit = self.leadership.is_leader() && self.candidate(cx).is_none();
        if unfit && !self.leadership.hand_over(cx, out) {
            self.leadership.vacate(out);
        }
    }

    /// Returns a delay that is shorter for better candidates: the others receive their messages in time and need not start
    /// rounds themselves.
    fn stagger(&self, cx: &Context<'_>) -> Duration {
        let capacity = self.candidate(cx).map_or(0, |candidate| candidate.capacity.get());
        let short = Capacity::MAX.get().saturating_sub(capacity);
        let rank = cx.timing.stagger.mul_ratio(u32::from(short), u32::from(Capacity::MAX.get()));
        rank.plus(jitter(cx.timing.stagger.mul_ratio(1, 4), cx.random))
    }

    /// Returns the delay before this node, a leader, looks for other leaders.
    pub(super) fn check_delay(&self, cx: &Context<'_>) -> Duration {
        cx.timing.heartbeat.plus(self.stagger(cx))
    }

    /// Returns the delay before this node starts a round; `None` where there is no reason to.
    pub(super) fn start_delay(&self, cx: &Context<'_>) -> Option<Duration> {
        let (timing, delay) = (cx.timing, self.stagger(cx));
        if self.leadership.leader().is_none() {
            return Some(if self.joined == Term::ZERO { timing.boot_wait.plus(delay) } else { delay });
        }
        let better = self.challenger(cx).is_some_and(|challenger| self.leadership.is_outranked_by(challenger));
        let takeover_delay = if self.leadership.has_incumbent() {
            timing.takeover_delay.max(timing.uptime_min.minus(cx.uptime))
        } else {
            timing.takeover_delay_unsettled
        };
        better.then(|| takeover_delay.plus(delay))
    }

    /// Handles a timeout; returns how the leader was given up, if it was.
    pub(super) fn on_timeout<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, out: &mut Out<M>) -> Option<Loss> {
        if self.abstain_until.is_some_and(|until| until <= cx.now) {
            self.abstain_until = None;
        }
        self.leadership.on_timeout(cx, out)
    }

    /// Returns when [`Candidacy::on_timeout`] is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        earliest(self.abstain_until, self.leadership.deadline())
    }
}
