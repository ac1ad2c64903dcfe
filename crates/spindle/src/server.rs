//! The FUSE file system of some disks: a file for each, and one with its statistics.
//!
//! `FOLDER/NAME` has the content of disk NAME, `FOLDER/NAME.stats` its counters, as one line of JSON,
//! taken when the file is opened. Nothing is cached between the files and their readers.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, Session,
    WriteFlags,
};
use rustix::mount::{UnmountFlags, unmount};
use serde::Serialize;

use crate::error::SpindleError;
use crate::image::Image;
use crate::mechanism::Machine;
use crate::service::Service;
use crate::spec::{DiskSpec, STATS, check_names};
use crate::stats::Stats;

/// The most that a request carries: what the kernel allows.
const REQUEST_BYTES: u32 = 1 << 20;
/// Requests of one disk that the kernel sends before it makes senders wait: above what a loop device
/// has in flight (128, each of up to two requests).
const DISK_REQUESTS: usize = 512;
/// How long an unmounted file system may take to end.
const END: Duration = Duration::from_secs(2);
/// Attributes never change.
const TTL: Duration = Duration::from_hours(1);
/// Modes of `fallocate` that leave zeros and keep the file's size: punch a hole, zero a range.
const PUNCH_HOLE: i32 = 0x02;
const ZERO_RANGE: i32 = 0x10;

/// Disks that are being served.
pub struct Server {
    session: BackgroundSession,
    disks: Arc<Disks>,
    folder: PathBuf,
}

/// How the serving ended.
#[derive(Debug)]
pub struct Ended {
    /// Whether something still used a disk: it gets errors from now on.
    pub busy: bool,
    /// The counters of each disk, in the given order.
    pub disks: Vec<DiskStats>,
}

/// The counters of a disk.
#[derive(Clone, Debug, Serialize)]
pub struct DiskStats {
    /// Name of the disk.
    pub name: String,
    /// Bytes that its image takes, if known.
    pub allocated_bytes: Option<u64>,
    /// Its counters.
    #[serde(flatten)]
    pub stats: Stats,
}

impl Server {
    /// Serves `specs` below `folder`, which must be empty, until it is ended. The disks exist when
    /// this returns.
    pub fn mount(folder: &Path, specs: &[DiskSpec]) -> Result<Self, SpindleError> {
        check_names(specs)?;
        let mut disks = Vec::with_capacity(specs.len());
        for spec in specs {
            spec.check()?;
            disks.push((spec, Image::open(spec)?));
        }
        let refused = |reason| SpindleError::Mount { path: folder.to_owned(), reason };
        let disks: io::Result<Vec<_>> =
            disks.into_iter().map(|(spec, image)| Disk::start(spec, image)).collect();
        let disks = Arc::new(Disks::new(disks.map_err(refused)?));
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName("venturi-spindle".into()),
            MountOption::NoAtime,
            MountOption::NoDev,
            MountOption::NoSuid,
            MountOption::NoExec,
        ];
        let cores = thread::available_parallelism().map_or(1, usize::from);
        config.n_threads = Some(cores.clamp(2, 8));
        config.clone_fd = true;
        let session = Session::new(Served(Arc::clone(&disks)), folder, &config)
            .and_then(Session::spawn)
            .map_err(refused)?;
        Ok(Self { session, disks, folder: folder.to_owned() })
    }

    /// The counters of each disk so far.
    pub fn stats(&self) -> Vec<DiskStats> {
        self.disks.stats()
    }

    /// Whether the file system is still mounted.
    pub fn is_mounted(&self) -> bool {
        !self.session.guard.is_finished()
    }

    /// Unmounts. Users of a disk get errors immediately.
    pub fn end(self) -> Ended {
        let in_use = self.disks.open.load(Ordering::Relaxed) > 0;
        let gone = !self.is_mounted();
        let busy = !gone && (unmount(&self.folder, UnmountFlags::empty()).is_err() || in_use);
        if busy {
            let _ = unmount(&self.folder, UnmountFlags::DETACH);
        }
        // A copy of the mount in another namespace keeps the file system alive.
        let deadline = Instant::now() + END;
        while !busy && self.is_mounted() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        let busy = self.is_mounted();
        Ended { busy, disks: self.disks.stats() }
    }
}

struct Disk {
    name: String,
    service: Service,
}

impl Disk {
    fn start(spec: &DiskSpec, image: Image) -> io::Result<Self> {
        let machine = Machine::new(spec).ok_or(io::ErrorKind::InvalidInput)?;
        let service = Service::start(&spec.name, image, machine)?;
        Ok(Self { name: spec.name.clone(), service })
    }

