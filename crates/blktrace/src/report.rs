//! What an analysis says, as it is written down. Times are nanoseconds or seconds by their names.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::analysis::{Analysis, DeviceCounts, OPERATIONS};
use crate::event::{Operation, SECTOR_BYTES};
use crate::group::{Amount, Group};
use crate::histogram::{Histogram, Lengths, PER_OCTAVE};
use crate::locality::Distances;
use crate::raster::Raster;
use crate::tally::{ACTIONS, Tally};
use crate::verdict::{Runs, THRESHOLDS, Threshold, Verdict};

/// Something that the reader of the result must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Stable code.
    pub code: &'static str,
    /// What is wrong with the trace.
    pub message: String,
}

/// A trace.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How it is written; several where files differ.
    pub formats: Vec<String>,
    /// How many files.
    pub files: usize,
    /// How many bytes they have.
    pub bytes: u64,
    /// How many records, notes among them.
    pub records: u64,
    /// Records by action.
    pub actions: BTreeMap<&'static str, u64>,
    /// When it began, in seconds since 1970; `None` if the trace does not say.
    pub started_unix_s: Option<f64>,
    /// From the first record to the last.
    pub elapsed_s: f64,
    /// What is not in it.
    pub losses: Losses,
    /// How much wider than its lowest value a bucket is at most.
    pub bucket_width: f64,
    /// What verdicts depend on.
    pub thresholds: [Threshold; THRESHOLDS.len()],
    /// By device.
    pub devices: Vec<DeviceReport>,
    /// What the reader must know besides.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// What is not in a trace, as far as it tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Records that were lost, or left out by who wrote it: their numbers are missing, or it says so.
    pub missing_records: u64,
    /// At how many places.
    pub gaps: u64,
    /// Processors without a file, as `sda: 2-3`.
    pub missing_cpus: Vec<String>,
    /// Bytes that are no records.
    pub damaged_bytes: u64,
    /// At how many places.
    pub damaged_places: u64,
    /// Bytes at the ends of files that are parts of records.
    pub truncated_bytes: u64,
    /// Lines that are no events.
    pub unread_lines: u64,
    /// Events that came too late to be put in order.
    pub late_events: u64,
    /// Requests still with a device at the end.
    pub not_done: u64,
    /// Requests that were given up because nothing more was heard of them.
    pub given_up: u64,
}

/// A device.
#[derive(Clone, Debug, Serialize)]
pub struct DeviceReport {
    /// `major,minor`.
    pub device: String,
    /// Flushes of its cache.
    pub flushes: u64,
    /// Requests that move no data of a file system.
    pub others: u64,
    /// Requests that its driver gave back.
    pub requeues: u64,
    /// Parts that were done before the rest of their request.
    pub partial_completions: u64,
    /// Completions of requests that were never issued.
    pub never_issued: u64,
    /// Completions of requests that began before the trace.
    pub begun_before: u64,
    /// For how long it had something to do.
    pub busy_s: f64,
    /// For how long it had nothing to do.
    pub idle_s: f64,
    /// Requests with it, on average over time; `None` of no time.
    pub depth_mean: Option<f64>,
    /// Requests with it at most.
    pub depth_max: u64,
    /// Depth and for how many seconds it lasted; the last depth stands for all deeper ones, too.
    pub depths: Vec<(usize, f64)>,
    /// By what requests do.
    pub operations: Vec<OperationReport>,
}

/// The requests of one device that do the same.
#[derive(Clone, Debug, Serialize)]
pub struct OperationReport {
    /// `read`, `write` or `discard`.
    pub operation: &'static str,
    /// As the file system made them.
    pub queued: AmountReport,
    /// As the device got them.
    pub issued: AmountReport,
    /// Of those, what was read ahead.
    pub readahead: AmountReport,
    /// Of those, the file system's own data.
    pub metadata: AmountReport,
    /// Of those, what somebody waited for.
    pub sync: AmountReport,
    /// Requests that were appended to others.
    pub back_merges: u64,
    /// Requests that were put in front of others.
    pub front_merges: u64,
    /// Requests that were done.
    pub completed: u64,
    /// Of those, with an error.
    pub failed: u64,
    /// Bytes and count of each size of issued requests.
    pub sizes: Vec<(u64, u64)>,
    /// The median of the sizes, exact; `None` if nothing was issued.
    pub size_median_bytes: Option<u64>,
    /// Issued requests of more sizes than are counted.
    pub sizes_not_counted: u64,
    /// From being issued to being done.
    pub issued_to_done: Option<LatencyReport>,
    /// From being queued to being done.
    pub queued_to_done: Option<LatencyReport>,
    /// From the end of the request before.
    pub seek_plain: DistancesReport,
    /// From the nearest end of 16 requests before.
    pub seek_window: DistancesReport,
    /// From the nearest end of 16 streams.
    pub seek_streams: DistancesReport,
    /// How much was moved in one go.
    pub runs: RunsReport,
    /// Where on the device over time.
    pub position: PositionReport,
    /// What the pattern is; `None` of discards.
    pub verdict: Option<Verdict>,
}

