//! The table of peers: which nodes are in range, in both directions.
//!
//! Every frame shows that its sender can be received; a [`Hello`] lists the nodes its sender receives well. A link is
//! bidirectional while each end receives the other well, and only such neighbours count: frames from other nodes change
//! nothing in later stages. Silence is measured against the usual interval between a neighbour's frames, so a quiet
//! network stays quiet.
//!
//! One table holds all nodes this node deals with: the members of its group in the first slots, permanently; other
//! nodes in the remaining slots, while they are in range.

use super::quality::LinkQuality;
use super::trickle::Trickle;
use super::window::SequenceWindow;
use crate::base::config::{Moment, Timing};
use crate::base::ids::{NodeId, NodeSet, Roster, RosterView};
use crate::base::incarnation::IncarnationFilter;
use crate::base::membership::Scope;
use crate::base::time::{CoarseInstant, Duration, Instant, earliest};
use crate::wire::{DropReason, Origin, Packet};

pub(crate) use super::Changes;
pub use super::hello::Hello;

/// Incomplete hellos in a row that may omit this node before the link counts as unidirectional.
const UNLISTED_MAX: u8 = 6;
/// Shortest timeout of a silent neighbour, in heartbeats: it may have had nothing to send.
const SILENT_HEARTBEATS: u32 = 8;
/// Timeout of a silent neighbour, in its usual intervals between frames.
const SILENT_INTERVALS: u32 = 6;

/// The state of one peer's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Peer {
    incarnation: IncarnationFilter,
    window: SequenceWindow,
    quality: LinkQuality,
    /// Hellos in a row that did not list this node.
    unlisted: u8,
    hears_me: bool,
    last_frame: CoarseInstant,
    /// Usual interval between its frames.
    interval: Duration,
}

impl Peer {
    const UNKNOWN: Self = Self {
        incarnation: IncarnationFilter::first(0),
        window: SequenceWindow::starting_at(0),
        quality: LinkQuality::NONE,
        unlisted: 0,
        hears_me: false,
        last_frame: CoarseInstant::ZERO,
        interval: Duration::ZERO,
    };

    /// Returns how long the peer may be silent.
    fn timeout(&self, timing: &Timing) -> Duration {
        timing.heartbeat.times(SILENT_HEARTBEATS).max(self.interval.times(SILENT_INTERVALS))
    }

    /// Returns how much longer the peer may be silent.
    fn time_left(&self, moment: Moment<'_>) -> Duration {
        self.timeout(moment.timing).minus(self.last_frame.elapsed(moment.now))
    }

    /// Records a frame; returns whether its link became good, or `None` for a duplicate.
    fn on_frame(&mut self, seq: u32, quality: u8, now: Instant) -> Option<bool> {
        let missing = self.window.accept(seq)?;
        let interval = self.last_frame.elapsed(now);
        self.interval = self.interval.mul_ratio(3, 4).plus(interval.mul_ratio(1, 4));
        self.last_frame = CoarseInstant::of(now);
        Some(self.quality.record(missing, quality))
    }
}

/// The peers of one node.
#[derive(Clone, Copy, Debug)]
pub struct PeerTable<const N: usize> {
    roster: Roster<N>,
    peers: [Peer; N],
    members: NodeSet,
    in_range: NodeSet,
    bidirectional: NodeSet,
    changes: Changes,
    /// Slots whose node or incarnation is new since the link last asked.
    renewed: NodeSet,
    hello: Trickle,
    /// The slot from which the next hello lists ids.
    cursor: usize,
    /// No neighbour times out before this.
    check_at: Option<Instant>,
}

impl<const N: usize> PeerTable<N> {
    /// Creates the table of a node that has received nothing, and sends its first hello at once.
    pub(crate) fn new(moment: Moment<'_>) -> Self {
        Self {
            roster: Roster::new(),
            peers: [Peer::UNKNOWN; N],
            members: NodeSet::EMPTY,
            in_range: NodeSet::EMPTY,
            bidirectional: NodeSet::EMPTY,
            changes: Changes::default(),
            renewed: NodeSet::EMPTY,
            hello: Trickle::new(moment),
            cursor: 0,
            check_at: None,
        }
    }

    /// Adds a member of the group, permanently; `None` where there is no slot left.
    pub(crate) fn add_member(&mut self, member: NodeId) -> Option<()> {
        self.members = self.members.with(NodeSet::slot(self.roster.insert(member)?));
        Some(())
    }

