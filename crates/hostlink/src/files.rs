//! File operations, without a link: paths in, the system's answers out.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;
use serde::Serialize;

use crate::text::Text;

const MAX_LINKS: usize = 40;

/// The file at a path, or at the end of its links.
#[derive(Debug, Serialize)]
pub struct Info {
    name: Text,
    kind: &'static str,
    bytes: u64,
    modified_ns: i128,
    device: u64,
}

impl Info {
    fn new(name: Text, found: &Metadata) -> Self {
        let kind = if found.is_file() {
            "file"
        } else if found.is_dir() {
            "folder"
        } else {
            "other"
        };
        let modified_ns =
            i128::from(found.mtime()) * 1_000_000_000 + i128::from(found.mtime_nsec());
        Self { name, kind, bytes: found.len(), modified_ns, device: found.dev() }
    }
}

/// The file at `path`.
pub fn stat(path: &Path) -> io::Result<Info> {
    fs::metadata(path).map(|found| Info::new(Text::from(path), &found))
}

/// Makes a folder; with `parents` those above it, too.
pub fn mkdir(path: &Path, mode: u32, parents: bool, exist_ok: bool) -> io::Result<()> {
    let make = || fs::DirBuilder::new().mode(mode).create(path);
    let mut made = make();
    if let (Err(error), true, Some(parent)) = (&made, parents, path.parent())
        && error.kind() == io::ErrorKind::NotFound
    {
        mkdir(parent, 0o777, true, true)?;
        made = make();
    }
    match made {
        Err(_) if exist_ok && path.is_dir() => Ok(()),
        other => other,
    }
}

/// Removes a file, a link, or a folder with everything in it that can be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if is_absent(&error) => return Ok(()),
        other => other?,
    };
    let removed = if found.is_dir() { remove_folder(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if is_absent(&error) => Ok(()),
        other => other,
    }
}

fn remove_folder(path: &Path) -> io::Result<()> {
    if fs::remove_dir_all(path).is_ok() {
        return Ok(());
    }
    // Something cannot be removed: all else can.
    for entry in fs::read_dir(path)?.flatten() {
        let _ = remove(&entry.path());
    }
    fs::remove_dir_all(path)
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// `path` without links; what is not there is kept as it is.
pub fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut waiting = vec![std::path::absolute(path)?];
    let mut resolved = PathBuf::new();
    let mut links = 0;
    while let Some(path) = waiting.pop() {
        let mut parts = path.components();
        let Some(part) = parts.next() else { continue };
        waiting.push(parts.as_path().to_path_buf());
        match part {
            Component::ParentDir => drop(resolved.pop()),
            Component::CurDir => {}
            part => {
                let next = resolved.join(part);
                match fs::read_link(&next) {
                    Ok(to) => {
                        links += 1;
                        if links > MAX_LINKS {
                            return Err(Errno::LOOP.into());
                        }
                        if to.is_absolute() {
                            resolved.clear();
                        }
                        waiting.push(to);
                    }
                    Err(_) => resolved = next,
                }
            }
        }
    }
    Ok(resolved)
}

/// The entries of a folder.
pub fn entries(folder: &Path) -> io::Result<Vec<Info>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        found.extend(info_of(&entry.path(), Text::from(entry.file_name().as_os_str())));
    }
    Ok(found)
}

/// The entries in and below a folder, down to `depth`, each with its path from there; follows links
/// only with `follow`. Empty if there is no such folder.
pub fn walk(folder: &Path, depth: Option<usize>, follow: bool) -> Vec<Info> {
    let mut found = Vec::new();
    let mut waiting = vec![(folder.to_path_buf(), 1)];
    while let Some((below, level)) = waiting.pop() {
        for entry in fs::read_dir(&below).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(name) = path.strip_prefix(folder) else { continue };
            let Some(info) = info_of(&path, Text::from(name)) else { continue };
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            let deeper = depth.is_none_or(|depth| level < depth) && (follow || !is_link);
            if deeper && info.kind == "folder" {
                waiting.push((path, level + 1));
            }
            found.push(info);
        }
    }
    found
}

