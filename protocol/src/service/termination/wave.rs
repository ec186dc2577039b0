//! Termination detection by waves: the initiator queries members, these query others, and replies return the same way.
//!
//! A member that receives the first query of a wave records whether it is idle and its message counts for each member,
//! and queries the members that nobody has queried yet. When all of these have replied, it replies [`Message::Done`] if
//! it was and is idle, has received nothing in between, and all replies were `Done`; otherwise [`Message::Continue`].
//!
//! A wave of `Done` alone proves nothing: a message may have crossed it, to a member that had already recorded. So
//! replies also sum up the messages sent and received, pair by pair, and the job has terminated when for every pair of
//! members the count one recorded as sent equals the count the other recorded as received. Proof: suppose a member
//! received a message after it recorded, and take the first such message. Its sender was idle when it recorded and has
//! received nothing since, so it had sent the message before: then the counts of that pair differ. Hence no member
//! received anything after it recorded that it is idle.
//!
//! # Paper
//! F. Mattern: Algorithms for Distributed Termination Detection, Distributed Computing 1987 (the channel counting
//! method); the wave itself is an echo in the sense of E. Chang, 1982.
//!
//! # Assumes
//! FIFO channels. Only a message or a command makes an idle application busy; a command starts a new job.
//!
//! # Messages
//! [`Message::Query`] down, [`Message::Done`] or [`Message::Continue`] up, [`Message::Terminate`] to all.
//! [`Message::Resync`] at boot, and after messages may have been lost: how many were sent.
//!
//! # Cost
//! With N members in range of each other: 2 (N - 1) messages a wave, N - 1 to announce the termination. The first wave
//! that starts after the termination detects it. The pause between waves grows from [`crate::Timing::probe`] to
//! [`crate::Timing::heartbeat`].
//!
//! # Departures
//! Waves have numbers. A second query of one wave, in a cycle, is answered `Done` at once and counts nothing. After a
//! `Continue` the initiator pauses and starts another wave. A busy member queries nobody and replies at once. A query
//! names the members already queried, which saves most second queries. Messages are counted per pair of members and
//! incarnation, and summed as 64-bit digests: after a restart, a surplus of one pair must not hide the deficit of
//! another. While a member is down, in the view or not, every reply is `Continue`, as its activity is unknown: no job
//! is reported as terminated while a member stays away.

use super::{Activity, Command, Detection, Notice};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::time::{Duration, Instant};
use heapless::{Deque, Vec};

mod channels;
mod message;

use channels::Channels;
pub use message::{Id, Message, Sums};

/// Waves of different initiators at a node at a time; it replies `Continue` to others.
const VISITS_MAX: usize = 4;
/// Replies that wait to be sent; for one that finds no room, the initiator times out and starts another wave.
const REPLIES_MAX: usize = 8;
/// Timeout of an initiator, in leases of the leader.
const TIMEOUT_LEASES: u32 = 4;

/// The state of an initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    /// It detects nothing.
    Off,
    /// It starts the next wave then.
    Paused { until: Instant, pause: Duration },
    /// It waits for the replies of a wave until then.
    Waiting { until: Instant, pause: Duration },
}

/// The progress of a wave at one node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Visit {
    id: Id,
    /// The member that sent the first query; nobody at the initiator.
    parent: NodeSet,
    /// Members to which a query waits to be sent.
    to_query: NodeSet,
    /// Members queried by any member, as far as this node knows.
    queried: NodeSet,
    /// Members that have not replied.
    awaited: NodeSet,
    /// Whether this node was quiet so far, and all replies were `Done`.
    quiet: bool,
    /// Whether this node has replied; the visit is kept for further queries of the wave.
    replied: bool,
    /// The counts of this node and the members that have replied.
    sums: Sums,
}

impl Visit {
    /// Creates a visit that is to query `to`, besides the members that were `queried` before.
    const fn new(id: Id, parent: NodeSet, to: NodeSet, queried: NodeSet, quiet: bool, sums: Sums) -> Self {
        Self { id, parent, to_query: to, queried: queried.with(to), awaited: to, quiet, replied: false, sums }
    }
}

/// The detection at one node, in a group of at most `N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave<const N: usize> {
    incarnation: u32,
    activity: Activity,
    channels: Channels<N>,
    /// Members to which a [`Message::Resync`] is due: messages to them may have been lost.
    unsynced: NodeSet,
    visits: Vec<Visit, VISITS_MAX>,
    replies: Deque<(NodeSet, Message), REPLIES_MAX>,
    state: State,
    /// Waves started since boot.
    number: u32,
    /// Waves started since the detection started.
    waves: u32,
    /// Members the last wave did not reach.
    unreached: NodeSet,
    /// The wave of the last [`Message::Terminate`] received.
    last_terminate: Option<Id>,
}

type Out = Outbox<Message, Notice>;

