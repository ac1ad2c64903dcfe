//! The threads of a phase: how they fail together, and how they are watched.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope};
use std::time::Duration;

use crate::error::SortError;
use crate::stage::Shared;

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

/// Watches a phase: wakes everybody when the sort has failed or was cancelled, and tells progress.
pub(crate) struct Watch<'s> {
    done: Arc<AtomicBool>,
    thread: thread::ScopedJoinHandle<'s, ()>,
}

impl<'s> Watch<'s> {
    pub(crate) fn start(
        scope: &'s Scope<'s, '_>,
        shared: &'s Shared<'_>,
        tell: impl Fn() + Send + 's,
        abort: impl Fn() + Send + 's,
    ) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        let thread = scope.spawn(move || {
            while !seen.load(Ordering::Acquire) && !shared.is_failed() {
                tell();
                thread::park_timeout(Duration::from_millis(20));
            }
            // Looked at once more after the end: others may still wait for one who failed.
            if shared.is_failed() {
                abort();
            }
        });
        Self { done, thread }
    }

    pub(crate) fn stop(self) {
        self.done.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}
