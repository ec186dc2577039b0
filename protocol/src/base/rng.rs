//! Deterministic randomness: every draw follows from the seed given at boot.

use crate::base::time::Duration;

/// A small pseudo-random generator (`SplitMix64`), for jitter only, never for keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rng(u64);

impl Rng {
    /// Creates a generator seeded with `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next number.
    pub fn next_u32(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(0)
    }
}

/// Returns a fraction of `max` chosen by the draw `random`: from zero up to, not including, `max`.
#[must_use]
pub fn jitter(max: Duration, random: u32) -> Duration {
    max.mul_ratio(random >> 8, 1 << 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let (mut a, mut b) = (Rng::new(7), Rng::new(7));
        let draws: heapless::Vec<u32, 8> = (0..8).map(|_| a.next_u32()).collect();
        assert!(draws.iter().all(|&draw| draw == b.next_u32()));
        assert!(draws.windows(2).any(|pair| pair.first() != pair.last()));
    }

    #[test]
    fn jitter_stays_below_its_maximum() {
        let max = Duration::from_millis(10);
        assert_eq!(jitter(max, 0), Duration::ZERO);
        assert!(jitter(max, u32::MAX) < max);
        assert_eq!(jitter(Duration::ZERO, u32::MAX), Duration::ZERO);
    }
}
