//! Traces that tests make, with the expected results.

#![allow(dead_code, reason = "each file of tests uses a part")]
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use blktrace::{Asked, Input, Report, TraceError, analyze, convert};
use proptest::prelude::*;
use serde_json::Value;

/// 8,32 as the format has it.
pub const DEVICE: u32 = 8 << 20 | 32;

const READ: u32 = 1;
const WRITE: u32 = 1 << 1;
const FLUSH: u32 = 1 << 2;
const NOTIFY: u32 = 1 << 10;
const AHEAD: u32 = 1 << 11;

/// A record of blktrace's.
#[derive(Clone, Debug, Default)]
pub struct Record {
    pub sequence: u32,
    pub time_ns: u64,
    pub sector: u64,
    pub bytes: u32,
    pub action: u16,
    pub categories: u32,
    pub pid: u32,
    pub device: u32,
    pub cpu: u32,
    pub error: u16,
    pub behind: Vec<u8>,
}

/// How records are written.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub version: u8,
    pub big_endian: bool,
}

pub const LAYOUTS: [Layout; 4] = [
    Layout { version: 7, big_endian: false },
    Layout { version: 7, big_endian: true },
    Layout { version: 8, big_endian: false },
    Layout { version: 8, big_endian: true },
];

impl Record {
    pub fn encode(&self, layout: Layout) -> Vec<u8> {
        let mut bytes = Vec::new();
        let big = layout.big_endian;
        let word = |value: u32| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let long = |value: u64| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        let half = |value: u16| if big { value.to_be_bytes() } else { value.to_le_bytes() };
        bytes.extend(word(0x6561_7400 | u32::from(layout.version)));
        bytes.extend(word(self.sequence));
        bytes.extend(long(self.time_ns));
        bytes.extend(long(self.sector));
        bytes.extend(word(self.bytes));
        if layout.version == 8 {
            bytes.extend(word(self.pid));
            bytes.extend(long(u64::from(self.categories) << 16 | u64::from(self.action)));
        } else {
            bytes.extend(word(self.categories << 16 | u32::from(self.action)));
            bytes.extend(word(self.pid));
        }
        bytes.extend(word(self.device));
        bytes.extend(word(self.cpu));
        bytes.extend(half(self.error));
        bytes.extend(half(self.behind.len() as u16));
        if layout.version == 8 {
            bytes.extend([0; 12]);
        }
        bytes.extend(&self.behind);
        bytes
    }

    /// As blkparse prints it.
    pub fn line(&self) -> String {
        const LETTERS: &[u8] = b"?QMFGSRDCPUTIXBA";
        let letter = LETTERS[usize::from(self.action)] as char;
        let has = |category: u32| self.categories & category != 0;
        let what = format!(
            "{}{}{}",
            if has(FLUSH) { "F" } else { "" },
            if has(WRITE) { "W" } else { "R" },
            if has(AHEAD) { "A" } else { "" },
        );
        let (seconds, nanoseconds) = (self.time_ns / 1_000_000_000, self.time_ns % 1_000_000_000);
        let (major, minor) = (self.device >> 20, self.device & 0xf_ffff);
        let end = if letter == 'C' { self.error.to_string() } else { "java".to_owned() };
        format!(
            "{major:3},{minor:<3} {:2} {:8} {seconds:5}.{nanoseconds:09} {:5} {letter:>2} {what:>3} {} + {} [{end}]\n",
            self.cpu,
            self.sequence,
            self.pid,
            self.sector,
            self.bytes / 512
        )
    }

    /// As ftrace prints it, with all nine digits of the time.
    pub fn tracepoint(&self) -> String {
        let (pid, cpu, time) = (self.pid, self.cpu, self.time());
        format!("  Executor task l-{pid:<7} [{cpu:03}] d..1. {time}: {}", self.told("none,0,0"))
    }

    /// As `perf script --ns` prints it.
    pub fn perf(&self) -> String {
        let (pid, cpu, time) = (self.pid, self.cpu, self.time());
        format!("Executor task l {pid:5} [{cpu:03}] {time}: block:{}", self.told("0x0,0,0"))
    }

    fn time(&self) -> String {
        format!("{:5}.{:09}", self.time_ns / 1_000_000_000, self.time_ns % 1_000_000_000)
    }

    /// The event and its fields, which follow the time, with the priority as printed.
    fn told(&self, priority: &str) -> String {
        let (name, bytes, end) = match self.action {
            1 => ("bio_queue", None, "java"),
            4 => ("getrq", None, "java"),
            7 => ("rq_issue", Some(format!("{} () ", self.bytes)), "java"),
            8 => ("rq_complete", Some("() ".to_owned()), "0"),
            _ => ("rq_insert", Some(format!("{} () ", self.bytes)), "java"),
        };
        let what = if self.categories & WRITE != 0 { "W" } else { "R" };
        let ahead = if self.categories & AHEAD != 0 { "A" } else { "" };
        let (major, minor) = (self.device >> 20, self.device & 0xf_ffff);
        format!(
            "block_{name}: {major},{minor} {what}{ahead} {}{} + {} {priority} [{end}]\n",
            bytes.unwrap_or_default(),
            self.sector,
            self.bytes / 512
        )
    }

