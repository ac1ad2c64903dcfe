//! Options of a disk measurement.

use std::path::PathBuf;
use std::time::Duration;

use rawio::{ALIGN, Backend, Operation};
use serde::Serialize;

use super::error::DiskError;
use super::pattern::Shape;

/// Files the data to be read is spread over: the map outputs of the shuffle pattern.
const DATA_FILES: u64 = 16;
/// Memory that the requests in flight of one directory may take.
const BUFFER_LIMIT_BYTES: usize = 1 << 30;

/// Modes of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Sequential reading in all directories.
    Read,
    /// Sequential writing in all directories.
    Write,
    /// Reading and writing concurrently: the first half of the directories is read, the others are
    /// written; a single one does both.
    ReadWrite,
    /// Reading at random places, for every request size and depth asked.
    RandomRead,
    /// Reading all segments of many files in random order.
    ShuffleRead,
}

impl Mode {
    /// All modes in the order they are measured.
    pub const ALL: [Self; 5] =
        [Self::Read, Self::Write, Self::ReadWrite, Self::RandomRead, Self::ShuffleRead];

    /// The name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::ReadWrite => "read_write",
            Self::RandomRead => "random_read",
            Self::ShuffleRead => "shuffle_read",
        }
    }
}

/// One measurement: mode, request size, depth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) mode: Mode,
    pub(crate) block_bytes: usize,
    pub(crate) depth: usize,
}

/// Options of a disk measurement.
#[derive(Clone, Debug)]
pub struct Options {
    /// One directory on each device.
    pub dirs: Vec<PathBuf>,
    /// The modes, each once.
    pub modes: Vec<Mode>,
    /// Bytes to move in each directory and direction, and size of the files.
    pub bytes: u64,
    /// Size of a sequential request.
    pub block_bytes: usize,
    /// Sequential and shuffle requests in flight, for each directory and direction.
    pub queue_depth: usize,
    /// Sizes of random requests.
    pub random_block_bytes: Vec<usize>,
    /// Random requests in flight.
    pub random_queue_depth: Vec<usize>,
    /// Size of a shuffle segment.
    pub shuffle_segment_bytes: usize,
    /// How often each measurement is made.
    pub iterations: usize,
    /// The shortest a measurement may take: fast disks go round their files again.
    pub min_time: Duration,
    /// The longest a measurement may take.
    pub max_time: Duration,
    /// How long a random measurement takes (never longer than `max_time`).
    pub random_time: Duration,
    /// A directory below this share of the median of the others is named slow.
    pub slow_factor: f64,
    /// Whether to bypass the page cache where possible.
    pub direct: bool,
    /// Which way to the kernel.
    pub backend: Backend,
}

impl Options {
    /// The defaults for `dirs`: reading, writing, and both concurrently.
    pub fn new(dirs: Vec<PathBuf>) -> Self {
        Self {
            dirs,
            modes: vec![Mode::Read, Mode::Write, Mode::ReadWrite],
            bytes: 1 << 30,
            block_bytes: 4 << 20,
            queue_depth: 4,
            random_block_bytes: vec![4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20],
            random_queue_depth: vec![1, 32],
            shuffle_segment_bytes: 64 << 10,
            iterations: 3,
            min_time: Duration::from_secs(1),
            max_time: Duration::from_secs(10),
            random_time: Duration::from_secs(2),
            slow_factor: 0.8,
            direct: true,
            backend: Backend::Auto,
        }
    }

    /// The files to be read: as many as [`DATA_FILES`] if there are enough blocks.
    pub(super) fn data_shape(&self) -> Shape {
        let block_bytes = self.block_bytes;
        let blocks = self.bytes / block_bytes as u64;
        let files = blocks.clamp(1, DATA_FILES);
        let file_bytes = blocks / files * block_bytes as u64;
        Shape { files: files as usize, file_bytes, block_bytes }
    }

    /// The file to be written.
    pub(super) fn write_shape(&self) -> Shape {
        let blocks = self.bytes / self.block_bytes as u64;
        let file_bytes = blocks * self.block_bytes as u64;
        Shape { files: 1, file_bytes, block_bytes: self.block_bytes }
    }

