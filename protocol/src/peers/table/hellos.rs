//! Hellos: which nodes receive which, and guests.
//!
//! A node that hears others well, but is kept by none of them as their tables are full, says so by its hello: it lists them
//! all as nodes it waits for. Those that have no slot for it name it as a *guest*. For the guest the link is then
//! bidirectional: it follows what its hosts announce. They remember nothing of it, and count from it only what anybody may say in a
//! crowd, the announcements and heartbeats of a leader.

use super::{Duration, Hello, Moment, NodeId, NodeSet, Origin, PeerTable, SILENT_HELLOS};

/// Incomplete hellos in a row that may omit this node before the link counts as unidirectional.
pub(super) const UNLISTED_MAX: u8 = 6;
/// Longest interval between the hellos of a node that searches neighbours, in heartbeats: of one that has just lost one, and
/// later.
const SEARCH_HEARTBEATS: [u32; 2] = [1, 2];
/// Most guests that wait to be named in the next hello.
pub(super) const GUESTS_MAX: usize = 4;
/// Within how many of the shortest intervals between hellos a host answers a guest.
const GUEST_INTERVALS: u32 = 2;
/// A node with more links than this needs no host.
const GUEST_LINKS_MAX: usize = 2;

impl<const N: usize> PeerTable<N> {
    /// Records which nodes a neighbour receives, or that a node without a slot asks for a host.
    pub(crate) fn on_hello(&mut self, moment: Moment<'_>, me: Origin, from: Origin, hello: &Hello) {
        let Some(slot) = self.roster.view().slot_of(from.id) else { return self.on_guest(moment, me.id, from, hello) };
        let Some(peer) = self.peers.get_mut(slot) else { return };
        let ids = hello.named.iter().map(|named| named.id).chain(hello.listed.iter().copied());
        let listed = ids.fold(NodeSet::EMPTY, |set, id| set.with(self.roster.view().set_of(id)));
        if let Some(audience) = self.audience.get_mut(slot) {
            *audience = if hello.complete { listed } else { NodeSet::from(*audience).with(listed) }.into();
        }
        let named = hello.named.iter().position(|named| named.id == me.id);
        let names_me = named.and_then(|at| hello.named.get(at)) == Some(&me);
        let waits = named.is_some_and(|at| at < usize::from(hello.waiting));
        let set = NodeSet::slot(slot);
        if names_me {
            self.confirmed = self.confirmed.with(set);
        }
        if waits {
            self.asking = self.asking.with(set);
        }
        let answer = if names_me || (self.confirmed.meets(set) && hello.listed.contains(&me.id)) {
            peer.unlisted = 0;
            peer.hears_me = true;
            let guest = named.is_some_and(|at| at >= hello.named.len().saturating_sub(hello.guests.into()));
            self.hosts = if guest { self.hosts.with(set) } else { self.hosts.without(set) };
            waits
        } else {
            peer.unlisted = peer.unlisted.saturating_add(1);
            // A host names its guests when they ask, and not again.
            peer.hears_me &= self.hosts.meets(set) || (!hello.complete && peer.unlisted < UNLISTED_MAX);
            !peer.hears_me && peer.unlisted <= UNLISTED_MAX // it may not have received a frame of this node yet
        };
        if answer && peer.quality.good {
            self.reset_hello(moment);
        }
        self.update_link(moment, slot);
    }

    /// Remembers to name a node that has no slot here, if it hears this node and has hardly any other link.
    fn on_guest(&mut self, moment: Moment<'_>, me: NodeId, guest: Origin, hello: &Hello) {
        let waiting = usize::from(hello.waiting);
        let named = hello.named.iter().position(|named| named.id == me);
        let links = hello.named.len().saturating_sub(waiting).saturating_add(hello.listed.len());
        if links > GUEST_LINKS_MAX || named.is_none_or(|at| at >= waiting) {
            return;
        }
        if !self.guests.contains(&guest) {
            let _ = self.guests.push(guest); // where there is no room, it asks again
        }
        self.hello.hurry(moment, moment.timing.hello_min.times(GUEST_INTERVALS));
    }

    /// Makes a neighbour that loses its slot a guest, if nobody else here is known to receive it.
    pub(super) fn invite(&mut self, slot: usize) {
        let alone = self.audience.get(slot).is_some_and(|&others| NodeSet::from(others).is_empty());
        let (Some(id), Some(peer)) = (self.roster.view().id_of(slot), self.peers.get(slot)) else { return };
        if alone && self.bidirectional.meets(NodeSet::slot(slot)) {
            let _ = self.guests.push(Origin { id, incarnation: peer.incarnation.current() }); // or it asks
        }
    }

    /// Returns the longest interval between hellos: short for a node without neighbours, or that has lost one, as another
    /// network may come into range at any moment.
    pub(super) fn longest_interval(&self, moment: Moment<'_>) -> Duration {
        let search = moment.timing.hello_max.times(SILENT_HELLOS);
        let [first, later] = SEARCH_HEARTBEATS.map(|heartbeats| moment.timing.heartbeat.times(heartbeats));
        match self.lost_at.map(|at| at.elapsed(moment.now)) {
            Some(since) if since < moment.timing.hello_max => first,
            Some(since) if since < search => later,
            Some(_) | None if self.bidirectional.is_empty() => later,
            Some(_) | None => moment.timing.hello_max,
        }
    }

    /// Returns the hello that is due, if one is.
    pub(crate) fn poll_hello(&mut self, moment: Moment<'_>) -> Option<Hello> {
        if !self.hello.poll(moment, self.crowd(self.in_range), self.longest_interval(moment)) {
            return None;
        }
        let roster = self.roster.view();
        let start = core::mem::take(&mut self.cursor);
        let mut hello = Hello { complete: start == 0, ..Hello::default() };
        for slot in self.in_range.slots().filter(|&slot| slot >= start) {
            let Some(peer) = self.peers.get(slot).filter(|peer| peer.quality.good) else { continue };
            let (Some(id), set) = (roster.id_of(slot), NodeSet::slot(slot)) else { continue };
            let node = Origin { id, incarnation: peer.incarnation.current() };
            if !hello.list(node, self.asking.meets(set), !peer.hears_me) {
                self.cursor = slot;
                hello.complete = false;
                break;
            }
            self.asking = self.asking.without(set);
        }
        self.guests.retain(|&guest| !hello.list_guest(guest));
        Some(hello)
    }

    pub(super) fn reset_hello(&mut self, moment: Moment<'_>) {
        self.hello.reset(moment, self.crowd(self.in_range));
    }
}
