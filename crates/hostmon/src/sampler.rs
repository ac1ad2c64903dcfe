//! The sampler: keeps the kernel's files open, rereads each, and turns counters into rates.
//!
//! One sample costs a handful of `pread`s into one buffer; it reads sysfs only when a disk is first
//! seen. A source that this kernel lacks gives no rows; see [`Sampler::missing`].

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::ser::{Serialize, SerializeTuple, Serializer};

use crate::counters::{self, Before, Rate, Reading, Tracker};
use crate::error::HostError;
use crate::own::Own;

/// One value at one time; serialized as `[metric, device, value, unit]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Its name, which ends in its unit unless the unit is `fraction` or `1`.
    pub metric: &'static str,
    /// The disk or network interface, if it belongs to one.
    pub device: Option<Arc<str>>,
    /// The value.
    pub value: f64,
    /// `B`, `B/s`, `1/s`, `1` or `fraction`.
    pub unit: &'static str,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_tuple(4)?;
        row.serialize_element(self.metric)?;
        row.serialize_element(&self.device.as_deref())?;
        row.serialize_element(&self.value)?;
        row.serialize_element(self.unit)?;
        row.end()
    }
}

const MEMORY_KEYS: [&str; 8] = [
    "MemTotal",
    "MemFree",
    "MemAvailable",
    "Cached",
    "Dirty",
    "Writeback",
    "SwapTotal",
    "SwapFree",
];
/// Pressure files with the metrics of their `some` and `full` line. The kernel gives a `full` line
/// for the CPU too, but of the whole host it is always zero.
const PRESSURE: [(&str, [Option<Rate>; 2]); 3] = [
    ("/proc/pressure/cpu", [Some(Rate::new("pressure_cpu_some", "fraction", 1e-6)), None]),
    (
        "/proc/pressure/memory",
        [
            Some(Rate::new("pressure_memory_some", "fraction", 1e-6)),
            Some(Rate::new("pressure_memory_full", "fraction", 1e-6)),
        ],
    ),
    (
        "/proc/pressure/io",
        [
            Some(Rate::new("pressure_io_some", "fraction", 1e-6)),
            Some(Rate::new("pressure_io_full", "fraction", 1e-6)),
        ],
    ),
];

/// A sampled tree of processes: the metric of its share of the processors, and those of its bytes,
/// if recorded.
struct Tree {
    cpu: &'static str,
    disks: &'static [Rate],
    own: Own,
    before: Tracker<3>,
}

/// Samples one host's counters.
pub struct Sampler {
    stat: Source,
    memory: Source,
    disks: Source,
    network: Source,
    paging: Source,
    pressure: [Source; 3],

    cpu_before: Tracker<8>,
    disks_before: Tracker<6>,
    network_before: Tracker<6>,
    paging_before: Tracker<7>,
    pressure_before: Tracker<2>,

    trees: Vec<Tree>,

    paging_rates: [Rate; 7],
    whole_disks: HashMap<Box<str>, bool>,
    root: PathBuf,
    buffer: Vec<u8>,
    rows: Vec<Row>,
}

impl Sampler {
    /// Opens the files under `root` (`/` for this host). Without `/proc/stat` there is nothing to
    /// sample; any other absent file only means absent rows.
    pub fn open(root: &Path) -> Result<Self, HostError> {
        let stat = Source::open(root, "/proc/stat");
        if let Err(reason) = &stat.file {
            return Err(HostError::NoProc { path: root.join("proc/stat"), reason: reason.clone() });
        }
        Ok(Self {
            stat,
            memory: Source::open(root, "/proc/meminfo"),
            disks: Source::open(root, "/proc/diskstats"),
            network: Source::open(root, "/proc/net/dev"),
            paging: Source::open(root, "/proc/vmstat"),
            pressure: PRESSURE.map(|(path, _)| Source::open(root, path)),
            cpu_before: Tracker::new(),
            disks_before: Tracker::new(),
            network_before: Tracker::new(),
            paging_before: Tracker::new(),
            pressure_before: Tracker::new(),
            trees: Vec::new(),
            paging_rates: counters::paging_rates(rustix::param::page_size() as f64),
            whole_disks: HashMap::new(),
            root: root.to_path_buf(),
            buffer: vec![0; 64 * 1024],
            rows: Vec::new(),
        })
    }

