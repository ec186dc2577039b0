//! The table of peers: which nodes are in range, in both directions.
//!
//! Every frame shows that its sender can be received; a [`Hello`] lists the nodes its sender receives well. A link is
//! bidirectional while each end receives the other well, and only such neighbours count: frames from other nodes change
//! nothing in later stages. Silence is measured against the longest interval between a neighbour's frames of late, so a quiet
//! network stays quiet.
//!
//! # Replays
//! A frame could be a recording. Within one boot the sequence window tells, and silence does not reset it. A node that
//! has rebooted has lost its windows: so a peer counts only once it has *confirmed* this boot, by naming its incarnation
//! in a hello or a heartbeat, which no recording from before can.
//!
//! One table holds all nodes this node deals with: the members of its group in the first slots, permanently; other
//! nodes in the remaining slots, until others need these.
//!
//! # Limits
//! A node that is no member and was silent for longest gives its slot to a new one; where all are up, the one of the
//! lowest weight (`peers/crowd.rs`). Its window is lost with it: where more nodes come and go than the table has slots, a
//! recording of this very boot may count once more.

use super::crowd::{Crowd, weight};
use super::quality::LinkQuality;
use super::trickle::Trickle;
use super::window::SequenceWindow;
use crate::base::config::{Moment, Timing};
use crate::base::ids::{FirstSlots, NodeId, NodeSet, Roster, RosterView};
use crate::base::incarnation::IncarnationFilter;
use crate::base::membership::Scope;
use crate::base::time::{CoarseInstant, Duration, Instant, earliest};
use crate::wire::{DropReason, Origin, Packet};
use heapless::Vec;

mod hellos;

pub(crate) use super::Changes;
use super::heartbeat::Heartbeat;
pub use super::hello::Hello;
use hellos::GUESTS_MAX;

/// Shortest timeout of a silent neighbour, in heartbeats: it may have had nothing to send.
const SILENT_HEARTBEATS: u32 = 8;
/// Timeout of a silent neighbour, in its longest intervals between frames.
const SILENT_INTERVALS: u32 = 8;
/// Longest timeout of a silent neighbour, in the longest intervals between hellos.
const SILENT_HELLOS: u32 = 4;

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
    /// Longest interval between its frames, of late.
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
        let silence = self.interval.times(SILENT_INTERVALS).min(timing.hello_max.times(SILENT_HELLOS));
        timing.heartbeat.times(SILENT_HEARTBEATS).max(silence)
    }

    /// Returns how much longer the peer may be silent.
    fn time_left(&self, moment: Moment<'_>) -> Duration {
        self.timeout(moment.timing).minus(self.last_frame.elapsed(moment.now))
    }

    /// Records a frame after `missing` lost ones; returns whether its link became good.
    fn on_frame(&mut self, missing: u32, quality: u8, now: Instant) -> bool {
        let interval = self.last_frame.elapsed(now);
        self.interval = interval.max(self.interval.mul_ratio(31, 32));
        self.last_frame = CoarseInstant::of(now);
        self.quality.record(missing, quality)
    }
}

/// Which nodes a full table keeps: the links of the highest weights to `me`, and the leader whatever its weight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keep {
    pub(crate) me: NodeId,
    pub(crate) leader: Option<NodeId>,
}

/// The peers of one node.
#[derive(Clone, Debug)]
pub struct PeerTable<const N: usize> {
    roster: Roster<N>,
    peers: [Peer; N],
    members: NodeSet,
    in_range: NodeSet,
    bidirectional: NodeSet,
    /// Peers that have named the present boot of this node.
    confirmed: NodeSet,
    /// Peers that wait to be named.
    asking: NodeSet,
    changes: Changes,
    /// Slots whose node or incarnation is new since the link last asked.
    renewed: NodeSet,
    hello: Trickle,
    /// When this node last lost a neighbour.
    lost_at: Option<CoarseInstant>,
    /// The slot from which the next hello lists ids.
    cursor: usize,
    /// How many nodes are in range beyond the table, and those of them that the next hello is to name.
    crowd: Crowd,
    guests: Vec<Origin, GUESTS_MAX>,
    /// Neighbours whose tables have no slot for this node, which is their guest.
    hosts: NodeSet,
    /// Which nodes of this table each neighbour receives well, by its own hellos, and so is received by.
    audience: [FirstSlots; N],
    /// The member in range over which the newest word of each member came first, by slot.
    next_hops: [u8; N],
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
            confirmed: NodeSet::EMPTY,
            asking: NodeSet::EMPTY,
            changes: Changes::default(),
            renewed: NodeSet::EMPTY,
            hello: Trickle::new(moment),
            lost_at: None,
            cursor: 0,
            crowd: Crowd::default(),
            guests: Vec::new(),
            hosts: NodeSet::EMPTY,
            audience: [FirstSlots::EMPTY; N],
            next_hops: [u8::MAX; N],
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

