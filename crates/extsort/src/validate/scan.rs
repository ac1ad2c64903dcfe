//! Reading files in blocks, by several threads, and joining what they find in order.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rawio::{ALIGN, Backend, Completion, DirectFile, Operation, Pool, Queue, Request};

use super::error::ValidateError;
use super::inputs::{InputFile, check_records};
use super::spec::{MAX_RECORD_BYTES, ValidateSpec};
use super::summary::Summary;
use crate::checksum::RecordSum;
use crate::record::Format;

/// Bytes of a read past the page cache, and reads in flight, all threads together.
const DIRECT: (usize, usize) = (4 << 20, 4);
/// As above for reads that copy from the page cache: the copy should still be in the core's cache.
const BUFFERED: (usize, usize) = (256 << 10, 1);

/// The content of the files.
pub(super) struct Scanned {
    /// All records, one file after the other.
    pub(super) summary: Summary,
    /// The checksums of the files.
    pub(super) sums: Vec<RecordSum>,
    /// How the first file that is not empty was read.
    pub(super) io_method: Option<String>,
}

/// Reads all files and joins what they hold.
pub(super) fn scan(
    spec: &ValidateSpec,
    files: &[InputFile],
    cancel: &AtomicBool,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Scanned, ValidateError> {
    let sums = vec![RecordSum::default(); files.len()];
    let Some(first) = files.iter().find(|file| file.bytes > 0) else {
        return Ok(Scanned { summary: Summary::default(), sums, io_method: None });
    };
    let direct = !spec.buffered && open(&first.path, true)?.is_direct();
    let (read_bytes, depth) = if direct { DIRECT } else { BUFFERED };
    let (block_bytes, block_records) = match spec.format {
        // A read begins and ends at a multiple of ALIGN and so is longer than its records.
        Format::Fixed { record, .. } => {
            let block_bytes = read_bytes.max(rawio::align_up(record) + 2 * ALIGN);
            (block_bytes, ((block_bytes - 2 * ALIGN) / record) as u64)
        }
        Format::KeyValue | Format::Lines => (read_bytes, 0),
    };
    let mut tasks_before = Vec::with_capacity(files.len() + 1);
    let mut tasks = 0;
    for file in files {
        tasks_before.push(tasks);
        tasks += match spec.format {
            Format::Fixed { record, .. } => (file.bytes / record as u64).div_ceil(block_records),
            Format::KeyValue | Format::Lines => 1,
        };
    }
    let scan = Scan {
        files,
        format: spec.format,
        direct,
        depth: depth.div_ceil(spec.threads).max(depth.min(2)),
        block_bytes,
        block_records,
        tasks_before,
        tasks,
        next: AtomicU64::new(0),
        failed: AtomicBool::new(false),
        cancel,
        progress,
        done_bytes: AtomicU64::new(0),
        all_bytes: files.iter().map(|file| file.bytes).sum(),
        joined: Mutex::new(Joined { sums, ..Joined::default() }),
    };
    let method = scan.run(spec.threads)?;
    let joined = scan.joined.into_inner().unwrap_or_else(PoisonError::into_inner);
    let way = if direct { "direct" } else { "buffered" };
    let io_method = Some(format!("{method}+{way}"));
    Ok(Scanned { summary: joined.total, sums: joined.sums, io_method })
}

/// State shared by the threads.
struct Scan<'a> {
    files: &'a [InputFile],
    format: Format,
    direct: bool,
    depth: usize,
    block_bytes: usize,
    block_records: u64,
    /// Number of the first task of each file.
    tasks_before: Vec<u64>,
    tasks: u64,
    next: AtomicU64,
    failed: AtomicBool,
    cancel: &'a AtomicBool,
    progress: &'a (dyn Fn(u64, u64) + Sync),
    done_bytes: AtomicU64,
    all_bytes: u64,
    joined: Mutex<Joined>,
}

/// Summaries of tasks that have ended; joined as soon as none is missing before them.
#[derive(Default)]
struct Joined {
    total: Summary,
    next: u64,
    waiting: BTreeMap<u64, Summary>,
    sums: Vec<RecordSum>,
}

