//! Snapshots: a state that all nodes together could have been in, recorded while they run.
//!
//! Whoever wants one records its own state and says a *marker* to everybody. Whoever hears of a snapshot by a marker does
//! the same, at once, before it hears or says anything else. From then on it records what it still hears from each member
//! until that member's marker comes: those messages were on their way. State and messages go, piece by piece, to the
//! initiator, which tells its application: each piece as it comes, and at last that they are all, or that there is no
//! snapshot. It keeps none of it.
//!
//! # Paper
//! K. M. Chandy, L. Lamport: Distributed Snapshots: Determining Global States of Distributed Systems, ACM TOCS 1985.
//!
//! # Assumes
//! Letters arrive in order, and markers and the application's messages are letters of one stream: then no message is
//! recorded as received that was not recorded as sent. Members that lose letters, because one of them seems to be down,
//! abort the snapshot.
//!
//! # Messages
//! [`Message::Marker`] to all; [`Message::Part`] and [`Message::Done`] to the initiator; [`Message::Abort`] to the initiator
//! and from there to all.
//!
//! # Cost
//! Of N members: N (N - 1) markers, one letter of each member to all others; to the initiator, of every other member, a
//! letter for every 32 bytes of its state, one for every message that was on its way to it, and one to say that this is all.
//!
//! # Departures
//! The paper says nothing of members that come and go: a snapshot is of a view, and a view that changes, a member that is
//! suspected or starts anew, a buffer that overflows or a time that is over ends it, for a [`Why`] that is told. It is never
//! less than whole. Snapshots are told apart by who began them, in which boot, and the how many-th it is.

use crate::algorithm::{Context, Fact, Outbox};
use crate::application::{Application, ITEM_MAX, Item, Record};
use crate::group::{NodeId, NodeSet};
use crate::time::Instant;
use heapless::{Deque, Vec};

mod message;
mod recording;

pub use message::{Id, Message, Notice, Part, Why};
use recording::{Recording, Role, next_of_items, next_of_state};

/// In how many snapshots a node takes part at a time; the next is aborted as [`Why::Busy`].
pub const SNAPSHOTS_MAX: usize = 4;
/// How many bytes of messages, and two for each, wait to be sent to an initiator; with more it is aborted as
/// [`Why::Overflow`].
pub const ITEMS_BYTES: usize = 128;
/// How many snapshots that are over are remembered, lest a late marker begins them again.
const ENDED_MAX: usize = 8;
/// How many refusals wait to be said; one that finds no room is found out by time.
const REFUSALS_MAX: usize = 8;
/// How many leases an initiator waits; the others wait twice as long.
const PATIENCE: u32 = 4;

/// A snapshot that is aborted, and whom to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Refusal {
    id: Id,
    why: Why,
    to: NodeSet,
}

/// The snapshots of one node.
#[derive(Clone, Debug)]
pub struct Snapshot {
    incarnation: u32,
    number: u32,
    recordings: Vec<Recording, SNAPSHOTS_MAX>,
    refusals: Deque<Refusal, REFUSALS_MAX>,
    ended: Deque<Id, ENDED_MAX>,
}

type Out = Outbox<Message, Notice>;

impl Snapshot {
    /// A node that has taken part in none.
    #[must_use]
    pub const fn new() -> Self {
        Self { incarnation: 0, number: 0, recordings: Vec::new(), refusals: Deque::new(), ended: Deque::new() }
    }

    /// Goes on in this boot of the node.
    pub const fn resume(&mut self, incarnation: u32) {
        self.incarnation = incarnation;
    }

    /// In how many snapshots this node takes part.
    #[must_use]
    pub fn in_progress(&self) -> usize {
        self.recordings.len()
    }

    /// Begins a snapshot.
    pub fn begin(&mut self, cx: &Context<'_>, application: &impl Application, out: &mut Out) {
        self.number = self.number.saturating_add(1);
        let id = Id { initiator: cx.me, incarnation: self.incarnation, number: self.number };
        match self.record(cx, id, cx.view, application) {
            Ok((mut recording, record)) => {
                out.notify(Notice::Recorded { id });
                let mut own = 0_u32;
                let mut rest = Some(record);
                while let Some(part) = next_of_state(&mut rest) {
                    out.notify(Notice::Part { id, of: cx.me, part });
                    own = own.saturating_add(1);
                }
                recording.role = Role::Initiator { missing: recording.open, heard: 0, named: 0, own };
                self.keep(recording);
                self.complete(cx, out);
            }
            Err(why) => {
                self.end(id);
                out.notify(Notice::Aborted { id, why });
            }
        }
    }

