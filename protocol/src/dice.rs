//! Randomness as a value: a seed comes in with the node's boot, every draw is a function of it.

use crate::time::Span;

/// A small generator of unpredictable-looking numbers (`SplitMix64`), for jitter only, never for keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Dice(u64);

impl Dice {
    /// Dice whose throws follow from `seed`.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn throw(&mut self) -> u32 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        u32::try_from((z ^ (z >> 31)) >> 32).unwrap_or(0)
    }
}

/// A point of `span` chosen by the draw `random`: from nothing up to, not including, the whole span.
#[must_use]
pub fn within(span: Span, random: u32) -> Span {
    span.share(random >> 8, 1 << 24)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same_numbers() {
        let (mut a, mut b) = (Dice::new(7), Dice::new(7));
        let throws: heapless::Vec<u32, 8> = (0..8).map(|_| a.throw()).collect();
        assert!(throws.iter().all(|&throw| throw == b.throw()));
        assert!(throws.windows(2).any(|pair| pair.first() != pair.last()));
    }

    #[test]
    fn a_draw_stays_within_its_span() {
        let span = Span::from_millis(10);
        assert_eq!(within(span, 0), Span::ZERO);
        assert!(within(span, u32::MAX) < span);
        assert_eq!(within(Span::ZERO, u32::MAX), Span::ZERO);
    }
}
