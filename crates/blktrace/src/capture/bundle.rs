//! A recording on disk is a folder with
//!
//! | file | content |
//! |---|---|
//! | `trace.json` | disks, clock and layout of the events; written at the start |
//! | `cpuN.ring` | pages of a CPU's ring buffer, as the kernel gave them; absent if empty |
//! | `files.jsonl` | observed names and sectors of files, one observation per line |
//! | `end.json` | how the recording ended and how many events were lost; blank until then |

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::attribute::files::{FileSystem, Files};
use crate::attribute::processes::Processes;
use crate::capture::disks::Disk;
use crate::capture::format::Format;
use crate::capture::ring::{Decoder, Layout};
use crate::error::TraceError;
use crate::read::event::Device;
use crate::read::tally::CPUS;
use crate::summary::report::Warning;

/// The version of the folder's format.
pub const VERSION: u32 = 1;
/// The file with the [`Manifest`].
pub const MANIFEST: &str = "trace.json";
/// The file with the observed names and sectors of files.
pub const FILES: &str = "files.jsonl";
/// How it ended.
pub const END: &str = "end.json";
/// These files are not longer.
const JSON_BYTES: u64 = 16 << 20;

/// The sources of a recording, and how to read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Manifest {
    /// [`VERSION`]
    pub version: u32,
    /// The host's name; `None` if it is not known.
    pub host: Option<String>,
    /// The kernel's release; `None` if it is not known.
    pub kernel: Option<String>,
    /// How its times become times of day; `None` if that is unknown.
    pub clock: Option<Clock>,
    /// The disks.
    pub disks: Vec<Disk>,
    /// The file systems on them of which files are known.
    #[serde(default)]
    pub file_systems: Vec<FileSystem>,
    /// tracefs' `header_page`.
    pub header_page: String,
    /// The `format` file of tracefs for each event, by system and name.
    pub events: BTreeMap<String, String>,
    /// The formats of the trace that it was converted from; empty if it was recorded.
    #[serde(default)]
    pub converted: Vec<String>,
    /// The warnings about that trace.
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// The same time on the events' clock and on the wall clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    /// On the monotonic clock.
    pub monotonic_ns: u64,
    /// Since 1970.
    pub unix_ns: u64,
    /// How far the two may be apart.
    pub within_ns: u64,
}

/// How a recording ended.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct End {
    /// From the beginning.
    pub elapsed_s: f64,
    /// Why it ended early, if it did.
    pub cut: Option<String>,
    /// By processor.
    pub cpus: BTreeMap<u32, CpuEnd>,
}

/// The totals for one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuEnd {
    /// Bytes of pages.
    pub bytes: u64,
    /// Events that the kernel handed on.
    pub events: u64,
    /// Events that were lost.
    pub lost: u64,
}

/// A recording to be read.
pub struct Bundle {
    /// The files, each with its decoder.
    pub files: Vec<(PathBuf, Decoder)>,
    /// The files that own the sectors; `None` if the recording does not have them.
    pub owners: Option<Files>,
    /// Who makes requests.
    pub processes: Processes,
    /// The host's name, if it is known.
    pub host: Option<String>,
    /// The formats of the trace that it was converted from; empty if it was recorded.
    pub converted: Vec<String>,
    /// The disks.
    pub disks: Vec<Disk>,
    /// CPUs with a file that is missing now.
    pub missing: Vec<u32>,
    /// How many events were recorded, where files no longer have all of them.
    pub recorded_events: Option<u64>,
    /// The warnings.
    pub warnings: Vec<Warning>,
}

/// The name of a CPU's file.
pub fn file_name(cpu: u32) -> String {
    format!("cpu{cpu}.ring")
}