impl<const N: usize> Wave<N> {
    /// Creates the detection of a node that has sent and received nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            incarnation: 0,
            activity: Activity { busy: false, job: 0 },
            channels: Channels::new(),
            unsynced: NodeSet::EMPTY,
            visits: Vec::new(),
            replies: Deque::new(),
            state: State::Off,
            number: 0,
            waves: 0,
            unreached: NodeSet::EMPTY,
            last_terminate: None,
        }
    }

    /// Returns how many waves this node has started since the detection started.
    #[must_use]
    pub const fn waves(&self) -> u32 {
        self.waves
    }

    /// Returns how many waves this node has started since boot.
    pub(crate) const fn waves_started(&self) -> u32 {
        self.number
    }

    /// Returns whether nothing at this node contradicts termination.
    fn is_quiet(&self, cx: &Context<'_>) -> bool {
        let others = cx.roster.all().without(cx.roster.set_of(cx.me));
        !self.activity.busy && others.without(cx.up).is_empty() && !self.unsynced.meets(others)
    }

    fn sums(&self, cx: &Context<'_>) -> Sums {
        self.channels.sums(cx, self.incarnation, self.activity.job)
    }

    /// Starts a wave, or pauses again if this node is not quiet.
    fn start_wave(&mut self, cx: &Context<'_>, pause: Duration) {
        if !self.is_quiet(cx) {
            self.pause(cx, pause);
            return;
        }
        let me = cx.roster.set_of(cx.me);
        self.number = self.number.saturating_add(1);
        self.waves = self.waves.saturating_add(1);
        let id = Id { initiator: cx.me, incarnation: self.incarnation, number: self.number };
        let to = cx.near.with(self.unreached).without(me);
        self.state = State::Waiting { until: cx.now.after(cx.timing.lease().times(TIMEOUT_LEASES)), pause };
        self.insert(Visit::new(id, NodeSet::EMPTY, to, me, true, self.sums(cx)));
    }

    /// Pauses before the next wave.
    fn pause(&mut self, cx: &Context<'_>, pause: Duration) {
        self.visits.retain(|visit| visit.id.initiator != cx.me);
        self.state = State::Paused { until: cx.now.after(pause), pause: pause.times(2).min(cx.timing.heartbeat) };
    }

    /// Inserts `visit` in place of an earlier wave of its initiator; returns whether there was room.
    fn insert(&mut self, visit: Visit) -> bool {
        self.visits.retain(|old| old.id.initiator != visit.id.initiator);
        if self.visits.is_full()
            && let Some(old) = self.visits.iter_mut().find(|old| old.replied)
        {
            *old = visit;
            return true;
        }
        self.visits.push(visit).is_ok()
    }

    fn reply(&mut self, to: NodeSet, message: Message) {
        let _ = self.replies.push_back((to, message)); // see `REPLIES_MAX`
    }

    fn on_query(&mut self, cx: &Context<'_>, parent: NodeSet, id: Id, queried: NodeSet) {
        match self.visits.iter().find(|visit| visit.id.is_same_or_after(id)) {
            // A cycle: the first member that queried gets the counts.
            Some(visit) if visit.id == id => self.reply(parent, Message::Done { id, sums: Sums::NONE }),
            Some(_) => {}                       // an earlier wave
            None if id.initiator == cx.me => {} // an earlier wave of this node
            None => {
                let quiet = self.is_quiet(cx);
                let queried = queried.with(cx.roster.set_of(cx.me));
                let to = if quiet { cx.near.without(queried.with(parent)) } else { NodeSet::EMPTY };
                if !self.insert(Visit::new(id, parent, to, queried, quiet, self.sums(cx))) {
                    self.reply(parent, Message::Continue { id });
                }
            }
        }
    }

    fn on_reply(&mut self, from: NodeSet, id: Id, sums: Option<Sums>) {
        let Some(visit) = self.visits.iter_mut().find(|visit| visit.id == id && visit.awaited.meets(from)) else {
            return;
        };
        visit.awaited = visit.awaited.without(from);
        match sums {
            Some(sums) => visit.sums = visit.sums.with(sums),
            None => visit.quiet = false,
        }
    }

    /// Concludes the waves of which all replies have arrived.
    fn conclude(&mut self, cx: &Context<'_>, out: &mut Out) {
        while let Some(visit) = self.visits.iter_mut().find(|visit| !visit.replied && visit.awaited.is_empty()) {
            visit.replied = true;
            let visit = *visit;
            let done = visit.quiet && self.is_quiet(cx);
            if visit.id.initiator == cx.me {
                self.conclude_own(cx, &visit, done, out);
            } else if done {
                self.reply(visit.parent, Message::Done { id: visit.id, sums: visit.sums });
            } else {
                self.reply(visit.parent, Message::Continue { id: visit.id });
            }
        }
    }

    /// Announces the termination, or pauses before another wave.
    fn conclude_own(&mut self, cx: &Context<'_>, visit: &Visit, done: bool, out: &mut Out) {
        let State::Waiting { pause, .. } = self.state else { return };
        let Sums { covered, sent, received, job } = visit.sums;
        self.unreached = cx.roster.all().without(covered);
        if !done || !self.unreached.is_empty() || sent != received {
            self.pause(cx, pause);
        } else {
            self.state = State::Off;
            let others = cx.roster.all().without(cx.roster.set_of(cx.me));
            self.reply(others, Message::Terminate { id: visit.id, job, waves: self.waves });
            out.notify(Notice::Terminated { by: cx.me, job, waves: self.waves });
        }
    }

    /// Invalidates the waves in progress: this node did not stay quiet.
    fn invalidate(&mut self) {
        for visit in self.visits.iter_mut().filter(|visit| !visit.replied) {
            visit.quiet = false;
        }
    }

    /// Stops waiting for replies of these members.
    fn stop_waiting_for(&mut self, set: NodeSet) {
        for visit in self.visits.iter_mut().filter(|visit| visit.awaited.meets(set)) {
            visit.to_query = visit.to_query.without(set);
            visit.awaited = visit.awaited.without(set);
            visit.quiet = false;
        }
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        let sender = cx.roster.set_of(from);
        match message {
            Message::Query { id, queried } => self.on_query(cx, sender, id, queried),
            Message::Done { id, sums } => self.on_reply(sender, id, Some(sums)),
            Message::Continue { id } => self.on_reply(sender, id, None),
            Message::Terminate { id, .. } if self.last_terminate == Some(id) => {} // duplicate
            Message::Terminate { id, job, waves } => {
                self.last_terminate = Some(id);
                if self.state != State::Off {
                    self.visits.retain(|visit| visit.id.initiator != cx.me);
                    self.state = State::Off;
                }
                out.notify(Notice::Terminated { by: from, job, waves });
            }
            Message::Resync { incarnation, sent } => {
                self.channels.resync(cx.roster.slot_of(from), incarnation, sent);
                self.stop_waiting_for(sender); // the lost messages may include a reply
            }
        }
    }
}

