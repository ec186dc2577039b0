//! A local network: one broadcast domain; frames take no air time, do not collide, and reach each receiver with its own
//! delay. Duplicates and reordering of datagrams are link faults.

use super::Medium;
use crate::base::Micros;
use crate::base::rng::Probability;

/// The parameters of a local network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LanPlan {
    /// The shortest delay.
    pub delay_min: Micros,
    /// The longest delay.
    pub delay_max: Micros,
    /// The probability that a frame does not reach one receiver.
    pub loss: Probability,
}
pub(crate) struct Lan {
    plan: LanPlan,
}

impl Lan {
    pub(crate) fn new(plan: LanPlan) -> Self {
        Self { plan }
    }

    /// Draws the delay of a frame to one receiver.
    pub(crate) fn delay(&self, medium: &mut Medium) -> Micros {
        medium.rng.between(self.plan.delay_min, self.plan.delay_max)
    }
}
