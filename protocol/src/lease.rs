//! The leader lease: which node may act as leader.
//!
//! An election names a leader; it cannot exclude that another node was elected elsewhere. In [`Mode::Available`] the
//! elected node may act, and a partitioned network has two leaders. In [`Mode::Quorum`] each heartbeat of the elected node
//! asks the group for a lease, and the node acts only while a majority has promised to grant no other node one.
//!
//! # Why no two nodes hold a lease at the same instant
//! A member that hears a heartbeat of the node its own election named, under that very term, promises it the lease, unless
//! an earlier promise to another node still stands. It counts its promise from that moment; the leader counts its lease
//! from when it sent that heartbeat, which was before; each by its own clock with a margin for clock drift. How long both
//! last follows from the number of the heartbeat: later ones ask for leases that are as long or longer. So a lease
//! expires before the promises behind it. A grant names the term and the heartbeat, which no two boots share: however long
//! it travels, however often it is repeated or joined with others, it says that this member made this promise. Two
//! majorities share a member, and that member has one promise at a time. A [`Message::Release`] ends promises up to the
//! heartbeat it names, and its leader holds no lease by then; a promise for a later heartbeat stands.
//!
//! # Views
//! The leader announces the *view*: the members that count. With a lease it removes members that are not up, and adds them
//! again when they are; where no lock and no service waits for members, all stay. Views are ordered by term, then by number; a member that misses one shows that in its next grant,
//! and somebody nearer to the leader repeats the view.
//!
//! # Paper
//! C. Gray, D. Cheriton: Leases, SOSP 1989, for promises that expire by themselves. How answers travel: `answer`.
//!
//! # Assumes
//! Clocks that never stop and drift by no more than [`lease_at_grantor`] allows for. A debugger that stops a node's
//! clock breaks this: restart such a node. A node that has just booted grants nothing for the length of the longest lease,
//! as it may have made a promise before.
//!
//! # Messages
//! [`Message::Grant`] towards the leader; [`Message::View`] when the view changes, and to members that missed it;
//! [`Message::Release`] when the leader steps down before its lease expires. All of them unreliable: the next heartbeat
//! repairs what is lost.
//!
//! # Cost
//! About one grant per member and heartbeat in [`Mode::Quorum`], over any number of hops. None in [`Mode::Available`].
//!
//! # Departures
//! Leases are short for the first heartbeats of a leader, and longer from then on. Its heartbeats become rare; one that brought no
//! lease is followed by the next soon, but no sooner than answers take: the leader measures that, so a deep network has
//! heartbeats more often than a flat one, and never more than are answered.

use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::config::{Timing, lease_at_grantor, lease_at_holder};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::quorum::{Mode, is_majority};
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use answer::{Answer, Heard};
use grants::{Grants, OLDEST, ROUNDS_MAX};

mod answer;
mod grants;
mod message;
mod notice;
mod succession;
mod view;

pub use message::Message;
pub use notice::{Heartbeat, Notice};
pub(crate) use succession::Promised;

/// A promise to grant no other node a lease before `until`, for a heartbeat of `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Promise {
    to: NodeId,
    heartbeat: (Term, u32),
    until: Instant,
}

