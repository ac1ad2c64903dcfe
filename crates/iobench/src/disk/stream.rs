//! One direction of I/O on one directory: a thread, its queue, its blocks.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, OnceLock};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};
use rawio::{
    ALIGN, Backend, Block, Completion, DirectFile, Method, Operation, Pool, Queue, Request,
};

use super::error::DiskError;
use super::pattern::{Pattern, Shape};
use crate::steady::Timeline;

/// Space to reserve per step ahead of a sequential write, as the sort engine does.
const PREALLOCATE_BYTES: u64 = 256 << 20;
const UNSET: u64 = u64::MAX;

/// The clock and the stop flags shared by the streams of one measurement.
///
/// A measurement runs until every stream has moved its bytes and the shortest time has passed, or
/// the time is up. Faster streams restart their files, so that the load stays the same for all.
/// Writers then wait for requests in flight and make them durable. Readers that run concurrently
/// with writers go on until that is done: both rates then refer to one common window.
pub(crate) struct Shared<'a> {
    barrier: Barrier,
    start: OnceLock<Instant>,
    /// Nanoseconds after which it may end, and must.
    time_ns: Range<u64>,
    /// Streams that have not moved their bytes yet.
    unfinished: AtomicUsize,
    /// Writers that are not durable yet.
    writing: AtomicUsize,
    /// When submitting ends (for readers alongside writers: `window_ns`), in nanoseconds.
    stop_ns: AtomicU64,
    /// When the common window ends, in nanoseconds.
    window_ns: AtomicU64,
    failed: AtomicBool,
    cancel: &'a AtomicBool,
    /// Bytes moved by all streams, for progress.
    pub(crate) moved: AtomicU64,
}

impl<'a> Shared<'a> {
    /// For `streams`, which end when all have moved their bytes, within `time`.
    pub(crate) fn new(streams: &[Stream], time: &Range<Duration>, cancel: &'a AtomicBool) -> Self {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(UNSET);
        let count = |wanted: fn(&Stream) -> bool| streams.iter().filter(|s| wanted(s)).count();
        Self {
            barrier: Barrier::new(streams.len()),
            start: OnceLock::new(),
            time_ns: ns(time.start)..ns(time.end),
            unfinished: AtomicUsize::new(count(|s| s.target_bytes.is_some())),
            writing: AtomicUsize::new(count(|s| s.operation == Operation::Write)),
            stop_ns: AtomicU64::new(UNSET),
            window_ns: AtomicU64::new(UNSET),
            failed: AtomicBool::new(false),
            cancel,
            moved: AtomicU64::new(0),
        }
    }

    /// The common window's length in nanoseconds, once all streams have ended.
    pub(crate) fn window_ns(&self) -> u64 {
        self.window_ns.load(Ordering::SeqCst)
    }

    fn aborted(&self) -> bool {
        self.failed.load(Ordering::Relaxed) || self.cancel.load(Ordering::Relaxed)
    }

    /// Ends submitting at `now_ns`; the first call counts. Without writers the window ends there.
    fn stop(&self, now_ns: u64) {
        let first =
            self.stop_ns.compare_exchange(UNSET, now_ns, Ordering::SeqCst, Ordering::SeqCst);
        if first.is_ok() && self.writing.load(Ordering::SeqCst) == 0 {
            self.window_ns.store(now_ns, Ordering::SeqCst);
        }
    }

    fn is_time(&self, now_ns: u64) -> bool {
        let content = self.unfinished.load(Ordering::Relaxed) == 0;
        (content && now_ns >= self.time_ns.start) || now_ns >= self.time_ns.end
    }

    fn durable(&self, now_ns: u64) {
        if self.writing.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.window_ns.store(now_ns, Ordering::SeqCst);
        }
    }

    fn keep_going(&self, operation: Operation) -> bool {
        let sign = match operation {
            Operation::Read => &self.window_ns,
            Operation::Write => &self.stop_ns,
        };
        sign.load(Ordering::Relaxed) == UNSET && !self.aborted()
    }
}

/// The task of one stream.
pub(crate) struct Stream {
    pub(crate) operation: Operation,
    pub(crate) files: Vec<Arc<DirectFile>>,
    pub(crate) shape: Shape,
    pub(crate) pattern: Pattern,
    pub(crate) depth: usize,
    /// Bytes after which the stream is content; `None`: only time ends it.
    pub(crate) target_bytes: Option<u64>,
    pub(crate) backend: Backend,
}

