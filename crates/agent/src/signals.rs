//! Signals that ask a command to stop, and one that would end it without its cleaning up.

use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::events::{EXIT_USER, Failure};

/// A flag that SIGINT, SIGTERM and SIGHUP raise, and that there is no more memory: the command cleans
/// up and ends.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        register(signal, Arc::clone(&stop))?;
    }
    crate::reserve::stop_by(Arc::clone(&stop));
    Ok(stop)
}

/// Makes a write beyond the limit on the size of files an error like any other, as one to a pipe
/// without a reader is already.
pub fn heed_file_limit() -> Result<(), Failure> {
    register(SIGXFSZ, Arc::default())
}

/// Sleeps that SIGINT, SIGTERM or SIGHUP ends.
pub struct Stop {
    wake: UnixStream,
    interrupted: Arc<AtomicBool>,
}

impl Stop {
    /// Hears signals from now on.
    pub fn on_signals() -> Result<Self, Failure> {
        let interrupted = Arc::new(AtomicBool::new(false));
        // The flag is set before the pipe wakes us, because it is registered first.
        register(SIGINT, Arc::clone(&interrupted))?;
        let (wake, signalled) = UnixStream::pair().map_err(|error| failed(SIGINT, &error))?;
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let wakes = |pipe| signal_hook::low_level::pipe::register(signal, pipe);
            signalled.try_clone().and_then(wakes).map_err(|error| failed(signal, &error))?;
        }
        Ok(Self { wake, interrupted })
    }

    /// Waits until `deadline`, or less if a signal has come or the reader of `output` has gone away;
    /// true if one has.
    pub fn wait(&self, deadline: Instant, output: Option<BorrowedFd<'_>>) -> bool {
        let mut fds = vec![PollFd::new(&self.wake, PollFlags::IN)];
        // Of it errors are reported unasked.
        fds.extend(output.map(|output| PollFd::from_borrowed_fd(output, PollFlags::empty())));
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
                Ok(0) => return false,
                Err(Errno::INTR) => {}
                Ok(_) | Err(_) => return true,
            }
        }
    }

    /// Whether SIGINT has come.
    pub fn interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

fn register(signal: i32, flag: Arc<AtomicBool>) -> Result<(), Failure> {
    signal_hook::flag::register(signal, flag).map(drop).map_err(|error| failed(signal, &error))
}

fn failed(signal: i32, error: &io::Error) -> Failure {
    Failure {
        code: "VEN-AGENT-SIGNAL",
        message: format!("cannot watch for signal {signal}: {error}"),
        place: serde_json::Value::Null,
        hint: String::new(),
        exit: EXIT_USER,
    }
}
