//! Changes to inputs, drawn from a seed.

/// A generator of random numbers: `SplitMix64`.
pub struct Rng(pub u64);

impl Rng {
    /// Draws any number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let word = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }

    /// Draws a number below `bound`, which is above zero.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.draw() % bound.max(1) as u64).unwrap_or(0)
    }
}

/// The ends of what a byte can say.
const EDGES: [u8; 8] = [0, 1, 2, 0x7E, 0x7F, 0x80, 0xFE, 0xFF];
/// The longest input.
const LEN_MAX: usize = 4_096;

/// Returns one of the seeds, changed in one to eight places.
#[must_use]
pub fn mutated(seeds: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = seeds[rng.below(seeds.len())].clone();
    for _ in 0..=rng.below(8) {
        let at = rng.below(bytes.len() + 1);
        match rng.below(8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
            1 if at < bytes.len() => bytes[at] = EDGES[rng.below(EDGES.len())],
            2 if at < bytes.len() => bytes[at] = rng.draw().to_le_bytes()[0],
            3 => bytes.truncate(at),
            4 => bytes.insert(at, EDGES[rng.below(EDGES.len())]),
            5 if at < bytes.len() => _ = bytes.drain(at..(at + 1 + rng.below(8)).min(bytes.len())),
            6 => {
                // The end of another one.
                let other = &seeds[rng.below(seeds.len())];
                bytes.truncate(at);
                bytes.extend(&other[rng.below(other.len() + 1)..]);
            }
            _ => {
                // A part of itself again.
                let part = bytes[at..(at + rng.below(16)).min(bytes.len())].to_vec();
                bytes.splice(at..at, part);
            }
        }
    }
    bytes.truncate(LEN_MAX);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_follow_from_the_seed_and_differ() {
        let seeds = [vec![1, 2, 3, 4], vec![9; 20], Vec::new()];
        let inputs = |seed| {
            let mut rng = Rng(seed);
            (0..100).map(|_| mutated(&seeds, &mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(inputs(1), inputs(1));
        assert_ne!(inputs(1), inputs(2));
        let distinct: std::collections::BTreeSet<_> = inputs(1).into_iter().collect();
        assert!(distinct.len() > 60, "the shortest seeds give few: {}", distinct.len());
    }
}
