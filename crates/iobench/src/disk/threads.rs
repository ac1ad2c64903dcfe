//! Jobs beside each other, each on a thread of its own.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use super::error::DiskError;

/// Runs each job on a thread of its own, and `tick` ten times a second meanwhile. A job that fails
/// sees to it that the others stop.
pub(super) fn side_by_side<T: Send>(
    jobs: impl Iterator<Item = impl FnOnce() -> Result<T, DiskError> + Send>,
    tick: impl Fn(),
) -> Result<Vec<T>, DiskError> {
    let outcomes: Vec<Result<T, DiskError>> = std::thread::scope(|scope| {
        let (alive, ended) = channel::<()>();
        let workers: Vec<_> = jobs
            .map(|job| {
                let alive = alive.clone();
                scope.spawn(move || {
                    let _alive = alive;
                    job()
                })
            })
            .collect();
        drop(alive);
        while ended.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
            tick();
        }
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|p| std::panic::resume_unwind(p)))
            .collect()
    });
    let mut done = Vec::with_capacity(outcomes.len());
    let mut failure = None;
    for outcome in outcomes {
        match outcome {
            Ok(value) => done.push(value),
            // A job that was stopped because another failed says "interrupted".
            Err(DiskError::Interrupted) if failure.is_some() => {}
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(done), Err)
}
