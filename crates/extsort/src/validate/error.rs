//! Errors of validation: cause, place and remedy.

use std::io;
use std::path::{Path, PathBuf};

/// Every error of this module. [`ValidateError::code`] is stable. Disorder is no error.
#[derive(Debug, thiserror::Error)]
pub enum ValidateError {
    /// Options that do not make sense, alone or together.
    #[error("{0}")]
    Options(String),
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
    Length {
        /// The input.
        path: PathBuf,
        /// Its length.
        size_bytes: u64,
        /// Length of a record.
        record_bytes: u64,
        /// Bytes after the last whole record.
        remainder_bytes: u64,
    },
    /// A record is malformed, cut off or too long.
    #[error("{path}, near byte {offset}: {reason}")]
    Record {
        /// The input.
        path: PathBuf,
        /// Where the record begins.
        offset: u64,
        /// The problem.
        reason: String,
    },
    /// A file was written or replaced while it was being read.
    #[error("{path} changed while it was read: {change}")]
    Changed {
        /// The input.
        path: PathBuf,
        /// The difference.
        change: String,
    },
    /// A manifest cannot be understood, or says something else than the files.
    #[error("manifest {path}: {reason}")]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The files hold other records than the sort wrote that made the manifest.
    #[error("manifest {path}: its files should have the checksum {promised} and have {found}")]
    Content {
        /// The manifest.
        path: PathBuf,
        /// The checksum that it names.
        promised: String,
        /// That of the records read.
        found: String,
    },
    /// A file of summaries is damaged, or of another record size.
    #[error("summaries {path}: {reason}")]
    Summary {
        /// The file.
        path: PathBuf,
        /// The problem.
        reason: String,
    },
    /// The summary cannot be written.
    #[error("cannot write the summary {path}: {source}")]
    Output {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The system refused a thread.
    #[error("the system refuses a thread: {0}")]
    Threads(io::Error),
    /// The caller asked to stop.
    #[error("interrupted")]
    Interrupted,
}

/// Every code of [`ValidateError`], and of the warnings, with its meaning.
pub const VALIDATE_CODES: &[(&str, &str)] = &[
    ("VEN-VALIDATE-OPTION", "Options of the validation that do not make sense."),
    ("VEN-VALIDATE-INPUT", "An input of the validation cannot be opened or read."),
    (
        "VEN-VALIDATE-LENGTH",
        "The length of a file to validate isn't a multiple of the record size.",
    ),
    ("VEN-VALIDATE-RECORD", "A record to validate is malformed, cut off or too long."),
    ("VEN-VALIDATE-CHANGED", "A file changed while it was validated."),
    ("VEN-VALIDATE-MANIFEST", "A manifest is damaged or says something else than its files."),
    ("VEN-VALIDATE-CONTENT", "The files hold other records than their manifest says."),
    ("VEN-VALIDATE-SUMMARY", "A file of summaries is damaged or of another record size."),
    ("VEN-VALIDATE-OUTPUT", "The summary file is there already or cannot be written."),
    rawio::REFUSED,
    ("VEN-VALIDATE-EMPTY", "There was no record to validate."),
    ("VEN-INTERRUPTED", "The caller asked to stop; everything temporary was removed."),
];

impl ValidateError {
    /// The stable code, a member of [`VALIDATE_CODES`].
    pub fn code(&self) -> &'static str {
        match self {
            Self::Options(_) => "VEN-VALIDATE-OPTION",
            Self::Input { .. } => "VEN-VALIDATE-INPUT",
            Self::Length { .. } => "VEN-VALIDATE-LENGTH",
            Self::Record { .. } => "VEN-VALIDATE-RECORD",
            Self::Changed { .. } => "VEN-VALIDATE-CHANGED",
            Self::Manifest { .. } => "VEN-VALIDATE-MANIFEST",
            Self::Content { .. } => "VEN-VALIDATE-CONTENT",
            Self::Summary { .. } => "VEN-VALIDATE-SUMMARY",
            Self::Output { .. } => "VEN-VALIDATE-OUTPUT",
            Self::Threads(_) => rawio::REFUSED.0,
            Self::Interrupted => "VEN-INTERRUPTED",
        }
    }

    /// The remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Options(_) => "see --help",
            Self::Input { .. } => "check the path and its permissions",
            Self::Length { .. } => "was the file cut off? otherwise give --record-bytes",
            Self::Record { .. } => "was the file cut off? otherwise check --format",
            Self::Changed { .. } => "validate files that no process is writing",
            Self::Manifest { .. } => "sort again, or name the files instead of the manifest",
            Self::Content { .. } => {
                "was the output changed since? otherwise give the --format and --record-bytes of the sort"
            }
            Self::Summary { .. } => "check --record-bytes, and make the summaries again",
            Self::Output { .. } => "choose another --summary-out, in a folder that is writable",
            Self::Threads(_) => rawio::REFUSED_HINT,
            Self::Interrupted => "",
        }
    }

    /// The file or folder concerned, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Input { path, .. }
            | Self::Length { path, .. }
            | Self::Record { path, .. }
            | Self::Changed { path, .. }
            | Self::Manifest { path, .. }
            | Self::Content { path, .. }
            | Self::Summary { path, .. }
            | Self::Output { path, .. } => Some(path),
            Self::Options(_) | Self::Threads(_) | Self::Interrupted => None,
        }
    }
}
