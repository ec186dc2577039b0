//! The super-peers a node hears, itself included where it serves: how far they are, over whom, and what is to be relayed.

use crate::algorithm::Context;
use crate::base::capacity::Candidate;
use crate::base::config::Timing;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::rng::jitter;
use crate::base::term::Term;
use crate::base::time::{Duration, Instant, earliest};

/// From which beacon on a super-peer is an incumbent.
pub(super) const INCUMBENT_AFTER: u32 = 8;

/// How often the interval between beacons doubles while nothing changes.
pub(super) const PACE_MAX: u8 = 2;

/// The same for the one that serves the whole network: its beacons reach every node.
pub(super) const PACE_MAX_EVERYWHERE: u8 = 3;

/// The pace of a super-peer that leaves its clients to a better one, and serves until they have another: it does not double
/// its interval.
pub(super) const LEAVING: u8 = u8::MAX;

/// How many heartbeats a node waits for a beacon that is due, and asks for it, before the super-peer counts as lost.
const GRACE_HEARTBEATS: u32 = 2;

/// How many copies of a beacon silence a node that has several neighbours.
const COPIES_ENOUGH: u8 = 2;

/// How many beacons in a row the parent may miss before another neighbour takes its place.
const PARENT_MISSES_MAX: u8 = 2;

/// From how many beacons in a row on a super-peer is heard steadily.
pub(super) const STEADY: u8 = 2;

/// Progress of a beacon at this node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Relay {
    /// Nobody misses it, or it was sent often enough.
    Done,
    /// To be sent at `at`, unless enough `copies` were received and no neighbour is `missing` it.
    Waiting { at: Instant, missing: NodeSet, copies: u8 },
    /// To be sent at `at`, as a neighbour asked for it or is new, unless enough `copies` were received since.
    Answering { at: Instant, copies: u8 },
    /// Sent, and again at `at` while neighbours are `missing` it, at most `left` times.
    Sent { at: Instant, missing: NodeSet, left: u8 },
}

/// What a super-peer was last known to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Status {
    /// It serves.
    Serves,
    /// It said that it serves no more.
    Resigned,
    /// Its beacons are missing.
    Lost,
}

/// One super-peer, by its last beacon.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Heard {
    /// The super-peer as it counts: an incumbent's eighth is included.
    pub(super) candidate: Candidate,
    /// The number of its term.
    pub(super) number: u32,
    /// The number of its beacon.
    pub(super) count: u32,
    /// When it counts as lost.
    pub(super) until: Instant,
    /// When this node asks for its next beacon, having missed it.
    ask: Instant,
    /// The neighbour its beacons come from.
    pub(super) via: NodeSet,
    pub(super) relay: Relay,
    /// How far it is; 0 where it is this node.
    pub(super) hops: u8,
    /// How often its interval has doubled.
    pub(super) pace: u8,
    /// How many of its beacons were received in a row, up to [`STEADY`].
    pub(super) steady: u8,
    /// How many of its beacons in a row did not come from `via`.
    missed: u8,
    pub(super) status: Status,
    /// How many clients it has, by its own count, up to 255.
    pub(super) load: u8,
    /// It has too many clients, and this node is one of those that go elsewhere.
    pub(super) avoided: bool,
}

/// Returns the interval between beacons.
pub(super) fn interval(timing: &Timing, pace: u8) -> Duration {
    let doublings = if pace == LEAVING { 0 } else { pace.min(PACE_MAX_EVERYWHERE) };
    timing.heartbeat.times(1_u32.wrapping_shl(u32::from(doublings))).min(timing.heartbeat_max)
}

/// Returns how long a beacon counts: until some time after the next one, in which the node asks for it. Where the interval
/// has not doubled yet, the ones after that may replace it.
pub(super) fn lease(timing: &Timing, pace: u8) -> Duration {
    if pace == 0 || pace == LEAVING {
        return timing.lease();
    }
    interval(timing, pace).plus(timing.heartbeat.times(GRACE_HEARTBEATS))
}

/// Returns when the next beacon of a super-peer counts as missed, that is lost at `until`.
fn ask_at(cx: &Context<'_>, until: Instant, pace: u8) -> Instant {
    let asked = lease(cx.timing, pace).minus(interval(cx.timing, pace)).minus(cx.timing.heartbeat.mul_ratio(1, 2));
    until.before(asked).max(cx.now).after(jitter(cx.timing.heartbeat.mul_ratio(1, 4), cx.random))
}

