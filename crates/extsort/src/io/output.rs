//! The output directories: files appear in them only whole.
//!
//! Each file is written under a temporary name, made durable, and renamed when all of the sort has
//! succeeded; the manifest comes last, so a directory with a manifest is complete. A sort holds a
//! lock on a file of its own in each directory while it lives. A later sort that finds the lock free
//! knows that its owner was killed, and removes that owner's temporary files and nothing else.

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use rand::RngExt;
use rand::rngs::StdRng;
use rawio::DirectFile;

use crate::error::SortError;
use crate::io::input::InputFile;
use crate::io::journal;
use crate::io::manifest::{MANIFEST, named_in};

pub(crate) const PART: &str = "part-";
pub(crate) const TEMPORARY: &str = ".venturi-sort-";
const LOCK: &str = ".lock";
pub(crate) const JOURNAL: &str = ".journal.tmp";

/// The directories of one sort and its claim on them.
pub(crate) struct Outputs {
    pub(crate) id: String,
    pub(crate) dirs: Vec<Dir>,
    /// The first of these many directories hold the output, the others its replica.
    pub(crate) primary: usize,
    pub(crate) overwrite: bool,
    direct: bool,
}

pub(crate) struct Dir {
    pub(crate) path: PathBuf,
    lock_path: PathBuf,
    // Held for the lock on it.
    _lock: File,
}

/// A file being written.
pub(crate) struct OutFile {
    pub(crate) direct: Arc<DirectFile>,
    pub(crate) dir: usize,
    number: usize,
    temporary: PathBuf,
    /// Blocks in flight, plus one while blocks are still being produced.
    pub(crate) outstanding: AtomicUsize,
    pub(crate) bytes: AtomicU64,
    pub(crate) records: AtomicU64,
    pub(crate) replica: Option<Arc<OutFile>>,
}

/// A file that is whole and durable, and closed: what is left to do is to name it.
pub(crate) struct Finished {
    pub(crate) dir: usize,
    pub(crate) number: usize,
    pub(crate) temporary: PathBuf,
    pub(crate) bytes: u64,
    pub(crate) records: u64,
}

impl OutFile {
    /// Cuts the file to its length and makes it durable.
    pub(crate) fn finish(&self) -> std::io::Result<Finished> {
        let bytes = self.bytes.load(Ordering::Relaxed);
        self.direct.truncate(bytes)?;
        self.direct.sync()?;
        Ok(Finished {
            dir: self.dir,
            number: self.number,
            temporary: self.temporary.clone(),
            bytes,
            records: self.records.load(Ordering::Relaxed),
        })
    }
}

impl Outputs {
    /// Checks the directories, removes what killed sorts left in them, and claims them.
    pub(crate) fn claim(
        outputs: &[PathBuf],
        replicas: &[PathBuf],
        inputs: &[InputFile],
        overwrite: bool,
        direct: bool,
    ) -> Result<Self, SortError> {
        let paths =
            || outputs.iter().map(|p| ("output", p)).chain(replicas.iter().map(|p| ("replica", p)));
        let mut real = Vec::new();
        for (role, path) in paths() {
            let fail = |source| SortError::Directory { role, path: path.clone(), source };
            let canonical = path.canonicalize().map_err(fail)?;
            if real.contains(&canonical) {
                return Err(SortError::Options(format!(
                    "{} is given twice as output",
                    path.display()
                )));
            }
            remove_orphans(&canonical).map_err(fail)?;
            real.push(canonical);
        }
        let old = named_in(real.iter().map(PathBuf::as_path))?;
        for ((role, path), dir) in paths().zip(&real) {
            let fail = |source| SortError::Directory { role, path: path.clone(), source };
            for part in parts_in(dir).map_err(fail)? {
                refuse_input(&part, inputs)?;
                if !overwrite || !part.is_file() {
                    return Err(SortError::OutputExists { path: part });
                }
                if !old.contains(&part) {
                    return Err(SortError::OutputForeign { path: part });
                }
            }
        }
        let id =
            format!("{}-{:08x}", std::process::id(), rand::make_rng::<StdRng>().random::<u32>());
        let mut this = Self { id, dirs: Vec::new(), primary: outputs.len(), overwrite, direct };
        for ((role, _), path) in paths().zip(real) {
            let lock_path = path.join(format!("{TEMPORARY}{}{LOCK}", this.id));
            let lock = lock_file(&lock_path).map_err(|source| SortError::Directory {
                role,
                path: path.clone(),
                source,
            })?;
            this.dirs.push(Dir { path, lock_path, _lock: lock });
        }
        Ok(this)
    }

    /// The directory of file `number`.
    pub(crate) fn dir_of(&self, number: usize) -> usize {
        number % self.primary
    }

    /// Starts file `number`, of the nameless file `spare` if there is one; its replica, if there are
    /// replica directories, with it.
    pub(crate) fn create(
        &self,
        number: usize,
        expected_bytes: u64,
        spare: Option<Arc<DirectFile>>,
    ) -> Result<Arc<OutFile>, SortError> {
        let replicas = self.dirs.len() - self.primary;
        let replica = match replicas {
            0 => None,
            n => {
                let dir = self.primary + number % n;
                Some(self.create_in(dir, number, expected_bytes, None, None)?)
            }
        };
        self.create_in(self.dir_of(number), number, expected_bytes, spare, replica)
    }

