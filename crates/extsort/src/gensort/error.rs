//! Errors of generation: cause, place and remedy.

use std::io;
use std::path::{Path, PathBuf};

/// Every error of [`super::generate`]. [`GenerateError::code`] is stable.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// Options that do not make sense, alone or together.
    #[error("{0}")]
    Options(String),
    /// The output is in the way.
    #[error("{path} exists already")]
    OutputExists {
        /// The file.
        path: PathBuf,
    },
    /// The output cannot be created or opened.
    #[error("cannot write {path}: {source}")]
    Output {
        /// The file, or its folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Known before starting: the space will not do.
    #[error(
        "too little space for {path}: {needed_bytes} bytes needed, {available_bytes} available"
    )]
    Space {
        /// The file.
        path: PathBuf,
        /// Its size.
        needed_bytes: u128,
        /// Free space of its file system.
        available_bytes: u64,
    },
    /// The disk, the quota or the limit on the size of files left no room.
    #[error("no room for {path}: {source}; nothing was left behind")]
    Full {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The system refused a thread.
    #[error("the system refuses a thread: {0}")]
    Threads(io::Error),
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
    /// The caller asked to stop.
    #[error("interrupted; everything temporary was removed")]
    Interrupted,
}

/// Every code of [`GenerateError`] with its meaning.
pub const GENERATE_CODES: &[(&str, &str)] = &[
    ("VEN-GEN-OPTION", "Options of the generator that do not make sense."),
    ("VEN-GEN-OUTPUT-EXISTS", "The file to generate already exists."),
    ("VEN-GEN-OUTPUT", "The file to generate cannot be created or opened."),
    ("VEN-GEN-SPACE", "Too little space for the file, found before starting."),
    (
        "VEN-GEN-FULL",
        "The disk, the quota or the limit on file sizes left no room; nothing was left behind.",
    ),
    rawio::REFUSED,
    ("VEN-GEN-IO", "The operating system refused a write."),
    ("VEN-INTERRUPTED", "The caller asked to stop; everything temporary was removed."),
];

impl GenerateError {
    /// The stable code, a member of [`GENERATE_CODES`].
    pub fn code(&self) -> &'static str {
        match self {
            Self::Options(_) => "VEN-GEN-OPTION",
            Self::OutputExists { .. } => "VEN-GEN-OUTPUT-EXISTS",
            Self::Output { .. } => "VEN-GEN-OUTPUT",
            Self::Space { .. } => "VEN-GEN-SPACE",
            Self::Full { .. } => "VEN-GEN-FULL",
            Self::Threads(_) => rawio::REFUSED.0,
            Self::Io { .. } => "VEN-GEN-IO",
            Self::Interrupted => "VEN-INTERRUPTED",
        }
    }

    /// The remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Options(_) => "see --help",
            Self::OutputExists { .. } => "give --overwrite, or choose another --output",
            Self::Output { .. } => "the folder must exist and be writable",
            Self::Full { source, .. } if source.kind() == io::ErrorKind::FileTooLarge => {
                crate::error::FILE_LIMIT
            }
            Self::Space { .. } | Self::Full { .. } => {
                "free some space, choose another disk, or a smaller --count"
            }
            Self::Threads(_) => rawio::REFUSED_HINT,
            Self::Io { .. } => "see the system's log for the device",
            Self::Interrupted => "",
        }
    }

    /// The file or folder concerned, if there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::OutputExists { path }
            | Self::Output { path, .. }
            | Self::Space { path, .. }
            | Self::Full { path, .. }
            | Self::Io { path, .. } => Some(path),
            Self::Options(_) | Self::Threads(_) | Self::Interrupted => None,
        }
    }

    /// A failed operation; reports a full disk separately.
    pub(super) fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        if rawio::is_no_space(&source) {
            Self::Full { path: path.to_owned(), source }
        } else {
            Self::Io { action, path: path.to_owned(), source }
        }
    }
}
