//! A local network: one broadcast domain, frames that take no air time and do not collide, each hearer at its own
//! delay. What UDP can do to a datagram beyond loss and delay (repeat it, let others overtake it) is the fault plan's.

use super::Ether;
use crate::queue::Micros;
use crate::scenario::LanPlan;

/// The network.
pub struct Lan {
    plan: LanPlan,
}

impl Lan {
    /// A quiet network.
    #[must_use]
    pub fn new(plan: LanPlan) -> Self {
        Self { plan }
    }

    /// How long a frame takes to one hearer.
    pub fn delay(&self, ether: &mut Ether) -> Micros {
        ether.random.between(self.plan.delay_min, self.plan.delay_max)
    }
}