fn info_of(path: &Path, name: Text) -> Option<Info> {
    // A dangling link is listed as a link; a file that has disappeared is not listed.
    let found = fs::metadata(path).or_else(|_| fs::symlink_metadata(path)).ok()?;
    Some(Info::new(name, &found))
}

/// A file to read from.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(Errno::ISDIR.into());
    }
    Ok(file)
}

/// Makes a file durable, or a folder with all its content, and their names; does nothing if it
/// doesn't exist.
pub fn sync(path: &Path) -> io::Result<()> {
    if !path.exists() {
        return Ok(());
    }
    for each in walk(path, None, false) {
        let below = path.join(each.name.path());
        File::open(&below)?.sync_all()?;
    }
    File::open(path)?.sync_all()
}

/// Bytes that an ordinary user can still write on the file system of `path`.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path)?;
    Ok(found.f_bavail * found.f_frsize)
}

/// An error unless a file can be made in `folder`; it is gone again.
pub fn require_writable(folder: &Path) -> io::Result<()> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    match rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR) {
        // The file system has no files without a name.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let named = folder.join(unique(".venturi-", ""));
            fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&named)?;
            fs::remove_file(&named)
        }
        other => {
            other?;
            Ok(())
        }
    }
}

/// Makes a folder of our own among what is temporary.
pub fn temporary(prefix: &str) -> io::Result<PathBuf> {
    loop {
        let folder = std::env::temp_dir().join(unique(prefix, ""));
        match mkdir(&folder, 0o700, false, false) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|()| folder),
        }
    }
}

/// A file that becomes `path` when it is complete, and disappears if it is dropped before.
pub struct Replacement {
    /// To be written to.
    pub file: File,
    temporary: PathBuf,
    path: PathBuf,
}

impl Replacement {
    /// A replacement of `path`; creates a missing folder.
    pub fn of(path: &Path) -> io::Result<Self> {
        let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(Errno::ISDIR.into());
        };
        mkdir(folder, 0o777, true, true)?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(unique(".", ".part"));
        let temporary = folder.join(hidden);
        let file = File::create(&temporary)?;
        // Says that it is being written; a file system without locks goes by its age.
        let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
        Ok(Self { file, temporary, path: path.to_path_buf() })
    }

    /// Gives it its name; with `durable` it is on the disk then, and so is the name.
    pub fn commit(self, durable: bool) -> io::Result<()> {
        if durable {
            self.file.sync_all()?;
        }
        fs::rename(&self.temporary, &self.path)?;
        match self.path.parent() {
            Some(folder) if durable => File::open(folder)?.sync_all(),
            _ => Ok(()),
        }
    }
}

impl Drop for Replacement {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.temporary); // there is none once it has its name
    }
}

/// A name that is unique on this host: from the process, a counter and the time.
fn unique(prefix: &str, suffix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let moment = std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.subsec_nanos());
    format!("{prefix}{}-{count}-{moment:x}{suffix}", std::process::id())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_lead_where_the_system_says() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        fs::create_dir_all(place.join("a/b")).unwrap();
        symlink("a/b", place.join("relative")).unwrap();
        symlink(place.join("a"), place.join("absolute")).unwrap();
        symlink("loop", place.join("loop")).unwrap();
        for path in ["relative", "absolute/b", "relative/../b", "a/./b"] {
            let path = place.join(path);
            assert_eq!(resolve(&path).unwrap(), path.canonicalize().unwrap());
        }
        assert_eq!(resolve(&place.join("relative/none")).unwrap(), place.join("a/b/none"));
        assert_eq!(resolve(&place.join("loop")).unwrap_err().raw_os_error(), Some(40));
    }

    #[test]
    fn a_replacement_that_is_dropped_leaves_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "before").unwrap();
        drop(Replacement::of(&path).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"before");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        Replacement::of(&path).unwrap().commit(true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
