//! Traces by other programs as a recording of our own: the events that the analysis needs, in order of
//! time, on pages as the kernel's ring buffers have them, of one processor.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::capture::bundle::{
    Clock, CpuEnd, END, End, MANIFEST, Manifest, VERSION, file_name, make_folder, unwritable,
};
use crate::capture::disks::Disk;
use crate::capture::ring::{DELTA_BITS, TIME_EXTEND, TYPE_BITS};
use crate::error::TraceError;
use crate::read::event::{Event, FAILED, FLUSHED, FUA, Kind, METADATA, Operation, READAHEAD, SYNC};
use crate::read::input::Input;
use crate::read::merge;
use crate::read::tally::Tally;
use crate::summary::report::Warning;
use crate::{formats_of, nothing_in, warnings_of};

/// The kinds to write, with the kernel's names for their events.
pub(crate) const NAMES: [(Kind, &str); 7] = [
    (Kind::Queue, "block/block_bio_queue"),
    (Kind::Split, "block/block_split"),
    (Kind::BackMerge, "block/block_bio_backmerge"),
    (Kind::FrontMerge, "block/block_bio_frontmerge"),
    (Kind::Issue, "block/block_rq_issue"),
    (Kind::Requeue, "block/block_rq_requeue"),
    (Kind::Complete, "block/block_rq_complete"),
];
const PAGE_BYTES: usize = 4096;
const PAGE_HEAD_BYTES: usize = 16;
/// Where pages have what, as tracefs' `header_page` says it.
const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
    \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
    \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
/// Where events have what, as tracefs' `format` says it, behind their number.
const FIELDS: &str = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
    \tfield:char rwbs[6];\toffset:2;\tsize:6;\tsigned:0;\n\
    \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
    \tfield:unsigned int nr_sector;\toffset:12;\tsize:4;\tsigned:0;\n\
    \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:int error;\toffset:24;\tsize:4;\tsigned:1;\n";
const FIELDS_BYTES: usize = 28;
const LETTERS_BYTES: usize = 6;
/// An event, and one before it that adds to the time.
const EVENT_BYTES_MAX: usize = 4 + FIELDS_BYTES + 8;

/// A trace that was written as a recording.
pub struct Converted {
    /// Records that were read.
    pub records: u64,
    /// Events that were written.
    pub events: u64,
    /// Bytes that were written.
    pub bytes: u64,
    /// Events that are known to be missing.
    pub lost: u64,
    /// Warnings about the conversion and about the trace.
    pub warnings: Vec<Warning>,
}

/// Facts about a trace that it does not contain itself.
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub clock: Option<Clock>,
    pub host: Option<String>,
    pub kernel: Option<String>,
    pub disks: Vec<Disk>,
    pub elapsed_s: Option<f64>,
    /// Why it ended early, if it did.
    pub cut: Option<String>,
}

/// Reads a trace to its end and writes its events into a new folder, or an empty one. The folder is
/// a recording only once all are written. `progress` and `stop` are those of [`crate::analyze`].
pub fn convert(
    input: Input,
    output: &Path,
    stop: &AtomicBool,
    progress: &dyn Fn(u64, Option<u64>),
) -> Result<Converted, TraceError> {
    if input.recorded {
        return Err(TraceError::Recorded { path: input.path });
    }
    make_folder(output)?;
    rewrite(input, Known::default(), output, stop, progress)
}

/// Like [`convert`], into a folder that exists.
pub(crate) fn rewrite(
    mut input: Input,
    known: Known,
    output: &Path,
    stop: &AtomicBool,
    progress: &dyn Fn(u64, Option<u64>),
) -> Result<Converted, TraceError> {
    let path = output.join(file_name(0));
    let refused = |reason| unwritable(&path, reason);
    let mut pages = Pages::new(File::create(&path).map_err(refused)?);
    let mut done = 0;
    merge::merge(
        &mut input.streams,
        |event| pages.take(event).map_err(refused),
        |bytes| {
            done += bytes;
            progress(done, input.bytes);
            if stop.load(Ordering::Relaxed) { Err(TraceError::Interrupted) } else { Ok(()) }
        },
    )
    .and_then(|()| pages.finish().map_err(refused))
    .and_then(|()| describe(&input, known, &pages, output))
    .inspect_err(|_| forget(output))
}

/// Writes a recording without requests, from the known facts.
pub(crate) fn nothing(known: Known, output: &Path) -> Result<Converted, TraceError> {
    let elapsed_s = known.elapsed_s.unwrap_or_default();
    let end = End { elapsed_s, cut: known.cut.clone(), cpus: BTreeMap::new() };
    put(&manifest(known, Vec::new(), &[]), &end, output).inspect_err(|_| forget(output))?;
    Ok(Converted { records: 0, events: 0, bytes: 0, lost: 0, warnings: Vec::new() })
}

/// Writes the manifest and the end of the recording.
fn describe(
    input: &Input,
    known: Known,
    pages: &Pages,
    output: &Path,
) -> Result<Converted, TraceError> {
    let mut tally = Tally::default();
    input.streams.iter().for_each(|stream| tally.join(stream.tally()));
    if pages.events == 0 {
        return Err(nothing_in(input, &tally));
    }
    let warnings = warnings_of(input);
    let lost = tally.sequences.missing;
    let cpu = CpuEnd { bytes: pages.bytes, events: pages.events, lost };
    let told_s = tally.last_ns.saturating_sub(tally.first_ns) as f64 / 1e9;
    let elapsed_s = known.elapsed_s.unwrap_or(told_s);
    let end = End { elapsed_s, cut: known.cut.clone(), cpus: BTreeMap::from([(0, cpu)]) };
    let told = tally.wall.map(|(monotonic_ns, unix_s)| Clock {
        monotonic_ns,
        unix_ns: (unix_s * 1e9) as u64,
        within_ns: 0,
    });
    let known = Known { clock: known.clock.or(told), ..known };
    put(&manifest(known, formats_of(input), &warnings), &end, output)?;
    let (events, bytes) = (pages.events, pages.bytes);
    Ok(Converted { records: tally.records(), events, bytes, lost, warnings })
}

