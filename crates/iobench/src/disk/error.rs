//! Errors of a disk measurement.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use thiserror::Error;

/// Why a disk measurement gave no report.
#[derive(Debug, Error)]
pub enum DiskError {
    /// A size, depth or count that cannot be.
    #[error("{option} {given}: {problem}")]
    Option {
        /// The option's name.
        option: &'static str,
        /// The value given.
        given: String,
        /// The problem.
        problem: String,
    },
    /// A directory that cannot be measured.
    #[error("{}: {problem}", path.display())]
    Dir {
        /// The directory.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// Test files would take more than half of the free space.
    #[error(
        "{}: the measurement needs {needed_bytes} bytes, more than half of the {free_bytes} free",
        path.display()
    )]
    Space {
        /// A directory on the file system.
        path: PathBuf,
        /// Size of the test files, including other directories on the same file system.
        needed_bytes: u64,
        /// Free space.
        free_bytes: u64,
    },
    /// The disk, or the limit on the size of files, left no room during the measurement.
    #[error("{}: no room for more: {source}", path.display())]
    Full {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A request failed.
    #[error("{}: {what} at byte {offset}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// read, write, create, ...
        what: &'static str,
        /// Where in the file.
        offset: u64,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused a thread.
    #[error("the system refuses a thread: {0}")]
    Threads(io::Error),
    /// A file to be written already exists.
    #[error("{}: is there already", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file to be read that is not as it was written.
    #[error("{}: {problem} (byte {offset})", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Where in the file.
        offset: u64,
        /// The problem.
        problem: String,
    },
    /// Asked to stop.
    #[error("interrupted; what was written is removed")]
    Interrupted,
}

impl DiskError {
    /// An I/O error; reports a full disk separately.
    pub(crate) fn io(path: &Path, what: &'static str, offset: u64, source: io::Error) -> Self {
        let path = path.to_owned();
        if rawio::is_no_space(&source) {
            Self::Full { path, source }
        } else {
            Self::Io { path, what, offset, source }
        }
    }

    /// A file that can't be created: an error of its directory, unless it exists or the disk is
    /// full.
    pub(crate) fn create(path: &Path, source: io::Error) -> Self {
        if source.kind() == io::ErrorKind::AlreadyExists {
            return Self::Exists { path: path.to_owned() };
        }
        match Self::io(path, "create", 0, source) {
            Self::Io { source, .. } => Self::Dir {
                path: path.parent().unwrap_or(path).to_owned(),
                problem: format!("cannot create test files: {source}"),
            },
            full => full,
        }
    }

    pub(crate) fn content(path: &Path, offset: u64, problem: impl Into<String>) -> Self {
        Self::Content { path: path.to_owned(), offset, problem: problem.into() }
    }

    /// The stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Option { .. } => "VEN-DISK-OPTION",
            Self::Dir { .. } => "VEN-DISK-DIR",
            Self::Space { .. } | Self::Full { .. } => "VEN-DISK-SPACE",
            Self::Io { .. } => "VEN-DISK-IO",
            Self::Threads(_) => rawio::REFUSED.0,
            Self::Exists { .. } => "VEN-DISK-EXISTS",
            Self::Content { .. } => "VEN-DISK-CONTENT",
            Self::Interrupted => "VEN-INTERRUPTED",
        }
    }

    /// Where, as key and value.
    pub fn place(&self) -> Value {
        match self {
            Self::Option { option, given, .. } => json!({"option": option, "given": given}),
            Self::Dir { path, .. } | Self::Full { path, .. } | Self::Exists { path } => {
                json!({"path": path})
            }
            Self::Space { path, needed_bytes, free_bytes } => json!({
                "path": path, "needed_bytes": needed_bytes, "free_bytes": free_bytes,
            }),
            Self::Io { path, offset, .. } | Self::Content { path, offset, .. } => {
                json!({"path": path, "offset": offset})
            }
            Self::Threads(_) | Self::Interrupted => Value::Null,
        }
    }

    /// The remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Option { .. } => "see the command's --help",
            Self::Dir { .. } => {
                "name existing, writable directories, each once: one for each device"
            }
            Self::Space { .. } | Self::Full { .. } => "give fewer --bytes, or free some space",
            Self::Io { .. } => "see the kernel's log (dmesg) for the device",
            Self::Threads(_) => rawio::REFUSED_HINT,
            Self::Exists { .. } => "name directories without such files: nothing is overwritten",
            Self::Content { .. } => "write the files again with the same options",
            Self::Interrupted => "",
        }
    }
}
