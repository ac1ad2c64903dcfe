//! Whether a file is still the one that was found.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

/// Metadata of a file that change when the file is written or replaced.
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
    /// Also the change time, which no user can set back. New permissions or links count as a
    /// change.
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

    /// The difference of the file at `path` now, or `None`.
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

/// Metadata of a file. Rejects files with content but a size of 0, such as those of /proc: their
/// length is unknown.
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
