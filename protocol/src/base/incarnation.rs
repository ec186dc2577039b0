//! Incarnations: which boot of a node a frame comes from.

/// The first random incarnation: a node that lost its records cannot count its boots and draws a number from here on.
pub(crate) const INCARNATION_DRAWN: u32 = 1 << 31;

/// How many boots that kept their records may follow a drawn one and still be told from the ones before. Another number is
/// drawn so close below with a chance of one in two million.
const SUCCESSORS_MAX: u32 = 1 << 10;

/// Returns whether `incarnation` is that of the boot `known`, or of one before it as far as their numbers tell.
const fn precedes(incarnation: u32, known: u32) -> bool {
    if known < INCARNATION_DRAWN {
        incarnation <= known
    } else {
        incarnation < INCARNATION_DRAWN || known.wrapping_sub(incarnation) < SUCCESSORS_MAX
    }
}

/// The current incarnation of a peer, and the last one before it drew a number: admits frames of the current boot and
/// rejects earlier ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct IncarnationFilter {
    current: u32,
    previous: u32,
}

impl IncarnationFilter {
    /// The current incarnation; 0 where none was received.
    pub(crate) const fn current(self) -> u32 {
        self.current
    }

    /// Creates the filter of a peer first received in this incarnation.
    pub(crate) const fn first(incarnation: u32) -> Self {
        Self { current: incarnation, previous: 0 }
    }

    /// Admits a frame of `incarnation`: returns whether it is a new boot, or `None` where it is an earlier one.
    ///
    /// Counted incarnations are ordered, and drawn ones follow them. A boot that kept its records follows the drawn one
    /// before it. The order of two drawn ones is known only to peers that received frames of both.
    pub(crate) fn admit(&mut self, incarnation: u32) -> Option<bool> {
        if incarnation == self.current {
            return Some(false);
        }
        if precedes(incarnation, self.current) || self.previous > 0 && precedes(incarnation, self.previous) {
            return None;
        }
        let follows = self.current < INCARNATION_DRAWN || precedes(self.current, incarnation);
        let previous = if follows { self.previous } else { self.current };
        *self = Self { current: incarnation, previous };
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_earlier_boot_is_not_admitted_again() {
        let mut filter = IncarnationFilter::first(3);
        assert_eq!(filter.admit(3), Some(false));
        assert_eq!(filter.admit(5), Some(true));
        assert_eq!([1, 3, 4].map(|old| filter.admit(old)), [None; 3]);
        let drawn = INCARNATION_DRAWN + 9;
        assert_eq!(filter.admit(drawn), Some(true));
        assert_eq!([5, 6].map(|old| filter.admit(old)), [None; 2]);
        assert_eq!(filter.admit(drawn + SUCCESSORS_MAX), Some(true));
        let redrawn = drawn + 5 * SUCCESSORS_MAX;
        assert_eq!(filter.admit(redrawn), Some(true));
        assert_eq!(filter.admit(drawn + SUCCESSORS_MAX), None);
    }

    #[test]
    fn boots_that_followed_a_drawn_one_are_earlier_ones_however_many_there_were() {
        let drawn = INCARNATION_DRAWN + 2 * SUCCESSORS_MAX;
        let mut filter = IncarnationFilter::first(drawn);
        assert!((1..9).all(|boot| filter.admit(drawn + boot) == Some(true)));
        assert!((0..8).all(|boot| filter.admit(drawn + boot).is_none()), "a recording of any of them");
        assert_eq!(filter.admit(drawn + 8), Some(false));
        let redrawn = INCARNATION_DRAWN + 1;
        assert_eq!(filter.admit(redrawn), Some(true), "its records were lost again");
        assert!((0..9).all(|boot| filter.admit(drawn + boot).is_none()), "of two lines of boots");
        assert_eq!(filter.admit(redrawn + 1), Some(true));
        assert!((0..9).all(|boot| filter.admit(drawn + boot).is_none()), "still");
    }
}
