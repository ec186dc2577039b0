//! The shared clock: nodes without a time reference agree on a common time.
//!
//! Every few heartbeats the leader polls the members' clocks, corrects each reading by half the round trip, averages
//! the offsets, and sends each member its correction. A clock too far from the median is left out of the average and
//! corrected with the others. A correction is slewed: the clock runs a little faster or slower until it is right, so it
//! never runs backwards. Only a clock that was never set, or is far behind, is stepped forward.
//!
//! # Paper
//! R. Gusella, S. Zatti: The Accuracy of the Clock Synchronization Achieved by TEMPO in Berkeley UNIX 4.3BSD, IEEE TSE
//! 1989; the round trip after F. Cristian, Distributed Computing 1989.
//!
//! # Assumes
//! Symmetric delays: the error of a clock is at most half of the variation of the round trip.
//!
//! # Messages
//! [`Message::Poll`] to all, [`Message::Answer`] back, [`Message::Adjust`] to several members at a time. In range they
//! are unreliable: after a loss, the next round follows soon. Out of range they are reliable.
//!
//! # Cost
//! With N members in range, a round of N + (N - 1) / 4 frames every [`ROUND_HEARTBEATS`] heartbeats.
//!
//! # Departures
//! A new leader continues the shared time: clocks that are set outweigh any number of clocks that are not, its own
//! included. A member answers with the time its clock shows after the pending correction. An answer is sent after a
//! random delay, which it states.

use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};
use crate::service::{NoticeQueue, Service};
use crate::wire::{self, Delivery, NEIGHBOURS_MAX};
use core::convert::Infallible;
use heapless::Vec;
use serde::{Deserialize, Serialize};

mod slewed_clock;

pub use slewed_clock::SlewedClock;

/// Corrections in a frame.
pub const ENTRIES_MAX: usize = 4;
const _: () = assert!(ENTRIES_MAX <= NEIGHBOURS_MAX, "a frame names all its recipients");
/// Heartbeats from one round to the next.
pub const ROUND_HEARTBEATS: u32 = 4;
/// Corrections in a reliable message.
const RELIABLE_ENTRIES_MAX: usize = 3;
/// Rounds in which a leader that knows no set clock waits for the answers of all members.
const FIRST_ROUNDS: u32 = 3;

/// Messages between the leader and the members, in a round of the leader's term. `reliable` is set between nodes out of
/// range of each other: the message is.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the sentence of each message names its fields")]
pub enum Message {
    /// Asks for the recipient's clock.
    Poll { term: Term, round: u32, reliable: bool },
    /// The sender's clock: its `reading` in microseconds, after the pending correction, how long the answer was `held`
    /// back, and whether the clock was ever set.
    Answer { term: Term, round: u32, reliable: bool, reading: u64, held: Duration, is_set: bool },
    /// The corrections of some members: their slots, and so many microseconds.
    Adjust { term: Term, round: u32, reliable: bool, entries: Vec<(u8, i64), ENTRIES_MAX> },
}

impl wire::Message for Message {
    fn delivery(&self) -> Delivery {
        let (Self::Poll { reliable, .. } | Self::Answer { reliable, .. } | Self::Adjust { reliable, .. }) = self;
        if *reliable { Delivery::ReliableLatest } else { Delivery::Unreliable }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Poll { .. } => "poll",
            Self::Answer { .. } => "answer",
            Self::Adjust { .. } => "adjust",
        }
    }
}

/// Notices to the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the sentence of each notice names its fields")]
pub enum Notice {
    /// The clock was set for the first time.
    Set,
    /// The clock is being corrected, `by` so many microseconds.
    Adjusted { by: i32 },
}

/// The phase of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// This node does not lead.
    Follower,
    /// The leader starts the next round then.
    Idle { next_round: Instant },
    /// The leader waits for answers.
    Collecting { polled: Instant, until: Instant, answered: NodeSet, set: NodeSet },
    /// The leader has corrections left to send, the next at `at`.
    Adjusting { at: Instant, pending: NodeSet, next_round: Instant },
}

/// An answer that waits to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PendingAnswer {
    to: NodeSet,
    term: Term,
    round: u32,
    reliable: bool,
    polled: Instant,
    at: Instant,
}

/// The shared clock at one node, of a group of at most `N`.
#[derive(Clone, Debug)]
pub struct ClockSync<const N: usize> {
    clock: SlewedClock,
    leader: Option<(NodeId, Term)>,
    phase: Phase,
    round: u32,
    /// Offset of each member's clock from this one; after the round, its correction.
    offsets: [i64; N],
    answer: Option<PendingAnswer>,
    /// Term and round of the last correction.
    adjusted: Option<(Term, u32)>,
    notices: NoticeQueue<Notice>,
}

type Out = Outbox<Message, Notice>;

