//! Stability: what a node's past says of it as a leader.
//!
//! A *flap* is a boot, or the loss of the leadership by a node that was up: others gave it up. A node counts its own flaps,
//! keeps the count in its records, and forgets one for each calm stretch of [`CALM`]. From the second flap on it advertises a part
//! of its capacity only, and asks for company before it leads itself alone. So a node that reboots, or whose link comes and goes, loses the leadership to a steadier one and does
//! not take it back each time; whoever compares candidates compares numbers, and two nodes never disagree about the order.
//!
//! # Limits
//! Where the lowest candidate is to win, no flaps are counted.
//!
//! A node with more than 64 times the capacity of every other leads however often it flaps. All nodes of a site that loses
//! its power several times in a row lose the same part of their capacities, and their order stays what it was.

use crate::base::capacity::Capacity;
use crate::base::time::{CoarseInstant, Duration, Instant};

/// The time without a flap after which a node forgets one.
const CALM: Duration = Duration::from_secs(600);
/// How long a node waits after its second flap before it leads nobody but itself; four times that after each further one.
const HOLD: Duration = Duration::from_secs(15);
/// Two losses of the leadership within this time are one.
const APART: Duration = Duration::from_secs(2);
/// Flaps that cost nothing.
const FREE: u8 = 1;
/// Each further flap costs a factor of four, and at most this power of two.
const BITS_PER_FLAP: u8 = 2;
const BITS_MAX: u8 = 6;
/// Flaps that are remembered.
const FLAPS_MAX: u8 = FREE + BITS_MAX / BITS_PER_FLAP;

/// How often a node has flapped of late.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Stability {
    flaps: u8,
    /// The last flap, or when the last one was forgotten.
    since: CoarseInstant,
}

impl Stability {
    /// The stability of a node that boots now; its records have `stored` flaps, or it never booted before.
    pub(crate) fn at_boot(now: Instant, stored: Option<u8>) -> Self {
        let flaps = stored.map_or(0, |flaps| flaps.saturating_add(1).min(FLAPS_MAX));
        Self { flaps, since: CoarseInstant::of(now) }
    }

    /// Returns how many flaps the records have to keep.
    pub(crate) const fn flaps(self) -> u8 {
        self.flaps
    }

    /// Counts the loss of the leadership.
    pub(crate) fn on_flap(&mut self, now: Instant) {
        if self.flaps == 0 || self.since.elapsed(now) >= APART {
            self.flaps = self.flaps.saturating_add(1).min(FLAPS_MAX);
            self.since = CoarseInstant::of(now);
        }
    }

    /// Forgets a flap after a calm stretch.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        if self.flaps > 0 && self.since.elapsed(now) >= CALM {
            self.flaps = self.flaps.saturating_sub(1);
            self.since = CoarseInstant::of(now);
        }
    }

    /// Returns how long the node waits before it leads nobody but itself.
    pub(crate) const fn hold(self) -> Duration {
        hold(self.flaps)
    }

    /// Returns the part of its capacity that the node advertises: all of it where it was appointed by hand.
    pub(crate) fn weigh(self, capacity: Capacity) -> Capacity {
        advertised(self.flaps, capacity)
    }
}

/// Returns how long a node with so many flaps waits before it leads nobody but itself.
pub(super) const fn hold(flaps: u8) -> Duration {
    match flaps.saturating_sub(FREE) {
        0 => Duration::ZERO,
        1 => HOLD,
        2 => HOLD.times(4),
        _ => HOLD.times(16),
    }
}

/// Returns the part of its capacity that a node with so many flaps advertises.
pub(super) fn advertised(flaps: u8, capacity: Capacity) -> Capacity {
    if capacity > Capacity::MAX {
        return capacity;
    }
    let bits = flaps.saturating_sub(FREE).saturating_mul(BITS_PER_FLAP).min(BITS_MAX);
    Capacity::new(capacity.get() >> bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Capacity = Capacity::MAX;

    fn at(seconds: u32) -> Instant {
        Instant::ZERO.after(Duration::from_secs(seconds))
    }

    #[test]
    fn a_second_reboot_costs_three_quarters_of_the_capacity_and_a_fourth_no_more_than_the_third() {
        let mut boots = std::vec![Stability::at_boot(at(0), None)];
        for _ in 0..5 {
            let stored = boots.last().map(|stability| stability.flaps());
            boots.push(Stability::at_boot(at(0), stored));
        }
        let advertised: std::vec::Vec<_> = boots.iter().map(|boot| boot.weigh(ALL).get()).collect();
        assert_eq!(advertised, [10_000, 10_000, 2_500, 625, 156, 156]);
    }

    #[test]
    fn a_flap_is_forgotten_after_a_calm_stretch_that_no_other_interrupts() {
        let mut stability = Stability::at_boot(at(0), Some(1));
        assert_eq!(stability.weigh(ALL).get(), 2_500);
        stability.on_timeout(at(599));
        assert_eq!(stability.flaps(), 2);
        stability.on_timeout(at(600));
        assert_eq!((stability.flaps(), stability.weigh(ALL)), (1, ALL));
        stability.on_flap(at(1_100));
        stability.on_timeout(at(1_200));
        assert_eq!(stability.flaps(), 2);
    }

    #[test]
    fn what_is_lost_several_times_at_once_is_lost_once() {
        let mut stability = Stability::at_boot(at(0), None);
        for millis in [0, 500, 1_999] {
            stability.on_flap(Instant::ZERO.after(Duration::from_millis(millis)));
        }
        assert_eq!(stability.flaps(), 1);
        stability.on_flap(at(2));
        assert_eq!(stability.flaps(), 2);
    }

    #[test]
    fn an_appointed_node_leads_however_often_it_flapped() {
        let stability = Stability::at_boot(at(0), Some(4));
        assert_eq!(stability.weigh(Capacity::APPOINTED), Capacity::APPOINTED);
    }

    #[test]
    fn nodes_that_flapped_alike_keep_their_order() {
        let stability = Stability::at_boot(at(0), Some(2));
        assert!(stability.weigh(Capacity::new(9_000)) > stability.weigh(Capacity::new(8_000)));
    }
}