/// The result of one stream.
pub(crate) struct Moved {
    /// Bytes of the requests that completed within the window.
    ///
    /// Those in flight at its end don't count: in a device that serves one request after another,
    /// the others have only waited. The window begins with an empty queue and ends at a completion,
    /// so this counts what the device did in that time.
    pub(crate) bytes: u64,
    /// The number of these requests.
    pub(crate) requests: u64,
    /// Nanoseconds from the start to the end of the window; of a writer to its own durability.
    pub(crate) elapsed_ns: u64,
    pub(crate) latency_ns: Histogram<u64>,
    pub(crate) timeline: Timeline,
    pub(crate) method: Method,
    /// Whether every file bypassed the page cache to the end.
    pub(crate) direct: bool,
}

struct Engine {
    queue: Queue,
    free: Vec<Block>,
    /// The file that is being written and how much of it is reserved.
    reserved: (usize, u64),
    stamp: u64,
}

impl Stream {
    /// Runs the stream concurrently with the others of `shared`; every stream must be run exactly
    /// once.
    pub(crate) fn run(mut self, shared: &Shared<'_>) -> Result<Moved, DiskError> {
        let engine = self.engine();
        // All wait for all, also after a failure: who failed must not leave the others waiting.
        shared.barrier.wait();
        let start = *shared.start.get_or_init(Instant::now);
        let outcome = engine.and_then(|engine| self.pump(engine, shared, start));
        if outcome.is_err() {
            shared.failed.store(true, Ordering::Relaxed);
        }
        outcome
    }

    fn engine(&self) -> Result<Engine, DiskError> {
        let path = self.files[0].path();
        let failed = |e| DiskError::io(path, "set up", 0, e);
        let pool = Pool::new(self.depth, self.shape.block_bytes).map_err(failed)?;
        let mut random = Xoshiro256PlusPlus::seed_from_u64(crate::seed());
        let mut free = Vec::with_capacity(self.depth);
        while let Some(mut block) = pool.try_take() {
            random.fill_bytes(&mut block); // also for reading: touches the pages before the clock runs
            free.push(block);
        }
        let queue = Queue::new(self.depth, self.backend).map_err(failed)?;
        Ok(Engine { queue, free, reserved: (0, 0), stamp: random.next_u64() })
    }

    fn pump(
        &mut self,
        mut engine: Engine,
        shared: &Shared<'_>,
        start: Instant,
    ) -> Result<Moved, DiskError> {
        let mut moved = Moved::nothing(engine.queue.method());
        let mut left = self.target_bytes;
        let mut now_ns = elapsed_ns(start);
        loop {
            while let Some(block) = engine.free.pop() {
                if !shared.keep_going(self.operation) {
                    engine.free.clear();
                    break;
                }
                self.submit(&mut engine, block, now_ns)?;
            }
            let wait = engine.queue.wait();
            let Some(done) = wait.map_err(|e| DiskError::io(self.files[0].path(), "wait", 0, e))?
            else {
                break;
            };
            now_ns = elapsed_ns(start);
            let Completion { request, result } = done;
            let bytes = self.check(&request, result)? as u64;
            moved.account(request.tag, now_ns, bytes, shared.window_ns());
            shared.moved.fetch_add(bytes, Ordering::Relaxed);
            if let Some(rest) = left {
                left = (rest > bytes).then(|| rest - bytes);
                if left.is_none() {
                    shared.unfinished.fetch_sub(1, Ordering::SeqCst);
                }
            }
            if shared.is_time(now_ns) {
                shared.stop(now_ns);
            }
            engine.free.push(request.block);
        }
        if shared.aborted() {
            return Err(DiskError::Interrupted); // or another stream's error, which is reported instead
        }
        if self.operation == Operation::Write {
            for file in &self.files {
                file.sync().map_err(|e| DiskError::io(file.path(), "fsync", 0, e))?;
            }
            now_ns = elapsed_ns(start);
            shared.durable(now_ns);
            moved.elapsed_ns = now_ns;
        } else {
            moved.elapsed_ns = shared.window_ns();
        }
        moved.direct = self.files.iter().all(|file| file.is_direct());
        Ok(moved)
    }

