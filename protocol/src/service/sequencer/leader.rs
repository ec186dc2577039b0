//! The leader's part of an order: what others have, and what each of them was sent.

use super::log::{Entry, Log, Number};
use super::message::Message;
use crate::algorithm::Context;
use crate::base::ids::NodeSet;
use crate::base::quorum::is_majority;
use crate::base::term::Term;

/// The memory of a member that has one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Have {
    /// The term of the leader whose order it has.
    pub(super) of: Term,
    pub(super) base: Number,
    pub(super) commit: Number,
    pub(super) last: Number,
}

impl Have {
    /// Which memory is the newest: nothing that a majority had is missing from the newest one of a majority.
    fn rank(&self) -> (Term, Number) {
        (self.of, self.last)
    }
}

/// What the leader is doing.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// It asks what the others have, and numbers nothing.
    Collecting,
    /// It takes over what that member has: so far up to `matched`, in the end up to `until`.
    Fetching { from: NodeSet, matched: u32, until: u32, asked: bool },
    /// It numbers messages.
    Open,
}

/// The next move of a leader that collects.
pub(super) enum Choice {
    /// Too few have answered.
    Wait,
    /// A majority remembers, and nobody more than this member.
    Take(NodeSet, Have),
    /// Everybody has answered, and no majority remembers: what was before is over.
    NewHistory,
}

/// The leader's knowledge of the members, in its term.
#[derive(Clone, Debug)]
pub(super) struct Leader<const N: usize> {
    pub(super) term: Term,
    pub(super) phase: Phase,
    /// The members asked what they have.
    asked: NodeSet,
    /// Those that answered, with a memory and without one.
    intact: NodeSet,
    blank: NodeSet,
    best: Option<(NodeSet, Have)>,
    /// Those whose position is known and who wait to be welcomed.
    ready: NodeSet,
    /// Those that are sent messages as they come.
    streams: NodeSet,
    /// Those that do not know how much is committed.
    news: NodeSet,
    /// Before its stream a member's position, then what it was sent.
    sent: [Number; N],
    stored: [u32; N],
}

impl<const N: usize> Leader<N> {
    pub(super) const fn new(term: Term) -> Self {
        Self {
            term,
            phase: Phase::Collecting,
            asked: NodeSet::EMPTY,
            intact: NodeSet::EMPTY,
            blank: NodeSet::EMPTY,
            best: None,
            ready: NodeSet::EMPTY,
            streams: NodeSet::EMPTY,
            news: NodeSet::EMPTY,
            sent: [Number { era: 0, count: 0 }; N],
            stored: [0; N],
        }
    }

    /// Notes what a member has; `None` where it has rebooted.
    pub(super) fn on_answer(&mut self, member: NodeSet, have: Option<Have>) {
        for slot in member.slots() {
            if let (Some(sent), Some(stored)) = (self.sent.get_mut(slot), self.stored.get_mut(slot)) {
                (*sent, *stored) = (have.map_or(Number::default(), |have| have.commit), 0);
            }
        }
        self.asked = self.asked.with(member);
        self.streams = self.streams.without(member);
        self.ready = self.ready.with(member);
        let Some(have) = have else {
            (self.intact, self.blank) = (self.intact.without(member), self.blank.with(member));
            return;
        };
        (self.intact, self.blank) = (self.intact.with(member), self.blank.without(member));
        if self.best.is_none_or(|(_, best)| best.rank() < have.rank()) {
            self.best = Some((member, have));
        }
    }

    /// Decides, where enough have answered.
    pub(super) fn choose(&self, all: NodeSet) -> Choice {
        match self.best {
            Some((member, have)) if is_majority(self.intact, all) => Choice::Take(member, have),
            Some(_) | None if all.without(self.intact).without(self.blank).is_empty() => Choice::NewHistory,
            Some(_) | None => Choice::Wait,
        }
    }

    /// Messages to and from these may be lost, or what they promised; returns whether all must be asked again, because
    /// what the second best has was not kept.
    pub(super) fn on_down(&mut self, set: NodeSet, rebooted: bool) -> bool {
        self.asked = self.asked.without(set);
        self.ready = self.ready.without(set);
        self.streams = self.streams.without(set);
        match self.phase {
            Phase::Collecting => rebooted,
            Phase::Fetching { from, .. } => rebooted || from.meets(set),
            Phase::Open => false,
        }
    }

