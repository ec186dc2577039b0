//! The medium: a radio channel or a local network.

mod frame_stats;
mod lan;
mod radio;

pub use frame_stats::{FrameStats, KindStats};
pub(crate) use lan::Lan;
pub use lan::LanPlan;
pub use radio::RadioPlan;
pub(crate) use radio::{Dropped, Radio};

use crate::base::Micros;
use crate::base::rng::Rng;
use crate::sim::event_queue::EventQueue;
use crate::sim::frame_pool::FramePool;
use crate::sim::link_fault::LinkFaults;
use crate::sim::topology::{Links, Reach};

/// The parameters of the medium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MediumPlan {
    /// A radio channel.
    Radio(RadioPlan),
    /// A local network.
    Lan(LanPlan),
}

impl MediumPlan {
    /// Returns the range of frames. A local network knows no distance; its range only sets the size of a picture.
    pub(crate) fn reach(&self) -> Reach {
        match self {
            Self::Radio(radio) => radio.reach,
            Self::Lan(_) => Reach { range: 15.0, range_max: 15.0 },
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
    Lan(Lan),
}
