//! Flooding of messages about the leader: the announcement of an election by all, heartbeats by as few as reach everybody.
//!
//! A node that receives a heartbeat waits a moment, the shorter the more of its neighbours have not been reached. It
//! stays silent if two copies came meanwhile, and their senders reach all its neighbours by what they list in their hellos. Otherwise
//! it relays the heartbeat, and once more if it hears nobody else reach a neighbour. A node that misses a heartbeat asks.
//! The first heartbeat of a term is news: it is relayed until every neighbour has been heard to relay it, as an election's
//! announcement is.
//!
//! # Paper
//! J. Wu, F. Dai: Broadcasting in Ad Hoc Networks Based on Self-Pruning, INFOCOM 2003; the wait that lets the node with
//! most to add go first is W. Peng's and X. Lu's (`MobiHoc` 2000).
//!
//! # Departures
//! - In a crowd, of which a node knows a part only, the number of copies decides (the counter-based scheme of S. Ni et al.,
//!   `MobiCom` 1999).
//! - Links lose frames, so one copy silences nobody who could hear two, and whoever misses a heartbeat asks for it.

use super::{Belief, Leader, LeaderMessage, Leadership, Out};
use crate::algorithm::Context;
use crate::base::config::CROWD;
use crate::base::ids::NodeSet;
use crate::base::rng::jitter;
use crate::base::time::{Duration, Instant};

/// Progress of the current flood at this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Flood {
    /// All neighbours are informed, or the message was sent often enough.
    Done,
    /// About to relay a heartbeat at `at`, unless `informed`, who have it, and `reached`, who should, are all neighbours; or,
    /// in a crowd, unless enough other `copies` came; then again, at most `left` times.
    Waiting { informed: NodeSet, reached: NodeSet, copies: u8, left: u8, at: Instant },
    /// Waiting for neighbours to relay the message, or to be reached by others. It is sent again at `at`, at most `left` times.
    Listening { informed: NodeSet, reached: NodeSet, copies: u8, left: u8, at: Instant },
}

/// How many copies of a heartbeat silence a node that has several neighbours.
const COPIES_ENOUGH: u32 = 2;

/// How many copies after the first silence a node that has more neighbours than it knows.
const COPIES_IN_CROWD: u8 = 3;

/// How many neighbours a node knows the neighbours of: those of its first slots.
const LISTED: usize = 32;

/// How many of a crowd's nodes answer.
const ANSWERS_ENOUGH: u32 = 3;

/// How often a heartbeat is, where the next one does as well.
const REPEATS: u8 = 1;

impl Leadership {
    /// Relays the current state, which `informed` have: a heartbeat of this number, and whether it is `news`.
    pub(super) fn relay<M: From<LeaderMessage>>(
        &mut self,
        cx: &Context<'_>,
        informed: NodeSet,
        (heartbeat, news): (u32, bool),
        out: &mut Out<M>,
    ) {
        if heartbeat == 0 && !cx.crowded {
            return self.flood(cx, informed, cx.timing.reflood_count, out);
        }
        let left = if news && !is_crowd(cx) { cx.timing.reflood_count } else { repeats(cx) };
        let reached = if is_news(cx, left) { NodeSet::EMPTY } else { cx.audience.of(informed) };
        let near = cx.near.with(informed);
        let known = near.and(informed.with(reached)).len();
        let window = Self::window(cx);
        let wait = window.times(3).mul_ratio(known, near.len()).plus(jitter(window, cx.random));
        self.flood = Flood::Waiting { informed, reached, copies: 0, left, at: cx.now.after(wait) };
    }

