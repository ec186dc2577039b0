//! Receiving: relaying, duplicate suppression, back-pressure, acknowledgement.

use super::pending::{HeaderRoom, Pending};
use super::relay::Relay;
use super::session::Stream;
use super::{Ack, Acks, HOLD_JITTERS, Link, LinkContext, RELIABLE_MAX, Refusal};
use crate::algorithm::Scope;
use crate::base::config::CROWD;
use crate::base::ids::{NodeId, NodeSet};
use crate::base::membership::{Membership, Queue};
use crate::base::time::earliest;
use crate::wire::{
    Attempt, Destination, DropReason, Kind, Origin, Packet, Payload, Recipients, Relays, ReliableHeader,
};
use heapless::Vec;

/// Into how many frames a relay divides a message: each names two of the relays after it.
const PARTS_MAX: u32 = 3;

impl<P: Payload, const N: usize, G: Membership> Link<P, N, G> {
    /// Queues a reliable message for the recipients that this node is on the way to.
    pub(crate) fn relay(&mut self, cx: &LinkContext<'_, N>, packet: &Packet<'_>, header: &ReliableHeader) {
        let (origin, Attempt { seq, number, hop_limit, .. }) = (packet.origin(), header.attempt);
        let Recipients::Members { set, boots, relays } = &header.recipients else { return };
        let (Some(queue), Some(carrier)) = (self.relays.as_mut().first_mut(), self.carrier.as_mut().first_mut()) else {
            return;
        };
        let digest = digest(origin, seq, number);
        queue.overhear(digest, hop_limit, *set);
        let me = cx.peers.group().slot_of(cx.me);
        if origin.id == cx.me || !me.is_some_and(|me| relays.include(me)) {
            return;
        }
        let sender = cx.peers.group().slot_of(packet.sender);
        let mut onward = set.without(cx.myself());
        onward = onward.without(carrier.remembered(cx, origin, seq, onward));
        for slot in onward.slots() {
            // Whoever sent it is nearer to these.
            if cx.peers.next_hop(Some(slot)).is_some_and(|next| Some(next) == sender) {
                onward = onward.without(NodeSet::slot(slot));
            }
        }
        let hop_limit = hop_limit.saturating_sub(1);
        let Ok(body) = Vec::from_slice(packet.body) else { return };
        onward = cx.reachable(onward);
        if hop_limit == 0 || onward.is_empty() || !queue.begin(digest) {
            return;
        }
        for _ in 0..PARTS_MAX {
            let (routed, relays) = cx.route(onward, HeaderRoom::beside_body(body.len()));
            if routed.is_empty() {
                return;
            }
            onward = onward.without(routed);
            let mut named = boots.clone();
            let mut members = set.slots();
            named.retain(|_| members.next().is_some_and(|slot| routed.meets(NodeSet::slot(slot))));
            let recipients = Recipients::Members { set: routed, boots: named, relays };
            let attempt = Attempt { hop_limit, ..header.attempt };
            let (origin, ack) = (Some(origin), header.ack);
            let destination = Destination::Reliable(ReliableHeader { origin, attempt, recipients, ack });
            queue.submit(cx, Relay { digest, hop_limit, kind: packet.kind, destination, body: body.clone() });
        }
    }

    /// Watches an own message that was just sent and needs a relay.
    pub(crate) fn watch(&mut self, cx: &LinkContext<'_, N>, kind: Kind, destination: &Destination, body: &[u8]) {
        let Destination::Reliable(header) = destination else { return };
        let Recipients::Members { set, relays, .. } = &header.recipients else { return };
        let (Some(queue), Ok(body)) = (self.relays.as_mut().first_mut(), Vec::from_slice(body)) else { return };
        if *relays == Relays::Nobody || set.is_empty() {
            return;
        }
        let Attempt { seq, number, hop_limit, .. } = header.attempt;
        let origin = Origin { id: cx.me, incarnation: cx.incarnation };
        let digest = digest(origin, seq, number);
        queue.watch(cx, Relay { digest, hop_limit, kind, destination: destination.clone(), body });
    }

    /// Accepts a reliable message for this node from the peer in `slot`; returns whether it is new, and not a duplicate to
    /// be acknowledged again.
    ///
    /// # Errors
    /// [`DropReason::NoSession`]: it is refused. [`DropReason::NoRoom`]: it is not acknowledged, and the origin may
    /// retransmit.
    pub(crate) fn accept(
        &mut self,
        cx: &LinkContext<'_, N>,
        slot: usize,
        header: &ReliableHeader,
        stream: Stream,
    ) -> Result<bool, DropReason> {
        let (seq, names_me) = (header.attempt.seq, cx.names_me(&header.recipients));
        let new = self.streams.of(stream).is_new(slot, seq, names_me).ok_or(DropReason::NoSession)?;
        if new && !self.has_room() {
            return Err(DropReason::NoRoom);
        }
        if new {
            self.streams.of(stream).deliver(slot, seq);
        }
        Ok(new)
    }

