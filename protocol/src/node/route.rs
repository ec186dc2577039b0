//! One frame, from bytes to the one stage it belongs to.

use super::{Node, Payload};
use crate::algorithm::{self, Scope};
use crate::clock::Stamp;
use crate::config::Moment;
use crate::detector::{self, Alive};
use crate::election::Election;
use crate::group::NodeId;
use crate::link::{Place, Receipt};
use crate::mutex::Mutex;
use crate::neighbours::Hello;
use crate::time::Instant;
use crate::upper::Upper;
use crate::wire::{self, Message, Packet, Path, Reason, Stage};

impl<E: Election, M: Mutex, const N: usize, U: Upper> Node<E, M, N, U> {
    /// One frame, from bytes to the one stage it belongs to.
    pub(super) fn frame(&mut self, now: Instant, bytes: &[u8], quality: u8) -> Result<(), Reason> {
        let packet = wire::open(&self.config.key, bytes)?;
        if packet.sender == self.config.me {
            return Err(Reason::NotForMe);
        }
        let known = self.neighbours.hear(moment!(self, now), &packet, quality);
        self.report_links(now);
        if let Err(reason @ (Reason::Duplicate | Reason::Outdated)) = known {
            return Err(reason);
        }
        match packet.kind.stage() {
            Stage::Neighbours => {
                let hello: Hello = wire::decode(packet.body).ok_or(Reason::Malformed)?;
                self.neighbours.hello(moment!(self, now), self.config.me, packet.sender, &hello);
                self.report_links(now);
                Ok(())
            }
            Stage::Link => {
                let receipt: Receipt = wire::decode(packet.body).ok_or(Reason::Malformed)?;
                let place = place!(self, now);
                self.link.receive(&place, receipt);
                Ok(())
            }
            Stage::Detector if !Self::GROUPED => Err(Reason::NoStage),
            Stage::Detector => {
                let alive: Alive = wire::decode(packet.body).ok_or(Reason::Malformed)?;
                self.hear_alive(now, &packet, &alive)
            }
            Stage::Election => self.deliver(now, &packet, self.election.scope()),
            Stage::Mandate => self.deliver(now, &packet, self.mandate_scope()),
            Stage::Mutex => self.deliver(now, &packet, self.mutex.scope()),
            Stage::Upper => self.deliver(now, &packet, self.upper.scope()),
        }
    }

    fn hear_alive(&mut self, now: Instant, packet: &Packet<'_>, alive: &Alive) -> Result<(), Reason> {
        let from = self.neighbours.group().set_of(packet.sender);
        if from.is_empty() || !self.is_member() {
            return Err(Reason::OneWay);
        }
        let presence = presence!(self, now);
        self.detector.hear(&presence, from, alive);
        self.report_members(now);
        Ok(())
    }

    /// Hands a message to the stage it is for.
    fn deliver(&mut self, now: Instant, packet: &Packet<'_>, scope: Scope) -> Result<(), Reason> {
        let (from, stamp) = self.admit(now, packet, scope)?;
        match Payload::decode(packet.kind, packet.body).ok_or(Reason::NoStage)? {
            Payload::Election(message) => {
                self.step_election(now, algorithm::Input::Message { from, stamp, message });
            }
            Payload::Mandate(message) if Self::GROUPED => {
                self.step_mandate(now, algorithm::Input::Message { from, stamp, message });
            }
            Payload::Mandate(_) => return Err(Reason::NoStage),
            Payload::Mutex(message) => {
                self.step_mutex(now, algorithm::Input::Message { from, stamp, message });
            }
            Payload::Upper(message) => {
                self.step_upper(now, algorithm::Input::Message { from, stamp, message });
            }
        }
        Ok(())
    }

    /// Who wrote the message in a packet and when, if this node is to take it in.
    fn admit(&mut self, now: Instant, packet: &Packet<'_>, scope: Scope) -> Result<(NodeId, Stamp), Reason> {
        if matches!(&packet.path, Path::Neighbours(to) if !to.contains(&self.config.me)) {
            return Err(Reason::NotForMe);
        }
        let from = packet.writer().id;
        let known = match scope {
            Scope::Neighbours => self.neighbours.two_way().meets(self.neighbours.roster().set_of(from)),
            Scope::Group => self.neighbours.group().slot_of(from).is_some(),
            Scope::Nobody => false,
        };
        if !known {
            return Err(Reason::OneWay);
        }
        let Path::Letter(letter) = packet.path else { return Ok((from, Stamp(0))) };
        let place = place!(self, now);
        self.link.pass_letter_on(&place, packet, letter);
        if from == self.config.me || !place.is_for_me(letter.to) {
            return Err(Reason::NotForMe);
        }
        let taken = self.neighbours.take_letter(packet.writer(), letter.number, self.link.has_room());
        self.report_links(now); // it may be the first letter of a new boot
        let new = taken?;
        let place = place!(self, now);
        self.link.acknowledge(&place, packet.writer(), letter);
        if !new {
            return Err(Reason::Duplicate);
        }
        self.clock.hear(letter.stamp);
        Ok((from, letter.stamp))
    }
}
