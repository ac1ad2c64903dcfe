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
        /// The system's message.
        reason: io::Error,
    },
    /// It is no trace of a format that is known.
    #[error("{} is no trace that can be read: {found}", path.display())]
    Format {
        /// The file or folder.
        path: PathBuf,
        /// The actual format.
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
    /// It is on no block device, or none.
    #[error("{}: {found}", path.display())]
    NoDevice {
        /// The folder or file.
        path: PathBuf,
        /// Why no block device was found.
        found: &'static str,
    },
    /// The kernel's tracepoints are not to be seen.
    #[error("tracefs is mounted neither at /sys/kernel/tracing nor at /sys/kernel/debug/tracing")]
    NoTracefs,
    /// This user may not record.
    #[error("{} is not for this user: {reason}{}", path.display(), tried(perf.as_deref()))]
    Rights {
        /// The file or folder of tracefs.
        path: PathBuf,
        /// The system's message.
        reason: io::Error,
        /// perf's message, if it was tried.
        perf: Option<String>,
    },
    /// perf, which records where this user may not, does not either, or no longer.
    #[error("perf does not record: {said}")]
    Perf {
        /// Its message.
        said: String,
    },
    /// No user may record.
    #[error("the kernel is locked down for confidentiality, so no user may trace it")]
    Lockdown,
    /// The kernel does not do what is needed.
    #[error("the kernel refused {}: {reason}", path.display())]
    Kernel {
        /// The file of tracefs.
        path: PathBuf,
        /// The system's message.
        reason: io::Error,
    },
    /// The kernel's events are not as they are known.
    #[error("the kernel's events cannot be read: {0}")]
    Unknown(String),
    /// The folder of a recording has something in it.
    #[error("{} is not empty", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// The trace to convert is a recording already.
    #[error("{} is a recording already: there is nothing to convert", path.display())]
    Recorded {
        /// The folder.
        path: PathBuf,
    },
    /// A recording cannot be written.
    #[error("{} cannot be written: {reason}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The system's message.
        reason: io::Error,
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
            Self::NoDevice { .. } => "VEN-TRACE-DEVICE",
            Self::NoTracefs => "VEN-TRACE-TRACEFS",
            Self::Rights { .. } => "VEN-TRACE-RIGHTS",
            Self::Perf { .. } => "VEN-TRACE-PERF",
            Self::Lockdown => "VEN-TRACE-LOCKDOWN",
            Self::Kernel { .. } | Self::Unknown(_) => "VEN-TRACE-KERNEL",
            Self::Occupied { .. } => "VEN-TRACE-OCCUPIED",
            Self::Recorded { .. } => "VEN-TRACE-RECORDED",
            Self::Write { .. } => "VEN-TRACE-WRITE",
            Self::Interrupted => "VEN-INTERRUPTED",
        }
    }

    /// The file or folder that it is about.
    pub fn path(&self) -> Option<&PathBuf> {
        match self {
            Self::Read { path, .. }
            | Self::Format { path, .. }
            | Self::Version { path, .. }
            | Self::Empty { path, .. }
            | Self::NoDevice { path, .. }
            | Self::Rights { path, .. }
            | Self::Kernel { path, .. }
            | Self::Occupied { path }
            | Self::Recorded { path }
            | Self::Write { path, .. } => Some(path),
            Self::Devices { .. }
            | Self::NoTracefs
            | Self::Lockdown
            | Self::Perf { .. }
            | Self::Unknown(_)
            | Self::Interrupted => None,
        }
    }

    /// How to solve it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Read { .. } => "check the name and the rights",
            Self::Format { .. } => {
                "give the folder of `venturi trace record`, that with blktrace's files \
                 (DEVICE.blktrace.CPU), one such file, what `blkparse -d` wrote, or text by blkparse (in its default format), ftrace or \
                 `perf script --ns`"
            }
            Self::Version { .. } => "blkparse of the traced host can write it as text",
            Self::Empty { .. } => "was the right device traced, while something used it?",
            Self::Devices { .. } => "the trace is damaged, or of many hosts: give one host's",
            Self::NoDevice { .. } => "name the disks below it with --device",
            Self::NoTracefs => {
                "as root: mount -t tracefs none /sys/kernel/tracing (a container needs it from its \
                 host); a kernel without CONFIG_FTRACE has none"
            }
            Self::Rights { .. } => {
                "record as root; in a container also with CAP_SYS_ADMIN, and tracefs mounted to be \
                 written. Or have perf on PATH, which needs only to read it (mount -o \
                 remount,mode=755 /sys/kernel/tracing) and kernel.perf_event_paranoid=-1, or CAP_PERFMON"
            }
            Self::Perf { .. } => {
                "the folder may hold the events recorded until then, as perf.data or as a recording"
            }
            Self::Lockdown => {
                "boot without lockdown=confidentiality (cat /sys/kernel/security/lockdown), which \
                 refuses perf as well; with integrity, as Secure Boot has it, recording works"
            }
            Self::Kernel { .. } => {
                "if memory is short, choose a smaller --buffer; an event that is missing needs \
                 CONFIG_BLK_DEV_IO_TRACE or a newer kernel"
            }
            Self::Unknown(_) => {
                "report the kernel's release to us; until then, `perf record` may work"
            }
            Self::Occupied { .. } => "name a folder that is not there yet",
            Self::Recorded { .. } => "read it with venturi trace show",
            Self::Write { reason, .. } => match reason.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
                    "make the folder in which it is to be"
                }
                io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                    "name a folder that this user may write to"
                }
                _ => {
                    "the events recorded before are in the folder and can be read; give it more room"
                }
            },
            Self::Interrupted => "",
        }
    }
}