    /// Plans the acknowledgement of a message that was delivered. It waits for a while: a message to the same node, or other
    /// acknowledgements, may take it along. The recipients of one message answer one after the other. Those of a duplicate
    /// do not wait for company, as the origin waits.
    pub(crate) fn acknowledge(
        &mut self,
        cx: &LinkContext<'_, N>,
        slot: usize,
        header: &ReliableHeader,
        stream: Stream,
        new: bool,
    ) {
        let now = cx.moment.now;
        let jitters = match &header.recipients {
            Recipients::Members { set, .. } if G::GROUPED => {
                let before = set.slots().take_while(|&slot| NodeSet::slot(slot) != cx.myself());
                let place = before.fold(0, |count: u32, _| count.saturating_add(1)).min(cx.crowd);
                let rank = place.saturating_mul(2);
                let in_turn = stream == Stream::Others;
                if new && in_turn && cx.crowd >= CROWD {
                    self.turn = (NodeSet::slot(slot), now.after(cx.moment.timing.jitter.times(place)));
                }
                let again = !new && in_turn && self.hurry_reply(cx, slot, stream, rank);
                match (new || again, in_turn) {
                    (true, _) => rank.saturating_add(HOLD_JITTERS),
                    (false, true) => rank,
                    (false, false) => 0,
                }
            }
            Recipients::Members { .. } | Recipients::Node(_) => 0,
        };
        self.streams.of(stream).owe(slot);
        let at = now.after(cx.moment.timing.jitter.times(jitters));
        // What is planned takes this along; a duplicate does not wait for it.
        let waits = G::GROUPED && new && stream == Stream::Others && self.acks_at.is_some();
        self.acks_at = if waits { self.acks_at } else { earliest(self.acks_at, Some(at)) };
    }

    /// Retransmits the reply to a message in its turn, as the origin sent that again; returns whether there is one. The
    /// origin would have taken the reply for an acknowledgement, so the reply was lost.
    fn hurry_reply(&mut self, cx: &LinkContext<'_, N>, slot: usize, stream: Stream, rank: u32) -> bool {
        let at = cx.moment.now.after(cx.moment.timing.jitter.times(rank));
        let to = NodeSet::slot(slot);
        let reply = |pending: &&mut Pending<P>| {
            pending.scope == Scope::Group && pending.to == to && pending.stream::<G>() == stream && pending.is_timed()
        };
        let Some(reply) = self.queue.list_mut().iter_mut().find(reply) else { return false };
        reply.due = reply.due.min(at);
        true
    }

    /// Plans the refusal of a message for another boot.
    pub(crate) fn refuse(&mut self, cx: &LinkContext<'_, N>, origin: Origin, header: &ReliableHeader) {
        let (Origin { id: origin, incarnation }, seq) = (origin, header.attempt.seq);
        let via = if G::GROUPED { cx.via(origin) } else { None };
        self.refusal = Some(Refusal { origin, incarnation, seq, via, by: cx.me, boot: cx.incarnation });
    }

    /// Takes in the acknowledgement of an own message by these peers.
    pub(crate) fn on_ack(&mut self, cx: &LinkContext<'_, N>, seq: u32, by: NodeSet) {
        let now = cx.moment.now;
        for pending in self.queue.list_mut().iter_mut() {
            let Some(retransmit) = pending.reliable.filter(|retransmit| retransmit.seq.get() == seq) else { continue };
            let by = by.and(pending.to);
            let stream = pending.stream::<G>();
            self.streams.of(stream).set_outgoing(by, true);
            pending.acknowledged(by);
            if !G::GROUPED {
                continue;
            }
            if pending.to.is_empty() {
                self.pace.succeed();
            }
            let Some(took) = retransmit.took(by, now) else { continue };
            for slot in by.slots() {
                if let Some(trip) = self.trips.as_mut().get_mut(slot) {
                    trip.record(took);
                }
            }
        }
        self.remove_completed();
        let me = Origin { id: cx.me, incarnation: cx.incarnation };
        if let Some(queue) = self.relays.as_mut().first_mut() {
            queue.acknowledged(me, me, seq, by);
        }
    }

