//! Recording through the kernel's tracepoints, and the files of a recording.

pub mod buffers;
pub mod bundle;
pub mod disks;
pub(crate) mod fiemap;
pub mod file_events;
pub mod format;
pub mod observe;
pub mod perf;
pub mod record;
pub mod recorder;
pub mod ring;
pub mod tracefs;
pub mod watch;
pub mod xfs;
