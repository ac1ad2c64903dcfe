//! The report of a disk measurement: its shape is the contract with readers of the agent's events.

use std::path::PathBuf;

use hdrhistogram::Histogram;
use rawio::Operation;
use serde::Serialize;

use super::options::{Case, Mode};
use super::stream::{Moved, histogram};
use crate::stats::{Latency, Spread, slow_outliers};
use crate::steady::{Timeline, unsteady_reason};

/// Whether a rate is of reading or of writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reading.
    Read,
    /// Writing.
    Write,
}

impl From<Operation> for Role {
    fn from(operation: Operation) -> Self {
        match operation {
            Operation::Read => Self::Read,
            Operation::Write => Self::Write,
        }
    }
}

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The device behind each directory.
    pub devices: Vec<Device>,
    /// Rates and latencies.
    pub measurements: Vec<Measurement>,
    /// Directories that are slower than their peers.
    pub slow: Vec<Slow>,
}

/// The device behind a directory.
#[derive(Clone, Debug, Serialize)]
pub struct Device {
    /// The directory as given.
    pub dir: PathBuf,
    /// Where its file system is mounted.
    pub mount_point: Option<String>,
    /// Its file system.
    pub file_system: Option<String>,
    /// The kernel's name of the block device.
    pub device: Option<String>,
    /// `io_uring+direct`, `io_uring+buffered`, `posix+direct` or `posix+buffered`.
    pub io_method: String,
}

/// A rate over iterations.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// The mode.
    pub mode: Mode,
    /// Which direction this rate is of.
    pub role: Role,
    /// The directory; `None`: all together.
    pub dir: Option<PathBuf>,
    /// Size of a request.
    pub block_bytes: usize,
    /// Requests in flight in each directory and direction.
    pub queue_depth: usize,
    /// Bytes moved in all iterations.
    pub bytes: u64,
    /// Decimal bytes per second.
    pub bytes_per_s: Spread,
    /// Requests per second.
    pub iops: Spread,
    /// Latency of single requests over all iterations; `None` if none ended in time.
    pub latency_s: Option<Latency>,
    /// Whether every iteration was steady.
    pub steady: bool,
    /// Why not, in words.
    pub unsteady_reason: Option<String>,
}

/// A directory that is slower than its peers.
#[derive(Clone, Debug, Serialize)]
pub struct Slow {
    /// The directory.
    pub dir: PathBuf,
    /// In which direction.
    pub role: Role,
    /// In which mode.
    pub mode: Mode,
    /// Its mean rate.
    pub bytes_per_s: f64,
    /// The median of the others' mean rates.
    pub median_bytes_per_s: f64,
}

/// One iteration of a case: what each stream did, and the window common to all.
pub(crate) struct Round {
    pub(crate) streams: Vec<(usize, Operation, Moved)>,
    pub(crate) window_ns: u64,
}

/// One stream or several together in one iteration.
#[derive(Default)]
struct Part {
    bytes: u64,
    requests: u64,
    elapsed_ns: u64,
    timeline: Timeline,
}

/// The rates of a case: of each direction, of each directory and of all together.
pub(crate) fn measurements(case: Case, rounds: &[Round], dirs: &[PathBuf]) -> Vec<Measurement> {
    let mut found = Vec::new();
    for role in [Operation::Read, Operation::Write] {
        for dir in (0..dirs.len()).map(Some).chain([None]) {
            let of_this = |stream: &&(usize, Operation, Moved)| {
                stream.1 == role && dir.is_none_or(|dir| dir == stream.0)
            };
            let mut latency_ns = histogram();
            let parts: Vec<Part> = rounds
                .iter()
                .map(|round| {
                    let mine: Vec<&Moved> =
                        round.streams.iter().filter(of_this).map(|stream| &stream.2).collect();
                    join(case.mode, &mine, round.window_ns, &mut latency_ns)
                })
                .collect();
            let name = dir.map(|dir| dirs[dir].clone());
            found.extend(measurement(case, role.into(), name, &parts, &latency_ns));
        }
    }
    found
}

fn join(mode: Mode, streams: &[&Moved], window_ns: u64, latency: &mut Histogram<u64>) -> Part {
    let mut part = Part::default();
    for moved in streams {
        part.bytes += moved.bytes;
        part.requests += moved.requests;
        // Writers alone: each is judged by its own durability, all together by the last one's.
        // Otherwise the rates are simultaneous ones, of the common window.
        let elapsed_ns = if mode == Mode::Write { moved.elapsed_ns } else { window_ns };
        part.elapsed_ns = part.elapsed_ns.max(elapsed_ns);
        part.timeline.merge(&moved.timeline);
        // Both have the bounds of `histogram`, so nothing can be out of range.
        let _ = latency.add(&moved.latency_ns);
    }
    part
}

