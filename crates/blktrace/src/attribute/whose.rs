//! The owners of the requests of a trace, as they are written.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::attribute::attribution::{Attribution, Counts, Label, Pattern, Share};
use crate::attribute::classes::{Class, Phase};
use crate::attribute::files::Files;
use crate::attribute::stages::{Stage, Stages};
use crate::attribute::tasks::TaskCounts;
use crate::capture::disks::Disk;
use crate::read::event::Device;
use crate::summary::group::Group;
use crate::summary::histogram::value_at;
use crate::summary::raster::{ROW_BITS, Raster};
use crate::summary::requests::{
    AmountReport, CellFiles, DistancesReport, LatencyReport, OperationReport, RunsReport, amount,
    bytes, seconds,
};
use crate::summary::verdict::Verdict;

/// So many tasks are named.
const TASKS_NAMED: usize = 100;

/// A disk.
#[derive(Clone, Debug, Serialize)]
pub struct DiskReport {
    /// `major,minor`
    pub device: String,
    /// Its name in the kernel.
    pub name: String,
    /// Its settings in sysfs, by the file's name.
    pub settings: BTreeMap<String, String>,
}

impl DiskReport {
    /// The disk as it was recorded.
    pub fn of(disk: &Disk) -> Self {
        Self {
            device: Device(disk.number).to_string(),
            name: disk.name.clone(),
            settings: disk.settings.clone(),
        }
    }
}

/// The owners of the requests.
#[derive(Clone, Debug, Serialize)]
pub struct WhoseReport {
    /// Patterns: requests of the same device, operation, kind of file and side of the
    /// shuffle.
    pub patterns: Vec<PatternReport>,
    /// The patterns in each stage, as far as there was room for them, those with the most bytes first.
    pub staged: Vec<StagedReport>,
    /// The same by stage and process, which sums up to all requests.
    pub shares: Vec<ShareReport>,
    /// The tasks with the most bytes, as far as threads have their names.
    pub tasks: Vec<TaskReport>,
    /// How many tasks there were.
    pub task_count: usize,
    /// How many bytes their threads read and wrote.
    pub task_bytes: u64,
    /// The stages of the job, as they were given.
    pub stages: Vec<Stage>,
    /// Ranges of sectors for which there was no room: what is in them is unknown.
    pub ranges_refused: u64,
    /// Names, and places of files, that were left out or cannot be read.
    pub names_left_out: u64,
}

/// Requests that are shown as one.
#[derive(Clone, Debug, Serialize)]
pub struct PatternReport {
    /// `major,minor`
    pub device: String,
    /// The class of the files.
    pub file_class: Class,
    /// The side of a shuffle; `None` if it is unknown, or without a shuffle.
    pub phase: Option<Phase>,
    /// The counts.
    #[serde(flatten)]
    pub requests: OperationReport,
    /// How long they took over time.
    pub times: TimesReport,
}

/// Requests of a pattern in one stage; the fields are those of [`OperationReport`].
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "each is documented there")]
pub struct StagedReport {
    pub stage: String,
    pub device: String,
    pub file_class: Class,
    pub phase: Option<Phase>,
    pub operation: &'static str,
    pub issued: AmountReport,
    pub sizes: Vec<(u64, u64)>,
    pub size_median_bytes: Option<u64>,
    pub issued_to_done: Option<LatencyReport>,
    pub queued_to_done: Option<LatencyReport>,
    pub seek_plain: DistancesReport,
    pub seek_window: DistancesReport,
    pub seek_streams: DistancesReport,
    pub runs: RunsReport,
    pub verdict: Option<Verdict>,
}

impl StagedReport {
    fn of((pattern, stage, group): &(Pattern, usize, Box<Group>), stages: &Stages) -> Self {
        let found = OperationReport::of(pattern.operation, group, None);
        Self {
            stage: stages.name(*stage).to_owned(),
            device: pattern.device.to_string(),
            file_class: pattern.class,
            phase: pattern.phase,
            operation: found.operation,
            issued: found.issued,
            sizes: found.sizes,
            size_median_bytes: found.size_median_bytes,
            issued_to_done: found.issued_to_done,
            queued_to_done: found.queued_to_done,
            seek_plain: found.seek_plain,
            seek_window: found.seek_window,
            seek_streams: found.seek_streams,
            runs: found.runs,
            verdict: found.verdict,
        }
    }
}

/// Cells of when requests were done and of how long they took.
#[derive(Clone, Debug, Serialize)]
pub struct TimesReport {
    /// When the first column begins, in seconds from the beginning of the trace.
    pub start_s: f64,
    /// How long a column is.
    pub column_s: f64,
    /// The least time of each row.
    pub rows_ns: Vec<u64>,
    /// Column, row and count of every cell that is not empty.
    pub cells: Vec<(u64, u64, u64)>,
    /// The owners of the requests in them.
    #[serde(flatten)]
    pub files: CellFiles,
}