    /// The operations on directory number `dir` in `mode`.
    pub(super) fn roles(&self, mode: Mode, dir: usize) -> &'static [Operation] {
        match mode {
            Mode::Write => &[Operation::Write],
            Mode::ReadWrite if self.dirs.len() == 1 => &[Operation::Read, Operation::Write],
            Mode::ReadWrite if dir >= self.dirs.len().div_ceil(2) => &[Operation::Write],
            _ => &[Operation::Read],
        }
    }

    pub(super) fn does(&self, dir: usize, operation: Operation) -> bool {
        self.modes.iter().any(|mode| self.roles(*mode, dir).contains(&operation))
    }

    /// Bytes of the test files in directory number `dir`.
    pub(super) fn needed_bytes(&self, dir: usize) -> u64 {
        let data = self.data_shape();
        let mut needed = 0;
        if self.does(dir, Operation::Read) {
            needed += data.files as u64 * data.file_bytes;
        }
        if self.does(dir, Operation::Write) {
            needed = self.write_shape().file_bytes.saturating_add(needed);
        }
        needed
    }

    pub(super) fn cases(&self) -> Vec<Case> {
        let sequential = (self.block_bytes, self.queue_depth);
        let mut cases = Vec::new();
        for mode in Mode::ALL.into_iter().filter(|mode| self.modes.contains(mode)) {
            let sizes: Vec<(usize, usize)> = match mode {
                Mode::Read | Mode::Write | Mode::ReadWrite => vec![sequential],
                Mode::ShuffleRead => vec![(self.shuffle_segment_bytes, self.queue_depth)],
                Mode::RandomRead => self
                    .random_block_bytes
                    .iter()
                    .flat_map(|size| self.random_queue_depth.iter().map(|depth| (*size, *depth)))
                    .collect(),
            };
            cases.extend(sizes.into_iter().map(|(block_bytes, depth)| Case {
                mode,
                block_bytes,
                depth,
            }));
        }
        cases
    }

    pub(super) fn check(&self) -> Result<(), DiskError> {
        let bad = |option, given: String, problem: String| {
            Err(DiskError::Option { option, given, problem })
        };
        if self.dirs.is_empty() || self.modes.is_empty() {
            let option = if self.dirs.is_empty() { "--dir" } else { "--mode" };
            return bad(option, "nothing".to_owned(), "at least one is needed".to_owned());
        }
        if self.iterations == 0 || self.max_time.is_zero() || self.random_time.is_zero() {
            let problem = "iterations and seconds must be more than 0".to_owned();
            return bad("--iterations", self.iterations.to_string(), problem);
        }
        if !(self.slow_factor > 0.0 && self.slow_factor <= 1.0) {
            let problem = "must be over 0 and at most 1".to_owned();
            return bad("--slow-factor", self.slow_factor.to_string(), problem);
        }
        if self.bytes < self.block_bytes as u64 {
            let problem = format!("less than one block of {} bytes", self.block_bytes);
            return bad("--bytes", self.bytes.to_string(), problem);
        }
        for Case { mode, block_bytes, depth } in self.cases() {
            let (size_option, depth_option) = match mode {
                Mode::RandomRead => ("--random-block-bytes", "--random-queue-depth"),
                Mode::ShuffleRead => ("--shuffle-segment-bytes", "--queue-depth"),
                _ => ("--block-bytes", "--queue-depth"),
            };
            if block_bytes == 0 || !block_bytes.is_multiple_of(ALIGN) {
                let problem = format!("must be a multiple of {ALIGN}");
                return bad(size_option, block_bytes.to_string(), problem);
            }
            if depth == 0 || block_bytes.saturating_mul(depth) > BUFFER_LIMIT_BYTES {
                let problem = format!(
                    "must be at least 1, and blocks in flight at most {BUFFER_LIMIT_BYTES} bytes"
                );
                return bad(depth_option, depth.to_string(), problem);
            }
            let file_bytes = self.data_shape().file_bytes;
            if block_bytes as u64 > file_bytes {
                let problem =
                    format!("larger than a test file of {file_bytes} bytes: more --bytes");
                return bad(size_option, block_bytes.to_string(), problem);
            }
        }
        Ok(())
    }
}
