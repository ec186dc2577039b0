//! A diffusing computation: a node starts a job; while it works it sends part of the work to others, which do the same.
//! The job has terminated when no node is busy and no work is in flight, which no node can observe alone.
//!
//! Work is counted in units. A unit takes a while; after about half of them the node sends part of the remaining units
//! to another node. Units are never added, so every job terminates.

use super::{after_about, random_peer};
use crate::algorithm::{Context, Fact, Input, Outbox};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::time::{Duration, Instant};
use crate::service::application::{Application, ChannelMessage, LocalState, Recordable, Terminating, encode};
use crate::wire::{self, Delivery};
use core::convert::Infallible;
use serde::{Deserialize, Serialize};

/// Commands of the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
#[expect(missing_docs, reason = "the field is the units of work")]
pub enum Command {
    /// Starts a job at this node.
    Start { units: u32 },
}

/// Work for another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Work {
    /// Number of the job; later jobs have higher numbers.
    pub job: u32,
    /// Units of work.
    pub units: u32,
}

impl wire::Message for Work {
    fn delivery(&self) -> Delivery {
        Delivery::Reliable
    }

    fn name(&self) -> &'static str {
        "work"
    }
}

/// The state of a worker; `left` are its remaining units.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Idle,
    /// It does one unit until then.
    Working {
        left: u32,
        until: Instant,
    },
    /// It sends part of the units away as soon as the link has room.
    Sharing {
        left: u32,
    },
}

/// The worker of one node in a diffusing computation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Diffusing {
    state: State,
    unit: Duration,
    /// Latest job known.
    job: u32,
    /// Latest job that has terminated.
    terminated: u32,
    done: u32,
    late: u32,
}

impl Diffusing {
    /// Creates an idle worker for which a unit of work takes about `unit`.
    #[must_use]
    pub const fn new(unit: Duration) -> Self {
        Self { state: State::Idle, unit, job: 0, terminated: 0, done: 0, late: 0 }
    }

    /// Returns the units this node has done.
    #[must_use]
    pub const fn done(&self) -> u32 {
        self.done
    }

    const fn left(&self) -> u32 {
        match self.state {
            State::Idle => 0,
            State::Working { left, .. } | State::Sharing { left } => left,
        }
    }

    /// Returns how many messages arrived after the termination of their job.
    #[must_use]
    pub const fn late(&self) -> u32 {
        self.late
    }

    fn add(&mut self, cx: &Context<'_>, units: u32) {
        self.state = match self.state {
            State::Idle => self.work_on(cx, units),
            State::Working { left, until } => State::Working { left: left.saturating_add(units), until },
            State::Sharing { left } => State::Sharing { left: left.saturating_add(units) },
        };
    }

    /// Returns the state of a worker that continues with `left` units.
    fn work_on(&self, cx: &Context<'_>, left: u32) -> State {
        if left == 0 { State::Idle } else { State::Working { left, until: after_about(self.unit, cx) } }
    }
}

impl Application for Diffusing {
    type Message = Work;
    type Command = Command;
    type Notice = Infallible;

    fn handle(&mut self, cx: &Context<'_>, input: Input<Work, Command>, _: &mut Outbox<Work, Infallible>) {
        match input {
            Input::Message { message: Work { job, .. }, .. } if job <= self.terminated => {
                self.late = self.late.saturating_add(1);
            }
            Input::Message { message: Work { job, units }, .. } => {
                self.job = self.job.max(job);
                self.add(cx, units);
            }
            Input::Command(Command::Start { units }) => {
                if self.job <= self.terminated {
                    self.job = self.job.saturating_add(1);
                }
                self.add(cx, units);
            }
            Input::Timeout => {
                if let State::Working { left, until } = self.state
                    && until <= cx.now
                {
                    self.done = self.done.saturating_add(1);
                    let left = left.saturating_sub(1);
                    let shares = left > 0 && cx.random & 1 == 0 && !cx.up.is_empty();
                    self.state = if shares { State::Sharing { left } } else { self.work_on(cx, left) };
                }
            }
            // The work of a member that crashes is lost; no other node knows how much it was.
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

    fn poll_send(&mut self, cx: &Context<'_>) -> Option<(NodeSet, Work)> {
        let State::Sharing { left } = self.state else { return None };
        let Some(slot) = random_peer(cx) else {
            self.state = self.work_on(cx, left);
            return None;
        };
        let units = (cx.random >> 8).checked_rem(left)?.saturating_add(1);
        self.state = self.work_on(cx, left.saturating_sub(units));
        Some((NodeSet::slot(slot), Work { job: self.job, units }))
    }

    fn deadline(&self) -> Option<Instant> {
        match self.state {
            State::Working { until, .. } => Some(until),
            State::Idle | State::Sharing { .. } => None,
        }
    }
}

impl Recordable for Diffusing {
    fn local_state(&self, _: &Context<'_>) -> Option<LocalState> {
        encode(&(self.done, self.left()))
    }

    fn channel_message(&self, _: &Context<'_>, _: NodeId, message: &Work) -> ChannelMessage {
        let units = if message.job <= self.terminated { 0 } else { message.units };
        encode(&units).unwrap_or_default()
    }
}

impl Terminating for Diffusing {
    fn is_busy(&self) -> bool {
        self.state != State::Idle
    }

    fn job(&self) -> u32 {
        self.job
    }

    fn on_terminated(&mut self, job: u32) {
        self.terminated = self.terminated.max(job);
        self.job = self.job.max(job);
    }
}