impl TimesReport {
    /// The cells of a raster with numbers of buckets as rows, with the names of `files`.
    pub fn of<const COLUMNS: usize>(raster: &Raster<COLUMNS>, files: Option<&Files>) -> Self {
        let cells = raster.cells();
        let (time, rows) = (&raster.time, &raster.place);
        let rows = if cells.is_empty() { 0..0 } else { rows.first..rows.last + 1 };
        let first = if cells.is_empty() { 0 } else { time.first << time.shift };
        let fold = raster.place.shift - ROW_BITS;
        Self {
            start_s: seconds(first),
            column_s: seconds(1 << time.shift),
            rows_ns: rows.map(|row| value_at(row << fold)).collect(),
            cells: cells
                .iter()
                .map(|(column, row, cell)| (*column, *row, cell.count.into()))
                .collect(),
            files: CellFiles::of(&cells, files),
        }
    }
}

/// Requests of one process in one stage of a pattern.
#[derive(Clone, Debug, Serialize)]
pub struct ShareReport {
    /// `major,minor`
    pub device: String,
    /// `read`, `write` or `discard`
    pub operation: &'static str,
    /// The class of the files.
    pub file_class: Class,
    /// On which side of a shuffle.
    pub phase: Option<Phase>,
    /// The engine's name of the stage; `None` if it is unknown.
    pub stage: Option<String>,
    /// The name of the process; `None` if it is not known.
    pub process: Option<String>,
    /// How many requests.
    pub requests: u64,
    /// How many bytes.
    pub bytes: u64,
    /// From being issued to being done, of all together.
    pub served_s: f64,
}

/// Bytes that the thread of a task read and wrote.
#[derive(Clone, Debug, Serialize)]
pub struct TaskReport {
    /// The engine's name of its stage; `None` if it is unknown.
    pub stage: Option<String>,
    /// Its number in the application.
    pub task: u64,
    /// Its reads.
    pub read: AmountReport,
    /// Its own writes.
    pub written: AmountReport,
}

impl TaskReport {
    fn of(counts: &TaskCounts, stages: &Stages) -> Self {
        Self {
            stage: counts.stage.map(|at| stages.name(at).to_owned()),
            task: counts.task.number,
            read: amount(counts.read),
            written: amount(counts.written),
        }
    }
}

impl WhoseReport {
    /// The report, the patterns with the most bytes first.
    pub fn of(found: &Attribution) -> Self {
        let most = |bytes: u64| std::cmp::Reverse(bytes);
        let pattern = |pattern| PatternReport::of(pattern, &found.files);
        let mut patterns: Vec<_> = found.patterns.iter().map(pattern).collect();
        patterns.sort_by_key(|pattern| most(pattern.requests.issued.bytes));
        let staged = |staged| StagedReport::of(staged, &found.stages);
        let mut staged: Vec<_> = found.staged.iter().map(staged).collect();
        staged.sort_by_key(|staged| most(staged.issued.bytes));
        let share = |(label, share): &(Label, Share)| {
            let Pattern { device, class, phase, operation } = label.pattern;
            ShareReport {
                device: device.to_string(),
                operation: operation.name(),
                file_class: class,
                phase,
                stage: label.stage.map(|at| found.stages.name(at).to_owned()),
                process: found.processes.name(label.process),
                requests: share.requests,
                bytes: bytes(share.sectors),
                served_s: seconds(share.served_ns),
            }
        };
        let mut shares: Vec<_> = found.shares.iter().map(share).collect();
        shares.sort_by_key(|share| most(share.bytes));
        let mut tasks: Vec<_> = found.tasks.values().collect();
        tasks.sort_by_key(|each| (most(each.sectors()), each.task.number));
        Self {
            patterns,
            staged,
            shares,
            tasks: tasks
                .iter()
                .take(TASKS_NAMED)
                .map(|each| TaskReport::of(each, &found.stages))
                .collect(),
            task_count: tasks.len(),
            task_bytes: bytes(tasks.iter().map(|each| each.sectors()).sum()),
            stages: found.stages.all().to_vec(),
            ranges_refused: found.ranges_refused(),
            names_left_out: found.files.left_out,
        }
    }
}

impl PatternReport {
    fn of((pattern, counts): &(Pattern, Box<Counts>), files: &Files) -> Self {
        let Pattern { device, class, phase, operation } = *pattern;
        let requests = OperationReport::of(operation, &counts.group, Some(files));
        let times = TimesReport::of(&counts.times, Some(files));
        Self { device: device.to_string(), file_class: class, phase, requests, times }
    }
}
