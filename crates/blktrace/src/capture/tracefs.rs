//! An instance of tracefs: the kernel's tracepoints, with buffers that no other process uses.
//!
//! The process that makes the folder keeps it locked until it exits. So a killed process leaves a
//! folder with a known name and no lock, even where process numbers differ between namespaces.
//!
//! Source: Linux, Documentation/trace/ftrace.rst, "Instances", "`trace_pipe_raw`", "stats".

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, statfs};

use crate::error::TraceError;

const PLACES: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The type number of this kind of file system.
const MAGIC: u32 = 0x7472_6163;
const LOCKDOWN: &str = "/sys/kernel/security/lockdown";
const PREFIX: &str = "venturi-trace-";
/// No file that is read here is longer.
const TEXT_BYTES: usize = 64 << 10;

/// An instance, which goes when this does.
pub struct Instance {
    path: PathBuf,
    _lock: File,
}

/// The counts of a CPU's buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Events that were read.
    pub read: u64,
    /// Events that never will be: overwritten, or refused for want of room.
    pub lost: u64,
    /// Events that are still in it.
    pub left: u64,
}

impl Instance {
    /// A new one, in which nothing is enabled. What killed ones left is removed.
    pub fn create() -> Result<Self, TraceError> {
        let all = root()?.join("instances");
        let refused = |reason| refused(&all, reason);
        // Prevents others from making or removing one during this.
        let door = File::open(&all).map_err(refused)?;
        door.lock().map_err(refused)?;
        remove_abandoned(&all);
        let mut number = 0;
        let path = loop {
            let path = all.join(format!("{PREFIX}{number}"));
            match fs::create_dir(&path) {
                Ok(()) => break path,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                Err(reason) => return Err(refused(reason)),
            }
        };
        let locked = File::open(&path).and_then(|lock| {
            lock.lock()?;
            Ok(lock)
        });
        match locked {
            Ok(lock) => Ok(Self { path, _lock: lock }),
            Err(reason) => {
                let _ = remove(&path);
                Err(refused(reason))
            }
        }
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it has such a file.
    pub fn has(&self, name: &str) -> bool {
        self.path.join(name).exists()
    }

    /// The content of a file.
    pub fn text(&self, name: &str) -> Result<String, TraceError> {
        let path = self.path.join(name);
        read(&path).map_err(|reason| refused(&path, reason))
    }

    /// Writes a file.
    pub fn set(&self, name: &str, value: &str) -> Result<(), TraceError> {
        let path = self.path.join(name);
        put(&path, value).map_err(|reason| refused(&path, reason))
    }

    /// The processors, and of each the pages of its buffer; reading never waits.
    pub fn pages(&self) -> Result<Vec<(u32, File)>, TraceError> {
        let folder = self.path.join("per_cpu");
        let entries = fs::read_dir(&folder).map_err(|reason| refused(&folder, reason))?;
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut cpus: Vec<u32> =
            names.filter_map(|name| name.strip_prefix("cpu")?.parse().ok()).collect();
        cpus.sort_unstable();
        cpus.into_iter()
            .map(|cpu| {
                let path = folder.join(format!("cpu{cpu}/trace_pipe_raw"));
                let flags = OFlags::NONBLOCK.bits() as i32;
                let opened = OpenOptions::new().read(true).custom_flags(flags).open(&path);
                Ok((cpu, opened.map_err(|reason| refused(&path, reason))?))
            })
            .collect()
    }

    /// The counts of a CPU's buffer.
    pub fn seen(&self, cpu: u32) -> Result<Seen, TraceError> {
        Ok(Seen::of(&self.text(&format!("per_cpu/cpu{cpu}/stats"))?))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = remove(&self.path);
    }
}

impl Seen {
    fn of(stats: &str) -> Self {
        let mut seen = Self::default();
        for (name, value) in stats.lines().filter_map(|line| line.split_once(": ")) {
            let Ok(value) = value.trim().parse::<u64>() else { continue };
            match name {
                "read events" => seen.read += value,
                "entries" => seen.left += value,
                "overrun" | "commit overrun" | "dropped events" => seen.lost += value,
                _ => {}
            }
        }
        seen
    }
}

/// Where tracefs is mounted.
fn root() -> Result<PathBuf, TraceError> {
    let mut places = PLACES.iter();
    let found = places.find(|at| statfs(**at).is_ok_and(|about| about.f_type as u32 == MAGIC));
    found.map(PathBuf::from).ok_or(TraceError::NoTracefs)
}

fn remove_abandoned(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        let free = ours && File::open(entry.path()).is_ok_and(|lock| lock.try_lock().is_ok());
        if free {
            let _ = remove(&entry.path());
        }
    }
}

fn remove(path: &Path) -> io::Result<()> {
    // Another reader can prevent the removal; then recording has at least stopped.
    put(&path.join("tracing_on"), "0")?;
    put(&path.join("events/enable"), "0")?;
    fs::remove_dir(path)
}

/// The content of a file of which only the first reading gives anything, as `header_page`.
fn read(path: &Path) -> io::Result<String> {
    let (mut file, mut text, mut filled) = (File::open(path)?, vec![0; TEXT_BYTES], 0);
    loop {
        match file.read(&mut text[filled..])? {
            0 => return Ok(String::from_utf8_lossy(&text[..filled]).into_owned()),
            more => filled += more,
        }
    }
}

fn put(path: &Path, value: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(value.as_bytes())
}

fn refused(path: &Path, reason: io::Error) -> TraceError {
    let lockdown = fs::read_to_string(LOCKDOWN).unwrap_or_default();
    why(path, reason, &lockdown)
}

/// Why tracefs refuses, where the kernel's lockdown is as `lockdown` says.
fn why(path: &Path, reason: io::Error, lockdown: &str) -> TraceError {
    let path = path.to_path_buf();
    match reason.kind() {
        io::ErrorKind::PermissionDenied if lockdown.contains("[confidentiality]") => {
            TraceError::Lockdown
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            TraceError::Rights { path, reason, perf: None }
        }
        _ => TraceError::Kernel { path, reason },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_read_as_the_kernel_writes_it() {
        let stats = "entries: 3\noverrun: 40\ncommit overrun: 0\nbytes: 2048\n\
                     oldest event ts:  1324.788895\nnow ts:  1400.000000\n\
                     dropped events: 7\nread events: 1234\n";
        assert_eq!(Seen::of(stats), Seen { read: 1234, lost: 47, left: 3 });
    }

    #[test]
    fn a_refusal_says_why() {
        let code = |kind: io::ErrorKind, lockdown: &str| {
            let error = why(Path::new("/x"), kind.into(), lockdown);
            assert!(!error.hint().is_empty());
            error.code()
        };
        let denied = io::ErrorKind::PermissionDenied;
        assert_eq!(code(denied, "none integrity [confidentiality]\n"), "VEN-TRACE-LOCKDOWN");
        assert_eq!(code(denied, "none [integrity] confidentiality\n"), "VEN-TRACE-RIGHTS");
        assert_eq!(code(denied, ""), "VEN-TRACE-RIGHTS");
        assert_eq!(code(io::ErrorKind::ReadOnlyFilesystem, ""), "VEN-TRACE-RIGHTS");
        assert_eq!(code(io::ErrorKind::OutOfMemory, ""), "VEN-TRACE-KERNEL");
    }
}
