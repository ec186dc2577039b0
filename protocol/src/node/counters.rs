//! What a node dropped, and why.

use crate::wire::DropReason;

/// How many frames were dropped, by reason. Counts stop at their maximum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Counters {
    /// Longer than any frame.
    pub oversized: u32,
    /// Not of this version.
    pub version: u32,
    /// Broken on the way, forged, or sealed with the key of another group.
    pub tag: u32,
    /// Not to be understood, or out of bounds.
    pub malformed: u32,
    /// Heard before.
    pub duplicate: u32,
    /// From a node that is not known to hear this one.
    pub one_way: u32,
    /// No room for the sender, or for an answer.
    pub crowded: u32,
    /// From an earlier boot of its sender.
    pub outdated: u32,
    /// For an earlier boot of this node, or from a peer that has not named this one.
    pub other_boot: u32,
    /// For somebody else.
    pub not_for_me: u32,
    /// In this node's own name, of another boot: another node has its id, or somebody plays what it sent before a reboot.
    pub same_id: u32,
    /// Of a stage this node does not have.
    pub no_stage: u32,
    /// Own near messages that found no room in the link.
    pub unsent: u32,
}

impl Counters {
    pub(super) fn count(&mut self, reason: DropReason) {
        let counter = match reason {
            DropReason::Oversized => &mut self.oversized,
            DropReason::Version => &mut self.version,
            DropReason::KeyNumber | DropReason::Tag => &mut self.tag,
            DropReason::Malformed | DropReason::OutOfBounds => &mut self.malformed,
            DropReason::Duplicate => &mut self.duplicate,
            DropReason::NotBidirectional => &mut self.one_way,
            DropReason::NoRoom => &mut self.crowded,
            DropReason::EarlierBoot => &mut self.outdated,
            DropReason::NoSession => &mut self.other_boot,
            DropReason::NotForMe => &mut self.not_for_me,
            DropReason::SameId => &mut self.same_id,
            DropReason::UnknownKind => &mut self.no_stage,
        };
        *counter = counter.saturating_add(1);
    }
}
