//! Snapshots: a consistent global state of the application, recorded while it runs.
//!
//! The initiator records its own state and sends a *marker* to all members. A member that receives the first marker of
//! a snapshot does the same at once, before it handles or sends anything else. From then on it records the messages
//! that arrive from each member until that member's marker: these were in flight. States and messages go to the
//! initiator in fragments. The initiator passes each fragment to its application as it arrives, and finally reports
//! that the snapshot is complete or aborted. It stores none of it.
//!
//! # Paper
//! K. M. Chandy, L. Lamport: Distributed Snapshots: Determining Global States of Distributed Systems, ACM TOCS 1985.
//!
//! # Assumes
//! FIFO channels: markers and the application's messages are reliable messages of one stream, so no message is recorded
//! as received that was not recorded as sent. When the link abandons messages to a suspected member, the snapshot
//! aborts.
//!
//! # Messages
//! [`Message::Marker`] to all; [`Message::Fragment`] and [`Message::Done`] to the initiator; [`Message::Abort`] to the
//! initiator and from there to all.
//!
//! # Cost
//! With N members: N (N - 1) markers, sent as one reliable message of each member to all others. From every other
//! member to the initiator: one message for every 32 bytes of its state, one for every message in flight to it, and one
//! at the end.
//!
//! # Departures
//! The paper assumes a fixed set of processes. Here a snapshot covers one view; it aborts with an [`AbortReason`] when
//! the view changes, a member is suspected or restarts, a buffer overflows, or a timeout expires. A snapshot is
//! complete or there is none. Several may run at once: an [`Id`] tells them apart.

use crate::algorithm::{Context, Fact, Outbox};
use crate::base::ids::{NodeId, NodeSet};
use crate::base::time::Instant;
use crate::service::application::{CHANNEL_MESSAGE_MAX, ChannelMessage, LocalState, Recordable};
use heapless::{Deque, Vec};

mod message;
mod recording;

pub use message::{AbortReason, Command, Fragment, Id, Message, Notice};
use recording::{Collection, Recording, Role, pop_message, pop_state};

/// Snapshots a node takes part in at a time; one more is aborted as [`AbortReason::Busy`].
pub const SNAPSHOTS_MAX: usize = 4;
/// Bytes of recorded messages, with two more for each, that wait to be sent to an initiator; beyond them the snapshot
/// is aborted as [`AbortReason::Overflow`].
const CHANNEL_BYTES_MAX: usize = 128;
/// Ended snapshots a node remembers, so that a late marker does not start them again.
const ENDED_MAX: usize = 8;
/// Aborts that wait to be sent; for one that finds no room, the initiator times out.
const ABORTS_MAX: usize = 8;
/// Timeout of an initiator, in leases of the leader; the other members wait twice as long.
const TIMEOUT_LEASES: u32 = 4;

/// An abort that waits to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PendingAbort {
    id: Id,
    reason: AbortReason,
    to: NodeSet,
}

/// The snapshots one node takes part in.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    incarnation: u32,
    number: u32,
    recordings: Vec<Recording, SNAPSHOTS_MAX>,
    aborts: Deque<PendingAbort, ABORTS_MAX>,
    ended: Deque<Id, ENDED_MAX>,
}

type Out = Outbox<Message, Notice>;

impl Snapshot {
    /// Creates the state of a node that takes part in no snapshot.
    #[must_use]
    pub const fn new() -> Self {
        Self { incarnation: 0, number: 0, recordings: Vec::new(), aborts: Deque::new(), ended: Deque::new() }
    }

    pub(super) const fn set_incarnation(&mut self, incarnation: u32) {
        self.incarnation = incarnation;
    }

    /// Returns the number of snapshots this node takes part in.
    #[must_use]
    pub fn in_progress(&self) -> usize {
        self.recordings.len()
    }

    pub(super) fn initiate(&mut self, cx: &Context<'_>, application: &impl Recordable, out: &mut Out) {
        self.number = self.number.saturating_add(1);
        let id = Id { initiator: cx.me, incarnation: self.incarnation, number: self.number };
        match self.record(cx, cx.view, application) {
            Ok(state) => {
                out.notify(Notice::Recorded { id });
                let mut own = 0_u32;
                let mut rest = Some(state);
                while let Some(fragment) = pop_state(&mut rest) {
                    out.notify(Notice::Fragment { id, member: cx.me, fragment });
                    own = own.saturating_add(1);
                }
                let others = cx.view.without(cx.roster.set_of(cx.me));
                let collection = Collection { unfinished: others, received: 0, announced: 0, own };
                self.push(cx, (id, cx.view), others, Role::Initiator(collection));
                self.check_complete(cx, out);
            }
            Err(reason) => {
                self.mark_ended(id);
                out.notify(Notice::Aborted { id, reason });
            }
        }
    }

