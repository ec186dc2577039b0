//! The leader lease: which node may act as leader.
//!
//! An election names a leader; it cannot exclude that another node was elected elsewhere. In [`Mode::Available`] the
//! elected node may act, and a partitioned network has two leaders. In [`Mode::Quorum`] the elected node asks the group
//! once per heartbeat, and acts only while a majority has promised to grant no other node a lease. A grantor counts its
//! promise from when it was given, the leader its lease from when it asked, each by its own clock with a margin for
//! clock drift. So a lease expires before the promises behind it, and two majorities share a member: no two nodes hold
//! a lease at the same instant.
//!
//! The same request carries the *view*: the members that count. A leader with a lease removes members that are not up,
//! and adds them again when they are. Views are ordered by term, then by number.
//!
//! # Paper
//! C. Gray, D. Cheriton: Leases, SOSP 1989, for promises that expire by themselves.
//!
//! # Assumes
//! Clocks that never stop and drift by no more than [`lease_at_grantor`] allows for. A debugger that stops a node's
//! clock breaks this: restart such a node. A node that has just booted grants nothing for the length of a lease, as it
//! may have made a promise before.
//!
//! # Messages
//! [`Message::Ask`] from the elected node to all members; [`Message::Grant`] in reply; [`Message::Release`] when it
//! steps down before its lease expires.
//!
//! # Cost
//! Two reliable messages per member and heartbeat in [`Mode::Quorum`]. None in [`Mode::Available`].

use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::config::{lease_at_grantor, lease_at_holder};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::quorum::{Mode, is_majority};
use crate::base::term::Term;
use crate::base::time::{Instant, earliest};
use core::convert::Infallible;

mod message;

pub use message::Message;

/// Notices to the application about the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// This node leads from now on, or continues to.
    Gained {
        /// The term it leads under.
        term: Term,
    },
    /// The lease of this node expires soon, unless a majority replies first.
    Losing {
        /// When it expires.
        until: Instant,
    },
    /// This node leads no more.
    Lost,
    /// Another node leads.
    LeaderChanged {
        /// The leader.
        leader: NodeId,
        /// The term it leads under.
        term: Term,
    },
    /// No leader is known.
    Leaderless,
    /// No quorum is reachable: a leader, if any, leads a minority; in [`Mode::Quorum`] there is none.
    Degraded,
}

/// A promise to grant no other node a lease before `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Promise {
    to: NodeId,
    until: Instant,
}

/// The role of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    /// Not elected.
    Follower,
    /// Elected, and asking for a lease.
    Requesting { round: LeaseRound },
    /// Holds a lease under `term` until `until`, and warns the application at `warn`, if it has not yet. The current
    /// round may be for a higher term.
    Holding { round: LeaseRound, term: Term, until: Instant, warn: Option<Instant> },
    /// Elected, and needs no lease.
    Unrestricted,
}

/// One round of requests, and the grants received in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct LeaseRound {
    term: Term,
    number: u32,
    asked: Instant,
    grants: NodeSet,
    next: Instant,
}

/// The lease of one node, requested or granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeaderLease {
    mode: Mode,
    role: Role,
    /// The leader named by the election.
    elected: Option<(NodeId, Term)>,
    /// The leader the application was last notified of.
    notified: Option<(NodeId, Term)>,
    degraded: bool,
    promise: Option<Promise>,
    view: NodeSet,
    /// The term and the number of the view.
    view_number: (Term, u16),
}

type Out = Outbox<Message, Notice>;

impl LeaderLease {
    /// Creates the lease of a node without a group.
    #[must_use]
    pub const fn new(mode: Mode) -> Self {
        Self {
            mode,
            role: Role::Follower,
            elected: None,
            notified: None,
            degraded: false,
            promise: None,
            view: NodeSet::EMPTY,
            view_number: (Term::ZERO, 0),
        }
    }

    /// Creates the lease of a member of `group`. All members are in the first view.
    #[must_use]
    pub const fn in_group(mode: Mode, group: NodeSet) -> Self {
        Self { view: group, ..Self::new(mode) }
    }

    /// Returns the members that count.
    #[must_use]
    pub const fn view(&self) -> NodeSet {
        self.view
    }

    /// Returns the term under which this node may act as leader at `now`. Ask before every action: the lease may have
    /// expired since the notice.
    #[must_use]
    pub fn acting_term(&self, now: Instant) -> Option<Term> {
        match self.role {
            Role::Follower | Role::Requesting { .. } => None,
            Role::Holding { term, until, .. } => (now < until).then_some(term),
            Role::Unrestricted => self.elected.map(|(_, term)| term),
        }
    }

