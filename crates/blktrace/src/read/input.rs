//! Which files a trace has.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::attribute::files::Files;
use crate::attribute::processes::Processes;
use crate::capture::bundle::Bundle;
use crate::capture::disks::Disk;
use crate::capture::ring;
use crate::error::TraceError;
use crate::read::stream::{Source, Stream};
use crate::summary::report::Warning;

/// Bytes of one read from a file.
const READ_BYTES: usize = 128 << 10;
/// Bytes of one read from each file if there are many, and the number of files that counts as many.
const READ_BYTES_OF_MANY: usize = 32 << 10;
const MANY: usize = 128;
/// Files that are open besides those of the trace.
const OTHER_FILES: u64 = 64;
/// The text between a device's name and the CPU's number.
const INFIX: &str = ".blktrace.";
/// So many ranges of processors are named.
const RANGES_NAMED: usize = 10;

/// A trace that is ready to be read.
pub struct Input {
    /// The file, the folder or standard input.
    pub path: PathBuf,
    /// Its files that are not empty.
    pub streams: Vec<Stream>,
    /// How many files it has.
    pub files: usize,
    /// Their total bytes; `None` if unknown.
    pub bytes: Option<u64>,
    /// Processors without a file, as `sda: 2-3`.
    pub missing_cpus: Vec<String>,
    /// How many events were recorded, where files no longer have all of them.
    pub recorded_events: Option<u64>,
    /// The files that own the sectors; `None` if the trace does not have them.
    pub owners: Option<Files>,
    /// The processes that make requests; empty if the trace does not have them.
    pub processes: Processes,
    /// Whether it is a recording of our own.
    pub recorded: bool,
    /// The formats that it was converted from.
    pub converted: Vec<String>,
    /// The host's name, if the trace has it.
    pub host: Option<String>,
    /// The disks, if the trace has them.
    pub disks: Vec<Disk>,
    /// The warnings so far.
    pub warnings: Vec<Warning>,
}

impl Input {
    /// The trace on standard input.
    pub fn stdin() -> Result<Self, TraceError> {
        Self::of_reader(Path::new("-"), Box::new(io::stdin()))
    }

    /// The trace that `reader` gives, which is called `path`.
    pub fn of_reader(path: &Path, reader: Box<dyn Read>) -> Result<Self, TraceError> {
        let source = Source { path: path.to_path_buf(), reader };
        let streams = vec![Stream::open(source, READ_BYTES)?];
        Ok(Self::with(path.to_path_buf(), streams, 1))
    }

