//! Reading small kernel files under a root, and remembering why a fact is absent.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The root of `/proc` and `/sys`, and the missing facts.
pub(crate) struct Root {
    path: PathBuf,
    missing: BTreeMap<String, String>,
}

impl Root {
    pub(crate) fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf(), missing: BTreeMap::new() }
    }

    /// Whether this is the running host, so that free space of its mount points can be queried.
    pub(crate) fn is_host(&self) -> bool {
        self.path == Path::new("/")
    }

    /// `absolute` (as the kernel names it) under the root.
    pub(crate) fn join(&self, absolute: &str) -> PathBuf {
        self.path.join(absolute.trim_start_matches('/'))
    }

    /// The text of a file, or the reason why it is unreadable. Replaces bytes that are not UTF-8.
    pub(crate) fn text(&self, absolute: &str) -> Result<String, String> {
        fs::read(self.join(absolute))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .map_err(|error| format!("{absolute}: {}", describe(&error)))
    }

    /// The fact `name`, from the file at `absolute`; if absent, the reason is kept.
    pub(crate) fn fact<T>(
        &mut self,
        name: &str,
        absolute: &str,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Option<T> {
        match self.text(absolute) {
            Ok(text) => {
                let value = parse(&text);
                if value.is_none() {
                    self.note(name, format!("{absolute}: does not say"));
                }
                value
            }
            Err(reason) => {
                self.note(name, reason);
                None
            }
        }
    }

    /// Keeps the reason why the fact `name` is absent.
    pub(crate) fn note(&mut self, name: &str, reason: impl Into<String>) {
        self.missing.insert(name.to_owned(), reason.into());
    }

    /// Names in a folder, sorted as people do (`sda2` before `sda10`); why not, otherwise.
    pub(crate) fn names(&self, absolute: &str) -> Result<Vec<String>, String> {
        let entries = fs::read_dir(self.join(absolute))
            .map_err(|error| format!("{absolute}: {}", describe(&error)))?;
        let mut names: Vec<String> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort_by(|a, b| (a.len(), a).cmp(&(b.len(), b)));
        Ok(names)
    }

    /// Where a link leads, as text; `None` if it is no link.
    pub(crate) fn link(&self, absolute: &str) -> Option<String> {
        let target = fs::read_link(self.join(absolute)).ok()?;
        Some(target.to_string_lossy().into_owned())
    }

    pub(crate) fn into_missing(self) -> BTreeMap<String, String> {
        self.missing
    }
}

fn describe(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "not there".to_owned(),
        std::io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
