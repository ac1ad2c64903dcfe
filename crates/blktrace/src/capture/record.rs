//! Recording: the kernel's tracepoints of some disks, page by page into the files of a [bundle].
//!
//! [bundle]: crate::capture::bundle

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::system::uname;
use rustix::time::{ClockId, Timespec, clock_gettime};

use crate::attribute::classes::Class;
use crate::capture::buffers::Buffers;
use crate::capture::bundle::{
    Clock, CpuEnd, END, End, FILES, MANIFEST, Manifest, VERSION, file_name, make_folder, unwritable,
};
use crate::capture::disks::{Disk, disks, is_there};
use crate::capture::format::Format;
use crate::capture::observe::Observer;
use crate::capture::ring::Layout;
use crate::capture::tracefs::Instance;
use crate::capture::xfs;
use crate::error::TraceError;
use crate::summary::report::Warning;

/// The events to record, where the kernel has them. File system events show which file owns a
/// sector.
const EVENTS: [&str; 17] = [
    "block/block_bio_queue",
    "block/block_bio_backmerge",
    "block/block_bio_frontmerge",
    "block/block_rq_merge",
    "block/block_split",
    "block/block_rq_insert",
    "block/block_rq_issue",
    "block/block_rq_requeue",
    "block/block_rq_complete",
    "ext4/ext4_allocate_inode",
    "ext4/ext4_es_insert_extent",
    "xfs/xfs_bmap_post_update",
    "xfs/xfs_iext_insert",
    "xfs/xfs_iget_miss",
    "xfs/xfs_iget_recycle",
    "xfs/xfs_iunlink_remove",
    "xfs/xfs_read_extent",
];
/// Without these there is nothing to say.
const NEEDED: [&str; 2] = ["block/block_rq_issue", "block/block_rq_complete"];
/// Where sysfs is.
pub(crate) const SYS: &str = "/sys";

/// How many bytes one write has, and how many writes a CPU gets before the next one's turn.
const ROOM_BYTES: usize = 256 << 10;
const TURNS: usize = 64;
/// Space reserved for the file that ends the recording, since the disk may be full by then.
const END_BYTES: usize = 4 << 10;
const END_BYTES_OF_CPU: usize = 128;

/// The settings of a recording.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Folders: the disks under them.
    pub folders: Vec<PathBuf>,
    /// Block devices.
    pub devices: Vec<PathBuf>,
    /// Folders in which all files have one class.
    pub marks: Vec<(Class, PathBuf)>,
    /// Bytes of each CPU's buffer; `None` chooses a size by the memory.
    pub buffer_bytes: Option<u64>,
    /// Folder that is made for the recording, or is empty.
    pub output: PathBuf,
}

/// A recording under way. What [`Recording::copy`] does not take in time is lost; when it is dropped,
/// tracefs is as before.
pub struct Recording {
    // Before the instance: as long as its buffers are open it cannot go.
    cpus: Vec<Cpu>,
    instance: Instance,
    buffers: Buffers,
    layout: Layout,
    /// Where pages are on their way from a buffer to a file.
    room: Vec<u8>,
    disks: Vec<Disk>,
    observer: Observer,
    output: PathBuf,
    end: File,
    started: Instant,
}

/// The state of one CPU's recording.
struct Cpu {
    number: u32,
    pages: File,
    /// The file, once there is something for it.
    file: Option<File>,
    path: PathBuf,
    bytes: u64,
    /// Events that its buffer had no room for, when this was last looked at.
    lost: u64,
}

/// A recording that has ended.
pub struct Ended {
    /// As the folder has it.
    pub end: End,
    /// How large its buffers were, and how full they got; `None` of another program's.
    pub buffers: Option<Buffers>,
    /// Warnings for the reader.
    pub warnings: Vec<Warning>,
}

impl Recording {
    /// Begins. The folder is made only if the kernel lets us record.
    pub fn start(plan: &Plan) -> Result<Self, TraceError> {
        let disks = disks(Path::new(SYS), &plan.folders, &plan.devices)?;
        let instance = Instance::create()?;
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        let buffers = Buffers::new(plan.buffer_bytes);
        instance.set("buffer_size_kb", &buffers.kib().to_string())?;
        let mut manifest = manifest(&instance, &disks)?;
        let layout = manifest.layout().map_err(TraceError::Unknown)?;
        for (event, format) in &manifest.events {
            instance.set(&format!("events/{event}/filter"), &filter(&disks, format))?;
            instance.set(&format!("events/{event}/enable"), "1")?;
        }
        let output = plan.output.clone();
        let of_cpu = |(number, pages)| {
            let path = output.join(file_name(number));
            Cpu { number, pages, path, file: None, bytes: 0, lost: 0 }
        };
        let cpus: Vec<Cpu> = instance.pages()?.into_iter().map(of_cpu).collect();
        make_folder(&output)?;
        let observer = Observer::begin(Path::new(SYS), &disks, &plan.folders, monotonic_ns());
        let (end, observer) = describe(plan, &mut manifest, cpus.len(), observer)?;
        instance.set("tracing_on", "1")?;
        let (room, started) = (vec![0; ROOM_BYTES], Instant::now());
        Ok(Self { cpus, instance, buffers, layout, room, disks, observer, output, end, started })
    }

