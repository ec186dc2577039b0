//! Numbers that are often whole.

use serde::{Serialize, Serializer};
use std::fmt;

/// A count, or a mean of counts. Whole numbers are shown without decimals, others with one or two.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub(crate) struct Figure(f64);

impl Figure {
    /// Rounds a number to hundredths.
    pub(crate) fn new(number: f64) -> Self {
        Self((number * 100.0).round() / 100.0)
    }

    /// Returns the mean of some numbers; of none, zero.
    pub(crate) fn mean(numbers: impl ExactSizeIterator<Item = f64>) -> Self {
        let count = numbers.len().max(1) as f64;
        Self::new(numbers.sum::<f64>() / count)
    }

    pub(crate) fn get(self) -> f64 {
        self.0
    }

    fn is_whole(self) -> bool {
        self.0.fract() == 0.0
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_whole() { write!(f, "{:.0}", self.0) } else { write!(f, "{:.1}", self.0) }
    }
}

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.is_whole() { serializer.serialize_u64(self.0 as u64) } else { serializer.serialize_f64(self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_have_no_decimals() {
        let whole = Figure::mean([10.0, 12.0].into_iter());
        let part = Figure::mean([1.0, 1.0, 2.0].into_iter());
        assert_eq!((whole.to_string(), part.to_string()), ("11".to_owned(), "1.3".to_owned()));
        let written = serde_json::to_string(&[whole, part, Figure::mean([].into_iter())]).unwrap();
        assert_eq!(written, "[11,1.33,0]");
    }
}
