//! Shared by all stages: the clock, and the way to fail together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::SortError;
use crate::usage::{ThreadClock, ThreadUse};

/// Takes a lock; a thread that panicked while holding it has already failed the sort.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Hears of a sort from threads of its own.
pub trait Observer: Sync {
    /// Called periodically: phase, bytes done, total bytes (if known).
    fn progress(&self, phase: &'static str, done_bytes: u64, total_bytes: Option<u64>);

    /// The sort has failed, everything temporary was removed, and a thread of it cannot be woken: it is
    /// in the caller's own code, or in the kernel. Who cannot wake it should end the process, or
    /// [`sort`](crate::sort) waits as long as that thread does.
    fn stuck(&self, _error: &SortError) {}
}

impl<F: Fn(&'static str, u64, Option<u64>) + Sync> Observer for F {
    fn progress(&self, phase: &'static str, done_bytes: u64, total_bytes: Option<u64>) {
        self(phase, done_bytes, total_bytes);
    }
}

/// Where one worker's time went. Useful time is the rest of its life. It belongs to the thread that
/// started it and counts that thread's CPU time.
#[derive(Debug)]
pub(crate) struct Meter {
    start: Instant,
    thread: ThreadClock,
    before: ThreadUse,
    /// CPU time that the thread used for another stage.
    pub(crate) elsewhere: ThreadUse,
    pub(crate) idle: Duration,
    pub(crate) memory: Duration,
    pub(crate) blocked: Duration,
    pub(crate) bytes: u64,
    pub(crate) records: u64,
}

impl Meter {
    pub(crate) fn start() -> Self {
        let thread = ThreadClock::new();
        let before = thread.now();
        Self {
            start: Instant::now(),
            elsewhere: before.since(before), // zero for every counter that the kernel has
            before,
            thread,
            idle: Duration::ZERO,
            memory: Duration::ZERO,
            blocked: Duration::ZERO,
            bytes: 0,
            records: 0,
        }
    }

    /// The thread's use since the start, for any stage.
    pub(crate) fn used(&self) -> ThreadUse {
        self.thread.now().since(self.before)
    }
}

/// The work of all workers of one stage in one phase. Times are sums over the workers.
#[derive(Clone, Debug, Serialize)]
pub struct StageReport {
    /// `sample`, `map+shuffle` or `sort+reduce`.
    pub phase: &'static str,
    /// `read`, `distribute`, ...
    pub stage: &'static str,
    /// The directory on the disk that the stage works for, if it is a single disk.
    pub device: Option<String>,
    /// Number of workers.
    pub workers: u32,
    /// Bytes that passed.
    pub bytes: u64,
    /// Records that passed, where the stage looks at records.
    pub records: u64,
    /// Time spent working (for readers and writers: with requests in flight).
    pub useful_s: f64,
    /// Time spent waiting for the stage before.
    pub idle_s: f64,
    /// Time spent waiting for memory.
    pub waiting_for_memory_s: f64,
    /// Time spent waiting for the stage after.
    pub blocked_s: f64,
    /// The threads' CPU use, and their wait for a core.
    #[serde(flatten)]
    pub used: ThreadUse,
    /// When the first worker started, since the start of the sort.
    pub started_s: f64,
    /// When the last worker ended, since the start of the sort.
    pub ended_s: f64,
}

/// Counts a thread of a stage while it lives.
pub(crate) struct Alive<'a> {
    shared: &'a Shared<'a>,
    name: &'static str,
}

impl Drop for Alive<'_> {
    fn drop(&mut self) {
        let mut alive = lock(&self.shared.alive);
        if let Some(count) = alive.get_mut(self.name) {
            *count -= 1;
        }
        alive.retain(|_, count| *count > 0);
    }
}

/// Shared by all threads of one sort: its clock, its reports, its progress, and its first failure.
pub(crate) struct Shared<'a> {
    pub(crate) origin: Instant,
    cancel: &'a AtomicBool,
    failure: Mutex<Option<SortError>>,
    failed: AtomicBool,
    /// How long the sort may stand still; see [`crate::phases::watch`].
    pub(crate) patience: Duration,
    last_resort: &'a (dyn Fn(&SortError) + Sync),
    /// Calls and requests that are with the kernel, and how many have come back.
    with_kernel: AtomicUsize,
    from_kernel: AtomicU64,
    /// Threads that live, by the name of their stage.
    alive: Mutex<BTreeMap<&'static str, usize>>,
    reports: Mutex<Vec<StageReport>>,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    /// Bytes done in the phase at hand, for progress.
    pub(crate) phase_bytes: AtomicU64,
}