    /// Records the local state, if this node can take part in a snapshot of `members`.
    fn record(
        &self,
        cx: &Context<'_>,
        members: NodeSet,
        application: &impl Recordable,
    ) -> Result<LocalState, AbortReason> {
        let others = members.without(cx.roster.set_of(cx.me));
        if members != cx.view || others == members {
            return Err(AbortReason::ViewChanged);
        }
        if !others.without(cx.up).is_empty() {
            return Err(AbortReason::Unreachable);
        }
        if self.recordings.is_full() {
            return Err(AbortReason::Busy);
        }
        application.local_state(cx).ok_or(AbortReason::Unsettled)
    }

    fn push(&mut self, cx: &Context<'_>, (id, members): (Id, NodeSet), open_channels: NodeSet, role: Role) {
        let leases = if id.initiator == cx.me { TIMEOUT_LEASES } else { 2 * TIMEOUT_LEASES };
        let until = cx.now.after(cx.timing.lease().times(leases));
        let recording = Recording { id, members, marker_due: true, open_channels, until, role };
        let _ = self.recordings.push(recording); // `record` has checked that there is room
    }

    fn recording(&mut self, id: Id) -> Option<&mut Recording> {
        self.recordings.iter_mut().find(|recording| recording.id == id)
    }

    /// Returns the collection of snapshot `id`, if this node is its initiator and `member` has not finished.
    fn collection(&mut self, id: Id, member: NodeSet) -> Option<&mut Collection> {
        match &mut self.recording(id)?.role {
            Role::Initiator(collection) if collection.unfinished.meets(member) => Some(collection),
            Role::Initiator(_) | Role::Participant { .. } => None,
        }
    }

    /// Records a message of the application that has arrived and is not delivered yet.
    pub(super) fn record_message(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        encoded: impl Fn() -> ChannelMessage,
        out: &mut Out,
    ) {
        let sender = cx.roster.set_of(from);
        let slot = cx.roster.slot_of(from).and_then(|slot| u8::try_from(slot).ok()).unwrap_or(u8::MAX);
        for recording in self.recordings.iter_mut().filter(|recording| recording.open_channels.meets(sender)) {
            let bytes = encoded();
            match &mut recording.role {
                Role::Initiator(Collection { own, .. }) => {
                    *own = own.saturating_add(1);
                    let fragment = Fragment::Message { from, bytes };
                    out.notify(Notice::Fragment { id: recording.id, member: cx.me, fragment });
                }
                Role::Participant { messages, fragments, overflowed, .. } => {
                    *fragments = fragments.saturating_add(1);
                    let len = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
                    let head = messages.extend_from_slice(&[slot, len]);
                    *overflowed |= head.and_then(|()| messages.extend_from_slice(&bytes)).is_err();
                }
            }
        }
        let overflowed = |recording: &Recording| matches!(recording.role, Role::Participant { overflowed: true, .. });
        self.abort(cx, overflowed, AbortReason::Overflow, out);
    }

    pub(super) fn on_message(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        message: Message,
        app: &impl Recordable,
        out: &mut Out,
    ) {
        let sender = cx.roster.set_of(from);
        match message {
            Message::Marker { id, members } => self.on_marker(cx, sender, (id, members), app, out),
            Message::Fragment { incarnation, number, fragment } => {
                let id = Id { initiator: cx.me, incarnation, number };
                if let Some(collection) = self.collection(id, sender) {
                    collection.received = collection.received.saturating_add(1);
                    out.notify(Notice::Fragment { id, member: from, fragment });
                }
            }
            Message::Done { incarnation, number, fragments } => {
                let id = Id { initiator: cx.me, incarnation, number };
                if let Some(collection) = self.collection(id, sender) {
                    collection.unfinished = collection.unfinished.without(sender);
                    collection.announced = collection.announced.saturating_add(u32::from(fragments));
                    self.check_complete(cx, out);
                }
            }
            Message::Abort { id, reason } if id.initiator == cx.me => {
                self.abort(cx, |recording| recording.id == id, reason, out);
            }
            Message::Abort { id, .. } if id.initiator == from => {
                self.recordings.retain(|recording| recording.id != id);
                self.mark_ended(id);
            }
            Message::Abort { .. } => {} // only the initiator aborts at the other members
        }
    }

