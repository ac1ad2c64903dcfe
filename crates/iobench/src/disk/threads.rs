//! Concurrent jobs, one thread each.

use super::error::DiskError;

/// Runs each job on its own thread, and `tick` ten times a second until they end. A job that fails
/// makes the others stop.
pub(super) fn side_by_side<T: Send>(
    jobs: impl Iterator<Item = impl FnOnce() -> Result<T, DiskError> + Send>,
    tick: impl Fn(),
) -> Result<Vec<T>, DiskError> {
    let outcomes = rawio::side_by_side("disk", jobs, tick).map_err(DiskError::Threads)?;
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
