//! What a sort that publishes has in hand, written down before it begins: so that, if it is killed,
//! the next one knows which files without a manifest are its own, and those only are removed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::manifest::{MANIFEST, named_by};

/// The files of one directory.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Journal {
    /// What will say that the output is complete.
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

/// Removes what the dead writer of the journal at `path` published in `dir`, or had begun to replace,
/// unless a manifest says that it is complete.
pub(crate) fn undo(dir: &Path, path: &Path) {
    let journal = fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let Some(Journal { manifest, files }) = journal else { return };
    let mut complete = named_by(&manifest);
    complete.extend(named_by(&dir.join(MANIFEST)));
    for Entry { name, inode } in files {
        let is_it = fs::symlink_metadata(&name).is_ok_and(|meta| meta.ino() == inode);
        if is_it && name.parent() == Some(dir) && !complete.contains(&name) {
            let _ = fs::remove_file(&name);
        }
    }
}
