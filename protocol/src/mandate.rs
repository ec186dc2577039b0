//! The mandate: who may act as leader.
//!
//! An election says who should lead; it cannot say that nobody else does. In [`Mode::Available`] whoever was elected may
//! act, and a network in two parts has two leaders. In [`Mode::Quorum`] the elected node asks the group, once a heartbeat,
//! and acts only while a majority has promised to grant nobody else anything for the length of a lease. A promise is
//! counted from when it was given, a mandate from when it was asked for, and each by its own clock with a margin for how
//! much clocks differ: so a mandate has ended, whatever the leader was doing meanwhile, before the promises have, and two
//! majorities share a member. No two nodes have a mandate at the same instant.
//!
//! The same question tells the group who counts: the *view*. A leader with a mandate takes members out that are not up, and
//! back in when they are; a view is as new as the term and the edition it comes with.
//!
//! # Paper
//! C. Gray, D. Cheriton: Leases, SOSP 1989, for promises that end by themselves.
//!
//! # Assumes
//! Clocks that never stop and differ in pace by no more than [`crate::config::granted`] allows for. A debugger that holds
//! a node's clock breaks the promise: such a node must be restarted. A node that has just started keeps out for a lease,
//! as it may have promised something.
//!
//! # Messages
//! [`Message::Ask`] from the elected to all; [`Message::Grant`] back; [`Message::Release`] when it steps down in time.
//!
//! # Cost
//! Two letters a member and heartbeat, in [`Mode::Quorum`]. None in [`Mode::Available`].

use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::clock::Term;
use crate::config::{granted, usable};
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, sooner};
use core::convert::Infallible;

mod message;

pub use message::Message;

/// What a leader needs besides having been elected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Mode {
    /// Nothing: one leader in every part of the network, of which a part may know nothing.
    #[default]
    Available,
    /// A majority of the group: never two leaders, and none where there is no majority.
    Quorum,
}

/// What the application is told about the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// This node leads from now on, or goes on leading.
    Gained {
        /// Under which term.
        term: Term,
    },
    /// This node will lead no more from then on, unless a majority is heard from first.
    Losing {
        /// When.
        until: Instant,
    },
    /// This node leads no more.
    Lost,
    /// Another node leads.
    LeaderChanged {
        /// Who.
        leader: NodeId,
        /// Under which term.
        term: Term,
    },
    /// Nobody leads, as far as this node knows.
    Leaderless,
    /// No majority of the group can be heard: whoever leads, leads but a part of it, and in [`Mode::Quorum`] nobody does.
    Degraded,
}

/// What this node promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Promise {
    to: NodeId,
    until: Instant,
}

/// Whether this node acts as leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Office {
    /// It was not elected.
    Out,
    /// It was, and asks for a mandate, next at this time.
    Seeking { poll: Poll },
    /// It has one under `term` until then, and says so at `warn`, if it has not yet. The next question may be about a
    /// higher term.
    Acting { poll: Poll, term: Term, until: Instant, warn: Option<Instant> },
    /// It has one for as long as it is elected.
    Free,
}

/// A question, and who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Poll {
    term: Term,
    number: u32,
    asked: Instant,
    grants: NodeSet,
    next: Instant,
}

/// The mandate of one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mandate {
    mode: Mode,
    office: Office,
    /// Whom the election names.
    elected: Option<(NodeId, Term)>,
    /// Whom the application was told of.
    told: Option<(NodeId, Term)>,
    degraded: bool,
    promise: Option<Promise>,
    view: NodeSet,
    /// Where the view is from.
    edition: (Term, u16),
}

type Out = Outbox<Message, Notice>;

impl Mandate {
    /// A node that was told nothing yet.
    #[must_use]
    pub const fn new(mode: Mode) -> Self {
        Self {
            mode,
            office: Office::Out,
            elected: None,
            told: None,
            degraded: false,
            promise: None,
            view: NodeSet::EMPTY,
            edition: (Term::ZERO, 0),
        }
    }

    /// The same in a group: everybody is in the first view.
    #[must_use]
    pub const fn in_group(mode: Mode, group: NodeSet) -> Self {
        Self { view: group, ..Self::new(mode) }
    }

    /// Who counts.
    #[must_use]
    pub const fn view(&self) -> NodeSet {
        self.view
    }

    /// The term under which this node may act as leader at `now`: to be asked before every act, as any time may have passed
    /// since it was told so.
    #[must_use]
    pub fn acts(&self, now: Instant) -> Option<Term> {
        match self.office {
            Office::Out | Office::Seeking { .. } => None,
            Office::Acting { term, until, .. } => (now < until).then_some(term),
            Office::Free => self.elected.map(|(_, term)| term),
        }
    }