    /// The disks that are recorded.
    pub fn disks(&self) -> &[Disk] {
        &self.disks
    }

    /// The instance of tracefs that records.
    pub fn instance(&self) -> &Path {
        self.instance.path()
    }

    /// How many bytes were recorded.
    pub fn bytes(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.bytes).sum()
    }

    /// How long until [`Recording::copy`] is to be called again. Each time a processor may add a page
    /// that is not full, so that it is to be called often, but not too often.
    pub fn pause(&self) -> Duration {
        self.buffers.pause()
    }

    /// Takes what the buffers have; how many bytes it is.
    pub fn copy(&mut self) -> Result<u64, TraceError> {
        let (mut copied, mut fullest) = (0, 0);
        for cpu in &mut self.cpus {
            let bytes = cpu.copy(&self.layout, &mut self.room)?;
            let full = self.buffers.may_have_been_full(bytes);
            let lost = if full { cpu.lost_bytes(&self.instance)? } else { 0 };
            fullest = fullest.max(bytes + lost);
            copied += bytes;
        }
        self.buffers.emptied(fullest);
        let looked = self.observer.take(monotonic_ns());
        looked.map_err(|reason| unwritable(&self.output.join(FILES), reason))?;
        Ok(copied)
    }

    /// Ends it with everything recorded so far, or up to where `cut` ended it.
    pub fn end(mut self, cut: Option<TraceError>) -> Result<Ended, TraceError> {
        let elapsed_s = self.started.elapsed().as_secs_f64();
        self.instance.set("tracing_on", "0")?;
        // Nothing comes any longer: what is left is taken page by page.
        let cut = cut.map_or_else(|| self.drain(), Err).err();
        let looked = self.observer.end(monotonic_ns());
        let cut =
            cut.or(looked.map_err(|reason| unwritable(&self.output.join(FILES), reason)).err());
        let mut cpus = BTreeMap::new();
        for cpu in &mut self.cpus {
            cpu.keep_whole(self.layout.page_bytes())?;
            let seen = self.instance.seen(cpu.number)?;
            let (bytes, events, lost) = (cpu.bytes, seen.read, seen.lost + seen.left);
            let end = CpuEnd { bytes, events, lost };
            if end != CpuEnd::default() {
                cpus.insert(cpu.number, end);
            }
        }
        let end = End { elapsed_s, cut: cut.as_ref().map(ToString::to_string), cpus };
        let text = serde_json::to_vec(&end).map_err(io::Error::from);
        let written = text.and_then(|text| {
            self.end.write_all_at(&text, 0)?;
            self.end.set_len(text.len() as u64)
        });
        written.map_err(|reason| unwritable(&self.output.join(END), reason))?;
        let unnamed = self.observer.incomplete.then(|| Warning {
            code: "VEN-TRACE-NAMES",
            message:
                "some files that were made while it recorded have no known name: it takes Linux \
                      5.17 or newer, and at most a million files"
                    .to_owned(),
        });
        let warnings = gone(&self.disks).chain(unnamed).collect();
        let buffers = Some(self.buffers);
        cut.map_or(Ok(Ended { end, buffers, warnings }), Err)
    }

    fn drain(&mut self) -> Result<(), TraceError> {
        while self.copy()? > 0 {}
        Ok(())
    }
}

impl Cpu {
    /// Takes what there is, but not for ever; how many bytes it has.
    fn copy(&mut self, layout: &Layout, room: &mut [u8]) -> Result<u64, TraceError> {
        let before = self.bytes;
        for _ in 0..TURNS {
            let (filled, more) = self.fill(layout, room)?;
            if filled > 0 {
                let written = self.file()?.write_all(&room[..filled]);
                written.map_err(|reason| unwritable(&self.path, reason))?;
                self.bytes += filled as u64;
            }
            if !more {
                break;
            }
        }
        Ok(self.bytes - before)
    }

    /// How many bytes its buffer had no room for since this was last asked, as events are on average.
    fn lost_bytes(&mut self, instance: &Instance) -> Result<u64, TraceError> {
        let seen = instance.seen(self.number)?;
        let lost = seen.lost.saturating_sub(self.lost);
        self.lost = seen.lost;
        Ok(lost.saturating_mul(self.bytes) / seen.read.max(1))
    }