    /// The note of the time of day.
    pub fn time_of_day(time_ns: u64, unix_s: u32, unix_ns: u32, layout: Layout) -> Self {
        let word =
            |value: u32| if layout.big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        let behind = [word(unix_s), word(unix_ns)].concat();
        Self { time_ns, action: 1, categories: NOTIFY, behind, ..Self::default() }
    }
}

/// One request from being queued to being done.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub writes: bool,
    pub ahead: bool,
    pub sector: u64,
    pub sectors: u32,
    pub queued_ns: u64,
    pub issued_ns: u64,
    pub done_ns: u64,
    pub cpus: [u32; 2],
}

impl Request {
    fn records(&self) -> [Record; 5] {
        let Self { sector, queued_ns, issued_ns, done_ns, cpus, .. } = *self;
        let direction = if self.writes { WRITE } else { READ };
        let categories = direction | if self.ahead { AHEAD } else { 0 };
        let between_ns = u64::midpoint(queued_ns, issued_ns);
        let steps = [
            (1, queued_ns, cpus[0]),
            (4, between_ns, cpus[0]),
            (12, between_ns, cpus[0]),
            (7, issued_ns, cpus[0]),
            (8, done_ns, cpus[1]),
        ];
        steps.map(|(action, time_ns, cpu)| Record {
            time_ns,
            sector,
            bytes: self.sectors * 512,
            action,
            categories,
            pid: 13615,
            device: DEVICE,
            cpu,
            ..Record::default()
        })
    }
}

/// Requests of which no two are at one place: some follow one another, others do not.
pub fn requests() -> impl Strategy<Value = Vec<Request>> {
    const APART_NS: u64 = 400;
    let one = (
        any::<[bool; 3]>(),
        1_u32..3000,
        [0_u64..50_000, 0..100_000, 1..40_000_000],
        [0_u32..4, 0..4],
    );
    prop::collection::vec(one, 1..APART_NS as usize).prop_map(|drawn| {
        let (mut place, mut now_ns) = (2048, 1_000_000_007);
        drawn
            .into_iter()
            .zip(0..)
            .map(|(([writes, ahead, follows], sectors, [pause, wait, service], cpus), number)| {
                let sector = if follows { place } else { place + 1 + u64::from(sectors) * 7919 };
                place = sector + u64::from(sectors);
                now_ns += pause;
                // No two requests have an event at one instant, of which either might come first.
                let queued_ns = now_ns * APART_NS + number;
                let issued_ns = queued_ns + wait * APART_NS;
                let done_ns = issued_ns + service * APART_NS;
                Request { writes, ahead, sector, sectors, queued_ns, issued_ns, done_ns, cpus }
            })
            .collect()
    })
}

/// The records of the requests, numbered on each processor, in order of time.
pub fn records(requests: &[Request]) -> Vec<Record> {
    let mut records: Vec<Record> = requests.iter().flat_map(Request::records).collect();
    records.sort_by_key(|record| (record.time_ns, record.action));
    let mut numbers = BTreeMap::new();
    for record in &mut records {
        let number = numbers.entry(record.cpu).or_insert(0);
        *number += 1;
        record.sequence = *number;
    }
    records
}

/// Writes a file for each processor into a new folder and gives that.
pub fn per_cpu(folder: &Path, records: &[Record], layout: Layout) -> PathBuf {
    let mut files: BTreeMap<u32, Vec<u8>> = (0..4).map(|cpu| (cpu, Vec::new())).collect();
    for record in records {
        files.entry(record.cpu).or_default().extend(record.encode(layout));
    }
    let folder = folder.join(format!("{}-{}", layout.version, layout.big_endian));
    std::fs::create_dir(&folder).unwrap();
    for (cpu, bytes) in files {
        std::fs::write(folder.join(format!("sdc.blktrace.{cpu}")), bytes).unwrap();
    }
    folder
}

/// Writes one file and gives it.
pub fn file(folder: &Path, name: &str, bytes: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

pub fn encoded(records: &[Record], layout: Layout) -> Vec<u8> {
    records.iter().flat_map(|record| record.encode(layout)).collect()
}

pub fn try_to_analyze(path: &Path) -> Result<Report, TraceError> {
    analyze(Input::open(path)?, Asked::default(), &AtomicBool::new(false), &|_, _| {})
}

pub fn analyzed(path: &Path) -> Report {
    try_to_analyze(path).unwrap()
}

/// A report's part on requests, without values that depend on the trace's format.
pub fn of_requests(report: &Report) -> Value {
    let mut value = serde_json::to_value(report).unwrap();
    for key in ["formats", "files", "bytes"] {
        value.as_object_mut().unwrap().remove(key).unwrap();
    }
    value
}

/// The report of the trace at `path` after its conversion into `folder`, which is new.
pub fn converted(path: &Path, folder: &Path) -> Report {
    let input = Input::open(path).unwrap();
    convert(input, folder, &AtomicBool::new(false), &|_, _| {}).unwrap();
    analyzed(folder)
}

/// The codes of the warnings.
pub fn codes(report: &Report) -> Vec<&'static str> {
    report.warnings.iter().map(|warning| warning.code).collect()
}
