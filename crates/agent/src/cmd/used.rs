//! Resource use of a command.

use extsort::{CpuTime, cpu_time, peak_rss_bytes};
use serde::Serialize;

/// Processor time and memory of this process; `None`: the kernel does not say.
#[derive(Debug, Serialize)]
pub struct Used {
    cpu: Option<CpuTime>,
    peak_rss_bytes: Option<u64>,
}

impl Used {
    /// Since the process began.
    pub fn so_far() -> Self {
        Self { cpu: cpu_time(), peak_rss_bytes: peak_rss_bytes() }
    }

    /// Use since `self` was taken; memory since the process began.
    pub fn until_now(self) -> Self {
        let now = Self::so_far();
        Self { cpu: now.cpu.zip(self.cpu).map(|(now, before)| now.since(before)), ..now }
    }
}
