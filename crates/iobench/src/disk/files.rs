//! I/O like `TestDFSIO`: many files, one task per file, a fixed number of concurrent tasks.
//!
//! A task's time covers its bytes: written until durable, with space reserved in advance; or read
//! and compared. As in `TestDFSIO`, it excludes opening. The total time runs from the first task's
//! start until the last has ended and, after writing, the files' names are durable.
//!
//! All files have the same random bytes except for a stamp in every page that identifies page and
//! file: reading can compare every byte, and no device can deduplicate pages.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use rawio::{
    ALIGN, Backend, Block, Completion, DirectFile, Method, Operation, Pool, Queue, Request,
};
use serde::Serialize;

use super::error::DiskError;
use super::place::{Place, check_space};
use super::report::{Device, Role};
use super::stream::forget_cached;
use super::threads::side_by_side;
use crate::Observer;

/// Bytes of a request and period of the random bytes: part of the files' definition.
const BLOCK_BYTES: usize = 4 << 20;
/// Requests in flight of one task, as in the sequential modes of `DiskBench`.
const DEPTH: usize = 4;
const SEED: u64 = 0x5445_5354_4446_5349;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// File `n` is in directory `n` modulo their number.
    pub dirs: Vec<PathBuf>,
    /// Writing makes the files, and removes them if it fails; reading expects them.
    pub operation: Operation,
    /// Number of files.
    pub files: usize,
    /// Bytes of each.
    pub file_bytes: u64,
    /// Concurrent tasks.
    pub threads: usize,
    /// Way to the kernel.
    pub backend: Backend,
    /// Whether to bypass the page cache where the file system allows it.
    pub direct: bool,
}

/// Result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Direction.
    pub operation: Role,
    /// One task each, in the order of their numbers.
    pub files: Vec<FileReport>,
    /// Bytes of all files.
    pub bytes: u64,
    /// Concurrent tasks.
    pub threads: usize,
    /// From the first task's start to the end.
    pub elapsed_s: f64,
    /// The device behind each directory with a file.
    pub devices: Vec<Device>,
}

/// One file's task.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// The file.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: u64,
    /// Time of the task.
    pub elapsed_s: f64,
}

/// Writes or reads the files. If writing fails, those that it made are removed.
pub fn run(
    options: &Options,
    observer: &dyn Observer,
    cancel: &AtomicBool,
) -> Result<Report, DiskError> {
    options.check()?;
    let places = options.dirs.iter().map(|dir| Place::of(dir)).collect::<Result<Vec<_>, _>>()?;
    for place in &places {
        place.warn_if_in_memory(observer);
    }
    if options.operation == Operation::Write {
        check_space(&places, &options.needed_bytes())?;
    }
    let work = Work::new(options, cancel);
    let done =
        side_by_side((0..options.threads.min(options.files)).map(|_| || work.take_part()), || {
            observer.progress(options.name(), work.moved(), Some(options.total_bytes()));
        })?;
    if options.operation == Operation::Write {
        for dir in &options.dirs {
            rawio::sync_dir(dir).map_err(|e| DiskError::io(dir, "fsync", 0, e))?;
        }
    }
    let start = *work.start.get_or_init(Instant::now);
    let elapsed = start.elapsed();
    observer.phase(options.name(), start, elapsed);
    work.created.keep();
    let mut tasks: Vec<Task> = done.into_iter().flatten().collect();
    tasks.sort_unstable_by_key(|task| task.number);
    let devices = places.iter().enumerate().filter_map(|(index, place)| {
        let mut own = tasks.iter().skip(index).step_by(places.len()).peekable();
        let method = own.peek()?.method;
        let direct = own.all(|task| task.direct);
        if !direct {
            place.warn_buffered(observer);
        }
        Some(place.device(method, direct))
    });
    Ok(Report {
        operation: options.operation.into(),
        bytes: options.total_bytes(),
        threads: options.threads,
        elapsed_s: elapsed.as_secs_f64(),
        devices: devices.collect(),
        files: tasks.into_iter().map(|task| task.report).collect(),
    })
}

impl Options {
    fn check(&self) -> Result<(), DiskError> {
        let total = self.file_bytes.checked_mul(self.files as u64);
        let checks = [
            ("dir", self.dirs.len(), self.dirs.is_empty()),
            ("count", self.files, self.files == 0),
            ("bytes", self.file_bytes as usize, total.is_none_or(|total| total == 0)),
            ("threads", self.threads, self.threads == 0),
        ];
        match checks.iter().find(|check| check.2) {
            None => Ok(()),
            Some((option, given, _)) => Err(DiskError::Option {
                option,
                given: given.to_string(),
                problem: "there is nothing to do, or more than can be".to_owned(),
            }),
        }
    }

