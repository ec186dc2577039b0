//! Termination by waves: one node asks, those it asks ask on, and the answers come back the same way.
//!
//! A node that is asked, the first time in a wave, notes whether it is idle and what it has sent to and heard from each
//! member, and asks those that nobody has asked yet. When all of these have answered, it answers [`Message::Done`] if it was
//! and is idle, has heard nothing meanwhile, and all answers were `Done`; else [`Message::Continue`].
//!
//! A wave of `Done` alone proves nothing: a message may have been on its way past it, to a node that had been asked. So
//! answers also sum up what was sent and heard, pair by pair, and the end is found when on every pair of members what one had
//! sent, when it was asked, is what the other had heard, when it was. Suppose somebody heard a message after it had been
//! asked, and take the first that was. Its sender had been idle when it was asked, and had heard nothing since, so it had
//! sent the message before: then that pair does not agree. Hence nobody heard anything after it was found idle.
//!
//! # Paper
//! F. Mattern: Algorithms for Distributed Termination Detection, Distributed Computing 1987 (the channel counting method); the
//! wave itself is an echo in the sense of E. Chang, 1982.
//!
//! # Assumes
//! Letters in order. Only a message or a command makes an idle application busy; a command begins something new.
//!
//! # Messages
//! [`Message::Query`] down, [`Message::Done`] or [`Message::Continue`] up, [`Message::Terminate`] to all. [`Message::Mend`]
//! after letters may have been lost, and once at the start: how many there were.
//!
//! # Cost
//! Of N members that all hear each other: 2 (N - 1) a wave, N - 1 to tell them. The job's end is found by the first wave that
//! begins after it. Waves pause between [`crate::Timing::probe`] and [`crate::Timing::heartbeat`], longer and longer.
//!
//! # Departures
//! Waves have numbers; a second query of one wave, in a cycle, is answered `Done` at once and counts for nothing; any
//! `Continue` makes the initiator ask again after a pause; a busy node asks nobody, and answers at once. A query names who
//! was asked already, which saves most of the second queries. Messages in transit are counted per pair of members and boot,
//! and summed as digests of 64 bits: a surplus of one pair, after a restart, must not hide what another pair lacks. A member
//! that is down makes every answer `Continue`, whether it counts in the view or not: nobody knows whether it works. So a job
//! is never said to be over while a member stays away.

use super::{Activity, Command, Detection, Notice};
use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, Span};
use heapless::{Deque, Vec};

mod channels;
mod message;
mod visit;

use channels::Channels;
pub use message::{Id, Message, Sums};
use visit::Visit;

/// By how many initiators a node is asked at a time; of more it keeps out by `Continue`.
const VISITS_MAX: usize = 4;
/// How many answers wait to be said; for one that finds no room the initiator waits in vain, and asks again.
const ANSWERS_MAX: usize = 8;
/// How many leases an initiator waits for answers.
const PATIENCE: u32 = 4;

/// What an initiator is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Watch {
    /// It watches nothing.
    Off,
    /// It sends the next wave then.
    Pause { next: Instant, pause: Span },
    /// It waits for answers, but not longer.
    Asking { until: Instant, pause: Span },
}

/// The waves of one node, in a group of at most `N`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wave<const N: usize> {
    incarnation: u32,
    activity: Activity,
    channels: Channels<N>,
    /// Members that must be told how many letters there were: some may have been lost.
    unmended: NodeSet,
    visits: Vec<Visit, VISITS_MAX>,
    answers: Deque<(NodeSet, Message), ANSWERS_MAX>,
    watch: Watch,
    /// The last wave's number.
    number: u32,
    /// The waves sent since this node began to watch.
    waves: u32,
    /// Members the last wave did not reach.
    missed: NodeSet,
    /// The last wave of another that found the end.
    told: Option<Id>,
}

type Out = Outbox<Message, Notice>;

