//! The medium: a radio channel or a local network.

mod frame_stats;
mod radio;

pub(crate) use frame_stats::{FrameStats, KindStats};
pub(crate) use radio::{Capture, Dropped, Radio, RadioPlan};

use crate::base::Micros;
use crate::base::rng::{Probability, Rng};
use crate::sim::event_queue::EventQueue;
use crate::sim::frame_pool::FramePool;
use crate::sim::link_fault::LinkFaults;
use crate::sim::topology::{Links, Reach};

/// The parameters of a local network: one broadcast domain; frames take no air time, do not collide, and reach each
/// receiver with its own delay. Duplicates and reordering of datagrams are link faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LanPlan {
    pub(crate) delay_min: Micros,
    pub(crate) delay_max: Micros,
    /// The probability that a frame does not reach one receiver.
    pub(crate) loss: Probability,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum MediumPlan {
    Radio(RadioPlan),
    Lan(LanPlan),
}

impl MediumPlan {
    /// Returns the range of frames. A local network knows no distance; its range only sets the size of a picture.
    pub(crate) fn reach(&self) -> Reach {
        match self {
            Self::Radio(radio) => radio.reach,
            Self::Lan(_) => Reach::sharp(15.0),
        }
    }
}

/// The state that every part of the network works on.
pub(crate) struct Medium {
    pub(crate) now: Micros,
    pub(crate) queue: EventQueue,
    pub(crate) frames: FramePool,
    pub(crate) links: Links,
    pub(crate) faults: LinkFaults,
    pub(crate) rng: Rng,
    pub(crate) stats: FrameStats,
}

pub(crate) enum Channel {
    Radio(Radio),
    Lan(LanPlan),
}
