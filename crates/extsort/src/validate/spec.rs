//! The options of a validation, and their checks.

use std::path::PathBuf;

use super::error::ValidateError;
use crate::record::Format;

/// Longest record of any format.
pub const MAX_RECORD_BYTES: usize = 64 << 20;

/// Options of a validation.
#[derive(Clone, Debug)]
pub struct ValidateSpec {
    /// Files, directories of part files and manifests (`*.json`), in the order of their keys.
    ///
    /// A directory's manifest is read if it has one; otherwise its files in the order of their
    /// names (numbers at the end as numbers), without those that begin with `.` or `_`. A manifest
    /// is an object with a list `files` of objects with `path` (absolute, or relative to the
    /// manifest's directory), `bytes` and `records`. In the manifest of a sort, which has a
    /// `schema_version`, `bytes`, `records` and `checksum` are totals and must also be correct;
    /// other members are ignored.
    pub inputs: Vec<PathBuf>,
    /// How records follow each other; lines are not supported.
    pub format: Format,
    /// Threads that read and check.
    pub threads: usize,
    /// Read through the page cache: for data that are in memory already.
    pub buffered: bool,
}

impl ValidateSpec {
    /// Refuses a spec without inputs or threads, or of a format without keys.
    pub(super) fn check(&self) -> Result<(), ValidateError> {
        if self.inputs.is_empty() || self.threads == 0 {
            let text = "at least one input and one thread are needed";
            return Err(ValidateError::Options(text.to_owned()));
        }
        check_format(self.format)
    }
}

/// Refuses records that cannot be compared by their keys.
pub(super) fn check_format(format: Format) -> Result<(), ValidateError> {
    let refuse = |text: String| Err(ValidateError::Options(text));
    match format {
        Format::Fixed { record, key }
            if !(1..=MAX_RECORD_BYTES).contains(&record) || !(1..=record).contains(&key) =>
        {
            refuse(format!(
                "records of {record} bytes with keys of {key}: a record has 1 to \
                 {MAX_RECORD_BYTES} bytes, and its key at least one of them"
            ))
        }
        Format::Lines => refuse("lines have no keys to be validated".to_owned()),
        Format::Fixed { .. } | Format::KeyValue => Ok(()),
    }
}
