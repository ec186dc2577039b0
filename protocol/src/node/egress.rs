//! The next frame to put on the air.

use super::{Halt, Node};
use crate::algorithm::Scope;
use crate::base::config::Moment;
use crate::base::membership::Membership;
use crate::base::time::Instant;
use crate::election::Election;
use crate::link::RELIABLE_MAX;
use crate::mutex::Mutex;
use crate::service::Service;
use crate::wire::{self, Destination, FRAME_MAX, Kind, Packet, Payload};

impl<E: Election, M: Mutex, const N: usize, S: Service, G: Membership> Node<E, M, N, S, G> {
    /// The next frame to broadcast. None leaves before the records were polled.
    pub fn poll_transmit<'b>(&mut self, now: Instant, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
        if self.shared.unsaved || self.shared.halted.is_some() {
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
        buffer.get(..len)
    }

    /// The kind, the destination and the length of the body of the next frame that is due: acknowledgements first, then
    /// relays, own messages, heartbeats, hellos.
    fn next_frame(&mut self, now: Instant, body: &mut [u8]) -> Option<(Kind, Destination, usize)> {
        if let Some(ack) = self.link.poll_ack() {
            return Some((Kind::ACK, Destination::Broadcast, wire::encode(&ack, body)?));
        }
        let bidirectional = self.shared.peers.bidirectional();
        let hellos = self.uses(Scope::Neighbours);
        let cx = self.shared.link_context(now, hellos);
        if G::GROUPED
            && let Some((kind, destination, bytes)) = self.link.poll_relay(&cx)
        {
            for (to, &byte) in body.get_mut(..bytes.len())?.iter_mut().zip(&bytes) {
                *to = byte;
            }
            return Some((kind, destination, bytes.len()));
        }
        if let Some((destination, message)) = self.link.poll_message(&cx, bidirectional) {
            let longest = if matches!(destination, Destination::Reliable(_)) { RELIABLE_MAX } else { FRAME_MAX };
            let Some(len) = message.encode(body).filter(|&len| len <= longest) else {
                self.shared.halt(Halt::Frame);
                return None;
            };
            return Some((message.kind(), destination, len));
        }
        if self.is_member()
            && let Some(mut heartbeat) = self.detector.poll_heartbeat(&self.shared.detector_context(now))
        {
            self.shared.peers.name_members(&mut heartbeat);
            return Some((Kind::HEARTBEAT, Destination::Broadcast, wire::encode(&heartbeat, body)?));
        }
        if !hellos {
            return None;
        }
        let shared = &mut self.shared;
        let moment = Moment::new(now, &mut shared.rng, &shared.config.timing);
        let hello = shared.peers.poll_hello(moment)?;
        Some((Kind::HELLO, Destination::Broadcast, wire::encode(&hello, body)?))
    }
}
