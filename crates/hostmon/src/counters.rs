//! The kernel's counters: hand parsers for the sampler's files, and rates from two readings.
//!
//! A counter that is absent, or lower than before (it wrapped, or the device was replaced), gives no
//! rate: the row is missing, never zero and never negative.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// One reading of `N` counters; an absent one is `None`.
pub(crate) type Reading<const N: usize> = [Option<u64>; N];

/// How a counter becomes a row: `value = (now - before) * scale / seconds`.
pub(crate) struct Rate {
    pub(crate) metric: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) scale: f64,
}

impl Rate {
    pub(crate) const fn new(metric: &'static str, unit: &'static str, scale: f64) -> Self {
        Self { metric, unit, scale }
    }

    /// The rate over `elapsed_s`; `None` if it is not known.
    pub(crate) fn of(&self, before: Option<u64>, now: Option<u64>, elapsed_s: f64) -> Option<f64> {
        let delta = now?.checked_sub(before?)?;
        (elapsed_s > 0.0).then(|| delta as f64 * self.scale / elapsed_s)
    }
}

/// The states of `/proc/stat`, in its order. Guest time is part of user and nice already.
pub(crate) const CPU_STATES: [&str; 8] = [
    "cpu_user",
    "cpu_nice",
    "cpu_system",
    "cpu_idle",
    "cpu_iowait",
    "cpu_irq",
    "cpu_softirq",
    "cpu_steal",
];

/// Ticks by state over all processors, from the first line of `/proc/stat`.
pub(crate) fn cpu(text: &str) -> Option<Reading<8>> {
    let mut words = text.lines().next()?.split_ascii_whitespace();
    (words.next()? == "cpu").then_some(())?;
    let mut reading = [None; 8];
    for counter in &mut reading {
        *counter = Some(words.next()?.parse().ok()?);
    }
    Some(reading)
}

/// The ticks of all states between two readings. `None` if any went backwards (the kernel's idle and
/// iowait can): then the total is not known either.
pub(crate) fn cpu_ticks(before: &Reading<8>, now: &Reading<8>) -> Option<f64> {
    deltas(before, now).map(|ticks| ticks.iter().sum())
}

/// The share of each state in [`cpu_ticks`].
pub(crate) fn cpu_fractions(before: &Reading<8>, now: &Reading<8>) -> Option<[f64; 8]> {
    let ticks = deltas(before, now)?;
    let total: f64 = ticks.iter().sum();
    (total > 0.0).then(|| ticks.map(|tick| tick / total))
}

fn deltas(before: &Reading<8>, now: &Reading<8>) -> Option<[f64; 8]> {
    let mut ticks = [0.0; 8];
    for (state, tick) in ticks.iter_mut().enumerate() {
        *tick = now[state]?.checked_sub(before[state]?)? as f64;
    }
    Some(ticks)
}

/// Disk use of our own processes.
pub(crate) const OWN_DISK: [Rate; 2] = [
    Rate::new("own_disk_read_bytes_per_s", "B/s", 1.0),
    Rate::new("own_disk_write_bytes_per_s", "B/s", 1.0),
];

pub(crate) const DISK: [Rate; 6] = [
    Rate::new("disk_read_ops_per_s", "1/s", 1.0),
    Rate::new("disk_read_bytes_per_s", "B/s", 512.0), // sectors are 512 bytes on every device
    Rate::new("disk_write_ops_per_s", "1/s", 1.0),
    Rate::new("disk_write_bytes_per_s", "B/s", 512.0),
    Rate::new("disk_busy", "fraction", 1e-3), // milliseconds with a request in flight
    Rate::new("disk_queue_length", "1", 1e-3), // milliseconds times requests in flight
];

/// Name and counters of one line of `/proc/diskstats`, in the order of [`DISK`].
pub(crate) fn disk(line: &str) -> Option<(&str, Reading<6>)> {
    // Columns after the name: reads, merged, sectors, ms; writes, merged, sectors, ms; in flight,
    // busy ms, weighted ms.
    const COLUMNS: [usize; 6] = [0, 2, 4, 6, 9, 10];
    let mut words = line.split_ascii_whitespace().skip(2);
    let name = words.next()?;
    columns(words, COLUMNS).map(|reading| (name, reading))
}

pub(crate) const NETWORK: [Rate; 6] = [
    Rate::new("net_receive_bytes_per_s", "B/s", 1.0),
    Rate::new("net_receive_packets_per_s", "1/s", 1.0),
    Rate::new("net_receive_drops_per_s", "1/s", 1.0),
    Rate::new("net_transmit_bytes_per_s", "B/s", 1.0),
    Rate::new("net_transmit_packets_per_s", "1/s", 1.0),
    Rate::new("net_transmit_drops_per_s", "1/s", 1.0),
];

