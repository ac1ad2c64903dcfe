//! Errors of this crate. There are few, because an unreadable fact is a missing fact.

use std::path::PathBuf;

/// Errors of this crate.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// There is no `/proc` under the root, so no fact is available.
    #[error("{} cannot be read: {reason}", path.display())]
    NoProc {
        /// The folder that was tried.
        path: PathBuf,
        /// The system's error.
        reason: String,
    },
}

impl HostError {
    /// Stable code of the error.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoProc { .. } => "VEN-HOST-PROC",
        }
    }

    /// The remedy.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::NoProc { .. } => "mount /proc, or give the right --root",
        }
    }
}

/// Every code of host facts and sampling with its meaning.
pub const CODES: &[(&str, &str)] = &[
    ("VEN-HOST-PROC", "The kernel's /proc cannot be read."),
    ("VEN-HOST-SOURCE", "A source of samples is missing; its rows are left out (a warning)."),
];