/// The role of this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Role {
    /// Not elected.
    Follower,
    /// Elected, and asking for a lease.
    Requesting,
    /// Holds a lease under `term` until `until`, and warns the application at `warn`, if it has not yet. Its heartbeats may
    /// ask for one under a higher term.
    Holding { term: Term, until: Instant, warn: Option<Instant> },
    /// Elected, and needs no lease.
    Unrestricted,
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
    /// The grants to the elected node that this node knows of.
    grants: Grants,
    /// When the leases that the last heartbeats asked for would end, the newest first, where this node is elected; zero
    /// where there was none.
    ends: [Instant; ROUNDS_MAX],
    /// When to see whether the last heartbeat brought what it should.
    retry_at: Option<Instant>,
    answer: Answer,
    view: NodeSet,
    /// Whether members stay in the view that are not up: nothing waits for them.
    lasting: bool,
    /// The term and the number of the view.
    view_number: (Term, u16),
    /// Whether the leader held a lease when it announced the view.
    view_acting: bool,
    /// When to announce the view, or to relay the announcement.
    view_at: Option<Instant>,
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
            grants: Grants::NONE,
            ends: [Instant::ZERO; ROUNDS_MAX],
            retry_at: None,
            answer: Answer::NONE,
            view: NodeSet::EMPTY,
            lasting: false,
            view_number: (Term::ZERO, 0),
            view_acting: false,
            view_at: None,
        }
    }

    /// Creates the lease of a member of `group`. All members are in the first view.
    #[must_use]
    pub const fn in_group(mode: Mode, group: NodeSet) -> Self {
        Self { view: group, ..Self::new(mode) }
    }

    /// The same, where all members stay in the view.
    pub(crate) const fn lasting(self, lasting: bool) -> Self {
        Self { lasting, ..self }
    }

    /// Returns the members that count.
    #[must_use]
    pub const fn view(&self) -> NodeSet {
        self.view
    }

    /// Returns the members that are known to have granted what the last heartbeat asked for: they are up.
    pub(crate) fn granted(&self) -> NodeSet {
        self.grants.granted(0)
    }

    /// Returns the members that are known to have granted what the leader's heartbeat `count`, the newest, asked for.
    pub(crate) fn granted_of(&self, count: u32) -> NodeSet {
        if self.grants.count() == count { self.granted() } else { NodeSet::EMPTY }
    }

    /// Returns the term under which this node may act as leader at `now`. Ask before every action: the lease may have
    /// expired since the notice.
    #[must_use]
    pub fn acting_term(&self, now: Instant) -> Option<Term> {
        match self.role {
            Role::Follower | Role::Requesting => None,
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
        if before != elected {
            if elected.is_none_or(|(leader, _)| leader != cx.me) {
                self.step_down(cx, before, out);
            } else if matches!(self.role, Role::Follower | Role::Unrestricted) {
                self.role = Role::Requesting;
            } // otherwise it acts under the old term until a majority has granted the new one
            (self.grants, self.ends, self.answer) = (Grants::NONE, [Instant::ZERO; ROUNDS_MAX], Answer::NONE);
            self.retry_at = None;
        }
        // A new leader is reported when it holds a lease; the loss of the old one at once. One that was missed for a while
        // has announced its view already.
        let acting =
            elected.filter(|&(leader, term)| leader != cx.me && self.view_number.0 == term && self.view_acting);
        if acting.is_some() || before.map(|(old, _)| old) != elected.map(|(new, _)| new) {
            self.notify(cx.me, acting, out);
        }
    }

    /// Handles the restart of members: a leader among them has no lease any more. It abstains by itself.
    fn on_restarted(&mut self, cx: &Context<'_>, set: NodeSet, out: &mut Out) {
        let led = self.notified.is_some_and(|(leader, _)| leader != cx.me && cx.roster.set_of(leader).meets(set));
        if led && self.mode == Mode::Quorum {
            self.notify(cx.me, None, out);
        }
    }

    /// Stops leading under the term of `before`, and releases the members that promised.
    fn step_down(&mut self, cx: &Context<'_>, before: Option<(NodeId, Term)>, out: &mut Out) {
        let was_elected = matches!(self.role, Role::Requesting | Role::Holding { .. });
        self.role = Role::Follower;
        let Some((leader, term)) = before.filter(|_| was_elected) else { return };
        self.notify(cx.me, None, out);
        self.on_release(cx, leader, (term, self.grants.count()), out);
    }

    /// Handles a heartbeat of the leader.
    fn on_heartbeat(&mut self, cx: &Context<'_>, heartbeat: Heartbeat, out: &mut Out) {
        let Heartbeat { leader, term, count, parent } = heartbeat;
        // Only for the leader this node's own election names, and under that very term: a majority must have adopted a
        // term before any node acts under it, so that later leaders act under higher terms.
        if self.mode == Mode::Available || self.elected != Some((leader, term)) {
            return;
        }
        let me = cx.roster.set_of(cx.me);
        if leader == cx.me {
            self.begin_round(cx, count);
            self.update_view(cx);
        }
        if self.promise(cx, leader, (term, count)) {
            self.grants.grant(count, me);
        }
        if leader == cx.me {
            self.answer.on_sent(cx);
            self.renew(cx, out);
        } else {
            self.answer.on_heartbeat(cx, parent == cx.roster.set_of(leader));
            if self.grants.granted(OLDEST).is_empty() {
                self.answer.at = None; // nothing to say: a group that was just switched on has better use for the air
            }
        }
    }

    /// Notes that heartbeat `count` asks for a lease from now on.
    fn begin_round(&mut self, cx: &Context<'_>, count: u32) {
        let by = usize::try_from(count.saturating_sub(self.grants.count())).unwrap_or(ROUNDS_MAX);
        let old = core::mem::replace(&mut self.ends, [Instant::ZERO; ROUNDS_MAX]);
        for (new, end) in self.ends.iter_mut().skip(by).zip(old) {
            *new = end;
        }
        let [newest, ..] = &mut self.ends;
        if *newest == Instant::ZERO {
            *newest = cx.now.after(lease_at_holder(cx.timing.lease_of(count)));
        }
        let rare = cx.timing.interval_of(count) > cx.timing.heartbeat;
        self.retry_at = rare.then(|| cx.now.after(self.patience(cx.timing)));
        self.grants.advance(count);
    }

    /// Returns whether the leader's next heartbeat should not wait for its turn, where these members of `group` are up as
    /// far as the failure detector knows: the last one brought no lease, or it shows who else is up. Asked once after each.
    pub(crate) fn take_overdue(&mut self, now: Instant, timing: &Timing, group: NodeSet, up: NodeSet) -> bool {
        if self.retry_at.is_none_or(|at| at > now) {
            return false;
        }
        self.retry_at = None;
        let granted = self.granted();
        let [end, ..] = self.ends;
        let late = end.before(self.patience(timing).mul_ratio(7, 4));
        let unsure = !self.lasting && up.with(granted) != self.view;
        let in_vain = !is_majority(granted, group);
        if in_vain {
            self.answer.on_silence(timing);
        }
        if in_vain || unsure || late <= now {
            return true;
        }
        self.retry_at = Some(late); // the next heartbeat must leave time for another
        false
    }

    /// How long a leader whose heartbeats are rare waits for answers before it sends another.
    fn patience(&self, timing: &Timing) -> Duration {
        timing.heartbeat.mul_ratio(1, 2).plus(self.answer.lag())
    }

    /// Promises to grant no node but `to` a lease; returns whether this node was free to.
    fn promise(&mut self, cx: &Context<'_>, to: NodeId, heartbeat: (Term, u32)) -> bool {
        let standing = self.promise.filter(|promise| promise.until > cx.now);
        let taken = standing.is_some_and(|promise| promise.to != to);
        // Who has promised before, in this list of members or an earlier one, has forgotten nothing.
        if taken || self.promise.is_none() && cx.uptime < lease_at_grantor(cx.timing.lease_max()) {
            return false;
        }
        // Never shorter than before: an earlier boot of that node may have been promised more.
        let until = cx.now.after(lease_at_grantor(cx.timing.lease_of(heartbeat.1)));
        let until = standing.map_or(until, |promise| promise.until.max(until));
        self.promise = Some(Promise { to, heartbeat, until });
        true
    }

    /// Takes up a lease that a majority has granted, or a longer one.
    fn renew(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Some((_, term)) = self.elected.filter(|&(leader, _)| leader == cx.me) else { return };
        let granted = |age: &usize| cx.is_quorum(self.grants.granted(*age));
        let Some(age) = (0..ROUNDS_MAX).find(granted) else { return };
        let until = self.ends.get(age).copied().unwrap_or(Instant::ZERO);
        let held = match self.role {
            Role::Holding { term: held, until, .. } if held == term => Some(until),
            Role::Holding { .. } | Role::Follower | Role::Requesting | Role::Unrestricted => None,
        };
        if until <= cx.now || held.is_some_and(|held| held >= until) {
            return;
        }
        let heartbeat = self.grants.count().saturating_sub(u32::try_from(age).unwrap_or(0));
        let asked = until.before(lease_at_holder(cx.timing.lease_of(heartbeat)));
        self.answer.on_majority(cx.now.since(asked));
        let warned = matches!(self.role, Role::Holding { warn: None, .. });
        // The answers to one more heartbeat can renew it then.
        let warn = until.before(cx.timing.heartbeat.mul_ratio(1, 2)).max(cx.now);
        self.role = Role::Holding { term, until, warn: Some(warn) };
        self.degraded = false;
        self.notify(cx.me, Some((cx.me, term)), out);
        if warned {
            out.notify(Notice::Gained { term });
        }
        if held.is_none() {
            self.update_view(cx);
        }
    }

    fn on_message(&mut self, cx: &Context<'_>, message: Message, out: &mut Out) {
        match message {
            Message::Grant { term, depth, asks, view_number, count, granted } => {
                if self.elected.is_none_or(|(_, elected)| elected != term) {
                    return;
                }
                let leads = self.elected.is_some_and(|(leader, _)| leader == cx.me);
                let unheard = if leads { 0 } else { ROUNDS_MAX };
                if usize::try_from(count.saturating_sub(self.grants.count())).is_ok_and(|ahead| ahead > unheard) {
                    return; // for a heartbeat that nobody sent: those of this node it knows, of others it may miss a few
                }
                self.on_grant(cx, depth, asks, view_number, &Grants::received(count, granted));
                self.renew(cx, out);
            }
            Message::View { term, number, members } => self.on_view(cx, (term, number), members, out),
            Message::Release { term, count, leader } => self.on_release(cx, leader, (term, count), out),
        }
    }

    /// Handles what a member `depth` hops from the leader says of grants, and of the view.
    fn on_grant(&mut self, cx: &Context<'_>, depth: u8, asks: bool, view_number: u16, received: &Grants) {
        let news = !self.grants.covers(received);
        let settled = cx.is_quorum(self.grants.granted(0));
        self.grants.join(received);
        let enough = received.count() == self.grants.count() && cx.is_quorum(received.granted(0));
        let behind = view_number.cmp(&self.known_view());
        let understood = behind.is_le() && (enough || received.covers(&self.grants));
        let nearer = self.answer.depth() < depth;
        self.answer.on_heard(cx, Heard { depth, news, understood, enough, asks });
        if behind.is_gt() {
            self.answer.say(cx); // and shows that it has missed a view
        } else if behind.is_lt() && nearer {
            self.view_at = Some(self.view_at.unwrap_or_else(|| cx.now.after(crowd(cx))));
        }
        if !settled && cx.is_quorum(self.grants.granted(0)) {
            self.answer.on_enough(cx);
        }
    }

    /// Ends the promise for the heartbeats up to this one, and tells members out of the sender's range.
    fn on_release(&mut self, cx: &Context<'_>, leader: NodeId, heartbeat: (Term, u32), out: &mut Out) {
        let released = self.promise.is_some_and(|promise| promise.to == leader && promise.heartbeat <= heartbeat);
        if !released && leader != cx.me {
            return;
        }
        if released {
            self.promise = None;
        }
        if leader == cx.me || several_hops(cx) {
            out.send(cx.peers, Message::Release { term: heartbeat.0, count: heartbeat.1, leader });
        }
    }

    /// Sends what is due.
    fn send(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Some((_, term)) = self.elected else { return };
        if self.view_at.is_some_and(|at| at <= cx.now) {
            self.view_at = None;
            if self.view_number.0 == term {
                let members = if self.view_acting { self.view } else { NodeSet::EMPTY };
                out.send(cx.peers, Message::View { term, number: self.view_number.1, members });
            }
        }
        if self.answer.poll(cx) {
            let (count, granted) = self.grants.to_message();
            let (depth, asks, view_number) = (self.answer.depth(), self.answer.asks(), self.known_view());
            out.send(cx.peers, Message::Grant { term, depth, asks, view_number, count, granted });
        }
    }

    /// Ends an expired lease, and warns the application before.
    fn expire(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Role::Holding { term, until, warn } = self.role else { return };
        if until <= cx.now {
            self.role = Role::Requesting;
            self.notify(cx.me, None, out);
            self.announce_view(cx, self.elected.map_or(term, |(_, elected)| elected), false);
        } else if warn.is_some_and(|at| at <= cx.now) {
            self.role = Role::Holding { term, until, warn: None };
            out.notify(Notice::Losing { until });
        }
    }
}

