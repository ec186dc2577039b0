//! Capacity: one number for how well a node would lead its group, and the order of candidates.
//!
//! A board measures several quantities; nodes compare one. [`Reading::capacity`] weights them in integers, so that
//! every node computes the same order. A leader must also be *fit*: one that lost its uplink or runs out of supply
//! hands over, whatever its capacity. A node that serves others, as a super-peer does, weights in what it can serve with:
//! its bandwidth, the air around it, and what it has to do already ([`ServiceReading::capacity`]).

use crate::base::ids::NodeId;
use serde::{Deserialize, Serialize};

/// How well a node would lead: 0 to [`Capacity::MAX`], more is better.
///
/// ```
/// use protocol::base::capacity::Capacity;
///
/// assert!(Capacity::new(900) > Capacity::new(300));
/// assert_eq!(Capacity::new(60_000), Capacity::MAX);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u16")]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Capacity(u16);

impl TryFrom<u16> for Capacity {
    type Error = &'static str;

    /// Takes a capacity from the wire: an incumbent's may be an eighth above the highest, and that of one appointed by hand.
    fn try_from(value: u16) -> Result<Self, &'static str> {
        if value <= Self::APPOINTED.as_incumbent().0 { Ok(Self(value)) } else { Err("above the highest capacity") }
    }
}

impl Capacity {
    /// The highest capacity, in hundredths of a percent. It bounds the gain of a node that lies.
    pub const MAX: Self = Self(10_000);

    /// The capacity of a node that was appointed by hand: above every measured one, an incumbent's too.
    pub const APPOINTED: Self = Self(12_000);

    /// Creates a capacity of `value`, at most [`Capacity::MAX`].
    #[must_use]
    pub fn new(value: u16) -> Self {
        Self(value.min(Self::MAX.0))
    }

    /// Returns the number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Returns this capacity raised by an eighth: the capacity an incumbent leader counts with, so that measurement
    /// noise does not unseat it.
    ///
    /// Not capped at [`Capacity::MAX`]: an incumbent must outrank an equal challenger.
    #[must_use]
    pub fn as_incumbent(self) -> Self {
        Self(self.0.saturating_add(self.0 >> 3))
    }
}

/// A candidate for leadership. Candidates are ordered by capacity; the id breaks ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Candidate {
    /// How well it would lead.
    pub capacity: Capacity,
    /// Its id.
    pub id: NodeId,
}

impl Candidate {
    /// Returns this candidate as an incumbent (see [`Capacity::as_incumbent`]).
    #[must_use]
    pub fn as_incumbent(self) -> Self {
        Self { capacity: self.capacity.as_incumbent(), id: self.id }
    }
}

/// A percentage from 0 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Percent(u8);

impl Percent {
    /// 100 percent.
    pub const MAX: Self = Self(100);

    /// Creates `value` percent, at most 100.
    #[must_use]
    pub fn new(value: u8) -> Self {
        Self(value.min(100))
    }
}

/// The measurements of a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Reading {
    /// Remaining supply or battery.
    pub supply: Percent,
    /// Free memory.
    pub memory: Percent,
    /// Mean quality of the links to its neighbours.
    pub links: Percent,
    /// Whether it has an uplink out of the network.
    pub uplink: bool,
    /// Minutes since boot: past stability is the best predictor of future stability.
    pub uptime_minutes: u32,
}

/// The weight of each measurement (they should add up to 100), and the limits that make a node unfit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Weight of the supply.
    pub supply: u8,
    /// Weight of the free memory.
    pub memory: u8,
    /// Weight of the link quality.
    pub links: u8,
    /// Weight of the uplink.
    pub uplink: u8,
    /// Weight of the uptime, which counts in full from a day on.
    pub uptime: u8,
    /// Supply below which a node is unfit to lead.
    pub supply_critical: Percent,
    /// Whether a node without uplink is unfit to lead.
    pub uplink_required: bool,
}

impl Weights {
    /// Uptime beyond a day counts no more than a day.
    const UPTIME_FULL_MINUTES: u32 = 24 * 60;

    /// Weights for a battery-powered sensor network without a gateway.
    pub const DEFAULT: Self = Self {
        supply: 35,
        memory: 15,
        links: 25,
        uplink: 15,
        uptime: 10,
        supply_critical: Percent(10),
        uplink_required: false,
    };
}