impl<const N: usize> Wave<N> {
    /// A node that has sent and heard nothing.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            incarnation: 0,
            activity: Activity { busy: false, job: 0 },
            channels: Channels::new(),
            unmended: NodeSet::EMPTY,
            visits: Vec::new(),
            answers: Deque::new(),
            watch: Watch::Off,
            number: 0,
            waves: 0,
            missed: NodeSet::EMPTY,
            told: None,
        }
    }

    /// How many waves this node has sent since it began to watch.
    #[must_use]
    pub const fn waves(&self) -> u32 {
        self.waves
    }

    /// How many waves this node has sent since it started.
    #[must_use]
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// Whether nothing here speaks against the end of the job.
    fn is_quiet(&self, cx: &Context<'_>) -> bool {
        let others = cx.roster.all().without(cx.roster.set_of(cx.me));
        !self.activity.busy && others.without(cx.up).is_empty() && !self.unmended.meets(others)
    }

    /// Begins a wave, or waits on.
    fn ask(&mut self, cx: &Context<'_>, pause: Span) {
        if !self.is_quiet(cx) {
            self.rest(cx, pause);
            return;
        }
        let me = cx.roster.set_of(cx.me);
        self.number = self.number.saturating_add(1);
        self.waves = self.waves.saturating_add(1);
        let id = Id { initiator: cx.me, incarnation: self.incarnation, number: self.number };
        let to = cx.near.with(self.missed).without(me);
        let sums = self.channels.sums(cx, self.incarnation, self.activity.job);
        let visit = Visit {
            id,
            parent: NodeSet::EMPTY,
            unasked: to,
            asked: to.with(me),
            waiting: to,
            done: true,
            over: false,
            sums,
        };
        self.watch = Watch::Asking { until: cx.now.after(cx.timing.lease().times(PATIENCE)), pause };
        self.keep(visit);
    }

    /// Pauses before the next wave.
    fn rest(&mut self, cx: &Context<'_>, pause: Span) {
        self.visits.retain(|visit| visit.id.initiator != cx.me);
        self.watch = Watch::Pause { next: cx.now.after(pause), pause: pause.times(2).min(cx.timing.heartbeat) };
    }

    /// Takes part in a wave: whether there is room for it.
    fn keep(&mut self, visit: Visit) -> bool {
        self.visits.retain(|old| old.id.initiator != visit.id.initiator);
        if self.visits.is_full()
            && let Some(place) = self.visits.iter_mut().find(|old| old.over)
        {
            *place = visit;
            return true;
        }
        self.visits.push(visit).is_ok()
    }

    fn answer(&mut self, to: NodeSet, message: Message) {
        let _ = self.answers.push_back((to, message)); // see `ANSWERS_MAX`
    }

    fn hear_query(&mut self, cx: &Context<'_>, parent: NodeSet, id: Id, asked: NodeSet) {
        let known = self.visits.iter().find(|visit| {
            (visit.id.initiator, visit.id.incarnation) == (id.initiator, id.incarnation) && visit.id.number >= id.number
        });
        match known {
            // A cycle: whoever asked first gets what there is to say.
            Some(visit) if visit.id == id => self.answer(parent, Message::Done { id, sums: Sums::NONE }),
            Some(_) => {}                       // a wave that is over
            None if id.initiator == cx.me => {} // of this node, and over
            None => {
                let quiet = self.is_quiet(cx);
                let me = cx.roster.set_of(cx.me);
                let on = if quiet { cx.near.without(asked.with(me).with(parent)) } else { NodeSet::EMPTY };
                let visit = Visit {
                    id,
                    parent,
                    unasked: on,
                    asked: asked.with(me).with(on),
                    waiting: on,
                    done: quiet,
                    over: false,
                    sums: self.channels.sums(cx, self.incarnation, self.activity.job),
                };
                if !self.keep(visit) {
                    self.answer(parent, Message::Continue { id });
                }
            }
        }
    }

    fn hear_answer(&mut self, from: NodeSet, id: Id, sums: Option<Sums>) {
        let Some(visit) = self.visits.iter_mut().find(|visit| visit.id == id && visit.waiting.meets(from)) else {
            return;
        };
        visit.waiting = visit.waiting.without(from);
        match sums {
            Some(sums) => visit.sums = visit.sums.with(sums),
            None => visit.done = false,
        }
    }

    /// Answers the waves of which all answers are here.
    fn conclude(&mut self, cx: &Context<'_>, out: &mut Out) {
        while let Some(visit) = self.visits.iter_mut().find(|visit| !visit.over && visit.waiting.is_empty()) {
            visit.over = true;
            let visit = *visit;
            let done = visit.done && self.is_quiet(cx);
            if visit.id.initiator == cx.me {
                self.judge(cx, &visit, done, out);
            } else if done {
                self.answer(visit.parent, Message::Done { id: visit.id, sums: visit.sums });
            } else {
                self.answer(visit.parent, Message::Continue { id: visit.id });
            }
        }
    }

    /// The answers of an own wave are here.
    fn judge(&mut self, cx: &Context<'_>, visit: &Visit, done: bool, out: &mut Out) {
        let Watch::Asking { pause, .. } = self.watch else { return };
        let Sums { covered, sent, heard, job } = visit.sums;
        self.missed = cx.roster.all().without(covered);
        if !done || !self.missed.is_empty() || sent != heard {
            self.rest(cx, pause);
        } else {
            self.watch = Watch::Off;
            let me = cx.roster.set_of(cx.me);
            self.answer(cx.roster.all().without(me), Message::Terminate { id: visit.id, job, waves: self.waves });
            out.notify(Notice::Terminated { by: cx.me, job, waves: self.waves });
        }
    }

    /// Something has happened after which what this node said in a wave does not hold.
    fn spoil(&mut self) {
        for visit in self.visits.iter_mut().filter(|visit| !visit.over) {
            visit.done = false;
        }
    }

    /// These do not answer what they were asked.
    fn miss(&mut self, set: NodeSet) {
        for visit in self.visits.iter_mut().filter(|visit| visit.waiting.meets(set)) {
            visit.unasked = visit.unasked.without(set);
            visit.waiting = visit.waiting.without(set);
            visit.done = false;
        }
    }

    fn hear(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        let sender = cx.roster.set_of(from);
        match message {
            Message::Query { id, asked } => self.hear_query(cx, sender, id, asked),
            Message::Done { id, sums } => self.hear_answer(sender, id, Some(sums)),
            Message::Continue { id } => self.hear_answer(sender, id, None),
            Message::Terminate { id, .. } if self.told == Some(id) => {} // it is known
            Message::Terminate { id, job, waves } => {
                self.told = Some(id);
                // Whoever else was looking for the end need not.
                if self.watch != Watch::Off {
                    self.visits.retain(|visit| visit.id.initiator != cx.me);
                    self.watch = Watch::Off;
                }
                out.notify(Notice::Terminated { by: from, job, waves });
            }
            Message::Mend { boot, count } => {
                self.channels.mend(cx.roster.slot_of(from), boot, count);
                self.miss(sender); // an answer may have been among what was lost
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
            Input::Message { from, message, .. } => self.hear(cx, from, message, out),
            Input::Command(Command::Watch) => {
                if self.watch == Watch::Off {
                    self.waves = 0;
                    self.watch = Watch::Pause { next: cx.now, pause: cx.timing.probe };
                }
            }
            Input::Fact(Fact::PeerUp(set)) => {
                self.unmended = self.unmended.with(set);
                self.spoil();
            }
            Input::Fact(Fact::PeerDown(set) | Fact::PeerReset(set)) => {
                self.unmended = self.unmended.with(set);
                self.spoil();
                self.miss(set);
            }
            // Everybody is asked, whoever leads and whoever counts; and what is due is due.
            Input::Fact(Fact::View | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_)) | Input::Timeout => {}
        }
        match self.watch {
            Watch::Pause { next, pause } if next <= cx.now => self.ask(cx, pause),
            Watch::Asking { until, pause } if until <= cx.now => {
                self.rest(cx, pause);
            }
            Watch::Off | Watch::Pause { .. } | Watch::Asking { .. } => {}
        }
        self.conclude(cx, out);
    }

    fn deadline(&self) -> Option<Instant> {
        match self.watch {
            Watch::Off => None,
            Watch::Pause { next, .. } => Some(next),
            Watch::Asking { until, .. } => Some(until),
        }
    }
}