/// Return perf's message, to follow the refusal.
fn tried(perf: Option<&str>) -> String {
    perf.map_or_else(String::new, |said| format!("; perf, which was tried instead: {said}"))
}

/// Every code of traces with its meaning.
pub const CODES: &[(&str, &str)] = &[
    (
        "VEN-TRACE-CONVERTED",
        "A trace was converted from one with which something was wrong (a warning).",
    ),
    ("VEN-TRACE-CPUS", "A trace has no files for some CPUs (a warning)."),
    ("VEN-TRACE-CUT", "A recording was cut short: its end is missing (a warning)."),
    ("VEN-TRACE-DAMAGED", "Parts of a trace cannot be read, and were left out (a warning)."),
    ("VEN-TRACE-DEVICE", "A folder or device to record is on no block device."),
    ("VEN-TRACE-DEVICES", "A trace has more devices than one host."),
    ("VEN-TRACE-EMPTY", "A trace has no request in it."),
    ("VEN-TRACE-FORMAT", "A file or folder is no trace of a known format."),
    ("VEN-TRACE-GONE", "A disk vanished while it was recorded (a warning)."),
    ("VEN-TRACE-ITSELF", "A recording is written to a disk that it records (a warning)."),
    ("VEN-TRACE-KERNEL", "The kernel refused to record, or records what cannot be read."),
    ("VEN-TRACE-LOCKDOWN", "The kernel is locked down and allows no tracing."),
    ("VEN-TRACE-LOST", "Records are missing in a trace: lost, or left out (a warning)."),
    ("VEN-TRACE-NAMES", "Not every file is known by its name (a warning)."),
    ("VEN-TRACE-NO-ISSUE", "A device's requests were queued and never issued (a warning)."),
    ("VEN-TRACE-OCCUPIED", "The folder for a recording is not empty."),
    ("VEN-TRACE-ORDER", "Time goes backwards in a trace (a warning)."),
    (
        "VEN-TRACE-PERF",
        "perf recorded, because tracefs refused (a warning), or ended before it was to.",
    ),
    ("VEN-TRACE-READ", "A trace cannot be opened or read."),
    ("VEN-TRACE-RECORDED", "The trace to convert is a recording already."),
    ("VEN-TRACE-RIGHTS", "This user may not record the kernel's tracepoints."),
    ("VEN-TRACE-TRACEFS", "The kernel's tracepoints are not mounted."),
    ("VEN-TRACE-VERSION", "A trace is of an unknown version of blktrace's format."),
    ("VEN-TRACE-WRITE", "A recording cannot be written any further; what was written is kept."),
];
