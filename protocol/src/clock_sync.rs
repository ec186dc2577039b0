//! The shared clock: nodes that know no true time agree on one.
//!
//! Whoever leads asks the members every few heartbeats what their clocks say, allows for the time the question and the answer
//! took, averages, and tells each by how much it is off. A clock that differs from the others by too much is left out of the
//! average and corrected with them. A correction is not a jump: the clock runs a little faster or slower until it is right,
//! so it never runs backwards. Only one that was never set, or is far behind, is put forward at once.
//!
//! # Paper
//! R. Gusella, S. Zatti: The Accuracy of the Clock Synchronization Achieved by TEMPO in Berkeley UNIX 4.3BSD, IEEE TSE 1989;
//! the round trip after F. Cristian, Distributed Computing 1989.
//!
//! # Assumes
//! That questions and answers take about equally long: a clock is right to within half of what a round trip varies.
//!
//! # Messages
//! [`Message::Poll`] to all, [`Message::Answer`] back, [`Message::Adjust`] to several at a time. In range none is said again
//! when it is lost: the next round comes soon. Out of range they are letters.
//!
//! # Cost
//! Of N members in range, a round of N + (N - 1) / 4 frames every [`ROUND_BEATS`] heartbeats.
//!
//! # Departures
//! A new leader carries on: clocks that were set are worth more than any number of those that were not, its own included. A
//! node tells what its clock will show when it has been corrected, not what it shows while it is. An answer waits for a
//! moment of its own, and says how long it did.

use crate::algorithm::{Algorithm, Context, Fact, Input, Outbox, Scope};
use crate::clock::Term;
use crate::dice::within;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, Span, sooner};
use crate::upper::{Told, Upper};
use core::convert::Infallible;
use heapless::Vec;

mod dial;
mod message;

pub use dial::Dial;
pub use message::{ENTRIES_MAX, Message};

/// How many heartbeats there are from one round to the next.
pub const ROUND_BEATS: u32 = 4;
/// How many corrections fit into a letter.
const LETTER_ENTRIES: usize = 3;
/// How many rounds a leader waits for everybody, where no clock has been set that it knows of.
const FIRST_ROUNDS: u32 = 3;

/// What the application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Notice {
    /// The clock was set for the first time.
    Set,
    /// The clock is being corrected.
    Adjusted {
        /// By how many microseconds.
        by: i32,
    },
}

/// What a leader is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Duty {
    /// It is none.
    Follow,
    /// It asks then.
    Wait { next: Instant },
    /// It has asked, and waits for answers.
    Collect { asked: Instant, until: Instant, answered: NodeSet, set: NodeSet },
    /// It has `untold` left to tell, the next of them then.
    Tell { at: Instant, untold: NodeSet, next: Instant },
}

/// A question to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Question {
    from: NodeSet,
    term: Term,
    round: u32,
    letter: bool,
    heard: Instant,
    /// When to answer.
    at: Instant,
}

/// The shared clock at one node, of a group of at most `N`.
#[derive(Clone, Debug)]
pub struct ClockSync<const N: usize> {
    dial: Dial,
    leader: Option<(NodeId, Term)>,
    duty: Duty,
    round: u32,
    /// By how much each member's clock is ahead of this one's; later, by how much it is to be corrected.
    offsets: [i64; N],
    question: Option<Question>,
    /// The last correction.
    adjusted: Option<(Term, u32)>,
    told: Told<Notice>,
}

type Out = Outbox<Message, Notice>;

