//! Is it sorted, and is it all there? Compatible with valsort of the sort benchmark: order, number of
//! records, checksum, duplicate keys, the first record out of order, and summaries of parts that can
//! be concatenated and checked later.
//!
//! Every part of the data, from a block to a file, is condensed to a [`Summary`]; summaries of
//! neighbours are joined by comparing the last record of one with the first of the other. So parts
//! are read in parallel and in any order, and a file of summaries is checked by the same rule.

mod error;
mod inputs;
mod scan;
mod summary;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

pub use error::{VALIDATE_CODES, ValidateError};
pub use summary::{Summary, read_summaries, summary_bytes, write_summary};

use crate::record::Format;

/// What to validate.
#[derive(Clone, Debug)]
pub struct ValidateSpec {
    /// Files, directories of part files and manifests (`*.json`), in the order of their keys.
    ///
    /// Of a directory its manifest is read if it has one; otherwise its files in the order of their
    /// names (numbers at the end as numbers) without those that begin with `.` or `_`. A manifest is
    /// an object with a list `files` of objects with `path` (absolute, or relative to the
    /// manifest's directory), `bytes` and `records`; other members are ignored.
    pub inputs: Vec<PathBuf>,
    /// How records follow each other; lines are not supported.
    pub format: Format,
    /// Threads that read and check.
    pub threads: usize,
    /// Read through the page cache: for data that are in memory already.
    pub buffered: bool,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct ValidateReport {
    /// The verdict over all records.
    pub summary: Summary,
    /// Bytes read as records.
    pub bytes: u64,
    /// Files read.
    pub files: usize,
    /// How the first file that is not empty was read, such as `io_uring+direct`.
    pub io_method: Option<String>,
}

/// Longest record of any format.
pub const MAX_RECORD_BYTES: usize = 64 << 20;

/// Reads everything once and says what is wrong with it; disorder is a finding, not an error.
/// `progress` gets the bytes done and the bytes in all, from any thread.
pub fn validate(
    spec: &ValidateSpec,
    cancel: &AtomicBool,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<ValidateReport, ValidateError> {
    check(spec)?;
    let files = inputs::find(&spec.inputs, spec.format)?;
    let (summary, io_method) = scan::scan(spec, &files, cancel, progress)?;
    inputs::check_unchanged(&files)?;
    Ok(ValidateReport {
        summary,
        bytes: files.iter().map(|file| file.bytes).sum(),
        files: files.len(),
        io_method,
    })
}

fn check(spec: &ValidateSpec) -> Result<(), ValidateError> {
    if spec.inputs.is_empty() || spec.threads == 0 {
        let text = "at least one input and one thread are needed";
        return Err(ValidateError::Options(text.to_owned()));
    }
    check_format(spec.format)
}

fn check_format(format: Format) -> Result<(), ValidateError> {
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
