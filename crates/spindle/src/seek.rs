//! How long the arm takes for a way.

/// Seconds for a way that is a fraction `x` of the whole disk: `track + root * sqrt(x) + linear * x`.
///
/// The curve of three published figures after Lee and Katz, "An analytic performance model of disk
/// arrays" (SIGMETRICS 1993): accelerating and braking take time with the square root of the way, a
/// long way at full speed in proportion to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeekCurve {
    track: f64,
    root: f64,
    linear: f64,
}

impl SeekCurve {
    /// The curve that begins at `track`, ends at `full`, and has the mean `average` over two random
    /// places; `None` if it would fall somewhere.
    pub fn through(track: f64, average: f64, full: f64) -> Option<Self> {
        // For two random places the mean of x is 1/3, that of sqrt(x) 8/15.
        let root = 5.0 * (average - track) - 5.0 / 3.0 * (full - track);
        let linear = full - track - root;
        // The slope, root / (2 sqrt x) + linear, is least at one of the ends.
        let rises = root >= 0.0 && root / 2.0 + linear >= -1e-12 * full;
        rises.then_some(Self { track, root, linear })
    }

    /// Seconds for a way of `x`, above 0 and at most 1.
    pub fn seconds(&self, x: f64) -> f64 {
        self.track + self.root * x.sqrt() + self.linear * x
    }
}
