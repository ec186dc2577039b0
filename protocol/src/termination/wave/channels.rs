//! How many messages of the application went from each member to this one, and back.

use super::message::Sums;
use crate::algorithm::Context;
use crate::group::NodeSet;

/// How it stands with one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Channel {
    sent: u32,
    heard: u32,
    /// The boot of the member that this was heard in.
    boot: u32,
}

/// How it stands with each member, in a group of at most `N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Channels<const N: usize>([Channel; N]);

impl<const N: usize> Channels<N> {
    /// Nothing was sent or heard.
    pub(super) const fn new() -> Self {
        Self([Channel { sent: 0, heard: 0, boot: 0 }; N])
    }

    /// A message was sent to these.
    pub(super) fn send(&mut self, to: NodeSet) {
        for slot in to.slots() {
            if let Some(channel) = self.0.get_mut(slot) {
                channel.sent = channel.sent.wrapping_add(1);
            }
        }
    }

    /// A message of this member was heard.
    pub(super) fn hear(&mut self, from: Option<usize>) {
        if let Some(channel) = from.and_then(|slot| self.0.get_mut(slot)) {
            channel.heard = channel.heard.wrapping_add(1);
        }
    }

    /// This member says how many it has sent in its present boot, heard or not.
    pub(super) fn mend(&mut self, from: Option<usize>, boot: u32, count: u32) {
        if let Some(channel) = from.and_then(|slot| self.0.get_mut(slot)) {
            (channel.boot, channel.heard) = (boot, count);
        }
    }

    /// How many were sent to this member.
    pub(super) fn sent(&self, slot: usize) -> Option<u32> {
        self.0.get(slot).map(|channel| channel.sent)
    }

    /// What this node has sent in this boot and heard.
    pub(super) fn sums(&self, cx: &Context<'_>, incarnation: u32, job: u32) -> Sums {
        let me = cx.roster.slot_of(cx.me).unwrap_or(0);
        let covered = cx.roster.set_of(cx.me);
        let mut sums = Sums { covered, sent: 0, heard: 0, job };
        for slot in cx.roster.all().without(covered).slots() {
            let Some(channel) = self.0.get(slot) else { continue };
            sums.sent = sums.sent.wrapping_add(digest(me, slot, incarnation, channel.sent));
            sums.heard = sums.heard.wrapping_add(digest(slot, me, channel.boot, channel.heard));
        }
        sums
    }
}

/// A number for how many messages went from one member to another.
fn digest(from: usize, to: usize, boot: u32, count: u32) -> u64 {
    let small = |slot: usize| u64::try_from(slot).unwrap_or(u64::MAX);
    let seed =
        (u64::from(boot) << 32 | u64::from(count)) ^ (small(from) << 6 | small(to)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let z = (seed ^ seed >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ z >> 31
}
