//! The hello message: which nodes its sender receives well.

use crate::base::ids::NodeId;
use crate::wire::{FRAME_MAX, Origin, encoded_bytes};
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// Most ids in one hello. A node with more neighbours, or with ids too long for one frame, lists them in turn.
const LISTED_MAX: usize = 32;

/// Most bytes the ids of one hello may take: a frame less the longest header, the tag and the hello's other fields.
const ID_BYTES_MAX: usize = FRAME_MAX - 35;

/// Lists the nodes that the sender receives well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Whether the list is complete.
    pub complete: bool,
    /// How many of the named ones have not listed the sender yet, or not its present boot; they stand first.
    pub waiting: u8,
    /// How many of the named ones, the last, are guests: the sender's table has no slot for them.
    pub guests: u8,
    /// Those that wait or are waited for, and guests, each in the boot it was received in.
    pub named: Vec<Origin, LISTED_MAX>,
    /// The others.
    pub listed: Vec<NodeId, LISTED_MAX>,
}

impl Hello {
    /// Lists a node. It is named by its boot where it `asks` for that, or where the sender `waits` to be listed by it.
    /// Returns whether there was room.
    pub(super) fn list(&mut self, node: Origin, asks: bool, waits: bool) -> bool {
        if !self.has_room_for(node, asks || waits) {
            return false;
        }
        if !asks && !waits {
            return self.listed.push(node.id).is_ok();
        }
        let last = self.named.len();
        if self.named.push(node).is_err() {
            return false;
        }
        if waits {
            if let Ok([first, last]) = self.named.get_disjoint_mut([usize::from(self.waiting), last]) {
                core::mem::swap(first, last);
            }
            self.waiting = self.waiting.saturating_add(1);
        }
        true
    }

    /// Names a guest, after all others; returns whether there was room.
    pub(super) fn list_guest(&mut self, guest: Origin) -> bool {
        let listed = self.has_room_for(guest, true) && self.named.push(guest).is_ok();
        self.guests = self.guests.saturating_add(listed.into());
        listed
    }

    fn has_room_for(&self, node: Origin, by_boot: bool) -> bool {
        let bytes = self.named.iter().flat_map(|named| [named.id.0, named.incarnation]);
        let bytes = bytes.chain(self.listed.iter().map(|id| id.0)).chain([node.id.0]);
        let more = if by_boot { encoded_bytes(node.incarnation) } else { 0 };
        bytes.map(encoded_bytes).fold(more, usize::saturating_add) < ID_BYTES_MAX
    }
}
