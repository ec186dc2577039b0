//! This node as a candidate, and the leader it knows: what all elections share.
//!
//! How the winner is found differs from election to election. When to hold one does not: when nobody leads, or when this
//! node would lead better than whoever does. Nor does what a node counts as: incumbents count for more, those that
//! yielded not at all, and in an election that is not over yet everybody counts as when they entered it.

use super::reign::{Office, Reign, Word};
use super::{Command, Notice};
use crate::algorithm::{Context, Fact, Outbox};
use crate::capacity::{Capacity, Standing};
use crate::clock::Term;
use crate::dice::within;
use crate::group::NodeSet;
use crate::time::{Instant, Span, sooner};

/// What an election somebody holds is to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// News: to be joined.
    Open,
    /// Held by somebody who has not heard of a higher term, so that its result would be no news.
    Behind,
    /// Over, or this node took part in it already.
    Over,
}

/// One node's part in all elections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Candidacy {
    pub(super) reign: Reign,
    /// The last election taken part in, and this node as a candidate in it.
    joined: Term,
    entry: Option<Standing>,
    /// No candidate before this time: it yielded.
    abstain: Option<Instant>,
}

impl Candidacy {
    /// A node that has taken part in nothing.
    pub(super) const fn new(reign: Reign) -> Self {
        Self { reign, joined: Term::ZERO, entry: None, abstain: None }
    }

    /// The last election this node took part in.
    pub(super) const fn joined(&self) -> Term {
        self.joined
    }

    /// This node as a candidate in the last election it took part in.
    pub(super) const fn entry(&self) -> Option<Standing> {
        self.entry
    }

    /// What the election `index` is to this node.
    pub(super) fn weigh(&self, index: Term) -> Call {
        if index <= self.joined || index <= self.reign.floor() {
            Call::Over
        } else if index.number < self.reign.number() {
            Call::Behind
        } else {
            Call::Open
        }
    }

    /// Takes part in an election. This node as a candidate in it.
    pub(super) fn join(&mut self, cx: &Context<'_>, index: Term) -> Option<Standing> {
        self.joined = index;
        self.reign.note(index.number);
        self.entry = self.candidate(cx);
        self.entry
    }

    /// This node as a candidate.
    pub(super) fn candidate(&self, cx: &Context<'_>) -> Option<Standing> {
        let standing = cx.standing.filter(|_| self.abstain.is_none())?;
        Some(if self.reign.is_incumbent() { standing.as_incumbent() } else { standing })
    }

    /// This node as a candidate against the current leader. Against one that has just been elected it is the candidate
    /// it was then, if it was one: what was measured since must not decide an election that is over.
    pub(super) fn challenger(&self, cx: &Context<'_>) -> Option<Standing> {
        let now = self.candidate(cx);
        let newcomer = self.joined == Term::ZERO;
        if self.reign.has_settled() || newcomer { now } else { now.min(self.entry) }
    }

    /// Whether this node would lead better than `leader`.
    pub(super) fn betters(&self, cx: &Context<'_>, leader: Standing) -> bool {
        leader.id != cx.me && self.candidate(cx).is_some_and(|candidate| candidate > leader)
    }

    /// An election in which everybody in the group was asked named `office`, as `from` says: whether this node took it in.
    /// It has authority over all but those who would lead better.
    pub(super) fn hear_result<M: From<Word>>(
        &mut self,
        cx: &Context<'_>,
        from: NodeSet,
        office: Office,
        out: &mut Outbox<M, Notice>,
    ) -> bool {
        let Office { term, leader, second, .. } = office;
        let authority = if self.betters(cx, leader) { self.joined } else { term };
        self.reign.hear(cx, from, Word::Leader { term, leader, second, age: 0 }, authority, out)
    }

    /// Makes no candidate of this node for a while, if it leads.
    pub(super) fn abstain(&mut self, cx: &Context<'_>) {
        if self.reign.leads() {
            self.abstain = Some(cx.now.after(cx.timing.hold));
        }
    }