    /// Returns the incarnation of the node in `slot`; 0 where it is unknown.
    pub(crate) fn boot_of(&self, slot: usize) -> u32 {
        self.peers.get(slot).map_or(0, |peer| peer.incarnation.current())
    }

    /// Returns the peers that have named the present boot of this node.
    pub(crate) const fn confirmed(&self) -> NodeSet {
        self.confirmed
    }

    /// Returns the nodes in range.
    pub(crate) const fn in_range(&self) -> NodeSet {
        self.in_range
    }

    /// Returns the neighbours: the nodes in range that receive this node too.
    pub(crate) const fn bidirectional(&self) -> NodeSet {
        self.bidirectional
    }

    /// Returns how many nodes compete for the air here, where `known` of the table do.
    pub(crate) fn crowd(&self, known: NodeSet) -> u32 {
        self.crowd.estimate(known.len())
    }

    /// Returns whether far more nodes are in range than the table has slots.
    pub(crate) const fn is_crowded(&self) -> bool {
        self.crowd.is_beyond_table()
    }

    /// Returns the neighbours that have no slot for this node.
    pub(crate) const fn hosts(&self) -> NodeSet {
        self.hosts.and(self.bidirectional)
    }

    /// Returns which nodes each node receives well, by slot.
    pub(crate) const fn audience(&self) -> &[FirstSlots] {
        &self.audience
    }

    /// Returns the next hop on the way to the member in `slot`: itself where it is in range; `None` where no way is known.
    pub(crate) fn next_hop(&self, slot: Option<usize>) -> Option<usize> {
        let slot = slot?;
        let next = self.next_hops.get(slot).map(|&next| usize::from(next))?;
        if self.is_good(slot) {
            return Some(slot);
        }
        Some(next).filter(|&next| self.in_range.meets(NodeSet::slot(next)))
    }

    /// Returns whether most frames of the node in `slot` arrive.
    fn is_good(&self, slot: usize) -> bool {
        self.in_range.meets(NodeSet::slot(slot)) && self.peers.get(slot).is_some_and(|peer| peer.quality.good)
    }