    /// Returns all nodes of the table.
    pub(crate) fn roster(&self) -> RosterView<'_> {
        self.roster.view()
    }

    /// Returns the members of the group, in the same slots.
    pub(crate) fn group(&self) -> RosterView<'_> {
        self.roster.view().only(self.members)
    }

    /// Returns the nodes in range.
    pub(crate) const fn in_range(&self) -> NodeSet {
        self.in_range
    }

    /// Returns the neighbours: the nodes in range that receive this node too.
    pub(crate) const fn bidirectional(&self) -> NodeSet {
        self.bidirectional
    }

    /// Returns the mean quality of the bidirectional links, of 255.
    pub(crate) fn mean_quality(&self) -> u8 {
        let peers = self.bidirectional.slots().filter_map(|slot| self.peers.get(slot));
        let sum = peers.map(|peer| u32::from(peer.quality.value)).sum::<u32>();
        sum.checked_div(self.bidirectional.len()).and_then(|mean| u8::try_from(mean).ok()).unwrap_or(0)
    }

    /// Returns whether a stage that works on `scope` may receive from `id`: a bidirectional neighbour, or a member.
    pub(crate) fn knows(&self, id: NodeId, scope: Scope) -> bool {
        match scope {
            Scope::Neighbours => self.bidirectional.meets(self.roster().set_of(id)),
            Scope::Group => self.group().slot_of(id).is_some(),
            Scope::Nobody => false,
        }
    }

    /// Returns the links that changed since the last call.
    pub(crate) fn take_changes(&mut self) -> Changes {
        core::mem::take(&mut self.changes)
    }

    /// Returns the slots whose node or incarnation is new since the last call.
    pub(crate) fn take_renewed(&mut self) -> NodeSet {
        core::mem::take(&mut self.renewed)
    }

    /// Records the sender of a frame.
    ///
    /// # Errors
    /// [`DropReason::Duplicate`], [`DropReason::EarlierBoot`], or [`DropReason::NoRoom`] for a node that finds no slot.
    pub(crate) fn on_frame(&mut self, moment: Moment<'_>, packet: &Packet<'_>, quality: u8) -> Result<(), DropReason> {
        let known = self.roster.view().slot_of(packet.sender);
        let slot = match known.filter(|&slot| self.in_range.meets(NodeSet::slot(slot))) {
            Some(slot) => slot,
            None => self.add_neighbour(moment, packet, quality)?,
        };
        if self.on_incarnation(slot, packet.incarnation)? {
            self.start_link(slot, moment, packet, quality);
        }
        let Some(peer) = self.peers.get_mut(slot) else { return Err(DropReason::NoRoom) };
        if peer.on_frame(packet.seq, quality, moment.now).ok_or(DropReason::Duplicate)? {
            self.reset_hello(moment); // lets it know that it is received
        }
        self.update_link(moment, slot);
        Ok(())
    }

    /// Records the incarnation of a node; returns whether it is a new one, with which its link starts over.
    fn on_incarnation(&mut self, slot: usize, incarnation: u32) -> Result<bool, DropReason> {
        let Some(peer) = self.peers.get_mut(slot) else { return Err(DropReason::NoRoom) };
        let first = peer.incarnation == IncarnationFilter::default();
        let new = peer.incarnation.admit(incarnation).ok_or(DropReason::EarlierBoot)?;
        if new {
            *peer = Peer { incarnation: peer.incarnation, ..Peer::UNKNOWN };
            let set = NodeSet::slot(slot);
            self.renewed = self.renewed.with(set);
            self.drop_link(set);
            if !first {
                self.changes.reset = self.changes.reset.with(set.and(self.members));
            }
        }
        Ok(new)
    }

    /// Records a reliable message's origin, in range or not; returns its slot.
    ///
    /// # Errors
    /// [`DropReason::EarlierBoot`], or [`DropReason::NoRoom`] for a node that has no slot.
    pub(crate) fn on_reliable(&mut self, origin: Origin) -> Result<usize, DropReason> {
        let slot = self.roster.view().slot_of(origin.id).ok_or(DropReason::NoRoom)?;
        if self.on_incarnation(slot, origin.incarnation)? {
            self.in_range = self.in_range.without(NodeSet::slot(slot)); // until a frame of its own arrives
        }
        Ok(slot)
    }

    /// Records which nodes a neighbour receives.
    pub(crate) fn on_hello(&mut self, moment: Moment<'_>, me: NodeId, from: NodeId, hello: &Hello) {
        let Some(slot) = self.roster.view().slot_of(from) else { return };
        let Some(peer) = self.peers.get_mut(slot) else { return };
        let answer = if let Some(index) = hello.listed.iter().position(|&id| id == me) {
            peer.unlisted = 0;
            peer.hears_me = true;
            index < usize::from(hello.unconfirmed)
        } else {
            peer.unlisted = peer.unlisted.saturating_add(1);
            peer.hears_me &= !hello.complete && peer.unlisted < UNLISTED_MAX;
            !peer.hears_me && peer.unlisted <= UNLISTED_MAX // it may not have received a frame of this node yet
        };
        if answer && peer.quality.good {
            self.reset_hello(moment);
        }
        self.update_link(moment, slot);
    }

    /// Removes the neighbours that have been silent for too long.
    pub(crate) fn on_timeout(&mut self, moment: Moment<'_>) {
        if self.check_at.is_none_or(|at| at > moment.now) {
            return;
        }
        let mut silent = NodeSet::EMPTY;
        let mut next = None;
        for slot in self.in_range.slots() {
            let Some(peer) = self.peers.get(slot) else { continue };
            match peer.time_left(moment) {
                Duration::ZERO => silent = silent.with(NodeSet::slot(slot)),
                left => next = earliest(next, Some(moment.now.after(left))),
            }
        }
        self.check_at = next;
        if !silent.is_empty() {
            self.drop_link(silent);
            self.in_range = self.in_range.without(silent);
            self.roster.remove(silent.without(self.members));
        }
    }

    /// Returns the hello that is due, if one is.
    pub(crate) fn poll_hello(&mut self, moment: Moment<'_>) -> Option<Hello> {
        if !self.hello.poll(moment) {
            return None;
        }
        let roster = self.roster.view();
        let start = core::mem::take(&mut self.cursor);
        let mut hello = Hello { complete: start == 0, ..Hello::default() };
        for slot in start..N {
            let Some(peer) = self.peers.get(slot).filter(|peer| peer.quality.good) else { continue };
            let Some(id) = roster.id_of(slot) else { continue };
            if !hello.list(id, peer.hears_me) {
                self.cursor = slot;
                hello.complete = false;
                break;
            }
        }
        Some(hello)
    }

    /// Returns when to call [`PeerTable::on_timeout`] and [`PeerTable::poll_hello`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        earliest(Some(self.hello.deadline()), self.check_at)
    }

    /// Starts the link of a node that is received for the first time, or for the first time in this boot.
    fn start_link(&mut self, slot: usize, moment: Moment<'_>, packet: &Packet<'_>, quality: u8) {
        self.in_range = self.in_range.with(NodeSet::slot(slot));
        let Some(peer) = self.peers.get_mut(slot) else { return };
        *peer = Peer {
            incarnation: peer.incarnation,
            window: SequenceWindow::starting_at(packet.seq),
            quality: LinkQuality::first(quality),
            last_frame: CoarseInstant::of(moment.now),
            interval: moment.timing.hello_min,
            ..Peer::UNKNOWN
        };
        self.check_at = earliest(self.check_at, Some(moment.now.after(peer.timeout(moment.timing))));
    }

    /// Adds a node that was not in range; returns its slot.
    fn add_neighbour(&mut self, moment: Moment<'_>, packet: &Packet<'_>, quality: u8) -> Result<usize, DropReason> {
        let unknown = self.roster.view().slot_of(packet.sender).is_none();
        if unknown && self.roster.view().all() == NodeSet::first(N) {
            // A node that does not receive this one is of no use: it gives up its slot.
            let one_way = self.in_range.without(self.bidirectional).without(self.members);
            let removed = NodeSet::slot(one_way.slots().next().ok_or(DropReason::NoRoom)?);
            self.in_range = self.in_range.without(removed);
            self.roster.remove(removed);
        }
        let slot = self.roster.insert(packet.sender).ok_or(DropReason::NoRoom)?;
        if let Some(peer) = self.peers.get_mut(slot).filter(|_| unknown) {
            *peer = Peer::UNKNOWN;
            self.renewed = self.renewed.with(NodeSet::slot(slot));
        }
        self.start_link(slot, moment, packet, quality);
        Ok(slot)
    }

    /// Updates whether a link is bidirectional.
    fn update_link(&mut self, moment: Moment<'_>, slot: usize) {
        let Some(peer) = self.peers.get(slot) else { return };
        let set = NodeSet::slot(slot);
        match (self.bidirectional.meets(set), peer.hears_me && peer.quality.good) {
            (false, true) => {
                self.bidirectional = self.bidirectional.with(set);
                self.changes.up = self.changes.up.with(set);
            }
            (true, false) => {
                self.drop_link(set);
                self.reset_hello(moment); // the other end should not count on the link either
            }
            (false, false) | (true, true) => {} // unchanged
        }
    }

    fn drop_link(&mut self, set: NodeSet) {
        self.changes.down = self.changes.down.with(set.and(self.bidirectional));
        self.changes.up = self.changes.up.without(set);
        self.bidirectional = self.bidirectional.without(set);
    }

    fn reset_hello(&mut self, moment: Moment<'_>) {
        self.hello.reset(moment, self.in_range.len());
    }
}

#[cfg(test)]
mod tests;
