//! One frame, from bytes to the one stage of its kind.

use super::{Node, StageMessage};
use crate::algorithm::{self, Scope};
use crate::base::ceiling::Number;
use crate::base::config::Moment;
use crate::base::ids::NodeSet;
use crate::base::lamport::LamportTime;
use crate::base::membership::Membership;
use crate::base::time::Instant;
use crate::election::Election;
use crate::link::{Acks, Stream};
use crate::mutex::Mutex;
use crate::peers::detector::Heartbeat;
use crate::peers::table::{Hello, Keep};
use crate::service::Service;
use crate::wire::{
    self, Cipher, Destination, DropReason, FRAME_MAX, Origin, Packet, Payload, Reach, ReliableHeader, SealedFrame,
    Stage,
};

/// For how many heartbeats after its boot a node counts members as up that have not named this boot yet.
const UNPROVEN_HEARTBEATS: u32 = 8;

impl<E: Election, M: Mutex, const N: usize, S: Service, G: Membership, K: Cipher> Node<E, M, N, S, G, K> {
    /// Opens a frame into `buffer`, or says why it is dropped. Nothing has changed before it is open.
    pub(super) fn open<'b>(&mut self, bytes: &[u8], buffer: &'b mut [u8; FRAME_MAX]) -> Result<Packet<'b>, DropReason> {
        let shared = &mut self.shared;
        let sealed = SealedFrame::read(&shared.config.key, bytes)?;
        // A recording costs no decryption.
        if sealed.sender().id != shared.config.me {
            shared.peers.check(sealed.sender(), sealed.seq())?;
        } else if sealed.sender() == shared.origin() && shared.own_frames.may_include(&sealed, shared.seq) {
            return Err(DropReason::NotForMe); // an echo
        }
        let packet = sealed.open(&shared.config.key, buffer)?;
        shared.config.key.on_opened(sealed.key_number());
        Ok(packet)
    }

    /// Takes in what an opened frame says, or says why that is dropped.
    pub(super) fn on_packet(&mut self, now: Instant, packet: &Packet<'_>, quality: u8) -> Result<(), DropReason> {
        let shared = &mut self.shared;
        let sender = Origin { id: packet.sender, incarnation: packet.incarnation };
        if sender.id == shared.config.me {
            shared.on_claim(now, packet.incarnation, sender == shared.origin());
            return Err(DropReason::SameId);
        }
        if !shared.ceilings.admits(now, Number::Frames, 0, shared.peers.ahead(sender, packet.seq)) {
            return Err(DropReason::OutOfBounds);
        }
        let keep = Keep { me: shared.config.me, leader: self.election.leader().map(|(leader, _)| leader) };
        let moment = Moment::new(now, &mut shared.rng, &shared.config.timing);
        let known = shared.peers.on_frame(moment, keep, packet, quality);
        self.report_links(now);
        if let Err(reason @ (DropReason::Duplicate | DropReason::EarlierBoot)) = known {
            return Err(reason);
        }
        if G::GROUPED && known.is_ok() {
            let from = self.shared.peers.group().set_of(packet.sender);
            self.detector.on_frame(from.and(self.shared.peers.confirmed()), now);
        }
        match packet.kind.stage().ok_or(DropReason::UnknownKind)? {
            Stage::Peers => self.on_hello(now, packet),
            Stage::Link => self.on_ack(now, packet),
            Stage::Detector if !G::GROUPED => Err(DropReason::UnknownKind),
            Stage::Detector => self.on_heartbeat(now, packet),
            Stage::Election => self.deliver(now, packet, self.election.scope()),
            Stage::Lease => self.deliver(now, packet, self.lease_scope()),
            Stage::Mutex => self.deliver(now, packet, self.mutex.scope()),
            Stage::Service => self.deliver(now, packet, self.service.scope()),
        }
    }

    fn on_hello(&mut self, now: Instant, packet: &Packet<'_>) -> Result<(), DropReason> {
        let hello: Hello = wire::decode(packet.body).ok_or(DropReason::Malformed)?;
        let shared = &mut self.shared;
        let moment = Moment::new(now, &mut shared.rng, &shared.config.timing);
        let me = shared.origin();
        let from = Origin { id: packet.sender, incarnation: packet.incarnation };
        shared.peers.on_hello(moment, me, from, &hello);
        if let Some(named) = hello.named.iter().find(|named| named.id == me.id) {
            shared.on_named(now, packet.sender, named.incarnation);
        }
        self.report_links(now);
        Ok(())
    }

    fn on_ack(&mut self, now: Instant, packet: &Packet<'_>) -> Result<(), DropReason> {
        let acks: Acks = wire::decode(packet.body).ok_or(DropReason::Malformed)?;
        let (me, hellos) = (self.shared.origin(), self.uses(Scope::Neighbours));
        let sender = self.shared.peers.roster().set_of(packet.sender);
        for ack in &acks.accepted {
            let cx = self.shared.link_context(now, hellos);
            if ack.origin != me.id {
                if G::GROUPED {
                    self.link.carry(&cx, packet.sender, ack);
                }
            } else if ack.incarnation == me.incarnation {
                self.link.on_ack(&cx, ack.seq, if ack.by.is_empty() { sender } else { ack.by });
            }
        }
        let Some(refusal) = acks.refused else { return Ok(()) };
        if refusal.origin != me.id {
            if G::GROUPED {
                self.link.carry_refusal(&self.shared.link_context(now, hellos), refusal);
            }
        } else if refusal.incarnation == me.incarnation {
            let slot = self.shared.peers.on_reliable(Origin { id: refusal.by, incarnation: refusal.boot })?;
            self.report_links(now); // it may be the first word of a new boot
            self.link.on_refusal(&self.shared.link_context(now, hellos), slot, &refusal);
        }
        Ok(())
    }

    fn on_heartbeat(&mut self, now: Instant, packet: &Packet<'_>) -> Result<(), DropReason> {
        let heartbeat: Heartbeat = wire::decode(packet.body).ok_or(DropReason::Malformed)?;
        if !self.shared.admits_time(now, heartbeat.lamport.0) {
            return Err(DropReason::OutOfBounds);
        }
        let from = self.shared.peers.group().set_of(packet.sender);
        if from.is_empty() || !self.is_member() {
            return Err(DropReason::NotBidirectional);
        }
        let shared = &mut self.shared;
        shared.peers.on_heartbeat(shared.origin(), packet.sender, &heartbeat);
        let me = shared.peers.group().set_of(shared.config.me);
        if let Some(&(_, boot)) = heartbeat.named.iter().find(|(slot, _)| NodeSet::slot(usize::from(*slot)) == me) {
            shared.on_named(now, packet.sender, boot);
        }
        // A node that has just booted gives its peers the time to learn of that.
        let young = now.since(shared.booted_at) < shared.config.timing.heartbeat.times(UNPROVEN_HEARTBEATS);
        let proven = young || from.meets(shared.peers.confirmed());
        if proven {
            shared.lamport.observe(heartbeat.lamport);
        }
        let news = self.detector.on_heartbeat(&shared.detector_context(now), from, &heartbeat, proven);
        shared.peers.set_next_hop(news, packet.sender);
        self.hurry_heartbeat(now);
        self.report_members(now);
        if proven { Ok(()) } else { Err(DropReason::NoSession) }
    }

    /// Sends the next heartbeat soon where a member waits to be named.
    pub(super) fn hurry_heartbeat(&mut self, now: Instant) {
        let shared = &mut self.shared;
        if shared.peers.has_unnamed() {
            let moment = Moment::new(now, &mut shared.rng, &shared.config.timing);
            self.detector.hurry(moment, shared.peers.in_range().len());
        }
    }

    /// Hands a message to its stage, which works on the roster of `scope`.
    fn deliver(&mut self, now: Instant, packet: &Packet<'_>, scope: Scope) -> Result<(), DropReason> {
        let shared = &mut self.shared;
        if matches!(&packet.destination, Destination::Neighbours(ids) if !ids.contains(&shared.config.me)) {
            return Err(DropReason::NotForMe);
        }
        let from = packet.origin().id;
        let known = shared.peers.knows(from, scope);
        let crowded = scope == Scope::Neighbours && shared.peers.is_crowded();
        if !known && !crowded {
            return Err(DropReason::NotBidirectional);
        }
        let mut sent_at = LamportTime(0);
        if let Destination::Reliable(header) = &packet.destination {
            if !known {
                return Err(DropReason::NotBidirectional);
            }
            sent_at = header.attempt.sent_at;
            if G::GROUPED && !self.shared.admits_time(now, sent_at.0) {
                return Err(DropReason::OutOfBounds); // it is not acknowledged: its origin says it again
            }
            self.accept(now, packet, header)?;
        }
        let message = StageMessage::decode(packet.kind, packet.body).ok_or(DropReason::UnknownKind)?;
        self.check_bounds(now, &message)?;
        match message {
            StageMessage::Election(message) => {
                self.step_election(now, algorithm::Input::Message { from, sent_at, message });
            }
            StageMessage::Lease(message) if G::GROUPED => {
                self.step_lease(now, algorithm::Input::Message { from, sent_at, message });
            }
            StageMessage::Lease(_) => return Err(DropReason::UnknownKind),
            StageMessage::Mutex(message) => {
                self.step_mutex(now, algorithm::Input::Message { from, sent_at, message });
            }
            StageMessage::Service(message) => {
                self.step_service(now, algorithm::Input::Message { from, sent_at, message });
            }
        }
        Ok(())
    }

    /// Checks how far a message would move terms and Lamport times.
    fn check_bounds(
        &mut self,
        now: Instant,
        message: &StageMessage<E::Message, M::Message, S::Message>,
    ) -> Result<(), DropReason> {
        let reach = match message {
            StageMessage::Election(message) => message.reach(),
            StageMessage::Lease(message) if G::GROUPED => message.reach(),
            StageMessage::Mutex(message) => message.reach(),
            // What an application says is its own affair, and without a group there is no lease.
            StageMessage::Lease(_) | StageMessage::Service(_) => return Ok(()),
        };
        let Reach { term, time, .. } = reach.ok_or(DropReason::Malformed)?;
        let in_time = !G::GROUPED || self.shared.admits_time(now, time);
        let in_term = self.shared.ceilings.admits(now, Number::Term, self.election.term_number(), term);
        if in_time && in_term { Ok(()) } else { Err(DropReason::OutOfBounds) }
    }

    /// Lets the link take in a reliable message: it relays, suppresses duplicates, pushes back and acknowledges.
    fn accept(&mut self, now: Instant, packet: &Packet<'_>, header: &ReliableHeader) -> Result<(), DropReason> {
        let (origin, hellos) = (packet.origin(), self.uses(Scope::Neighbours));
        let mine = origin.id == self.shared.config.me;
        let cx = self.shared.link_context(now, hellos);
        if G::GROUPED {
            self.link.relay(&cx, packet, header); // only messages to members take several hops
        }
        let for_me = cx.is_for_me(&header.recipients);
        if mine {
            let unsent = origin == self.shared.origin() && header.attempt.seq > self.link.last_seq();
            self.shared.on_claim(now, origin.incarnation, unsent);
        }
        if mine || !for_me {
            return Err(DropReason::NotForMe);
        }
        let slot = self.shared.peers.on_reliable(origin)?;
        self.report_links(now); // it may be the first message of a new boot
        let cx = self.shared.link_context(now, hellos);
        let stream = Stream::of::<G>(packet.kind);
        let accepted = self.link.accept(&cx, slot, header, stream);
        match accepted {
            Ok(new) => self.link.acknowledge(&cx, slot, header, stream, new),
            Err(DropReason::NoSession) => self.link.refuse(&cx, origin, header),
            Err(_) => {} // the origin asks again
        }
        // A message that finds no room acknowledges all the same: that may make room.
        if let Some(seq) = header.ack.filter(|_| accepted != Err(DropReason::NoSession)) {
            self.link.on_ack(&cx, seq, NodeSet::slot(slot));
        }
        if !accepted? {
            return Err(DropReason::Duplicate);
        }
        if G::GROUPED {
            self.shared.lamport.observe(header.attempt.sent_at); // without a group nothing is ordered by it
        }
        Ok(())
    }
}
