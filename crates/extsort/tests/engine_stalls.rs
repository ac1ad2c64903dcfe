//! A stalled sort reports what each thread waits for, and ends.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use common::data::{self, Shape};
use common::{Dirs, run};
use extsort::{
    Format, Job, Mapper, Observer, Order, Records, SortError, SortReport, SortSpec, sort,
};

const FIXED: Format = Format::Fixed { record: 100, key: 10 };

/// Processor time is the process's: a test that computes would keep another's sort alive.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Blocks callers until it is opened.
#[derive(Default)]
struct Gate {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn pass(&self) {
        let open = self.open.lock().unwrap();
        drop(self.changed.wait_while(open, |open| !*open).unwrap());
    }

    fn open(&self) {
        *self.open.lock().unwrap() = true;
        self.changed.notify_all();
    }
}

/// A delay of a mapper before it passes on each block of records.
struct Slow<F>(F);

impl<F: Fn() + Send + Sync> Mapper for Slow<F> {
    fn map(&self, records: Records<'_>, emit: &mut dyn FnMut(&[u8], &[u8])) {
        (self.0)();
        records.for_each(|record| emit(&record[..10], &record[10..]));
    }
}

fn job(slow: impl Fn() + Send + Sync + 'static) -> Job {
    Job {
        name: "slow".to_owned(),
        input: FIXED,
        intermediate: Format::KeyValue,
        order: Order::KeyThenRest,
        mapper: Some(Arc::new(Slow(slow))),
        reducer: None,
    }
}

/// Opens a gate when notified that a thread can't be woken, and checks the outputs then.
struct Rescuer {
    gate: Arc<Gate>,
    dirs: Arc<Dirs>,
    heard: AtomicUsize,
}

impl Observer for Rescuer {
    fn progress(&self, _: &'static str, _: u64, _: Option<u64>) {}

    fn stuck(&self, error: &SortError) {
        assert!(matches!(error, SortError::Stalled { .. } | SortError::Interrupted), "{error}");
        self.dirs.assert_nothing_published();
        self.heard.fetch_add(1, Ordering::Relaxed);
        self.gate.open();
    }
}

/// Sorts with a mapper that waits for the rescue, and cancels that sort when it does if that is wanted;
/// the error, and how often the rescuer was called.
fn stalled(patience: Duration, cancelled: bool) -> (SortError, usize) {
    let dirs = Arc::new(Dirs::with_input(&data::fixed(Shape::Random, 100, 10, 200_000, 1)));
    let gate = Arc::new(Gate::default());
    let waiting = Arc::clone(&gate);
    let cancel = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&cancel);
    let slow = move || {
        // The sampling maps records too.
        if std::thread::current().name() == Some("distribute") {
            flag.store(cancelled, Ordering::Relaxed);
            waiting.pass();
        }
    };
    let mut spec = SortSpec { patience, ..dirs.spec(job(slow)) };
    spec.memory_bytes = common::minimum_memory(&spec);
    let rescuer = Arc::new(Rescuer { gate, dirs: Arc::clone(&dirs), heard: 0.into() });
    let (sender, receiver) = channel();
    let hearing = Arc::clone(&rescuer);
    std::thread::spawn(move || {
        let _ = sender.send(sort(&spec, &cancel, &*hearing));
    });
    let result: Result<SortReport, SortError> =
        receiver.recv_timeout(Duration::from_mins(1)).expect("the sort hung");
    dirs.assert_nothing_published();
    (result.unwrap_err(), rescuer.heard.load(Ordering::Relaxed))
}

#[test]
fn a_stage_that_never_gets_on_ends_the_sort_with_the_state_of_all() {
    let _alone = alone();
    let (error, heard) = stalled(Duration::from_millis(500), false);
    let SortError::Stalled { stood_s, state } = &error else { panic!("{error}") };
    assert!(*stood_s >= 0.5 && *stood_s < 5.0, "{stood_s}");
    assert_eq!(error.code(), "VEN-SORT-STALLED");
    for part in ["0 requests with the kernel", "distribute 2", "read 1", "chunks: ", "memory: "] {
        assert!(state.contains(part), "no {part:?} in {state}");
    }
    assert_eq!(heard, 1, "the caller must learn of threads that cannot be woken");
}

/// After an interrupt, a thread in the caller's code can't be woken: the caller is notified.
#[test]
fn a_thread_that_cannot_be_woken_is_told_of_whatever_ended_the_sort() {
    let _alone = alone();
    let (error, heard) = stalled(Duration::from_millis(500), true);
    assert!(matches!(error, SortError::Interrupted), "{error}");
    assert_eq!(heard, 1);
}

#[test]
fn a_stage_that_computes_for_long_is_no_stall() {
    let _alone = alone();
    let calls = AtomicUsize::new(0);
    let dirs = Dirs::with_input(&data::fixed(Shape::Random, 100, 10, 1000, 1));
    let compute = move || {
        let until = Instant::now() + Duration::from_millis(900);
        while calls.fetch_add(1, Ordering::Relaxed) < usize::MAX && Instant::now() < until {}
    };
    let patience = Duration::from_millis(200);
    let spec = SortSpec { patience, threads: 1, ..dirs.spec(job(compute)) };
    assert_eq!(run(&spec).unwrap().output.records, 1000);
}

#[test]
fn a_sort_without_a_limit_waits() {
    let _alone = alone();
    let dirs = Dirs::with_input(&data::fixed(Shape::Random, 100, 10, 1000, 1));
    let sleep = || std::thread::sleep(Duration::from_millis(300));
    let spec = SortSpec { patience: Duration::ZERO, threads: 1, ..dirs.spec(job(sleep)) };
    assert_eq!(run(&spec).unwrap().output.records, 1000);
}
