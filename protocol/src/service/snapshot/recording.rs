//! A snapshot in progress at one node.

use super::CHANNEL_BYTES_MAX;
use super::message::{Fragment, Id};
use crate::algorithm::Context;
use crate::base::ids::NodeSet;
use crate::base::time::Instant;
use crate::service::application::{CHANNEL_MESSAGE_MAX, ChannelMessage, LocalState};
use heapless::Vec;

/// The progress of an own snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Collection {
    /// Members that have not sent [`super::Message::Done`].
    pub(super) unfinished: NodeSet,
    /// Fragments received from the other members.
    pub(super) received: u32,
    /// Fragments the other members announced in [`super::Message::Done`].
    pub(super) announced: u32,
    /// Fragments of this node.
    pub(super) own: u32,
}

/// The role of a node in a snapshot.
#[expect(clippy::large_enum_variant, reason = "there is no heap to put the larger one on")]
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Role {
    Initiator(Collection),
    Participant {
        /// Part of the local state that is not sent yet; `None` when all is.
        state: Option<LocalState>,
        /// Recorded messages that are not sent yet: of each the slot of its sender, its length, and its bytes.
        messages: Vec<u8, CHANNEL_BYTES_MAX>,
        /// Fragments recorded, sent or not.
        fragments: u16,
        /// Whether a message found no room.
        overflowed: bool,
    },
}

/// A snapshot in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Recording {
    pub(super) id: Id,
    pub(super) members: NodeSet,
    /// Whether the marker is not sent yet.
    pub(super) marker_due: bool,
    /// Members whose marker has not arrived.
    pub(super) open_channels: NodeSet,
    pub(super) until: Instant,
    pub(super) role: Role,
}

impl Recording {
    /// Returns the collection of an own snapshot of which all markers and fragments have arrived.
    pub(super) fn whole_collection(&self) -> Option<&Collection> {
        match &self.role {
            Role::Initiator(collection) if collection.unfinished.is_empty() && self.open_channels.is_empty() => {
                Some(collection)
            }
            Role::Initiator(_) | Role::Participant { .. } => None,
        }
    }
}

/// Takes the next fragment off a state.
pub(super) fn pop_state(state: &mut Option<LocalState>) -> Option<Fragment> {
    let rest = state.as_mut()?;
    let (head, tail) = rest.split_at_checked(CHANNEL_MESSAGE_MAX).unwrap_or((rest, &[]));
    let bytes = ChannelMessage::from_slice(head).ok()?;
    let tail = LocalState::from_slice(tail).ok().filter(|tail| !tail.is_empty());
    let last = tail.is_none();
    *state = tail;
    Some(Fragment::State { last, bytes })
}

/// Takes the next fragment off the recorded messages.
pub(super) fn pop_message(cx: &Context<'_>, messages: &mut Vec<u8, CHANNEL_BYTES_MAX>) -> Option<Fragment> {
    let (&slot, rest) = messages.split_first()?;
    let (&len, rest) = rest.split_first()?;
    let bytes = ChannelMessage::from_slice(rest.get(..usize::from(len))?).ok()?;
    let mut skip = usize::from(len).saturating_add(2);
    messages.retain(|_| {
        let keep = skip == 0;
        skip = skip.saturating_sub(1);
        keep
    });
    let from = cx.roster.ids_of(NodeSet::slot(usize::from(slot))).next()?;
    Some(Fragment::Message { from, bytes })
}
