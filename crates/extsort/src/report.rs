//! The report of a finished sort.

use std::path::PathBuf;

use serde::Serialize;

use crate::io::manifest::PartFile;
use crate::io::publish::Publication;
use crate::phases::stage::StageReport;
use crate::plan::Plan;
use crate::usage::CpuTime;

/// A timed part of the sort.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseReport {
    /// `sample`, `map+shuffle` or `sort+reduce`.
    pub name: &'static str,
    /// Since the start of the sort.
    pub started_s: f64,
    /// How long it took.
    pub elapsed_s: f64,
}

/// How a directory was accessed.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct IoReport {
    /// `input`, `scratch`, `output` or `replica`.
    pub role: &'static str,
    /// The directory, or a file on the disk in question.
    pub dir: String,
    /// `io_uring+direct` is the fastest; `posix+buffered` the last resort.
    pub method: String,
}

/// Bytes, records and files of one end of the sort.
#[derive(Clone, Debug, Serialize)]
pub struct Volume {
    /// Bytes.
    pub bytes: u64,
    /// Records (of a mapped job's input: input records).
    pub records: u64,
    /// Number of files.
    pub files: usize,
}

/// Published data.
#[derive(Clone, Debug, Serialize)]
pub struct Published {
    /// Bytes.
    pub bytes: u64,
    /// Records.
    pub records: u64,
    /// The files in the order of keys.
    pub files: Vec<PartFile>,
    /// Their second copies.
    pub replicas: Vec<PartFile>,
    /// The manifest.
    pub manifests: Vec<PathBuf>,
}

impl Published {
    pub(crate) fn new(publication: Publication) -> Self {
        let Publication { files, replicas, manifest } = publication;
        Self {
            bytes: files.iter().map(|part| part.bytes).sum(),
            records: files.iter().map(|part| part.records).sum(),
            files,
            replicas,
            manifests: vec![manifest],
        }
    }
}

/// Budget and use.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryReport {
    /// The budget.
    pub budget_bytes: u64,
    /// The most the process had resident; none where the kernel does not say.
    pub peak_rss_bytes: Option<u64>,
    /// Blocks of records that were not given back: zero, or the engine has a bug.
    pub unreturned_blocks: usize,
}

/// Checksums of all records.
#[derive(Clone, Debug, Serialize)]
pub struct ChecksumReport {
    /// Over the records read.
    pub input: String,
    /// Over the records written: the same, or the sort would have failed.
    pub output: String,
}

/// The report of a sort.
#[derive(Clone, Debug, Serialize)]
pub struct SortReport {
    /// Data read.
    pub input: Volume,
    /// Data published.
    pub output: Published,
    /// The job's name.
    pub job: String,
    /// `in-memory` if nothing was spilled, else `hybrid`.
    pub regime: &'static str,
    /// Bytes of records that were written to scratch disks.
    pub spilled_bytes: u64,
    /// Bytes of records that stayed in memory between the phases.
    pub retained_bytes: u64,
    /// Bytes read from all disks.
    pub bytes_read: u64,
    /// Bytes written to all disks.
    pub bytes_written: u64,
    /// Budget and use of memory.
    pub memory: MemoryReport,
    /// Workers.
    pub threads: usize,
    /// Partitions, after splitting.
    pub partitions: usize,
    /// Partitions that had to be split because they were too large for memory.
    pub oversized_partitions: usize,
    /// Processor time of the sort; none where the kernel does not say.
    pub cpu: Option<CpuTime>,
    /// From start to the durable manifest.
    pub elapsed_s: f64,
    /// How each disk was accessed.
    pub io: Vec<IoReport>,
    /// The timed parts.
    pub phases: Vec<PhaseReport>,
    /// The work of each stage.
    pub stages: Vec<StageReport>,
    /// Checksums, if requested.
    pub checksum: Option<ChecksumReport>,
    /// How the memory was divided.
    pub plan: Plan,
}
