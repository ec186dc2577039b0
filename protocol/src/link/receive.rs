//! Receiving: relaying, duplicate suppression, back-pressure, acknowledgement.

use super::relay::Relay;
use super::{Ack, Link, LinkContext, RELIABLE_MAX};
use crate::base::ids::{NodeId, NodeSet};
use crate::wire::{
    Attempt, Destination, DropReason, Kind, Origin, Packet, Payload, Recipients, ReliableHeader, encode,
};
use heapless::Vec;

impl<P: Payload, const N: usize> Link<P, N> {
    /// Queues a reliable message for its other recipients.
    pub(crate) fn relay(&mut self, cx: &LinkContext<'_, N>, packet: &Packet<'_>, header: &ReliableHeader) {
        let origin = packet.origin();
        if origin.id == cx.me || !cx.is_for_others(&header.recipients) {
            return;
        }
        let Attempt { seq, number, hop_limit, .. } = header.attempt;
        let digest = digest(origin, seq, number, cx.me);
        self.relays.overhear(digest, hop_limit);
        let hop_limit = hop_limit.saturating_sub(1);
        let attempt = Attempt { hop_limit, ..header.attempt };
        let recipients = header.recipients.clone();
        let destination = Destination::Reliable(ReliableHeader { origin: Some(origin), attempt, recipients });
        if let (1.., Ok(body)) = (hop_limit, Vec::from_slice(packet.body)) {
            self.relays.submit(cx, Relay { digest, hop_limit, kind: packet.kind, destination, body });
        }
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
    ) -> Result<bool, DropReason> {
        let seq = header.attempt.seq;
        let new = self.sessions.is_new(slot, seq, cx.names_me(&header.recipients)).ok_or(DropReason::NoSession)?;
        if new && !self.has_room() {
            return Err(DropReason::NoRoom);
        }
        if new {
            self.sessions.deliver(slot, seq);
        }
        Ok(new)
    }

    /// Queues the acknowledgement of a message that was delivered, now or before, or its refusal.
    pub(crate) fn acknowledge(
        &mut self,
        cx: &LinkContext<'_, N>,
        origin: Origin,
        header: &ReliableHeader,
        accepted: bool,
    ) {
        let hop_limit = match header.recipients {
            Recipients::Node(_) => 1, // from a neighbour
            Recipients::Members { .. } => cx.hops,
        };
        let (Origin { id: origin, incarnation }, Attempt { seq, number: attempt, .. }) = (origin, header.attempt);
        let (by, boot) = (cx.me, cx.incarnation);
        // An acknowledgement that finds no room is sent with the next attempt.
        let _ = self.acks.push(Ack { origin, incarnation, seq, attempt, by, boot, accepted, hop_limit });
    }

    /// Takes in the acknowledgement of an own message.
    pub(crate) fn on_ack(&mut self, cx: &LinkContext<'_, N>, ack: Ack) {
        let Some(slot) = cx.roster().slot_of(ack.by) else { return };
        if ack.incarnation != cx.incarnation || ack.boot != cx.peers.boot_of(slot) {
            return; // of an earlier boot
        }
        let by = NodeSet::slot(slot);
        self.sessions.set_outgoing(by, ack.accepted);
        for pending in &mut self.queue {
            match pending.reliable {
                Some(retransmit) if retransmit.seq.get() == ack.seq && ack.accepted => pending.acknowledged(by),
                Some(retransmit) if retransmit.seq.get() == ack.seq => pending.refused(by),
                Some(_) | None => {}
            }
        }
        self.remove_completed();
    }

    /// Relays the acknowledgement of another node's message.
    pub(crate) fn relay_ack(&mut self, cx: &LinkContext<'_, N>, ack: Ack) {
        let Ack { origin, incarnation, seq, attempt, by, hop_limit, .. } = ack;
        let origin = Origin { id: origin, incarnation };
        self.relays.acknowledged(origin, seq, cx.peers.group().set_of(by));
        let digest = !digest(origin, seq, attempt, by);
        self.relays.overhear(digest, hop_limit);
        let hop_limit = hop_limit.saturating_sub(1);
        let mut buffer = [0; RELIABLE_MAX];
        let written = encode(&Ack { hop_limit, ..ack }, &mut buffer).and_then(|len| buffer.get(..len));
        let Some(Ok(body)) = written.map(Vec::from_slice) else { return };
        if hop_limit > 0 && by != cx.me {
            let destination = Destination::Broadcast;
            self.relays.submit(cx, Relay { digest, hop_limit, kind: Kind::ACK, destination, body });
        }
    }

    /// The next acknowledgement to send.
    pub(crate) fn poll_ack(&mut self) -> Option<Ack> {
        self.acks.pop()
    }

    /// The next frame of another node that is due to be relayed.
    pub(crate) fn poll_relay(
        &mut self,
        cx: &LinkContext<'_, N>,
    ) -> Option<(Kind, Destination, Vec<u8, RELIABLE_MAX, u8>)> {
        let Relay { kind, destination, body, .. } = self.relays.poll(cx)?;
        Some((kind, destination, body))
    }
}

/// A short digest of a relayed frame. Two frames with one digest cost one of them an attempt, nothing else.
fn digest(origin: Origin, seq: u32, attempt: u8, by: NodeId) -> u32 {
    [origin.id.0, origin.incarnation, seq, u32::from(attempt), by.0]
        .into_iter()
        .fold(0x811C_9DC5, |digest, part| (digest ^ part).wrapping_mul(0x0100_0193).rotate_left(7))
}
