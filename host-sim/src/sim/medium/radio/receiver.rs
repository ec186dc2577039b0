//! What one receiver makes of the transmissions that overlap at it.
//!
//! A receiver that is idle locks on the first frame it detects and holds it to its end, whatever else arrives. The frame
//! is intact as long as noise and all other transmissions together are weak enough beside it; a moment at which they are
//! not spoils it for good. Only the start of a transmission can spoil a frame, so nothing is done at its end.

use super::{Capture, TURNAROUND};
use crate::base::Micros;

/// The noise, in parts of the strength of a frame at the range: 5 dB below it. A frame from farther than 1.17 ranges is
/// less than 3 dB above it, and any interference spoils such a frame.
const NOISE: f32 = 0.316;
/// The weakest frame that a receiver locks on, in parts of the strength at the range: one from 1.4 ranges away.
const DETECTED: f32 = 0.36;
/// How strong noise and all other transmissions together may be, as a share of the frame that is kept: 3 dB below it.
const TOLERATED: f32 = 0.501;

/// A transmission at a receiver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transmission {
    pub(super) number: u32,
    pub(super) end: Micros,
    /// In parts of the strength at the range.
    pub(super) strength: f32,
}

/// The frame that a receiver has locked on.
#[derive(Clone, Copy, Debug)]
struct Held {
    transmission: Transmission,
    intact: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Receiver {
    /// The end of the last transmission that carrier sense detects here.
    busy_until: Micros,
    /// The end of the turnaround after its own transmission.
    deaf_until: Micros,
    held: Option<Held>,
    /// The transmissions that had not ended at the last start of one, the held one among them.
    on_air: Vec<Transmission>,
}

impl Receiver {
    /// Returns whether carrier sense that began at `from` finds the channel busy.
    pub(super) fn is_busy(&self, from: Micros) -> bool {
        self.busy_until > from
    }

    /// Returns whether the receiver has transmission `number` intact.
    pub(super) fn has(&self, number: u32) -> bool {
        self.held.is_some_and(|held| held.transmission.number == number && held.intact)
    }

    /// Starts a transmission that can be received here.
    pub(super) fn start(&mut self, now: Micros, transmission: Transmission, capture: Capture) {
        self.busy_until = self.busy_until.max(transmission.end);
        self.lock(now, transmission);
        self.overlap(now, transmission, capture);
    }

    /// Starts a transmission that is too weak to be received here.
    pub(super) fn interfere(&mut self, now: Micros, transmission: Transmission, capture: Capture) {
        if transmission.strength >= DETECTED {
            self.lock(now, transmission);
        }
        self.overlap(now, transmission, capture);
    }

    /// Sends until `end`, and turns around to receive again.
    pub(super) fn send(&mut self, end: Micros) {
        self.held = None;
        self.busy_until = self.busy_until.max(end);
        self.deaf_until = end + TURNAROUND;
    }

    /// Gives up the frame that is being received.
    pub(super) fn release(&mut self) {
        self.held = None;
    }

    fn lock(&mut self, now: Micros, transmission: Transmission) {
        let is_idle = self.held.is_none_or(|held| held.transmission.end <= now);
        if is_idle && self.deaf_until <= now {
            self.held = Some(Held { transmission, intact: true });
        }
    }

    fn overlap(&mut self, now: Micros, transmission: Transmission, capture: Capture) {
        self.on_air.retain(|other| other.end > now);
        self.on_air.push(transmission);
        let Some(held) = &mut self.held else { return };
        let Transmission { number, strength, .. } = held.transmission;
        let others: f32 = self.on_air.iter().filter(|other| other.number != number).map(|other| other.strength).sum();
        held.intact &= others <= tolerated(strength, capture);
    }
}

/// Returns how strong all other transmissions together may be beside a frame of this strength.
fn tolerated(strength: f32, capture: Capture) -> f32 {
    match capture {
        Capture::None => 0.0,
        Capture::ThreeDb => (strength * TOLERATED - NOISE).max(0.0),
    }
}
