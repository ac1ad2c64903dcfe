//! Errors of this crate: cause, place and remedy.

use std::io;
use std::path::{Path, PathBuf};

/// Every error of this crate. [`SortError::code`] is stable.
#[derive(Debug, thiserror::Error)]
pub enum SortError {
    /// An input cannot be opened or read.
    #[error("{path} cannot be read: {source}")]
    Input {
        /// The input.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of fixed-length records has a length that is no multiple of the record size.
    #[error(
        "{path} has {size_bytes} bytes, not a multiple of the record size {record_bytes}: \
         {remainder_bytes} bytes are left over"
    )]
    InputLength {
        /// The input.
        path: PathBuf,
        /// Its length.
        size_bytes: u64,
        /// Length of a record.
        record_bytes: u64,
        /// Bytes after the last whole record.
        remainder_bytes: u64,
    },
    /// A record is malformed or too long.
    #[error("{path}, near byte {offset}: {reason}")]
    Record {
        /// The input.
        path: PathBuf,
        /// Offset at or shortly before the record.
        offset: u64,
        /// The problem.
        reason: String,
    },
    /// A file changed its length while it was being read.
    #[error("{path} changed while it was read: it had {expected_bytes} bytes, now {found_bytes}")]
    InputChanged {
        /// The input.
        path: PathBuf,
        /// Length at the start.
        expected_bytes: u64,
        /// Length found.
        found_bytes: u64,
    },
    /// A file was written or replaced while it was sorted.
    #[error("{path} changed while it was sorted: {change}")]
    InputModified {
        /// The input.
        path: PathBuf,
        /// The difference.
        change: String,
    },
    /// An input lies where output would be written.
    #[error("{path} is an input and would also be written as output")]
    InputIsOutput {
        /// The file.
        path: PathBuf,
    },
    /// Output of an earlier sort is in the way.
    #[error("{path} exists already")]
    OutputExists {
        /// The file.
        path: PathBuf,
    },
    /// Something is in the way of output that no earlier sort says is its own.
    #[error(
        "{path} is in the way, and no manifest of a sort names it: --overwrite leaves it alone"
    )]
    OutputForeign {
        /// The file.
        path: PathBuf,
    },
    /// A directory cannot be used in its role.
    #[error("cannot use {path} as {role}: {source}")]
    Directory {
        /// `scratch`, `output` or `replica`.
        role: &'static str,
        /// The directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Known before starting: the space will not do.
    #[error(
        "too little space for {path}: {needed_bytes} bytes needed, {available_bytes} available"
    )]
    Space {
        /// A directory on the file system in question.
        path: PathBuf,
        /// Peak need of scratch, output and replicas on it.
        needed_bytes: u64,
        /// Its free space.
        available_bytes: u64,
    },
    /// The disk, the quota or the limit on the size of files left no room while sorting.
    #[error("no room for more in {path}: {source}")]
    Full {
        /// The file or directory that was being written.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The memory budget is too small for this sort.
    #[error(
        "a memory budget of {budget_bytes} bytes is too small: at least {minimum_bytes} needed"
    )]
    Memory {
        /// The budget.
        budget_bytes: u64,
        /// The smallest that would do.
        minimum_bytes: u64,
    },
    /// Options that do not make sense, alone or together.
    #[error("{0}")]
    Options(String),
    /// Any other failure of the operating system.
    #[error("{action} {path}: {source}")]
    Io {
        /// The failed operation.
        action: &'static str,
        /// To which file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused what all of the sort depends on.
    #[error("the system refuses {what}: {source}")]
    Refused {
        /// A thread, or an I/O queue.
        what: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// Nothing got on for too long.
    #[error("the sort stood still for {stood_s:.0} s, so it was ended: {state}")]
    Stalled {
        /// How long.
        stood_s: f64,
        /// State of the threads, and contents of every queue.
        state: String,
    },
    /// Fewer or more records came out than went in. No output was published.
    #[error("{records_in} records went in and {records_out} came out; no output was published")]
    Count {
        /// Records read.
        records_in: u64,
        /// Records written.
        records_out: u64,
    },
    /// The checksum over all records changed. No output was published.
    #[error(
        "the checksum of the input is {checksum_in}, of the output {checksum_out}; \
         no output was published"
    )]
    Checksum {
        /// Over the records read.
        checksum_in: String,
        /// Over the records written.
        checksum_out: String,
    },
    /// A value of an aggregation is not a number it can add, or the sum does not fit.
    #[error("key {key:?}: {reason}")]
    Aggregate {
        /// The key, as far as it is text.
        key: String,
        /// The problem.
        reason: String,
    },
    /// A thread of the sort panicked: in a mapper or reducer, or by a bug of the engine.
    #[error("a worker panicked: {0}; no output was published")]
    Panic(String),
    /// The caller asked to stop.
    #[error("interrupted; everything temporary was removed")]
    Interrupted,
}

/// Remedy for a limit on the size of files.
pub(crate) const FILE_LIMIT: &str = "raise the limit on the size of files (ulimit -f)";