/// The manifest of our pages, for a trace in `formats`.
fn manifest(known: Known, formats: Vec<String>, warnings: &[Warning]) -> Manifest {
    let event = |(kind, name): (Kind, &str)| {
        (name.to_owned(), format!("ID: {}\n{FIELDS}", number_of(kind)))
    };
    Manifest {
        version: VERSION,
        host: known.host,
        kernel: known.kernel,
        clock: known.clock,
        disks: known.disks,
        file_systems: Vec::new(),
        header_page: HEADER_PAGE.to_owned(),
        events: NAMES.into_iter().map(event).collect(),
        converted: formats,
        warnings: warnings.iter().map(|warning| warning.message.clone()).collect(),
    }
}

/// Writes the manifest last, because it makes the folder a recording.
fn put(manifest: &Manifest, end: &End, output: &Path) -> Result<(), TraceError> {
    let write = |name: &str, text: serde_json::Result<Vec<u8>>| {
        let path: PathBuf = output.join(name);
        let written = text.map_err(io::Error::from).and_then(|text| fs::write(&path, text));
        written.map_err(|reason| unwritable(&path, reason))
    };
    write(END, serde_json::to_vec_pretty(end))?;
    write(MANIFEST, serde_json::to_vec_pretty(manifest))
}

/// Removes a partial recording.
pub(crate) fn forget(output: &Path) {
    for name in [MANIFEST, END, &file_name(0)] {
        let _ = fs::remove_file(output.join(name));
    }
}

/// The number of an event of the kind.
fn number_of(kind: Kind) -> u16 {
    kind as u16 + 1
}

/// Pages that are filled with events.
struct Pages {
    file: BufWriter<File>,
    page: Vec<u8>,
    last_ns: u64,
    bytes: u64,
    events: u64,
}

impl Pages {
    fn new(file: File) -> Self {
        let page = Vec::with_capacity(PAGE_BYTES);
        Self { file: BufWriter::new(file), page, last_ns: 0, bytes: 0, events: 0 }
    }

    fn take(&mut self, event: &Event) -> io::Result<()> {
        let now_ns = event.time_ns();
        if self.page.len() + EVENT_BYTES_MAX > PAGE_BYTES {
            self.write()?;
        }
        if self.page.is_empty() {
            self.page.extend(now_ns.to_le_bytes());
            self.page.extend([0; PAGE_HEAD_BYTES - 8]); // how much is used, known when it is full
            self.last_ns = now_ns;
        }
        // An event that comes late gets the page's last time: time does not go back on a page.
        let mut delta_ns = now_ns.saturating_sub(self.last_ns);
        if delta_ns >> DELTA_BITS >> u32::BITS != 0 {
            self.write()?; // a year: the next page has its own time
            return self.take(event);
        }
        if delta_ns >> DELTA_BITS != 0 {
            self.page.extend(TIME_EXTEND.to_le_bytes());
            self.page.extend(((delta_ns >> DELTA_BITS) as u32).to_le_bytes());
            delta_ns &= (1 << DELTA_BITS) - 1;
        }
        self.last_ns = self.last_ns.max(now_ns);
        let head = (delta_ns as u32) << TYPE_BITS | (FIELDS_BYTES / 4) as u32;
        self.page.extend(head.to_le_bytes());
        self.page.extend(number_of(event.kind()).to_le_bytes());
        self.page.extend(letters(event));
        self.page.extend(event.device.0.to_le_bytes());
        self.page.extend(event.sectors.to_le_bytes());
        self.page.extend(event.sector.to_le_bytes());
        self.page.extend(u32::from(event.flags & FAILED != 0).to_le_bytes());
        self.events += 1;
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        let used = (self.page.len() - PAGE_HEAD_BYTES) as u64;
        self.page[8..PAGE_HEAD_BYTES].copy_from_slice(&used.to_le_bytes());
        self.page.resize(PAGE_BYTES, 0);
        self.file.write_all(&self.page)?;
        self.bytes += PAGE_BYTES as u64;
        self.page.clear();
        Ok(())
    }

    fn finish(&mut self) -> io::Result<()> {
        if !self.page.is_empty() {
            self.write()?;
        }
        self.file.flush()
    }
}

/// The kernel's letters for a request's operation and flags.
fn letters(event: &Event) -> [u8; LETTERS_BYTES] {
    let operation = match event.operation {
        Operation::Read => b'R',
        Operation::Write => b'W',
        Operation::Discard => b'D',
        Operation::Flush => b'F',
        Operation::Other => b'N',
    };
    let flags = [(FUA, b'F'), (READAHEAD, b'A'), (SYNC, b'S'), (METADATA, b'M')];
    let set = flags.into_iter().filter(|(flag, _)| event.flags & flag != 0);
    let mut letters = [0; LETTERS_BYTES];
    let flush = (event.flags & FLUSHED != 0).then_some(b'F');
    let all = flush.into_iter().chain([operation]).chain(set.map(|(_, letter)| letter));
    letters.iter_mut().zip(all).for_each(|(place, letter)| *place = letter);
    letters
}
