//! Processes started by this one: known by number, ended together, with nothing left behind.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, kill_process, pidfd_open,
    pidfd_send_signal, wait, waitid, waitpid,
};

const POLL: Duration = Duration::from_millis(10);
const REAP: Duration = Duration::from_secs(1);

/// How a child can be reached.
#[derive(Clone)]
pub struct Handle {
    pidfd: Arc<OwnedFd>,
    /// A supervisor's leash: closing it ends the supervised command.
    leash: Arc<Mutex<Option<ChildStdin>>>,
}

impl Handle {
    /// Sends a signal; to one that has ended, nothing.
    pub fn signal(&self, signal: Signal) {
        let _ = pidfd_send_signal(&self.pidfd, signal);
    }

    /// Lets go of a supervisor's command.
    pub fn release(&self) {
        drop(self.leash.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

#[derive(Default)]
struct Table {
    children: HashMap<i32, Handle>,
    closed: bool,
}

/// The children of this process.
#[derive(Default)]
pub struct Children(Mutex<Table>);

impl Children {
    /// Starts `command`; its standard input, if piped, is its leash.
    pub fn spawn(&self, command: &mut Command) -> io::Result<(Child, Handle)> {
        // Hold the lock, so that the child doesn't count as an orphan.
        let mut table = self.locked();
        if table.closed {
            return Err(Errno::CANCELED.into());
        }
        let mut child = command.spawn()?;
        let handle = Handle {
            pidfd: Arc::new(pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?),
            leash: Arc::new(Mutex::new(child.stdin.take())),
        };
        table.children.insert(child.id() as i32, handle.clone());
        Ok((child, handle))
    }

    /// Waits for the end of one of them: its exit status, or minus the number of a signal.
    pub fn wait(&self, child: &mut Child) -> io::Result<i32> {
        let status = child.wait();
        self.locked().children.remove(&(child.id() as i32));
        status.map(number)
    }

    /// Forgets orphans that have ended, again and again: they are ours as we are their reaper.
    pub fn reap_orphans(&self) {
        let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        loop {
            thread::sleep(REAP);
            let table = self.locked();
            if !matches!(waitid(WaitId::All, look), Ok(Some(_))) {
                continue; // one call, where a look at all processes would disturb who measures
            }
            for orphan in zombies().into_iter().filter(|pid| !table.children.contains_key(pid)) {
                let _ = waitpid(Pid::from_raw(orphan), WaitOptions::NOHANG);
            }
        }
    }

    /// Ends all: releases supervised commands, asks the rest to end, and after `grace` kills the
    /// remaining ones, with all descendants. Nothing can be started any more.
    pub fn end(&self, grace: Duration) {
        let deadline = Instant::now() + grace;
        {
            let mut table = self.locked();
            table.closed = true;
            for handle in table.children.values() {
                let held = handle.leash.lock().is_ok_and(|leash| leash.is_some());
                if held { handle.release() } else { handle.signal(Signal::TERM) }
            }
        }
        while !self.locked().children.is_empty() && Instant::now() < deadline {
            thread::sleep(POLL);
        }
        kill_descendants(grace);
    }

    fn locked(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An exit status, or minus the number of the signal.
pub fn number(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| -signal)).unwrap_or(-1)
}

/// Asks all descendants to end, and kills what is left after `grace`; nothing if there is no child.
pub fn end_descendants(grace: Duration) {
    let deadline = Instant::now() + grace;
    if !reap_ended() {
        return;
    }
    for pid in descendants() {
        let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::TERM));
    }
    while Instant::now() < deadline {
        if !reap_ended() {
            return;
        }
        thread::sleep(POLL);
    }
    kill_descendants(grace);
}

/// Kills until there is no child: orphans of the killed become our children. Gives up on unkillable
/// ones after `patience`.
pub fn kill_descendants(patience: Duration) {
    let deadline = Instant::now() + patience;
    while Instant::now() < deadline {
        for pid in descendants() {
            let _ = Pid::from_raw(pid).map(|pid| kill_process(pid, Signal::KILL));
        }
        if !reap_ended() {
            return;
        }
        thread::sleep(POLL);
    }
}

/// Forgets the children that have ended; whether there are others.
fn reap_ended() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

fn descendants() -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (pid, _, parent) in processes() {
        children.entry(parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut waiting = vec![std::process::id() as i32];
    while let Some(pid) = waiting.pop() {
        let below = children.remove(&pid).unwrap_or_default();
        waiting.extend(&below);
        found.extend(below);
    }
    found
}

/// Children that have ended and have not been waited for.
fn zombies() -> Vec<i32> {
    let ours = std::process::id() as i32;
    let of_ours = |&(_, state, parent): &(i32, u8, i32)| state == b'Z' && parent == ours;
    processes().filter(of_ours).map(|(pid, ..)| pid).collect()
}

/// Number, state and parent of each process.
fn processes() -> impl Iterator<Item = (i32, u8, i32)> {
    std::fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read(entry.path().join("stat")).ok()?;
        // pid (name) state ppid ...: the name may hold anything.
        let after = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let mut words = std::str::from_utf8(&stat[after..]).ok()?.split_ascii_whitespace();
        let state = words.next()?.bytes().next()?;
        Some((pid, state, words.next()?.parse().ok()?))
    })
}
