//! The manifest: the file that names the files of an output, and says that it is complete.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::SortError;

/// Name of the file that says the output is complete, in the first output directory.
pub const MANIFEST: &str = "manifest.json";

/// The version that is written.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// A published file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PartFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Its records.
    pub records: u64,
}

/// The content of a manifest.
#[derive(Serialize)]
pub(crate) struct Manifest<'a> {
    pub(crate) schema_version: u32,
    pub(crate) job: &'a str,
    pub(crate) records: u64,
    pub(crate) bytes: u64,
    pub(crate) checksum: Option<&'a str>,
    /// In the order of the keys.
    pub(crate) files: &'a [PartFile],
    pub(crate) replicas: &'a [PartFile],
}

/// The content of a manifest that was read: of a sort, or a list of files from another program.
#[derive(Deserialize)]
pub(crate) struct Listing {
    schema_version: Option<u32>,
    records: Option<u64>,
    bytes: Option<u64>,
    checksum: Option<String>,
    pub(crate) files: Vec<PartFile>,
    #[serde(default)]
    replicas: Vec<PartFile>,
}

/// Totals over all files of a sort, from its manifest.
pub(crate) struct Totals {
    pub(crate) records: Option<u64>,
    pub(crate) bytes: Option<u64>,
    pub(crate) checksum: Option<String>,
}

impl Listing {
    /// Reads the manifest at `path`.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }

    /// The totals of a sort; empty for a list from another program.
    pub(crate) fn totals(&self) -> Totals {
        let ours = self.schema_version == Some(SCHEMA_VERSION);
        Totals {
            records: self.records.filter(|_| ours),
            bytes: self.bytes.filter(|_| ours),
            checksum: self.checksum.clone().filter(|_| ours),
        }
    }
}

/// The files in the manifest at `path` if a sort wrote it, and the manifest itself; empty if it
/// doesn't exist or another program wrote it. An unreadable manifest is an error: its files must
/// not count as unowned.
pub(crate) fn named_by(path: &Path) -> io::Result<HashSet<PathBuf>> {
    let text = match fs::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashSet::new()),
        read => read?,
    };
    let Ok(listing) = serde_json::from_slice::<Listing>(&text) else { return Ok(HashSet::new()) };
    if listing.schema_version != Some(SCHEMA_VERSION) {
        return Ok(HashSet::new());
    }
    let files = listing.files.into_iter().chain(listing.replicas).map(|part| part.path);
    Ok(files.chain([path.to_owned()]).collect())
}

/// The files named by the manifests in `dirs`.
pub(crate) fn named_in<'a>(
    dirs: impl IntoIterator<Item = &'a Path>,
) -> Result<HashSet<PathBuf>, SortError> {
    let mut named = HashSet::new();
    for dir in dirs {
        let path = dir.join(MANIFEST);
        named.extend(named_by(&path).map_err(|e| SortError::write("read", &path, e))?);
    }
    Ok(named)
}
