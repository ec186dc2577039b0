//! Measurements of a board, and the capacity computed from them.

use embassy_time::{Duration, Instant};
use protocol::base::capacity::{Capacity, Percent, Reading, Weights};

/// Interval of measurements: no measured value changes faster.
pub const MEASURE_PERIOD: Duration = Duration::from_secs(10);

/// Values measured by a board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Vitals {
    /// Supply voltage above empty.
    pub supply: Percent,
    /// Free memory.
    pub memory: Percent,
    /// Whether the board is connected to a network beyond its radio neighbours.
    pub uplink: bool,
}

/// Inputs of the capacity besides [`Vitals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityInputs {
    /// Capacity from the config page.
    pub configured: Capacity,
    /// Mean link quality to the neighbours, of 255.
    pub link_quality: u8,
    /// When the board started.
    pub started_at: Instant,
    /// Whether it must have an uplink to lead.
    pub uplink_required: bool,
}

impl Vitals {
    /// Computes the capacity; `None` where the board is unfit to lead.
    #[must_use]
    pub fn capacity(&self, inputs: &CapacityInputs) -> Option<Capacity> {
        let up = Instant::now().saturating_duration_since(inputs.started_at);
        let reading = Reading {
            supply: self.supply,
            memory: self.memory,
            links: percent(inputs.link_quality.into(), u8::MAX.into()),
            uplink: self.uplink,
            uptime_minutes: u32::try_from(up.as_secs().checked_div(60).unwrap_or(0)).unwrap_or(u32::MAX),
        };
        reading.capacity(&Weights { uplink_required: inputs.uplink_required, ..Weights::DEFAULT })
    }
}

/// Voltage range of a supply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    /// At or below this, 0 %.
    pub empty_mv: u32,
    /// At or above this, 100 %.
    pub full_mv: u32,
}

impl Supply {
    /// The level at this voltage.
    #[must_use]
    pub fn percent_left(&self, millivolts: u32) -> Percent {
        percent(millivolts.saturating_sub(self.empty_mv), self.full_mv.saturating_sub(self.empty_mv))
    }
}

/// `part` of `whole` in percent; 0 where `whole` is 0.
#[must_use]
pub fn percent(part: u32, whole: u32) -> Percent {
    let percent = u64::from(part).saturating_mul(100).checked_div(whole.into()).unwrap_or(0);
    Percent::new(u8::try_from(percent.min(100)).unwrap_or(100))
}

#[cfg(test)]
mod tests {
    use super::{CapacityInputs, Supply, Vitals, percent};
    use embassy_time::{Duration, Instant};
    use protocol::base::capacity::{Capacity, Percent};

    const BATTERIES: Supply = Supply { empty_mv: 1_800, full_mv: 3_000 };
    const GOOD: Vitals = Vitals { supply: Percent::MAX, memory: Percent::MAX, uplink: true };
    const INPUTS: CapacityInputs = CapacityInputs {
        configured: Capacity::MAX,
        link_quality: u8::MAX,
        started_at: Instant::MIN,
        uplink_required: false,
    };

    #[test]
    fn a_supply_is_between_empty_and_full() {
        let left = [0, 1_800, 2_400, 3_000, 5_000].map(|millivolts| BATTERIES.percent_left(millivolts));
        assert_eq!(left, [0, 0, 50, 100, 100].map(Percent::new));
        assert_eq!(Supply { empty_mv: 5, full_mv: 5 }.percent_left(7), Percent::new(0), "an empty range");
    }

    #[test]
    fn a_percentage_is_at_most_100() {
        assert_eq!(percent(u32::MAX, 1), Percent::new(100));
        assert_eq!(percent(1, u32::MAX), Percent::new(0));
    }

    #[test]
    fn worse_supply_memory_links_or_no_uplink_lower_the_capacity() {
        crate::tests::reset_clock();
        let capacity = |vitals: Vitals, inputs: CapacityInputs| vitals.capacity(&inputs).map(Capacity::get);
        let best = capacity(GOOD, INPUTS);
        let worse = [
            capacity(Vitals { supply: Percent::new(50), ..GOOD }, INPUTS),
            capacity(Vitals { memory: Percent::new(50), ..GOOD }, INPUTS),
            capacity(Vitals { uplink: false, ..GOOD }, INPUTS),
            capacity(GOOD, CapacityInputs { link_quality: 100, ..INPUTS }),
        ];
        assert!(worse.iter().all(|&capacity| capacity < best && capacity.is_some()), "{worse:?} {best:?}");
        assert_eq!(
            capacity(Vitals { supply: Percent::new(5), ..GOOD }, INPUTS),
            None,
            "unfit below the critical supply"
        );
        let gateway = CapacityInputs { uplink_required: true, ..INPUTS };
        assert_eq!(capacity(GOOD, gateway), best);
        assert_eq!(capacity(Vitals { uplink: false, ..GOOD }, gateway), None, "unfit without the uplink it must have");
    }

    #[test]
    fn uptime_raises_the_capacity() {
        crate::tests::reset_clock();
        let young = GOOD.capacity(&INPUTS);
        crate::tests::advance(Duration::from_secs(6 * 60 * 60));
        assert!(GOOD.capacity(&INPUTS) > young);
    }
}