    fn name(&self) -> &'static str {
        match self.operation {
            Operation::Read => "read",
            Operation::Write => "write",
        }
    }

    fn total_bytes(&self) -> u64 {
        self.file_bytes * self.files as u64
    }

    /// Bytes in each directory.
    fn needed_bytes(&self) -> Vec<u64> {
        let dirs = self.dirs.len();
        let files = |dir| self.files.saturating_sub(dir).div_ceil(dirs);
        (0..dirs).map(|dir| self.file_bytes * files(dir) as u64).collect()
    }

    fn path(&self, number: usize) -> PathBuf {
        self.dirs[number % self.dirs.len()].join(format!("test_io_{number}"))
    }

    fn block_bytes(&self) -> usize {
        BLOCK_BYTES.min(rawio::align_up(self.file_bytes.min(BLOCK_BYTES as u64) as usize))
    }
}

/// The result for one file.
struct Task {
    number: usize,
    report: FileReport,
    method: Method,
    direct: bool,
}

/// State shared by the threads.
struct Work<'a> {
    options: &'a Options,
    cancel: &'a AtomicBool,
    /// Content of every block, except for its stamps.
    content: Vec<u8>,
    created: Created,
    barrier: Barrier,
    start: OnceLock<Instant>,
    next: AtomicUsize,
    moved_bytes: AtomicU64,
    failed: AtomicBool,
}

/// A thread's own.
struct Engine {
    queue: Queue,
    free: Vec<Block>,
}

impl<'a> Work<'a> {
    fn new(options: &'a Options, cancel: &'a AtomicBool) -> Self {
        let mut content = vec![0; options.block_bytes()];
        Xoshiro256PlusPlus::seed_from_u64(SEED).fill_bytes(&mut content);
        Self {
            options,
            cancel,
            content,
            created: Created::default(),
            barrier: Barrier::new(options.threads.min(options.files)),
            start: OnceLock::new(),
            next: AtomicUsize::new(0),
            moved_bytes: AtomicU64::new(0),
            failed: AtomicBool::new(false),
        }
    }

    fn moved(&self) -> u64 {
        self.moved_bytes.load(Ordering::Relaxed)
    }

