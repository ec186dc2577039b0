//! Receiving: relaying, duplicate suppression, back-pressure, acknowledgement.

use super::relay::Relay;
use super::{Ack, Link, LinkContext, RELIABLE_MAX};
use crate::base::ids::NodeId;
use crate::peers::table::PeerTable;
use crate::wire::{Destination, DropReason, Kind, Origin, Packet, Payload, Recipients, ReliableHeader, encode};
use heapless::Vec;

impl<P: Payload, const N: usize> Link<P, N> {
    /// Queues a reliable message for its other recipients.
    ///
    /// # Errors
    /// [`DropReason::NotForMe`] where this node is none of the recipients.
    pub(crate) fn relay(
        &mut self,
        cx: &LinkContext<'_>,
        packet: &Packet<'_>,
        header: ReliableHeader,
    ) -> Result<(), DropReason> {
        let origin = packet.origin();
        if origin.id == cx.me {
            return Err(DropReason::NotForMe);
        }
        if cx.is_for_others(header.recipients) {
            let digest = digest(origin, header.seq, header.attempt, cx.me);
            self.relays.overhear(digest, header.hop_limit);
            let hop_limit = header.hop_limit.saturating_sub(1);
            let destination = Destination::Reliable(ReliableHeader { origin: Some(origin), hop_limit, ..header });
            if let (1.., Ok(body)) = (hop_limit, Vec::from_slice(packet.body)) {
                self.relays.submit(cx, Relay { digest, hop_limit, kind: packet.kind, destination, body });
            }
        }
        if cx.is_for_me(header.recipients) { Ok(()) } else { Err(DropReason::NotForMe) }
    }

    /// Accepts a reliable message for this node; returns whether it is new, and not a duplicate to be acknowledged again.
    ///
    /// # Errors
    /// [`DropReason::EarlierBoot`] or [`DropReason::NoRoom`]: it is not acknowledged, and the origin may retransmit.
    pub(crate) fn accept(
        &mut self,
        peers: &mut PeerTable<N>,
        origin: Origin,
        header: ReliableHeader,
    ) -> Result<bool, DropReason> {
        let slot = peers.on_reliable(origin)?;
        for renewed in peers.take_renewed().slots() {
            if let Some(delivered) = self.delivered.get_mut(renewed) {
                *delivered = 0;
            }
        }
        let room = self.has_room();
        let delivered = self.delivered.get_mut(slot).ok_or(DropReason::NoRoom)?;
        let new = header.seq > *delivered;
        if new && !room {
            return Err(DropReason::NoRoom);
        }
        *delivered = header.seq.max(*delivered);
        Ok(new)
    }

    /// Queues the acknowledgement of a message that was delivered, now or before.
    pub(crate) fn acknowledge(&mut self, cx: &LinkContext<'_>, origin: Origin, header: ReliableHeader) {
        let hop_limit = match header.recipients {
            Recipients::Node(_) => 1, // from a neighbour
            Recipients::Members(_) => cx.hops,
        };
        let (Origin { id: origin, incarnation }, ReliableHeader { seq, attempt, .. }) = (origin, header);
        // An acknowledgement that finds no room is sent with the next attempt.
        let _ = self.acks.push(Ack { origin, incarnation, seq, attempt, by: cx.me, hop_limit });
    }

    /// Takes in an acknowledgement, or relays that of another node's message.
    pub(crate) fn on_ack(&mut self, cx: &LinkContext<'_>, ack: Ack) {
        if ack.origin != cx.me {
            self.relay_ack(cx, ack);
            return;
        }
        if ack.incarnation != cx.incarnation {
            return;
        }
        for pending in &mut self.queue {
            if pending.reliable.is_some_and(|retransmit| retransmit.seq == ack.seq) {
                pending.acknowledged(cx.roster.set_of(ack.by));
            }
        }
        self.remove_completed();
    }

    fn relay_ack(&mut self, cx: &LinkContext<'_>, ack: Ack) {
        let Ack { origin, incarnation, seq, attempt, by, hop_limit } = ack;
        let origin = Origin { id: origin, incarnation };
        self.relays.acknowledged(origin, seq, cx.roster.set_of(by).and(cx.group));
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
    pub(crate) fn poll_relay(&mut self, cx: &LinkContext<'_>) -> Option<(Kind, Destination, Vec<u8, RELIABLE_MAX>)> {
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