    fn submit(
        &mut self,
        engine: &mut Engine,
        mut block: Block,
        now_ns: u64,
    ) -> Result<(), DiskError> {
        let (index, offset) = self.shape.locate(self.pattern.next(self.shape));
        let file = Arc::clone(&self.files[index]);
        if self.operation == Operation::Write {
            engine.stamp = stamp(&mut block, engine.stamp);
            engine.reserve(&file, index, self.shape, offset)?;
        }
        let range = 0..block.len();
        let request =
            Request { operation: self.operation, file, offset, block, range, tag: now_ns };
        engine
            .queue
            .submit(request)
            .map_err(|e| DiskError::io(self.files[index].path(), "submit", offset, e))
    }

    fn check(&self, request: &Request, result: io::Result<usize>) -> Result<usize, DiskError> {
        let Request { file, offset, .. } = request;
        let what = match self.operation {
            Operation::Read => "read",
            Operation::Write => "write",
        };
        let whole = result.and_then(|bytes| {
            let whole = bytes == self.shape.block_bytes;
            whole.then_some(bytes).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        });
        let bytes = whole.map_err(|e| DiskError::io(file.path(), what, *offset, e))?;
        if self.operation == Operation::Read && !file.is_direct() {
            forget_cached(file, *offset, bytes as u64);
        }
        Ok(bytes)
    }
}

impl Engine {
    /// Reserves ahead of a sequential write.
    fn reserve(
        &mut self,
        file: &DirectFile,
        index: usize,
        shape: Shape,
        offset: u64,
    ) -> Result<(), DiskError> {
        if self.reserved.0 != index {
            self.reserved = (index, 0);
        }
        let end = self.reserved.1;
        if offset + shape.block_bytes as u64 > end {
            let len = PREALLOCATE_BYTES.max(shape.block_bytes as u64).min(shape.file_bytes - end);
            file.preallocate(end, len)
                .map_err(|e| DiskError::io(file.path(), "preallocate", end, e))?;
            self.reserved.1 = end + len;
        }
        Ok(())
    }
}

impl Moved {
    fn nothing(method: Method) -> Self {
        Self {
            bytes: 0,
            requests: 0,
            elapsed_ns: 0,
            latency_ns: histogram(),
            timeline: Timeline::default(),
            method,
            direct: true,
        }
    }

    /// Counts a request that ran from `start_ns` to `end_ns`, if it ended within the window.
    fn account(&mut self, start_ns: u64, end_ns: u64, bytes: u64, window_ns: u64) {
        if end_ns <= window_ns {
            self.bytes += bytes;
            self.requests += 1;
            self.latency_ns.saturating_record((end_ns - start_ns).max(1));
        }
        self.timeline.add(start_ns, end_ns, bytes as f64);
    }
}

/// Takes a range out of the page cache, so that the next read of it reaches the device.
pub(crate) fn forget_cached(file: &DirectFile, offset: u64, bytes: u64) {
    // Advice only: where it is refused the warning about buffered I/O already says what to expect.
    let _ = rustix::fs::fadvise(
        file.file(),
        offset,
        std::num::NonZeroU64::new(bytes),
        rustix::fs::Advice::DontNeed,
    );
}

/// Makes every page of a block of random bytes unlike any written before, at a thousandth of the cost
/// of new random bytes: no device can store it as a copy of another page, nor compress it.
fn stamp(block: &mut [u8], mut stamp: u64) -> u64 {
    for page in block.chunks_exact_mut(ALIGN) {
        stamp = stamp.wrapping_add(0x9E37_79B9_7F4A_7C15);
        page[..8].copy_from_slice(&stamp.to_le_bytes());
    }
    stamp
}

/// Latencies from 1 ns to over a minute, to three digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 1 << 37, 3)
        .unwrap_or_else(|_| unreachable!("the bounds are constants that fit"))
}

fn elapsed_ns(start: Instant) -> u64 {
    start.elapsed().as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_page_is_written_twice() {
        let mut block = vec![7_u8; 4 * ALIGN];
        let mut seen = HashSet::new();
        let mut next = 5;
        for _ in 0..50 {
            next = stamp(&mut block, next);
            for page in block.chunks_exact(ALIGN) {
                assert!(seen.insert(page.to_vec()));
            }
        }
    }

    #[test]
    fn a_request_that_ends_after_the_window_does_not_count() {
        let mut moved = Moved::nothing(Method::Posix);
        for (start_ns, end_ns) in [(0, 10), (0, 20), (5, 30)] {
            moved.account(start_ns, end_ns, 4096, 20);
        }
        assert_eq!((moved.bytes, moved.requests, moved.latency_ns.len()), (2 * 4096, 2, 2));
    }
}
