//! Seeded random numbers: every draw of a run follows from its seed.
//!
//! Each purpose has a generator of its own (`Stream`): one more frame on the air does not change where nodes are
//! placed.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// Positions and capacities of nodes.
    Placement,
    Mobility,
    /// Back-off, fading, loss and every other draw of the medium.
    Network,
    /// Targets and moments of faults.
    Faults,
    Noise,
    /// Boot moments, drifts and seeds of nodes.
    Node,
    /// Links that work in one direction only.
    OneWay,
    Locks,
    /// What scenarios of a campaign consist of.
    Campaign,
}

/// Returns the seed of generator `index` of a stream in the run `seed`.
pub(crate) fn derive_seed(seed: u64, stream: Stream, index: u64) -> u64 {
    let mut mixed = seed;
    for word in [stream as u64 + 1, index] {
        mixed = mix(mixed ^ mix(word.wrapping_add(0x9E37_79B9_7F4A_7C15)));
    }
    mixed
}

/// Mixes every bit of a word into all of its bits (the finaliser of `SplitMix64`).
pub(crate) fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

#[derive(Clone, Debug)]
pub(crate) struct Rng(Xoshiro256PlusPlus);

impl Rng {
    pub(crate) fn new(seed: u64, stream: Stream) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(derive_seed(seed, stream, 0)))
    }
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws a number below `bound`; zero if `bound` is zero.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product; its bias is below one in 2^32 for every bound used here.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Draws a number from `low` to `high`, both included.
    pub(crate) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// Draws a number from 0 up to, not including, 1.
    pub(crate) fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub(crate) fn happens(&mut self, probability: Probability) -> bool {
        // A certain event takes no draw.
        probability.0 > 0 && (probability.0 >= Probability::ALWAYS.0 || probability.includes(self.next_u64()))
    }

    pub(crate) fn exponential(&mut self, mean: u64) -> u64 {
        let draw = 1.0 - self.next_f64();
        (-(draw.ln()) * mean as f64).round() as u64
    }
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// A probability, in units of 2^-32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Probability(u64);

impl Probability {
    pub(crate) const NEVER: Self = Self(0);

    pub(crate) const ALWAYS: Self = Self(1 << 32);

    /// Creates a probability from a number, clamped to 0 to 1.
    #[must_use]
    pub fn new(value: f64) -> Self {
        Self((value.clamp(0.0, 1.0) * (1_u64 << 32) as f64).round() as u64)
    }

    /// Returns the probability that two independent events both happen.
    pub(crate) fn and(self, other: Self) -> Self {
        Self(((u128::from(self.0) * u128::from(other.0)) >> 32) as u64)
    }

    /// Returns whether the event happens for a uniform draw of 64 bits.
    pub(crate) fn includes(self, draw: u64) -> bool {
        (draw >> 32) < self.0
    }

    /// Returns the probability that the event does not happen.
    pub(crate) fn complement(self) -> Self {
        Self(Self::ALWAYS.0 - self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_and_seeds_of_one_stream_differ() {
        let first = |seed, stream| Rng::new(seed, stream).next_u64();
        assert_eq!(first(1, Stream::Network), first(1, Stream::Network));
        assert_ne!(first(1, Stream::Network), first(1, Stream::Mobility));
        assert_ne!(first(1, Stream::Network), first(2, Stream::Network));
    }

    #[test]
    fn a_draw_stays_within_its_bounds_and_reaches_them() {
        let mut rng = Rng::new(3, Stream::Noise);
        let draws: Vec<u64> = (0..1_000).map(|_| rng.between(5, 9)).collect();
        assert_eq!(draws.iter().min(), Some(&5));
        assert_eq!(draws.iter().max(), Some(&9));
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn events_happen_as_often_as_their_probability_says() {
        let mut rng = Rng::new(4, Stream::Noise);
        let mut count = |probability| (0..10_000).filter(|_| rng.happens(probability)).count();
        assert_eq!(count(Probability::NEVER), 0);
        assert_eq!(count(Probability::ALWAYS), 10_000);
        assert!((900..1_100).contains(&count(Probability::new(0.1))));
        assert!((400..600).contains(&count(Probability::new(0.1).and(Probability::new(0.5)))));
        assert!((8_900..9_100).contains(&count(Probability::new(0.1).complement())));
        assert_eq!(Probability::ALWAYS.and(Probability::ALWAYS), Probability::ALWAYS);
    }

    #[test]
    fn an_exponential_draw_has_its_mean() {
        let mut rng = Rng::new(5, Stream::Noise);
        let sum: u64 = (0..10_000).map(|_| rng.exponential(1_000)).sum();
        assert!((950..1_050).contains(&(sum / 10_000)));
    }
}