/// Requests and bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct AmountReport {
    /// How many requests.
    pub count: u64,
    /// How many bytes.
    pub bytes: u64,
}

/// Times of requests. A percentile that so few cannot tell is `None`.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyReport {
    /// How many requests.
    pub count: u64,
    /// Mean, exact.
    pub mean_ns: f64,
    /// Least, exact.
    pub min_ns: u64,
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90 % were faster.
    pub p90_ns: Option<u64>,
    /// 99 % were faster.
    pub p99_ns: Option<u64>,
    /// 99.9 % were faster.
    pub p99_9_ns: Option<u64>,
    /// Greatest, exact.
    pub max_ns: u64,
    /// Lowest value and count of each bucket.
    pub buckets: Vec<(u64, u64)>,
}

/// Distances in sectors of 512 bytes.
#[derive(Clone, Debug, Serialize)]
pub struct DistancesReport {
    /// How many.
    pub count: u64,
    /// How many are exactly 0.
    pub zero: u64,
    /// The median, with its sign; `None` if there is none.
    pub median_sectors: Option<i64>,
    /// Lowest distance and count of each bucket, forward.
    pub forward: Vec<(u64, u64)>,
    /// Lowest distance and count of each bucket, backward.
    pub backward: Vec<(u64, u64)>,
}

/// What was moved in one go, each beginning where the request before it in its stream ended.
#[derive(Clone, Debug, Serialize)]
pub struct RunsReport {
    /// How many.
    pub count: u64,
    /// Mean length; `None` if there is none.
    pub mean_bytes: Option<f64>,
    /// Longest.
    pub max_bytes: Option<u64>,
    /// The length up to which half of the bytes lie in.
    pub median_by_bytes: Option<u64>,
    /// Lowest length, count and bytes of each bucket.
    pub buckets: Vec<(u64, u64, u64)>,
}

/// Cells of time and place.
#[derive(Clone, Debug, Serialize)]
pub struct PositionReport {
    /// When the first column begins, in seconds from the beginning of the trace.
    pub start_s: f64,
    /// How long a column is.
    pub column_s: f64,
    /// Where the first row begins.
    pub start_bytes: u64,
    /// How long a row is.
    pub row_bytes: u64,
    /// Column, row, count and bytes of every cell that is not empty.
    pub cells: Vec<(u64, u64, u64, u64)>,
}

impl Report {
    /// What was found, with the losses that only who opened the files knows.
    pub fn new(
        analysis: &Analysis,
        tally: &Tally,
        formats: Vec<String>,
        files: usize,
        missing_cpus: Vec<String>,
    ) -> Self {
        let (not_done, _) = analysis.pairing.open();
        let actions = ACTIONS.into_iter().zip(tally.actions).filter(|(_, count)| *count > 0);
        Self {
            formats,
            files,
            bytes: tally.bytes,
            records: tally.records,
            actions: actions.collect(),
            started_unix_s: started_unix_s(tally),
            elapsed_s: seconds(tally.last_ns.saturating_sub(tally.first_ns)),
            losses: Losses {
                missing_records: tally.sequences.missing,
                gaps: tally.sequences.gaps,
                missing_cpus,
                damaged_bytes: tally.damaged_bytes,
                damaged_places: tally.damaged_places,
                truncated_bytes: tally.truncated_bytes,
                unread_lines: tally.unread_lines,
                late_events: tally.late,
                not_done,
                given_up: analysis.pairing.given_up,
            },
            bucket_width: 1.0 / PER_OCTAVE as f64,
            thresholds: THRESHOLDS,
            devices: analysis.devices.iter().map(DeviceReport::of).collect(),
            warnings: Vec::new(),
        }
    }
}

/// The time of day at the first record, from the one that the trace notes.
fn started_unix_s(tally: &Tally) -> Option<f64> {
    let (noted_ns, unix_s) = tally.wall?;
    let since_first_ns = noted_ns as f64 - tally.first_ns as f64;
    (tally.first_ns != u64::MAX).then_some(unix_s - since_first_ns / 1e9)
}