    /// Who leads, as far as this node knows.
    #[must_use]
    pub const fn leader(&self) -> Option<(NodeId, Term)> {
        self.told
    }

    /// Tells the application who leads, unless it knows.
    fn tell(&mut self, cx: &Context<'_>, leader: Option<(NodeId, Term)>, out: &mut Out) {
        if leader == self.told {
            return;
        }
        if self.told.is_some_and(|(old, _)| old == cx.me) && leader.is_none_or(|(new, _)| new != cx.me) {
            out.notify(Notice::Lost);
        }
        self.told = leader;
        out.notify(match leader {
            None => Notice::Leaderless,
            Some((leader, term)) if leader == cx.me => Notice::Gained { term },
            Some((leader, term)) => Notice::LeaderChanged { leader, term },
        });
    }

    /// The election named somebody, or nobody, and that is all there is to it.
    pub(crate) fn follow(&mut self, cx: &Context<'_>, elected: Option<(NodeId, Term)>, out: &mut Out) {
        self.elected = elected;
        let mine = elected.is_some_and(|(leader, _)| leader == cx.me);
        self.office = if mine { Office::Free } else { Office::Out };
        self.tell(cx, elected, out);
    }

    /// The election named somebody, or nobody.
    fn hear_election(&mut self, cx: &Context<'_>, elected: Option<(NodeId, Term)>, out: &mut Out) {
        if self.mode == Mode::Available {
            self.follow(cx, elected, out);
            return;
        }
        let before = core::mem::replace(&mut self.elected, elected);
        match elected.filter(|&(leader, _)| leader == cx.me) {
            None => self.step_down(cx, out),
            Some((_, term)) => self.seek(cx, term, out),
        }
        // Who leads is told when it acts; that nobody does, or another should, at once.
        if before.map(|(old, _)| old) != elected.map(|(new, _)| new) {
            self.tell(cx, None, out);
        }
    }

    /// Leads no more, and frees those who promised.
    fn step_down(&mut self, cx: &Context<'_>, out: &mut Out) {
        let (Office::Seeking { poll } | Office::Acting { poll, .. }) = self.office else { return };
        self.office = Office::Out;
        self.promise = self.promise.filter(|promise| promise.to != cx.me);
        self.tell(cx, None, out);
        out.send(cx.peers, Message::Release { term: poll.term });
    }

    /// Was elected: begins to ask, or goes on under the new term.
    fn seek(&mut self, cx: &Context<'_>, term: Term, out: &mut Out) {
        let poll = Poll { term, number: 0, asked: cx.now, grants: NodeSet::EMPTY, next: cx.now };
        match &mut self.office {
            Office::Out | Office::Free => self.office = Office::Seeking { poll },
            Office::Seeking { poll: old } | Office::Acting { poll: old, .. } if old.term == term => return,
            // It goes on under the old term until a majority knows the new one.
            Office::Seeking { poll: old } | Office::Acting { poll: old, .. } => *old = poll,
        }
        self.ask(cx, out);
    }

    /// Asks once more.
    fn ask(&mut self, cx: &Context<'_>, out: &mut Out) {
        let acting = matches!(self.office, Office::Acting { .. });
        let (Office::Seeking { poll } | Office::Acting { poll, .. }) = &mut self.office else { return };
        let present = cx.up.with(poll.grants).with(cx.roster.set_of(cx.me));
        poll.number = poll.number.saturating_add(1);
        (poll.asked, poll.grants) = (cx.now, NodeSet::EMPTY);
        poll.next = cx.now.after(cx.timing.heartbeat);
        let Poll { term, number, .. } = *poll;
        let stale = present != self.view || self.edition.0 != term;
        if acting && stale && is_majority(present, cx.roster.all()) {
            let edition = if self.edition.0 == term { self.edition.1.saturating_add(1) } else { 1 };
            (self.view, self.edition) = (present, (term, edition));
        }
        let (view, edition) =
            if acting && self.edition.0 == term { (self.view, self.edition.1) } else { (NodeSet::EMPTY, 0) };
        out.send(cx.up, Message::Ask { term, number, view, edition });
        if self.promise(cx, cx.me) {
            self.count(cx, cx.roster.set_of(cx.me), out);
        }
    }

    /// Promises to grant nobody but `to` anything for a lease, if this node is free to.
    fn promise(&mut self, cx: &Context<'_>, to: NodeId) -> bool {
        let lease = granted(cx.timing.lease());
        let taken = self.promise.is_some_and(|promise| promise.to != to && promise.until > cx.now);
        if taken || cx.uptime < lease {
            return false;
        }
        self.promise = Some(Promise { to, until: cx.now.after(lease) });
        true
    }