    /// Also samples what process `pid` and all that it started used (`own_cpu`, ...), and how much of
    /// the processors Spark's Python workers had, where there are any (`python_cpu`).
    #[must_use]
    pub fn with_own(mut self, pid: u32) -> Self {
        let own = Own::new(&self.root, pid);
        let python = Own::python_workers(&self.root);
        self.trees = vec![
            Tree { cpu: "own_cpu", disks: &counters::OWN_DISK, own, before: Tracker::new() },
            Tree { cpu: "python_cpu", disks: &[], own: python, before: Tracker::new() },
        ];
        self
    }

    /// The sources this kernel lacks, each with the reason: their rows will be missing.
    pub fn missing(&self) -> Vec<String> {
        [&self.stat, &self.memory, &self.disks, &self.network, &self.paging]
            .into_iter()
            .chain(&self.pressure)
            .filter_map(|source| Some(format!("{}: {}", source.path, source.file.as_ref().err()?)))
            .collect()
    }

    /// The rows at the moment `at` (any monotonic clock). Rates are over the time since the sample
    /// before, so the first sample has none.
    pub fn sample(&mut self, at: Duration) -> &[Row] {
        self.rows.clear();
        let ticks = self.sample_cpu(at);
        self.sample_trees(at, ticks);
        self.sample_memory();
        self.sample_disks(at);
        self.sample_network(at);
        self.sample_paging(at);
        self.sample_pressure(at);
        &self.rows
    }

    /// Returns the ticks of all processors since the sample before.
    fn sample_cpu(&mut self, at: Duration) -> Option<f64> {
        let reading = self.stat.read(&mut self.buffer).and_then(counters::cpu);
        let Some(reading) = reading else {
            self.cpu_before.forget();
            return None;
        };
        let (_, before) = self.cpu_before.update("", reading, at);
        self.cpu_before.finish(at);
        let (before, _) = before?;
        let ticks = counters::cpu_ticks(&before, &reading);
        let shares = counters::cpu_fractions(&before, &reading);
        for (metric, value) in counters::CPU_STATES.iter().zip(shares.unwrap_or_default()) {
            if shares.is_some() {
                push(&mut self.rows, metric, None, Some(value), "fraction");
            }
        }
        ticks
    }

    /// `ticks` passed on all processors since the sample before: `own_cpu` and `python_cpu` are
    /// shares of them, like the host's CPU states.
    fn sample_trees(&mut self, at: Duration, ticks: Option<f64>) {
        for tree in &mut self.trees {
            let reading = tree.own.read();
            let (_, before) = tree.before.update("", reading, at);
            tree.before.finish(at);
            let Some((before, elapsed_s)) = before else {
                continue;
            };
            if let Some(ticks) = ticks {
                let share = Rate::new(tree.cpu, "fraction", 1.0).of(before[0], reading[0], ticks);
                push(&mut self.rows, tree.cpu, None, share, "fraction");
            }
            for (index, rate) in tree.disks.iter().enumerate() {
                let value = rate.of(before[index + 1], reading[index + 1], elapsed_s);
                push(&mut self.rows, rate.metric, None, value, rate.unit);
            }
        }
    }

    fn sample_memory(&mut self) {
        let Some(text) = self.memory.read(&mut self.buffer) else {
            return;
        };
        let kib = counters::keyed(text, ':', &MEMORY_KEYS);
        let [total, free, available, cached, dirty, writeback, swap_total, swap_free] =
            kib.map(|value| value.map(|kib| kib as f64 * 1024.0));
        let less = |a: Option<f64>, b: Option<f64>| Some(a? - b?).filter(|value| *value >= 0.0);
        for (metric, value) in [
            ("memory_used_bytes", less(total, available)),
            ("memory_available_bytes", available),
            ("memory_free_bytes", free),
            ("memory_cached_bytes", cached),
            ("memory_dirty_bytes", dirty),
            ("memory_writeback_bytes", writeback),
            ("swap_used_bytes", less(swap_total, swap_free)),
        ] {
            push(&mut self.rows, metric, None, value, "B");
        }
    }

