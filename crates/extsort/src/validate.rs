//! Is it sorted, and is it complete? Compatible with valsort of the sort benchmark: order, number
//! of records, checksum, duplicate keys, the first record out of order, and summaries of parts that
//! can be concatenated and checked later.
//!
//! Every part of the data, from a block to a file, is condensed to a [`Summary`]; adjacent
//! summaries are joined by comparing the last record of one with the first of the other. So parts
//! are read in parallel and in any order, and a file of summaries is checked by the same rule.

mod error;
mod inputs;
mod scan;
mod spec;
mod summary;

use std::sync::atomic::AtomicBool;

use scan::Scanned;

pub use error::{VALIDATE_CODES, ValidateError};
pub use spec::{MAX_RECORD_BYTES, ValidateSpec};
pub use summary::{Summary, read_summaries, summary_bytes, write_summary};

/// The result of a validation.
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

/// Reads everything once and says what is wrong with it; disorder is a finding, not an error.
/// `progress` gets the bytes done and the bytes in all, from any thread.
pub fn validate(
    spec: &ValidateSpec,
    cancel: &AtomicBool,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<ValidateReport, ValidateError> {
    spec.check()?;
    let inputs = inputs::find(&spec.inputs, spec.format)?;
    let files = &inputs.files;
    let Scanned { summary, sums, io_method } = scan::scan(spec, files, cancel, progress)?;
    inputs::check_unchanged(files)?;
    inputs::check_sums(&inputs, &sums)?;
    Ok(ValidateReport {
        summary,
        bytes: files.iter().map(|file| file.bytes).sum(),
        files: files.len(),
        io_method,
    })
}
