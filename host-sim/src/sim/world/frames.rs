//! Frames on their way from one node to the others.

use super::World;
use crate::base::Micros;
use crate::sim::event_queue::Kind;
use crate::sim::frame_pool::{FRAME_CAPACITY, FrameRef};
use crate::sim::link_fault::Delivery;
use crate::sim::medium::{Channel, Dropped};
use crate::sim::node::SimNode;
use crate::sim::topology::Link;
use crate::trace::{EventKind, LossReason, Observer};

impl<M: SimNode> World<M> {
    pub(super) fn submit(&mut self, slot: u32, frame: FrameRef, observer: &mut impl Observer) {
        match &mut self.channel {
            Channel::Radio(radio) => {
                if let Err(dropped) = radio.submit(&mut self.medium, slot, frame) {
                    self.emit_dropped(slot, dropped, observer);
                }
            }
            Channel::Lan(lan) => {
                let delay = lan.take_cable(self.medium.now, &mut self.medium.rng);
                self.emit_sent(slot, frame, observer);
                for position in self.medium.links.range(slot) {
                    self.send_over_lan(slot, frame, position, delay, observer);
                }
                let sent = self.medium.frames.get(frame);
                self.medium.stats.record_sent(sent.kind, sent.bytes().len(), 0);
                self.medium.frames.release(frame);
            }
        }
    }

    /// Returns whether the medium takes a frame of a node: a transmitter sends one after the other.
    pub(super) fn takes_frames(&self, slot: u32) -> bool {
        match &self.channel {
            Channel::Radio(radio) => radio.has_room(slot),
            Channel::Lan(_) => true,
        }
    }

    /// Sends a frame to one receiver, with the delay that is common to all, or its own.
    fn send_over_lan(
        &mut self,
        slot: u32,
        frame: FrameRef,
        position: usize,
        common: Option<Micros>,
        observer: &mut impl Observer,
    ) {
        let Channel::Lan(lan) = &self.channel else { return };
        let link = self.medium.links.at(position);
        if !self.medium.faults.connects(slot, link.receiver()) {
            return;
        }
        let lan_delay = common.unwrap_or_else(|| self.medium.rng.between(lan.plan.delay_min, lan.plan.delay_max));
        match self.draw_delivery(link) {
            Delivery::Lost => self.lose(slot, link.receiver(), LossReason::Lost, observer),
            Delivery::Received { delay, duplicate } => self.delay_arrivals(link, frame, lan_delay, delay, duplicate),
        }
    }

    pub(super) fn carrier_sense(&mut self, slot: u32, number: u32, observer: &mut impl Observer) {
        let Channel::Radio(radio) = &mut self.channel else { return };
        if let Err(dropped) = radio.sense(&mut self.medium, slot, number) {
            self.emit_dropped(slot, dropped, observer);
            self.transmit_done(slot, false, observer);
        }
    }

    pub(super) fn transmit_start(&mut self, slot: u32, number: u32, observer: &mut impl Observer) {
        let Channel::Radio(radio) = &mut self.channel else { return };
        if let Some(frame) = radio.start(&mut self.medium, slot, number) {
            self.emit_sent(slot, frame, observer);
            self.notify_receivers(slot, number, frame);
        }
    }

    /// Notifies nodes that back off by themselves that they begin to receive a frame.
    fn notify_receivers(&mut self, slot: u32, number: u32, frame: FrameRef) {
        let Channel::Radio(radio) = &self.channel else { return };
        if !M::BACKS_OFF {
            return;
        }
        let end = self.medium.now + radio.airtime(self.medium.frames.get(frame).bytes().len());
        for link in self.medium.links.of(slot) {
            let receiver = link.receiver();
            if radio.received(receiver, number) && self.medium.faults.connects(slot, receiver) {
                let until = self.states[receiver as usize].clock.local(end);
                if let Some(node) = &mut self.nodes[receiver as usize] {
                    node.on_receive_start(until);
                }
            }
        }
    }

