//! Watching the leader: its neighbours notice its loss within a second, at no cost to anybody else.
//!
//! The leader sends a pulse to its neighbours several times a second. A neighbour that misses three of them doubts, and
//! asks the others; whoever has just received a pulse vetoes, and the leader itself answers with a pulse. A node gives the
//! leader up when two or three questions stayed without an answer and others doubt too; then it announces the heir. Alone it
//! asks for longer, and then starts an election: its own link may be to blame, and then the leader wins again; or it is cut
//! off from the others, and the heir may be with them.
//!
//! # Paper
//! W. Chen, S. Toueg, M. Aguilera: On the Quality of Service of Failure Detectors, DSN 2000, for expecting each pulse by
//! its own time. That others are asked before a suspicion counts is the indirect probe of SWIM (A. Das, I. Gupta, A.
//! Motivala, DSN 2002).
//!
//! # Departures
//! - The question is a broadcast, and anybody in range answers; SWIM asks chosen members to ping.
//! - In a crowd, whoever receives the pulses answers questions; those that the leader receives too ask them.
//! - A neighbour that misses a quarter of the pulses does not doubt: its link says more about the air than about the leader.

use super::{Belief, Heir, Leader, LeaderMessage, Leadership, Loss, Out};
use crate::algorithm::Context;
use crate::base::config::{CROWD, Timing};
use crate::base::ids::NodeSet;
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::{CoarseInstant, Duration, Instant, earliest};
use crate::peers::quality::LinkQuality;

/// Pulses that may be missed.
const PULSES_MISSED_MAX: u32 = 3;
/// Questions without an answer before the leader is given up: with others that doubt, and alone.
const ASKS: u8 = 3;
const ASKS_ALONE: u8 = 12;
/// Share of the pulses, of 255, that a node must receive to doubt their absence.
const SHARE_MIN: u8 = 190;
/// How many of a crowd veto.
const VETOES_ENOUGH: u32 = 3;

/// What a neighbour of the leader knows of its pulses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Watch {
    /// When the last pulse came.
    last: CoarseInstant,
    /// Share of the pulses that arrive.
    share: LinkQuality,
    /// When to doubt, or to ask again.
    at: Instant,
    /// Questions sent since the last sign of the leader.
    asks: u8,
    /// Others that doubt.
    doubters: NodeSet,
    /// When to answer a question.
    veto: Option<Instant>,
    /// Who leads when the leader is lost.
    heir: Option<Heir>,
}

impl Watch {
    /// The watch of a node that has received its first pulse.
    fn new(cx: &Context<'_>) -> Self {
        let share = LinkQuality::first(u8::MAX);
        let last = CoarseInstant::of(cx.now);
        Self { last, share, at: cx.now, asks: 0, doubters: NodeSet::EMPTY, veto: None, heir: None }
    }

    /// Trusts the leader until `pulses` more are missed.
    fn trust(&mut self, cx: &Context<'_>, pulses: u32) {
        (self.asks, self.doubters) = (0, NodeSet::EMPTY);
        self.at = cx.now.after(pulse(cx).times(pulses).plus(slack(cx.timing)));
    }

    /// Records a pulse.
    fn on_pulse(&mut self, cx: &Context<'_>, heir: Option<Heir>) {
        let elapsed = self.last.elapsed(cx.now).plus(pulse(cx).mul_ratio(1, 2)).as_micros();
        let intervals = elapsed.checked_div(pulse(cx).as_micros()).unwrap_or(1);
        self.share.record(intervals.saturating_sub(1), u8::MAX);
        (self.last, self.heir) = (CoarseInstant::of(cx.now), heir);
        self.trust(cx, PULSES_MISSED_MAX);
    }

    /// Returns whether the last pulse is the one that was due.
    fn is_fresh(&self, cx: &Context<'_>) -> bool {
        self.last.elapsed(cx.now) <= pulse(cx).plus(slack(cx.timing))
    }

    /// Returns whether pulses are missing.
    pub(super) fn is_doubtful(&self) -> bool {
        self.asks > 0
    }

    pub(super) fn deadline(&self) -> Instant {
        self.veto.map_or(self.at, |veto| veto.min(self.at))
    }
}

/// Returns when this node, the leader, sends its next pulse: never, where there are none.
pub(super) fn next_pulse(cx: &Context<'_>) -> Instant {
    cx.timing.pulse.map_or(Instant::from_micros(u64::MAX), |pulse| cx.now.after(pulse))
}

/// Returns the time between pulses, where there are any.
fn pulse(cx: &Context<'_>) -> Duration {
    cx.timing.pulse.unwrap_or_default()
}

/// Returns how late a pulse may be.
fn slack(timing: &Timing) -> Duration {
    timing.jitter.times(3)
}

impl Leadership {
    /// Handles a pulse of the leader. Of a later term it shows too that the leader is up: this node missed that it raised
    /// its term, and asks.
    pub(super) fn on_pulse(&mut self, cx: &Context<'_>, from: NodeSet, term: Term, heir: Option<Heir>) {
        let lease = self.leader().map(|leader| self.lease(cx, leader));
        if let Belief::Following { leader, until, ask, .. } = &mut self.belief
            && leader.term <= term
            && from.meets(cx.roster.set_of(leader.candidate.id))
        {
            *until = cx.now.after(lease.unwrap_or_default()).max(*until);
            if leader.term < term {
                *ask = cx.now.min(*ask);
            }
            let watch = self.watch.get_or_insert_with(|| Watch::new(cx));
            watch.on_pulse(cx, heir);
            if !from.meets(cx.peers) {
                watch.share = LinkQuality::first(0); // the leader would not hear this node ask
            }
        }
    }

