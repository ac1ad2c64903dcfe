//! `venturi-agent validate`.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use extsort::Format;
use extsort::validate::{
    Summary, ValidateError, ValidateReport, ValidateSpec, read_summaries, validate, write_summary,
};
use hostmon::process_cpu_s;
use serde_json::{Value, json};

use super::generate::{EXIT_USAGE, one_or_more, threads};
use crate::events::{EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_USER, Events, Failure};
use crate::signals::stop_flag;

/// Arguments of `venturi-agent validate`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Records that are not in order are a result, with exit status 3.")]
pub struct Args {
    /// File, directory of part files, or manifest (*.json); repeatable, in the order of the keys
    #[arg(long, required = true, value_name = "PATH")]
    input: Vec<PathBuf>,
    /// Inputs are files of summaries, one or many in each, as valsort's -s
    #[arg(long)]
    summaries: bool,
    /// Write a summary of all input to this new file, as valsort's -o
    #[arg(long, value_name = "FILE")]
    summary_out: Option<PathBuf>,
    /// How records follow one another in the input
    #[arg(long, value_enum, default_value = "fixed")]
    format: FormatName,
    /// With --format fixed: bytes of a record
    #[arg(long, default_value_t = 100, value_name = "BYTES")]
    record_bytes: usize,
    /// With --format fixed: bytes of the key, with which a record begins
    #[arg(long, default_value_t = 10, value_name = "BYTES")]
    key_bytes: usize,
    /// Threads [default: one for each available CPU]
    #[arg(long, value_name = "N", value_parser = one_or_more())]
    threads: Option<usize>,
    /// Read through the kernel's page cache: faster where the files are in memory
    #[arg(long)]
    buffered: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, clap::ValueEnum)]
enum FormatName {
    /// Records of one length
    Fixed,
    /// Length of the key and length of the value (32 bits each, little-endian), key, value
    Kv,
}

impl Args {
    fn format(&self) -> Format {
        match self.format {
            FormatName::Fixed => Format::Fixed { record: self.record_bytes, key: self.key_bytes },
            FormatName::Kv => Format::KeyValue,
        }
    }

    fn find(&self, stop: &AtomicBool, events: &Events) -> Result<ValidateReport, ValidateError> {
        if self.summaries {
            return self.add_up(stop);
        }
        let spec = ValidateSpec {
            inputs: self.input.clone(),
            format: self.format(),
            threads: threads(self.threads),
            buffered: self.buffered,
        };
        validate(&spec, stop, &|done, total| {
            events.progress("validate", done, Some(total), "bytes");
        })
    }

    /// The verdict that the summaries give together; its bytes are those of the records.
    fn add_up(&self, stop: &AtomicBool) -> Result<ValidateReport, ValidateError> {
        let mut summary = Summary::default();
        for path in &self.input {
            if stop.load(Ordering::Relaxed) {
                return Err(ValidateError::Interrupted);
            }
            summary.join(read_summaries(path, self.format())?, self.format());
        }
        let bytes = summary.records.saturating_mul(self.record_bytes as u128);
        Ok(ValidateReport {
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            files: self.input.len(),
            io_method: None,
            summary,
        })
    }
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    if args.summary_out.is_some() && args.format == FormatName::Kv {
        let text = "--summary-out: only fixed-length records have summaries";
        return Err(ValidateError::Options(text.to_owned()).into());
    }
    let stop = stop_flag()?;
    let (started_s, cpu_before_s) = (events.elapsed_s(), process_cpu_s());
    let found = args.find(&stop, events)?;
    let elapsed_s = events.elapsed_s() - started_s;
    let cpu_s = process_cpu_s() - cpu_before_s;
    events.phase("validate", started_s, elapsed_s);
    let summary = &found.summary;
    if let Some(path) = &args.summary_out {
        write_summary(path, summary, args.record_bytes)?;
    }
    if summary.records == 0 {
        events.warning("VEN-VALIDATE-EMPTY", "there was no record to validate");
    }
    let number = |count: u128| u64::try_from(count).ok(); // only crafted summaries exceed it
    let ordered = summary.unordered == 0;
    events.result(&json!({
        "records": number(summary.records),
        "checksum": summary.checksum.to_string(),
        "duplicate_keys": number(summary.duplicates),
        "unordered_records": number(summary.unordered),
        "first_unordered": summary.first_unordered.and_then(number),
        "ordered": ordered,
        "bytes": found.bytes,
        "files": found.files,
        "io_method": found.io_method,
        "elapsed_s": elapsed_s,
        "cpu_s": cpu_s,
    }));
    Ok(if ordered { EXIT_OK } else { EXIT_INVALID })
}

impl From<ValidateError> for Failure {
    fn from(error: ValidateError) -> Self {
        let mut place = json!({ "file": error.path() });
        match &error {
            ValidateError::Length { size_bytes, record_bytes, remainder_bytes, .. } => {
                place["size_bytes"] = (*size_bytes).into();
                place["record_bytes"] = (*record_bytes).into();
                place["remainder_bytes"] = (*remainder_bytes).into();
            }
            ValidateError::Record { offset, .. } => place["offset"] = (*offset).into(),
            _ => {}
        }
        Self {
            code: error.code(),
            message: error.to_string(),
            place: if error.path().is_some() { place } else { Value::Null },
            hint: error.hint().to_owned(),
            exit: match error {
                ValidateError::Interrupted => EXIT_INTERRUPTED,
                ValidateError::Options(_) => EXIT_USAGE,
                ValidateError::Changed { .. } | ValidateError::Content { .. } => EXIT_INVALID,
                _ => EXIT_USER,
            },
        }
    }
}
