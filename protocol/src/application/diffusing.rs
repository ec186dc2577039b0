//! A diffusing job: a node is given some work; while it works it gives part of it to others, which do the same. The job is
//! over when nobody works any more and no work is on its way; nobody knows when that is, except by asking everybody.
//!
//! Work is a number of units. A unit takes a while, and may end in giving away some of those that are left. So a job of so
//! many units ends, wherever they are done.

use super::{Application, Item, Record};
use crate::algorithm::{Context, Fact, Input};
use crate::dice::within;
use crate::group::{NodeId, NodeSet};
use crate::time::{Instant, Span};
use crate::wire::{self, Delivery, Kind};
use serde::{Deserialize, Serialize};

/// What the user asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Command {
    /// Begin a job of this many units here.
    Start {
        /// How many.
        units: u32,
    },
}

/// Work for another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Work {
    /// Of which job: later ones have higher numbers.
    pub job: u32,
    /// How much.
    pub units: u32,
}

impl wire::Message for Work {
    fn kind(&self) -> Kind {
        Kind::Diffusing
    }

    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn word(&self) -> &'static str {
        "work"
    }

    fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        wire::encode(self, buffer)
    }

    fn decode(kind: Kind, body: &[u8]) -> Option<Self> {
        if kind == Kind::Diffusing { wire::decode(body) } else { None }
    }
}

/// What this node is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Doing {
    Nothing,
    /// One unit, until then; so many are left.
    Work {
        left: u32,
        until: Instant,
    },
    /// Wants to give away some of what is left.
    Share {
        left: u32,
    },
}

/// The part of one node in a diffusing job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Diffusing {
    doing: Doing,
    pause: Span,
    /// The latest job heard of.
    job: u32,
    /// The latest job that is over.
    finished: u32,
    done: u32,
    late: u32,
}

impl Diffusing {
    /// A node on which a unit of work takes about `pause`.
    #[must_use]
    pub const fn new(pause: Span) -> Self {
        Self { doing: Doing::Nothing, pause, job: 0, finished: 0, done: 0, late: 0 }
    }

    /// How many units this node has done.
    #[must_use]
    pub const fn done(&self) -> u32 {
        self.done
    }

    /// How many units it still has.
    #[must_use]
    pub const fn left(&self) -> u32 {
        match self.doing {
            Doing::Nothing => 0,
            Doing::Work { left, .. } | Doing::Share { left } => left,
        }
    }

    /// How many messages came after the end of their job.
    #[must_use]
    pub const fn late(&self) -> u32 {
        self.late
    }

    fn take_on(&mut self, cx: &Context<'_>, units: u32) {
        self.doing = match self.doing {
            Doing::Nothing if units == 0 => Doing::Nothing,
            Doing::Nothing => Doing::Work { left: units, until: self.end(cx) },
            Doing::Work { left, until } => Doing::Work { left: left.saturating_add(units), until },
            Doing::Share { left } => Doing::Share { left: left.saturating_add(units) },
        };
    }

    /// When a unit begun now is done.
    fn end(&self, cx: &Context<'_>) -> Instant {
        cx.now.after(self.pause.share(1, 2)).after(within(self.pause, cx.random))
    }

    /// Goes on with what is left.
    fn go_on(&self, cx: &Context<'_>, left: u32) -> Doing {
        if left == 0 { Doing::Nothing } else { Doing::Work { left, until: self.end(cx) } }
    }
}

impl Application for Diffusing {
    type Message = Work;
    type Command = Command;

    fn handle(&mut self, cx: &Context<'_>, input: Input<Work, Command>) {
        match input {
            Input::Message { message: Work { job, .. }, .. } if job <= self.finished => {
                self.late = self.late.saturating_add(1);
            }
            Input::Message { message: Work { job, units }, .. } => {
                self.job = self.job.max(job);
                self.take_on(cx, units);
            }
            Input::Command(Command::Start { units }) => {
                if self.job <= self.finished {
                    self.job = self.job.saturating_add(1);
                }
                self.take_on(cx, units);
            }
            Input::Timeout => {
                if let Doing::Work { left, until } = self.doing
                    && until <= cx.now
                {
                    self.done = self.done.saturating_add(1);
                    let left = left.saturating_sub(1);
                    // Every other time some of what is left is another's to do.
                    let shares = left > 0 && cx.random & 1 == 0 && !cx.up.is_empty();
                    self.doing = if shares { Doing::Share { left } } else { self.go_on(cx, left) };
                }
            }
            // What a member had to do is lost with it; nobody here knows what that was.
            Input::Fact(
                Fact::PeerUp(_)
                | Fact::PeerDown(_)
                | Fact::PeerReset(_)
                | Fact::View
                | Fact::Leader { .. }
                | Fact::NoLeader
                | Fact::Parent(_),
            ) => {}
        }
    }

    fn speak(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Work)> {
        let Doing::Share { left } = self.doing else { return None };
        let choice = cx.random.checked_rem(cx.up.len()).and_then(|choice| usize::try_from(choice).ok());
        let Some(slot) = choice.and_then(|choice| cx.up.slots().nth(choice)) else {
            self.doing = self.go_on(cx, left); // nobody is there to help
            return None;
        };
        let units = (cx.random >> 8).checked_rem(left)?.saturating_add(1);
        self.doing = self.go_on(cx, left.saturating_sub(units));
        Some((NodeSet::slot(slot), Work { job: self.job, units }))
    }

    fn is_busy(&self) -> bool {
        self.doing != Doing::Nothing
    }

    fn record(&self, _: &Context<'_>) -> Option<Record> {
        let mut bytes = [0; 12];
        let len = wire::encode(&(self.done, self.left()), &mut bytes)?;
        Record::from_slice(bytes.get(..len)?).ok()
    }

    fn item(&self, _: &Context<'_>, _: NodeId, message: &Work) -> Item {
        let mut bytes = [0; 8];
        let units = if message.job <= self.finished { 0 } else { message.units };
        let len = wire::encode(&units, &mut bytes);
        len.and_then(|len| Item::from_slice(bytes.get(..len)?).ok()).unwrap_or_default()
    }

    fn job(&self) -> u32 {
        self.job
    }

    fn finish(&mut self, job: u32) {
        self.finished = self.finished.max(job);
        self.job = self.job.max(job);
    }

    fn deadline(&self) -> Option<Instant> {
        match self.doing {
            Doing::Work { until, .. } => Some(until),
            Doing::Nothing | Doing::Share { .. } => None,
        }
    }
}