    /// Sends the message again, or for the first time, where it is due.
    pub(super) fn on_flood_timeout<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, out: &mut Out<M>) {
        match self.flood {
            Flood::Waiting { informed, reached, copies, left, at } if at <= cx.now => {
                let enough = informed.len() >= COPIES_ENOUGH.min(cx.near.len());
                if is_covered(cx, informed, copies) || enough && cx.near.without(informed).without(reached).is_empty() {
                    self.flood = Flood::Done;
                } else {
                    self.flood(cx, informed, left, out);
                    self.on_reached(cx, reached);
                }
            }
            Flood::Listening { informed, reached, copies, left, at } if at <= cx.now => {
                if is_covered(cx, informed, copies) || cx.near.without(informed).without(reached).is_empty() {
                    self.flood = Flood::Done;
                } else {
                    self.flood(cx, informed, left.saturating_sub(1), out);
                }
            }
            Flood::Done | Flood::Waiting { .. } | Flood::Listening { .. } => {}
        }
    }

    /// Sends the current state, which `informed` have, and waits for neighbours to relay it.
    pub(super) fn flood<M: From<LeaderMessage>>(
        &mut self,
        cx: &Context<'_>,
        informed: NodeSet,
        left: u8,
        out: &mut Out<M>,
    ) {
        if let Some(message) = self.message(cx) {
            out.send(cx.peers, message.into());
        }
        let reached = NodeSet::EMPTY;
        let at = cx.now.after(cx.timing.reflood_interval.plus(Self::spread(cx)));
        self.flood = if left == 0 { Flood::Done } else { Flood::Listening { informed, reached, copies: 0, left, at } };
    }

    /// Returns the time over which neighbours spread their relays. Of a crowd only few relay.
    fn window(cx: &Context<'_>) -> Duration {
        cx.timing.contention_window(if is_crowd(cx) { CROWD } else { cx.near.len() })
    }

    /// Returns a delay in the second half of twice the window: the neighbours' relays have left by then.
    pub(super) fn spread(cx: &Context<'_>) -> Duration {
        let window = Self::window(cx);
        window.plus(jitter(window, cx.random))
    }

    /// Records that neighbours relayed the current state.
    pub(super) fn on_relayed(&mut self, cx: &Context<'_>, set: NodeSet) {
        if let Flood::Listening { informed, copies, .. } | Flood::Waiting { informed, copies, .. } = &mut self.flood {
            *informed = informed.with(set);
            *copies = if is_crowd(cx) { copies.saturating_add(1).min(COPIES_IN_CROWD) } else { 0 };
        }
        if let Belief::Following { via, .. } = &mut self.belief
            && via.is_empty()
        {
            *via = set; // the first copy came from one of the crowd
        }
        // All relay the announcement of an election, so whoever is silent has missed it.
        if self.leader().is_some_and(|leader| leader.heartbeat > 0) {
            self.on_reached(cx, cx.audience.of(set));
        }
    }

    /// Records that these nodes have the current heartbeat: they have answered it.
    pub(in crate::election) fn on_informed(&mut self, set: NodeSet) {
        if let Flood::Listening { informed, .. } | Flood::Waiting { informed, .. } = &mut self.flood {
            *informed = informed.with(set);
        }
    }

    /// Records that others have reached these neighbours. Of news each of them is to be heard.
    fn on_reached(&mut self, cx: &Context<'_>, set: NodeSet) {
        if let Flood::Listening { reached, left, .. } | Flood::Waiting { reached, left, .. } = &mut self.flood
            && !is_news(cx, *left)
        {
            *reached = reached.with(set);
        }
    }

    fn message(&self, cx: &Context<'_>) -> Option<LeaderMessage> {
        let (leader, age) = match &self.belief {
            Belief::Vacant { .. } => return None,
            Belief::Leading { leader, .. } => (leader, 0),
            Belief::Following { leader, until, .. } => (leader, age(until.since(cx.now), self.lease(cx, leader))),
        };
        let Leader { term, candidate: leader, runner_up, heartbeat: count } = *leader;
        Some(if count == 0 {
            LeaderMessage::Elected { term, leader, runner_up, age }
        } else {
            LeaderMessage::Heartbeat { term, leader, runner_up, count, age }
        })
    }

    /// Sends the current state again soon, as `set` may have missed it.
    pub(in crate::election) fn inform(&mut self, cx: &Context<'_>, set: NodeSet) {
        // In a crowd many notice at once: it is enough that a few of them answer.
        let company = cx.audience.among(cx.near).len();
        if company >= CROWD && cx.random.checked_rem(company).is_none_or(|draw| draw > ANSWERS_ENOUGH) {
            return;
        }
        // One of a crowd has no slot: it is reached like everybody.
        let set = if set.is_empty() { cx.near } else { set };
        match &mut self.flood {
            Flood::Waiting { .. } => {} // about to be sent anyway
            Flood::Listening { informed, reached, .. } => {
                (*informed, *reached) = (informed.without(set), reached.without(set));
            }
            Flood::Done if matches!(self.belief, Belief::Vacant { .. }) => {}
            Flood::Done => {
                let at = cx.now.after(Self::spread(cx));
                self.flood = Flood::Listening {
                    informed: cx.near.without(set),
                    reached: NodeSet::EMPTY,
                    copies: 0,
                    left: 1,
                    at,
                };
            }
        }
    }
}

/// Returns whether these copies of a message have reached everybody in a crowd: all but those that are `informed` have
/// others near them.
fn is_covered(cx: &Context<'_>, informed: NodeSet, copies: u8) -> bool {
    let listed = cx.near.and(NodeSet::first(LISTED));
    is_crowd(cx) && copies >= COPIES_IN_CROWD && listed.without(informed).without(cx.audience.among(cx.near)).is_empty()
}

/// Returns whether a message that may be sent again so often is news.
fn is_news(cx: &Context<'_>, left: u8) -> bool {
    left > repeats(cx)
}

/// Returns how often a heartbeat is sent again to neighbours that nobody else reaches.
pub(super) fn repeats(cx: &Context<'_>) -> u8 {
    if cx.timing.renews() { cx.timing.reflood_count } else { REPEATS }
}

/// Returns whether a node has more neighbours than it can know to be reached by others.
fn is_crowd(cx: &Context<'_>) -> bool {
    !cx.near.without(NodeSet::first(LISTED)).is_empty() || cx.crowded
}

/// Returns the age of a state that is valid for `left` of a lease, in 1/255 of it.
///
/// Rounded down: a hop takes less than a 255th, and rounding up would age a message by its number of hops.
fn age(left: Duration, lease: Duration) -> u8 {
    let spent = u64::from(lease.minus(left).as_micros()).saturating_mul(u64::from(u8::MAX));
    let share = spent.checked_div(u64::from(lease.as_micros())).unwrap_or(0);
    u8::try_from(share).unwrap_or(u8::MAX)
}