    fn create_in(
        &self,
        dir: usize,
        number: usize,
        expected_bytes: u64,
        spare: Option<Arc<DirectFile>>,
        replica: Option<Arc<OutFile>>,
    ) -> Result<Arc<OutFile>, SortError> {
        let temporary = self.dirs[dir].path.join(format!("{TEMPORARY}{}.{number:06}.tmp", self.id));
        let fail = |source| SortError::write("create", &temporary, source);
        let direct = match spare.filter(|file| file.link(&temporary).is_ok()) {
            Some(file) => file,
            None => Arc::new(DirectFile::create_new(&temporary, self.direct).map_err(fail)?),
        };
        direct.preallocate(0, rawio::align_up(expected_bytes as usize) as u64).map_err(fail)?;
        Ok(Arc::new(OutFile {
            direct,
            dir,
            number,
            temporary,
            outstanding: AtomicUsize::new(1),
            bytes: AtomicU64::new(0),
            records: AtomicU64::new(0),
            replica,
        }))
    }

    /// Removes what has no name yet, and the claim.
    pub(crate) fn remove_temporary(&self) {
        for dir in &self.dirs {
            // The next sort removes leftovers: it finds the lock.
            let _ = remove_owned(&dir.path, &format!("{TEMPORARY}{}", self.id), &dir.lock_path);
        }
    }

    /// Number of directories, replicas included.
    pub(crate) fn dirs(&self) -> usize {
        self.dirs.len()
    }

    /// How many copies of each record are written.
    pub(crate) fn copies(&self) -> u64 {
        1 + u64::from(self.dirs.len() > self.primary)
    }

    /// Path of a directory.
    pub(crate) fn path(&self, dir: usize) -> &Path {
        &self.dirs[dir].path
    }

    /// `write_output` or `write_replica`.
    pub(crate) fn stage(&self, dir: usize) -> &'static str {
        if dir < self.primary { "write_output" } else { "write_replica" }
    }
}

impl Drop for Outputs {
    fn drop(&mut self) {
        self.remove_temporary();
    }
}

/// Creates a file and locks it. A sort that starts just then may take it for an orphan's: try again.
fn lock_file(path: &Path) -> std::io::Result<File> {
    use std::os::unix::fs::MetadataExt;
    for _ in 0..10 {
        let file = File::create_new(path)?;
        if let Err(error) = file.lock() {
            let _ = fs::remove_file(path);
            return Err(error);
        }
        if fs::metadata(path).is_ok_and(|meta| file.metadata().is_ok_and(|m| m.ino() == meta.ino()))
        {
            return Ok(file);
        }
    }
    Err(std::io::ErrorKind::ResourceBusy.into())
}

/// Published files in a directory.
pub(crate) fn parts_in(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let digits = name.strip_prefix(PART).unwrap_or_default();
        let is_part = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if is_part || name == MANIFEST {
            found.push(entry.path());
        }
    }
    Ok(found)
}

fn refuse_input(part: &Path, inputs: &[InputFile]) -> Result<(), SortError> {
    use std::os::unix::fs::MetadataExt;
    let Ok(meta) = fs::metadata(part) else {
        return Ok(());
    };
    if inputs.iter().any(|file| (file.device, file.inode) == (meta.dev(), meta.ino())) {
        return Err(SortError::InputIsOutput { path: part.to_owned() });
    }
    Ok(())
}

/// Removes the temporary files of dead sorts, recognized by their free locks.
fn remove_orphans(dir: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(owner) = name.strip_suffix(LOCK).filter(|name| name.starts_with(TEMPORARY)) else {
            continue;
        };
        // Looking first: opening a pipe of this name would wait for its writer.
        if !fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) {
            continue;
        }
        let Ok(lock) = File::open(&path) else {
            continue;
        };
        match lock.try_lock() {
            Ok(()) => {
                // Leftovers stay for a later sort, with the lock that shows their owner.
                let _ = journal::undo(dir, &dir.join(format!("{owner}{JOURNAL}")))
                    .and_then(|()| remove_owned(dir, owner, &path));
            }
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
    Ok(())
}

/// Removes `owner`'s temporary files, and then its lock, which marks them as removable.
fn remove_owned(dir: &Path, owner: &str, lock_path: &Path) -> std::io::Result<()> {
    let prefix = format!("{owner}.");
    let mut outcome = Ok(());
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        // Who is done with a journal removes it: this one says what is still to be undone.
        let is_journal = name.ends_with(JOURNAL);
        if name.starts_with(&prefix) && name.ends_with(".tmp") {
            outcome = outcome.and(if is_journal {
                Err(std::io::ErrorKind::ResourceBusy.into())
            } else {
                fs::remove_file(entry.path())
            });
        }
    }
    outcome.and_then(|()| fs::remove_file(lock_path))
}