/// Name and counters of one line of `/proc/net/dev`, in the order of [`NETWORK`]; `None` for its
/// headings.
pub(crate) fn network(line: &str) -> Option<(&str, Reading<6>)> {
    const COLUMNS: [usize; 6] = [0, 1, 3, 8, 9, 11];
    let (name, rest) = line.rsplit_once(':')?;
    columns(rest.split_ascii_whitespace(), COLUMNS).map(|reading| (name.trim(), reading))
}

/// The numbers in the given (ascending) columns; `None` if one is absent or no number.
fn columns<'a, const N: usize>(
    words: impl Iterator<Item = &'a str>,
    wanted: [usize; N],
) -> Option<Reading<N>> {
    let mut reading = [None; N];
    let mut next = 0;
    for (column, word) in words.enumerate() {
        if column == wanted[next] {
            reading[next] = Some(word.parse().ok()?);
            next += 1;
            if next == N {
                return Some(reading);
            }
        }
    }
    None
}

/// The sampled lines of `/proc/vmstat`, for [`paging_rates`].
pub(crate) const PAGING_KEYS: [&str; 7] =
    ["pgpgin", "pgpgout", "pswpin", "pswpout", "pgmajfault", "numa_hit", "numa_miss"];

/// The rates of [`PAGING_KEYS`]. The kernel counts paging in KiB, swapping in pages.
pub(crate) fn paging_rates(page_bytes: f64) -> [Rate; 7] {
    [
        Rate::new("page_in_bytes_per_s", "B/s", 1024.0),
        Rate::new("page_out_bytes_per_s", "B/s", 1024.0),
        Rate::new("swap_in_bytes_per_s", "B/s", page_bytes),
        Rate::new("swap_out_bytes_per_s", "B/s", page_bytes),
        Rate::new("page_major_faults_per_s", "1/s", 1.0),
        Rate::new("numa_hit_pages_per_s", "1/s", 1.0),
        Rate::new("numa_miss_pages_per_s", "1/s", 1.0),
    ]
}

/// The values of `keys` in lines such as `pgpgin 42` (`separator` a space) or `MemFree:  42 kB`
/// (a colon); absent keys are `None`.
pub(crate) fn keyed<const N: usize>(text: &str, separator: char, keys: &[&str; N]) -> Reading<N> {
    let mut reading = [None; N];
    let mut left = N;
    for line in text.lines() {
        let Some((name, rest)) = line.split_once(separator) else {
            continue;
        };
        if let Some(at) = keys.iter().position(|key| *key == name) {
            let word = rest.split_ascii_whitespace().next();
            reading[at] = word.and_then(|word| word.parse().ok());
            left -= 1;
            if left == 0 {
                break;
            }
        }
    }
    reading
}

/// Stalled microseconds, `some` and `full`, of one `/proc/pressure` file.
pub(crate) fn pressure(text: &str) -> Reading<2> {
    let total = |kind: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
        line.rsplit_once("total=")?.1.trim().parse().ok()
    };
    [total("some "), total("full ")]
}

/// Remembers the last reading of each device, to give the one before.
pub(crate) struct Tracker<const N: usize> {
    last_read: Option<Duration>,
    devices: HashMap<Arc<str>, Seen<N>>,
}

struct Seen<const N: usize> {
    at: Duration,
    reading: Reading<N>,
}

/// The reading before, and how long ago it was.
pub(crate) type Before<const N: usize> = Option<(Reading<N>, f64)>;

impl<const N: usize> Tracker<N> {
    pub(crate) fn new() -> Self {
        Self { last_read: None, devices: HashMap::new() }
    }

    /// Records a reading and returns the device's name and its reading of the time before. A device
    /// that was absent then has none: it may be another one with the same name.
    pub(crate) fn update(
        &mut self,
        name: &str,
        reading: Reading<N>,
        at: Duration,
    ) -> (Arc<str>, Before<N>) {
        let Some((known, _)) = self.devices.get_key_value(name) else {
            let name: Arc<str> = name.into();
            self.devices.insert(name.clone(), Seen { at, reading });
            return (name, None);
        };
        let name = known.clone();
        let now = Seen { at, reading };
        let before = self.devices.insert(name.clone(), now).and_then(|seen| {
            (Some(seen.at) == self.last_read)
                .then(|| (seen.reading, at.saturating_sub(seen.at).as_secs_f64()))
        });
        (name, before)
    }

    /// Ends a round: devices not updated in it are forgotten.
    pub(crate) fn finish(&mut self, at: Duration) {
        self.last_read = Some(at);
        self.devices.retain(|_, seen| seen.at == at);
    }

    /// The file could not be read: nothing is known of the time until the next reading.
    pub(crate) fn forget(&mut self) {
        self.last_read = None;
        self.devices.clear();
    }
}

#[cfg(test)]
#[path = "counters_tests.rs"]
mod tests;
