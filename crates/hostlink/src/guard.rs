//! Watches over the process that serves a link: whatever ends that one, even SIGKILL, none of its
//! processes stay.

use std::ffi::OsStr;
use std::io;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, getpid, pidfd_open, pidfd_send_signal, set_child_subreaper,
};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::children::{end_descendants, number};
use crate::supervise::OURSELVES;

/// Orphans of the dead process have this long to end before they are killed.
const GRACE: Duration = Duration::from_secs(10);

/// Runs this program with `arguments`, which has our pipes; says how it ended, as
/// [`number`] does, once nothing of it is left. A signal to us is one to it.
pub fn guard<S: AsRef<OsStr>>(arguments: impl IntoIterator<Item = S>) -> io::Result<i32> {
    let (wake, signalled) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, signalled.try_clone()?)?;
    }
    // Its orphaned processes become its children, and this process's after it dies.
    set_child_subreaper(Some(getpid()))?;
    let mut child = Command::new(OURSELVES).args(arguments).spawn()?;
    let pidfd = pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    loop {
        let mut fds = [PollFd::new(&pidfd, PollFlags::IN), PollFd::new(&wake, PollFlags::IN)];
        match poll(&mut fds, None) {
            Err(rustix::io::Errno::INTR) => continue,
            other => other?,
        };
        let [ended, signalled] = fds.map(|fd| !fd.revents().is_empty());
        if ended {
            break;
        }
        if signalled {
            rustix::io::read(&wake, &mut [0; 64])?;
            let _ = pidfd_send_signal(&pidfd, Signal::TERM);
        }
    }
    let status = number(child.wait()?);
    end_descendants(GRACE);
    Ok(status)
}