impl Bundle {
    /// The recording in a folder; `None` if it has none.
    pub fn open(folder: &Path) -> Result<Option<Self>, TraceError> {
        let refused = |found: String| TraceError::Format { path: folder.join(MANIFEST), found };
        let Some(text) = content(&folder.join(MANIFEST))? else { return Ok(None) };
        let version: Version = read(&text).map_err(refused)?;
        if version.version != VERSION {
            return Err(refused(format!(
                "it is of version {}, and version {VERSION} is known: read it with the Venturi that \
                 recorded it",
                version.version
            )));
        }
        let manifest: Manifest = read(&text).map_err(refused)?;
        let layout = Arc::new(manifest.layout().map_err(refused)?);
        let seen = folder.join(FILES);
        let has_files = !manifest.file_systems.is_empty();
        let owners = match File::open(&seen) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            opened => Some(opened.and_then(|file| Files::of(manifest.file_systems, file))),
        };
        let unreadable = |reason| TraceError::Read { path: seen.clone(), reason };
        let owners = owners.transpose().map_err(unreadable)?;
        let told = content(&folder.join(END))?.unwrap_or_default();
        let end = read::<End>(&told).ok();
        let said = end.as_ref().map(|end| &end.cpus);
        let there = cpus(folder)?;
        let decoder = |cpu| {
            let lost = said.map(|cpus| cpus.get(&cpu).copied().unwrap_or_default().lost);
            Decoder::new(Arc::clone(&layout), lost)
        };
        let files = there.iter().map(|&cpu| (folder.join(file_name(cpu)), decoder(cpu))).collect();
        let gone = |(cpu, end): &(&u32, &CpuEnd)| end.bytes > 0 && !there.contains(cpu);
        let missing_cpus: Vec<u32> =
            said.into_iter().flatten().filter(gone).map(|(cpu, _)| *cpu).collect();
        let mut damage: Vec<String> =
            said.into_iter().flatten().filter_map(short(folder)).collect();
        let recorded_events = (!damage.is_empty() || !missing_cpus.is_empty())
            .then(|| said.into_iter().flatten().map(|(_, end)| end.events).sum());
        if has_files && owners.is_none() {
            damage.push(format!(
                "{} is missing: the files of the requests are unknown",
                seen.display()
            ));
        } else if end.is_some() && ends_within_a_line(&seen) {
            damage.push(format!("{} ends within a line: some files are not known", seen.display()));
        }
        let damage =
            damage.into_iter().map(|message| Warning { code: "VEN-TRACE-DAMAGED", message });
        let cut = match end {
            None if told.trim_ascii().is_empty() => {
                Some("it has no end: the recording process was killed".to_owned())
            }
            None => Some(format!("its {END} is damaged")),
            Some(End { cut: Some(why), elapsed_s, .. }) => {
                Some(format!("it was ended after {elapsed_s:.1} s by this: {why}"))
            }
            Some(_) => None,
        };
        let warning = |cut| Warning {
            code: "VEN-TRACE-CUT",
            message: format!("the recording was cut short, and its last events are missing: {cut}"),
        };
        let before = manifest.warnings.into_iter().map(|message| Warning {
            code: "VEN-TRACE-CONVERTED",
            message: format!("of the trace from which this one was made: {message}"),
        });
        let warnings = cut.map(warning).into_iter().chain(damage).chain(before).collect();
        let (host, disks, converted) = (manifest.host, manifest.disks, manifest.converted);
        let processes = layout.processes();
        Ok(Some(Self {
            files,
            owners,
            processes,
            host,
            converted,
            disks,
            missing: missing_cpus,
            recorded_events,
            warnings,
        }))
    }
}

/// The only field that is read before the version is known.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl Manifest {
    /// Where its pages have what.
    pub fn layout(&self) -> Result<Layout, String> {
        let wall = self.clock.map(|clock| (clock.monotonic_ns, clock.unix_ns as f64 / 1e9));
        let header = Format::of(&self.header_page);
        let mut layout = Layout::of(&header, wall)
            .ok_or("the pages of this kernel's buffers are not as they are known to be")?;
        for (name, text) in &self.events {
            let (_, event) = name.rsplit_once('/').unwrap_or(("", name));
            layout
                .add(event, &Format::of(text))
                .ok_or_else(|| format!("this kernel's event {name} is not as it is known to be"))?;
        }
        for disk in &self.disks {
            for partition in disk.partitions.values() {
                layout.join(Device(*partition), Device(disk.number));
            }
        }
        Ok(layout)
    }
}

/// Makes the folder, or finds it empty.
pub fn make_folder(output: &Path) -> Result<(), TraceError> {
    let refused = |reason| unwritable(output, reason);
    match fs::create_dir(output) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if fs::read_dir(output).map_err(refused)?.next().is_some() {
                return Err(TraceError::Occupied { path: output.to_path_buf() });
            }
            Ok(())
        }
        made => made.map_err(refused),
    }
}

/// That a part of a recording cannot be written.
pub fn unwritable(path: &Path, reason: io::Error) -> TraceError {
    TraceError::Write { path: path.to_path_buf(), reason }
}

/// Reports a CPU's file that is shorter than when it was written.
fn short(folder: &Path) -> impl Fn((&u32, &CpuEnd)) -> Option<String> {
    move |(cpu, end)| {
        let path = folder.join(file_name(*cpu));
        let bytes = fs::metadata(&path).ok()?.len();
        (bytes < end.bytes).then(|| {
            let (path, recorded) = (path.display(), end.bytes);
            format!("{path} has {bytes} of the {recorded} bytes that were recorded")
        })
    }
}

/// Whether the last line of a file is incomplete. Each line is written in one call.
fn ends_within_a_line(path: &Path) -> bool {
    let last = || {
        let (mut file, mut last) = (File::open(path)?, [0]);
        file.seek(io::SeekFrom::End(-1))?; // an error where it is empty
        file.read_exact(&mut last)?;
        Ok::<_, io::Error>(last[0])
    };
    last().is_ok_and(|last| last != b'\n')
}

/// The processors that have a file, in order.
fn cpus(folder: &Path) -> Result<Vec<u32>, TraceError> {
    let unreadable = |reason| TraceError::Read { path: folder.to_path_buf(), reason };
    let number = |name: &str| -> Option<u32> {
        name.strip_prefix("cpu")?.strip_suffix(".ring")?.parse().ok()
    };
    let mut cpus = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        cpus.extend(name.to_str().and_then(number).filter(|cpu| *cpu < CPUS));
    }
    cpus.sort_unstable();
    Ok(cpus)
}

/// The content of a file; `None` if it is not there.
fn content(path: &Path) -> Result<Option<Vec<u8>>, TraceError> {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(JSON_BYTES).read_to_end(&mut text));
    match read {
        Ok(_) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(reason) => Err(TraceError::Read { path: path.to_path_buf(), reason }),
    }
}

fn read<T: DeserializeOwned>(text: &[u8]) -> Result<T, String> {
    serde_json::from_slice(text).map_err(|error| format!("it is not as it was written: {error}"))
}
