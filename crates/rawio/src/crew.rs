//! Threads that begin together or not at all.
//!
//! A limit on processes or memory may refuse any thread. Threads that have begun by then could wait
//! forever for a refused one, so all threads must exist before any begins.

use std::io;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{self, Builder, Scope, ScopedJoinHandle};
use std::time::Duration;

use rustix::param::page_size;
use rustix::process::{Resource, getrlimit};

use crate::start_line::StartLine;

const CODES: &[(&str, &str)] =
    &[("VEN-AGENT-THREADS", "The system refused a thread or an I/O queue; nothing was begun.")];

/// The stable code of the error that a thread was refused, and its meaning.
pub const REFUSED: (&str, &str) = CODES[0];

/// The remedy for that.
pub const REFUSED_HINT: &str = "use fewer threads, or raise what limits processes and memory: \
                                ulimit -u, ulimit -v, pids.max of the control group";

/// Address space left when a thread is made: for its stack, and for error reports.
const KEPT_BYTES: u64 = 24 << 20;

/// Threads of one scope that are being made. If it is dropped before [`Crew::start`], as it is when a
/// thread was refused, those made so far end without having begun.
pub struct Crew<'scope, 'env, E> {
    scope: &'scope Scope<'scope, 'env>,
    line: Arc<StartLine<E>>,
    threads: usize,
}

impl<'scope, 'env, E: Send + 'scope> Crew<'scope, 'env, E> {
    /// A crew without threads.
    pub fn new(scope: &'scope Scope<'scope, 'env>) -> Self {
        Self { scope, line: Arc::new(StartLine::new()), threads: 0 }
    }

    /// Makes a thread. It calls `prepare` immediately and, when all are started, `work` with the
    /// result; it returns `None` if they never were. Fails if the system refuses the thread.
    pub fn spawn<P, T: Send + 'scope>(
        &mut self,
        name: &str,
        prepare: impl FnOnce() -> Result<P, E> + Send + 'scope,
        work: impl FnOnce(P) -> T + Send + 'scope,
    ) -> io::Result<ScopedJoinHandle<'scope, Option<T>>> {
        if !has_address_space() {
            return Err(io::ErrorKind::OutOfMemory.into());
        }
        let line = Arc::clone(&self.line);
        let handle = Builder::new().name(name.to_owned()).spawn_scoped(self.scope, move || {
            // A thread that panics while it prepares must not be waited for.
            let home = Home(&line);
            match prepare() {
                Ok(prepared) => line.arrive().then(|| {
                    std::mem::forget(home);
                    work(prepared)
                }),
                Err(reason) => {
                    line.refuse(reason);
                    None
                }
            }
        })?;
        self.threads += 1;
        Ok(handle)
    }

    /// Lets all threads begin when all are prepared; the reason if one cannot be.
    pub fn start(self) -> Result<(), E> {
        self.line.start(self.threads)
    }
}

impl<E> Drop for Crew<'_, '_, E> {
    fn drop(&mut self) {
        self.line.dismiss();
    }
}

struct Home<'l, E>(&'l StartLine<E>);

impl<E> Drop for Home<'_, E> {
    fn drop(&mut self) {
        self.0.dismiss();
    }
}

/// Whether a limit on address space (ulimit -v) leaves enough for one thread more. A thread that finds
/// no memory for its own start cannot say so: it ends the process, or hangs in doing so.
fn has_address_space() -> bool {
    let Some(limit) = getrlimit(Resource::As).current else { return true };
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: Option<u64> = statm.split(' ').next().and_then(|pages| pages.parse().ok());
    pages.is_none_or(|pages| pages * page_size() as u64 + KEPT_BYTES <= limit)
}

/// Runs each job on its own thread, and `tick` ten times a second until they end. Returns their
/// results in order. Fails, and runs none, if the system refuses a thread.
pub fn side_by_side<T: Send>(
    name: &str,
    jobs: impl IntoIterator<Item = impl FnOnce() -> T + Send>,
    tick: impl Fn(),
) -> io::Result<Vec<T>> {
    thread::scope(|scope| {
        let mut crew: Crew<'_, '_, ()> = Crew::new(scope);
        let (alive, ended) = channel::<()>();
        let mut threads = Vec::new();
        for job in jobs {
            let alive = alive.clone();
            threads.push(crew.spawn(
                name,
                || Ok(()),
                move |()| {
                    let _alive = alive;
                    job()
                },
            )?);
        }
        drop(alive);
        // Nothing to prepare, so it can't fail.
        let _ = crew.start();
        while ended.recv_timeout(Duration::from_millis(100)) == Err(RecvTimeoutError::Timeout) {
            tick();
        }
        let ends =
            threads.into_iter().map(|thread| thread.join().unwrap_or_else(|p| resume_unwind(p)));
        Ok(ends.flatten().collect())
    })
}
