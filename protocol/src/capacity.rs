//! Capacity: one number for how well a node would serve its group, and the order elections go by.
//!
//! A board measures several things; nodes must compare one. [`Reading::capacity`] weighs them in integers, so that
//! every node computes the same order from the same numbers. A super-peer must also be *fit*: a leader that lost its
//! uplink or runs out of supply hands over, whatever its number says.

use crate::group::NodeId;
use serde::{Deserialize, Serialize};

/// How well a node would serve: 0 to [`Capacity::MAX`], more is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Capacity(u16);

impl Capacity {
    /// The most a node can claim: hundredths of a percent. It bounds what a lying node gains.
    pub const MAX: Self = Self(10_000);

    /// A capacity of `value`, at most [`Capacity::MAX`].
    #[must_use]
    pub fn new(value: u16) -> Self {
        Self(value.min(Self::MAX.0))
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// This capacity raised by an eighth: what a settled leader counts as, so that noise does not unseat it.
    ///
    /// Not capped at [`Capacity::MAX`]: the best node in office must stay better than its equal out of office.
    #[must_use]
    pub fn as_incumbent(self) -> Self {
        Self(self.0.saturating_add(self.0 >> 3))
    }
}

/// A candidate's place in the order of all candidates: capacity first, the id breaks ties.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Standing {
    /// How well it would serve.
    pub capacity: Capacity,
    /// Who it is.
    pub id: NodeId,
}

impl Standing {
    /// The standing of a settled leader (see [`Capacity::as_incumbent`]).
    #[must_use]
    pub fn as_incumbent(self) -> Self {
        Self { capacity: self.capacity.as_incumbent(), id: self.id }
    }
}

/// A share from 0 to 100.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Percent(u8);

impl Percent {
    /// All of it.
    pub const MAX: Self = Self(100);

    /// `value` percent, at most 100.
    #[must_use]
    pub fn new(value: u8) -> Self {
        Self(value.min(100))
    }
}

/// What a board measures about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Reading {
    /// Supply or battery left.
    pub supply: Percent,
    /// Memory free.
    pub memory: Percent,
    /// Mean quality of the links to its neighbours.
    pub links: Percent,
    /// Whether it reaches the outside.
    pub uplink: bool,
    /// Minutes since it started: past stability is the best guess at future stability.
    pub uptime_minutes: u32,
}

/// How much each measure counts (they should add up to 100), and what makes a node unfit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Of the supply.
    pub supply: u8,
    /// Of the free memory.
    pub memory: u8,
    /// Of the links.
    pub links: u8,
    /// Of the uplink.
    pub uplink: u8,
    /// Of the uptime, which counts in full from [`Weights::UPTIME_FULL_MINUTES`] on.
    pub uptime: u8,
    /// Below this supply a node is unfit to lead.
    pub supply_critical: Percent,
    /// Whether a node without uplink is unfit to lead.
    pub uplink_required: bool,
}

impl Weights {
    /// A day of uptime is as good as a year.
    pub const UPTIME_FULL_MINUTES: u32 = 24 * 60;

    /// A battery-powered sensor network without a gateway.
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
    /// The one number, or `None` where the node is unfit to lead.
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

#[cfg(test)]
mod tests {
    use super::*;

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
    fn each_measure_lost_costs_its_weight() {
        let weights = Weights::DEFAULT;
        let cost = |reading: Reading| reading.capacity(&weights).map(|left| 10_000 - left.get());
        assert_eq!(cost(Reading { memory: Percent(0), ..FULL }), Some(1_500));
        assert_eq!(cost(Reading { links: Percent(20), ..FULL }), Some(2_000));
        assert_eq!(cost(Reading { uplink: false, ..FULL }), Some(1_500));
        assert_eq!(cost(Reading { uptime_minutes: 720, ..FULL }), Some(500));
    }

    #[test]
    fn a_board_without_what_the_leader_needs_is_unfit() {
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
    fn standings_are_ordered_by_capacity_then_id() {
        let standing = |capacity, id| Standing { capacity: Capacity(capacity), id: NodeId(id) };
        assert!(standing(5, 1) < standing(5, 2));
        assert!(standing(5, 9) < standing(6, 1));
    }
}