impl<const N: usize> ClockSync<N> {
    /// Creates a clock that was never set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            clock: SlewedClock::new(),
            leader: None,
            phase: Phase::Follower,
            round: 0,
            offsets: [0; N],
            answer: None,
            adjusted: None,
            notices: NoticeQueue::new(),
        }
    }

    /// Returns the shared time at local time `now`; `None` before it was set.
    #[must_use]
    pub fn read(&self, now: Instant) -> Option<Instant> {
        self.clock.read(now)
    }

    /// Returns the rounds this node has started in its present term as leader.
    #[must_use]
    pub const fn rounds(&self) -> u32 {
        self.round
    }

    fn follow(&mut self, cx: &Context<'_>, leader: Option<(NodeId, Term)>) {
        if leader == self.leader {
            return;
        }
        self.leader = leader;
        self.round = 0;
        self.answer = None;
        self.phase = match leader {
            Some((leader, _)) if leader == cx.me => Phase::Idle { next_round: cx.now.after(cx.timing.probe) },
            Some(_) | None => Phase::Follower,
        };
    }

    fn term(&self) -> Term {
        self.leader.map_or(Term::ZERO, |(_, term)| term)
    }

    fn poll(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.round = self.round.saturating_add(1);
        let (term, round) = (self.term(), self.round);
        out.send(cx.up.and(cx.near), Message::Poll { term, round, reliable: false });
        out.send(cx.up.without(cx.near), Message::Poll { term, round, reliable: true });
        let until = cx.now.after(cx.timing.contention_window(cx.peers.len())).after(cx.timing.probe.times(2));
        self.phase = Phase::Collecting { polled: cx.now, until, answered: NodeSet::EMPTY, set: NodeSet::EMPTY };
    }

    /// Computes the offset of a member's clock from its answer.
    fn on_answer(&mut self, cx: &Context<'_>, from: NodeSet, (reading, held, is_set): (u64, Duration, bool)) {
        let Phase::Collecting { polled, answered, set, .. } = &mut self.phase else { return };
        let round_trip = cx.now.since(*polled).minus(held);
        if round_trip > cx.timing.probe || answered.meets(from) {
            return; // too inaccurate, or a duplicate
        }
        let Some(offset) = from.slots().next().and_then(|slot| self.offsets.get_mut(slot)) else { return };
        let theirs = reading.saturating_add(u64::from(round_trip.mul_ratio(1, 2).as_micros()));
        *offset = difference(theirs, self.clock.target(cx.now));
        *answered = answered.with(from);
        if is_set {
            *set = set.with(from);
        }
    }

    /// Ends the collection: computes the correction of each clock.
    fn conclude(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Phase::Collecting { polled, answered, set, .. } = self.phase else { return };
        let next_round = polled.after(cx.timing.heartbeat.times(ROUND_HEARTBEATS));
        self.phase = Phase::Idle { next_round };
        let me = cx.roster.set_of(cx.me);
        let set = if self.clock.is_set() { set.with(me) } else { set };
        let all = answered.with(me);
        if set.is_empty() && !cx.up.without(answered).is_empty() && self.round < FIRST_ROUNDS {
            return; // the clock of a member whose answer was lost may be set
        }
        if let Some(own) = me.slots().next().and_then(|slot| self.offsets.get_mut(slot)) {
            *own = 0;
        }
        let Some(average) = self.average(cx, if set.is_empty() { all } else { set }) else { return };
        for slot in all.slots() {
            if let Some(offset) = self.offsets.get_mut(slot) {
                *offset = average.saturating_sub(*offset);
            }
        }
        self.adjust(cx, average, out);
        self.phase = Phase::Adjusting { at: cx.now, pending: answered, next_round };
    }

    /// Returns the mean of the offsets that are close to the median.
    fn average(&self, cx: &Context<'_>, set: NodeSet) -> Option<i64> {
        let offset_of = |slot: usize| self.offsets.get(slot).copied();
        let rank = |offset: i64, slot: usize| {
            set.slots().filter(|&other| offset_of(other).is_some_and(|that| (that, other) < (offset, slot))).count()
        };
        let middle = usize::try_from(set.len().checked_sub(1)?.checked_div(2)?).ok()?;
        let mut offsets = set.slots().filter_map(|slot| Some((offset_of(slot)?, slot)));
        let (median, _) = offsets.find(|&(offset, slot)| rank(offset, slot) == middle)?;
        // The largest error of a reading whose round trip was accepted.
        let tolerance = i64::from(cx.timing.probe.mul_ratio(1, 2).as_micros());
        let (mut sum, mut count) = (0_i64, 0_i64);
        for deviation in set.slots().filter_map(offset_of).map(|offset| offset.saturating_sub(median)) {
            if deviation.saturating_abs() <= tolerance {
                (sum, count) = (sum.saturating_add(deviation), count.saturating_add(1));
            }
        }
        Some(median.saturating_add(sum.checked_div(count)?))
    }

    /// Corrects this node's clock.
    fn adjust(&mut self, cx: &Context<'_>, by: i64, out: &mut Out) {
        out.notify(if self.clock.is_set() {
            let by = i32::try_from(by).unwrap_or(if by < 0 { i32::MIN } else { i32::MAX });
            Notice::Adjusted { by }
        } else {
            Notice::Set
        });
        self.clock.adjust(cx.now, by, cx.timing.heartbeat);
    }

    /// Sends the next corrections.
    fn send_adjust(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Phase::Adjusting { pending, next_round, .. } = self.phase else { return };
        let near = pending.and(cx.near);
        let reliable = near.is_empty();
        let (from, most) = if reliable { (pending, RELIABLE_ENTRIES_MAX) } else { (near, ENTRIES_MAX) };
        let (mut entries, mut to) = (Vec::new(), NodeSet::EMPTY);
        for slot in from.slots().take(most) {
            let (Ok(index), Some(&by)) = (u8::try_from(slot), self.offsets.get(slot)) else { continue };
            let _ = entries.push((index, by)); // `most` fit
            to = to.with(NodeSet::slot(slot));
        }
        let left = pending.without(to);
        out.send(to.and(cx.up), Message::Adjust { term: self.term(), round: self.round, reliable, entries });
        self.phase = if left.is_empty() || to.is_empty() {
            Phase::Idle { next_round }
        } else {
            Phase::Adjusting { at: cx.now.after(cx.timing.jitter), pending: left, next_round }
        };
    }

    fn on_message(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        let sender = cx.roster.set_of(from);
        match message {
            Message::Poll { term, round, reliable } if self.leader == Some((from, term)) => {
                let at = cx.now.after(jitter(cx.timing.contention_window(cx.peers.len()), cx.random));
                self.answer = Some(PendingAnswer { to: sender, term, round, reliable, polled: cx.now, at });
            }
            Message::Answer { term, round, reading, held, is_set, .. }
                if (term, round) == (self.term(), self.round) =>
            {
                self.on_answer(cx, sender, (reading, held, is_set));
            }
            Message::Adjust { term, round, entries, .. } if self.leader == Some((from, term)) => {
                let new = self.adjusted.is_none_or(|(old, last)| old != term || last < round);
                let mine = entries.iter().find(|(slot, _)| cx.roster.slot_of(cx.me) == Some(usize::from(*slot)));
                if let Some(&(_, by)) = mine.filter(|_| new) {
                    self.adjusted = Some((term, round));
                    self.adjust(cx, by, out);
                }
            }
            // Of a node that does not lead, or of another round.
            Message::Poll { .. } | Message::Answer { .. } | Message::Adjust { .. } => {}
        }
    }
}

