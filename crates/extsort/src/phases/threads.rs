//! The threads of a phase: how they begin and fail together, and how they are watched.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Duration;

use rawio::Crew;

use crate::error::SortError;
use crate::phases::stage::Shared;
use crate::phases::watch::{Gauges, Stall};

/// Runs `work`; its error, or a panic in it, fails the sort.
pub(crate) fn guarded<T>(
    shared: &Shared<'_>,
    work: impl FnOnce() -> Result<T, SortError>,
) -> Option<T> {
    let result = std::panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(SortError::Panic(text.unwrap_or("no message").to_owned()))
    });
    result.map_err(|error| shared.fail(error)).ok()
}

/// The threads of one phase. All exist, with their resources, before any begins; if one is refused,
/// none begins.
pub(crate) struct Stages<'s, 'env> {
    crew: Crew<'s, 'env, SortError>,
    shared: &'s Shared<'s>,
}

impl<'s, 'env> Stages<'s, 'env> {
    pub(crate) fn new(scope: &'s Scope<'s, 'env>, shared: &'s Shared<'s>) -> Self {
        Self { crew: Crew::new(scope), shared }
    }

    /// A thread that needs nothing but itself.
    pub(crate) fn spawn<T: Send + 's>(
        &mut self,
        name: &'static str,
        work: impl FnOnce() -> T + Send + 's,
    ) -> Result<ScopedJoinHandle<'s, Option<T>>, SortError> {
        self.spawn_with(name, || Ok(()), |()| work())
    }

    /// Spawns a thread that begins with the result of `prepare`.
    pub(crate) fn spawn_with<P, T: Send + 's>(
        &mut self,
        name: &'static str,
        prepare: impl FnOnce() -> Result<P, SortError> + Send + 's,
        work: impl FnOnce(P) -> T + Send + 's,
    ) -> Result<ScopedJoinHandle<'s, Option<T>>, SortError> {
        let shared = self.shared;
        let work = move |prepared| {
            let _alive = shared.enter(name);
            work(prepared)
        };
        self.crew.spawn(name, prepare, work).map_err(refused)
    }

    pub(crate) fn start(self) -> Result<(), SortError> {
        self.crew.start()
    }
}

fn refused(source: io::Error) -> SortError {
    SortError::Refused { what: "a thread", source }
}

/// How often the watch looks whether the sort has failed.
const LOOK: Duration = Duration::from_millis(20);

/// Watches a phase: wakes all threads if the sort failed, was canceled or stalled, and reports
/// progress.
pub(crate) struct Watch<'s> {
    done: Arc<AtomicBool>,
    thread: ScopedJoinHandle<'s, Option<()>>,
}

impl<'s> Watch<'s> {
    pub(crate) fn spawn(
        stages: &mut Stages<'s, '_>,
        tell: impl Fn() + Send + 's,
        abort: impl Fn() + Send + 's,
        gauges: Gauges<'s>,
    ) -> Result<Self, SortError> {
        let done = Arc::new(AtomicBool::new(false));
        let (seen, shared) = (Arc::clone(&done), stages.shared);
        let watch = move || {
            let ended = || seen.load(Ordering::Acquire);
            let mut stall = Stall::new(shared);
            while !ended() && !shared.is_failed() {
                tell();
                if let Some(error) = stall.look(&gauges) {
                    shared.fail(error);
                }
                thread::park_timeout(LOOK);
            }
            // Check again after the end: other threads may still wait for one that failed.
            if !shared.is_failed() {
                return;
            }
            abort();
            let mut stall = Stall::new(shared);
            while !ended() {
                if stall.look(&gauges).is_some() {
                    shared.resort();
                }
                thread::park_timeout(LOOK);
            }
        };
        let thread = stages.crew.spawn("watch", || Ok(()), move |()| watch()).map_err(refused)?;
        Ok(Self { done, thread })
    }

    /// Ends the watch; its thread is joined by the scope.
    pub(crate) fn stop(self) {
        drop(self);
    }
}

impl Drop for Watch<'_> {
    /// Also when the thread that was to stop it panics: the scope waits for the watch.
    fn drop(&mut self) {
        self.done.store(true, Ordering::Release);
        self.thread.thread().unpark();
    }
}

/// Runs `calls`, which wait only for the system, under their own watch.
pub(crate) fn watched<'a, T>(
    shared: &'a Shared<'a>,
    name: &'static str,
    calls: impl FnOnce() -> Result<T, SortError>,
) -> Result<T, SortError> {
    thread::scope(|scope| {
        let mut stages = Stages::new(scope, shared);
        let watch = Watch::spawn(&mut stages, || (), || (), Gauges::default())?;
        stages.start()?;
        let result = {
            let _alive = shared.enter(name);
            shared.in_kernel(calls)
        };
        watch.stop();
        // After an abort, the calls' own error isn't the cause.
        result.or_else(|error| shared.check().and(Err(error)))
    })
}