impl<'a> Shared<'a> {
    /// State of a sort that began at `origin`. If it fails and one of its threads can't be woken,
    /// `last_resort` is called with the failure.
    pub(crate) fn new(
        origin: Instant,
        cancel: &'a AtomicBool,
        patience: Duration,
        last_resort: &'a (dyn Fn(&SortError) + Sync),
    ) -> Self {
        Self {
            origin,
            cancel,
            failure: Mutex::new(None),
            failed: AtomicBool::new(false),
            patience,
            last_resort,
            with_kernel: AtomicUsize::new(0),
            from_kernel: AtomicU64::new(0),
            alive: Mutex::default(),
            reports: Mutex::new(Vec::new()),
            bytes_read: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            phase_bytes: AtomicU64::new(0),
        }
    }

    /// Requests were given to the kernel.
    pub(crate) fn begun(&self, requests: usize) {
        self.with_kernel.fetch_add(requests, Ordering::Relaxed);
    }

    /// Requests came back from the kernel, or their waiting thread gave up.
    pub(crate) fn ended(&self, requests: usize) {
        self.with_kernel.fetch_sub(requests, Ordering::Relaxed);
        self.from_kernel.fetch_add(requests as u64, Ordering::Relaxed);
    }

    /// Makes calls that may take as long as a disk does.
    pub(crate) fn in_kernel<T>(&self, calls: impl FnOnce() -> T) -> T {
        self.begun(1);
        let result = calls();
        self.ended(1);
        result
    }

    /// How many requests are with the kernel, and how many have come back.
    pub(crate) fn kernel(&self) -> (usize, u64) {
        (self.with_kernel.load(Ordering::Relaxed), self.from_kernel.load(Ordering::Relaxed))
    }

    /// A thread of the stage `name` lives until what is returned is dropped.
    pub(crate) fn enter(&'a self, name: &'static str) -> Alive<'a> {
        *lock(&self.alive).entry(name).or_default() += 1;
        Alive { shared: self, name }
    }

    /// The threads that live, by the name of their stage.
    pub(crate) fn alive(&self) -> BTreeMap<&'static str, usize> {
        lock(&self.alive).clone()
    }

    /// A thread cannot be woken though the sort has failed.
    pub(crate) fn resort(&self) {
        if let Some(failure) = &*lock(&self.failure) {
            (self.last_resort)(failure);
        }
    }

    /// Seconds since the sort began.
    pub(crate) fn now_s(&self) -> f64 {
        self.origin.elapsed().as_secs_f64()
    }

    /// Records why the sort cannot go on; the first reason counts.
    pub(crate) fn fail(&self, error: SortError) {
        lock(&self.failure).get_or_insert(error);
        self.failed.store(true, Ordering::Release);
    }

    /// Whether the sort is being abandoned.
    pub(crate) fn is_failed(&self) -> bool {
        if self.cancel.load(Ordering::Relaxed) {
            self.fail(SortError::Interrupted);
        }
        self.failed.load(Ordering::Acquire)
    }

    /// The failure, if there was one.
    pub(crate) fn check(&self) -> Result<(), SortError> {
        if self.is_failed() {
            return Err(lock(&self.failure).take().unwrap_or(SortError::Interrupted));
        }
        Ok(())
    }

    /// Adds one worker's time to its stage's report.
    pub(crate) fn report(
        &self,
        phase: &'static str,
        stage: &'static str,
        device: Option<&str>,
        meter: &Meter,
    ) {
        let started_s = (meter.start - self.origin).as_secs_f64();
        let waited = meter.idle + meter.memory + meter.blocked;
        let useful = meter.start.elapsed().saturating_sub(waited);
        let used = meter.used().since(meter.elsewhere);
        let mut reports = lock(&self.reports);
        let at = reports
            .iter()
            .position(|r| r.phase == phase && r.stage == stage && r.device.as_deref() == device)
            .unwrap_or_else(|| {
                reports.push(StageReport {
                    phase,
                    stage,
                    device: device.map(str::to_owned),
                    workers: 0,
                    bytes: 0,
                    records: 0,
                    useful_s: 0.0,
                    idle_s: 0.0,
                    waiting_for_memory_s: 0.0,
                    blocked_s: 0.0,
                    used: used.since(used),
                    started_s,
                    ended_s: 0.0,
                });
                reports.len() - 1
            });
        let report = &mut reports[at];
        report.workers += 1;
        report.bytes += meter.bytes;
        report.records += meter.records;
        report.useful_s += useful.as_secs_f64();
        report.idle_s += meter.idle.as_secs_f64();
        report.waiting_for_memory_s += meter.memory.as_secs_f64();
        report.blocked_s += meter.blocked.as_secs_f64();
        report.used = report.used.plus(used);
        report.started_s = report.started_s.min(started_s);
        report.ended_s = report.ended_s.max(self.now_s());
    }

    /// All stage reports, in the order in which the stages first reported.
    pub(crate) fn take_reports(&self) -> Vec<StageReport> {
        std::mem::take(&mut lock(&self.reports))
    }
}