/// A file opened by a thread, kept while its next tasks are in the same file.
type Opened = Option<(usize, Arc<DirectFile>)>;

impl Scan<'_> {
    fn run(&self, threads: usize) -> Result<rawio::Method, ValidateError> {
        let work = || {
            let result = match self.format {
                Format::Fixed { record, .. } => self.read_fixed(record as u64),
                Format::KeyValue | Format::Lines => self.read_framed(),
            };
            if result.is_err() {
                self.failed.store(true, Ordering::Relaxed);
            }
            result
        };
        let jobs = (0..threads).map(|_| work);
        let results =
            rawio::side_by_side("validate", jobs, || ()).map_err(ValidateError::Threads)?;
        if self.cancel.load(Ordering::Relaxed) {
            return Err(ValidateError::Interrupted);
        }
        Ok(results.into_iter().collect::<Result<Vec<_>, _>>()?[0])
    }

    fn stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed)
    }

    /// The next task and its file.
    fn next_task(&self) -> Option<(u64, usize)> {
        if self.stopped() {
            return None;
        }
        let task = self.next.fetch_add(1, Ordering::Relaxed);
        let file = self.tasks_before.partition_point(|&first| first <= task).checked_sub(1)?;
        (task < self.tasks).then_some((task, file))
    }

    fn open(&self, file: usize, opened: &mut Opened) -> Result<Arc<DirectFile>, ValidateError> {
        match opened {
            Some((index, handle)) if *index == file => Ok(Arc::clone(handle)),
            _ => {
                let handle = Arc::new(open(&self.files[file].path, self.direct)?);
                *opened = Some((file, Arc::clone(&handle)));
                Ok(handle)
            }
        }
    }

    fn queue(&self, blocks: usize) -> Result<(Queue, Pool), ValidateError> {
        let failed = |source| {
            let path = self.files[0].path.clone();
            ValidateError::Input { path, source }
        };
        let queue = Queue::new(self.depth, Backend::Auto).map_err(failed)?;
        Ok((queue, Pool::new(blocks, self.block_bytes).map_err(failed)?))
    }

    fn ended(&self, task: u64, file: usize, summary: Summary) {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        joined.sums[file].merge(summary.checksum);
        joined.waiting.insert(task, summary);
        loop {
            let next = joined.next;
            let Some(summary) = joined.waiting.remove(&next) else { return };
            joined.total.join(summary, self.format);
            joined.next += 1;
        }
    }

    fn checked(&self, bytes: u64) {
        let before = self.done_bytes.fetch_add(bytes, Ordering::Relaxed);
        (self.progress)(before + bytes, self.all_bytes);
    }

    /// The records of a task, as a range of bytes of its file.
    fn bytes_of(&self, task: u64, file: usize, record: u64) -> (u64, u64) {
        let first = (task - self.tasks_before[file]) * self.block_records;
        let end = (first + self.block_records).min(self.files[file].bytes / record);
        (first * record, end * record)
    }

    /// Fixed-length records: every task is a block of its own, read and checked in any order.
    fn read_fixed(&self, record: u64) -> Result<rawio::Method, ValidateError> {
        let (mut queue, pool) = self.queue(self.depth)?;
        let mut opened = None;
        loop {
            while !queue.is_full()
                && let Some((task, file)) = self.next_task()
            {
                let Some(block) = pool.try_take() else { unreachable!("a block for each request") };
                let (start, end) = self.bytes_of(task, file, record);
                let offset = start / ALIGN as u64 * ALIGN as u64;
                let range = 0..rawio::align_up((end - offset) as usize);
                let handle = self.open(file, &mut opened)?;
                submit(
                    &mut queue,
                    Request {
                        operation: Operation::Read,
                        file: handle,
                        offset,
                        block,
                        range,
                        tag: task,
                    },
                )?;
            }
            let Some((request, read)) = self.wait(&mut queue)? else {
                return Ok(queue.method());
            };
            let task = request.tag;
            let file = self.tasks_before.partition_point(|&first| first <= task) - 1;
            let (start, end) = self.bytes_of(task, file, record);
            let wanted = (start - request.offset) as usize..(end - request.offset) as usize;
            if read < wanted.end {
                return Err(self.changed(file, request.offset + read as u64));
            }
            self.ended(task, file, Summary::of(&request.block[wanted], self.format));
            self.checked(end - start);
        }
    }

    /// Reads records with a length header. Their boundaries are only known from the start of a
    /// file, so every task is a whole file. Reads the next block while checking one.
    fn read_framed(&self) -> Result<rawio::Method, ValidateError> {
        let (mut queue, pool) = self.queue(2)?;
        while let Some((task, file)) = self.next_task() {
            let summary = self.read_framed_file(file, &mut queue, &pool)?;
            if self.stopped() {
                break; // perhaps in the middle of the file
            }
            check_records(&self.files[file], summary.records)?;
            self.ended(task, file, summary);
        }
        Ok(queue.method())
    }

    fn read_framed_file(
        &self,
        file: usize,
        queue: &mut Queue,
        pool: &Pool,
    ) -> Result<Summary, ValidateError> {
        let InputFile { path, bytes, .. } = &self.files[file];
        let malformed =
            |at: u64, reason| ValidateError::Record { path: path.clone(), offset: at, reason };
        let handle = self.open(file, &mut None)?;
        let (mut summary, mut pending) = (Summary::default(), Vec::new());
        let mut offset = 0;
        let read_at = |queue: &mut Queue, offset| {
            let Some(block) = pool.try_take() else { unreachable!("one is read, one checked") };
            let range = 0..block.len();
            let file = Arc::clone(&handle);
            submit(
                queue,
                Request { operation: Operation::Read, file, offset, block, range, tag: 0 },
            )
        };
        if *bytes > 0 {
            read_at(queue, 0)?;
        }
        while let Some((request, read)) = self.wait(queue)? {
            let end = request.offset + read as u64;
            if end < *bytes {
                if read < request.range.len() {
                    return Err(self.changed(file, end));
                }
                if !self.stopped() {
                    read_at(queue, end)?;
                }
            }
            pending.extend_from_slice(&request.block[..read]);
            let whole = self
                .format
                .whole_records(&pending, MAX_RECORD_BYTES)
                .map_err(|e| malformed(offset + e.offset as u64, e.reason))?;
            summary.join(Summary::of(&pending[..whole], self.format), self.format);
            pending.drain(..whole);
            offset += whole as u64;
            self.checked(read as u64);
        }
        if !pending.is_empty() && !self.stopped() {
            let reason = format!("the last record is cut off after {} bytes", pending.len());
            return Err(malformed(offset, reason));
        }
        Ok(summary)
    }

    /// The next request that has ended and the bytes it read.
    fn wait(&self, queue: &mut Queue) -> Result<Option<(Request, usize)>, ValidateError> {
        let failed = |path: &Path, source| ValidateError::Input { path: path.to_owned(), source };
        let ended = queue.wait().map_err(|source| failed(&self.files[0].path, source))?;
        let Some(Completion { request, result }) = ended else { return Ok(None) };
        let read = result.map_err(|source| failed(request.file.path(), source))?;
        Ok(Some((request, read)))
    }

    fn changed(&self, file: usize, found_bytes: u64) -> ValidateError {
        let InputFile { path, bytes, .. } = &self.files[file];
        let change = format!("it had {bytes} bytes and has {found_bytes}");
        ValidateError::Changed { path: path.clone(), change }
    }
}

fn open(path: &Path, direct: bool) -> Result<DirectFile, ValidateError> {
    DirectFile::open(path, direct)
        .map_err(|source| ValidateError::Input { path: path.to_owned(), source })
}

fn submit(queue: &mut Queue, request: Request) -> Result<(), ValidateError> {
    let path = request.file.path().to_owned();
    queue.submit(request).map_err(|source| ValidateError::Input { path, source })
}
