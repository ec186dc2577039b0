//! The heir: who leads when the leader is lost, known before it is.
//!
//! Candidates that would make a better heir than the one the heartbeats name send a bid towards the leader, along the path of
//! the heartbeats; the best go first, and relays keep back what is no better than another bid since the last heartbeat. The leader names the heir to
//! its neighbours with every pulse. The heir bids again every few heartbeats, or is forgotten.
//!
//! # Safety
//! For each heir the leader sets aside a term of its own, and uses it for nothing else: not for another heir, not for
//! itself. So whoever announces the heir, and however many do, that term has one leader. A leader that was given up wrongly
//! hears of it, and raises its term above the heir's. The number leaves room for one below it: a neighbour that doubts alone
//! may have started an election, which ends where the heir is announced.

use super::{Belief, Heir, Leader, LeaderMessage, Leadership, Out};
use crate::algorithm::Context;
use crate::base::capacity::{Candidate, Capacity};
use crate::base::ids::NodeSet;
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::Instant;

/// Heartbeats after which an heir bids again, and after which one that did not is forgotten.
const BID_EVERY: u32 = 4;
const FORGOTTEN_AFTER: u32 = 4 * BID_EVERY;

/// Over how many heartbeats candidates spread their bids, the best first.
const BID_SPREAD: u32 = 8;

/// What a leader keeps of its heir, its runner-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Testament {
    /// The number of the term set aside for it; 0 where there is none yet.
    number: u32,
    /// This node's heartbeat when it last bid.
    bid_at: u32,
}

impl Testament {
    pub(super) const NONE: Self = Self { number: 0, bid_at: 0 };

    /// Returns whether the heir has bid not long before this heartbeat.
    pub(super) const fn is_fresh(self, heartbeat: u32) -> bool {
        heartbeat.saturating_sub(self.bid_at) <= FORGOTTEN_AFTER
    }
}

/// A candidate of whom the leader is to be told at `at`, or `sent` since its last heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bid {
    candidate: Candidate,
    at: Instant,
    sent: bool,
}

impl Bid {
    /// When it is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        (!self.sent).then_some(self.at)
    }
}

/// Returns whether a candidate should replace the runner-up, or is it, and bids again.
fn succeeds(candidate: Candidate, runner_up: Option<Candidate>) -> bool {
    runner_up.is_none_or(|known| known.id == candidate.id || candidate > known)
}

impl Leadership {
    /// Bids, if this node is or would be the heir that the leader's heartbeat should name.
    pub(super) fn on_heartbeat(&mut self, cx: &Context<'_>, from: NodeSet) {
        let Belief::Following { leader: Leader { runner_up, heartbeat, .. }, .. } = self.belief else { return };
        self.bid = self.bid.filter(|bid| !bid.sent && succeeds(bid.candidate, runner_up));
        let Some(candidate) = cx.candidate.filter(|_| !self.announced_by_election && heartbeat > 0 && !from.is_empty())
        else {
            return;
        };
        let again = runner_up.is_none_or(|known| known != candidate) || heartbeat.is_multiple_of(BID_EVERY);
        if again && self.bid.is_none() && succeeds(candidate, runner_up) {
            let short = u32::from(Capacity::MAX.get().saturating_sub(candidate.capacity.get()));
            let rank = cx.timing.heartbeat.times(BID_SPREAD).mul_ratio(short, u32::from(Capacity::MAX.get()));
            let delay = rank.plus(jitter(cx.timing.heartbeat, cx.random));
            self.bid = Some(Bid { candidate, at: cx.now.after(delay), sent: false });
        }
    }

    /// Handles a bid: keeps it as the leader, or sends it on.
    pub(super) fn on_bid(&mut self, cx: &Context<'_>, term: Term, candidate: Candidate) {
        match &mut self.belief {
            Belief::Leading { leader, testament, .. } if leader.term == term && candidate.id != cx.me => {
                if !succeeds(candidate, leader.runner_up) {
                    return;
                }
                if leader.runner_up.is_none_or(|known| known.id != candidate.id) {
                    testament.number = 0;
                }
                testament.bid_at = leader.heartbeat;
                leader.runner_up = Some(candidate);
            }
            Belief::Following { leader, .. } if leader.term == term => {
                let better = self.bid.is_none_or(|bid| bid.candidate < candidate);
                if better && succeeds(candidate, leader.runner_up) {
                    let at = cx.now.after(jitter(cx.timing.contention_window(1), cx.random));
                    self.bid = Some(Bid { candidate, at, sent: false });
                }
            }
            Belief::Vacant { .. } | Belief::Following { .. } | Belief::Leading { .. } => {}
        }
    }

    /// Sends a bid that is due towards the leader.
    pub(super) fn send_bid<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, out: &mut Out<M>) {
        let Some(bid) = self.bid.as_mut().filter(|bid| !bid.sent && bid.at <= cx.now) else { return };
        bid.sent = true;
        let candidate = bid.candidate;
        if let Belief::Following { leader: Leader { term, .. }, via, .. } = self.belief {
            out.send(via, LeaderMessage::Bid { term, candidate }.into());
        }
    }

    /// Returns the heir of this node, the leader, with a term that is set aside for it.
    pub(super) fn heir(&mut self, cx: &Context<'_>) -> Option<Heir> {
        let Belief::Leading { leader, mut testament, .. } = self.belief else { return None };
        let candidate = leader.runner_up.filter(|_| !self.announced_by_election)?;
        if testament.number <= leader.term.number {
            self.new_term(cx.me); // of an election that a node starts meanwhile: the heir comes before its winner
            testament.number = self.new_term(cx.me).number;
        }
        if let Belief::Leading { testament: kept, .. } = &mut self.belief {
            *kept = testament;
        }
        Some(Heir { number: testament.number, candidate })
    }
}