/// Returns `one - other`; 0 where it does not fit.
fn difference(one: u64, other: u64) -> i64 {
    i64::try_from(i128::from(one).saturating_sub(i128::from(other))).unwrap_or(0)
}

impl<const N: usize> Algorithm for ClockSync<N> {
    type Message = Message;
    type Command = Infallible;
    type Notice = Notice;

    fn scope(&self) -> Scope {
        Scope::Group
    }

    fn handle(&mut self, cx: &Context<'_>, input: Input<Message, Infallible>, out: &mut Out) {
        match input {
            Input::Message { from, message, .. } => self.on_message(cx, from, message, out),
            Input::Fact(Fact::Leader { leader, term }) => self.follow(cx, Some((leader, term))),
            Input::Fact(Fact::NoLeader) => self.follow(cx, None),
            Input::Command(never) => match never {},
            // A round polls the members that are up then; deadlines are handled below.
            Input::Fact(Fact::PeerUp(_) | Fact::PeerDown(_) | Fact::PeerReset(_) | Fact::View | Fact::Parent(_))
            | Input::Timeout => {}
        }
        if let Some(PendingAnswer { to, term, round, reliable, polled, .. }) =
            self.answer.take_if(|answer| answer.at <= cx.now)
        {
            let (reading, held, is_set) = (self.clock.target(cx.now), cx.now.since(polled), self.clock.is_set());
            out.send(to, Message::Answer { term, round, reliable, reading, held, is_set });
        }
        match self.phase {
            Phase::Idle { next_round } if next_round <= cx.now => self.poll(cx, out),
            Phase::Collecting { until, .. } if until <= cx.now => self.conclude(cx, out),
            Phase::Adjusting { at, .. } if at <= cx.now => self.send_adjust(cx, out),
            Phase::Follower | Phase::Idle { .. } | Phase::Collecting { .. } | Phase::Adjusting { .. } => {}
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let phase = match self.phase {
            Phase::Follower => None,
            Phase::Idle { next_round } => Some(next_round),
            Phase::Collecting { until, .. } => Some(until),
            Phase::Adjusting { at, .. } => Some(at),
        };
        earliest(phase, self.answer.map(|answer| answer.at))
    }
}

impl<const N: usize> Service for ClockSync<N> {
    fn time(&self, now: Instant) -> Option<Instant> {
        self.read(now)
    }

    fn notices(&mut self) -> Option<&mut NoticeQueue<Notice>> {
        Some(&mut self.notices)
    }

    fn poll_send(&mut self, _: &Context<'_>, _: &mut Out) -> bool {
        false // all its messages may be dropped
    }
}

impl<const N: usize> Default for ClockSync<N> {
    fn default() -> Self {
        Self::new()
    }
}