    /// Records the state of this node, if it can be part of the snapshot.
    fn record(
        &self,
        cx: &Context<'_>,
        id: Id,
        members: NodeSet,
        application: &impl Application,
    ) -> Result<(Recording, Record), Why> {
        let me = cx.roster.set_of(cx.me);
        let others = members.without(me);
        if members != cx.view || others == members {
            return Err(Why::View);
        }
        if !others.without(cx.up).is_empty() {
            return Err(Why::Down);
        }
        if self.recordings.is_full() {
            return Err(Why::Busy);
        }
        let record = application.record(cx).ok_or(Why::Unsettled)?;
        let role = Role::Guest { record: None, items: Vec::new(), parts: 0, overflown: false };
        let patience = cx.timing.lease().times(if id.initiator == cx.me { PATIENCE } else { 2 * PATIENCE });
        let until = cx.now.after(patience);
        Ok((Recording { id, members, silent: true, open: others, until, role }, record))
    }

    fn keep(&mut self, recording: Recording) {
        let _ = self.recordings.push(recording); // there is room: `record` has looked
    }

    /// A message of the application has come in, which the application has not heard yet.
    pub fn pass(&mut self, cx: &Context<'_>, from: NodeId, item: impl Fn() -> Item, out: &mut Out) {
        let sender = cx.roster.set_of(from);
        let slot = cx.roster.slot_of(from).and_then(|slot| u8::try_from(slot).ok()).unwrap_or(u8::MAX);
        for recording in self.recordings.iter_mut().filter(|recording| recording.open.meets(sender)) {
            let bytes = item();
            match &mut recording.role {
                Role::Initiator { own, .. } => {
                    *own = own.saturating_add(1);
                    let part = Part::Message { from, bytes };
                    out.notify(Notice::Part { id: recording.id, of: cx.me, part });
                }
                Role::Guest { items, parts, overflown, .. } => {
                    *parts = parts.saturating_add(1);
                    let len = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
                    let head = items.extend_from_slice(&[slot, len]);
                    *overflown |= head.and_then(|()| items.extend_from_slice(&bytes)).is_err();
                }
            }
        }
        self.abort(cx, |recording| matches!(recording.role, Role::Guest { overflown: true, .. }), Why::Overflow, out);
    }

    /// A member said something.
    pub fn hear(&mut self, cx: &Context<'_>, from: NodeId, message: Message, app: &impl Application, out: &mut Out) {
        match message {
            Message::Marker { id, members } => self.hear_marker(cx, from, (id, members), app, out),
            Message::Part { incarnation, number, part } => {
                let id = Id { initiator: cx.me, incarnation, number };
                let sender = cx.roster.set_of(from);
                let Some(recording) = self.recordings.iter_mut().find(|recording| recording.id == id) else { return };
                if let Role::Initiator { missing, heard, .. } = &mut recording.role
                    && missing.meets(sender)
                {
                    *heard = heard.saturating_add(1);
                    out.notify(Notice::Part { id, of: from, part });
                }
            }
            Message::Done { incarnation, number, parts } => {
                let id = Id { initiator: cx.me, incarnation, number };
                let sender = cx.roster.set_of(from);
                let Some(recording) = self.recordings.iter_mut().find(|recording| recording.id == id) else { return };
                if let Role::Initiator { missing, named, .. } = &mut recording.role
                    && missing.meets(sender)
                {
                    *missing = missing.without(sender);
                    *named = named.saturating_add(u32::from(parts));
                    self.complete(cx, out);
                }
            }
            Message::Abort { id, why } if id.initiator == cx.me => {
                self.abort(cx, |recording| recording.id == id, why, out);
            }
            Message::Abort { id, .. } if id.initiator == from => {
                self.recordings.retain(|recording| recording.id != id);
                self.end(id);
            }
            Message::Abort { .. } => {} // it is for the initiator to say so
        }
    }

    fn hear_marker(
        &mut self,
        cx: &Context<'_>,
        from: NodeId,
        (id, members): (Id, NodeSet),
        application: &impl Application,
        out: &mut Out,
    ) {
        let sender = cx.roster.set_of(from);
        if let Some(recording) = self.recordings.iter_mut().find(|recording| recording.id == id) {
            recording.open = recording.open.without(sender);
            self.complete(cx, out);
            return;
        }
        let over = |ended: &Id| {
            (ended.initiator, ended.incarnation) == (id.initiator, id.incarnation) && ended.number >= id.number
        };
        if id.initiator == cx.me || self.ended.iter().any(over) {
            return; // it is over, as far as this node has a part in it
        }
        match self.record(cx, id, members, application) {
            Ok((mut recording, record)) => {
                recording.open = recording.open.without(sender);
                let parts = u16::try_from(record.len().div_ceil(ITEM_MAX).max(1)).unwrap_or(u16::MAX);
                recording.role = Role::Guest { record: Some(record), items: Vec::new(), parts, overflown: false };
                self.keep(recording);
                out.notify(Notice::Recorded { id });
            }
            Err(why) => {
                self.end(id);
                self.refuse(Refusal { id, why, to: cx.roster.set_of(id.initiator) });
            }
        }
    }

