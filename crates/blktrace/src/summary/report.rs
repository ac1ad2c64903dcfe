//! The report of an analysis, as it is written. Times are nanoseconds or seconds by their names.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::attribute::whose::{DiskReport, WhoseReport};
use crate::read::tally::{ACTIONS, Tally};
use crate::summary::analysis::{Analysis, DeviceCounts, OPERATIONS};
use crate::summary::heat::Heat;
use crate::summary::histogram::PER_OCTAVE;
use crate::summary::requests::{LatencyReport, OperationReport, seconds};
use crate::summary::verdict::{THRESHOLDS, Threshold};

/// Something that the reader of the result must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Stable code.
    pub code: &'static str,
    /// The problem of the trace.
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
    /// Missing parts.
    pub losses: Losses,
    /// How much wider than its lowest value a bucket is at most.
    pub bucket_width: f64,
    /// Thresholds of verdicts.
    pub thresholds: [Threshold; THRESHOLDS.len()],
    /// By device.
    pub devices: Vec<DeviceReport>,
    /// The host's name; `None` if the trace does not state it.
    pub host: Option<String>,
    /// Settings of the disks; empty if the trace has none.
    pub disks: Vec<DiskReport>,
    /// Owners of the requests; `None` if the trace does not show them.
    pub whose: Option<WhoseReport>,
    /// Finer cells of time; `None` if they were not requested.
    #[serde(skip)]
    pub heat: Option<Heat>,
    /// Further warnings.
    #[serde(skip)]
    pub warnings: Vec<Warning>,
}

/// Missing parts of a trace, as far as it shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Losses {
    /// Records that were lost or left out by the writer: their numbers are missing, or a note says so.
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
    /// Flushes of its cache, without data.
    pub flushes: u64,
    /// Times of these, and of writes that flush first; `None` if no end was traced.
    pub flush_times: Option<LatencyReport>,
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
    /// By operation.
    pub operations: Vec<OperationReport>,
}

impl Report {
    /// The report of `analysis`, with losses that are known only when the files are opened.
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
            records: tally.records(),
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
            host: None,
            disks: Vec::new(),
            whose: analysis.attribution.as_ref().map(WhoseReport::of),
            heat: None,
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
            flush_times: LatencyReport::of(&counts.flush_times),
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
                    Some(OperationReport::of(operation, group.as_deref()?, None))
                })
                .collect(),
        }
    }
}
