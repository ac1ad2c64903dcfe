//! Summaries of a handful of numbers.

use hdrhistogram::Histogram;
use serde::Serialize;

/// A quantity over iterations, with every raw value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Sample standard deviation (divisor n - 1); `None` of a single value, which has none.
    pub stdev: Option<f64>,
    /// The raw values in order.
    pub iterations: Vec<f64>,
}

impl Spread {
    /// The summary of `values`; `None` if empty.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let min = values.iter().copied().reduce(f64::min)?;
        let max = values.iter().copied().reduce(f64::max)?;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        Some(Self {
            mean: mean.clamp(min, max), // the rounded sum may leave the range by a last bit
            min,
            max,
            stdev: (values.len() > 1).then(|| (squares / (n - 1.0)).sqrt()),
            iterations: values.to_vec(),
        })
    }
}

/// Quantiles of the latency of single requests, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Median.
    pub p50: f64,
    /// 90 % were faster.
    pub p90: f64,
    /// 99 % were faster.
    pub p99: f64,
    /// 99.9 % were faster.
    pub p99_9: f64,
    /// The slowest.
    pub max: f64,
}

impl Latency {
    /// The quantiles of a histogram of nanoseconds; `None` of an empty one.
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        let at = |q: f64| histogram.value_at_quantile(q) as f64 / 1e9;
        (!histogram.is_empty()).then(|| Self {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            p99_9: at(0.999),
            max: histogram.max() as f64 / 1e9,
        })
    }
}

/// The median of `values` (mean of the middle two); `None` if empty.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some(f64::midpoint(sorted[middle - 1], sorted[middle])),
    }
}

/// Which rates are below `factor` times the median of the others: (index, that median).
pub fn slow_outliers(rates: &[f64], factor: f64) -> Vec<(usize, f64)> {
    (0..rates.len())
        .filter_map(|index| {
            let others: Vec<f64> =
                rates.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, r)| *r).collect();
            let median = median(&others)?;
            (rates[index] < factor * median).then_some((index, median))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn one_value_has_no_spread_and_none_has_no_summary() {
        assert_eq!(Spread::of(&[]), None);
        let one = Spread::of(&[3.0]).unwrap();
        assert_eq!((one.mean, one.min, one.max, one.stdev), (3.0, 3.0, 3.0, None));
        let three = Spread::of(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((three.mean, three.stdev), (2.0, Some(1.0)));
    }

    #[test]
    fn latency_of_known_requests() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        assert_eq!(Latency::of(&histogram), None);
        (1..=1000).for_each(|ms| histogram.record(ms * 1_000_000).unwrap());
        let latency = Latency::of(&histogram).unwrap();
        assert!((latency.p50 - 0.5).abs() < 0.002 && (latency.p99 - 0.99).abs() < 0.002);
        assert!((latency.max - 1.0).abs() < 0.002);
    }

    #[test]
    fn the_one_slow_disk_is_named_and_healthy_ones_are_not() {
        assert_eq!(slow_outliers(&[100.0, 99.0, 50.0, 101.0], 0.8), [(2, 100.0)]);
        assert_eq!(slow_outliers(&[100.0, 99.0, 98.0], 0.8), []);
        assert_eq!(slow_outliers(&[100.0], 0.8), []);
        assert_eq!(slow_outliers(&[40.0, 100.0], 0.8), [(0, 100.0)]);
    }

    proptest! {
        #[test]
        fn a_summary_holds_its_values(values in prop::collection::vec(1.0..1e12_f64, 1..20)) {
            let spread = Spread::of(&values).unwrap();
            prop_assert!(spread.min <= spread.mean && spread.mean <= spread.max);
            prop_assert!(values.iter().all(|v| (spread.min..=spread.max).contains(v)));
            let median = median(&values).unwrap();
            let below = values.iter().filter(|v| **v < median).count();
            prop_assert!(below <= values.len() / 2);
        }

        #[test]
        fn scaling_every_rate_names_the_same_disks(
            rates in prop::collection::vec(1.0..1e9_f64, 2..12), scale in 0.01..100.0_f64,
        ) {
            let names = |r: &[f64]| slow_outliers(r, 0.8).iter().map(|s| s.0).collect::<Vec<_>>();
            let scaled: Vec<f64> = rates.iter().map(|r| r * scale).collect();
            // Rates right at the limit may round to either side.
            let clear = rates.iter().enumerate().all(|(i, r)| {
                let mut others = rates.clone();
                others.remove(i);
                (r / (0.8 * median(&others).unwrap()) - 1.0).abs() > 1e-9
            });
            prop_assume!(clear);
            prop_assert_eq!(names(&rates), names(&scaled));
        }
    }
}