    /// Tells of own snapshots of which everything is here.
    fn complete(&mut self, cx: &Context<'_>, out: &mut Out) {
        let whole = self.recordings.iter().find(|recording| recording.is_whole());
        let Some(&Recording { id, members, role: Role::Initiator { heard, named, own, .. }, .. }) = whole else {
            return;
        };
        if heard != named {
            self.abort(cx, |recording| recording.id == id, Why::Incomplete, out);
            return;
        }
        self.recordings.retain(|recording| recording.id != id);
        self.end(id);
        out.notify(Notice::Taken { id, members, parts: heard.saturating_add(own) });
    }

    /// Ends the snapshots that `hit` says, and has those told that should know.
    fn abort(&mut self, cx: &Context<'_>, hit: impl Fn(&Recording) -> bool, why: Why, out: &mut Out) {
        let me = cx.roster.set_of(cx.me);
        for at in 0..self.recordings.len() {
            let Some(recording) = self.recordings.get(at).filter(|recording| hit(recording)) else { continue };
            let id = recording.id;
            let to = match recording.role {
                Role::Initiator { .. } => recording.members.without(me),
                Role::Guest { .. } => cx.roster.set_of(id.initiator),
            };
            if matches!(recording.role, Role::Initiator { .. }) {
                out.notify(Notice::Aborted { id, why });
            }
            self.refuse(Refusal { id, why, to });
            self.end(id);
        }
        self.recordings.retain(|recording| !hit(recording));
    }

    fn refuse(&mut self, refusal: Refusal) {
        let _ = self.refusals.push_back(refusal); // without it, the initiator finds out by time
    }

    /// Remembers that a snapshot is over.
    fn end(&mut self, id: Id) {
        if self.ended.is_full() {
            self.ended.pop_front();
        }
        let _ = self.ended.push_back(id);
    }

    /// An earlier stage concluded something.
    pub fn learn(&mut self, cx: &Context<'_>, fact: Fact, out: &mut Out) {
        match fact {
            Fact::PeerDown(set) => self.abort(cx, |recording| recording.members.meets(set), Why::Down, out),
            Fact::PeerReset(set) => self.abort(cx, |recording| recording.members.meets(set), Why::Restarted, out),
            Fact::View => self.abort(cx, |recording| recording.members != cx.view, Why::View, out),
            // Whoever is up now was down, or not in the view.
            Fact::PeerUp(_) | Fact::Leader { .. } | Fact::NoLeader | Fact::Parent(_) => {}
        }
    }

    /// Time has passed.
    pub fn timeout(&mut self, cx: &Context<'_>, out: &mut Out) {
        self.abort(cx, |recording| recording.until <= cx.now, Why::Late, out);
    }

    /// When to be called, if nothing happens before.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.recordings.iter().map(|recording| recording.until).min()
    }

    /// Writes the next letter: markers first, before anything the application says after its state was recorded.
    pub fn speak(&mut self, cx: &Context<'_>, out: &mut Out) -> bool {
        let me = cx.roster.set_of(cx.me);
        if let Some(recording) = self.recordings.iter_mut().find(|recording| recording.silent) {
            recording.silent = false;
            out.send(recording.members.without(me), Message::Marker { id: recording.id, members: recording.members });
            return true;
        }
        if let Some(Refusal { id, why, to }) = self.refusals.pop_front() {
            out.send(to.and(cx.up), Message::Abort { id, why });
            return true;
        }
        for at in 0..self.recordings.len() {
            let Some(recording) = self.recordings.get_mut(at) else { continue };
            let (id, done) = (recording.id, recording.open.is_empty());
            let Role::Guest { record, items, parts, .. } = &mut recording.role else { continue };
            let Id { incarnation, number, .. } = id;
            let initiator = cx.roster.set_of(id.initiator);
            if let Some(part) = next_of_state(record).or_else(|| next_of_items(cx, items)) {
                out.send(initiator, Message::Part { incarnation, number, part });
                return true;
            }
            if done {
                out.send(initiator, Message::Done { incarnation, number, parts: *parts });
                self.recordings.retain(|recording| recording.id != id);
                self.end(id);
                return true;
            }
        }
        false
    }
}

impl Default for Snapshot {
    fn default() -> Self {
        Self::new()
    }
}