    fn on_marker(
        &mut self,
        cx: &Context<'_>,
        sender: NodeSet,
        (id, members): (Id, NodeSet),
        application: &impl Recordable,
        out: &mut Out,
    ) {
        if let Some(recording) = self.recording(id) {
            recording.open_channels = recording.open_channels.without(sender);
            self.check_complete(cx, out);
            return;
        }
        if id.initiator == cx.me || self.ended.iter().any(|ended| ended.is_same_or_after(id)) {
            return; // late marker
        }
        match self.record(cx, members, application) {
            Ok(state) => {
                let fragments = u16::try_from(state.len().div_ceil(CHANNEL_MESSAGE_MAX).max(1)).unwrap_or(u16::MAX);
                let others = members.without(cx.roster.set_of(cx.me));
                let role = Role::Participant { state: Some(state), messages: Vec::new(), fragments, overflowed: false };
                self.push(cx, (id, members), others.without(sender), role);
                out.notify(Notice::Recorded { id });
            }
            Err(reason) => {
                self.mark_ended(id);
                self.queue_abort(PendingAbort { id, reason, to: cx.roster.set_of(id.initiator) });
            }
        }
    }

    /// Ends an own snapshot of which all markers and fragments have arrived.
    fn check_complete(&mut self, cx: &Context<'_>, out: &mut Out) {
        let whole = self.recordings.iter().find_map(|recording| Some((recording, recording.whole_collection()?)));
        let Some((&Recording { id, members, .. }, &Collection { received, announced, own, .. })) = whole else {
            return;
        };
        if received != announced {
            self.abort(cx, |recording| recording.id == id, AbortReason::Incomplete, out);
            return;
        }
        self.recordings.retain(|recording| recording.id != id);
        self.mark_ended(id);
        out.notify(Notice::Taken { id, members, fragments: received.saturating_add(own) });
    }

    /// Aborts the snapshots that `concerns` selects.
    fn abort(&mut self, cx: &Context<'_>, concerns: impl Fn(&Recording) -> bool, reason: AbortReason, out: &mut Out) {
        for index in 0..self.recordings.len() {
            let Some(recording) = self.recordings.get(index).filter(|recording| concerns(recording)) else { continue };
            let id = recording.id;
            let to = match recording.role {
                Role::Initiator(_) => {
                    out.notify(Notice::Aborted { id, reason });
                    recording.members.without(cx.roster.set_of(cx.me))
                }
                Role::Participant { .. } => cx.roster.set_of(id.initiator),
            };
            self.queue_abort(PendingAbort { id, reason, to });
            self.mark_ended(id);
        }
        self.recordings.retain(|recording| !concerns(recording));
    }

    fn queue_abort(&mut self, abort: PendingAbort) {
        let _ = self.aborts.push_back(abort); // without it, the initiator times out
    }

    fn mark_ended(&mut self, id: Id) {
        if self.ended.is_full() {
            self.ended.pop_front();
        }
        let _ = self.ended.push_back(id);
    }

    pub(super) fn on_fact(&mut self, cx: &Context<'_>, fact: Fact, out: &mut Out) {
        let (set, reason) = match fact {
            Fact::PeerDown(set) => (set, AbortReason::Unreachable),
            Fact::PeerReset(set) => (set, AbortReason::Restarted),
            Fact::View => {
                return self.abort(cx, |recording| recording.members != cx.view, AbortReason::ViewChanged, out);
            }
            // A member that comes up was down before, or not in the view.
            Fact::PeerUp(_) | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_) => return,
        };
        self.abort(cx, |recording| recording.members.meets(set), reason, out);
    }

    /// Aborts the snapshots whose timeout has expired.
    pub(super) fn on_timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.abort(cx, |recording| recording.until <= cx.now, AbortReason::TimedOut, out);
    }

    /// When to call [`Snapshot::on_timeout`], if nothing happens before.
    pub(super) fn next_timeout(&self) -> Option<Instant> {
        self.recordings.iter().map(|recording| recording.until).min()
    }

    /// Sends the next message, if any; returns whether it did. Markers come first: before any message the application
    /// sends after its state was recorded.
    pub(super) fn send_next(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        if let Some(recording) = self.recordings.iter_mut().find(|recording| recording.marker_due) {
            recording.marker_due = false;
            let others = recording.members.without(cx.roster.set_of(cx.me));
            out.send(others, Message::Marker { id: recording.id, members: recording.members });
            return true;
        }
        if let Some(PendingAbort { id, reason, to }) = self.aborts.pop_front() {
            out.send(to.and(cx.up), Message::Abort { id, reason });
            return true;
        }
        for index in 0..self.recordings.len() {
            let Some(recording) = self.recordings.get_mut(index) else { continue };
            let (id, closed) = (recording.id, recording.open_channels.is_empty());
            let Role::Participant { state, messages, fragments, .. } = &mut recording.role else { continue };
            let Id { incarnation, number, .. } = id;
            let initiator = cx.roster.set_of(id.initiator);
            if let Some(fragment) = pop_state(state).or_else(|| pop_message(cx, messages)) {
                out.send(initiator, Message::Fragment { incarnation, number, fragment });
                return true;
            }
            if closed {
                out.send(initiator, Message::Done { incarnation, number, fragments: *fragments });
                self.recordings.retain(|recording| recording.id != id);
                self.mark_ended(id);
                return true;
            }
        }
        false
    }
}
