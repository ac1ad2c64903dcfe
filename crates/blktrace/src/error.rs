//! Why a trace cannot be read at all. What is wrong with a part of it is a warning of the result.

use std::io;
use std::path::PathBuf;

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A file or folder cannot be opened or read.
    #[error("{} cannot be read: {reason}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        reason: io::Error,
    },
    /// It is no trace of a format that is known.
    #[error("{} is no trace that can be read: {found}", path.display())]
    Format {
        /// The file or folder.
        path: PathBuf,
        /// What it is instead.
        found: String,
    },
    /// It is a trace of an unknown version.
    #[error("{} is of blktrace's format in version {version}; versions 7 and 8 are known", path.display())]
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        version: u8,
    },
    /// There is no request in it.
    #[error("no request was traced in {}: {records} records, none of a request", path.display())]
    Empty {
        /// The file or folder.
        path: PathBuf,
        /// How many records there are.
        records: u64,
    },
    /// There are more devices than a trace of one host has.
    #[error("more than {limit} devices in one trace")]
    Devices {
        /// How many may be.
        limit: usize,
    },
    /// The user stopped it.
    #[error("interrupted")]
    Interrupted,
}

impl TraceError {
    /// Stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "VEN-TRACE-READ",
            Self::Format { .. } => "VEN-TRACE-FORMAT",
            Self::Version { .. } => "VEN-TRACE-VERSION",
            Self::Empty { .. } => "VEN-TRACE-EMPTY",
            Self::Devices { .. } => "VEN-TRACE-DEVICES",
            Self::Interrupted => "VEN-INTERRUPTED",
        }
    }

    /// The file or folder that it is about.
    pub fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Read { path, .. }
            | Self::Format { path, .. }
            | Self::Version { path, .. }
            | Self::Empty { path, .. } => Some(path),
            Self::Devices { .. } | Self::Interrupted => None,
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } => "check the name and the rights",
            Self::Format { .. } => {
                "give the folder with blktrace's files (DEVICE.blktrace.CPU), one such file, what \
                 `blkparse -d` wrote, or text by blkparse (in its default format), ftrace or \
                 `perf script --ns`"
            }
            Self::Version { .. } => "blkparse of the traced host can write it as text",
            Self::Empty { .. } => "was the right device traced, while something used it?",
            Self::Devices { .. } => "the trace is damaged, or of many hosts: give one host's",
            Self::Interrupted => "",
        }
    }
}

/// Every code of traces with its meaning.
pub const CODES: &[(&str, &str)] = &[
    ("VEN-TRACE-CPUS", "A trace has no files for some processors (a warning)."),
    ("VEN-TRACE-DAMAGED", "Parts of a trace cannot be read, and were left out (a warning)."),
    ("VEN-TRACE-DEVICES", "A trace has more devices than one host."),
    ("VEN-TRACE-EMPTY", "A trace has no request in it."),
    ("VEN-TRACE-FORMAT", "A file or folder is no trace of a known format."),
    ("VEN-TRACE-LOST", "Records are missing in a trace: lost, or left out (a warning)."),
    ("VEN-TRACE-NO-ISSUE", "A device's requests were queued and never issued (a warning)."),
    ("VEN-TRACE-ORDER", "Time goes backwards in a trace (a warning)."),
    ("VEN-TRACE-READ", "A trace cannot be opened or read."),
    ("VEN-TRACE-VERSION", "A trace is of an unknown version of blktrace's format."),
];
