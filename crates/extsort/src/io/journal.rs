//! Journal of a publication, written before it begins. After a kill, the next sort removes the
//! files without a manifest that the journal lists, and no others.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::io::manifest::{MANIFEST, named_by};

/// The files of one directory.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// The manifest that marks the output as complete.
    manifest: PathBuf,
    files: Vec<Entry>,
}

/// A file by the name that it has or will have: of several that had it, which.
#[derive(Serialize, Deserialize)]
struct Entry {
    name: PathBuf,
    inode: u64,
}

impl Journal {
    pub(crate) fn new(manifest: PathBuf) -> Self {
        Self { manifest, files: Vec::new() }
    }

    /// The file that is at `here` now has the name `name`, or will have it.
    pub(crate) fn add(&mut self, here: &Path, name: PathBuf) -> io::Result<()> {
        let inode = fs::symlink_metadata(here)?.ino();
        self.files.push(Entry { name, inode });
        Ok(())
    }

    /// Writes it durably to `path`, which must be free.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = File::create_new(path)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()
    }
}

/// Removes what the writer of the journal at `path` published in `dir`, or had begun to replace,
/// unless a manifest says that it is complete; then the journal. An error: something of it is left,
/// and the journal with it, for the next sort.
pub(crate) fn undo(dir: &Path, path: &Path) -> io::Result<()> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        read => read?,
    };
    // A truncated journal means that publication had not begun.
    if let Ok(Journal { manifest, files }) = serde_json::from_slice(&text) {
        let mut complete = named_by(&manifest)?;
        complete.extend(named_by(&dir.join(MANIFEST))?);
        let ours = |name: &PathBuf| name.parent() == Some(dir) && !complete.contains(name);
        let mut outcome = Ok(());
        for Entry { name, inode } in files.iter().filter(|entry| ours(&entry.name)) {
            outcome = outcome.and(remove_that(name, *inode));
        }
        outcome?;
    }
    fs::remove_file(path)
}

/// Removes the file `name` if it is the one with that inode.
fn remove_that(name: &Path, inode: u64) -> io::Result<()> {
    match fs::symlink_metadata(name) {
        Ok(meta) if meta.ino() == inode => fs::remove_file(name),
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
