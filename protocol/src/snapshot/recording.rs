//! What a node keeps of a snapshot it takes part in.

use super::ITEMS_BYTES;
use super::message::{Id, Part};
use crate::algorithm::Context;
use crate::application::{ITEM_MAX, Item, Record};
use crate::group::NodeSet;
use crate::time::Instant;
use heapless::Vec;

/// What a node does for a snapshot.
#[expect(clippy::large_enum_variant, reason = "there is no heap to put the larger one on")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    /// It began it.
    Initiator {
        /// Those that have not said that they are done.
        missing: NodeSet,
        /// The pieces told, its own not counted.
        heard: u32,
        /// The pieces the others say there were.
        named: u32,
        /// Its own pieces.
        own: u32,
    },
    /// Another did.
    Guest {
        /// What is left to be sent of its state; `None` when all was.
        record: Option<Record>,
        /// The messages left to be sent: for each the slot of its writer, its length, and its bytes.
        items: Vec<u8, ITEMS_BYTES>,
        /// The pieces recorded, sent or not.
        parts: u16,
        /// Whether one found no room.
        overflown: bool,
    },
}

/// A snapshot this node takes part in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Recording {
    pub(super) id: Id,
    pub(super) members: NodeSet,
    /// Whether the marker is still to be said.
    pub(super) silent: bool,
    /// Those whose marker has not come.
    pub(super) open: NodeSet,
    pub(super) until: Instant,
    pub(super) role: Role,
}

impl Recording {
    /// Whether it is an own one of which everything is here.
    pub(super) fn is_whole(&self) -> bool {
        let Role::Initiator { missing, .. } = self.role else { return false };
        missing.is_empty() && self.open.is_empty()
    }
}

/// Takes the next piece off a state.
pub(super) fn next_of_state(record: &mut Option<Record>) -> Option<Part> {
    let rest = record.as_mut()?;
    let (piece, left) = rest.split_at_checked(ITEM_MAX).unwrap_or((rest, &[]));
    let bytes = Item::from_slice(piece).ok()?;
    let left = Record::from_slice(left).ok().filter(|left| !left.is_empty());
    let last = left.is_none();
    *record = left;
    Some(Part::State { last, bytes })
}

/// Takes the next piece off the messages.
pub(super) fn next_of_items(cx: &Context<'_>, items: &mut Vec<u8, ITEMS_BYTES>) -> Option<Part> {
    let (&slot, rest) = items.split_first()?;
    let (&len, rest) = rest.split_first()?;
    let bytes = Item::from_slice(rest.get(..usize::from(len))?).ok()?;
    let mut skip = usize::from(len).saturating_add(2);
    items.retain(|_| {
        let keep = skip == 0;
        skip = skip.saturating_sub(1);
        keep
    });
    let from = cx.roster.ids_of(NodeSet::slot(usize::from(slot))).next()?;
    Some(Part::Message { from, bytes })
}
