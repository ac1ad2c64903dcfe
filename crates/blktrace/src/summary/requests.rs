//! The report of requests with the same operation, as it is written.

use rustc_hash::FxHashMap;
use serde::Serialize;

use crate::attribute::files::Files;
use crate::read::event::{METADATA, Operation, READAHEAD, SECTOR_BYTES, SYNC};
use crate::summary::group::{Amount, Group};
use crate::summary::histogram::{Histogram, Lengths};
use crate::summary::locality::Distances;
use crate::summary::raster::{Cell, Raster};
use crate::summary::verdict::{Runs, Verdict};

/// The requests of one device that do the same.
#[derive(Clone, Debug, Serialize)]
pub struct OperationReport {
    /// `read`, `write` or `discard`.
    pub operation: &'static str,
    /// As the file system made them.
    pub queued: AmountReport,
    /// As the device got them.
    pub issued: AmountReport,
    /// Read-ahead requests among them.
    pub readahead: AmountReport,
    /// Requests for the file system's own data among them.
    pub metadata: AmountReport,
    /// Requests among them that a process waited for.
    pub sync: AmountReport,
    /// Requests that were appended to others.
    pub back_merges: u64,
    /// Requests that were put in front of others.
    pub front_merges: u64,
    /// Requests that were done.
    pub completed: u64,
    /// The number of those with an error.
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
    /// The access pattern; `None` for discards.
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
    /// The median in either direction; `None` without distances.
    pub median_sectors: Option<u64>,
    /// Lowest distance and count of each bucket, forward.
    pub forward: Vec<(u64, u64)>,
    /// Lowest distance and count of each bucket, backward.
    pub backward: Vec<(u64, u64)>,
}

/// Sequential runs: each request begins where the one before it in its stream ended.
#[derive(Clone, Debug, Serialize)]
pub struct RunsReport {
    /// How many.
    pub count: u64,
    /// Mean length; `None` without runs.
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
    /// The files that the requests belong to.
    #[serde(flatten)]
    pub files: CellFiles,
}

/// Of cells, files of which there are requests in them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CellFiles {
    /// Names of the files; empty if none is known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// For each cell, the number of a name, counted from 1, or 0 if none is known; negative if the
    /// cell also has requests of other files.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<i64>,
}

impl CellFiles {
    /// Those of cells, as `files` call them.
    pub fn of(cells: &[(u64, u64, Cell)], files: Option<&Files>) -> Self {
        let Some(files) = files else { return Self::default() };
        let (mut numbers, mut names) = (FxHashMap::default(), Vec::new());
        let number = |(_, _, cell): &(u64, u64, Cell)| {
            let (file, others) = cell.file();
            let number = *numbers.entry(file).or_insert_with(|| {
                files.name(file).map_or(0, |name| {
                    names.push(name.to_owned());
                    names.len() as i64
                })
            });
            if others { -number } else { number }
        };
        let numbers: Vec<i64> = cells.iter().map(number).collect();
        if names.is_empty() { Self::default() } else { Self { names, files: numbers } }
    }
}

impl OperationReport {
    /// The requests of the group, all of which do this, and names of their files where they are known.
    pub fn of(operation: Operation, group: &Group, files: Option<&Files>) -> Self {
        let locality = &group.locality;
        Self {
            operation: operation.name(),
            queued: amount(group.queued),
            issued: amount(group.issued(0)),
            readahead: amount(group.issued(READAHEAD)),
            metadata: amount(group.issued(METADATA)),
            sync: amount(group.issued(SYNC)),
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
            position: PositionReport::of(&group.raster, files),
            verdict: (operation != Operation::Discard).then(|| verdict(operation, group)),
        }
    }
}

fn verdict(operation: Operation, group: &Group) -> Verdict {
    let runs = &group.locality.runs;
    let issued = group.issued(0);
    let runs = Runs {
        requests: issued.count,
        bytes: bytes(issued.sectors),
        followers: group.locality.streams.count(),
        continuing: group.locality.streams.zero,
        runs: runs.counts().count(),
        median_bytes: bytes(runs.median_by_sum().unwrap_or(0)),
    };
    Verdict::of(operation, &runs)
}

impl LatencyReport {
    /// The times in `histogram`; `None` if it is empty.
    pub fn of(histogram: &Histogram) -> Option<Self> {
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
            forward: distances.forward().buckets(),
            backward: distances.backward().buckets(),
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
    /// The cells of a raster, with the names of `files`, if there are any.
    pub fn of<const COLUMNS: usize>(raster: &Raster<COLUMNS>, files: Option<&Files>) -> Self {
        let cells = raster.cells();
        let begins = |first: u64, shift: u32| if cells.is_empty() { 0 } else { first << shift };
        Self {
            start_s: seconds(begins(raster.time.first, raster.time.shift)),
            column_s: seconds(1 << raster.time.shift),
            start_bytes: bytes(begins(raster.place.first, raster.place.shift)),
            row_bytes: bytes(1 << raster.place.shift),
            cells: cells
                .iter()
                .map(|(column, row, cell)| (*column, *row, cell.count.into(), bytes(cell.sectors)))
                .collect(),
            files: CellFiles::of(&cells, files),
        }
    }
}

/// Requests and bytes of an amount.
pub fn amount(amount: Amount) -> AmountReport {
    AmountReport { count: amount.count, bytes: bytes(amount.sectors) }
}

/// Bytes of so many sectors.
pub fn bytes(sectors: u64) -> u64 {
    sectors.saturating_mul(SECTOR_BYTES)
}

/// Seconds of so many nanoseconds.
pub fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
