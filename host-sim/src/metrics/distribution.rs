//! Distributions over many runs.

use serde::Serialize;

/// A distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Distribution {
    /// The number of values.
    pub count: usize,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
    /// The 99.9th percentile.
    pub p999: u64,
    /// The maximum.
    pub max: u64,
}

impl Distribution {
    pub(crate) fn of(mut values: Vec<u64>) -> Self {
        values.sort_unstable();
        let value = |per_mille| nearest_rank(&values, per_mille);
        Self { count: values.len(), p50: value(500), p99: value(990), p999: value(999), max: value(1_000) }
    }

    /// Returns one percentile of `values`, in thousandths.
    pub(crate) fn at(mut values: Vec<u64>, per_mille: u16) -> u64 {
        values.sort_unstable();
        nearest_rank(&values, per_mille)
    }
}

/// The percentile by the nearest-rank method.
fn nearest_rank(sorted: &[u64], per_mille: u16) -> u64 {
    let rank = (sorted.len() * usize::from(per_mille)).div_ceil(1_000);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let distribution = Distribution::of((1..=1_000).rev().collect());
        assert_eq!(distribution, Distribution { count: 1_000, p50: 500, p99: 990, p999: 999, max: 1_000 });
        assert_eq!(Distribution::of(vec![7]), Distribution { count: 1, p50: 7, p99: 7, p999: 7, max: 7 });
        assert_eq!(Distribution::of(Vec::new()), Distribution::default());
    }
}