    /// Counts a promise given to this node.
    fn count(&mut self, cx: &Context<'_>, from: NodeSet, out: &mut Out) {
        let (Office::Seeking { poll } | Office::Acting { poll, .. }) = &mut self.office else { return };
        poll.grants = poll.grants.with(from);
        let poll = *poll;
        let until = poll.asked.after(usable(cx.timing.lease()));
        if !is_majority(poll.grants, cx.roster.all()) || until <= cx.now {
            return;
        }
        let relieved = matches!(self.office, Office::Acting { warn: None, .. });
        // One more question can save it then.
        let warn = until.before(cx.timing.heartbeat).max(cx.now);
        self.office = Office::Acting { poll, term: poll.term, until, warn: Some(warn) };
        self.degraded = false;
        self.tell(cx, Some((cx.me, poll.term)), out);
        if relieved {
            out.notify(Notice::Gained { term: poll.term });
        }
    }

    fn hear(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Ask { term, number, view, edition } => {
                // Only for whom this node's own election names, and under that very term: a majority must have taken the
                // term in before anybody acts under it, so that whoever acts later does so under a higher one.
                if self.mode == Mode::Available || self.elected != Some((from, term)) {
                    return;
                }
                if self.promise(cx, from) {
                    out.send(cx.roster.set_of(from), Message::Grant { term, number });
                }
                if view.is_empty() {
                    self.tell(cx, None, out);
                    self.degrade(out);
                    return;
                }
                self.degraded = false;
                self.tell(cx, Some((from, term)), out);
                if (term, edition) > self.edition {
                    (self.view, self.edition) = (view, (term, edition));
                }
            }
            Message::Grant { term, number } => {
                let (Office::Seeking { poll } | Office::Acting { poll, .. }) = self.office else { return };
                if (poll.term, poll.number) == (term, number) {
                    self.count(cx, cx.roster.set_of(from), out);
                }
            }
            Message::Release { .. } => self.promise = self.promise.filter(|promise| promise.to != from),
        }
    }

    fn degrade(&mut self, out: &mut Out) {
        if !self.degraded {
            self.degraded = true;
            out.notify(Notice::Degraded);
        }
    }

    /// Whether less than a majority is up, which the application is told when it begins.
    fn review(&mut self, cx: &Context<'_>, out: &mut Out) {
        let up = cx.up.with(cx.roster.set_of(cx.me));
        let whole = is_majority(up, cx.roster.all());
        match self.mode {
            _ if !whole => self.degrade(out),
            Mode::Available if self.degraded => {
                self.degraded = false;
                let leader = self.told.take();
                self.tell(cx, leader, out); // it leads a majority again
            }
            Mode::Available | Mode::Quorum => {} // as before; whoever acts will say so
        }
    }

    /// Ends a mandate whose time is over, and warns before.
    fn expire(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Office::Acting { poll, term, until, warn } = self.office else { return };
        if until <= cx.now {
            self.office = Office::Seeking { poll };
            self.tell(cx, None, out);
        } else if warn.is_some_and(|at| at <= cx.now) {
            self.office = Office::Acting { poll, term, until, warn: None };
            out.notify(Notice::Losing { until });
        }
    }
}

/// Whether `set` is more than half of `group`; of a group nobody configured, anybody is.
#[must_use]
pub const fn is_majority(set: NodeSet, group: NodeSet) -> bool {
    set.and(group).len().saturating_mul(2) > group.len() || group.is_empty()
}

impl Algorithm for Mandate {
    type Message = Message;
    type Command = Infallible;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        match self.mode {
            Mode::Available => Scope::Nobody,
            Mode::Quorum => Scope::Group,
        }
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Infallible>, out: &mut Out) {
        // First of all: whatever has come, any time may have passed since this node last looked.
        self.expire(cx, out);
        match input {
            Input::Message { from, message, .. } => self.hear(cx, from, message, out),
            Input::Fact(Fact::Leader { leader, term }) => self.hear_election(cx, Some((leader, term)), out),
            Input::Fact(Fact::NoLeader) => self.hear_election(cx, None, out),
            Input::Fact(Fact::PeerUp(_) | Fact::PeerDown(_)) => self.review(cx, out),
            Input::Command(never) => match never {},
            // One that has started anew keeps out by itself; a view is this stage's own conclusion; what is due is due.
            Input::Fact(Fact::PeerReset(_) | Fact::View | Fact::Parent(_)) | Input::Timeout => {}
        }
        if let Office::Seeking { poll } | Office::Acting { poll, .. } = self.office
            && poll.next <= cx.now
        {
            self.ask(cx, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.office {
            Office::Out | Office::Free => None,
            Office::Seeking { poll } => Some(poll.next),
            Office::Acting { poll, until, warn, .. } => sooner(warn, Some(poll.next.min(until))),
        }
    }
}

#[cfg(test)]
mod tests;
