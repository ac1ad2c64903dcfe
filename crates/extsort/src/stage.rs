//! What every stage shares: the clock on it, and the way to give up together.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::error::SortError;
use crate::usage::{ThreadClock, ThreadUse};

/// Takes a lock; a thread that panicked while holding it has already failed the sort.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Told now and then: phase, bytes done, bytes in all (if known).
pub type Progress<'a> = &'a (dyn Fn(&'static str, u64, Option<u64>) + Sync);

/// Where one worker's time went. Useful is what remains of its life. It belongs to the thread that
/// started it, whose processor time it counts.
#[derive(Debug)]
pub(crate) struct Meter {
    start: Instant,
    thread: ThreadClock,
    before: ThreadUse,
    /// What the thread used for another stage.
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
            elsewhere: before.since(before), // nothing, of what the kernel counts
            before,
            thread,
            idle: Duration::ZERO,
            memory: Duration::ZERO,
            blocked: Duration::ZERO,
            bytes: 0,
            records: 0,
        }
    }

    /// What the thread has used since the start, for whatever stage.
    pub(crate) fn used(&self) -> ThreadUse {
        self.thread.now().since(self.before)
    }
}

/// What the workers of one stage did together in one phase. Times are sums over the workers.
#[derive(Clone, Debug, Serialize)]
pub struct StageReport {
    /// `sample`, `map+shuffle` or `sort+reduce`.
    pub phase: &'static str,
    /// `read`, `distribute`, ...
    pub stage: &'static str,
    /// The directory whose disk the stage works for, if it is one disk's.
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
    /// What the threads used, and how long they waited for a core.
    #[serde(flatten)]
    pub used: ThreadUse,
    /// When the first worker started, since the start of the sort.
    pub started_s: f64,
    /// When the last worker ended, since the start of the sort.
    pub ended_s: f64,
}

/// Shared by all threads of one sort: its clock, its reports, its progress, and its first failure.
pub(crate) struct Shared<'a> {
    pub(crate) origin: Instant,
    cancel: &'a AtomicBool,
    failure: Mutex<Option<SortError>>,
    failed: AtomicBool,
    reports: Mutex<Vec<StageReport>>,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    /// Bytes done in the phase at hand, for progress.
    pub(crate) phase_bytes: AtomicU64,
}

impl<'a> Shared<'a> {
    pub(crate) fn new(cancel: &'a AtomicBool) -> Self {
        Self {
            origin: Instant::now(),
            cancel,
            failure: Mutex::new(None),
            failed: AtomicBool::new(false),
            reports: Mutex::new(Vec::new()),
            bytes_read: AtomicU64::new(0),
            bytes_written: AtomicU64::new(0),
            phase_bytes: AtomicU64::new(0),
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