    /// Handles a heartbeat that came from the leader itself, which sends no pulse at the same time.
    pub(super) fn on_own_heartbeat(&mut self, cx: &Context<'_>, from: NodeSet, term: Term) {
        if let Belief::Following { leader, .. } = &self.belief
            && leader.term == term
            && from.meets(cx.roster.set_of(leader.candidate.id))
            && let Some(watch) = &mut self.watch
        {
            watch.on_pulse(cx, watch.heir);
        }
    }

    /// Handles the question whether the leader of `term` is up.
    pub(super) fn on_doubt(&mut self, cx: &Context<'_>, from: NodeSet, term: Term) {
        let soon =
            cx.now.after(jitter(cx.timing.contention_window(cx.near.len().min(CROWD)).mul_ratio(1, 2), cx.random));
        match &mut self.belief {
            Belief::Leading { leader, pulse, .. } if leader.term == term => *pulse = soon.min(*pulse),
            Belief::Following { leader, .. } if leader.term == term => {
                let Some(watch) = &mut self.watch else { return };
                if !watch.is_fresh(cx) {
                    watch.doubters = watch.doubters.with(from);
                } else if cx.near.len() < CROWD || cx.random.checked_rem(cx.near.len()) < Some(VETOES_ENOUGH) {
                    watch.veto = earliest(watch.veto, Some(soon));
                }
            }
            Belief::Vacant { .. } | Belief::Following { .. } | Belief::Leading { .. } => {
                if self.floor() > term {
                    self.inform(cx, from);
                }
            }
        }
    }

    /// Handles another node's word that the leader of `term` is up.
    pub(super) fn on_veto(&mut self, cx: &Context<'_>, from: NodeSet, term: Term) {
        if let Belief::Following { leader, .. } = &self.belief
            && leader.term == term
            && from.meets(cx.peers)
            && let Some(watch) = &mut self.watch
            && (watch.asks > 0 || !watch.doubters.is_empty())
        {
            watch.trust(cx, PULSES_MISSED_MAX.saturating_sub(1));
        }
    }

    /// Sends what is due of pulses, questions and answers; returns how the leader was given up without an heir, if it was.
    pub(super) fn watch_leader<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, out: &mut Out<M>) -> Option<Loss> {
        let leader = match self.belief {
            Belief::Vacant { .. } => return None,
            Belief::Leading { leader, pulse, .. } => {
                if pulse <= cx.now {
                    self.send_pulse(cx, leader.term, out);
                }
                return None;
            }
            Belief::Following { leader, .. } => leader,
        };
        let term = leader.term;
        let watch = self.watch.as_mut()?;
        if watch.veto.is_some_and(|at| at <= cx.now) {
            watch.veto = None;
            if watch.is_fresh(cx) {
                out.send(cx.near, LeaderMessage::Veto { term }.into());
            }
        }
        if watch.at > cx.now {
            return None;
        }
        if watch.share.value < SHARE_MIN {
            watch.trust(cx, PULSES_MISSED_MAX);
            return None;
        }
        let enough = match watch.doubters.len() {
            0 => ASKS_ALONE,
            1 => ASKS,
            _ => ASKS.saturating_sub(1),
        };
        // Where many send, questions and answers get lost together.
        let enough = if cx.crowded || cx.timing.renews() { enough.saturating_mul(2) } else { enough };
        if watch.asks >= enough {
            let heir = watch.heir;
            if heir.is_some() && watch.doubters.is_empty() && !cx.crowded {
                self.vacate(out);
                return Some(Loss::DoubtedAlone);
            }
            return self.give_up(cx, leader, heir, out).then_some(Loss::Silent);
        }
        watch.asks = watch.asks.saturating_add(1);
        let pause = cx.timing.reflood_interval.mul_ratio(if cx.timing.renews() { 4 } else { 1 }, 2);
        watch.at = cx.now.after(pause.plus(jitter(slack(cx.timing), cx.random)));
        out.send(cx.near, LeaderMessage::Doubt { term }.into());
        None
    }

    fn send_pulse<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, term: Term, out: &mut Out<M>) {
        let heir = self.heir(cx);
        out.send(cx.near, LeaderMessage::Pulse { term, heir }.into());
        if let Belief::Leading { pulse, .. } = &mut self.belief {
            *pulse = next_pulse(cx);
        }
    }

    /// Announces the heir of a lost leader; returns whether there is none, and so no leader.
    fn give_up<M: From<LeaderMessage>>(
        &mut self,
        cx: &Context<'_>,
        lost: Leader,
        heir: Option<Heir>,
        out: &mut Out<M>,
    ) -> bool {
        let fit = |heir: &Heir| heir.candidate.id != cx.me || cx.candidate.is_some();
        let Some(Heir { number, candidate }) = heir.filter(fit) else {
            self.vacate(out);
            return true;
        };
        let term = Term { number, by: lost.candidate.id };
        self.observe_term(number);
        self.announce(cx, Leader::elected(term, candidate, None), out);
        false
    }
}