/// Returns the time over which neighbours spread their relays.
fn window(cx: &Context<'_>) -> Duration {
    cx.timing.contention_window(cx.near.len())
}

/// A beacon as it is received: the super-peer, its term, and how long it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) candidate: Candidate,
    pub(super) number: u32,
    pub(super) count: u32,
    pub(super) pace: u8,
    /// How far the super-peer is over the sender.
    pub(super) hops: u8,
    pub(super) left: Duration,
    pub(super) load: u8,
}

impl Heard {
    /// Creates the entry of a super-peer that was not known.
    pub(super) fn new(cx: &Context<'_>, from: NodeSet, beacon: &Received) -> Self {
        let &Received { candidate, number, count, pace, hops, left, load } = beacon;
        let until = cx.now.after(left);
        let ask = ask_at(cx, until, pace);
        let (relay, missed, status) = (Relay::Done, 0, Status::Serves);
        let (via, steady, avoided) = (from, 1, false);
        Self { candidate, number, count, until, ask, via, relay, hops, pace, steady, missed, status, load, avoided }
    }

    pub(super) const fn id(&self) -> NodeId {
        self.candidate.id
    }

    pub(super) const fn term(&self) -> Term {
        Term { number: self.number, by: self.candidate.id }
    }

    pub(super) fn serves(&self) -> bool {
        self.status == Status::Serves
    }

    /// Returns whether it leaves its clients to a better one.
    pub(super) const fn is_leaving(&self) -> bool {
        self.pace == LEAVING
    }

    pub(super) const fn is_incumbent(&self) -> bool {
        self.count >= INCUMBENT_AFTER
    }

    /// Takes over a newer beacon.
    pub(super) fn renew(&mut self, cx: &Context<'_>, from: NodeSet, beacon: &Received) {
        let &Received { candidate, number, count, pace, hops, left, load } = beacon;
        let in_a_row = self.serves() && number == self.number && count.saturating_sub(self.count) <= 2;
        self.steady = if in_a_row { self.steady.saturating_add(1).min(STEADY) } else { 1 };
        (self.candidate, self.number, self.count, self.pace, self.load) = (candidate, number, count, pace, load);
        self.until = cx.now.after(left);
        self.ask = ask_at(cx, self.until, pace);
        let parent = self.via == from;
        let nearer = hops < self.hops;
        if parent || nearer || !self.serves() || self.via.is_empty() || self.missed >= PARENT_MISSES_MAX {
            (self.via, self.hops, self.missed) = (from, hops, 0);
        } else {
            self.missed = self.missed.saturating_add(1);
        }
        self.status = Status::Serves;
    }

    /// Takes in another copy of the last beacon, over a sender `hops` less one from the super-peer.
    pub(super) fn on_copy(&mut self, cx: &Context<'_>, from: NodeSet, hops: u8) {
        if hops <= self.hops.saturating_add(1) {
            self.on_echo(cx, from);
        } else {
            self.on_informed(from, 0);
        }
        if self.via == from {
            (self.hops, self.missed) = (hops, 0);
        } else if hops < self.hops || self.via.is_empty() {
            (self.via, self.hops, self.missed) = (from, hops, 0);
        }
    }

    /// Takes in the relay of this node's own beacon by a neighbour.
    pub(super) fn on_echo(&mut self, cx: &Context<'_>, from: NodeSet) {
        self.on_informed(from.with(cx.audience.of(from)), 1);
    }

    fn on_informed(&mut self, set: NodeSet, more: u8) {
        match &mut self.relay {
            Relay::Done => {}
            Relay::Waiting { missing, copies, .. } => {
                (*missing, *copies) = (missing.without(set), copies.saturating_add(more).min(COPIES_ENOUGH));
            }
            Relay::Answering { copies, .. } => *copies = copies.saturating_add(more).min(COPIES_ENOUGH),
            Relay::Sent { missing, .. } => *missing = missing.without(set),
        }
    }

