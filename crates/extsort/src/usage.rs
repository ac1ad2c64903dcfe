//! What this process has used, as the kernel counts it.

use serde::Serialize;

/// Processor time, user and system apart.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct CpuTime {
    /// In user mode.
    pub user_s: f64,
    /// In the kernel on our behalf.
    pub system_s: f64,
}

/// Processor time of this process so far, in steps of the kernel's clock tick; `None` without /proc.
pub fn cpu_time() -> Option<CpuTime> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The command in parentheses may hold anything: count fields from its end.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(11);
    let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
    let mut next = || Some(fields.next()?.parse::<u64>().ok()? as f64 / ticks_per_s);
    Some(CpuTime { user_s: next()?, system_s: next()? })
}

impl CpuTime {
    /// Time used since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self { user_s: self.user_s - earlier.user_s, system_s: self.system_s - earlier.system_s }
    }
}

/// The most memory this process ever had resident; `None` without /proc.
pub fn peak_rss_bytes() -> Option<u64> {
    status_bytes(&std::fs::read_to_string("/proc/self/status").ok()?, "VmHWM:")
}

fn status_bytes(status: &str, field: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(field))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
