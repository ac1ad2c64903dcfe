//! The folder with the test files of one measurement in one directory.
//!
//! It is named `.venturi-disk-<pid>-<16 hex digits>` and locked (`flock` on the folder itself)
//! while the measurement lives. The next start recognizes the leftovers of a killed one: a folder
//! with such a name and a free lock. Only files with our own names in it are ever removed.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};

use super::error::DiskError;

const PREFIX: &str = ".venturi-disk-";
/// Test files are named with this prefix and a number.
const FILE_PREFIX: &str = "data-";

/// A locked folder, removed with its files when dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    handle: File,
}

impl Folder {
    /// Makes and locks a folder in `dir`.
    pub(crate) fn create(dir: &Path) -> Result<Self, DiskError> {
        let problem = |error: io::Error| DiskError::Dir {
            path: dir.to_owned(),
            problem: format!("cannot create test files: {error}"),
        };
        // Someone who cleans up may see the folder before it is locked and remove it: try again.
        for _ in 0..16 {
            let name = format!("{PREFIX}{}-{:016x}", std::process::id(), crate::seed());
            let path = dir.join(name);
            fs::DirBuilder::new().mode(0o700).create(&path).map_err(problem)?;
            if let Some(folder) = Self::lock(&path).map_err(problem)? {
                return Ok(folder);
            }
        }
        Err(problem(io::ErrorKind::ResourceBusy.into()))
    }

    /// The folder at `path` if its lock was free and it is still there.
    fn lock(path: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let handle = match rustix::fs::open(path, flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        match handle.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        let same = fs::symlink_metadata(path).is_ok_and(|m| {
            handle.metadata().is_ok_and(|h| (m.dev(), m.ino()) == (h.dev(), h.ino()))
        });
        Ok(same.then(|| Self { path: path.to_owned(), handle }))
    }

    /// The path of test file `number`.
    pub(crate) fn file(&self, number: usize) -> PathBuf {
        self.path.join(format!("{FILE_PREFIX}{number:03}"))
    }

    /// Removes our files, then the folder if nothing else is in it; the bytes that were freed.
    fn clear(&self) -> io::Result<u64> {
        let mut freed = 0;
        for entry in rustix::fs::Dir::read_from(&self.handle)? {
            let entry = entry?;
            if !entry.file_name().to_str().is_ok_and(is_file_name) {
                continue;
            }
            let name = entry.file_name();
            let stat = rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?;
            if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile {
                rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?;
                freed += stat.st_size as u64;
            }
        }
        fs::remove_dir(&self.path)?;
        Ok(freed)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Leftovers are an orphan for the next start.
        let _ = self.clear();
    }
}

/// Removes what killed measurements left in `dir`: (folder, bytes freed) of each.
pub(crate) fn remove_orphans(dir: &Path) -> io::Result<Vec<(PathBuf, u64)>> {
    let mut removed = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let ours = entry.file_name().to_str().is_some_and(is_folder_name)
            && entry.metadata().is_ok_and(|m| m.is_dir() && m.uid() == own_uid());
        if !ours {
            continue;
        }
        let Ok(Some(orphan)) = Folder::lock(&entry.path()) else {
            continue; // in use, or not ours to open
        };
        // A folder with something foreign in it stays, and so does what is foreign.
        if let Ok(freed) = orphan.clear() {
            removed.push((entry.path(), freed));
        }
    }
    Ok(removed)
}

fn own_uid() -> u32 {
    rustix::process::geteuid().as_raw()
}

fn is_folder_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-')).is_some_and(|(pid, random)| {
        !pid.is_empty()
            && pid.bytes().all(|b| b.is_ascii_digit())
            && random.len() == 16
            && random.bytes().all(|b| b.is_ascii_hexdigit() && !b.is_ascii_uppercase())
    })
}

fn is_file_name(name: &str) -> bool {
    name.strip_prefix(FILE_PREFIX)
        .is_some_and(|n| n.len() >= 3 && n.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_folder_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(dir.path()).unwrap();
        fs::write(folder.file(0), b"x").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn orphans_go_and_folders_in_use_or_foreign_stay() {
        let dir = tempfile::tempdir().unwrap();
        let in_use = Folder::create(dir.path()).unwrap();
        fs::write(in_use.file(0), b"x").unwrap();
        let orphan = dir.path().join(".venturi-disk-1-0123456789abcdef");
        fs::create_dir(&orphan).unwrap();
        fs::write(orphan.join("data-000"), b"12345").unwrap();
        let with_foreign = dir.path().join(".venturi-disk-2-0123456789abcdef");
        fs::create_dir(&with_foreign).unwrap();
        fs::write(with_foreign.join("data-000"), b"x").unwrap();
        fs::write(with_foreign.join("letter.txt"), b"dear").unwrap();
        let similar = dir.path().join(".venturi-disk-mine");
        fs::create_dir(&similar).unwrap();
        fs::write(similar.join("data-000"), b"x").unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("data-000"), b"x").unwrap();
        let link = dir.path().join(".venturi-disk-3-0123456789abcdef");
        std::os::unix::fs::symlink(elsewhere.path(), &link).unwrap();

        assert_eq!(remove_orphans(dir.path()).unwrap(), [(orphan.clone(), 5)]);
        assert!(!orphan.exists());
        assert!(in_use.file(0).exists());
        assert!(with_foreign.join("letter.txt").exists());
        assert!(similar.join("data-000").exists());
        assert!(elsewhere.path().join("data-000").exists());
    }

    #[test]
    fn names_are_told_apart() {
        assert!(is_folder_name(".venturi-disk-12-00ff00ff00ff00ff"));
        for name in [
            ".venturi-disk--00ff00ff00ff00ff",
            ".venturi-disk-12-00FF00ff00ff00ff",
            ".venturi-disk-12-00ff",
            "x.venturi-disk-12-00ff00ff00ff00ff",
            ".venturi-disk-12-00ff00ff00ff00ff.bak",
        ] {
            assert!(!is_folder_name(name), "{name}");
        }
    }
}