    fn sample_disks(&mut self, at: Duration) {
        let Some(text) = self.disks.read(&mut self.buffer) else {
            return self.disks_before.forget();
        };
        for (name, reading) in text.lines().filter_map(counters::disk) {
            let root = &self.root;
            if !self.whole_disks.contains_key(name) {
                let whole = is_whole_disk(root, name);
                self.whole_disks.insert(name.into(), whole);
            }
            if self.whole_disks.get(name) == Some(&true) {
                let (name, before) = self.disks_before.update(name, reading, at);
                rates(&mut self.rows, &counters::DISK, &name, &reading, before);
            }
        }
        self.disks_before.finish(at);
    }

    fn sample_network(&mut self, at: Duration) {
        let Some(text) = self.network.read(&mut self.buffer) else {
            return self.network_before.forget();
        };
        for (name, reading) in text.lines().filter_map(counters::network) {
            let (name, before) = self.network_before.update(name, reading, at);
            rates(&mut self.rows, &counters::NETWORK, &name, &reading, before);
        }
        self.network_before.finish(at);
    }

    fn sample_paging(&mut self, at: Duration) {
        let Some(text) = self.paging.read(&mut self.buffer) else {
            return self.paging_before.forget();
        };
        let reading = counters::keyed(text, ' ', &counters::PAGING_KEYS);
        let (_, before) = self.paging_before.update("", reading, at);
        self.paging_before.finish(at);
        let Some((before, elapsed_s)) = before else {
            return;
        };
        for (index, rate) in self.paging_rates.iter().enumerate() {
            let value = rate.of(before[index], reading[index], elapsed_s);
            push(&mut self.rows, rate.metric, None, value, rate.unit);
        }
    }

    fn sample_pressure(&mut self, at: Duration) {
        for (source, (path, kinds)) in self.pressure.iter().zip(&PRESSURE) {
            let Some(text) = source.read(&mut self.buffer) else {
                continue;
            };
            let reading = counters::pressure(text);
            let (_, before) = self.pressure_before.update(path, reading, at);
            let Some((before, elapsed_s)) = before else {
                continue;
            };
            for (index, rate) in kinds.iter().enumerate() {
                if let Some(rate) = rate {
                    let value = rate.of(before[index], reading[index], elapsed_s);
                    push(&mut self.rows, rate.metric, None, value, rate.unit);
                }
            }
        }
        self.pressure_before.finish(at);
    }
}

fn push(
    rows: &mut Vec<Row>,
    metric: &'static str,
    device: Option<&Arc<str>>,
    value: Option<f64>,
    unit: &'static str,
) {
    if let Some(value) = value {
        rows.push(Row { metric, device: device.cloned(), value, unit });
    }
}

/// The rows of one device. A device that has done nothing since the boot is left out: hosts carry
/// many idle loop devices and tunnels.
fn rates<const N: usize>(
    rows: &mut Vec<Row>,
    table: &[Rate; N],
    device: &Arc<str>,
    now: &Reading<N>,
    before: Before<N>,
) {
    let Some((before, elapsed_s)) = before else {
        return;
    };
    if now.iter().all(|counter| *counter == Some(0)) {
        return;
    }
    for (index, rate) in table.iter().enumerate() {
        let value = rate.of(before[index], now[index], elapsed_s);
        push(rows, rate.metric, Some(device), value, rate.unit);
    }
}

/// Whether a name in `/proc/diskstats` is a whole disk and no partition of one.
fn is_whole_disk(root: &Path, name: &str) -> bool {
    root.join("sys/block").join(name.replace('/', "!")).exists()
}

/// One file, kept open.
struct Source {
    path: &'static str,
    file: Result<File, String>,
}

impl Source {
    fn open(root: &Path, path: &'static str) -> Self {
        let opened = File::open(root.join(path.trim_start_matches('/')));
        Self { path, file: opened.map_err(|error| error.to_string()) }
    }

    /// The file's text now, in `buffer`; `None` if it cannot be read.
    fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> Option<&'a str> {
        let file = self.file.as_ref().ok()?;
        let mut filled = 0;
        loop {
            if filled == buffer.len() {
                buffer.resize(filled * 2, 0);
            }
            // The kernel hands out long files in pieces that end at a line.
            match file.read_at(&mut buffer[filled..], filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return None,
            }
        }
        std::str::from_utf8(&buffer[..filled]).ok()
    }
}