    /// Records that the newest word of these members came from a neighbour. Where its frames often get lost, the ways that
    /// are known stay.
    pub(crate) fn set_next_hop(&mut self, members: NodeSet, from: NodeId) {
        let Some(next) = self.roster.view().slot_of(from) else { return };
        let good = self.is_good(next);
        for slot in members.slots() {
            let known = self.next_hop(Some(slot)).is_some();
            if let Some(next_hop) = self.next_hops.get_mut(slot).filter(|_| good || !known) {
                *next_hop = u8::try_from(next).unwrap_or(u8::MAX);
            }
        }
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

    /// Checks what a frame says in clear about its sender against the frames received, and changes nothing.
    ///
    /// # Errors
    /// [`DropReason::Duplicate`] or [`DropReason::EarlierBoot`].
    pub(crate) fn check(&self, sender: Origin, seq: u32) -> Result<(), DropReason> {
        let slot = self.roster.view().slot_of(sender.id);
        let Some(&Peer { mut incarnation, mut window, .. }) = slot.and_then(|slot| self.peers.get(slot)) else {
            return Ok(()); // a node that is new
        };
        let reboot = incarnation.admit(sender.incarnation).ok_or(DropReason::EarlierBoot)?;
        if reboot || window.accept(seq).is_some() { Ok(()) } else { Err(DropReason::Duplicate) }
    }

    /// Returns how far a frame is ahead of the last one of its sender's boot; 0 for a boot that is new.
    pub(crate) fn ahead(&self, sender: Origin, seq: u32) -> u32 {
        let peer = self.roster.view().slot_of(sender.id).and_then(|slot| self.peers.get(slot));
        let known = peer.filter(|peer| peer.incarnation.current() == sender.incarnation);
        known.map_or(0, |peer| seq.saturating_sub(peer.window.highest()))
    }

    /// Records the sender of a frame. In a full table `keep` decides which nodes stay.
    ///
    /// # Errors
    /// [`DropReason::Duplicate`], [`DropReason::EarlierBoot`], or [`DropReason::NoRoom`] for a node that finds no slot.
    pub(crate) fn on_frame(
        &mut self,
        moment: Moment<'_>,
        keep: Keep,
        packet: &Packet<'_>,
        quality: u8,
    ) -> Result<(), DropReason> {
        let known = self.roster.view().slot_of(packet.sender);
        let slot = known.or_else(|| self.add(keep, packet.sender, moment.now));
        self.crowd.record(slot.is_none());
        let slot = slot.ok_or(DropReason::NoRoom)?;
        self.on_incarnation(slot, packet.incarnation)?;
        let Some(peer) = self.peers.get_mut(slot) else { return Err(DropReason::NoRoom) };
        let missing = peer.window.accept(packet.seq).ok_or(DropReason::Duplicate)?;
        let missing = if self.in_range.meets(NodeSet::slot(slot)) {
            missing
        } else {
            self.start_link(slot, moment, quality);
            0 // whatever it sent while it was away
        };
        if self.peers.get_mut(slot).is_some_and(|peer| peer.on_frame(missing, quality, moment.now)) {
            self.reset_hello(moment); // lets it know that it is received
        }
        self.update_link(moment, slot);
        Ok(())
    }

    /// Records the incarnation of a node; with a new one, its link starts over.
    fn on_incarnation(&mut self, slot: usize, incarnation: u32) -> Result<(), DropReason> {
        let Some(peer) = self.peers.get_mut(slot) else { return Err(DropReason::NoRoom) };
        let first = peer.incarnation == IncarnationFilter::default();
        let new = peer.incarnation.admit(incarnation).ok_or(DropReason::EarlierBoot)?;
        if new {
            *peer = Peer { incarnation: peer.incarnation, ..Peer::UNKNOWN };
            let set = NodeSet::slot(slot);
            self.confirmed = self.confirmed.without(set);
            self.asking = self.asking.with(set);
            self.renewed = self.renewed.with(set);
            self.drop_link(set);
            self.in_range = self.in_range.without(set);
            if !first {
                self.changes.reset = self.changes.reset.with(set.and(self.members));
            }
        }
        Ok(())
    }

    /// Records a reliable message's origin, in range or not; returns its slot.
    ///
    /// # Errors
    /// [`DropReason::EarlierBoot`], or [`DropReason::NoRoom`] for a node that has no slot.
    pub(crate) fn on_reliable(&mut self, origin: Origin) -> Result<usize, DropReason> {
        let slot = self.roster.view().slot_of(origin.id).ok_or(DropReason::NoRoom)?;
        self.on_incarnation(slot, origin.incarnation)?;
        Ok(slot)
    }

    /// Records which boots a member's heartbeat names, and whether it waits to be named.
    pub(crate) fn on_heartbeat(&mut self, me: Origin, from: NodeId, heartbeat: &Heartbeat) {
        let (myself, from) = (self.group().set_of(me.id), self.roster.view().set_of(from));
        if heartbeat.unconfirmed.meets(myself) {
            self.asking = self.asking.with(from);
        }
        let names_me = |&(slot, boot): &(u8, u32)| NodeSet::slot(slot.into()) == myself && boot == me.incarnation;
        if heartbeat.named.iter().any(names_me) {
            self.confirmed = self.confirmed.with(from);
        }
    }

    /// Writes into a heartbeat which members wait to be named, and which this node waits for.
    pub(crate) fn name_members(&mut self, heartbeat: &mut Heartbeat) {
        let near = self.in_range.and(self.members);
        heartbeat.unconfirmed = near.without(self.confirmed);
        for slot in near.and(self.asking).slots().take(heartbeat.names_max()) {
            heartbeat.relayed.clear(); // there is not room for both
            let id = u8::try_from(slot).unwrap_or(u8::MAX);
            if heartbeat.named.push((id, self.boot_of(slot))).is_ok() {
                self.asking = self.asking.without(NodeSet::slot(slot));
            }
        }
    }

    /// Returns whether a member in range waits to be named.
    pub(crate) const fn has_unnamed(&self) -> bool {
        self.asking.meets(self.in_range.and(self.members))
    }

    /// Drops the links of neighbours that have been silent for too long. The table remembers them.
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
            if silent.meets(self.bidirectional) {
                self.lost_at = Some(CoarseInstant::of(moment.now));
            }
            self.drop_link(silent);
            self.in_range = self.in_range.without(silent);
            self.hello.hurry(moment, self.longest_interval(moment));
        }
    }

    /// Returns when to call [`PeerTable::on_timeout`] and [`PeerTable::poll_hello`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        earliest(Some(self.hello.deadline()), self.check_at)
    }

    /// Starts the link of a node that is received for the first time, or again after a silence.
    fn start_link(&mut self, slot: usize, moment: Moment<'_>, quality: u8) {
        self.in_range = self.in_range.with(NodeSet::slot(slot));
        let Some(peer) = self.peers.get_mut(slot) else { return };
        peer.quality = LinkQuality::first(quality);
        peer.last_frame = CoarseInstant::of(moment.now);
        peer.interval = moment.timing.hello_min;
        (peer.unlisted, peer.hears_me) = (0, false);
        self.hosts = self.hosts.without(NodeSet::slot(slot));
        self.check_at = earliest(self.check_at, Some(moment.now.after(peer.timeout(moment.timing))));
    }

    /// Adds a node that is not in the table; returns its slot. In a full table it replaces another that is no member:
    /// the node that was silent for longest; one whose frames mostly get lost; or the one of the lowest weight, if its own
    /// is higher.
    fn add(&mut self, keep: Keep, id: NodeId, now: Instant) -> Option<usize> {
        let all = self.roster.view().all();
        if all == NodeSet::first(N) {
            let leader = keep.leader.map_or(NodeSet::EMPTY, |leader| self.roster.view().set_of(leader));
            let strangers = all.without(self.members).without(leader);
            let absent = strangers.without(self.in_range).slots();
            let oldest = absent.max_by_key(|&slot| self.peers.get(slot).map(|peer| peer.last_frame.elapsed(now)));
            let faint = || strangers.slots().find(|&slot| !self.is_good(slot));
            let removed = oldest.or_else(faint).or_else(|| self.outweighed_by(keep, id, strangers));
            let slot = removed?;
            let removed = NodeSet::slot(slot);
            self.invite(slot);
            self.drop_link(removed);
            self.in_range = self.in_range.without(removed);
            self.roster.remove(removed);
        }
        let slot = self.roster.insert(id)?;
        if let (Some(peer), Some(audience)) = (self.peers.get_mut(slot), self.audience.get_mut(slot)) {
            (*peer, *audience) = (Peer::UNKNOWN, FirstSlots::EMPTY);
        }
        for audience in &mut self.audience {
            *audience = NodeSet::from(*audience).without(NodeSet::slot(slot)).into(); // what was said of the node before
        }
        Some(slot)
    }

    /// Returns the slot of the lowest weight of `set`, if the weight of `id` is higher, or it leads.
    fn outweighed_by(&self, keep: Keep, id: NodeId, set: NodeSet) -> Option<usize> {
        let roster = self.roster.view();
        let weigh = |slot: usize| roster.id_of(slot).map_or(0, |other| weight(keep.me, other));
        let lightest = set.slots().min_by_key(|&slot| weigh(slot));
        lightest.filter(|&slot| keep.leader == Some(id) || weigh(slot) < weight(keep.me, id))
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
}

#[cfg(test)]
mod tests;
