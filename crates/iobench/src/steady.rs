//! Whether a rate was steady: throughput in windows of time, its drift and its variation.
//!
//! The limits follow the steady state of the SNIA Solid State Storage Performance Test Specification
//! (2.0.1, definition 2.1.24): the best linear fit may change by at most 10 % of the mean over the
//! measurement. Its other limit, an excursion of at most 20 % between windows of a minute each, is
//! replaced by a coefficient of variation of at most 15 %, since our windows are short.

/// Width of the bins a [`Timeline`] keeps, in nanoseconds.
pub const BIN_NS: u64 = 10_000_000;
/// The largest change of the linear fit over the measurement, relative to the mean.
pub const DRIFT_LIMIT: f64 = 0.10;
/// The largest coefficient of variation of the windows around the fit.
pub const VARIATION_LIMIT: f64 = 0.15;
/// Share of the measurement left out at its beginning: the ramp.
pub const RAMP: f64 = 0.1;
/// With fewer windows nothing can be said.
pub const WINDOWS_MIN: usize = 6;
const WINDOW_BINS: std::ops::RangeInclusive<usize> = 5..=25; // 50 to 250 ms
const WINDOWS_WANTED: usize = 12;

/// Bytes moved over time, in bins of [`BIN_NS`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Timeline(Vec<f64>);

impl Timeline {
    /// Spreads the bytes of a request evenly over the time it took (nanoseconds since the start).
    pub fn add(&mut self, start_ns: u64, end_ns: u64, bytes: f64) {
        let (first, last) = ((start_ns / BIN_NS) as usize, (end_ns / BIN_NS) as usize);
        if self.0.len() <= last {
            self.0.resize(last + 1, 0.0);
        }
        if first >= last {
            self.0[last] += bytes;
            return;
        }
        let per_ns = bytes / (end_ns - start_ns) as f64;
        for bin in first..=last {
            let from = (bin as u64 * BIN_NS).max(start_ns);
            let to = ((bin as u64 + 1) * BIN_NS).min(end_ns);
            self.0[bin] += per_ns * (to - from) as f64;
        }
    }

    /// Adds another timeline of the same clock.
    pub fn merge(&mut self, other: &Self) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0.0);
        }
        self.0.iter_mut().zip(&other.0).for_each(|(mine, theirs)| *mine += theirs);
    }

    /// The whole bins before `end_ns`.
    pub fn bins_until(&self, end_ns: u64) -> &[f64] {
        &self.0[..self.0.len().min((end_ns / BIN_NS) as usize)]
    }
}

/// Why a rate was not steady, in words; `None` if it was. `bins` are bytes in bins of [`BIN_NS`].
pub fn unsteady_reason(bins: &[f64]) -> Option<String> {
    let window = (bins.len() / WINDOWS_WANTED).clamp(*WINDOW_BINS.start(), *WINDOW_BINS.end());
    let ramp = (bins.len() as f64 * RAMP).ceil() as usize;
    let windows: Vec<f64> =
        bins[ramp.min(bins.len())..].chunks_exact(window).map(|w| w.iter().sum()).collect();
    let window_ms = window as u64 * BIN_NS / 1_000_000;
    if windows.len() < WINDOWS_MIN {
        return Some(format!(
            "too short to tell: {} windows of {window_ms} ms after the ramp, {WINDOWS_MIN} are needed",
            windows.len()
        ));
    }
    let Fit { mean, change, residual } = fit(&windows);
    if mean <= 0.0 {
        return Some("nothing was moved".to_owned());
    }
    let (drift, variation) = (change / mean, residual / mean);
    // A slope through n scattered points has an error of its own: its standard deviation over the
    // whole length is residual * sqrt(12 / n) (least squares on equally spaced points).
    let noise = 2.0 * variation * (12.0 / windows.len() as f64).sqrt();
    if drift.abs() > DRIFT_LIMIT.max(noise) {
        return Some(format!(
            "{} by {:.0} % over the measurement (limit {:.0} %)",
            if drift > 0.0 { "rises" } else { "falls" },
            drift.abs() * 100.0,
            DRIFT_LIMIT * 100.0
        ));
    }
    (variation > VARIATION_LIMIT).then(|| {
        format!(
            "varies by {:.0} % between windows of {window_ms} ms (coefficient of variation, limit {:.0} %)",
            variation * 100.0,
            VARIATION_LIMIT * 100.0
        )
    })
}

