//! Generated records on their way to a file, a pipe or `/dev/null`.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use rawio::{ALIGN, Backend, Block, Completion, DirectFile, Operation, Pool, Queue, Request};

use super::temporary::{Temporary, folder, remove_orphans};
use super::{GenerateError, Generator, Kind, RECORD_BYTES};
use crate::checksum::RecordSum;

/// Options of a generation.
#[derive(Clone, Debug)]
pub struct GenerateSpec {
    /// A file to be created, or an existing pipe or character device.
    pub output: PathBuf,
    /// Number of the first record.
    pub start: u128,
    /// How many records, at most [`MOST_RECORDS`].
    pub count: u128,
    /// Content of the records.
    pub kind: Kind,
    /// Whether few beginnings of keys are very frequent.
    pub skewed: bool,
    /// Threads that generate.
    pub threads: usize,
    /// Whether to sum up the records' CRC32.
    pub checksum: bool,
    /// Whether an existing file is replaced.
    pub overwrite: bool,
}

/// Result of a generation.
#[derive(Clone, Debug)]
pub struct GenerateReport {
    /// Records written.
    pub records: u128,
    /// Bytes written.
    pub bytes: u128,
    /// Their checksum, if requested.
    pub checksum: Option<RecordSum>,
    /// How the file was written, such as `io_uring+direct`; none for pipes and devices.
    pub io_method: Option<String>,
}

/// The most records of one call.
pub const MOST_RECORDS: u128 = 1 << 64;

/// Records in a block: as many as make it a multiple of both a record and a direct write.
const BLOCK_RECORDS: usize = 40 * 1024;
const BLOCK_BYTES: usize = BLOCK_RECORDS * RECORD_BYTES;
const _: () = assert!(BLOCK_BYTES.is_multiple_of(ALIGN));
/// Writes in flight on the disk, all threads together.
const QUEUE_DEPTH: usize = 4;
/// Records that are summed while they are still in a near cache.
const SUM_BYTES: usize = 1024 * RECORD_BYTES;

/// Generates records. A file appears only whole: it has a temporary name until it is durable, and
/// whatever fails, nothing is left behind. `progress` gets the bytes done so far, from any thread.
pub fn generate(
    spec: &GenerateSpec,
    cancel: &AtomicBool,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<GenerateReport, GenerateError> {
    if spec.threads == 0 {
        return Err(GenerateError::Options("at least one thread is needed".to_owned()));
    }
    if spec.count > MOST_RECORDS || spec.start.checked_add(spec.count).is_none() {
        return Err(GenerateError::Options(format!(
            "one call generates at most {MOST_RECORDS} records, with numbers below 2^128: {} from {} on \
             are too many",
            spec.count, spec.start
        )));
    }
    let job = Job {
        spec,
        cancel,
        progress,
        failed: AtomicBool::new(false),
        next: AtomicU64::new(0),
        done_bytes: AtomicU64::new(0),
    };
    let (sum, io_method) = match spec.output.metadata() {
        Ok(found) if found.file_type().is_fifo() || found.file_type().is_char_device() => {
            (job.stream()?, None)
        }
        Ok(found) if !found.is_file() => {
            return Err(GenerateError::Options(format!(
                "{} is neither a file nor a pipe nor a character device",
                spec.output.display()
            )));
        }
        Ok(_) if !spec.overwrite => {
            return Err(GenerateError::OutputExists { path: spec.output.clone() });
        }
        _ => job.file().map(|(sum, method)| (sum, Some(method)))?,
    };
    Ok(GenerateReport {
        records: spec.count,
        bytes: job.bytes(),
        checksum: spec.checksum.then_some(sum),
        io_method,
    })
}

/// State shared by the threads.
struct Job<'a> {
    spec: &'a GenerateSpec,
    cancel: &'a AtomicBool,
    progress: &'a (dyn Fn(u64) + Sync),
    failed: AtomicBool,
    next: AtomicU64,
    done_bytes: AtomicU64,
}