    /// Takes in the refusal of an own message by the peer in `slot`, which is in another boot than it was for.
    pub(crate) fn on_refusal(&mut self, cx: &LinkContext<'_, N>, slot: usize, refusal: &Refusal) {
        if refusal.boot != cx.peers.boot_of(slot) {
            return; // of an earlier boot
        }
        for pending in self.queue.list_mut().iter_mut() {
            if pending.reliable.is_some_and(|retransmit| retransmit.seq.get() == refusal.seq) {
                self.streams.of(pending.stream::<G>()).set_outgoing(NodeSet::slot(slot), false);
                pending.refused(NodeSet::slot(slot));
            }
        }
    }

    /// Overhears or carries on the acknowledgement of another node's message.
    pub(crate) fn carry(&mut self, cx: &LinkContext<'_, N>, sender: NodeId, ack: &Ack) {
        let origin = Origin { id: ack.origin, incarnation: ack.incarnation };
        let by = if ack.by.is_empty() { cx.peers.group().set_of(sender) } else { ack.by };
        let ack = Ack { by, ..*ack };
        if let Some(queue) = self.relays.as_mut().first_mut() {
            queue.acknowledged(origin, Origin { id: cx.me, incarnation: cx.incarnation }, ack.seq, ack.by);
        }
        let Some(carrier) = self.carrier.as_mut().first_mut() else { return };
        carrier.overhear(cx, sender, &ack);
        let me = cx.peers.group().slot_of(cx.me);
        if ack.via.is_some_and(|via| Some(usize::from(via)) == me) {
            carrier.carry(cx, &ack);
        }
    }

    /// Carries on the refusal of another node's message.
    pub(crate) fn carry_refusal(&mut self, cx: &LinkContext<'_, N>, refusal: Refusal) {
        let me = cx.peers.group().slot_of(cx.me);
        if let Some(carrier) = self.carrier.as_mut().first_mut()
            && refusal.via.is_some_and(|via| Some(usize::from(via)) == me)
        {
            carrier.carry_refusal(refusal);
        }
    }

    /// The acknowledgements to send now.
    pub(crate) fn poll_acks(&mut self, cx: &LinkContext<'_, N>) -> Option<Acks> {
        let now = cx.moment.now;
        let carried = self.carrier.as_ref().first().is_some_and(|carrier| carrier.is_due(now));
        if !carried && self.refusal.is_none() && self.acks_at.is_none_or(|at| at > now) {
            return None;
        }
        let mut acks = Acks { refused: self.refusal.take(), ..Acks::default() };
        if let Some(carrier) = self.carrier.as_mut().first_mut() {
            carrier.poll(cx, &mut acks);
        }
        self.acks_at = None;
        let direct = G::GROUPED && cx.hops <= 1;
        let again = if direct { self.streams.of(Stream::Others).paid_once() } else { NodeSet::EMPTY };
        for &stream in Stream::all::<G>() {
            for slot in self.streams.of(stream).owed().slots() {
                let Some(origin) = cx.roster().id_of(slot) else { continue };
                let via = if G::GROUPED { cx.via(origin) } else { None };
                let by = if via.is_some() { cx.myself() } else { NodeSet::EMPTY };
                let seq = self.streams.of(stream).pay(slot);
                if !acks.add(Ack { origin, incarnation: cx.peers.boot_of(slot), seq, via, by }) {
                    self.streams.of(stream).owe(slot);
                    self.acks_at = Some(now); // in the next frame
                    break;
                }
            }
        }
        if acks.accepted.is_empty() && acks.refused.is_none() {
            return None;
        }
        for slot in again.slots() {
            let Some(origin) = cx.roster().id_of(slot) else { continue };
            let (incarnation, seq) = (cx.peers.boot_of(slot), self.streams.of(Stream::Others).pay_again(slot));
            if !acks.add(Ack { origin, incarnation, seq, via: None, by: NodeSet::EMPTY }) {
                break;
            }
        }
        Some(acks)
    }

    /// The next frame of another node that is due to be relayed.
    pub(crate) fn poll_relay(
        &mut self,
        cx: &LinkContext<'_, N>,
    ) -> Option<(Kind, Destination, Vec<u8, RELIABLE_MAX, u8>)> {
        let Relay { kind, destination, body, .. } = self.relays.as_mut().first_mut()?.poll(cx)?;
        Some((kind, destination, body))
    }
}

/// A short digest of a relayed frame. Two frames with one digest cost one of them an attempt, nothing else.
fn digest(origin: Origin, seq: u32, attempt: u8) -> u32 {
    [origin.id.0, origin.incarnation, seq, u32::from(attempt)]
        .into_iter()
        .fold(0x811C_9DC5, |digest, part| (digest ^ part).wrapping_mul(0x0100_0193).rotate_left(7))
}
