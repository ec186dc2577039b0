//! Seeded randomness: everything a run draws comes from its seed.
//!
//! Each purpose has a generator of its own ([`Stream`]), so that, say, one more frame on the air does not change where
//! the nodes stand.

use rand_core::{Rng as _, SeedableRng as _};
use rand_xoshiro::Xoshiro256PlusPlus;

/// What a generator is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Where nodes stand and what they are worth.
    Placement,
    /// Where nodes go.
    Mobility,
    /// Back-off, fading, loss and every other chance of the medium.
    Network,
    /// Whom a fault hits.
    Faults,
    /// Noise in what nodes measure about themselves.
    Noise,
    /// What a node is given at its boot.
    Node,
    /// Which links work one way only.
    OneWay,
    /// What applications do with locks.
    Locks,
}

/// The seed of the `index`-th generator of a stream in the run `seed`.
#[must_use]
pub fn derive(seed: u64, stream: Stream, index: u64) -> u64 {
    let mut mixed = seed;
    for word in [stream as u64 + 1, index] {
        mixed = mix(mixed ^ mix(word.wrapping_add(0x9E37_79B9_7F4A_7C15)));
    }
    mixed
}

/// Spreads every bit of a word over all of its bits (the finaliser of `SplitMix64`).
#[must_use]
pub fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// A generator.
#[derive(Clone, Debug)]
pub struct Random(Xoshiro256PlusPlus);

impl Random {
    /// The generator of a stream in the run `seed`.
    #[must_use]
    pub fn new(seed: u64, stream: Stream) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(derive(seed, stream, 0)))
    }

    /// Any 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`; zero if `bound` is.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The high half of the product; its bias is below one in 2^32 for every bound used here.
        ((u128::from(self.word()) * u128::from(bound)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// A number from 0 up to, not including, 1.
    pub fn unit(&mut self) -> f64 {
        (self.word() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Whether something of this chance happens.
    pub fn happens(&mut self, chance: Chance) -> bool {
        // What is certain needs no draw.
        chance.0 > 0 && (chance.0 >= Chance::ALWAYS.0 || chance.covers(self.word()))
    }

    /// A span drawn from an exponential distribution with this mean.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        let draw = 1.0 - self.unit();
        (-(draw.ln()) * mean as f64).round() as u64
    }

    /// Puts a slice in random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// How likely something is, in 2^32ths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Chance(u64);

impl Chance {
    /// It never happens.
    pub const NEVER: Self = Self(0);

    /// It always happens.
    pub const ALWAYS: Self = Self(1 << 32);

    /// A chance of `share`, from 0 to 1.
    #[must_use]
    pub fn new(share: f64) -> Self {
        Self((share.clamp(0.0, 1.0) * (1_u64 << 32) as f64).round() as u64)
    }

    /// That this happens and `other` does too.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(((u128::from(self.0) * u128::from(other.0)) >> 32) as u64)
    }

    /// Whether a draw of 64 bits makes it happen.
    #[must_use]
    pub fn covers(self, draw: u64) -> bool {
        (draw >> 32) < self.0
    }

    /// That this does not happen.
    #[must_use]
    pub fn complement(self) -> Self {
        Self(Self::ALWAYS.0 - self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_of_one_seed_and_seeds_of_one_stream_differ() {
        let first = |seed, stream| Random::new(seed, stream).word();
        assert_eq!(first(1, Stream::Network), first(1, Stream::Network));
        assert_ne!(first(1, Stream::Network), first(1, Stream::Mobility));
        assert_ne!(first(1, Stream::Network), first(2, Stream::Network));
    }

    #[test]
    fn a_draw_stays_within_its_bounds_and_reaches_them() {
        let mut random = Random::new(3, Stream::Noise);
        let draws: Vec<u64> = (0..1_000).map(|_| random.between(5, 9)).collect();
        assert_eq!(draws.iter().min(), Some(&5));
        assert_eq!(draws.iter().max(), Some(&9));
        assert_eq!(random.below(0), 0);
    }

    #[test]
    fn chances_hold_on_average() {
        let mut random = Random::new(4, Stream::Noise);
        let mut count = |chance| (0..10_000).filter(|_| random.happens(chance)).count();
        assert_eq!(count(Chance::NEVER), 0);
        assert_eq!(count(Chance::ALWAYS), 10_000);
        assert!((900..1_100).contains(&count(Chance::new(0.1))));
        assert!((400..600).contains(&count(Chance::new(0.1).and(Chance::new(0.5)))));
        assert!((8_900..9_100).contains(&count(Chance::new(0.1).complement())));
        assert_eq!(Chance::ALWAYS.and(Chance::ALWAYS), Chance::ALWAYS);
    }

    #[test]
    fn an_exponential_span_has_its_mean() {
        let mut random = Random::new(5, Stream::Noise);
        let sum: u64 = (0..10_000).map(|_| random.exponential(1_000)).sum();
        assert!((950..1_050).contains(&(sum / 10_000)));
    }
}
