//! Percentiles by nearest rank: always a value that occurred.

use serde::Serialize;

/// A few points of a distribution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Percentiles {
    /// The median.
    pub p50: f64,
    /// 99 of 100 values are not above it.
    pub p99: f64,
    /// 999 of 1000 values are not above it.
    pub p999: f64,
    /// The largest value.
    pub max: f64,
}

impl Percentiles {
    /// The percentiles of some values; all 0 when there are none. Values that are no numbers count as the largest.
    #[must_use]
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = values
            .into_iter()
            .map(|v| if v.is_nan() { f64::INFINITY } else { v })
            .collect();
        sorted.sort_by(f64::total_cmp);
        Self {
            p50: percentile(&sorted, 0.5),
            p99: percentile(&sorted, 0.99),
            p999: percentile(&sorted, 0.999),
            max: percentile(&sorted, 1.0),
        }
    }
}

/// The smallest of the `sorted` values that at least the `share` (0 to 1) of them does not exceed; 0 without values.
#[must_use]
pub fn percentile(sorted: &[f64], share: f64) -> f64 {
    let count = sorted.len();
    // The tiny number keeps 0.999 * 1000 from being rounded up to rank 1000.
    let rank = (share * count as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank.min(count).wrapping_sub(1)).copied().unwrap_or(0.0)
}
