//! What a board measures about itself, made into its capacity.

use embassy_time::{Duration, Instant};
use protocol::capacity::{Capacity, Percent, Reading, Weights};

/// How often a board measures itself: nothing it measures changes faster.
pub const MEASURE_PERIOD: Duration = Duration::from_secs(10);

/// What only the board knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Gauge {
    /// Supply or battery left.
    pub supply: Percent,
    /// Memory free.
    pub memory: Percent,
    /// Whether it is connected to more than its radio neighbours.
    pub uplink: bool,
}

/// What the node knows of its board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// What the config page says it is worth.
    pub configured: Capacity,
    /// The mean quality of the links to its neighbours, of 255.
    pub link_quality: u8,
    /// When it started.
    pub born: Instant,
}

impl Gauge {
    /// The capacity, or `None` where the board is unfit to lead.
    #[must_use]
    pub fn capacity(&self, about: &About) -> Option<Capacity> {
        let up = Instant::now().saturating_duration_since(about.born);
        let reading = Reading {
            supply: self.supply,
            memory: self.memory,
            links: share(about.link_quality.into(), u8::MAX.into()),
            uplink: self.uplink,
            uptime_minutes: u32::try_from(up.as_secs().checked_div(60).unwrap_or(0)).unwrap_or(u32::MAX),
        };
        reading.capacity(&Weights::DEFAULT)
    }
}

/// A supply: what it gives when it is empty and when it is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Supply {
    /// Below this the board is about to fail.
    pub empty_mv: u32,
    /// From here on it is as good as it gets.
    pub full_mv: u32,
}

impl Supply {
    /// How much is left at this voltage.
    #[must_use]
    pub fn left(&self, millivolts: u32) -> Percent {
        share(millivolts.saturating_sub(self.empty_mv), self.full_mv.saturating_sub(self.empty_mv))
    }
}

/// How much of `whole` is `part`; nothing of nothing.
#[must_use]
pub fn share(part: u32, whole: u32) -> Percent {
    let percent = u64::from(part).saturating_mul(100).checked_div(whole.into()).unwrap_or(0);
    Percent::new(u8::try_from(percent.min(100)).unwrap_or(100))
}

#[cfg(test)]
mod tests {
    use super::{About, Gauge, Supply, share};
    use embassy_time::{Duration, Instant, MockDriver};
    use protocol::capacity::{Capacity, Percent};

    const BATTERIES: Supply = Supply { empty_mv: 1_800, full_mv: 3_000 };
    const GOOD: Gauge = Gauge { supply: Percent::MAX, memory: Percent::MAX, uplink: true };
    const ABOUT: About = About { configured: Capacity::MAX, link_quality: u8::MAX, born: Instant::MIN };

    #[test]
    fn a_supply_runs_from_nothing_to_all() {
        let left = [0, 1_800, 2_400, 3_000, 5_000].map(|millivolts| BATTERIES.left(millivolts));
        assert_eq!(left, [0, 0, 50, 100, 100].map(Percent::new));
        assert_eq!(Supply { empty_mv: 5, full_mv: 5 }.left(7), Percent::new(0), "no supply to speak of");
    }

    #[test]
    fn a_share_is_never_more_than_all() {
        assert_eq!(share(u32::MAX, 1), Percent::new(100));
        assert_eq!(share(1, u32::MAX), Percent::new(0));
    }

    #[test]
    fn worse_supply_memory_links_or_no_uplink_make_less_of_a_leader() {
        let _turn = crate::tests::turn();
        let worth = |gauge: Gauge, about: About| gauge.capacity(&about).map(Capacity::get);
        let best = worth(GOOD, ABOUT);
        let worse = [
            worth(Gauge { supply: Percent::new(50), ..GOOD }, ABOUT),
            worth(Gauge { memory: Percent::new(50), ..GOOD }, ABOUT),
            worth(Gauge { uplink: false, ..GOOD }, ABOUT),
            worth(GOOD, About { link_quality: 100, ..ABOUT }),
        ];
        assert!(worse.iter().all(|&capacity| capacity < best && capacity.is_some()), "{worse:?} {best:?}");
        assert_eq!(worth(Gauge { supply: Percent::new(5), ..GOOD }, ABOUT), None, "about to fail");
    }

    #[test]
    fn a_board_that_has_been_up_longer_is_worth_more() {
        let _turn = crate::tests::turn();
        let young = GOOD.capacity(&ABOUT);
        MockDriver::get().advance(Duration::from_secs(6 * 60 * 60));
        assert!(GOOD.capacity(&ABOUT) > young);
    }
}