impl<const N: usize> Detection for Wave<N> {
    fn resume(&mut self, incarnation: u32) {
        self.incarnation = incarnation;
        self.unmended = NodeSet::first(N); // nobody knows of this boot
    }

    fn sent(&mut self, to: NodeSet) {
        self.channels.send(to);
    }

    fn heard(&mut self, from: Option<usize>) {
        self.channels.hear(from);
        self.spoil();
    }

    fn observe(&mut self, _: &Context<'_>, activity: Activity, _: &mut Out) {
        self.activity = activity;
        if activity.busy {
            self.spoil();
        }
    }

    fn speak(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        let lost = self.unmended.and(cx.up);
        if let Some(sent) = lost.slots().next().and_then(|slot| self.channels.sent(slot)) {
            let alike = |slot: &usize| self.channels.sent(*slot) == Some(sent);
            let to = lost.slots().filter(alike).fold(NodeSet::EMPTY, |set, slot| set.with(NodeSet::slot(slot)));
            self.unmended = self.unmended.without(to);
            out.send(to, Message::Mend { boot: self.incarnation, count: sent });
            return true;
        }
        if let Some((to, message)) = self.answers.pop_front() {
            out.send(to, message);
            return true;
        }
        let Some(visit) = self.visits.iter_mut().find(|visit| !visit.unasked.is_empty()) else { return false };
        let to = core::mem::take(&mut visit.unasked);
        out.send(to, Message::Query { id: visit.id, asked: visit.asked });
        true
    }
}

impl<const N: usize> Default for Wave<N> {
    fn default() -> Self {
        Self::new()
    }
}
