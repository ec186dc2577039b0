//! Time as the host tells it.
//!
//! An [`Instant`] counts microseconds since the host's own zero; it only grows, and only the host moves it. A
//! [`Span`] is a length of at most 71 minutes. All arithmetic saturates: a deadline past the end of time is the end
//! of time, which no host lives to see.

use serde::{Deserialize, Serialize};

/// A moment, in microseconds since the host's zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Instant(u64);

impl Instant {
    /// The host's zero.
    pub const ZERO: Self = Self(0);

    /// The moment `micros` microseconds after zero.
    #[must_use]
    pub const fn from_micros(micros: u64) -> Self {
        Self(micros)
    }

    /// Microseconds since zero.
    #[must_use]
    pub const fn as_micros(self) -> u64 {
        self.0
    }

    /// The moment `span` later.
    #[must_use]
    pub fn after(self, span: Span) -> Self {
        Self(self.0.saturating_add(u64::from(span.0)))
    }

    /// The moment `span` earlier.
    #[must_use]
    pub fn before(self, span: Span) -> Self {
        Self(self.0.saturating_sub(u64::from(span.0)))
    }

    /// How long after `earlier` this is; nothing if it is not after it.
    #[must_use]
    pub fn since(self, earlier: Self) -> Span {
        Span(u32::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(u32::MAX))
    }
}

/// A length of time, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Span(u32);

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// A span of `micros` microseconds.
    #[must_use]
    pub const fn from_micros(micros: u32) -> Self {
        Self(micros)
    }

    /// A span of `millis` milliseconds.
    #[must_use]
    pub const fn from_millis(millis: u32) -> Self {
        Self(millis.saturating_mul(1_000))
    }

    /// A span of `secs` seconds.
    #[must_use]
    pub const fn from_secs(secs: u32) -> Self {
        Self(secs.saturating_mul(1_000_000))
    }

    /// The span in microseconds.
    #[must_use]
    pub const fn as_micros(self) -> u32 {
        self.0
    }

    /// This span and `other`, one after the other.
    #[must_use]
    pub const fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// What is left of this span after `other`.
    #[must_use]
    pub const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This span `count` times.
    #[must_use]
    pub const fn times(self, count: u32) -> Self {
        Self(self.0.saturating_mul(count))
    }

    /// This span doubled `times` times.
    #[must_use]
    pub fn doubled(self, times: u8) -> Self {
        let factor = 1_u32.checked_shl(u32::from(times)).unwrap_or(u32::MAX);
        self.times(factor)
    }

    /// `part / whole` of this span; all of it if `whole` is zero.
    #[must_use]
    pub fn share(self, part: u32, whole: u32) -> Self {
        let product = u64::from(self.0).saturating_mul(u64::from(part));
        let share = product.checked_div(u64::from(whole)).unwrap_or(u64::from(self.0));
        Self(u32::try_from(share).unwrap_or(u32::MAX))
    }
}

/// A moment to the millisecond, in half the room: for tables. Only how long ago it was can be asked, and that only within
/// seven weeks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Tick(u32);

impl Tick {
    /// The host's zero.
    pub const ZERO: Self = Self(0);

    /// The millisecond that `at` is in.
    #[must_use]
    pub fn of(at: Instant) -> Self {
        let millis = at.0.checked_div(1_000).unwrap_or(0) & u64::from(u32::MAX);
        Self(u32::try_from(millis).unwrap_or(0))
    }

    /// How long ago it was at `now`.
    #[must_use]
    pub fn ago(self, now: Instant) -> Span {
        Span::from_millis(Self::of(now).0.wrapping_sub(self.0))
    }
}

/// The earlier of two deadlines, where `None` is no deadline.
#[must_use]
pub fn sooner(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
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
        assert_eq!(end.after(Span::from_secs(1)), end);
        assert_eq!(Instant::ZERO.since(end), Span::ZERO);
        assert_eq!(Span::from_secs(4_000).times(2), Span::from_micros(u32::MAX));
        assert_eq!(Span::from_millis(1).doubled(200), Span::from_micros(u32::MAX));
    }

    #[test]
    fn a_tick_tells_how_long_ago_it_was_when_its_number_has_wrapped_too() {
        let at = Instant::from_micros((u64::from(u32::MAX) - 1) * 1_000);
        assert_eq!(Tick::of(at).ago(at.after(Span::from_millis(5))), Span::from_millis(5));
        assert_eq!(at.after(Span::from_millis(5)).before(Span::from_millis(5)), at);
    }

    #[test]
    fn a_share_of_a_span_is_exact_and_total() {
        assert_eq!(Span::from_millis(10).share(3, 4), Span::from_micros(7_500));
        assert_eq!(Span::from_millis(10).share(3, 0), Span::from_millis(10));
    }

    #[test]
    fn the_sooner_of_two_deadlines_ignores_none() {
        let (a, b) = (Instant::from_micros(1), Instant::from_micros(2));
        assert_eq!(sooner(Some(a), Some(b)), Some(a));
        assert_eq!(sooner(None, Some(b)), Some(b));
        assert_eq!(sooner(Some(a), None), Some(a));
        assert_eq!(sooner(None, None), None);
    }
}