impl DeviceReport {
    fn of(counts: &DeviceCounts) -> Self {
        let depth = &counts.depth;
        let lasted = depth.lasted_ns.iter().enumerate().filter(|(_, ns)| **ns > 0);
        let groups = OPERATIONS.into_iter().zip(&counts.groups);
        Self {
            device: counts.device.to_string(),
            flushes: counts.flushes,
            others: counts.others,
            requeues: counts.requeues,
            partial_completions: counts.parts,
            never_issued: counts.never_issued,
            begun_before: counts.begun_before,
            busy_s: seconds(depth.busy_ns()),
            idle_s: seconds(depth.idle_ns()),
            depth_mean: depth.mean(),
            depth_max: depth.max,
            depths: lasted.map(|(at, ns)| (at, seconds(*ns))).collect(),
            operations: groups
                .filter_map(|(operation, group)| {
                    Some(OperationReport::of(operation, group.as_deref()?))
                })
                .collect(),
        }
    }
}

impl OperationReport {
    fn of(operation: Operation, group: &Group) -> Self {
        let locality = &group.locality;
        Self {
            operation: match operation {
                Operation::Read => "read",
                Operation::Write => "write",
                _ => "discard",
            },
            queued: amount(group.queued),
            issued: amount(group.issued),
            readahead: amount(group.readahead),
            metadata: amount(group.metadata),
            sync: amount(group.sync),
            back_merges: group.back_merges,
            front_merges: group.front_merges,
            completed: group.completed,
            failed: group.failed,
            sizes: group
                .sizes
                .counts()
                .map(|(sectors, count)| (bytes(sectors.into()), count))
                .collect(),
            size_median_bytes: group.sizes.median().map(|sectors| bytes(sectors.into())),
            sizes_not_counted: group.sizes.others,
            issued_to_done: LatencyReport::of(&group.issued_to_done),
            queued_to_done: LatencyReport::of(&group.queued_to_done),
            seek_plain: DistancesReport::of(&locality.plain),
            seek_window: DistancesReport::of(&locality.window),
            seek_streams: DistancesReport::of(&locality.streams),
            runs: RunsReport::of(&locality.runs),
            position: PositionReport::of(&group.raster),
            verdict: (operation != Operation::Discard).then(|| verdict(operation, group)),
        }
    }
}

fn verdict(operation: Operation, group: &Group) -> Verdict {
    let runs = &group.locality.runs;
    let runs = Runs {
        requests: group.issued.count,
        bytes: bytes(group.issued.sectors),
        followers: group.locality.streams.count(),
        continuing: group.locality.streams.zero,
        runs: runs.counts().count(),
        median_bytes: bytes(runs.median_by_sum().unwrap_or(0)),
    };
    Verdict::of(operation, &runs)
}

impl LatencyReport {
    fn of(histogram: &Histogram) -> Option<Self> {
        Some(Self {
            count: histogram.count(),
            mean_ns: histogram.mean()?,
            min_ns: histogram.min()?,
            p50_ns: histogram.quantile(0.5),
            p90_ns: histogram.quantile(0.9),
            p99_ns: histogram.quantile(0.99),
            p99_9_ns: histogram.quantile(0.999),
            max_ns: histogram.max()?,
            buckets: histogram.buckets(),
        })
    }
}

impl DistancesReport {
    fn of(distances: &Distances) -> Self {
        Self {
            count: distances.count(),
            zero: distances.zero,
            median_sectors: distances.median(),
            forward: distances.forward.buckets(),
            backward: distances.backward.buckets(),
        }
    }
}

impl RunsReport {
    fn of(runs: &Lengths) -> Self {
        let in_bytes = |(low, count, sum)| (bytes(low), count, bytes(sum));
        Self {
            count: runs.counts().count(),
            mean_bytes: runs.counts().mean().map(|sectors| sectors * SECTOR_BYTES as f64),
            max_bytes: runs.counts().max().map(bytes),
            median_by_bytes: runs.median_by_sum().map(bytes),
            buckets: runs.buckets().into_iter().map(in_bytes).collect(),
        }
    }
}

impl PositionReport {
    fn of(raster: &Raster) -> Self {
        let cells = raster.cells();
        let begins = |first: u64, shift: u32| if cells.is_empty() { 0 } else { first << shift };
        Self {
            start_s: seconds(begins(raster.time.first, raster.time.shift)),
            column_s: seconds(1 << raster.time.shift),
            start_bytes: bytes(begins(raster.place.first, raster.place.shift)),
            row_bytes: bytes(1 << raster.place.shift),
            cells: cells
                .iter()
                .map(|(column, row, cell)| (*column, *row, cell.count, bytes(cell.sectors)))
                .collect(),
        }
    }
}

fn amount(amount: Amount) -> AmountReport {
    AmountReport { count: amount.count, bytes: bytes(amount.sectors) }
}

fn bytes(sectors: u64) -> u64 {
    sectors.saturating_mul(SECTOR_BYTES)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