    /// Returns the leader, as far as this node knows.
    #[must_use]
    pub const fn leader(&self) -> Option<(NodeId, Term)> {
        self.notified
    }

    /// Notifies the application of the leader, if it is another than before.
    fn notify(&mut self, me: NodeId, leader: Option<(NodeId, Term)>, out: &mut Out) {
        if leader == self.notified {
            return;
        }
        if self.notified.is_some_and(|(old, _)| old == me) && leader.is_none_or(|(new, _)| new != me) {
            out.notify(Notice::Lost);
        }
        self.notified = leader;
        out.notify(match leader {
            None => Notice::Leaderless,
            Some((leader, term)) if leader == me => Notice::Gained { term },
            Some((leader, term)) => Notice::LeaderChanged { leader, term },
        });
    }

    /// Adopts the result of the election without a lease.
    pub(crate) fn adopt_elected(&mut self, me: NodeId, elected: Option<(NodeId, Term)>, out: &mut Out) {
        self.elected = elected;
        let mine = elected.is_some_and(|(leader, _)| leader == me);
        self.role = if mine { Role::Unrestricted } else { Role::Follower };
        self.notify(me, elected, out);
    }

    /// Handles the result of the election: a leader, or none.
    fn on_elected(&mut self, cx: &Context<'_>, elected: Option<(NodeId, Term)>, out: &mut Out) {
        if self.mode == Mode::Available {
            self.adopt_elected(cx.me, elected, out);
            return;
        }
        let before = core::mem::replace(&mut self.elected, elected);
        match elected.filter(|&(leader, _)| leader == cx.me) {
            None => self.step_down(cx, out),
            Some((_, term)) => self.request(cx, term, out),
        }
        // A new leader is reported when it holds a lease; the loss of the old one at once.
        if before.map(|(old, _)| old) != elected.map(|(new, _)| new) {
            self.notify(cx.me, None, out);
        }
    }

    /// Stops leading, and releases the members that promised.
    fn step_down(&mut self, cx: &Context<'_>, out: &mut Out) {
        let (Role::Requesting { round } | Role::Holding { round, .. }) = self.role else { return };
        self.role = Role::Follower;
        self.promise = self.promise.filter(|promise| promise.to != cx.me);
        self.notify(cx.me, None, out);
        out.send(cx.peers, Message::Release { term: round.term });
    }

    /// Starts to request a lease under `term`, or continues under it.
    fn request(&mut self, cx: &Context<'_>, term: Term, out: &mut Out) {
        let round = LeaseRound { term, number: 0, asked: cx.now, grants: NodeSet::EMPTY, next: cx.now };
        match &mut self.role {
            Role::Follower | Role::Unrestricted => self.role = Role::Requesting { round },
            Role::Requesting { round: old } | Role::Holding { round: old, .. } if old.term == term => return,
            // It acts under the old term until a majority has granted the new one.
            Role::Requesting { round: old } | Role::Holding { round: old, .. } => *old = round,
        }
        self.start_round(cx, out);
    }

    /// Asks the group for the next lease, and announces the view.
    fn start_round(&mut self, cx: &Context<'_>, out: &mut Out) {
        let holding = matches!(self.role, Role::Holding { .. });
        let (Role::Requesting { round } | Role::Holding { round, .. }) = &mut self.role else { return };
        let present = cx.up.with(round.grants).with(cx.roster.set_of(cx.me));
        round.number = round.number.saturating_add(1);
        (round.asked, round.grants) = (cx.now, NodeSet::EMPTY);
        round.next = cx.now.after(cx.timing.heartbeat);
        let LeaseRound { term, number, .. } = *round;
        let stale = present != self.view || self.view_number.0 != term;
        if holding && stale && is_majority(present, cx.roster.all()) {
            let number = if self.view_number.0 == term { self.view_number.1.saturating_add(1) } else { 1 };
            (self.view, self.view_number) = (present, (term, number));
        }
        let (view, view_number) =
            if holding && self.view_number.0 == term { (self.view, self.view_number.1) } else { (NodeSet::EMPTY, 0) };
        out.send(cx.up, Message::Ask { term, round: number, view, view_number });
        if self.promise(cx, cx.me) {
            self.on_grant(cx, cx.roster.set_of(cx.me), out);
        }
    }

