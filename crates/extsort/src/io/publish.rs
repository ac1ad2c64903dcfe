//! Giving the finished files their names: all of them, then the manifest, or none.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use crate::error::SortError;
use crate::io::journal::{self, Journal};
use crate::io::manifest::{MANIFEST, Manifest, PartFile, SCHEMA_VERSION, named_in};
use crate::io::output::{Dir, Finished, JOURNAL, Outputs, PART, TEMPORARY, parts_in};

/// The published files, in key order.
pub(crate) struct Publication {
    pub(crate) files: Vec<PartFile>,
    pub(crate) replicas: Vec<PartFile>,
    pub(crate) manifest: PathBuf,
}

/// The content of the manifest other than files.
pub(crate) struct Summary<'a> {
    pub(crate) job: &'a str,
    pub(crate) checksum: Option<&'a str>,
}

impl Outputs {
    /// Gives all files their names, makes the names durable, then writes the manifest. On failure,
    /// removes the files named so far and the rest of an old output.
    pub(crate) fn publish(
        &self,
        mut files: Vec<Finished>,
        summary: &Summary<'_>,
    ) -> Result<Publication, SortError> {
        files.sort_by_key(|file| (file.dir >= self.primary, file.number));
        let _alone = self.lock_dirs();
        let old = if self.overwrite { self.old()? } else { Vec::new() };
        let mut named = Vec::new();
        let published = self
            .write_journals(&files, &old)
            .and_then(|()| remove(&old))
            .and_then(|()| self.name_all(&files, &mut named))
            .and_then(|()| self.complete(&named, summary));
        for dir in &self.dirs {
            let journal = self.journal(dir);
            // A journal that stays is seen to by the next sort.
            let _ = match &published {
                Ok(_) => fs::remove_file(journal),
                Err(_) => journal::undo(&dir.path, &journal),
            };
        }
        published
    }

    fn journal(&self, dir: &Dir) -> PathBuf {
        dir.path.join(format!("{TEMPORARY}{}{JOURNAL}", self.id))
    }

    /// Keeps other sorts from publishing into the same directories until the locks are dropped. Always
    /// in the same order, or two sorts could wait for each other; without locks where a file system
    /// has none.
    fn lock_dirs(&self) -> Vec<File> {
        let mut paths: Vec<&PathBuf> = self.dirs.iter().map(|dir| &dir.path).collect();
        paths.sort();
        let locked = |path: &PathBuf| File::open(path).and_then(|dir| dir.lock().map(|()| dir));
        paths.into_iter().filter_map(|path| locked(path).ok()).collect()
    }

    /// Renames every file; what was renamed is in `named`, with whether it is a replica.
    fn name_all(
        &self,
        files: &[Finished],
        named: &mut Vec<(PartFile, bool)>,
    ) -> Result<(), SortError> {
        for file in files {
            let path = self.name(file);
            let flags = RenameFlags::NOREPLACE;
            let renamed = match renameat_with(CWD, &file.temporary, CWD, &path, flags) {
                // A file system without this flag.
                Err(Errno::INVAL | Errno::NOSYS) if fs::symlink_metadata(&path).is_err() => {
                    fs::rename(&file.temporary, &path)
                }
                Err(Errno::EXIST | Errno::INVAL | Errno::NOSYS) => {
                    return Err(self.in_the_way(path));
                }
                other => other.map_err(Into::into),
            };
            renamed.map_err(|source| SortError::write("publish", &path, source))?;
            let part = PartFile { path, bytes: file.bytes, records: file.records };
            named.push((part, file.dir >= self.primary));
        }
        for dir in &self.dirs {
            rawio::sync_dir(&dir.path)
                .map_err(|e| SortError::write("make durable", &dir.path, e))?;
        }
        Ok(())
    }

    fn complete(
        &self,
        named: &[(PartFile, bool)],
        summary: &Summary<'_>,
    ) -> Result<Publication, SortError> {
        let parts = |wanted: bool| {
            named.iter().filter(|(_, replica)| *replica == wanted).map(|(p, _)| p.clone()).collect()
        };
        let (files, replicas): (Vec<PartFile>, Vec<PartFile>) = (parts(false), parts(true));
        let path = self.dirs[0].path.join(MANIFEST);
        let manifest = Manifest {
            schema_version: SCHEMA_VERSION,
            job: summary.job,
            records: files.iter().map(|part| part.records).sum(),
            bytes: files.iter().map(|part| part.bytes).sum(),
            checksum: summary.checksum,
            files: &files,
            replicas: &replicas,
        };
        self.write_manifest(&path, &manifest)
            .map_err(|source| SortError::write("write", &path, source))?;
        Ok(Publication { files, replicas, manifest: path })
    }

    fn name(&self, file: &Finished) -> PathBuf {
        self.dirs[file.dir].path.join(format!("{PART}{:06}", file.number))
    }

    fn write_manifest(&self, path: &Path, manifest: &Manifest<'_>) -> std::io::Result<()> {
        let temporary = self.dirs[0].path.join(format!("{TEMPORARY}{}.manifest.tmp", self.id));
        let mut file = File::create_new(&temporary)?;
        file.write_all(&serde_json::to_vec_pretty(manifest)?)?;
        file.sync_all()?;
        fs::rename(&temporary, path)?;
        rawio::sync_dir(&self.dirs[0].path).inspect_err(|_| {
            // It names files that are about to be removed.
            let _ = fs::remove_file(path);
        })
    }

    /// Output of earlier sorts in these directories: their manifests, then the files in those.
    /// Files in no manifest are never removed.
    fn old(&self) -> Result<Vec<PathBuf>, SortError> {
        let named = named_in(self.dirs.iter().map(|dir| dir.path.as_path()))?;
        let mut old = Vec::new();
        for dir in &self.dirs {
            let fail = |source| SortError::write("look for old output in", &dir.path, source);
            for part in parts_in(&dir.path).map_err(fail)? {
                if !named.contains(&part) {
                    return Err(SortError::OutputForeign { path: part });
                }
                old.push(part);
            }
        }
        // In the order of keys: what a kill leaves of an old output has no gaps.
        old.sort_by_cached_key(|path| (!path.ends_with(MANIFEST), path.clone()));
        Ok(old)
    }

    /// Writes down, in each directory, which files are about to get a name in it or to lose theirs.
    fn write_journals(&self, files: &[Finished], old: &[PathBuf]) -> Result<(), SortError> {
        for (number, dir) in self.dirs.iter().enumerate() {
            let path = self.journal(dir);
            let fail = |source| SortError::write("write", &path, source);
            let mut journal = Journal::new(self.dirs[0].path.join(MANIFEST));
            for file in files.iter().filter(|file| file.dir == number) {
                journal.add(&file.temporary, self.name(file)).map_err(fail)?;
            }
            for path in old.iter().filter(|path| path.parent() == Some(&dir.path)) {
                journal.add(path, path.clone()).map_err(fail)?;
            }
            journal.write(&path).map_err(fail)?;
        }
        Ok(())
    }

    fn in_the_way(&self, path: PathBuf) -> SortError {
        if self.overwrite {
            SortError::OutputForeign { path }
        } else {
            SortError::OutputExists { path }
        }
    }
}

/// Removes an old output: its manifests first, since it is complete no longer.
fn remove(old: &[PathBuf]) -> Result<(), SortError> {
    let fail = |path: &PathBuf, source| SortError::write("remove old output", path, source);
    old.iter().try_for_each(|path| fs::remove_file(path).map_err(|source| fail(path, source)))
}