/// A block to be made: its number and its length.
type Task = (u64, usize);

impl Job<'_> {
    fn bytes(&self) -> u128 {
        self.spec.count * RECORD_BYTES as u128
    }

    fn stopped(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed)
    }

    fn next_task(&self) -> Option<Task> {
        if self.stopped() {
            return None;
        }
        let block = self.next.fetch_add(1, Ordering::Relaxed);
        let first = u128::from(block) * BLOCK_RECORDS as u128;
        let records = self.spec.count.checked_sub(first)?.min(BLOCK_RECORDS as u128);
        (records > 0).then_some((block, records as usize * RECORD_BYTES))
    }

    fn make(&self, generator: &mut Generator, (block, len): Task, out: &mut [u8]) -> RecordSum {
        generator.seek(self.spec.start + u128::from(block) * BLOCK_RECORDS as u128);
        let mut sum = RecordSum::default();
        for records in out[..len].chunks_mut(SUM_BYTES) {
            generator.fill(records);
            if self.spec.checksum {
                sum.add_all_fixed(records, RECORD_BYTES);
            }
        }
        sum
    }

    fn wrote(&self, bytes: usize) {
        let before = self.done_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        (self.progress)(before + bytes as u64);
    }

    /// Runs `work` on every thread, or nothing if one is refused; the first failure stops all.
    fn on_threads<R: Send>(
        &self,
        work: impl Fn() -> Result<R, GenerateError> + Sync,
    ) -> Result<Vec<R>, GenerateError> {
        let guarded = || {
            let result = work();
            if result.is_err() {
                self.failed.store(true, Ordering::Relaxed);
            }
            result
        };
        let jobs = (0..self.spec.threads).map(|_| guarded);
        let results =
            rawio::side_by_side("generate", jobs, || ()).map_err(GenerateError::Threads)?;
        if self.cancel.load(Ordering::Relaxed) {
            return Err(GenerateError::Interrupted);
        }
        results.into_iter().collect()
    }

    fn file(&self) -> Result<(RecordSum, String), GenerateError> {
        let output = &self.spec.output;
        let dir = folder(output);
        remove_orphans(dir);
        let io = |action| move |error| GenerateError::io(action, output, error);
        let unusable = |source| GenerateError::Output { path: dir.to_owned(), source };
        let available_bytes = rawio::available_bytes(dir).map_err(unusable)?.unwrap_or(u64::MAX);
        if self.bytes() > u128::from(available_bytes) {
            return Err(GenerateError::Space {
                path: output.clone(),
                needed_bytes: self.bytes(),
                available_bytes,
            });
        }
        let bytes = self.bytes() as u64; // it fits on a disk
        let temporary = Temporary::create(dir)?;
        let file = temporary.file();
        file.preallocate(0, bytes.next_multiple_of(ALIGN as u64)).map_err(io("cannot reserve"))?;
        let results = self.on_threads(|| self.write_blocks(file))?;
        file.truncate(bytes).map_err(io("cannot set the length of"))?;
        file.sync().map_err(io("cannot sync"))?;
        let sum = results.iter().map(|(sum, _)| *sum).sum();
        let direct = if file.is_direct() { "direct" } else { "buffered" };
        let io_method = format!("{}+{direct}", results[0].1);
        temporary.publish(output, self.spec.overwrite)?;
        Ok((sum, io_method))
    }

    fn write_blocks(
        &self,
        file: &Arc<DirectFile>,
    ) -> Result<(RecordSum, rawio::Method), GenerateError> {
        let output = &self.spec.output;
        let io = |action| move |error| GenerateError::io(action, output, error);
        let depth = QUEUE_DEPTH.div_ceil(self.spec.threads);
        let pool = Pool::new(depth + 1, BLOCK_BYTES).map_err(io("no memory for"))?;
        let mut queue = Queue::new(depth, Backend::Auto).map_err(io("cannot write"))?;
        let mut generator = Generator::new(self.spec.start, self.spec.kind, self.spec.skewed);
        let mut sum = RecordSum::default();
        let wrote = |completion: Completion| -> Result<Block, GenerateError> {
            self.wrote(completion.result.map_err(io("cannot write"))?);
            Ok(completion.request.block)
        };
        while let Some(task) = self.next_task() {
            let mut block = match pool.try_take() {
                Some(block) => block,
                None => match queue.wait().map_err(io("cannot write"))? {
                    Some(completion) => wrote(completion)?,
                    None => unreachable!("every block is in flight"),
                },
            };
            sum += self.make(&mut generator, task, &mut block);
            if queue.is_full()
                && let Some(completion) = queue.wait().map_err(io("cannot write"))?
            {
                wrote(completion)?;
            }
            // The last write is longer than its records, and the file is then cut to its length.
            let (number, len) = task;
            let range = 0..rawio::align_up(len);
            block[len..range.end].fill(0);
            let request = Request {
                operation: Operation::Write,
                file: Arc::clone(file),
                offset: number * BLOCK_BYTES as u64,
                block,
                range,
                tag: number,
            };
            queue.submit(request).map_err(io("cannot write"))?;
        }
        while let Some(completion) = queue.wait().map_err(io("cannot write"))? {
            wrote(completion)?;
        }
        Ok((sum, queue.method()))
    }

    /// Blocks are made by all threads and written in their order.
    fn stream(&self) -> Result<RecordSum, GenerateError> {
        let output = &self.spec.output;
        let file = OpenOptions::new()
            .write(true)
            .open(output)
            .map_err(|source| GenerateError::Output { path: output.clone(), source })?;
        let turns = Turns { turn: Mutex::new(0), changed: Condvar::new() };
        let sums = self.on_threads(|| {
            // A turn that a panic leaves open would be waited for.
            let giving_up = GivingUp(&turns);
            let result = self.write_in_turn(&file, &turns);
            if result.is_ok() {
                std::mem::forget(giving_up);
            }
            result.map_err(|error| GenerateError::io("cannot write", output, error))
        })?;
        Ok(sums.into_iter().sum())
    }

    fn write_in_turn(&self, file: &File, turns: &Turns) -> io::Result<RecordSum> {
        let pool = Pool::new(1, BLOCK_BYTES)?;
        let mut block = pool.try_take().ok_or(io::ErrorKind::OutOfMemory)?;
        let mut generator = Generator::new(self.spec.start, self.spec.kind, self.spec.skewed);
        let mut sum = RecordSum::default();
        while let Some(task) = self.next_task() {
            sum += self.make(&mut generator, task, &mut block);
            if !turns.wait_for(task.0) {
                break;
            }
            // In pieces, so that an interruption need not wait for a slow reader's whole block.
            for piece in block[..task.1].chunks(1 << 16) {
                if self.stopped() {
                    break;
                }
                let mut file = file;
                file.write_all(piece)?;
            }
            turns.end(task.0);
            self.wrote(task.1);
        }
        Ok(sum)
    }
}

/// Number of the block to write next; `u64::MAX` after a failure.
struct Turns {
    turn: Mutex<u64>,
    changed: Condvar,
}

/// Gives up when dropped.
struct GivingUp<'a>(&'a Turns);

impl Drop for GivingUp<'_> {
    fn drop(&mut self) {
        self.0.give_up();
    }
}

impl Turns {
    fn wait_for(&self, number: u64) -> bool {
        let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |turn: &mut u64| *turn < number;
        let turn = self.changed.wait_while(turn, waiting).unwrap_or_else(PoisonError::into_inner);
        *turn == number
    }

    fn end(&self, number: u64) {
        self.set(number + 1);
    }

    fn give_up(&self) {
        self.set(u64::MAX);
    }

    fn set(&self, value: u64) {
        let mut turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        *turn = value.max(*turn);
        self.changed.notify_all();
    }
}
