//! Runs one command and leaves nothing of it behind.
//!
//! Its output goes to a log; at the end, one line of JSON to stdout reports how it ended and its
//! resource use. Closing our stdin (or dying, which closes it) ends the command. As a subreaper,
//! this process inherits and kills all descendants.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper,
    set_parent_process_death_signal, setsid,
};
use serde_json::json;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::children::{kill_descendants, number};

/// Time to end after a request, before a kill.
const GRACE: Duration = Duration::from_secs(5);
/// Longest wait for an unkillable process.
const KILL: Duration = Duration::from_hours(1);
/// Exit status of a command that cannot be executed.
const NOT_EXECUTED: u8 = 127;
/// This program, whatever has become of its file.
pub const OURSELVES: &str = "/proc/self/exe";

/// Supervises `command` to its end.
pub fn supervise(log: &Path, command: &[OsString]) -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    // The parent decides by closing stdin; a signal to our group must not end us first.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))?;
    }
    let out = OpenOptions::new().create(true).append(true).open(log)?;
    let mut child = Command::new(OURSELVES)
        .arg("execute")
        .arg("--")
        .args(command)
        .stdin(Stdio::null())
        .stdout(out.try_clone()?)
        .stderr(out)
        .spawn()?;
    let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let stopped = !ends_before_we_are_let_go(&pidfd)?;
    if stopped {
        let _ = pidfd_send_signal(&pidfd, Signal::TERM);
        if !is_ready(&pidfd, GRACE) {
            child.kill()?;
        }
    }
    let status = number(child.wait()?);
    kill_descendants(KILL);
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let report = json!({
        "status": status,
        "stopped": stopped,
        "user_s": seconds(used.user_time()),
        "system_s": seconds(used.system_time()),
        "peak_rss_bytes": used.max_rss() * 1024,
    });
    let _ = writeln!(io::stdout(), "{report}"); // the reader may be gone
    Ok(())
}

/// Becomes `command`, in a session of its own, killed with the process that started this one; the
/// exit status if it cannot.
pub fn execute(command: &[OsString]) -> u8 {
    // A refusal costs only what it is for.
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    let _ = setsid();
    let Some((program, arguments)) = command.split_first() else { return NOT_EXECUTED };
    let error = Command::new(program).args(arguments).exec();
    let _ = writeln!(io::stderr(), "{}: {error}", program.display());
    NOT_EXECUTED
}

fn seconds(time: TimeVal) -> f64 {
    time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6
}

/// Whether the command ends by itself; false: our stdin was closed before.
fn ends_before_we_are_let_go(pidfd: &impl AsFd) -> io::Result<bool> {
    let stdin = io::stdin();
    let mut byte = [0];
    loop {
        let mut fds = [PollFd::new(pidfd, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        if !fds[0].revents().is_empty() {
            return Ok(true);
        }
        if rustix::io::read(&stdin, &mut byte).unwrap_or(0) == 0 {
            return Ok(false);
        }
    }
}

fn is_ready(fd: &impl AsFd, patience: Duration) -> bool {
    let deadline = Instant::now() + patience;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(fd, PollFlags::IN)];
        match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
            Ok(0) => return false,
            Ok(_) => return true,
            Err(_) if left.is_zero() => return false,
            Err(_) => {}
        }
    }
}