impl<const N: usize> ClockSync<N> {
    /// A clock that was never set.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            dial: Dial::new(),
            leader: None,
            duty: Duty::Follow,
            round: 0,
            offsets: [0; N],
            question: None,
            adjusted: None,
            told: Told::new(),
        }
    }

    /// The shared time when this node's own clock shows `now`; `None` before it was set.
    #[must_use]
    pub fn read(&self, now: Instant) -> Option<Instant> {
        self.dial.read(now)
    }

    /// The rounds this node has held in its present term as leader.
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
        self.question = None;
        self.duty = match leader {
            Some((leader, _)) if leader == cx.me => Duty::Wait { next: cx.now.after(cx.timing.probe) },
            Some(_) | None => Duty::Follow,
        };
    }

    fn term(&self) -> Term {
        self.leader.map_or(Term::ZERO, |(_, term)| term)
    }

    /// Begins a round.
    fn poll(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.round = self.round.saturating_add(1);
        let (term, round) = (self.term(), self.round);
        out.send(cx.up.and(cx.near), Message::Poll { term, round, letter: false });
        out.send(cx.up.without(cx.near), Message::Poll { term, round, letter: true });
        let until = cx.now.after(cx.timing.crowd(cx.peers.len())).after(cx.timing.probe.times(2));
        self.duty = Duty::Collect { asked: cx.now, until, answered: NodeSet::EMPTY, set: NodeSet::EMPTY };
    }

    /// Takes in what a member's clock says.
    fn collect(&mut self, cx: &Context<'_>, from: NodeSet, answer: (u64, Span, bool)) {
        let (reading, held, is_set) = answer;
        let Duty::Collect { asked, answered, set, .. } = &mut self.duty else { return };
        let trip = cx.now.since(*asked).minus(held);
        if trip > cx.timing.probe || answered.meets(from) {
            return; // it was on its way for so long that it is worth nothing
        }
        let Some(offset) = from.slots().next().and_then(|slot| self.offsets.get_mut(slot)) else { return };
        let theirs = reading.saturating_add(u64::from(trip.share(1, 2).as_micros()));
        *offset = ahead(theirs, self.dial.aim(cx.now));
        *answered = answered.with(from);
        if is_set {
            *set = set.with(from);
        }
    }

    /// Ends a round: what each clock is to be corrected by.
    fn conclude(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Duty::Collect { asked, answered, set, .. } = self.duty else { return };
        let next = asked.after(cx.timing.heartbeat.times(ROUND_BEATS));
        self.duty = Duty::Wait { next };
        let me = cx.roster.set_of(cx.me);
        let set = if self.dial.is_set() { set.with(me) } else { set };
        let everybody = answered.with(me);
        if set.is_empty() && !cx.up.without(answered).is_empty() && self.round < FIRST_ROUNDS {
            return; // one whose answer was lost may know better
        }
        if let Some(mine) = me.slots().next().and_then(|slot| self.offsets.get_mut(slot)) {
            *mine = 0;
        }
        let Some(agreed) = self.average(cx, if set.is_empty() { everybody } else { set }) else { return };
        for slot in everybody.slots() {
            if let Some(offset) = self.offsets.get_mut(slot) {
                *offset = agreed.saturating_sub(*offset);
            }
        }
        self.adjust(cx, agreed, out);
        self.duty = Duty::Tell { at: cx.now, untold: answered, next };
    }

    /// The mean of those that are not too far from the middle one.
    fn average(&self, cx: &Context<'_>, set: NodeSet) -> Option<i64> {
        let of = |slot: usize| self.offsets.get(slot).copied();
        let below = |offset: i64, slot: usize| {
            set.slots().filter(|&other| of(other).is_some_and(|that| (that, other) < (offset, slot))).count()
        };
        let middle = usize::try_from(set.len().checked_sub(1)?.checked_div(2)?).ok()?;
        let median =
            set.slots().filter_map(|slot| Some((of(slot)?, slot))).find(|&(o, slot)| below(o, slot) == middle)?.0;
        // As far as a reading can be wrong that took as long as any may.
        let tolerance = i64::from(cx.timing.probe.share(1, 2).as_micros());
        let (mut sum, mut count) = (0_i64, 0_i64);
        for off in set.slots().filter_map(of).map(|offset| offset.saturating_sub(median)) {
            if off.saturating_abs() <= tolerance {
                (sum, count) = (sum.saturating_add(off), count.saturating_add(1));
            }
        }
        Some(median.saturating_add(sum.checked_div(count)?))
    }

    /// Corrects this node's clock.
    fn adjust(&mut self, cx: &Context<'_>, by: i64, out: &mut Out) {
        out.notify(if self.dial.is_set() {
            let by = i32::try_from(by).unwrap_or(if by < 0 { i32::MIN } else { i32::MAX });
            Notice::Adjusted { by }
        } else {
            Notice::Set
        });
        self.dial.adjust(cx.now, by, cx.timing.heartbeat);
    }

    /// Tells some members by how much they are off.
    fn tell(&mut self, cx: &Context<'_>, out: &mut Out) {
        let Duty::Tell { untold, next, .. } = self.duty else { return };
        let near = untold.and(cx.near);
        let letter = near.is_empty();
        let (from, most) = if letter { (untold, LETTER_ENTRIES) } else { (near, ENTRIES_MAX) };
        let (mut entries, mut to) = (Vec::new(), NodeSet::EMPTY);
        for slot in from.slots().take(most) {
            let (Ok(place), Some(&by)) = (u8::try_from(slot), self.offsets.get(slot)) else { continue };
            let _ = entries.push((place, by)); // there is room: no more were taken
            to = to.with(NodeSet::slot(slot));
        }
        let left = untold.without(to);
        out.send(to.and(cx.up), Message::Adjust { term: self.term(), round: self.round, letter, entries });
        self.duty = if left.is_empty() || to.is_empty() {
            Duty::Wait { next }
        } else {
            Duty::Tell { at: cx.now.after(cx.timing.jitter), untold: left, next }
        };
    }

    fn hear(&mut self, cx: &Context<'_>, from: NodeId, message: Message, out: &mut Out) {
        let sender = cx.roster.set_of(from);
        match message {
            Message::Poll { term, round, letter } if self.leader == Some((from, term)) => {
                let at = cx.now.after(within(cx.timing.crowd(cx.peers.len()), cx.random));
                self.question = Some(Question { from: sender, term, round, letter, heard: cx.now, at });
            }
            Message::Answer { term, round, reading, held, is_set, .. }
                if (term, round) == (self.term(), self.round) =>
            {
                self.collect(cx, sender, (reading, held, is_set));
            }
            Message::Adjust { term, round, entries, .. } if self.leader == Some((from, term)) => {
                let new = self.adjusted.is_none_or(|(old, last)| old != term || last < round);
                let mine = entries.iter().find(|(slot, _)| cx.roster.slot_of(cx.me) == Some(usize::from(*slot)));
                if let Some(&(_, by)) = mine.filter(|_| new) {
                    self.adjusted = Some((term, round));
                    self.adjust(cx, by, out);
                }
            }
            // Of somebody who does not lead, or of another round.
            Message::Poll { .. } | Message::Answer { .. } | Message::Adjust { .. } => {}
        }
    }
}