impl Reading {
    /// Computes the capacity; `None` where the node is unfit to lead.
    #[must_use]
    pub fn capacity(&self, weights: &Weights) -> Option<Capacity> {
        if self.supply < weights.supply_critical || (weights.uplink_required && !self.uplink) {
            return None;
        }
        let uptime = self.uptime_minutes.min(Weights::UPTIME_FULL_MINUTES).saturating_mul(100);
        let uptime = uptime.checked_div(Weights::UPTIME_FULL_MINUTES).unwrap_or(0);
        let parts = [
            (weights.supply, u32::from(self.supply.0)),
            (weights.memory, u32::from(self.memory.0)),
            (weights.links, u32::from(self.links.0)),
            (weights.uplink, if self.uplink { 100 } else { 0 }),
            (weights.uptime, uptime),
        ];
        let sum = parts
            .iter()
            .fold(0_u32, |sum, &(weight, share)| sum.saturating_add(u32::from(weight).saturating_mul(share)));
        Some(Capacity::new(u16::try_from(sum).unwrap_or(u16::MAX)))
    }
}

/// What a node can serve others with, as its host measures it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct ServiceReading {
    /// Bandwidth of its uplink, in kilobits a second.
    pub uplink_kbps: u32,
    /// Share of the time in which the channel around it is free.
    pub airtime_free: Percent,
    /// Its clients: [`Node::clients`](crate::Node::clients).
    pub clients: u16,
    /// Requests it has handled in the last second.
    pub requests_per_second: u16,
}

/// The weight of each part of a [`ServiceReading`], of 100 for the whole capacity, and what counts in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServiceWeights {
    /// Weight of the uplink's bandwidth.
    pub bandwidth: u8,
    /// Weight of the free air.
    pub airtime: u8,
    /// Weight of a node without load. Below the eighth that an incumbent has in advance, no load unseats it.
    pub load: u8,
    /// The bandwidth that counts in full, in kilobits a second.
    pub uplink_full_kbps: u32,
    /// The clients that are a full load.
    pub clients_full: u16,
    /// The requests a second that are a full load.
    pub requests_full: u16,
}

impl ServiceWeights {
    /// Weights for a gateway of a sensor network.
    pub const DEFAULT: Self =
        Self { bandwidth: 20, airtime: 15, load: 10, uplink_full_kbps: 1_000, clients_full: 32, requests_full: 20 };
}

/// Returns the share of `part` in `whole` in percent, at most 100; 100 where `whole` is 0.
fn percent_of(part: u32, whole: u32) -> u32 {
    part.min(whole).saturating_mul(100).checked_div(whole).unwrap_or(100)
}

