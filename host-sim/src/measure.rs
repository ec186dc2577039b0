//! Numbers out of many runs.

use serde::Serialize;

/// A distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Measure {
    /// How many values there are.
    pub count: usize,
    /// Half of them are no greater.
    pub p50: u64,
    /// Ninety-nine of a hundred are no greater.
    pub p99: u64,
    /// Nine hundred and ninety-nine of a thousand are no greater.
    pub p999: u64,
    /// None is greater.
    pub max: u64,
}

impl Measure {
    /// The distribution of `values`.
    #[must_use]
    pub fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let value = |per_mille| nearest_rank(&values, per_mille);
        Self { count: values.len(), p50: value(500), p99: value(990), p999: value(999), max: value(1_000) }
    }

    /// The value that this many thousandths of `values` are no greater than.
    #[must_use]
    pub fn at(mut values: Vec<u64>, per_mille: u16) -> u64 {
        values.sort_unstable();
        nearest_rank(&values, per_mille)
    }
}

/// The smallest of the sorted values that at least this many thousandths are no greater than.
fn nearest_rank(sorted: &[u64], per_mille: u16) -> u64 {
    let rank = (sorted.len() * usize::from(per_mille)).div_ceil(1_000);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let measure = Measure::of((1..=1_000).rev().collect());
        assert_eq!(measure, Measure { count: 1_000, p50: 500, p99: 990, p999: 999, max: 1_000 });
        assert_eq!(Measure::of(vec![7]), Measure { count: 1, p50: 7, p99: 7, p999: 7, max: 7 });
        assert_eq!(Measure::of(Vec::new()), Measure::default());
    }
}