    /// Ends a transmission and delivers its frame.
    pub(super) fn transmit_end(&mut self, slot: u32, number: u32, observer: &mut impl Observer) {
        let Channel::Radio(radio) = &mut self.channel else { return };
        let Some(reference) = radio.end(&mut self.medium, slot, number) else { return };
        let frame = self.medium.frames.get(reference);
        let (kind, len) = (frame.kind, frame.bytes().len());
        let took = self.medium.now - frame.sent_at;
        // A copy: receivers send in turn, and the pool moves.
        let mut bytes = [0; FRAME_CAPACITY];
        bytes[..len].copy_from_slice(frame.bytes());
        self.medium.stats.record_sent(kind, len, took);
        for position in self.medium.links.range(slot) {
            let link = self.medium.links.at(position);
            let receiver = link.receiver();
            if !self.is_up(receiver) || !self.medium.faults.connects(slot, receiver) {
                continue;
            }
            let Channel::Radio(radio) = &self.channel else { return };
            if !radio.received(receiver, number) {
                self.lose(slot, receiver, LossReason::Collision, observer);
                continue;
            }
            match self.draw_delivery(link) {
                Delivery::Lost => self.lose(slot, receiver, LossReason::Lost, observer),
                Delivery::Received { delay: 0, duplicate: None } => {
                    self.receive(receiver, slot, kind, &bytes[..len], link.quality(), observer);
                }
                Delivery::Received { delay, duplicate } => self.delay_arrivals(link, reference, 0, delay, duplicate),
            }
        }
        self.medium.frames.release(reference);
        self.transmit_done(slot, true, observer);
    }

    pub(super) fn arrive(&mut self, slot: u32, detail: u32, observer: &mut impl Observer) {
        let (reference, quality) = FrameRef::split(detail);
        let frame = self.medium.frames.get(reference).clone();
        self.medium.frames.release(reference);
        // A frame in flight when a partition begins does not arrive.
        if self.medium.faults.connects(frame.sender, slot) {
            self.receive(slot, frame.sender, frame.kind, frame.bytes(), quality, observer);
        }
    }

    pub(super) fn start_receiver(&mut self, slot: u32) {
        if let Channel::Radio(radio) = &mut self.channel {
            radio.listen(slot);
        }
    }

    pub(super) fn stop_radio(&mut self, slot: u32) {
        if let Channel::Radio(radio) = &mut self.channel {
            radio.stop(&mut self.medium, slot); // on a local network, frames are on their way
        }
    }

    fn draw_delivery(&mut self, link: Link) -> Delivery {
        let now = self.medium.now;
        self.medium.faults.deliver(now, link.receiver(), link.quality(), &mut self.medium.rng)
    }

    /// Schedules the arrival of a frame, and of its duplicate.
    fn delay_arrivals(
        &mut self,
        link: Link,
        frame: FrameRef,
        medium_delay: Micros,
        delay: Micros,
        duplicate: Option<Micros>,
    ) {
        for delay in [Some(delay), duplicate].into_iter().flatten() {
            self.medium.frames.retain(frame);
            let at = self.medium.now + medium_delay + delay;
            self.medium.queue.push(at, Kind::Arrival, link.receiver(), frame.with_quality(link.quality()));
        }
    }

    fn lose(&mut self, from: u32, receiver: u32, reason: LossReason, observer: &mut impl Observer) {
        match reason {
            LossReason::Collision => self.medium.stats.collided += 1,
            LossReason::Lost => self.medium.stats.lost += 1,
        }
        self.emit(receiver, EventKind::Missed { from: self.ids[from as usize], reason }, observer);
    }

    fn emit_dropped(&mut self, slot: u32, dropped: Dropped, observer: &mut impl Observer) {
        self.emit(slot, EventKind::Dropped { kind: dropped.kind, reason: dropped.reason }, observer);
    }

    fn emit_sent(&mut self, slot: u32, frame: FrameRef, observer: &mut impl Observer) {
        let frame = self.medium.frames.get(frame);
        let (kind, bytes) = (frame.kind, frame.bytes());
        // The last bytes of a frame are its authentication tag: they stand for all others.
        let tag = bytes.iter().rev().take(8).fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let sent = EventKind::Sent { kind, bytes: bytes.len() as u16 };
        observer.on_frame(bytes);
        self.hash.write(tag);
        self.emit(slot, sent, observer);
    }
}
