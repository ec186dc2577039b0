//! A radio channel after IEEE 802.15.4: one transmission at a time reaches all receivers in range.
//!
//! A transmission is two events, its start and its end, however many receivers it has. At the start every receiver that
//! it reaches learns how strong it is there (`receiver.rs`); at the end a receiver that still holds it intact has received
//! it. A node that sends receives nothing, nor while its radio turns around afterwards.
//!
//! *Capture.* Strength falls with the third power of the distance. A receiver holds the first frame it detects, and keeps
//! it while that is 3 dB above noise and all other frames together. Frames that are too weak to be received, from up to
//! two ranges away, count among the others; they are not detected by carrier sense. Without capture any overlap of two
//! frames spoils both, and frames beyond hearing have no effect. The model agrees with ns-3 (`tests/fidelity.rs`).
//!
//! *Networks given by links.* In a ring and in a complete network, the nodes receive by links and not by distance. The
//! strength of a frame is still that of the distance between the positions on the circle that both are drawn on; nodes
//! without a link do not disturb each other.
//!
//! *Carrier sense.* Transmitters use unslotted CSMA/CA: a random back-off, carrier sense, the turnaround from receiving to
//! sending. Two that sense within one turnaround of each other do not detect each other and collide; two out of range of
//! each other, hidden terminals, collide at the receivers between them.

mod receiver;

use super::Medium;
use crate::base::Micros;
use crate::base::rng::Probability;
use crate::sim::event_queue::Kind;
use crate::sim::frame_pool::FrameRef;
use crate::sim::topology::Reach;
use crate::trace::SendFailure;
use receiver::{Receiver, Transmission};
use std::collections::VecDeque;

/// Bytes on the air besides the frame: preamble, delimiter and length (6), MAC header and checksum (11).
const OVERHEAD_BYTES: u64 = 17;
/// The unit of back-off: 20 symbols.
const BACKOFF_UNIT: Micros = 320;
/// The duration of carrier sense: 8 symbols.
const SENSE: Micros = 128;
/// From receiving to sending: 12 symbols.
const TURNAROUND: Micros = 192;
/// The pause after a frame before the next: 40 symbols.
const SPACING: Micros = 640;
/// The first back-off is up to 2^3 - 1 units.
const BACKOFF_EXPONENT_MIN: u8 = 3;
/// No back-off is longer than 2^5 - 1 units.
const BACKOFF_EXPONENT_MAX: u8 = 5;
/// How often the channel may be busy before the frame is dropped.
const BUSY_MAX: u8 = 4;

/// The number of no event.
const NOTHING: u32 = 0;

/// Whether a receiver keeps a frame that others overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Capture {
    /// It loses the frame, however weak the others are.
    None,
    /// It keeps the frame while that is at least 3 dB above noise and all others together.
    ThreeDb,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RadioPlan {
    pub(crate) reach: Reach,
    pub(crate) bit_rate: u32,
    /// Whether transmitters sense the channel and back off (CSMA/CA).
    pub(crate) csma: bool,
    pub(crate) collisions: bool,
    pub(crate) capture: Capture,
    /// The probability that one receiver loses a frame, whatever the distance.
    pub(crate) loss: Probability,
    /// The probability that a link works in one direction only.
    pub(crate) one_way: Probability,
    /// The capacity of a transmit queue; further frames are dropped.
    pub(crate) queue: u16,
}

#[derive(Clone, Debug, Default)]
struct Transmitter {
    queue: VecDeque<FrameRef>,
    /// The number of the event it waits for; an event with another number is stale.
    pending: u32,
    /// The earliest moment to begin with the next frame.
    free_at: Micros,
    busy: u8,
    exponent: u8,
    active: bool,
}

/// A frame that was dropped before transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dropped {
    pub(crate) kind: &'static str,
    pub(crate) reason: SendFailure,
}
pub(crate) struct Radio {
    plan: RadioPlan,
    receivers: Vec<Receiver>,
    transmitters: Vec<Transmitter>,
    last_event: u32,
    /// Whether nodes back off by themselves: then the channel senses once and reports whether it was free.
    node_backoff: bool,
}

impl Radio {
    pub(crate) fn new(nodes: u32, plan: RadioPlan) -> Self {
        Self {
            plan,
            receivers: vec![Receiver::default(); nodes as usize],
            transmitters: vec![Transmitter::default(); nodes as usize],
            last_event: NOTHING,
            node_backoff: false,
        }
    }

    /// Returns the same channel for nodes that back off by themselves.
    pub(crate) fn with_node_backoff(self) -> Self {
        Self { node_backoff: true, ..self }
    }

    pub(crate) fn airtime(&self, bytes: usize) -> Micros {
        (OVERHEAD_BYTES + bytes as u64) * 8 * 1_000_000 / u64::from(self.plan.bit_rate)
    }

    /// Returns whether a node's transmitter takes another frame.
    pub(crate) fn has_room(&self, slot: u32) -> bool {
        self.transmitters[slot as usize].queue.len() < usize::from(self.plan.queue)
    }

    /// Queues a frame for transmission, or drops it if the queue is full.
    pub(crate) fn submit(&mut self, medium: &mut Medium, slot: u32, frame: FrameRef) -> Result<(), Dropped> {
        if !self.has_room(slot) {
            medium.stats.queue_full += 1;
            return Err(drop_frame(medium, frame, SendFailure::QueueFull));
        }
        let transmitter = &mut self.transmitters[slot as usize];
        transmitter.queue.push_back(frame);
        if !transmitter.active {
            self.start_next(medium, slot);
        }
        Ok(())
    }