/// Every code of this crate with its meaning.
pub const CODES: &[(&str, &str)] = &[
    ("VEN-SORT-INPUT", "An input cannot be opened or read."),
    ("VEN-SORT-INPUT-LENGTH", "An input's length isn't a multiple of the record size."),
    ("VEN-SORT-RECORD", "A record is malformed, cut off or longer than allowed."),
    ("VEN-SORT-INPUT-CHANGED", "An input changed while it was sorted; nothing was published."),
    ("VEN-SORT-INPUT-IS-OUTPUT", "A file is input and would also be written as output."),
    ("VEN-SORT-OUTPUT-EXISTS", "Output of an earlier sort is in the way."),
    ("VEN-SORT-DIR", "A directory cannot be used in its role."),
    ("VEN-SORT-SPACE", "Too little space, found before starting."),
    (
        "VEN-SORT-FULL",
        "The disk, the quota or the limit on file sizes left no room while sorting; everything was cleaned up.",
    ),
    ("VEN-SORT-MEMORY", "The memory budget is too small."),
    ("VEN-SORT-OPTION", "Options that do not make sense, alone or together."),
    ("VEN-SORT-IO", "The operating system refused an operation."),
    rawio::REFUSED,
    ("VEN-SORT-STALLED", "The sort stood still for too long and was ended."),
    ("VEN-SORT-COUNT", "The numbers of records in and out differ; nothing was published."),
    ("VEN-SORT-CHECKSUM", "The checksums of input and output differ; nothing was published."),
    ("VEN-SORT-AGGREGATE", "A value cannot be added up, or the sum does not fit."),
    ("VEN-SORT-PANIC", "A worker panicked: in a mapper or reducer, or by a bug of the engine."),
    ("VEN-INTERRUPTED", "The caller asked to stop; everything temporary was removed."),
];

impl SortError {
    /// The stable code, a member of [`CODES`].
    pub fn code(&self) -> &'static str {
        match self {
            Self::Input { .. } => "VEN-SORT-INPUT",
            Self::InputLength { .. } => "VEN-SORT-INPUT-LENGTH",
            Self::Record { .. } => "VEN-SORT-RECORD",
            Self::InputChanged { .. } | Self::InputModified { .. } => "VEN-SORT-INPUT-CHANGED",
            Self::InputIsOutput { .. } => "VEN-SORT-INPUT-IS-OUTPUT",
            Self::OutputExists { .. } | Self::OutputForeign { .. } => "VEN-SORT-OUTPUT-EXISTS",
            Self::Directory { .. } => "VEN-SORT-DIR",
            Self::Space { .. } => "VEN-SORT-SPACE",
            Self::Full { .. } => "VEN-SORT-FULL",
            Self::Memory { .. } => "VEN-SORT-MEMORY",
            Self::Options(_) => "VEN-SORT-OPTION",
            Self::Io { .. } => "VEN-SORT-IO",
            Self::Refused { .. } => rawio::REFUSED.0,
            Self::Stalled { .. } => "VEN-SORT-STALLED",
            Self::Count { .. } => "VEN-SORT-COUNT",
            Self::Checksum { .. } => "VEN-SORT-CHECKSUM",
            Self::Aggregate { .. } => "VEN-SORT-AGGREGATE",
            Self::Panic(_) => "VEN-SORT-PANIC",
            Self::Interrupted => "VEN-INTERRUPTED",
        }
    }

    /// The remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Input { .. } => "check the path and its permissions",
            Self::InputLength { .. } => {
                "was the file cut off? otherwise give --record-bytes, or --format kv"
            }
            Self::Record { .. } => "check --format; raise --max-record-bytes for longer records",
            Self::InputChanged { .. } | Self::InputModified { .. } => {
                "sort files that no process is writing"
            }
            Self::InputIsOutput { .. } => "choose another --output directory",
            Self::OutputForeign { .. } => {
                "move or remove it yourself, or choose another --output directory"
            }
            Self::OutputExists { .. } => "give --overwrite, or choose another --output directory",
            Self::Directory { .. } => "the directory must exist and be writable",
            Self::Full { source, .. } if source.kind() == io::ErrorKind::FileTooLarge => FILE_LIMIT,
            Self::Space { .. } | Self::Full { .. } => {
                "free some space, or put --scratch or --output on another disk"
            }
            Self::Memory { .. } => "raise --memory, or lower --threads or --max-record-bytes",
            Self::Options(_) => "see --help",
            Self::Io { .. } => "see the system's log for the device",
            Self::Refused { .. } => rawio::REFUSED_HINT,
            Self::Stalled { .. } => {
                "if a disk was busy, it may be failing: see the system's log; otherwise please \
                 report this with its message"
            }
            Self::Count { .. } | Self::Checksum { .. } => {
                "the data were damaged in memory or on disk: check both before trying again"
            }
            Self::Aggregate { .. } => "values are unsigned 64-bit little-endian numbers",
            Self::Panic(_) => "if the job is one of the engine's own, please report this",
            Self::Interrupted => "",
        }
    }

    /// The file or directory concerned, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Input { path, .. }
            | Self::InputLength { path, .. }
            | Self::Record { path, .. }
            | Self::InputChanged { path, .. }
            | Self::InputModified { path, .. }
            | Self::InputIsOutput { path }
            | Self::OutputExists { path }
            | Self::OutputForeign { path }
            | Self::Directory { path, .. }
            | Self::Space { path, .. }
            | Self::Full { path, .. }
            | Self::Io { path, .. } => Some(path),
            _ => None,
        }
    }

    /// A failed write; reports a full disk separately.
    pub(crate) fn write(action: &'static str, path: &Path, source: io::Error) -> Self {
        if rawio::is_no_space(&source) {
            Self::Full { path: path.to_owned(), source }
        } else {
            Self::Io { action, path: path.to_owned(), source }
        }
    }
}
