//! `DiskBench` and `NetBench`: measure the disks behind some directories and the network between
//! some hosts.
//!
//! Both report rates in decimal bytes per second, every raw iteration next to its summary, and
//! state when a rate was not steady. Disk I/O goes through [`rawio`], like the sort engine's, so a
//! sort can reach the measured rates. One call measures one host; to measure several hosts, start
//! one agent on each and join the reports. [`disk::files`] is a workload of I/O alone.

pub mod cpu;
pub mod disk;
pub mod memory;
pub mod net;
mod stats;
pub mod steady;

use std::time::{Duration, Instant};

pub use stats::{Latency, Spread, median, slow_outliers};

/// Every error and warning code of this crate, with its meaning.
pub const CODES: &[(&str, &str)] = &[
    ("VEN-MEMORY-BYTES", "The memory probe should use more memory than the machine has."),
    ("VEN-DISK-OPTION", "A size, depth or count for the disk measurement is not possible."),
    ("VEN-DISK-DIR", "A directory to measure is missing, not writable, or given twice."),
    ("VEN-DISK-SPACE", "The disk measurement would use more than half of the free space."),
    ("VEN-DISK-IO", "A read or write of the disk measurement failed."),
    ("VEN-DISK-EXISTS", "A file to be written is there already."),
    ("VEN-DISK-CONTENT", "A file to be read is missing or not as it was written."),
    ("VEN-DISK-BUFFERED", "The file system refuses direct I/O: the page cache takes part."),
    ("VEN-DISK-MEMORY", "A directory to measure is in memory, not on a disk."),
    ("VEN-DISK-SHARED", "Two directories to measure are on one file system and compete."),
    ("VEN-DISK-ORPHAN", "Leftovers of an earlier, killed measurement were removed."),
    ("VEN-NET-OPTION", "A size, count or address for the network measurement is not possible."),
    ("VEN-NET-LISTEN", "The network measurement cannot listen on its address."),
    ("VEN-NET-CONNECT", "A peer of the network measurement cannot be reached."),
    ("VEN-NET-TOKEN", "A peer refused the token, or listening beyond loopback needs one."),
    ("VEN-NET-PROTOCOL", "A peer answered something that is not the network measurement's."),
    ("VEN-NET-PEER", "A peer failed in the middle of the network measurement."),
    (
        "VEN-NET-LOST",
        "A peer ended, or went out of reach, in the middle of the network measurement.",
    ),
    ("VEN-NET-COUNT", "The received data differ from the sent data: the result is not valid."),
    rawio::REFUSED,
    ("VEN-INTERRUPTED", "The measurement was asked to stop; everything temporary was removed."),
];

/// Who watches a measurement. Called from several threads, a few times a second.
pub trait Observer: Sync {
    /// `done` of `total` bytes of a phase; `total` is `None` where time ends the phase.
    fn progress(&self, phase: &str, done_bytes: u64, total_bytes: Option<u64>);
    /// A phase that began at `started` has ended.
    fn phase(&self, name: &str, started: Instant, elapsed: Duration);
    /// Something the reader of the report must know; `code` is one of [`CODES`].
    fn warning(&self, code: &'static str, message: &str);
}

/// A seed from the operating system; a fixed one where it has none to give, since nothing secret
/// hangs on it.
pub(crate) fn seed() -> u64 {
    use rand::TryRng;
    rand::rngs::SysRng.try_next_u64().unwrap_or(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    #[test]
    fn codes_are_unique_and_well_formed() {
        let mut seen = std::collections::HashSet::new();
        for (code, meaning) in super::CODES {
            assert!(code.starts_with("VEN-") && seen.insert(code), "{code}");
            assert!(meaning.ends_with('.'), "{code}");
        }
    }
}
