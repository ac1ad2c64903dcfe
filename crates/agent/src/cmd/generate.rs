//! `venturi-agent gen`.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use extsort::gensort::{GenerateError, GenerateSpec, Kind, MOST_RECORDS, generate};
use hostmon::process_cpu_s;
use serde_json::{Value, json};

use crate::events::{EXIT_INTERRUPTED, EXIT_OK, EXIT_USER, Events, Failure};
use crate::signals::stop_flag;

/// Arguments of `venturi-agent gen`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag")]
pub struct Args {
    /// Number of 100-byte records, at most 2^64
    #[arg(long, value_name = "N", value_parser = count)]
    count: u128,
    /// Number of the first record, as gensort's -b
    #[arg(long, value_name = "N", default_value_t = 0)]
    start: u128,
    /// Printable records, as gensort's -a
    #[arg(long)]
    ascii: bool,
    /// Skewed keys, as gensort's -s
    #[arg(long)]
    skew: bool,
    /// Threads [default: one for each available CPU]
    #[arg(long, value_name = "N", value_parser = one_or_more())]
    threads: Option<usize>,
    /// Also sum up the CRC32 of the records, as gensort's -c
    #[arg(long)]
    checksum: bool,
    /// Replace a file that exists
    #[arg(long)]
    overwrite: bool,
    /// File to create, or an existing pipe or character device
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
}

/// Exit status: the arguments do not make sense together, as for those that clap refuses.
pub(super) const EXIT_USAGE: u8 = 2;

/// Parses a number of threads.
pub(super) fn one_or_more() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..)
}

/// The requested threads, or one for each processor available.
pub(super) fn threads(asked: Option<usize>) -> usize {
    asked.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, Into::into))
}

fn count(text: &str) -> Result<u128, String> {
    let count: u128 = text.parse().map_err(|_| "not a number of records")?;
    if count > MOST_RECORDS {
        return Err(format!("more than 2^64 ({MOST_RECORDS}) records"));
    }
    Ok(count)
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    let spec = GenerateSpec {
        output: args.output.clone(),
        start: args.start,
        count: args.count,
        kind: if args.ascii { Kind::Ascii } else { Kind::Binary },
        skewed: args.skew,
        threads: threads(args.threads),
        checksum: args.checksum,
        overwrite: args.overwrite,
    };
    let stop = stop_flag()?;
    let total = u64::try_from(args.count * 100).ok();
    let (started_s, cpu_before_s) = (events.elapsed_s(), process_cpu_s());
    let made = generate(&spec, &stop, &|done| events.progress("generate", done, total, "bytes"))?;
    let elapsed_s = events.elapsed_s() - started_s;
    events.phase("generate", started_s, elapsed_s);
    events.result(&json!({
        // Above 2^64 they are null; such a run would take centuries.
        "records": u64::try_from(made.records).ok(),
        "bytes": u64::try_from(made.bytes).ok(),
        "checksum": made.checksum.map(|sum| sum.to_string()),
        "io_method": made.io_method,
        "elapsed_s": elapsed_s,
        "cpu_s": process_cpu_s() - cpu_before_s,
    }));
    Ok(EXIT_OK)
}

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Self {
        let mut place = json!({ "file": error.path() });
        if let GenerateError::Space { needed_bytes, available_bytes, .. } = &error {
            place["needed_bytes"] = u64::try_from(*needed_bytes).map_or(Value::Null, Value::from);
            place["available_bytes"] = (*available_bytes).into();
        }
        Self {
            code: error.code(),
            message: error.to_string(),
            place: if error.path().is_some() { place } else { Value::Null },
            hint: error.hint().to_owned(),
            exit: match error {
                GenerateError::Interrupted => EXIT_INTERRUPTED,
                GenerateError::Options(_) => EXIT_USAGE,
                _ => EXIT_USER,
            },
        }
    }
}
