//! Flooding of messages about the leader: sent, overheard, sent again.

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
    /// In a crowd, about to relay the message at `at`, unless enough neighbours have by then.
    Waiting { informed: NodeSet, at: Instant },
    /// Waiting for neighbours to relay the message. `informed` have; it is sent again at `at`, at most `left` times.
    Listening { informed: NodeSet, left: u8, at: Instant },
}

/// How many copies of a message are enough in a crowd.
const COPIES_ENOUGH: u32 = 3;

/// When a follower in a crowd misses the next heartbeat: it may have been in nobody's mind.
pub(super) fn ask_at(cx: &Context<'_>) -> Option<Instant> {
    (cx.near.len() >= CROWD).then(|| cx.now.after(cx.timing.heartbeat.mul_ratio(3, 2)))
}

impl Leadership {
    /// Relays the current state, which `informed` have. In a crowd a heartbeat is relayed only if few others do, but the
    /// announcement of an election by all, once.
    pub(super) fn relay<M: From<LeaderMessage>>(
        &mut self,
        cx: &Context<'_>,
        informed: NodeSet,
        heartbeat: u32,
        out: &mut Out<M>,
    ) {
        if cx.near.len() < CROWD {
            return self.flood(cx, informed, cx.timing.reflood_count, out);
        }
        if heartbeat == 0 {
            return self.flood(cx, informed, 0, out);
        }
        let window = cx.timing.contention_window(cx.near.len());
        self.flood = Flood::Waiting { informed, at: cx.now.after(jitter(window, cx.random)) };
    }

    /// Sends the message again, or for the first time, where it is due.
    pub(super) fn on_flood_timeout<M: From<LeaderMessage>>(&mut self, cx: &Context<'_>, out: &mut Out<M>) {
        match self.flood {
            Flood::Waiting { informed, at } if at <= cx.now => {
                self.flood = Flood::Done;
                if informed.len() < COPIES_ENOUGH {
                    self.flood(cx, informed, 0, out);
                }
            }
            Flood::Listening { informed, left, at } if at <= cx.now => {
                if cx.near.without(informed).is_empty() {
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
        self.flood = match left {
            0 => Flood::Done,
            left => Flood::Listening { informed, left, at: cx.now.after(Self::relay_timeout(cx)) },
        };
    }

    /// Returns how long the neighbours may take to relay a message.
    fn relay_timeout(cx: &Context<'_>) -> Duration {
        cx.timing.reflood_interval.plus(cx.timing.contention_window(cx.near.len()))
    }

    /// Records that neighbours relayed the current state.
    pub(super) fn on_relayed(&mut self, set: NodeSet) {
        if let Flood::Listening { informed, .. } | Flood::Waiting { informed, .. } = &mut self.flood {
            *informed = informed.with(set);
        }
    }

    fn message(&self, cx: &Context<'_>) -> Option<LeaderMessage> {
        let (leader, age) = match &self.belief {
            Belief::Vacant { .. } => return None,
            Belief::Leading { leader, .. } => (leader, 0),
            Belief::Following { leader, until, .. } => (leader, age(cx, *until)),
        };
        let Leader { term, candidate: leader, runner_up, heartbeat: count } = *leader;
        Some(if count == 0 {
            LeaderMessage::Elected { term, leader, runner_up, age }
        } else {
            LeaderMessage::Heartbeat { term, leader, count, age }
        })
    }

    /// Sends the current state again soon, as `set` may have missed it.
    pub(in crate::election) fn inform(&mut self, cx: &Context<'_>, set: NodeSet) {
        // In a crowd many notice at once: it is enough that a few of them answer.
        if cx.near.len() >= CROWD && cx.random.checked_rem(cx.near.len()).is_none_or(|draw| draw > COPIES_ENOUGH) {
            return;
        }
        match &mut self.flood {
            Flood::Waiting { .. } => {} // about to be sent anyway
            Flood::Listening { informed, .. } => *informed = informed.without(set),
            Flood::Done if matches!(self.belief, Belief::Vacant { .. }) => {}
            Flood::Done => {
                let at = cx.now.after(Self::relay_timeout(cx));
                self.flood = Flood::Listening { informed: cx.near.without(set), left: 1, at };
            }
        }
    }
}

/// Returns the age of a state that is valid until `until`, in 1/255 of the lease.
///
/// Rounded down: a hop takes less than a 255th, and rounding up would age a message by its number of hops.
fn age(cx: &Context<'_>, until: Instant) -> u8 {
    let lease = cx.timing.lease();
    let spent = u64::from(lease.minus(until.since(cx.now)).as_micros()).saturating_mul(u64::from(u8::MAX));
    let share = spent.checked_div(u64::from(lease.as_micros())).unwrap_or(0);
    u8::try_from(share).unwrap_or(u8::MAX)
}
