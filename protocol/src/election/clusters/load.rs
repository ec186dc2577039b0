//! How many clients a super-peer has, and which of them go elsewhere where these are too many.
//!
//! Every eighth beacon counts: nodes report to the neighbour it came from, the farthest first, and each adds up what it
//! receives. The next beacons say the sum. Of a super-peer's clients beyond the limit as many go to another one with
//! room, each by a throw of dice; where a node hears none, the best such node serves, and stays while both are needed.

use super::heard::Heard;
use super::tier::Tier;
use super::{Message, Out};
use crate::algorithm::{Context, OUTPUTS_MAX};
use crate::base::capacity::Candidate;
use crate::base::ids::NodeId;
use crate::base::rng::jitter;
use crate::base::time::Instant;

/// Which beacons count the clients: these of every [`COUNT_EVERY`].
const COUNT_AT: u32 = 4;
const COUNT_EVERY: u32 = 8;
/// With which beacon clients of a super-peer that has too many decide whether they go elsewhere: two after it counted.
const SHED_AT: u32 = 6;

/// Of so many clients that left a super-peer, less one, one may return with each beacon that says that it has few.
const RETURN_DICE: u32 = 3;

/// Clients that have reported, and when the sum is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Tally {
    sum: u16,
    pub(super) at: Option<Instant>,
}

impl Tally {
    pub(super) const NONE: Self = Self { sum: 0, at: None };
}

/// Returns the place of a beacon among those of which one counts.
const fn phase(count: u32) -> u32 {
    count & COUNT_EVERY.saturating_sub(1)
}

impl<const HEARD: usize> Tier<HEARD> {
    /// Returns whether a super-peer has more clients than it may.
    pub(super) fn is_full(&self, heard: &Heard) -> bool {
        self.limit.is_some_and(|limit| heard.load > limit.get())
    }

    /// Returns whether the clients of two super-peers are too many for one.
    pub(super) fn are_both_needed(&self, one: &Heard, other: &Heard) -> bool {
        self.limit.is_some_and(|limit| one.load.saturating_add(other.load) > limit.get())
    }

    /// Starts to count the own clients, where the beacon just sent says so.
    pub(super) fn start_count(&mut self, cx: &Context<'_>) {
        let (limited, horizon) = (self.limit.is_some(), u32::from(self.horizon()));
        let Some(own) = self.entry(cx.me).filter(|own| limited && phase(own.count) == COUNT_AT) else { return };
        let (_, rounds) = (own, horizon.saturating_add(1));
        self.tally = Tally { sum: 0, at: Some(cx.now.after(cx.timing.heartbeat.mul_ratio(1, 2).times(rounds))) };
    }

    /// Returns whether a super-peer has no room for this node.
    pub(super) fn is_closed(&self, heard: &Heard) -> bool {
        heard.avoided || self.is_full(heard)
    }

    /// Reports to the super-peer this node follows, or leaves it, where its new beacon says so. One that it left is open to it
    /// again, by a throw of dice, once that has few clients.
    pub(super) fn on_load(&mut self, cx: &Context<'_>, id: NodeId, count: u32) {
        let relaxed = self.limit.map_or(0, |limit| limit.get() >> 1);
        let due = phase(count) == SHED_AT && cx.random & RETURN_DICE == 0;
        if let Some(left) = self.entry(id).filter(|heard| due && heard.load <= relaxed) {
            left.avoided = false;
        }
        let Some((limit, followed)) = self.limit.zip(self.followed().copied().filter(|heard| heard.id() == id)) else {
            return;
        };
        if phase(count) == COUNT_AT {
            let before = u32::from(self.horizon().saturating_sub(followed.hops));
            let wait = cx.timing.heartbeat.mul_ratio(1, 2).times(before);
            let at = cx.now.after(wait.plus(jitter(cx.timing.heartbeat.mul_ratio(1, 4), cx.random)));
            self.tally = Tally { sum: 1, at: Some(at) };
        }
        let excess = u32::from(followed.load.saturating_sub(limit.get()));
        let chosen = cx.random.checked_rem(u32::from(followed.load)).is_some_and(|dice| dice < excess);
        let open = |other: &Heard| other.id() != id && !self.is_closed(other);
        let leaves = phase(count) == SHED_AT && chosen && self.others().any(open);
        if let Some(heard) = self.entry(id).filter(|_| leaves) {
            heard.avoided = true;
        }
    }