    /// Promises to grant no node but `to` a lease; returns whether this node was free to.
    fn promise(&mut self, cx: &Context<'_>, to: NodeId) -> bool {
        let lease = lease_at_grantor(cx.timing.lease());
        let taken = self.promise.is_some_and(|promise| promise.to != to && promise.until > cx.now);
        if taken || cx.uptime < lease {
            return false;
        }
        self.promise = Some(Promise { to, until: cx.now.after(lease) });
        true
    }

    /// Counts a grant; a majority of them is a lease.
    fn on_grant(&mut self, cx: &Context<'_>, from: NodeSet, out: &mut Out) {
        let (Role::Requesting { round } | Role::Holding { round, .. }) = &mut self.role else { return };
        round.grants = round.grants.with(from);
        let round = *round;
        let until = round.asked.after(lease_at_holder(cx.timing.lease()));
        if !is_majority(round.grants, cx.roster.all()) || until <= cx.now {
            return;
        }
        let warned = matches!(self.role, Role::Holding { warn: None, .. });
        // One more round can renew it then.
        let warn = until.before(cx.timing.heartbeat).max(cx.now);
        self.role = Role::Holding { round, term: round.term, until, warn: Some(warn) };
        self.degraded = false;
        self.notify(cx.me, Some((cx.me, round.term)), out);
        if warned {
            out.notify(Notice::Gained { term: round.term });
        }
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        match message {
            Message::Ask { term, round, view, view_number } => {
                // Only for the leader this node's own election names, and under that very term: a majority must have
                // adopted a term before any node acts under it, so that later leaders act under higher terms.
                if self.mode == Mode::Available || self.elected != Some((from, term)) {
                    return;
                }
                if self.promise(cx, from) {
                    out.send(cx.roster.set_of(from), Message::Grant { term, round });
                }
                if view.is_empty() {
                    self.notify(cx.me, None, out);
                    self.degrade(out);
                    return;
                }
                self.degraded = false;
                self.notify(cx.me, Some((from, term)), out);
                if (term, view_number) > self.view_number {
                    (self.view, self.view_number) = (view, (term, view_number));
                }
            }
            Message::Grant { term, round: number } => {
                let (Role::Requesting { round } | Role::Holding { round, .. }) = self.role else { return };
                if (round.term, round.number) == (term, number) {
                    self.on_grant(cx, cx.roster.set_of(from), out);
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

    /// Notifies the application when the reachable members stop being a majority, and when they are one again.
    fn update_degraded(&mut self, cx: &Context<'_>, out: &mut Out) {
        let up = cx.up.with(cx.roster.set_of(cx.me));
        match self.mode {
            _ if !is_majority(up, cx.roster.all()) => self.degrade(out),
            Mode::Available if self.degraded => {
                self.degraded = false;
                let leader = self.notified.take();
                self.notify(cx.me, leader, out); // it leads a majority again
            }
            Mode::Available | Mode::Quorum => {} // unchanged; in quorum mode the leader's next request confirms it
        }
    }

    /// Ends an expired lease, and warns the application before.
    fn expire(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Role::Holding { round, term, until, warn } = self.role else { return };
        if until <= cx.now {
            self.role = Role::Requesting { round };
            self.notify(cx.me, None, out);
        } else if warn.is_some_and(|at| at <= cx.now) {
            self.role = Role::Holding { round, term, until, warn: None };
            out.notify(Notice::Losing { until });
        }
    }
}

impl Algorithm for LeaderLease {
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
        self.expire(cx, out); // before anything else: the node may have slept
        match input {
            Input::Message { from, message, .. } => self.on_message(cx, from, message, out),
            Input::Fact(Fact::Leader { leader, term }) => self.on_elected(cx, Some((leader, term)), out),
            Input::Fact(Fact::NoLeader) => self.on_elected(cx, None, out),
            Input::Fact(Fact::PeerUp(_) | Fact::PeerDown(_)) => self.update_degraded(cx, out),
            Input::Command(never) => match never {},
            // A restarted member abstains by itself; the view is this stage's own conclusion; the next round is below.
            Input::Fact(Fact::PeerReset(_) | Fact::View | Fact::Parent(_)) | Input::Timeout => {}
        }
        if let Role::Requesting { round } | Role::Holding { round, .. } = self.role
            && round.next <= cx.now
        {
            self.start_round(cx, out);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        match self.role {
            Role::Follower | Role::Unrestricted => None,
            Role::Requesting { round } => Some(round.next),
            Role::Holding { round, until, warn, .. } => earliest(warn, Some(round.next.min(until))),
        }
    }
}

#[cfg(test)]
mod tests;