    /// One thread's tasks, until there are none left.
    fn take_part(&self) -> Result<Vec<Task>, DiskError> {
        let engine = self.engine();
        // All wait for all, also after a failure: who failed must not leave the others waiting.
        self.barrier.wait();
        self.start.get_or_init(Instant::now);
        let outcome = engine.and_then(|mut engine| {
            let mut done = Vec::new();
            loop {
                let number = self.next.fetch_add(1, Ordering::Relaxed);
                if number >= self.options.files {
                    return Ok(done);
                }
                done.push(self.task(&mut engine, number)?);
            }
        });
        if outcome.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn engine(&self) -> Result<Engine, DiskError> {
        let dir = &self.options.dirs[0];
        let failed = |e| DiskError::io(dir, "set up", 0, e);
        let pool = Pool::new(DEPTH, self.content.len()).map_err(failed)?;
        let mut free = Vec::with_capacity(DEPTH);
        while let Some(mut block) = pool.try_take() {
            block.copy_from_slice(&self.content); // also for reading: touches the pages
            free.push(block);
        }
        let queue = Queue::new(DEPTH, self.options.backend).map_err(failed)?;
        Ok(Engine { queue, free })
    }

    fn task(&self, engine: &mut Engine, number: usize) -> Result<Task, DiskError> {
        let path = self.options.path(number);
        let file = match self.options.operation {
            Operation::Read => self.open(&path)?,
            Operation::Write => self.create(&path)?,
        };
        let started = Instant::now();
        if self.options.operation == Operation::Write {
            self.reserve(&file)?;
        }
        self.transfer(engine, &file, number)?;
        if self.options.operation == Operation::Write {
            self.settle(&file)?;
        }
        Ok(Task {
            number,
            report: FileReport {
                path,
                bytes: self.options.file_bytes,
                elapsed_s: started.elapsed().as_secs_f64(),
            },
            method: engine.queue.method(),
            direct: file.is_direct(),
        })
    }

    fn open(&self, path: &Path) -> Result<Arc<DirectFile>, DiskError> {
        let file = DirectFile::open(path, self.options.direct).map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                DiskError::content(path, 0, "is not there")
            } else {
                DiskError::io(path, "open", 0, error)
            }
        })?;
        let bytes = file.len().map_err(|e| DiskError::io(path, "stat", 0, e))?;
        if bytes != self.options.file_bytes {
            let problem = format!("has {bytes} bytes, not {}", self.options.file_bytes);
            return Err(DiskError::content(path, 0, problem));
        }
        if !file.is_direct() {
            forget_cached(&file, 0, bytes);
        }
        Ok(Arc::new(file))
    }

    fn create(&self, path: &Path) -> Result<Arc<DirectFile>, DiskError> {
        let file = DirectFile::create_new(path, self.options.direct)
            .map_err(|error| DiskError::create(path, error))?;
        self.created.add(path);
        Ok(Arc::new(file))
    }

    fn reserve(&self, file: &DirectFile) -> Result<(), DiskError> {
        let bytes = self.options.file_bytes.next_multiple_of(ALIGN as u64);
        file.preallocate(0, bytes).map_err(|e| DiskError::io(file.path(), "preallocate", 0, e))
    }

    /// Cuts off what direct I/O wrote too much, and makes the file durable.
    fn settle(&self, file: &DirectFile) -> Result<(), DiskError> {
        let bytes = self.options.file_bytes;
        if !bytes.is_multiple_of(ALIGN as u64) {
            file.truncate(bytes).map_err(|e| DiskError::io(file.path(), "truncate", bytes, e))?;
        }
        file.sync().map_err(|e| DiskError::io(file.path(), "fsync", 0, e))
    }

    /// Moves the bytes of one file.
    fn transfer(
        &self,
        engine: &mut Engine,
        file: &Arc<DirectFile>,
        number: usize,
    ) -> Result<(), DiskError> {
        let operation = self.options.operation;
        let mut offset = 0;
        loop {
            while offset < self.options.file_bytes
                && let Some(mut block) = engine.free.pop()
            {
                if self.failed.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed) {
                    return Err(DiskError::Interrupted); // or another's error, reported instead
                }
                let bytes = self.bytes_at(offset);
                if operation == Operation::Write {
                    stamp(&mut block[..bytes], number, offset);
                }
                let (file, range) = (Arc::clone(file), 0..rawio::align_up(bytes));
                engine
                    .queue
                    .submit(Request { operation, file, offset, block, range, tag: 0 })
                    .map_err(|e| DiskError::io(&self.options.path(number), "submit", offset, e))?;
                offset += bytes as u64;
            }
            let done = engine.queue.wait();
            match done.map_err(|e| DiskError::io(file.path(), "wait", offset, e))? {
                None => return Ok(()),
                Some(done) => engine.free.push(self.take(done, number)?),
            }
        }
    }

    /// How many bytes a request at `offset` is about.
    fn bytes_at(&self, offset: u64) -> usize {
        (self.options.file_bytes - offset).min(self.content.len() as u64) as usize
    }

    /// Checks what a request did, and gives its block back.
    fn take(&self, done: Completion, number: usize) -> Result<Block, DiskError> {
        let Completion { request, result } = done;
        let (path, offset) = (request.file.path(), request.offset);
        let moved = result.map_err(|e| DiskError::io(path, self.options.name(), offset, e))?;
        let bytes = self.bytes_at(offset);
        if moved < bytes {
            return Err(DiskError::content(path, offset + moved as u64, "ends too early"));
        }
        if request.operation == Operation::Read
            && let Some(at) = first_wrong(&request.block[..bytes], &self.content, number, offset)
        {
            return Err(DiskError::content(path, at, "does not have the bytes that were written"));
        }
        self.moved_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(request.block)
    }
}

/// Files that are removed unless they are to be kept.
#[derive(Default)]
struct Created(Mutex<Vec<PathBuf>>);

impl Created {
    fn add(&self, path: &Path) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_owned());
    }

    fn keep(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        for path in self.0.get_mut().unwrap_or_else(PoisonError::into_inner) {
            // The caller has a worse error to report.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// The first bytes of the page at `offset` of a file, which are unique among all pages.
fn page_stamp(number: usize, offset: u64) -> [u8; 8] {
    // Odd, so that different pages have different stamps.
    (((number as u64) << 40) | (offset / ALIGN as u64))
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .to_le_bytes()
}

fn stamp(block: &mut [u8], number: usize, offset: u64) {
    for (index, page) in block.chunks_mut(ALIGN).enumerate() {
        let stamp = page_stamp(number, offset + (index * ALIGN) as u64);
        let len = stamp.len().min(page.len());
        page[..len].copy_from_slice(&stamp[..len]);
    }
}

/// The offset of the first page of a file that is not as it was written.
fn first_wrong(block: &[u8], content: &[u8], number: usize, offset: u64) -> Option<u64> {
    let pages = block.chunks(ALIGN).zip(content.chunks(ALIGN)).enumerate();
    pages
        .map(|(index, (page, expected))| (offset + (index * ALIGN) as u64, page, expected))
        .find(|(at, page, expected)| {
            let stamp = page_stamp(number, *at);
            let len = stamp.len().min(page.len());
            page[..len] != stamp[..len] || page[len..] != expected[len..page.len()]
        })
        .map(|(at, ..)| at)
}

#[cfg(test)]
mod tests;
