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

/// The parameters of a local network: one broadcast domain; frames do not collide. On a switched one they take no air time and
/// reach each receiver with its own delay; on one shared cable they follow each other, each takes its delay, and reaches all
/// receivers at once. Duplicates and reordering of datagrams are link faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LanPlan {
    pub(crate) delay_min: Micros,
    pub(crate) delay_max: Micros,
    /// The probability that a frame does not reach one receiver.
    pub(crate) loss: Probability,
    /// Whether all nodes share one cable.
    pub(crate) shared: bool,
}

/// A local network.
pub(crate) struct Lan {
    pub(crate) plan: LanPlan,
    /// When the shared cable is free.
    free_at: Micros,
}

impl Lan {
    pub(crate) const fn new(plan: LanPlan) -> Self {
        Self { plan, free_at: 0 }
    }

    /// Takes the shared cable for a frame that is sent now, after those before it; returns its delay. On a switched network
    /// each receiver has its own.
    pub(crate) fn take_cable(&mut self, now: Micros, rng: &mut Rng) -> Option<Micros> {
        let LanPlan { delay_min, delay_max, shared, .. } = self.plan;
        shared.then(|| {
            self.free_at = self.free_at.max(now) + rng.between(delay_min, delay_max);
            self.free_at - now
        })
    }
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
    Lan(Lan),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Stream;

    #[test]
    fn frames_on_one_cable_follow_each_other_and_on_a_switched_network_they_do_not() {
        let plan = LanPlan { delay_min: 10, delay_max: 10, loss: Probability::NEVER, shared: true };
        let (mut cable, mut rng) = (Lan::new(plan), Rng::new(1, Stream::Network));
        let mut delay_at = |now| cable.take_cable(now, &mut rng);
        assert_eq!([100, 100, 105, 200].map(&mut delay_at), [Some(10), Some(20), Some(25), Some(10)]);
        let mut switched = Lan::new(LanPlan { shared: false, ..plan });
        assert_eq!(switched.take_cable(100, &mut rng), None);
    }
}
