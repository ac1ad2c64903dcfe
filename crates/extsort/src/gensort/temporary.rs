//! A file under a temporary name until it is whole.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rawio::DirectFile;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::GenerateError;

const PREFIX: &str = ".venturi-gen-";
const SUFFIX: &str = ".tmp";

/// A new file that vanishes when dropped, unless it was published. It is locked while its process
/// lives, which is how [`remove_orphans`] knows what a killed process left behind.
pub(super) struct Temporary {
    path: PathBuf,
    file: Arc<DirectFile>,
    /// Holds the lock by a handle of its own: those that a killed process's `io_uring` still uses
    /// are closed some time after it.
    _lock: Option<File>,
    published: bool,
}

impl Temporary {
    pub(super) fn create(dir: &Path) -> Result<Self, GenerateError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let unusable = |source| match GenerateError::io("cannot create a file in", dir, source) {
            GenerateError::Io { path, source, .. } => GenerateError::Output { path, source },
            full => full,
        };
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = dir.join(format!("{PREFIX}{}-{number}{SUFFIX}", std::process::id()));
            let file = match DirectFile::create_new(&path, true) {
                // Left by a killed process of the same number, in another namespace perhaps.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                other => Arc::new(other.map_err(unusable)?),
            };
            // A file system without locks only loses the removal of orphans.
            let lock = File::open(&path).ok().filter(is_locked_by_us);
            let temporary = Self { path, file, _lock: lock, published: false };
            // Another process may have removed it as an orphan before it was locked.
            if temporary.path.symlink_metadata().is_ok() {
                return Ok(temporary);
            }
        }
    }

    pub(super) fn file(&self) -> &Arc<DirectFile> {
        &self.file
    }

    /// Gives the file its name, durably. What it holds must have been synced before.
    pub(super) fn publish(mut self, target: &Path, overwrite: bool) -> Result<(), GenerateError> {
        let renamed = if overwrite {
            std::fs::rename(&self.path, target)
        } else {
            rename_new(&self.path, target)
        };
        match renamed {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(GenerateError::OutputExists { path: target.to_owned() });
            }
            other => other.map_err(|e| GenerateError::io("cannot rename to", target, e))?,
        }
        self.published = true;
        rawio::sync_dir(folder(target)).map_err(|e| GenerateError::io("cannot sync", target, e))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.published {
            // The caller has a worse error to report; the next start tries again.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// The folder of a file.
pub(super) fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // A file system that cannot promise it; the caller checked at the start.
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
            if to.symlink_metadata().is_ok() {
                return Err(io::ErrorKind::AlreadyExists.into());
            }
            std::fs::rename(from, to)
        }
        other => Ok(other?),
    }
}

/// Removes what killed generators left in `dir`, and nothing else: files with our kind of name that
/// no process holds the lock of.
pub(super) fn remove_orphans(dir: &Path) {
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if !is_file || !is_ours(&entry.file_name()) {
            continue;
        }
        let Ok(file) = File::open(entry.path()) else { continue };
        if is_locked_by_us(&file) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Takes the lock of a file if it is free, until the handle is closed.
fn is_locked_by_us(file: &File) -> bool {
    file.try_lock().is_ok()
}

/// Whether a file has a name that [`Temporary::create`] gives.
fn is_ours(name: &OsStr) -> bool {
    let middle = name.to_str().and_then(|n| n.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    middle
        .and_then(|middle| middle.split_once('-'))
        .is_some_and(|(process, number)| [process, number].iter().all(|n| is_number(n)))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orphans_are_removed_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let orphan = ".venturi-gen-4711-0.tmp";
        let locked = ".venturi-gen-4711-1.tmp";
        let others = [
            locked,
            "data",
            ".venturi-gen-.tmp",
            ".venturi-gen-4711-.tmp",
            ".venturi-gen-4711-x.tmp",
            ".venturi-gen-4711-0.tmp.old",
            ".venturi-sort-4711-0.tmp",
        ];
        for name in others.iter().chain([&orphan]) {
            std::fs::write(dir.path().join(name), b"x").unwrap();
        }
        let folder = dir.path().join(".venturi-gen-4711-2.tmp");
        std::fs::create_dir(&folder).unwrap();
        let holder = File::open(dir.path().join(locked)).unwrap();
        holder.try_lock().unwrap();

        remove_orphans(dir.path());

        assert!(!dir.path().join(orphan).exists());
        assert!(folder.exists());
        for name in others {
            assert!(dir.path().join(name).exists(), "{name}");
        }
    }

    #[test]
    fn a_dropped_file_is_gone_and_a_late_rival_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        drop(Temporary::create(dir.path()).unwrap());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let temporary = Temporary::create(dir.path()).unwrap();
        std::fs::write(&target, b"rival").unwrap();
        let error = temporary.publish(&target, false).unwrap_err();
        assert_eq!(error.code(), "VEN-GEN-OUTPUT-EXISTS");
        assert_eq!(std::fs::read(&target).unwrap(), b"rival");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        Temporary::create(dir.path()).unwrap().publish(&target, true).unwrap();
        assert_eq!(std::fs::read(&target).unwrap(), b"");
    }
}
