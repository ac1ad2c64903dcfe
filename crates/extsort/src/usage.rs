//! Resource use of this process, as the kernel counts it.

use std::fs::File;
use std::os::unix::fs::FileExt;

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

/// CPU use and waits of a thread, as the kernel counts them; `None` where it doesn't.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ThreadUse {
    /// Processor time.
    pub cpu_s: Option<f64>,
    /// Of it, in the kernel on the thread's behalf, in steps of the clock tick.
    pub system_s: Option<f64>,
    /// Time in which it could have run and another had the core.
    pub core_wait_s: Option<f64>,
    /// Pages that were not mapped when touched, most of them for the first time.
    pub page_faults: Option<u64>,
    /// Page faults that had to read from a disk.
    pub major_faults: Option<u64>,
}

impl ThreadUse {
    /// Both together; a part that one does not know is not known.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        self.with(other, |a, b| a + b, |a, b| a + b)
    }

    /// The use since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        self.with(earlier, |a, b| (a - b).max(0.0), u64::saturating_sub)
    }

    fn with(self, other: Self, times: fn(f64, f64) -> f64, counts: fn(u64, u64) -> u64) -> Self {
        let time = |a: Option<f64>, b: Option<f64>| Some(times(a?, b?));
        let count = |a: Option<u64>, b: Option<u64>| Some(counts(a?, b?));
        Self {
            cpu_s: time(self.cpu_s, other.cpu_s),
            system_s: time(self.system_s, other.system_s),
            core_wait_s: time(self.core_wait_s, other.core_wait_s),
            page_faults: count(self.page_faults, other.page_faults),
            major_faults: count(self.major_faults, other.major_faults),
        }
    }
}

/// Reads what one thread has used: the one that made it. Its files stay open.
#[derive(Debug)]
pub(crate) struct ThreadClock {
    schedule: Option<File>,
    stat: Option<File>,
}

impl ThreadClock {
    pub(crate) fn new() -> Self {
        let open = |file| File::open(format!("/proc/thread-self/{file}")).ok();
        Self { schedule: open("schedstat"), stat: open("stat") }
    }

    pub(crate) fn now(&self) -> ThreadUse {
        let mut buffer = [0; 1024];
        let (cpu_s, core_wait_s) = text(self.schedule.as_ref(), &mut buffer)
            .and_then(scheduled)
            .map_or((None, None), |(cpu, wait)| (Some(cpu), Some(wait)));
        let found = text(self.stat.as_ref(), &mut buffer).and_then(counted);
        ThreadUse {
            cpu_s,
            core_wait_s,
            system_s: found.map(|found| found.0),
            page_faults: found.map(|found| found.1),
            major_faults: found.map(|found| found.2),
        }
    }
}

fn text<'a>(file: Option<&File>, buffer: &'a mut [u8]) -> Option<&'a str> {
    let read = file?.read_at(buffer, 0).ok()?;
    std::str::from_utf8(&buffer[..read]).ok()
}

/// Seconds on a core and waiting for one, of `/proc/.../schedstat`.
fn scheduled(text: &str) -> Option<(f64, f64)> {
    let mut words = text.split_ascii_whitespace();
    let mut next = || Some(words.next()?.parse::<u64>().ok()? as f64 * 1e-9);
    Some((next()?, next()?))
}

/// Seconds in the kernel, all page faults and major ones, of `/proc/.../stat`.
fn counted(stat: &str) -> Option<(f64, u64, u64)> {
    // minflt cminflt majflt cmajflt utime stime are the 10th to 15th field.
    let mut fields = stat.rsplit_once(')')?.1.split_ascii_whitespace().skip(7);
    let mut next = || fields.next()?.parse::<u64>().ok();
    let (minor, _, major, _, _, system) = (next()?, next()?, next()?, next()?, next()?, next()?);
    let system_s = system as f64 / rustix::param::clock_ticks_per_second() as f64;
    Some((system_s, minor + major, major))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_words_are_read() {
        assert_eq!(scheduled("1500000000 250000000 7\n"), Some((1.5, 0.25)));
        assert_eq!(scheduled("12"), None);
        let stat = "7 (a) b) R 1 1 1 0 -1 4194304 90 0 10 0 5 0 0 0 20 0 1 0 1";
        assert_eq!(counted(stat), Some((0.0, 100, 10)));
        assert_eq!(counted("7 (a R 1"), None);
    }

    #[test]
    fn work_is_counted_as_processor_time_and_first_touch_as_faults() {
        let clock = ThreadClock::new();
        let before = clock.now();
        let mut memory = vec![0_u8; 8 << 20];
        for page in memory.chunks_mut(4096) {
            page[0] = 1;
        }
        while clock.now().since(before).cpu_s.is_some_and(|cpu_s| cpu_s < 0.02) {
            std::hint::black_box(&mut memory);
        }
        let used = clock.now().since(before);
        assert!(used.page_faults.is_some_and(|faults| faults > 0), "{used:?}");
    }

    #[test]
    fn what_one_does_not_know_both_do_not() {
        let known = ThreadUse { cpu_s: Some(2.0), page_faults: Some(3), ..ThreadUse::default() };
        let sum = known.plus(ThreadUse { cpu_s: Some(1.0), ..ThreadUse::default() });
        assert_eq!((sum.cpu_s, sum.page_faults), (Some(3.0), None));
    }
}
