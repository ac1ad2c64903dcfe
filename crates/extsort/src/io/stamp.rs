//! Whether a file is still the one that was found.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// What the file system says of a file that changes when somebody writes or replaces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified_ns: i128,
    changed_ns: i128,
}

/// How closely a file is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rigour {
    /// Its place, length and the time it was written last.
    Content,
    /// The time of its last change of any kind too: the one time that nobody can set back. New rights
    /// or links are taken for a change.
    Everything,
}

impl Stamp {
    pub(crate) fn of(meta: &Metadata) -> Self {
        let ns = |seconds: i64, ns: i64| i128::from(seconds) * 1_000_000_000 + i128::from(ns);
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            bytes: meta.len(),
            modified_ns: ns(meta.mtime(), meta.mtime_nsec()),
            changed_ns: ns(meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// What is different of the file at `path` now, if anything is.
    pub(crate) fn change(&self, path: &Path, rigour: Rigour) -> io::Result<Option<String>> {
        let now = Self::of(&path.metadata()?);
        Ok(if (now.device, now.inode) != (self.device, self.inode) {
            Some("another file has its name".to_owned())
        } else if now.bytes != self.bytes {
            Some(format!("it had {} bytes and has {}", self.bytes, now.bytes))
        } else if now.modified_ns != self.modified_ns {
            Some(later("written", self.modified_ns, now.modified_ns))
        } else if rigour == Rigour::Everything && now.changed_ns != self.changed_ns {
            Some(later("changed", self.changed_ns, now.changed_ns))
        } else {
            None
        })
    }
}

/// That the time of something is another: `before` and `now` are nanoseconds since 1970.
fn later(what: &str, before: i128, now: i128) -> String {
    let seconds = |ns: i128| ns as f64 * 1e-9;
    format!(
        "it was last {what} {:.6} s {} it had been when the sort began",
        seconds((now - before).abs()),
        if now > before { "after" } else { "before" },
    )
}

/// What the file system says of a file that can be read. Refuses one that says that it has no bytes and
/// has some, as the files of /proc do: how much there is to read of those nobody knows.
pub(crate) fn describe(path: &Path) -> io::Result<Metadata> {
    // Some files of the kernel keep a reader waiting.
    let mut file =
        OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits() as i32).open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() && meta.len() == 0 && file.read(&mut [0])? > 0 {
        let text = "it says that it has no bytes and has some, as files of /proc do: copy it first";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(meta)
}
