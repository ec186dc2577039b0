//! Incarnations: which boot of a node a frame comes from.

/// The first random incarnation: a node that lost its records cannot count its boots and draws a number from here on.
pub(crate) const INCARNATION_DRAWN: u32 = 1 << 31;

/// The current and the previous incarnation of a peer: admits frames of the current boot and rejects earlier ones.
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
    /// Counted incarnations are ordered, and drawn ones follow them. The order of two drawn ones is known only to peers
    /// that received frames of both.
    pub(crate) fn admit(&mut self, incarnation: u32) -> Option<bool> {
        if incarnation == self.current {
            return Some(false);
        }
        if incarnation == self.previous || incarnation < self.current.min(INCARNATION_DRAWN) {
            return None;
        }
        *self = Self { current: incarnation, previous: self.current };
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
        let (drawn, redrawn) = (INCARNATION_DRAWN + 9, INCARNATION_DRAWN + 2);
        assert_eq!(filter.admit(drawn), Some(true));
        assert_eq!([5, 6].map(|old| filter.admit(old)), [None; 2]);
        assert_eq!(filter.admit(redrawn), Some(true));
        assert_eq!(filter.admit(drawn), None);
    }
}
