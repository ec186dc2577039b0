//! Frames on their way from one node to the others.

use super::World;
use crate::fault::Fate;
use crate::frames::{FrameRef, ROOM};
use crate::machine::Machine;
use crate::network::Carrier;
use crate::queue::{Kind, Micros};
use crate::topology::Link;
use crate::trace::{Missed, Observer, What};

impl<M: Machine> World<M> {
    /// A node hands a frame over.
    pub(super) fn submit(&mut self, place: u32, frame: FrameRef, observer: &mut impl Observer) {
        match &mut self.carrier {
            Carrier::Radio(radio) => {
                if let Err(refused) = radio.submit(&mut self.ether, place, frame) {
                    let what = What::Unsent { kind: refused.kind, why: refused.why };
                    self.tell(place, what, observer);
                }
            }
            Carrier::Lan(_) => {
                self.tell_sent(place, frame, observer);
                for position in self.ether.links.range(place) {
                    self.post(place, frame, position, observer);
                }
                let len = self.ether.frames.get(frame).bytes().len();
                self.ether.tally.sent(self.ether.frames.get(frame).kind, len, 0);
                self.ether.frames.release(frame);
            }
        }
    }

    /// A local network takes a frame to one hearer.
    fn post(&mut self, place: u32, frame: FrameRef, position: usize, observer: &mut impl Observer) {
        let Carrier::Lan(lan) = &self.carrier else { return };
        let link = self.ether.links.at(position);
        if !self.ether.faults.open(place, link.hearer()) {
            return;
        }
        let way = lan.delay(&mut self.ether);
        match self.fate(link) {
            Fate::Lost => self.miss(place, link.hearer(), Missed::Lost, observer),
            Fate::Heard { after, again } => {
                self.send_on(link, frame, way + after);
                if let Some(again) = again {
                    self.send_on(link, frame, way + again);
                }
            }
        }
    }

    pub(super) fn sense(&mut self, place: u32, number: u32, observer: &mut impl Observer) {
        let Carrier::Radio(radio) = &mut self.carrier else { return };
        if let Err(refused) = radio.sense(&mut self.ether, place, number) {
            self.tell(place, What::Unsent { kind: refused.kind, why: refused.why }, observer);
            self.carried(place, false, observer);
        }
    }

    pub(super) fn air_start(&mut self, place: u32, number: u32, observer: &mut impl Observer) {
        let Carrier::Radio(radio) = &mut self.carrier else { return };
        if let Some(frame) = radio.start(&mut self.ether, place, number) {
            self.tell_sent(place, frame, observer);
            self.announce(place, number, frame);
        }
    }

    /// Nodes that back off by themselves notice that a frame begins to arrive.
    fn announce(&mut self, place: u32, number: u32, frame: FrameRef) {
        let Carrier::Radio(radio) = &self.carrier else { return };
        if !M::BACKS_OFF {
            return;
        }
        let end = self.ether.now + radio.airtime(self.ether.frames.get(frame).bytes().len());
        for position in self.ether.links.range(place) {
            let hearer = self.ether.links.at(position).hearer();
            if radio.received(hearer, number) && self.ether.faults.open(place, hearer) {
                let until = self.seats[hearer as usize].clock.show(end);
                if let Some(machine) = &mut self.machines[hearer as usize] {
                    machine.begins_to_hear(until);
                }
            }
        }
    }

    /// A transmission ends: everybody who received it hears it.
    pub(super) fn air_end(&mut self, place: u32, number: u32, observer: &mut impl Observer) {
        let Carrier::Radio(radio) = &mut self.carrier else { return };
        let Some(reference) = radio.end(&mut self.ether, place, number) else { return };
        let frame = self.ether.frames.get(reference);
        let (kind, len) = (frame.kind, frame.bytes().len());
        let took = self.ether.now - frame.sent_at;
        // A copy: hearing a frame makes nodes send, and the store moves.
        let mut bytes = [0; ROOM];
        bytes[..len].copy_from_slice(frame.bytes());
        self.ether.tally.sent(kind, len, took);
        for position in self.ether.links.range(place) {
            let link = self.ether.links.at(position);
            let hearer = link.hearer();
            if !self.is_up(hearer) || !self.ether.faults.open(place, hearer) {
                continue;
            }
            let Carrier::Radio(radio) = &self.carrier else { return };
            if !radio.received(hearer, number) {
                self.miss(place, hearer, Missed::Collision, observer);
                continue;
            }
            match self.fate(link) {
                Fate::Lost => self.miss(place, hearer, Missed::Lost, observer),
                Fate::Heard { after: 0, again: None } => {
                    self.hear(hearer, place, kind, &bytes[..len], link.quality(), observer);
                }
                Fate::Heard { after, again } => {
                    self.send_on(link, reference, after);
                    if let Some(again) = again {
                        self.send_on(link, reference, again);
                    }
                }
            }
        }
        self.ether.frames.release(reference);
        self.carried(place, true, observer);
    }

    /// A frame that took its time arrives.
    pub(super) fn arrive(&mut self, place: u32, detail: u32, observer: &mut impl Observer) {
        let (reference, quality) = FrameRef::split(detail);
        let frame = self.ether.frames.get(reference).clone();
        self.ether.frames.release(reference);
        // What is under way when the network is cut does not arrive.
        if self.ether.faults.open(frame.sender, place) {
            self.hear(place, frame.sender, frame.kind, frame.bytes(), quality, observer);
        }
    }

    /// A node begins to listen.
    pub(super) fn listen(&mut self, place: u32) {
        match &mut self.carrier {
            Carrier::Radio(radio) => radio.listen(place),
            Carrier::Lan(_) => {} // nothing is half heard on a local network
        }
    }

    /// A node falls silent.
    pub(super) fn silence(&mut self, place: u32) {
        match &mut self.carrier {
            Carrier::Radio(radio) => radio.silence(&mut self.ether, place),
            Carrier::Lan(_) => {} // what was said is on its way
        }
    }

    fn fate(&mut self, link: Link) -> Fate {
        let now = self.ether.now;
        self.ether.faults.fate(now, link.hearer(), link.quality(), &mut self.ether.random)
    }

    fn send_on(&mut self, link: Link, frame: FrameRef, after: Micros) {
        self.ether.frames.hold(frame);
        let at = self.ether.now + after;
        self.ether.queue.push(at, Kind::Arrive, link.hearer(), frame.with_quality(link.quality()));
    }

    fn miss(&mut self, from: u32, hearer: u32, why: Missed, observer: &mut impl Observer) {
        match why {
            Missed::Collision => self.ether.tally.collided += 1,
            Missed::Lost => self.ether.tally.lost += 1,
        }
        self.tell(hearer, What::Missed { from: self.names[from as usize], why }, observer);
    }

    fn tell_sent(&mut self, place: u32, frame: FrameRef, observer: &mut impl Observer) {
        let frame = self.ether.frames.get(frame);
        let (kind, bytes) = (frame.kind, frame.bytes());
        // The last bytes of a frame are its authentication tag: they stand for all the others.
        let tail = bytes.iter().rev().take(8).fold(0, |sum, &byte| sum << 8 | u64::from(byte));
        let what = What::Sent { kind, bytes: bytes.len() as u16 };
        observer.read(bytes);
        self.hash.word(tail);
        self.tell(place, what, observer);
    }
}