    /// A trace of which nothing is known but its streams.
    fn with(path: PathBuf, streams: Vec<Stream>, files: usize) -> Self {
        Self {
            path,
            streams,
            files,
            bytes: None,
            missing_cpus: Vec::new(),
            recorded_events: None,
            owners: None,
            processes: Processes::default(),
            recorded: false,
            converted: Vec::new(),
            host: None,
            disks: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The trace at `path`: a file, or a folder with a file for each processor.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        if !metadata(path)?.is_dir() {
            let files = vec![(path.to_path_buf(), None)];
            return Self::of(path, files, Vec::new(), alone(path));
        }
        if let Some(bundle) = Bundle::open(path)? {
            let missing = ranges(&bundle.missing).map(|cpus| format!("CPUs {cpus}"));
            let files = bundle.files.into_iter().map(|(path, decoder)| (path, Some(decoder)));
            let mut input = Self::of(path, files.collect(), missing.into_iter().collect(), None)?;
            input.warnings.extend(bundle.warnings);
            (input.owners, input.host) = (bundle.owners, bundle.host);
            input.recorded_events = bundle.recorded_events;
            input.recorded = true;
            input.converted = bundle.converted;
            (input.disks, input.processes) = (bundle.disks, bundle.processes);
            return Ok(input);
        }
        let devices = per_cpu(path)?;
        if devices.is_empty() {
            let found = format!("no file in it is called trace.json or DEVICE{INFIX}CPU");
            return Err(TraceError::Format { path: path.to_path_buf(), found });
        }
        let paths = devices.values().flat_map(|files| files.values());
        let paths = paths.map(|path| (path.clone(), None)).collect();
        let missing: Vec<String> = devices
            .iter()
            .filter_map(|(name, files)| {
                Some(format!("{name}: {}", missing(files.keys().copied())?))
            })
            .collect();
        Self::of(path, paths, missing, None)
    }

    fn of(
        path: &Path,
        paths: Vec<(PathBuf, Option<ring::Decoder>)>,
        missing_cpus: Vec<String>,
        alone: Option<String>,
    ) -> Result<Self, TraceError> {
        allow_files(paths.len() as u64);
        let files = paths.len();
        let at_once = if files < MANY { READ_BYTES } else { READ_BYTES_OF_MANY };
        let (mut streams, mut bytes) = (Vec::new(), Some(0));
        for (path, decoder) in paths {
            let about = metadata(&path)?;
            // A processor that had nothing to do has an empty file. A pipe has no size.
            if about.is_file() && about.len() == 0 && files > 1 {
                continue;
            }
            bytes = bytes.filter(|_| about.is_file()).map(|bytes| bytes + about.len());
            let file = File::open(&path).map_err(|reason| unreadable(&path, reason))?;
            let source = Source { path, reader: Box::new(file) };
            streams.push(match decoder {
                Some(decoder) => Stream::of_pages(source, at_once, decoder)?,
                None => Stream::open(source, at_once)?,
            });
        }
        let of_cpus = (!missing_cpus.is_empty()).then(|| {
            format!(
                "there are no files for these CPUs, so their events are not counted: {}",
                missing_cpus.join("; ")
            )
        });
        let warning = |message| Warning { code: "VEN-TRACE-CPUS", message };
        let warnings = of_cpus.into_iter().chain(alone).map(warning).collect();
        let known = Self::with(path.to_path_buf(), streams, files);
        Ok(Self { bytes, missing_cpus, warnings, ..known })
    }
}

/// The files in a folder by device and processor.
fn per_cpu(folder: &Path) -> Result<BTreeMap<String, BTreeMap<u32, PathBuf>>, TraceError> {
    let mut devices: BTreeMap<String, BTreeMap<u32, PathBuf>> = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(|reason| unreadable(folder, reason))? {
        let path = entry.map_err(|reason| unreadable(folder, reason))?.path();
        if let Some((device, cpu)) = device_and_cpu(&path) {
            devices.entry(device).or_default().insert(cpu, path);
        }
    }
    Ok(devices)
}

/// `sda` and 3 of `sda.blktrace.3`.
fn device_and_cpu(path: &Path) -> Option<(String, u32)> {
    let (device, cpu) = path.file_name()?.to_str()?.rsplit_once(INFIX)?;
    let digits = !cpu.is_empty() && cpu.bytes().all(|byte| byte.is_ascii_digit());
    Some((device.to_owned(), cpu.parse().ok().filter(|_| digits)?))
}

/// That `path` is one processor's file of several, if it is.
fn alone(path: &Path) -> Option<String> {
    let (device, _) = device_and_cpu(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let all = per_cpu(folder).ok()?.remove(&device)?.len();
    (all > 1).then(|| {
        format!(
            "this is the file of one of {all} CPUs, and requests begin and end on different \
             ones: give the folder, {}",
            folder.display()
        )
    })
}

/// The numbers below the greatest that are not among `cpus`, which are in order: `0, 4-7`.
fn missing(cpus: impl Iterator<Item = u32>) -> Option<String> {
    let (mut next, mut missing) = (0, Vec::new());
    for cpu in cpus {
        if cpu > next {
            missing.push(next..=cpu - 1);
        }
        next = cpu.saturating_add(1);
    }
    in_words(&missing)
}

/// Numbers that are in order: `0, 4-7`.
fn ranges(cpus: &[u32]) -> Option<String> {
    let runs = cpus.chunk_by(|cpu, next| cpu + 1 == *next);
    let runs: Vec<RangeInclusive<u32>> = runs.map(|run| run[0]..=run[run.len() - 1]).collect();
    in_words(&runs)
}

fn in_words(ranges: &[RangeInclusive<u32>]) -> Option<String> {
    let word = |range: &RangeInclusive<u32>| match (range.start(), range.end()) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    let mut words: Vec<String> = ranges.iter().take(RANGES_NAMED).map(word).collect();
    if let Some(more @ 1..) = ranges.len().checked_sub(RANGES_NAMED) {
        words.push(format!("and {more} more"));
    }
    (!words.is_empty()).then(|| words.join(", "))
}

/// Has the system allow `files` to be open, as far as it does; if not, opening says so.
fn allow_files(files: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let needed = files + OTHER_FILES;
    if current.is_some_and(|current| current < needed) {
        let wanted = maximum.map_or(needed, |maximum| maximum.min(needed));
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

fn metadata(path: &Path) -> Result<fs::Metadata, TraceError> {
    fs::metadata(path).map_err(|reason| unreadable(path, reason))
}

fn unreadable(path: &Path, reason: io::Error) -> TraceError {
    TraceError::Read { path: path.to_path_buf(), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_device_and_processor() {
        let of = |name: &str| device_and_cpu(Path::new(name));
        assert_eq!(of("/x/sda.blktrace.12"), Some(("sda".to_owned(), 12)));
        assert_eq!(of("a.blktrace.b.blktrace.0"), Some(("a.blktrace.b".to_owned(), 0)));
        for name in [
            "sda.blktrace.",
            "sda.blktrace.x",
            "sda.blktrace.+1",
            "sda",
            "sda.blktrace.99999999999",
        ] {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn numbers_that_follow_one_another_are_one_range() {
        assert_eq!(ranges(&[]), None);
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), Some("0-2, 5, 7-8".to_owned()));
    }

    #[test]
    fn missing_processors_are_told_in_few_words() {
        let of = |cpus: &[u32]| missing(cpus.iter().copied());
        assert_eq!(of(&[0, 1, 2]), None);
        assert_eq!(of(&[1, 2, 6]), Some("0, 3-5".to_owned()));
        assert_eq!(of(&[0, 1_000_000]), Some("1-999999".to_owned()));
        assert_eq!(of(&[u32::MAX]), Some(format!("0-{}", u32::MAX - 1)));
        let odd: Vec<u32> = (0..100).map(|n| 2 * n + 1).collect();
        assert_eq!(of(&odd), Some("0, 2, 4, 6, 8, 10, 12, 14, 16, 18, and 90 more".to_owned()));
    }
}
