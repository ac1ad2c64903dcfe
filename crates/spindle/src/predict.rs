//! The performance of a disk by formula, to compare the served disk with.
//!
//! Pure functions of a disk's description; `docs/method/disk-model.md` derives them.

use crate::seek::SeekCurve;
use crate::spec::{DiskSpec, Hdd, Mechanism, Ssd};

/// Points at which an integral over the way is taken.
const POINTS: u32 = 20_000;

/// Bytes a second of reads, writes or both in the order of their places, over the whole disk, with
/// `request_bytes` a request and `depth` requests at a time.
pub fn sequential_bytes_per_s(spec: &DiskSpec, request_bytes: u64, depth: usize) -> f64 {
    match &spec.mechanism {
        Mechanism::Hdd(hdd) => {
            let (outer, inner) = (hdd.rate_bytes_per_s, hdd.inner_rate());
            // The mean of a rate that falls in proportion to the place: of times, not of rates.
            if outer > inner { (outer - inner) / (outer / inner).ln() } else { outer }
        }
        Mechanism::Ssd(ssd) => {
            ssd_operations_per_s(ssd, request_bytes, depth) * request_bytes as f64
        }
    }
}

/// Operations a second of `request_bytes` each at random places, reads or writes, `depth` at a time.
pub fn random_iops(spec: &DiskSpec, request_bytes: u64, depth: usize) -> f64 {
    match &spec.mechanism {
        Mechanism::Hdd(hdd) => {
            let size = spec.size_bytes as f64;
            let mean_rate = sequential_bytes_per_s(spec, request_bytes, depth);
            let transfer_s = request_bytes as f64 / mean_rate;
            1.0 / (random_positioning_s(hdd, size, depth) + transfer_s)
        }
        Mechanism::Ssd(ssd) => ssd_operations_per_s(ssd, request_bytes, depth),
    }
}

/// Bytes a second of all of `streams` sequential streams together, spread evenly over the disk, each
/// with one request of `request_bytes` at a time: on a hard disk every request is then a seek away
/// from the one before it.
pub fn streams_bytes_per_s(spec: &DiskSpec, streams: usize, request_bytes: u64) -> f64 {
    let Mechanism::Hdd(hdd) = &spec.mechanism else {
        return sequential_bytes_per_s(spec, request_bytes, streams);
    };
    let rate = sequential_bytes_per_s(spec, request_bytes, 1);
    let Some(curve) = curve(hdd).filter(|_| streams > 1) else { return rate };
    // A circular sweep: a step from each stream to the next, and the way back from the last.
    let step = 1.0 / streams as f64;
    let steps = (streams - 1) as f64;
    let seeks_s = curve.seconds(step) * steps + curve.seconds(step * steps);
    let turns_s = streams as f64 * hdd.revolution_s() / 2.0;
    let bytes = streams as f64 * request_bytes as f64;
    bytes / (seeks_s + turns_s + bytes / rate)
}

/// `min(depth, channels)` operations at a time of `channels / iops` seconds each, within the rate.
fn ssd_operations_per_s(ssd: &Ssd, request_bytes: u64, depth: usize) -> f64 {
    let side_by_side = depth.clamp(1, ssd.channels) as f64;
    let operations = side_by_side * ssd.iops / ssd.channels as f64;
    operations.min(ssd.rate_bytes_per_s / request_bytes as f64)
}

/// Mean seconds of arm and rotation between requests at random places.
fn random_positioning_s(hdd: &Hdd, size_bytes: f64, depth: usize) -> f64 {
    let Some(curve) = curve(hdd) else { return 0.0 };
    let revolution = hdd.revolution_s();
    let mean_rate = f64::midpoint(hdd.rate_bytes_per_s, hdd.inner_rate());
    let track = (mean_rate * revolution / size_bytes).min(1.0);
    // Seconds for a way of x upwards; within a track the platter turns by x.
    let up = |x: f64| {
        if x < track { revolution * x / track } else { curve.seconds(x) + revolution / 2.0 }
    };
    let down = |x: f64| {
        if x < track { revolution * (1.0 - x / track) } else { up(x) }
    };
    // While one is served the others wait.
    let waiting = depth.saturating_sub(1).clamp(1, hdd.queue_depth) as f64;
    if waiting < 2.0 {
        // The distance of two random places has the density 2 (1 - x).
        return mean_over(|x| 2.0 * (1.0 - x) * f64::midpoint(up(x), down(x)));
    }
    // Where a circular sweep has just been nothing waits, where it comes next most does: before the
    // head lie 2 w requests for a whole way, at distances that are exponential with mean 1 / (2 w).
    let steps = 2.0 * waiting;
    let density = |x: f64| steps * (-steps * x).exp();
    let weight = mean_over(density);
    let step_s = mean_over(|x| density(x) * up(x)) / weight;
    let back_s = down(1.0 - 2.0 / steps);
    (steps * step_s + back_s) / (steps + 1.0)
}

fn curve(hdd: &Hdd) -> Option<SeekCurve> {
    let [track, average, full] = hdd.seeks_s();
    SeekCurve::through(track, average, full)
}

/// The integral from 0 to 1, by the midpoint rule.
fn mean_over(of: impl Fn(f64) -> f64) -> f64 {
    let points = f64::from(POINTS);
    (0..POINTS).map(|point| of((f64::from(point) + 0.5) / points)).sum::<f64>() / points
}
