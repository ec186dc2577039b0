//! Time as supplied by the host.
//!
//! An [`Instant`] counts microseconds since an origin chosen by the host, and never decreases. A [`Duration`] is at
//! most 71 minutes. All arithmetic saturates. In a board's image, what calculates with 64 bits stands once, not wherever it is
//! used.

use serde::{Deserialize, Serialize};

/// A point in time, in microseconds since the host's origin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Instant(u64);

impl Instant {
    /// The host's origin.
    pub const ZERO: Self = Self(0);

    /// Creates the instant `micros` microseconds after the origin.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since the origin.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// Returns the instant `duration` later.
    #[must_use]
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(u64::from(duration.0)))
    }

    /// Returns the instant `duration` earlier.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(u64::from(duration.0)))
    }

    /// Returns the time since `earlier`; zero if that is later than this.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration(u32::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(u32::MAX))
    }
}

/// A duration, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Duration(u32);

impl Duration {
    /// Zero.
    pub const ZERO: Self = Self(0);

    /// Creates a duration of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u32) -> Self {
        Self(micros)
    }

    /// Creates a duration of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u32) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// Creates a duration of `secs` seconds.
    #[must_use]
    pub const fn from_secs(secs: u32) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// Returns the duration in microseconds.
    #[must_use]
    pub const fn as_micros(self) -> u32 {
        self.0
    }

    /// Returns the sum of both durations.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns this duration less `other`, at least zero.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns this duration `count` times.
    #[must_use]
    pub const fn times(self, count: u32) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// Returns this duration doubled `times` times.
    pub(crate) fn doubled(self, times: u8) -> Self {
        let factor = 1_u32.checked_shl(u32::from(times)).unwrap_or(u32::MAX);
        self.times(factor)
    }

    /// Returns `part / whole` of this duration; all of it if `whole` is zero.
    #[must_use]
    #[cfg_attr(target_os = "none", inline(never))]
    pub fn mul_ratio(self, part: u32, whole: u32) -> Self {
        let product = u64::from(self.0).saturating_mul(u64::from(part));
        let ratio = product.checked_div(u64::from(whole)).unwrap_or(u64::from(self.0));
        Self(u32::try_from(ratio).unwrap_or(u32::MAX))
    }
}

/// A point in time to the millisecond, in half the space, for tables. It can only be subtracted from a later instant,
/// at most seven weeks later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct CoarseInstant(u32);

impl CoarseInstant {
    /// The host's origin.
    pub(crate) const ZERO: Self = Self(0);

    /// Rounds `at` down to a millisecond.
    #[cfg_attr(target_os = "none", inline(never))]
    pub(crate) fn of(at: Instant) -> Self {
        let millis = at.0.checked_div(1_000).unwrap_or(0) & u64::from(u32::MAX);
        Self(u32::try_from(millis).unwrap_or(0))
    }

    /// Returns the time from this instant to `now`.
    pub(crate) fn elapsed(self, now: Instant) -> Duration {
        Duration::from_millis(Self::of(now).0.wrapping_sub(self.0))
    }
}

/// Returns the earlier of two deadlines, where `None` is no deadline.
#[must_use]
pub fn earliest(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, None) => a,
        (None, b) => b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_saturates_instead_of_wrapping() {
        let end = Instant::from_micros(u64::MAX);
        assert_eq!(end.after(Duration::from_secs(1)), end);
        assert_eq!(Instant::ZERO.since(end), Duration::ZERO);
        assert_eq!(Duration::from_secs(4_000).times(2), Duration::from_micros(u32::MAX));
        assert_eq!(Duration::from_millis(1).doubled(200), Duration::from_micros(u32::MAX));
    }

    #[test]
    fn the_elapsed_time_of_a_coarse_instant_survives_its_wrap_around() {
        let at = Instant::from_micros((u64::from(u32::MAX) - 1) * 1_000);
        assert_eq!(CoarseInstant::of(at).elapsed(at.after(Duration::from_millis(5))), Duration::from_millis(5));
        assert_eq!(at.after(Duration::from_millis(5)).before(Duration::from_millis(5)), at);
    }

    #[test]
    fn a_ratio_of_a_duration_is_exact_and_total() {
        assert_eq!(Duration::from_millis(10).mul_ratio(3, 4), Duration::from_micros(7_500));
        assert_eq!(Duration::from_millis(10).mul_ratio(3, 0), Duration::from_millis(10));
    }

    #[test]
    fn the_earliest_of_two_deadlines_ignores_none() {
        let (a, b) = (Instant::from_micros(1), Instant::from_micros(2));
        assert_eq!(earliest(Some(a), Some(b)), Some(a));
        assert_eq!(earliest(None, Some(b)), Some(b));
        assert_eq!(earliest(Some(a), None), Some(a));
        assert_eq!(earliest(None, None), None);
    }
}
