//! Bounds on how far one message moves a number that must never fall back.
//!
//! Terms and Lamport times grow, and nodes take over the highest they receive; frames are numbered, and a higher number
//! makes the ones before it old. One message that says the highest of all would leave no room for the next: it is refused. A number that is far ahead without fault, of a network that was
//! apart for years, is said again and again; with every refusal the ceiling rises by one step, until it is taken.

/// How far one message may move the number of its sender's frames, the term, a million elections, and the Lamport time, in blocks of [`TIMES_BLOCK`]: seven
/// weeks of a thousand steps a second.
pub const STEP: u32 = 1 << 20;

/// Lamport times in a block.
pub const TIMES_BLOCK: u64 = 1 << 12;

/// The highest value of one number that a message may say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ceiling(u32);

impl Ceiling {
    /// Returns whether a message may say `said` to a node that is at `own`. Where it may not, the next one may say more.
    pub(crate) fn admits(&mut self, own: u32, said: u32) -> bool {
        self.0 = self.0.max(own.saturating_add(STEP));
        let admitted = said <= self.0;
        if !admitted {
            self.0 = self.0.saturating_add(STEP);
        }
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_far_ahead_is_reached_step_by_step() {
        let mut ceiling = Ceiling::default();
        assert!(ceiling.admits(7, 7 + STEP));
        assert!(!ceiling.admits(7, 7 + STEP + 1));
        assert!(ceiling.admits(7, 7 + 2 * STEP));
        assert_eq!((0..9).map(|_| ceiling.admits(7, 7 + 5 * STEP)).take_while(|admitted| !admitted).count(), 3);
        assert!(!ceiling.admits(7, u32::MAX));
        assert!(ceiling.admits(STEP * 9, STEP * 10), "it follows the node's own number");
    }
}