impl Algorithm for LeaderLease {
    type Message = Message;
    type Command = Heartbeat;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        match self.mode {
            Mode::Available => Scope::Nobody,
            Mode::Quorum => Scope::Group,
        }
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Heartbeat>, out: &mut Out) {
        self.expire(cx, out); // before anything else: the node may have slept
        match input {
            Input::Message { message, .. } => self.on_message(cx, message, out),
            Input::Fact(Fact::Leader { leader, term }) => self.on_elected(cx, Some((leader, term)), out),
            Input::Fact(Fact::NoLeader) => self.on_elected(cx, None, out),
            Input::Fact(Fact::PeerUp(_) | Fact::PeerDown(_)) => self.update_degraded(cx, out),
            Input::Command(heartbeat) => self.on_heartbeat(cx, heartbeat, out),
            Input::Fact(Fact::PeerReset(set)) => self.on_restarted(cx, set, out),
            // The view is this stage's own conclusion.
            Input::Fact(Fact::View | Fact::Parent(_)) | Input::Timeout => {}
        }
        self.send(cx, out);
    }

    fn deadline(&self) -> Option<Instant> {
        let role = match self.role {
            Role::Follower | Role::Requesting | Role::Unrestricted => None,
            Role::Holding { until, warn, .. } => earliest(warn, Some(until)),
        };
        let due = earliest(earliest(self.answer.at, self.view_at), self.retry_at).filter(|_| self.elected.is_some());
        earliest(role, due)
    }
}

/// Returns whether some members are out of this node's range.
fn several_hops(cx: &Context<'_>) -> bool {
    !cx.peers.without(cx.near).is_empty()
}

/// A random share of the time in which all nodes in range get their turn.
fn crowd(cx: &Context<'_>) -> Duration {
    jitter(cx.timing.contention_window(cx.near.len()), cx.random)
}

#[cfg(test)]
mod tests;
