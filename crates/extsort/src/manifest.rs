//! The manifest: the file that names the files of an output, and says that it is complete.

use std::path::PathBuf;

use serde::Serialize;

/// Name of the file that says the output is complete, in the first output directory.
pub const MANIFEST: &str = "manifest.json";

/// A published file.
#[derive(Clone, Debug, Serialize)]
pub struct PartFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its length.
    pub bytes: u64,
    /// Its records.
    pub records: u64,
}

/// What the manifest says.
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
