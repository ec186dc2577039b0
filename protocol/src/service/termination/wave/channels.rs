//! Counts of the application's messages to and from each member.

use super::message::Sums;
use crate::algorithm::Context;
use crate::base::ids::NodeSet;

/// The counts for one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Channel {
    sent: u32,
    received: u32,
    /// The incarnation of the member in which it sent the messages received.
    incarnation: u32,
}

/// The counts for each member, in a group of at most `N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Channels<const N: usize>([Channel; N]);

impl<const N: usize> Channels<N> {
    pub(super) const fn new() -> Self {
        Self([Channel { sent: 0, received: 0, incarnation: 0 }; N])
    }

    pub(super) fn on_sent(&mut self, to: NodeSet) {
        for slot in to.slots() {
            if let Some(channel) = self.0.get_mut(slot) {
                channel.sent = channel.sent.wrapping_add(1);
            }
        }
    }

    pub(super) fn on_received(&mut self, from: Option<usize>) {
        if let Some(channel) = from.and_then(|slot| self.0.get_mut(slot)) {
            channel.received = channel.received.wrapping_add(1);
        }
    }

    /// Sets the count of messages received from this member to the number it has sent in `incarnation`.
    pub(super) fn resync(&mut self, from: Option<usize>, incarnation: u32, sent: u32) {
        if let Some(channel) = from.and_then(|slot| self.0.get_mut(slot)) {
            (channel.incarnation, channel.received) = (incarnation, sent);
        }
    }

    pub(super) fn sent(&self, slot: usize) -> Option<u32> {
        self.0.get(slot).map(|channel| channel.sent)
    }

    pub(super) fn sums(&self, cx: &Context<'_>, incarnation: u32, job: u32) -> Sums {
        let me = cx.roster.slot_of(cx.me).unwrap_or(0);
        let covered = cx.roster.set_of(cx.me);
        let mut sums = Sums { covered, sent: 0, received: 0, job };
        for slot in cx.roster.all().without(covered).slots() {
            let Some(channel) = self.0.get(slot) else { continue };
            sums.sent = sums.sent.wrapping_add(digest(me, slot, incarnation, channel.sent));
            sums.received = sums.received.wrapping_add(digest(slot, me, channel.incarnation, channel.received));
        }
        sums
    }
}

/// Returns a digest of the count of messages from one member to another.
fn digest(from: usize, to: usize, incarnation: u32, count: u32) -> u64 {
    let small = |slot: usize| u64::try_from(slot).unwrap_or(u64::MAX);
    let seed = (u64::from(incarnation) << 32 | u64::from(count))
        ^ (small(from) << 6 | small(to)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (seed ^ seed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}