impl<const N: usize> Algorithm for Wave<N> {
    type Message = Message;
    type Command = Command;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Command>, out: &mut Out) {
        match input {
            Input::Message { from, message, .. } => self.on_message(cx, from, message, out),
            Input::Command(Command::Detect) => {
                if self.state == State::Off {
                    self.waves = 0;
                    self.state = State::Paused { until: cx.now, pause: cx.timing.probe };
                }
            }
            Input::Fact(Fact::PeerUp(set)) => {
                self.unsynced = self.unsynced.with(set);
                self.invalidate();
            }
            Input::Fact(Fact::PeerDown(set) | Fact::PeerReset(set)) => {
                self.unsynced = self.unsynced.with(set);
                self.invalidate();
                self.stop_waiting_for(set);
            }
            // A wave covers all members, independent of leader and view; deadlines are handled below.
            Input::Fact(Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) | Input::Timeout => {}
        }
        match self.state {
            State::Paused { until, pause } if until <= cx.now => self.start_wave(cx, pause),
            State::Waiting { until, pause } if until <= cx.now => self.pause(cx, pause),
            State::Off | State::Paused { .. } | State::Waiting { .. } => {}
        }
        self.conclude(cx, out);
    }

    fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Off => None,
            State::Paused { until, .. } | State::Waiting { until, .. } => Some(until),
        }
    }
}

impl<const N: usize> Detection for Wave<N> {
    fn resume(&mut self, incarnation: u32) {
        self.incarnation = incarnation;
        self.unsynced = NodeSet::first(N); // no member knows this incarnation
    }

    fn on_sent(&mut self, to: NodeSet) {
        self.channels.on_sent(to);
    }

    fn on_received(&mut self, from: Option<usize>) {
        self.channels.on_received(from);
        self.invalidate();
    }

    fn on_activity(&mut self, _: &Context<'_>, activity: Activity, _: &mut Out) {
        self.activity = activity;
        if activity.busy {
            self.invalidate();
        }
    }

    fn poll_send(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        let unsynced = self.unsynced.and(cx.up);
        if let Some(sent) = unsynced.slots().next().and_then(|slot| self.channels.sent(slot)) {
            let same_count = |slot: &usize| self.channels.sent(*slot) == Some(sent);
            let to =
                unsynced.slots().filter(same_count).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)));
            self.unsynced = self.unsynced.without(to);
            out.send(to, Message::Resync { incarnation: self.incarnation, sent });
            return true;
        }
        if let Some((to, message)) = self.replies.pop_front() {
            out.send(to, message);
            return true;
        }
        let Some(visit) = self.visits.iter_mut().find(|visit| !visit.to_query.is_empty()) else { return false };
        let to = core::mem::take(&mut visit.to_query);
        out.send(to, Message::Query { id: visit.id, queried: visit.queried });
        true
    }
}

impl<const N: usize> Default for Wave<N> {
    fn default() -> Self {
        Self::new()
    }
}
