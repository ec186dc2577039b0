//! A radio channel after IEEE 802.15.4: everybody in range hears, one at a time.
//!
//! A transmission is two events, its start and its end, however many hear it. At the start every ear in range notes
//! which transmission it is receiving, or that two overlap; at the end an ear that still holds this one and no other
//! has heard it. That makes hidden terminals and half duplex fall out of one rule: an ear that is busy, with another's
//! frame or its own, spoils what else arrives. There is no capture: the stronger of two frames is lost as well.
//!
//! Transmitters listen first (unslotted CSMA/CA): a random back-off, a look at the channel, the turn-around from
//! receiving to sending. Two that look within one turn-around of each other do not see each other and collide.

use super::Ether;
use crate::frames::{FrameRef, Waiting};
use crate::queue::{Kind, Micros};
use crate::scenario::RadioPlan;
use crate::trace::Unsent;

/// Bytes on the air besides the frame: preamble, delimiter and length (6), MAC header and check sum (11).
const OVERHEAD_BYTES: u64 = 17;
/// The unit of back-off: 20 symbols.
const BACKOFF_UNIT: Micros = 320;
/// How long a look at the channel takes: 8 symbols.
const SENSE: Micros = 128;
/// From receiving to sending: 12 symbols.
const TURNAROUND: Micros = 192;
/// The pause after a frame before the next: 40 symbols.
const SPACING: Micros = 640;
/// The first back-off is up to 2^3 - 1 units.
const BACKOFF_EXPONENT_MIN: u8 = 3;
/// No back-off is longer than 2^5 - 1 units.
const BACKOFF_EXPONENT_MAX: u8 = 5;
/// How often the channel may be found busy before the frame is given up.
const BUSY_MAX: u8 = 4;

/// No transmission, or a spoilt one.
const NOTHING: u32 = 0;

/// What one node's receiver is doing.
#[derive(Clone, Copy, Debug, Default)]
struct Ear {
    /// Until when it hears a transmission or makes one.
    busy_until: Micros,
    /// The one transmission it is receiving.
    receiving: u32,
}

/// What one node's transmitter is doing.
#[derive(Clone, Copy, Debug, Default)]
struct Mouth {
    waiting: Waiting,
    /// The event it waits for; events with another number are of an earlier life.
    awaits: u32,
    /// Not before this may it begin with the next frame.
    free_at: Micros,
    busy: u8,
    exponent: u8,
    active: bool,
}

/// What the world has to know about a frame that did not go out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The word for what it says.
    pub kind: &'static str,
    /// Why.
    pub why: Unsent,
}

/// The channel.
pub struct Radio {
    plan: RadioPlan,
    ears: Vec<Ear>,
    mouths: Vec<Mouth>,
    numbers: u32,
    /// Whether nodes back off by themselves: then the channel looks once and says whether it was free.
    one_look: bool,
}

impl Radio {
    /// A quiet channel.
    #[must_use]
    pub fn new(nodes: u32, plan: RadioPlan) -> Self {
        let ears = vec![Ear::default(); nodes as usize];
        Self { plan, ears, mouths: vec![Mouth::default(); nodes as usize], numbers: NOTHING, one_look: false }
    }

    /// The same channel for nodes that back off by themselves.
    #[must_use]
    pub fn with_one_look(self) -> Self {
        Self { one_look: true, ..self }
    }

    /// How long a frame is on the air.
    #[must_use]
    pub fn airtime(&self, bytes: usize) -> Micros {
        (OVERHEAD_BYTES + bytes as u64) * 8 * 1_000_000 / u64::from(self.plan.bit_rate)
    }

    /// A node wants a frame sent.
    ///
    /// # Errors
    /// Where the frame is dropped: too many are waiting.
    pub fn submit(&mut self, ether: &mut Ether, node: u32, frame: FrameRef) -> Result<(), Refused> {
        let mouth = &mut self.mouths[node as usize];
        if mouth.waiting.len() >= usize::from(self.plan.queue) {
            let kind = ether.frames.get(frame).kind;
            ether.frames.release(frame);
            ether.tally.queue_full += 1;
            return Err(Refused { kind, why: Unsent::QueueFull });
        }
        mouth.waiting.push(&mut ether.frames, frame);
        if !mouth.active {
            self.begin(ether, node);
        }
        Ok(())
    }