    /// Reads pages into the room; how many bytes, and whether there may be more. A page that is not
    /// full is the last one for now: the next would have what came within a few microseconds.
    fn fill(&mut self, layout: &Layout, room: &mut [u8]) -> Result<(usize, bool), TraceError> {
        let mut filled = 0;
        for page in room.chunks_exact_mut(layout.page_bytes()) {
            match self.pages.read(page) {
                Ok(0) => return Ok((filled, false)),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok((filled, false));
                }
                Err(reason) => {
                    let path = PathBuf::from(format!("per_cpu/cpu{}/trace_pipe_raw", self.number));
                    return Err(TraceError::Kernel { path, reason });
                }
            }
            if !layout.is_full(page) {
                return Ok((filled, false));
            }
        }
        Ok((filled, true))
    }

    /// Cuts off a page of which only a part could be written.
    fn keep_whole(&mut self, page_bytes: usize) -> Result<(), TraceError> {
        let Some(file) = &self.file else { return Ok(()) };
        self.bytes -= self.bytes % page_bytes as u64;
        file.set_len(self.bytes).map_err(|reason| unwritable(&self.path, reason))
    }

    fn file(&mut self) -> Result<&mut File, TraceError> {
        match &mut self.file {
            Some(file) => Ok(file),
            none => {
                let file = File::create(&self.path);
                Ok(none.insert(file.map_err(|reason| unwritable(&self.path, reason))?))
            }
        }
    }
}

/// The manifest of the events, with their formats from tracefs.
fn manifest(instance: &Instance, disks: &[Disk]) -> Result<Manifest, TraceError> {
    let mut events = BTreeMap::new();
    for event in EVENTS {
        let file = format!("events/{event}/format");
        // Modules of other file systems may be absent.
        if NEEDED.contains(&event) || instance.has(&file) {
            events.insert(event.to_owned(), instance.text(&file)?);
        }
    }
    let about = uname();
    Ok(Manifest {
        version: VERSION,
        host: Some(about.nodename().to_string_lossy().into_owned()),
        kernel: Some(about.release().to_string_lossy().into_owned()),
        clock: Some(clock()),
        disks: disks.to_vec(),
        file_systems: Vec::new(),
        header_page: instance.text("events/header_page")?,
        events,
        converted: Vec::new(),
        warnings: Vec::new(),
    })
}

/// That disks vanished, of those that did.
pub(crate) fn gone(disks: &[Disk]) -> impl Iterator<Item = Warning> {
    let gone = disks.iter().filter(|disk| !is_there(Path::new(SYS), disk));
    gone.map(|disk| Warning {
        code: "VEN-TRACE-GONE",
        message: format!("disk {} vanished, or changed its size, while it was recorded", disk.name),
    })
}

/// The closest of some pairs of readings of both clocks.
pub(crate) fn clock() -> Clock {
    const PAIRS: usize = 16;
    let mut closest = Clock { monotonic_ns: 0, unix_ns: 0, within_ns: u64::MAX };
    for _ in 0..PAIRS {
        let before_ns = monotonic_ns();
        let unix_ns = now_ns(ClockId::Realtime);
        let within_ns = monotonic_ns() - before_ns;
        if within_ns < closest.within_ns {
            closest = Clock { monotonic_ns: before_ns + within_ns / 2, unix_ns, within_ns };
        }
    }
    closest
}

fn monotonic_ns() -> u64 {
    now_ns(ClockId::Monotonic)
}

fn now_ns(clock: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(clock);
    tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
}

/// A filter of events: those of these disks, and of partitions of them.
pub(crate) fn of_disks(disks: &[Disk]) -> String {
    let numbers = disks.iter().flat_map(Disk::numbers);
    let terms: Vec<String> = numbers.map(|number| format!("dev == {number}")).collect();
    terms.join(" || ")
}

/// Events of these disks, and of partitions of them, but those of xfs that say that there is no block
/// yet: each write has one.
fn filter(disks: &[Disk], format: &str) -> String {
    let terms = of_disks(disks);
    match Format::of(format).field("startblock") {
        Some(_) => format!("({terms}) && startblock < {}", xfs::NO_BLOCK),
        None => terms,
    }
}

/// Writes the manifest, and returns the file for the end and the observer of files.
fn describe(
    plan: &Plan,
    manifest: &mut Manifest,
    cpus: usize,
    mut observer: Observer,
) -> Result<(File, Observer), TraceError> {
    let output = &plan.output;
    let own = (Class::Recording, output.clone());
    for (class, folder) in plan.marks.iter().chain([&own]) {
        let marked = observer.mark(folder, *class);
        marked.map_err(|reason| TraceError::Read { path: folder.clone(), reason })?;
    }
    manifest.file_systems = observer.file_systems().to_vec();
    let write = |name, content: &[u8]| {
        let file = File::create(output.join(name))?;
        file.write_all_at(content, 0).map(|()| file)
    };
    let room = vec![b' '; END_BYTES + END_BYTES_OF_CPU * cpus];
    let made = serde_json::to_vec_pretty(manifest)
        .map_err(io::Error::from)
        .and_then(|text| write(MANIFEST, &text))
        .and_then(|_| observer.log_to(File::create(output.join(FILES))?, monotonic_ns()))
        .and_then(|()| write(END, &room));
    let end = made.map_err(|reason| {
        for name in [MANIFEST, FILES, END] {
            let _ = fs::remove_file(output.join(name));
        }
        unwritable(output, reason)
    })?;
    Ok((end, observer))
}
