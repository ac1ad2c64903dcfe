//! Where a hard disk's head is, and how long it takes from there to a request and over it.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::seek::SeekCurve;
use crate::spec::Hdd;

/// How a request is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It begins where the last one ended.
    Continued,
    /// The head has passed over it on the way to another: it is in the disk's buffer.
    Passed,
    /// It lies on the same track: the platter turns until it comes.
    Turned,
    /// The arm moves.
    Sought,
}

/// Seconds that a request takes, by part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    /// How it is reached.
    pub way: Way,
    /// Arm and rotation.
    pub positioning_s: f64,
    /// Under the head.
    pub transfer_s: f64,
}

/// Head, arm and platter of one disk.
#[derive(Debug)]
pub struct Head {
    size: f64,
    outer_rate: f64,
    inner_rate: f64,
    revolution_s: f64,
    curve: SeekCurve,
    draw: StdRng,
    at: u64,
    passed: (u64, u64),
}

impl Head {
    /// A head over the first byte of a disk of `size_bytes`; none if the seek times make no curve.
    pub fn new(hdd: &Hdd, size_bytes: u64) -> Option<Self> {
        let [track, average, full] = hdd.seeks_s();
        Some(Self {
            size: size_bytes as f64,
            outer_rate: hdd.rate_bytes_per_s,
            inner_rate: hdd.inner_rate(),
            revolution_s: hdd.revolution_s(),
            curve: SeekCurve::through(track, average, full)?,
            draw: StdRng::seed_from_u64(hdd.seed),
            at: 0,
            passed: (0, 0),
        })
    }

    /// The byte that comes under the head next.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// First byte of the recently passed range that is still in the disk's buffer.
    pub fn buffered_from(&self) -> u64 {
        self.passed.0
    }

    /// How the request would be reached from here.
    pub fn way(&self, offset: u64, bytes: u64) -> Way {
        let (from, to) = self.passed;
        if offset == self.at {
            Way::Continued
        } else if from <= offset && offset + bytes <= to {
            Way::Passed
        } else if self.turn_s(offset).is_some() {
            Way::Turned
        } else {
            Way::Sought
        }
    }

    /// Serves the request: moves the head behind it.
    pub fn serve(&mut self, offset: u64, bytes: u64) -> Service {
        let way = self.way(offset, bytes);
        let end = offset + bytes;
        let mut transfer_s = self.under_head_s(offset, end);
        let positioning_s = match way {
            Way::Continued => 0.0,
            Way::Passed => {
                // It was paid for when it was passed over. The larger rest stays in the buffer.
                let (from, to) = self.passed;
                self.passed = if offset - from > to - end { (from, offset) } else { (end, to) };
                transfer_s = 0.0;
                0.0
            }
            Way::Turned => self.turn_s(offset).unwrap_or_default(),
            Way::Sought => {
                let way = self.at.abs_diff(offset) as f64 / self.size;
                self.curve.seconds(way) + self.revolution_s * self.draw.random::<f64>()
            }
        };
        match way {
            Way::Turned if offset > self.at => self.passed = (self.at, offset),
            Way::Turned | Way::Sought => self.passed = (end, end),
            Way::Continued | Way::Passed => {}
        }
        if way != Way::Passed {
            self.at = end;
        }
        Service { way, positioning_s, transfer_s }
    }

    /// Seconds until `offset` comes under the head if it is within a revolution from here: the data
    /// before it pass, or the whole track except for the part between.
    fn turn_s(&self, offset: u64) -> Option<f64> {
        let (near, far) = (self.at.min(offset), self.at.max(offset));
        let between = self.under_head_s(near, far);
        let seconds = if offset >= self.at { between } else { self.revolution_s - between };
        (between < self.revolution_s).then_some(seconds)
    }

    /// Seconds in which the bytes from `from` to `to` pass: the rate falls from the first byte to the
    /// last in proportion to the place.
    fn under_head_s(&self, from: u64, to: u64) -> f64 {
        let bytes = (to - from) as f64;
        let fall = (self.outer_rate - self.inner_rate) / self.size;
        let rate = self.outer_rate - fall * from as f64;
        if fall > 0.0 { -(-fall * bytes / rate).ln_1p() / fall } else { bytes / rate }
    }
}