    /// A node has looked at the channel.
    ///
    /// # Errors
    /// Where its frame is dropped: the channel was busy each time it looked.
    pub fn sense(&mut self, ether: &mut Ether, node: u32, number: u32) -> Result<(), Refused> {
        if self.mouths[node as usize].awaits != number {
            return Ok(());
        }
        let looked_from = ether.now - SENSE;
        if self.ears[node as usize].busy_until <= looked_from {
            self.await_event(ether, node, ether.now + TURNAROUND, Kind::AirStart);
            return Ok(());
        }
        if self.one_look {
            // A receiver that is asked to look at the channel loses what it was receiving.
            self.ears[node as usize].receiving = NOTHING;
        }
        let mouth = &mut self.mouths[node as usize];
        mouth.busy += 1;
        mouth.exponent = (mouth.exponent + 1).min(BACKOFF_EXPONENT_MAX);
        if mouth.busy <= BUSY_MAX && !self.one_look {
            self.back_off(ether, node, ether.now);
            return Ok(());
        }
        ether.tally.medium_busy += 1;
        let dropped = mouth.waiting.pop(&mut ether.frames);
        self.begin(ether, node);
        dropped.map_or(Ok(()), |frame| {
            let kind = ether.frames.get(frame).kind;
            ether.frames.release(frame);
            Err(Refused { kind, why: Unsent::MediumBusy })
        })
    }

    /// A transmission begins; returns its frame.
    pub fn start(&mut self, ether: &mut Ether, node: u32, number: u32) -> Option<FrameRef> {
        let mouth = &self.mouths[node as usize];
        let frame = mouth.waiting.first().filter(|_| mouth.awaits == number)?;
        let end = ether.now + self.airtime(ether.frames.get(frame).bytes().len());
        ether.queue.push(end, Kind::AirEnd, node, number);
        if self.plan.csma || self.plan.collisions {
            self.fill_the_air(ether, node, number, end);
        }
        Some(frame)
    }

    /// A transmission ends; returns its frame, which the caller delivers and releases.
    pub fn end(&mut self, ether: &mut Ether, node: u32, number: u32) -> Option<FrameRef> {
        if self.mouths[node as usize].awaits != number {
            return None;
        }
        let mouth = &mut self.mouths[node as usize];
        mouth.free_at = ether.now + SPACING;
        let frame = mouth.waiting.pop(&mut ether.frames);
        self.begin(ether, node);
        frame
    }

    /// Whether a hearer received the transmission that just ended, and nothing over it.
    #[must_use]
    pub fn received(&self, hearer: u32, number: u32) -> bool {
        !self.plan.collisions || self.ears[hearer as usize].receiving == number
    }

    /// A node falls silent: what it wanted to say is dropped, and what is under way breaks off.
    pub fn silence(&mut self, ether: &mut Ether, node: u32) {
        let mouth = &mut self.mouths[node as usize];
        while let Some(frame) = mouth.waiting.pop(&mut ether.frames) {
            ether.frames.release(frame);
        }
        *mouth = Mouth { free_at: mouth.free_at, ..Mouth::default() };
    }

    /// A node begins to listen: what is under way has lost its beginning.
    pub fn listen(&mut self, node: u32) {
        self.ears[node as usize].receiving = NOTHING;
    }

    fn fill_the_air(&mut self, ether: &mut Ether, node: u32, number: u32, end: Micros) {
        let own = &mut self.ears[node as usize];
        own.receiving = NOTHING;
        own.busy_until = own.busy_until.max(end);
        for link in ether.links.of(node) {
            if !ether.faults.open(node, link.hearer()) {
                continue;
            }
            let ear = &mut self.ears[link.hearer() as usize];
            ear.receiving = if ear.busy_until > ether.now { NOTHING } else { number };
            ear.busy_until = ear.busy_until.max(end);
        }
    }

    /// Begins with the next frame, if there is one.
    fn begin(&mut self, ether: &mut Ether, node: u32) {
        let mouth = &mut self.mouths[node as usize];
        mouth.active = !mouth.waiting.is_empty();
        if !mouth.active {
            mouth.awaits = NOTHING;
            return;
        }
        (mouth.busy, mouth.exponent) = (0, BACKOFF_EXPONENT_MIN);
        let from = ether.now.max(mouth.free_at);
        if self.plan.csma {
            self.back_off(ether, node, from);
        } else {
            self.await_event(ether, node, from + TURNAROUND, Kind::AirStart);
        }
    }

    fn back_off(&mut self, ether: &mut Ether, node: u32, from: Micros) {
        let units = if self.one_look { 0 } else { ether.random.below(1 << self.mouths[node as usize].exponent) };
        self.await_event(ether, node, from + units * BACKOFF_UNIT + SENSE, Kind::Sense);
    }

    fn await_event(&mut self, ether: &mut Ether, node: u32, at: Micros, kind: Kind) {
        self.numbers = self.numbers.wrapping_add(1).max(1);
        self.mouths[node as usize].awaits = self.numbers;
        ether.queue.push(at, kind, node, self.numbers);
    }
}

#[cfg(test)]
mod tests;