    /// Lets the office go where this node leads and is no candidate any more: to the runner-up, if there is one.
    pub(super) fn review<M: From<Word>>(&mut self, cx: &Context<'_>, out: &mut Outbox<M, Notice>) {
        if self.reign.leads() && self.candidate(cx).is_none() && !self.reign.hand_over(cx, out) {
            self.reign.resign(out);
        }
    }

    /// How long to wait before holding an election; `None` where there is no reason to.
    pub(super) fn reason(&self, cx: &Context<'_>) -> Option<Span> {
        let timing = cx.timing;
        let candidate = self.candidate(cx);
        // Good candidates first: the others hear them in time and need not rise themselves.
        let short = Capacity::MAX.get().saturating_sub(candidate.map_or(0, |candidate| candidate.capacity.get()));
        let rank = timing.stagger.share(u32::from(short), u32::from(Capacity::MAX.get()));
        let delay = rank.plus(within(timing.stagger.share(1, 4), cx.random));
        if self.reign.office().is_none() {
            return Some(if self.joined == Term::ZERO { timing.settle.plus(delay) } else { delay });
        }
        let better = self.challenger(cx).is_some_and(|challenger| self.reign.is_bettered_by(challenger));
        let patience =
            if self.reign.has_settled() { timing.hold.max(timing.uptime_min.minus(cx.uptime)) } else { timing.grace };
        better.then(|| patience.plus(delay))
    }

    /// When to rise: as planned already, or as long from now as there is reason to wait; never, where there is no reason.
    pub(super) fn plan(&self, cx: &Context<'_>, planned: Option<Instant>) -> Option<Instant> {
        self.reason(cx).map(|wait| planned.unwrap_or_else(|| cx.now.after(wait)))
    }

    /// Time has passed: whether the leader was given up.
    pub(super) fn timeout<M: From<Word>>(&mut self, cx: &Context<'_>, out: &mut Outbox<M, Notice>) -> bool {
        if self.abstain.is_some_and(|until| until <= cx.now) {
            self.abstain = None;
        }
        self.reign.timeout(cx, out)
    }

    /// When [`Candidacy::timeout`] has something to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        sooner(self.abstain, self.reign.deadline())
    }
}

/// How every election in a group takes what the application asks and what the detector says.
pub(super) trait Contest {
    /// What its members say to each other.
    type Message: From<Word>;

    /// This node's part in all elections.
    fn own(&mut self) -> &mut Candidacy;

    /// When it starts an election, while it is in none.
    fn resting(&mut self) -> Option<&mut Option<Instant>>;

    /// Starts an election, whatever is known.
    fn start(&mut self, cx: &Context<'_>, out: &mut Outbox<Self::Message, Notice>);

    /// Whatever these members were given may be lost.
    fn peers_lost(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Outbox<Self::Message, Notice>);

    /// Does what the application asks.
    fn obey(&mut self, cx: &Context<'_>, command: Command, out: &mut Outbox<Self::Message, Notice>) {
        match command {
            Command::Call if self.resting().is_some() => self.start(cx, out),
            Command::Call => {} // one is on
            Command::Yield => self.own().abstain(cx),
        }
    }

    /// Takes in what an earlier stage concluded.
    fn learn(&mut self, cx: &Context<'_>, fact: Fact, out: &mut Outbox<Self::Message, Notice>) {
        match fact {
            Fact::PeerUp(set) => self.own().reign.tell(cx, set),
            Fact::PeerDown(set) => {
                if self.own().reign.lose(cx, set, out)
                    && let Some(start) = self.resting()
                {
                    *start = None; // whatever it was for, there is better reason now
                }
                self.peers_lost(cx, set, out);
            }
            Fact::PeerReset(set) => self.peers_lost(cx, set, out),
            Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_) => {} // conclusions of this stage and of later ones
        }
    }
}
