//! The next frame to put on the air.

use super::{Halt, Node};
use crate::algorithm::Scope;
use crate::base::cipher::TAG_BYTES;
use crate::base::config::Moment;
use crate::base::membership::Membership;
use crate::base::time::Instant;
use crate::election::Election;
use crate::link::{Precedence, RELIABLE_MAX};
use crate::mutex::Mutex;
use crate::service::Service;
use crate::wire::{self, Cipher, Destination, FRAME_MAX, Kind, Packet, Payload};

impl<E: Election, M: Mutex, const N: usize, S: Service, G: Membership, K: Cipher> Node<E, M, N, S, G, K> {
    /// The next frame to broadcast. None leaves before the records, and the log of the service, were polled.
    #[must_use = "a frame is returned once"]
    pub fn poll_transmit<'b>(&mut self, now: Instant, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        if self.shared.unsaved || self.service.log_due() || self.shared.halted.is_some() {
            return None;
        }
        let mut body = [0; FRAME_MAX];
        let (kind, destination, len) = self.next_frame(now, &mut body)?;
        let shared = &mut self.shared;
        let Some(seq) = shared.seq.checked_add(1) else {
            shared.halt(Halt::Sequence);
            return None;
        };
        shared.seq = seq;
        let (sender, incarnation) = (shared.config.me, shared.records.incarnation);
        let packet = Packet { kind, sender, incarnation, seq, destination, body: body.get(..len)? };
        let Some(len) = wire::seal(&shared.config.key, &packet, buffer) else {
            shared.halt(Halt::Frame);
            return None;
        };
        let frame = buffer.get(..len)?;
        shared.own_frames.on_sealed(seq, frame.get(len.saturating_sub(TAG_BYTES)..)?);
        Some(frame)
    }

    /// The kind, the destination and the length of the body of the next frame that is due: elections and leases first, then
    /// acknowledgements, heartbeats and hellos, relays, locks, applications.
    fn next_frame(&mut self, now: Instant, body: &mut [u8]) -> Option<(Kind, Destination, usize)> {
        let hellos = self.uses(Scope::Neighbours);
        if let Some(frame) = self.next_message(now, Precedence::Leadership, body) {
            return Some(frame);
        }
        if let Some(acks) = self.link.poll_acks(&self.shared.link_context(now, hellos)) {
            return Some((Kind::ACK, Destination::Broadcast, wire::encode(&acks, body)?));
        }
        if self.is_member()
            && let Some(mut heartbeat) = self.detector.poll_heartbeat(&self.shared.detector_context(now))
        {
            self.shared.peers.name_members(&mut heartbeat);
            return Some((Kind::HEARTBEAT, Destination::Broadcast, wire::encode(&heartbeat, body)?));
        }
        if hellos {
            let shared = &mut self.shared;
            let moment = Moment::new(now, &mut shared.rng, &shared.config.timing);
            if let Some(hello) = shared.peers.poll_hello(moment) {
                return Some((Kind::HELLO, Destination::Broadcast, wire::encode(&hello, body)?));
            }
        }
        if !G::GROUPED {
            return None; // it has neither relays nor locks nor applications
        }
        let cx = self.shared.link_context(now, hellos);
        if let Some((kind, destination, bytes)) = self.link.poll_relay(&cx) {
            for (to, &byte) in body.get_mut(..bytes.len())?.iter_mut().zip(&bytes) {
                *to = byte;
            }
            return Some((kind, destination, bytes.len()));
        }
        self.next_message(now, Precedence::Applications, body)
    }

    /// The next own message of this precedence or above.
    fn next_message(
        &mut self,
        now: Instant,
        lowest: Precedence,
        body: &mut [u8],
    ) -> Option<(Kind, Destination, usize)> {
        let bidirectional = self.shared.peers.bidirectional();
        let cx = self.shared.link_context(now, self.uses(Scope::Neighbours));
        let (destination, message) = self.link.poll_message(&cx, bidirectional, lowest)?;
        let reliable = matches!(destination, Destination::Reliable(_));
        let longest = if reliable { RELIABLE_MAX } else { FRAME_MAX };
        let Some(len) = message.encode(body).filter(|&len| len <= longest) else {
            self.shared.halt(Halt::Frame);
            return None;
        };
        if G::GROUPED {
            self.link.watch(&cx, message.kind(), &destination, body.get(..len)?);
        }
        Some((message.kind(), destination, len))
    }
}