    /// Begins to number after the last of `log`.
    pub(super) fn open(&mut self) {
        self.phase = Phase::Open;
        self.news = NodeSet::EMPTY;
    }

    pub(super) fn on_stored(&mut self, member: NodeSet, last: u32) {
        for slot in member.and(self.streams).slots() {
            if let Some(stored) = self.stored.get_mut(slot) {
                *stored = last.max(*stored);
            }
        }
    }

    /// Returns the members that have the message of this count, of `others`.
    fn having(&self, others: NodeSet, count: u32) -> NodeSet {
        let has = |slot: &usize| self.stored.get(*slot).is_some_and(|&stored| stored >= count);
        others.slots().filter(has).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)))
    }

    /// Raises what is committed to what a majority has; returns whether it rose.
    pub(super) fn commit(&mut self, cx: &Context<'_>, log: &mut Log) -> bool {
        let me = cx.roster.set_of(cx.me);
        let enough = |count: &u32| cx.is_quorum(self.having(cx.peers, *count).with(me));
        let most = log.last();
        let committed = (log.commit..=most).rev().take_while(|&count| count > log.commit).find(enough);
        let Some(count) = committed else { return false };
        log.commit = count;
        self.news = self.streams;
        true
    }

    /// Returns the count up to which every member of the view has everything.
    pub(super) fn stable(&self, cx: &Context<'_>, log: &Log) -> u32 {
        let others = cx.view.and(cx.peers);
        let next = log.base().saturating_add(1);
        if self.having(others, next) == others { next } else { log.base() }
    }

    /// Returns the next message of the leader's, and to whom.
    pub(super) fn poll(&mut self, cx: &Context<'_>, log: &Log) -> Option<(NodeSet, Message)> {
        let term = self.term;
        let unasked = cx.up.without(self.asked);
        if !unasked.is_empty() {
            self.asked = self.asked.with(unasked);
            return Some((unasked, Message::Collect { term }));
        }
        match &mut self.phase {
            Phase::Collecting | Phase::Fetching { asked: true, .. } => None,
            Phase::Fetching { from, matched, asked, .. } => {
                *asked = true;
                Some((*from, Message::Fetch { term, after: log.number(*matched) }))
            }
            Phase::Open => self.poll_open(cx, log),
        }
    }

    fn poll_open(&mut self, cx: &Context<'_>, log: &Log) -> Option<(NodeSet, Message)> {
        let term = self.term;
        if let Some(first) = self.ready.and(cx.up).slots().next() {
            let start = |number: Number| if number < log.number(log.base()) { log.number(log.base()) } else { number };
            let after = start(*self.sent.get(first)?);
            let mut to = NodeSet::EMPTY;
            for slot in self.ready.and(cx.up).slots() {
                if let Some(sent) = self.sent.get_mut(slot).filter(|sent| start(**sent) == after) {
                    *sent = after;
                    to = to.with(NodeSet::slot(slot));
                }
            }
            (self.ready, self.streams) = (self.ready.without(to), self.streams.with(to));
            self.news = self.news.with(to);
            return Some((to, Message::Welcome { term, after, target: log.last() }));
        }
        let streams = self.streams.and(cx.up);
        let next = streams.slots().filter_map(|slot| self.sent.get(slot)).map(|sent| sent.count).min();
        let count = next.map(|sent| sent.saturating_add(1));
        if let Some((count, entry)) = count.and_then(|count| Some((count, log.get(count)?))) {
            return Some(self.order(streams, log, count, entry));
        }
        let to = core::mem::take(&mut self.news).and(streams);
        (!to.is_empty()).then_some((to, Message::Committed { term, count: log.commit }))
    }

    /// Sends the message of this count to all that have those before it.
    fn order(&mut self, streams: NodeSet, log: &Log, count: u32, entry: &Entry) -> (NodeSet, Message) {
        let mut to = NodeSet::EMPTY;
        for slot in streams.slots() {
            if let Some(sent) = self.sent.get_mut(slot).filter(|sent| sent.count.saturating_add(1) == count) {
                sent.count = count;
                to = to.with(NodeSet::slot(slot));
            }
        }
        if log.commit <= count {
            self.news = self.news.without(to);
        }
        let behind = u8::try_from(count.saturating_sub(log.commit)).unwrap_or(u8::MAX);
        (to, Message::Order { term: self.term, number: log.number(count), behind, entry: entry.clone() })
    }
}