    /// Plans to relay what just came from `from`: the sooner the more neighbours nobody else has reached.
    pub(super) fn relay_soon(&mut self, cx: &Context<'_>, from: NodeSet) {
        let reached = from.with(cx.audience.of(from));
        let (near, window) = (cx.near.with(from), window(cx));
        let wait = window.times(2).mul_ratio(near.and(reached).len(), near.len()).plus(jitter(window, cx.random));
        self.relay = Relay::Waiting { at: cx.now.after(wait), missing: cx.near.without(reached), copies: 1 };
    }

    /// Plans to send the last beacon again, as a neighbour missed it. Those that others are said to reach are answered all
    /// the same: it is across their bad links that beacons are missed.
    pub(super) fn inform(&mut self, cx: &Context<'_>) {
        let open = match self.relay {
            Relay::Answering { .. } => true,
            Relay::Done | Relay::Waiting { .. } | Relay::Sent { .. } => false,
        };
        if self.status == Status::Lost || open {
            return; // if it is up, others have newer beacons
        }
        let window = window(cx);
        self.relay = Relay::Answering { at: cx.now.after(jitter(window.times(2), cx.random)), copies: 0 };
    }

    /// Records that the beacon is sent now, and plans `left` repetitions.
    pub(super) fn on_sent(&mut self, cx: &Context<'_>, missing: NodeSet, left: u8) {
        let window = window(cx);
        let at = cx.now.after(cx.timing.reflood_interval.plus(window).plus(jitter(window, cx.random)));
        self.relay = if left == 0 { Relay::Done } else { Relay::Sent { at, missing, left } };
    }

    /// Returns whether the beacon is to be sent now, and if so plans the next time; `repeats` after the first. One that is
    /// `needed` is sent however many others are said to have reached the neighbours.
    pub(super) fn poll_relay(&mut self, cx: &Context<'_>, repeats: u8, needed: bool) -> bool {
        let (missing, enough, left) = match self.relay {
            Relay::Waiting { at, missing, copies } if at <= cx.now => {
                let enough = u32::from(copies) >= u32::from(COPIES_ENOUGH).min(cx.near.len());
                (missing, enough && !needed, repeats)
            }
            Relay::Answering { at, copies } if at <= cx.now => (NodeSet::EMPTY, copies >= COPIES_ENOUGH, 0),
            Relay::Sent { at, missing, left } if at <= cx.now => (missing, true, left.saturating_sub(1)),
            Relay::Done | Relay::Waiting { .. } | Relay::Answering { .. } | Relay::Sent { .. } => return false,
        };
        let missing = missing.and(cx.near);
        if enough && missing.is_empty() {
            self.relay = Relay::Done;
            return false;
        }
        self.on_sent(cx, missing, left);
        true
    }

    /// Returns whether the next beacon is to be asked for now, by sending the last; if so plans the next time.
    pub(super) fn poll_ask(&mut self, cx: &Context<'_>) -> bool {
        let due = self.ask <= cx.now;
        if due {
            let pause = cx.timing.heartbeat.mul_ratio(1, 8);
            self.ask = cx.now.after(pause.plus(jitter(pause, cx.random)));
        }
        due
    }

    /// Removes neighbours whose links are gone.
    pub(super) fn remove_peers(&mut self, set: NodeSet) {
        self.via = self.via.without(set);
        if let Relay::Waiting { missing, .. } | Relay::Sent { missing, .. } = &mut self.relay {
            *missing = missing.without(set);
        }
    }

    /// Returns when the entry changes by itself; `asks`: whether its next beacon is asked for. A node's own is never lost.
    pub(super) fn deadline(&self, asks: bool) -> Option<Instant> {
        let relay = match self.relay {
            Relay::Done => None,
            Relay::Waiting { at, .. } | Relay::Answering { at, .. } | Relay::Sent { at, .. } => Some(at),
        };
        let lost = (self.serves() && self.hops > 0).then_some(self.until);
        earliest(earliest(relay, lost), asks.then_some(self.ask))
    }

    /// Returns how old the last beacon is, in 1/255 of its lease. Rounded down, as a hop takes less than that.
    pub(super) fn age(&self, cx: &Context<'_>) -> u8 {
        let lease = lease(cx.timing, self.pace);
        let spent = u64::from(lease.minus(self.until.since(cx.now)).as_micros()).saturating_mul(u64::from(u8::MAX));
        u8::try_from(spent.checked_div(u64::from(lease.as_micros())).unwrap_or(0)).unwrap_or(u8::MAX)
    }
}