    fn stats(&self) -> DiskStats {
        DiskStats {
            name: self.name.clone(),
            allocated_bytes: self.service.allocated_bytes(),
            stats: self.service.stats(),
        }
    }
}

struct Disks {
    all: Vec<Disk>,
    /// Statistics as they were when their file was opened, by file handle.
    snapshots: Mutex<HashMap<u64, String>>,
    next_handle: AtomicU64,
    /// Openings of disks that were not closed.
    open: AtomicI64,
    since: SystemTime,
}

/// A file of the served folder.
enum Node<'a> {
    Folder,
    Disk(&'a Disk),
    Stats(&'a Disk),
}

impl Disks {
    fn new(all: Vec<Disk>) -> Self {
        Self {
            all,
            snapshots: Mutex::default(),
            next_handle: AtomicU64::new(1),
            open: AtomicI64::new(0),
            since: SystemTime::now(),
        }
    }

    fn stats(&self) -> Vec<DiskStats> {
        self.all.iter().map(Disk::stats).collect()
    }

    /// Inodes: 1 is the folder, then a disk and its statistics in turn.
    fn node(&self, ino: INodeNo) -> Option<Node<'_>> {
        if ino == INodeNo::ROOT {
            return Some(Node::Folder);
        }
        let place = ino.0.checked_sub(2)?;
        let disk = self.all.get(usize::try_from(place / 2).ok()?)?;
        Some(if place.is_multiple_of(2) { Node::Disk(disk) } else { Node::Stats(disk) })
    }

    fn disk(&self, ino: INodeNo) -> Option<&Disk> {
        match self.node(ino)? {
            Node::Disk(disk) => Some(disk),
            _ => None,
        }
    }

    fn names(&self) -> impl Iterator<Item = (INodeNo, String)> {
        self.all.iter().zip(1..).flat_map(|(disk, place)| {
            let name = disk.name.clone();
            let stats = format!("{name}{STATS}");
            [(INodeNo(2 * place), name), (INodeNo(2 * place + 1), stats)]
        })
    }

    fn attributes(&self, ino: INodeNo) -> Option<FileAttr> {
        let (kind, perm, size, nlink) = match self.node(ino)? {
            Node::Folder => (FileType::Directory, 0o500, 0, 2),
            Node::Disk(disk) => (FileType::RegularFile, 0o600, disk.service.size_bytes(), 1),
            Node::Stats(_) => (FileType::RegularFile, 0o400, 0, 1),
        };
        let (uid, gid) = (rustix::process::getuid().as_raw(), rustix::process::getgid().as_raw());
        let since = self.since;
        Some(FileAttr {
            ino,
            size,
            blocks: size / 512,
            atime: since,
            mtime: since,
            ctime: since,
            crtime: since,
            kind,
            perm,
            nlink,
            uid,
            gid,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        })
    }

    fn snapshot(&self, disk: &Disk) -> u64 {
        let mut line = serde_json::to_string(&disk.stats()).unwrap_or_default();
        line.push('\n');
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        self.snapshots().insert(handle, line);
        handle
    }

    fn snapshots(&self) -> std::sync::MutexGuard<'_, HashMap<u64, String>> {
        self.snapshots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Served(Arc<Disks>);

impl Filesystem for Served {
    fn init(&mut self, _request: &Request, config: &mut KernelConfig) -> io::Result<()> {
        // A refusal by an older kernel only costs speed; it names the nearest accepted value.
        let _ = config.set_max_write(REQUEST_BYTES);
        let _ = config.set_max_readahead(REQUEST_BYTES);
        let requests = self.0.all.len() * DISK_REQUESTS;
        let _ = config.set_max_background(u16::try_from(requests).unwrap_or(u16::MAX));
        for flag in [InitFlags::FUSE_ASYNC_DIO, InitFlags::FUSE_PARALLEL_DIROPS] {
            let _ = config.add_capabilities(flag);
        }
        Ok(())
    }

    fn lookup(&self, _request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = self.0.names().find(|(_, known)| parent == INodeNo::ROOT && name == &**known);
        match found.and_then(|(ino, _)| self.0.attributes(ino)) {
            Some(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: Option<FileHandle>,
        reply: ReplyAttr,
    ) {
        match self.0.attributes(ino) {
            Some(attributes) => reply.attr(&TTL, &attributes),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn setattr(
        &self,
        request: &Request,
        ino: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _atime: Option<fuser::TimeOrNow>,
        _mtime: Option<fuser::TimeOrNow>,
        _ctime: Option<SystemTime>,
        _handle: Option<FileHandle>,
        _crtime: Option<SystemTime>,
        _chgtime: Option<SystemTime>,
        _bkuptime: Option<SystemTime>,
        _flags: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let attributes = self.0.attributes(ino);
        let resized = size.is_some_and(|size| attributes.is_none_or(|now| now.size != size));
        if resized || mode.or(uid).or(gid).is_some() {
            return reply.error(Errno::EPERM); // a disk keeps its size
        }
        self.getattr(request, ino, None, reply);
    }

    fn readdir(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        if ino != INodeNo::ROOT {
            return reply.error(Errno::ENOTDIR);
        }
        let dots = [".", ".."].map(|name| (INodeNo::ROOT, FileType::Directory, name.to_owned()));
        let files = self.0.names().map(|(ino, name)| (ino, FileType::RegularFile, name));
        for ((ino, kind, name), next) in
            dots.into_iter().chain(files).zip(1..).skip(offset as usize)
        {
            if reply.add(ino, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn open(&self, _request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.0.node(ino) {
            Some(Node::Disk(_)) => {
                self.0.open.fetch_add(1, Ordering::Relaxed);
                let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
                reply.opened(FileHandle(0), flags | FopenFlags::FOPEN_NOFLUSH);
            }
            Some(Node::Stats(disk)) if flags.acc_mode() == fuser::OpenAccMode::O_RDONLY => {
                let handle = self.0.snapshot(disk);
                let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_NOFLUSH;
                reply.opened(FileHandle(handle), flags);
            }
            Some(Node::Stats(_)) => reply.error(Errno::EACCES),
            Some(Node::Folder) => reply.error(Errno::EISDIR),
            None => reply.error(Errno::ENOENT),
        }
    }

    fn release(
        &self,
        _request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        _flush: bool,
        reply: ReplyEmpty,
    ) {
        if self.0.disk(ino).is_some() {
            self.0.open.fetch_sub(1, Ordering::Relaxed);
        } else {
            self.0.snapshots().remove(&handle.0);
        }
        reply.ok();
    }

    fn read(
        &self,
        _request: &Request,
        ino: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let Some(disk) = self.0.disk(ino) else {
            let snapshots = self.0.snapshots();
            let text = snapshots.get(&handle.0).map_or("", String::as_str).as_bytes();
            let rest = text.get(offset as usize..).unwrap_or_default();
            return reply.data(&rest[..rest.len().min(size as usize)]);
        };
        let left = disk.service.size_bytes().saturating_sub(offset);
        let bytes = left.min(u64::from(size));
        if bytes == 0 {
            return reply.data(&[]);
        }
        let answer = move |read: io::Result<&[u8]>| match read {
            Ok(content) => reply.data(content),
            Err(_) => reply.error(Errno::EIO), // whatever befell the image, to a reader a disk failed
        };
        disk.service.read(offset, bytes, Box::new(answer));
    }

    fn write(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        data: &[u8],
        _write_flags: WriteFlags,
        _flags: OpenFlags,
        _owner: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let Some(disk) = self.0.disk(ino) else { return reply.error(Errno::EACCES) };
        let end = offset.checked_add(data.len() as u64);
        if end.is_none_or(|end| end > disk.service.size_bytes()) {
            return reply.error(Errno::ENOSPC);
        }
        let written = data.len() as u32;
        if written == 0 {
            return reply.written(0);
        }
        let answer = move |done: io::Result<()>| match done {
            Ok(()) => reply.written(written),
            Err(_) => reply.error(Errno::EIO),
        };
        disk.service.write(offset, data, Box::new(answer));
    }

    fn fsync(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        _data_alone: bool,
        reply: ReplyEmpty,
    ) {
        match self.0.disk(ino) {
            Some(disk) => disk.service.flush(Box::new(|| reply.ok())),
            None => reply.ok(),
        }
    }

    fn fallocate(
        &self,
        _request: &Request,
        ino: INodeNo,
        _handle: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let Some(disk) = self.0.disk(ino) else { return reply.error(Errno::EACCES) };
        if mode & (PUNCH_HOLE | ZERO_RANGE) == 0 {
            return reply.error(Errno::EOPNOTSUPP);
        }
        let length = length.min(disk.service.size_bytes().saturating_sub(offset));
        match disk.service.discard(offset, length) {
            Ok(()) => reply.ok(),
            Err(_) => reply.error(Errno::EIO),
        }
    }
}
