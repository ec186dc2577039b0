//! The hello message: which nodes its sender receives well.

use crate::base::ids::NodeId;
use crate::wire::FRAME_MAX;
use heapless::Vec;
use serde::{Deserialize, Serialize};

/// Most ids in one hello. A node with more neighbours, or with ids too long for one frame, lists them in turn.
const LISTED_MAX: usize = 32;

/// Most bytes the ids of one hello may take: a frame less the longest header, the tag and the hello's other fields.
const ID_BYTES_MAX: usize = FRAME_MAX - 31;

/// Lists the nodes that the sender receives well.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Whether the list is complete.
    pub complete: bool,
    /// How many ids at the start of the list have not listed the sender yet.
    pub unconfirmed: u8,
    /// The ids.
    pub listed: Vec<NodeId, LISTED_MAX>,
}

impl Hello {
    /// Lists `id`; returns whether there was room.
    pub(super) fn list(&mut self, id: NodeId, confirmed: bool) -> bool {
        let bytes = self.listed.iter().copied().chain([id]).map(encoded_bytes).fold(0, usize::saturating_add);
        if bytes >= ID_BYTES_MAX || self.listed.push(id).is_err() {
            return false;
        }
        if !confirmed {
            let last = self.listed.len().saturating_sub(1);
            if let Ok([first, last]) = self.listed.get_disjoint_mut([usize::from(self.unconfirmed), last]) {
                core::mem::swap(first, last);
            }
            self.unconfirmed = self.unconfirmed.saturating_add(1);
        }
        true
    }
}

/// Returns how many bytes an id takes in a hello.
fn encoded_bytes(NodeId(id): NodeId) -> usize {
    let bits = u32::BITS.saturating_sub(id.leading_zeros()).max(1);
    usize::try_from(bits.div_ceil(7)).unwrap_or(5)
}