    /// Adds clients that report over a neighbour, or passes them on.
    pub(super) fn on_report(&mut self, cx: &Context<'_>, by: NodeId, clients: u16, hops: u8, out: &mut Out) {
        let counted = if by == cx.me { self.serves() } else { self.followed().is_some_and(|heard| heard.id() == by) };
        if counted && self.tally.at.is_some() {
            self.tally.sum = self.tally.sum.saturating_add(clients);
        } else if let Some(hops) = hops.checked_sub(1).filter(|_| by != cx.me) {
            self.send_report(cx, by, clients, hops, out);
        }
    }

    fn send_report(&mut self, cx: &Context<'_>, by: NodeId, clients: u16, hops: u8, out: &mut Out) {
        let [nonce, ..] = cx.random.to_le_bytes();
        if let Some(heard) = self.entry(by) {
            out.send(heard.via, Message::Report { by, clients, hops, nonce });
        }
    }

    /// Passes the sum on, or says it from now on.
    pub(super) fn poll_tally(&mut self, cx: &Context<'_>, out: &mut Out) {
        if self.tally.at.is_none_or(|at| at > cx.now) || out.outputs().len() > OUTPUTS_MAX / 2 {
            return; // it is not due, or stays so
        }
        let (sum, hops) = (self.tally.sum, self.horizon());
        self.tally = Tally::NONE;
        if self.serves() {
            if let Some(own) = self.entry(cx.me) {
                own.load = u8::try_from(sum).unwrap_or(u8::MAX);
            }
        } else if let Some(by) = self.followed().map(Heard::id) {
            self.send_report(cx, by, sum, hops, out);
        }
    }
}

/// Returns how much a node prefers a super-peer among those as near, at random but always the same. Of many nodes each
/// super-peer is preferred by its share of all capacities (weighted rendezvous hashing: D. Thaler, C. Ravishankar, IEEE/ACM
/// Transactions on Networking 1998).
pub(super) fn share(me: NodeId, super_peer: Candidate) -> u32 {
    let mut hash = me.0.wrapping_mul(0x9E37_79B1) ^ super_peer.id.0.wrapping_mul(0x85EB_CA6B);
    for factor in [0x7FEB_352D, 0x846C_A68B] {
        hash = (hash ^ hash >> 15).wrapping_mul(factor);
    }
    hash = (hash ^ hash >> 16).max(1);
    // The binary logarithm of a number drawn from 0 to 1, negated, in 1/65536: whole places, and the rest in a straight line.
    let places = hash.leading_zeros();
    let rest = hash.wrapping_shl(places) >> 15 & 0xFFFF;
    let logarithm = places.saturating_add(1).wrapping_shl(16).saturating_sub(rest).max(1);
    let weight = u64::from(super_peer.capacity.get()).saturating_add(1) << 18;
    u32::try_from(weight.checked_div(u64::from(logarithm)).unwrap_or(0)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::share;
    use crate::base::capacity::{Candidate, Capacity};
    use crate::base::ids::NodeId;

    /// How many of 3,000 nodes prefer the first of two super-peers with these capacities.
    fn preferred(first: u16, second: u16) -> usize {
        let candidate = |capacity, id| Candidate { capacity: Capacity::new(capacity), id: NodeId(id) };
        let [first, second] = [candidate(first, 7), candidate(second, 8)];
        (100..3_100).filter(|&me| share(NodeId(me), first) > share(NodeId(me), second)).count()
    }

    #[test]
    fn p1_super_peers_as_near_share_the_nodes_by_their_capacities() {
        for (first, second, expected) in [(5_000, 5_000, 1_500), (6_000, 3_000, 2_000), (1_000, 9_000, 300)] {
            let got = preferred(first, second);
            assert!(got.abs_diff(expected) < 150, "{first} to {second}: {got} of 3,000");
        }
    }
}