struct Fit {
    mean: f64,
    /// Change of the least-squares line over the whole length.
    change: f64,
    /// Standard deviation around the line.
    residual: f64,
}

fn fit(y: &[f64]) -> Fit {
    let n = y.len() as f64;
    let mean = y.iter().sum::<f64>() / n;
    let centre = (n - 1.0) / 2.0;
    let sxx = n * (n * n - 1.0) / 12.0;
    let sxy: f64 = y.iter().enumerate().map(|(x, y)| (x as f64 - centre) * (y - mean)).sum();
    let slope = sxy / sxx;
    let squares: f64 =
        y.iter().enumerate().map(|(x, y)| (y - mean - slope * (x as f64 - centre)).powi(2)).sum();
    Fit { mean, change: slope * n, residual: (squares / (n - 2.0)).sqrt() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_constant_rate_is_steady_and_a_short_one_cannot_be_judged() {
        assert_eq!(unsteady_reason(&[5e6; 300]), None);
        assert!(unsteady_reason(&[5e6; 20]).unwrap().contains("too short"));
        assert!(unsteady_reason(&[]).unwrap().contains("too short"));
        assert!(unsteady_reason(&[0.0; 300]).unwrap().contains("nothing"));
    }

    #[test]
    fn a_falling_rate_is_called_falling_and_a_rising_one_rising() {
        let falling: Vec<f64> = (0..400).map(|i| 1000.0 - f64::from(i)).collect();
        assert!(unsteady_reason(&falling).unwrap().starts_with("falls by 4"));
        let rising: Vec<f64> = (0..400).map(|i| 1000.0 + f64::from(i)).collect();
        assert!(unsteady_reason(&rising).unwrap().starts_with("rises by"));
        let slightly: Vec<f64> = (0..400).map(|i| 1000.0 + 0.2 * f64::from(i)).collect();
        assert_eq!(unsteady_reason(&slightly), None);
    }

    #[test]
    fn a_stall_is_a_variation() {
        let mut bins = vec![1000.0; 600];
        bins[200..260].fill(0.0);
        bins[450..500].fill(0.0);
        assert!(unsteady_reason(&bins).unwrap().starts_with("varies by"));
    }

    #[test]
    fn the_ramp_is_left_out() {
        let mut bins = vec![1000.0; 500];
        bins[..40].fill(100.0);
        assert_eq!(unsteady_reason(&bins), None);
    }

    proptest! {
        #[test]
        fn spreading_loses_no_byte(
            requests in prop::collection::vec((0..5_000_000_000_u64, 0..500_000_000_u64, 1..1_000_000_u32), 1..50),
        ) {
            let mut timeline = Timeline::default();
            let mut total = 0.0;
            for (start, length, bytes) in requests {
                timeline.add(start, start + length, f64::from(bytes));
                total += f64::from(bytes);
            }
            let sum: f64 = timeline.bins_until(u64::MAX).iter().sum();
            prop_assert!((sum - total).abs() < 1e-6 * total);
        }

        #[test]
        fn merging_adds_bin_by_bin(a in 0..1_000_000_000_u64, b in 0..1_000_000_000_u64) {
            let (mut one, mut other, mut both) =
                (Timeline::default(), Timeline::default(), Timeline::default());
            one.add(a, a + 30_000_000, 4096.0);
            other.add(b, b + 1, 512.0);
            both.add(a, a + 30_000_000, 4096.0);
            both.add(b, b + 1, 512.0);
            one.merge(&other);
            prop_assert_eq!(one, both);
        }

        #[test]
        fn the_verdict_does_not_depend_on_the_unit(
            bins in prop::collection::vec(900.0..1100.0_f64, 100..400), scale in 0.001..1000.0_f64,
        ) {
            let scaled: Vec<f64> = bins.iter().map(|b| b * scale).collect();
            prop_assert_eq!(unsteady_reason(&bins), unsteady_reason(&scaled));
        }

        #[test]
        fn scatter_within_five_percent_is_steady(
            bins in prop::collection::vec(950.0..1050.0_f64, 200..600),
        ) {
            prop_assert_eq!(unsteady_reason(&bins), None);
        }
    }
}