fn measurement(
    case: Case,
    role: Role,
    dir: Option<PathBuf>,
    parts: &[Part],
    latency_ns: &Histogram<u64>,
) -> Option<Measurement> {
    if parts.iter().any(|part| part.elapsed_ns == 0) {
        return None; // not in this direction or directory
    }
    let per_s = |value: fn(&Part) -> u64| {
        let rates: Vec<f64> =
            parts.iter().map(|part| value(part) as f64 / (part.elapsed_ns as f64 / 1e9)).collect();
        Spread::of(&rates)
    };
    let unsteady_reason = parts.iter().enumerate().find_map(|(index, part)| {
        let reason = unsteady_reason(part.timeline.bins_until(part.elapsed_ns))?;
        Some(format!("iteration {}: {reason}", index + 1))
    });
    Some(Measurement {
        mode: case.mode,
        role,
        dir,
        block_bytes: case.block_bytes,
        queue_depth: case.depth,
        bytes: parts.iter().map(|part| part.bytes).sum(),
        bytes_per_s: per_s(|part| part.bytes)?,
        iops: per_s(|part| part.requests)?,
        latency_s: Latency::of(latency_ns),
        steady: unsteady_reason.is_none(),
        unsteady_reason,
    })
}

/// The directories of one case that are slower than `factor` times the median of the others.
pub(crate) fn slow(case: &[Measurement], factor: f64) -> Vec<Slow> {
    let mut found = Vec::new();
    for role in [Role::Read, Role::Write] {
        let of_role: Vec<(&PathBuf, &Measurement)> = case
            .iter()
            .filter(|m| m.role == role)
            .filter_map(|m| Some((m.dir.as_ref()?, m)))
            .collect();
        let rates: Vec<f64> = of_role.iter().map(|(_, m)| m.bytes_per_s.mean).collect();
        for (index, median_bytes_per_s) in slow_outliers(&rates, factor) {
            let (dir, measurement) = of_role[index];
            found.push(Slow {
                dir: dir.clone(),
                role,
                mode: measurement.mode,
                bytes_per_s: rates[index],
                median_bytes_per_s,
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use rawio::Method;

    use super::*;

    fn moved(bytes: u64, elapsed_ns: u64) -> Moved {
        let mut timeline = Timeline::default();
        timeline.add(0, elapsed_ns, bytes as f64);
        let mut latency_ns = histogram();
        latency_ns.record(1_000_000).unwrap();
        let method = Method::IoUring;
        Moved {
            bytes,
            requests: bytes / 4096,
            elapsed_ns,
            latency_ns,
            timeline,
            method,
            direct: true,
        }
    }

    const SECOND: u64 = 1_000_000_000;

    fn case(mode: Mode) -> Case {
        Case { mode, block_bytes: 4096, depth: 4 }
    }

    #[test]
    fn simultaneous_rates_refer_to_the_common_window() {
        let round = Round {
            streams: vec![
                (0, Operation::Read, moved(1_000_000_000, 2 * SECOND)),
                (1, Operation::Write, moved(3_000_000_000, SECOND)),
            ],
            window_ns: 2 * SECOND,
        };
        let dirs = ["/a".into(), "/b".into()];
        let found = measurements(case(Mode::ReadWrite), &[round], &dirs);
        let rates: Vec<_> =
            found.iter().map(|m| (m.role, m.dir.clone(), m.bytes_per_s.mean)).collect();
        assert_eq!(
            rates,
            [
                (Role::Read, Some("/a".into()), 0.5e9),
                (Role::Read, None, 0.5e9),
                (Role::Write, Some("/b".into()), 1.5e9),
                (Role::Write, None, 1.5e9),
            ]
        );
        assert!(found.iter().all(|m| m.bytes_per_s.stdev.is_none() && m.steady));
    }

    #[test]
    fn each_writer_alone_is_judged_by_its_own_end_and_all_by_the_last() {
        let round = Round {
            streams: vec![
                (0, Operation::Write, moved(1_000_000_000, SECOND)),
                (1, Operation::Write, moved(1_000_000_000, 4 * SECOND)),
                (2, Operation::Write, moved(1_100_000_000, SECOND)),
            ],
            window_ns: 4 * SECOND,
        };
        let dirs = ["/a".into(), "/b".into(), "/c".into()];
        let found = measurements(case(Mode::Write), &[round], &dirs);
        let rates: Vec<f64> = found.iter().map(|m| m.bytes_per_s.mean).collect();
        assert_eq!(rates, [1e9, 0.25e9, 1.1e9, 3.1e9 / 4.0]);
        let slow = slow(&found, 0.8);
        assert_eq!(slow.len(), 1);
        assert_eq!((slow[0].dir.to_str(), slow[0].bytes_per_s), (Some("/b"), 0.25e9));
        assert!((slow[0].median_bytes_per_s - 1.05e9).abs() < 1.0);
    }
}