    /// Ends carrier sense of event `number`: the node sends, backs off again, or drops a frame that found the channel
    /// busy each time.
    pub(crate) fn sense(&mut self, medium: &mut Medium, slot: u32, number: u32) -> Result<(), Dropped> {
        if self.transmitters[slot as usize].pending != number {
            return Ok(());
        }
        let sensed_from = medium.now - SENSE;
        if !self.receivers[slot as usize].is_busy(sensed_from) {
            self.schedule(medium, slot, medium.now + TURNAROUND, Kind::TransmitStart);
            return Ok(());
        }
        if self.node_backoff {
            // A receiver that senses the channel loses the frame it was receiving.
            self.receivers[slot as usize].release();
        }
        let transmitter = &mut self.transmitters[slot as usize];
        transmitter.busy += 1;
        transmitter.exponent = (transmitter.exponent + 1).min(BACKOFF_EXPONENT_MAX);
        if transmitter.busy <= BUSY_MAX && !self.node_backoff {
            self.back_off(medium, slot, medium.now);
            return Ok(());
        }
        medium.stats.medium_busy += 1;
        let dropped = transmitter.queue.pop_front();
        self.start_next(medium, slot);
        dropped.map_or(Ok(()), |frame| Err(drop_frame(medium, frame, SendFailure::MediumBusy)))
    }

    /// Begins the transmission of event `number`; returns its frame.
    pub(crate) fn start(&mut self, medium: &mut Medium, slot: u32, number: u32) -> Option<FrameRef> {
        let transmitter = &self.transmitters[slot as usize];
        let frame = transmitter.queue.front().copied().filter(|_| transmitter.pending == number)?;
        let end = medium.now + self.airtime(medium.frames.get(frame).bytes().len());
        medium.queue.push(end, Kind::TransmitEnd, slot, number);
        if self.plan.csma || self.plan.collisions {
            self.occupy(medium, slot, number, end);
        }
        Some(frame)
    }

    /// Ends the transmission of event `number`; returns its frame, which the caller delivers and releases.
    pub(crate) fn end(&mut self, medium: &mut Medium, slot: u32, number: u32) -> Option<FrameRef> {
        let transmitter = &mut self.transmitters[slot as usize];
        if transmitter.pending != number {
            return None;
        }
        transmitter.free_at = medium.now + SPACING;
        let frame = transmitter.queue.pop_front();
        self.start_next(medium, slot);
        frame
    }

    /// Returns whether a receiver has the transmission `number`, and no other spoilt it.
    pub(crate) fn received(&self, receiver: u32, number: u32) -> bool {
        !self.plan.collisions || self.receivers[receiver as usize].has(number)
    }

    /// Stops a node's radio: its queue is emptied, and its transmission breaks off.
    pub(crate) fn stop(&mut self, medium: &mut Medium, slot: u32) {
        let transmitter = &mut self.transmitters[slot as usize];
        transmitter.queue.drain(..).for_each(|frame| medium.frames.release(frame));
        *transmitter = Transmitter { free_at: transmitter.free_at, ..Transmitter::default() };
    }

    /// Starts a node's receiver: it has missed the beginning of every transmission in progress.
    pub(crate) fn listen(&mut self, slot: u32) {
        self.receivers[slot as usize].release();
    }

    /// Occupies the channel at the sender, at every receiver in range and where the frame interferes until `end`.
    fn occupy(&mut self, medium: &mut Medium, slot: u32, number: u32, end: Micros) {
        let Medium { now, links, faults, .. } = medium;
        let capture = self.plan.capture;
        self.receivers[slot as usize].send(end);
        for signal in links.signals(slot).filter(|signal| faults.connects(slot, signal.receiver)) {
            let transmission = Transmission { number, end, strength: signal.strength };
            self.receivers[signal.receiver as usize].start(*now, transmission, capture);
        }
        let disturbed = links.interference(slot).iter();
        for signal in disturbed.filter(|signal| faults.connects(slot, signal.receiver)) {
            let transmission = Transmission { number, end, strength: signal.strength };
            self.receivers[signal.receiver as usize].interfere(*now, transmission, capture);
        }
    }

    fn start_next(&mut self, medium: &mut Medium, slot: u32) {
        let transmitter = &mut self.transmitters[slot as usize];
        transmitter.active = !transmitter.queue.is_empty();
        if !transmitter.active {
            transmitter.pending = NOTHING;
            return;
        }
        (transmitter.busy, transmitter.exponent) = (0, BACKOFF_EXPONENT_MIN);
        let from = medium.now.max(transmitter.free_at);
        if self.plan.csma {
            self.back_off(medium, slot, from);
        } else {
            self.schedule(medium, slot, from + TURNAROUND, Kind::TransmitStart);
        }
    }

    fn back_off(&mut self, medium: &mut Medium, slot: u32, from: Micros) {
        let exponent = self.transmitters[slot as usize].exponent;
        let units = if self.node_backoff { 0 } else { medium.rng.below(1 << exponent) };
        self.schedule(medium, slot, from + units * BACKOFF_UNIT + SENSE, Kind::CarrierSense);
    }

    fn schedule(&mut self, medium: &mut Medium, slot: u32, at: Micros, kind: Kind) {
        self.last_event = self.last_event.wrapping_add(1).max(1);
        self.transmitters[slot as usize].pending = self.last_event;
        medium.queue.push(at, kind, slot, self.last_event);
    }
}

fn drop_frame(medium: &mut Medium, frame: FrameRef, reason: SendFailure) -> Dropped {
    let kind = medium.frames.get(frame).kind;
    medium.frames.release(frame);
    Dropped { kind, reason }
}

#[cfg(test)]
mod tests;