impl ServiceReading {
    /// Weights what a node can serve with into the capacity it has otherwise ([`Reading::capacity`]).
    ///
    /// ```
    /// use protocol::base::capacity::{Capacity, Percent, ServiceReading, ServiceWeights};
    ///
    /// let weights = ServiceWeights::DEFAULT; // 20 for bandwidth, 15 for free air, 10 for no load, 55 for all else
    /// let idle = ServiceReading { uplink_kbps: 500, airtime_free: Percent::new(80), clients: 0, requests_per_second: 0 };
    /// assert_eq!(idle.capacity(Capacity::new(8_000), &weights), Capacity::new(4_400 + 1_000 + 1_200 + 1_000));
    ///
    /// let busy = ServiceReading { clients: 24, ..idle }; // three quarters of a full load
    /// assert_eq!(busy.capacity(Capacity::new(8_000), &weights), Capacity::new(4_400 + 1_000 + 1_200 + 250));
    /// ```
    #[must_use]
    pub fn capacity(&self, otherwise: Capacity, weights: &ServiceWeights) -> Capacity {
        if otherwise > Capacity::MAX {
            return otherwise; // appointed by hand
        }
        let clients = percent_of(self.clients.into(), weights.clients_full.into());
        let requests = percent_of(self.requests_per_second.into(), weights.requests_full.into());
        let parts = [
            (weights.bandwidth, percent_of(self.uplink_kbps, weights.uplink_full_kbps)),
            (weights.airtime, u32::from(self.airtime_free.0)),
            (weights.load, 100_u32.saturating_sub(clients.max(requests))),
        ];
        let service = parts
            .iter()
            .fold(0_u32, |sum, &(weight, share)| sum.saturating_add(u32::from(weight).saturating_mul(share)));
        let weight = parts.iter().fold(0_u32, |sum, &(weight, _)| sum.saturating_add(weight.into())).min(100);
        let rest = u32::from(otherwise.0).saturating_mul(100_u32.saturating_sub(weight)).checked_div(100).unwrap_or(0);
        Capacity::new(u16::try_from(rest.saturating_add(service)).unwrap_or(u16::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p1_bandwidth_air_and_load_count_by_their_weights() {
        let weights = ServiceWeights::DEFAULT;
        let best =
            ServiceReading { uplink_kbps: 5_000, airtime_free: Percent::MAX, clients: 0, requests_per_second: 0 };
        let lost = |reading: ServiceReading| 10_000 - reading.capacity(Capacity::MAX, &weights).get();
        assert_eq!(lost(best), 0);
        assert_eq!(lost(ServiceReading { uplink_kbps: 250, ..best }), 1_500);
        assert_eq!(lost(ServiceReading { airtime_free: Percent::new(40), ..best }), 900);
        assert_eq!(lost(ServiceReading { clients: 16, ..best }), 500);
        assert_eq!(lost(ServiceReading { requests_per_second: 200, clients: 16, ..best }), 1_000, "the worse of both");
        assert_eq!(best.capacity(Capacity::APPOINTED, &weights), Capacity::APPOINTED);
    }

    #[test]
    fn p1_no_load_unseats_an_incumbent_of_equal_capacity() {
        let weights = ServiceWeights::DEFAULT;
        let idle =
            ServiceReading { uplink_kbps: 1_000, airtime_free: Percent::MAX, clients: 0, requests_per_second: 0 };
        let busy = ServiceReading { clients: u16::MAX, requests_per_second: u16::MAX, ..idle };
        let [idle, busy] = [idle, busy].map(|reading| reading.capacity(Capacity::MAX, &weights));
        assert!(busy < idle && busy.as_incumbent() > idle, "{busy:?} {idle:?}");
    }

    const FULL: Reading = Reading {
        supply: Percent(100),
        memory: Percent(100),
        links: Percent(100),
        uplink: true,
        uptime_minutes: u32::MAX,
    };

    #[test]
    fn a_perfect_board_has_the_full_capacity() {
        assert_eq!(FULL.capacity(&Weights::DEFAULT), Some(Capacity::MAX));
    }

    #[test]
    fn each_lost_measurement_costs_its_weight() {
        let weights = Weights::DEFAULT;
        let cost = |reading: Reading| reading.capacity(&weights).map(|left| 10_000 - left.get());
        assert_eq!(cost(Reading { memory: Percent(0), ..FULL }), Some(1_500));
        assert_eq!(cost(Reading { links: Percent(20), ..FULL }), Some(2_000));
        assert_eq!(cost(Reading { uplink: false, ..FULL }), Some(1_500));
        assert_eq!(cost(Reading { uptime_minutes: 720, ..FULL }), Some(500));
    }

    #[test]
    fn a_board_below_the_limits_of_a_leader_is_unfit() {
        let strict = Weights { uplink_required: true, ..Weights::DEFAULT };
        assert_eq!(Reading { uplink: false, ..FULL }.capacity(&strict), None);
        assert_eq!(Reading { supply: Percent(9), ..FULL }.capacity(&Weights::DEFAULT), None);
    }

    #[test]
    fn incumbency_keeps_the_order_of_capacities() {
        for value in 1..=Capacity::MAX.get() {
            assert!(Capacity(value - 1).as_incumbent() < Capacity(value).as_incumbent());
        }
    }

    #[test]
    fn candidates_are_ordered_by_capacity_then_id() {
        let candidate = |capacity, id| Candidate { capacity: Capacity(capacity), id: NodeId(id) };
        assert!(candidate(5, 1) < candidate(5, 2));
        assert!(candidate(5, 9) < candidate(6, 1));
    }
}