/// By how much one reading is ahead of another.
fn ahead(one: u64, other: u64) -> i64 {
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
            Input::Message { from, message, .. } => self.hear(cx, from, message, out),
            Input::Fact(Fact::Leader { leader, term }) => self.follow(cx, Some((leader, term))),
            Input::Fact(Fact::NoLeader) => self.follow(cx, None),
            Input::Command(never) => match never {},
            // Whoever is up is asked; what is due is due.
            Input::Fact(Fact::PeerUp(_) | Fact::PeerDown(_) | Fact::PeerReset(_) | Fact::View | Fact::Parent(_))
            | Input::Timeout => {}
        }
        if let Some(Question { from, term, round, letter, heard, .. }) =
            self.question.take_if(|asked| asked.at <= cx.now)
        {
            let (reading, held, is_set) = (self.dial.aim(cx.now), cx.now.since(heard), self.dial.is_set());
            out.send(from, Message::Answer { term, round, letter, reading, held, is_set });
        }
        match self.duty {
            Duty::Wait { next } if next <= cx.now => self.poll(cx, out),
            Duty::Collect { until, .. } if until <= cx.now => self.conclude(cx, out),
            Duty::Tell { at, .. } if at <= cx.now => self.tell(cx, out),
            Duty::Follow | Duty::Wait { .. } | Duty::Collect { .. } | Duty::Tell { .. } => {}
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let duty = match self.duty {
            Duty::Follow => None,
            Duty::Wait { next } => Some(next),
            Duty::Collect { until, .. } => Some(until),
            Duty::Tell { at, .. } => Some(at),
        };
        sooner(duty, self.question.map(|question| question.at))
    }
}

impl<const N: usize> Upper for ClockSync<N> {
    fn time(&self, now: Instant) -> Option<Instant> {
        self.read(now)
    }

    fn told(&mut self) -> Option<&mut Told<Notice>> {
        Some(&mut self.told)
    }

    fn speak(&mut self, _: &Context<'_>, _: &mut Out) -> bool {
        false // nothing of it has to arrive
    }
}

impl<const N: usize> Default for ClockSync<N> {
    fn default() -> Self {
        Self::new()
    }
}
