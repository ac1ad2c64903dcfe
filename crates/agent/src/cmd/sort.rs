//! `venturi-agent sort`.

use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use extsort::{Format, Job, Observer, SortError, SortSpec};
use serde_json::json;

use super::disk::seconds;
use crate::events::{EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_USER, Events, Failure};

/// Share of the available memory that is the default budget.
const DEFAULT_MEMORY_SHARE: f64 = 0.6;

/// Arguments of `venturi-agent sort`.
#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
#[command(after_help = "The budget of --memory holds for the whole process. Sizes are in bytes.")]
pub struct Args {
    /// File, or directory of files; repeatable
    #[arg(long, required = true, value_name = "PATH")]
    input: Vec<PathBuf>,
    /// Directory for the output; repeatable, one for each disk
    #[arg(long, required = true, value_name = "DIR")]
    output: Vec<PathBuf>,
    /// Directory for data that does not fit in memory; repeatable [default: the output directories]
    #[arg(long, value_name = "DIR")]
    scratch: Vec<PathBuf>,
    /// Directory for a second copy of the output; repeatable
    #[arg(long, value_name = "DIR")]
    replica: Vec<PathBuf>,
    /// Memory budget in bytes [default: 60 % of the available memory]
    #[arg(long, value_name = "BYTES")]
    memory: Option<u64>,
    /// Threads that distribute and sort [default: one for each available CPU]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Operation on the records
    #[arg(long, value_enum, default_value = "sort")]
    job: JobName,
    /// How records follow one another in the input [default: fixed for sort, lines for wordcount, kv for aggregate]
    #[arg(long, value_enum)]
    format: Option<FormatName>,
    /// With --format fixed: bytes of a record
    #[arg(long, default_value_t = 100, value_name = "BYTES")]
    record_bytes: usize,
    /// With --format fixed: bytes of the key, with which a record begins
    #[arg(long, default_value_t = 10, value_name = "BYTES")]
    key_bytes: usize,
    /// With --format kv or lines: bytes of the longest record
    #[arg(long, default_value_t = 64 << 10, value_name = "BYTES")]
    max_record_bytes: usize,
    /// The keys are random, as gensort makes them: share them out evenly, without looking at any
    #[arg(long)]
    indy: bool,
    /// Compare the checksum over all records before and after
    #[arg(long)]
    verify: bool,
    /// Replace output that exists
    #[arg(long)]
    overwrite: bool,
    /// Print how the data would be sorted (memory, passes, bytes spilled) and stop
    #[arg(long)]
    plan_only: bool,
    /// Seed of the choice of places where the input is sampled
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Sort only so much of the input, from its start; with --format fixed [default: all]
    #[arg(long, value_name = "BYTES")]
    first_bytes: Option<u64>,
    /// Size of the partitions, and so of the output files [default: 1/64 of the input, at least 8 MiB]
    #[arg(long, value_name = "BYTES")]
    partition_bytes: Option<u64>,
    /// End the sort after this many seconds without progress (20 times as many while a disk or a CPU is busy); 0: never
    #[arg(long, default_value = "30", value_name = "SECONDS", value_parser = seconds)]
    stall_seconds: f64,
    /// How files are read and written
    #[arg(long, value_enum, default_value = "auto")]
    io: IoName,
    /// Read and write through the kernel's page cache, also where that could be avoided
    #[arg(long)]
    buffered: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum JobName {
    /// Sort records
    Sort,
    /// Count the words of text
    Wordcount,
    /// Add up 64-bit values by key
    Aggregate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FormatName {
    /// Records of one length
    Fixed,
    /// Length of the key and length of the value (32 bits each, little-endian), key, value
    Kv,
    /// Lines of text
    Lines,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum IoName {
    /// `io_uring`, or threads where it is refused
    Auto,
    /// Blocking calls on threads
    Posix,
}

impl Args {
    fn job(&self) -> Result<Job, SortError> {
        let fixed = Format::Fixed { record: self.record_bytes, key: self.key_bytes };
        let refuse = |job: &str, format: &str| {
            Err(SortError::Options(format!("the {job} job takes --format {format}")))
        };
        match (self.job, self.format) {
            (JobName::Sort, None | Some(FormatName::Fixed)) => Job::sort(fixed),
            (JobName::Sort, Some(FormatName::Kv)) => Job::sort(Format::KeyValue),
            (JobName::Sort, Some(FormatName::Lines)) => Job::sort(Format::Lines),
            (JobName::Wordcount, None | Some(FormatName::Lines)) => Ok(Job::wordcount()),
            (JobName::Wordcount, Some(_)) => refuse("wordcount", "lines"),
            (JobName::Aggregate, None | Some(FormatName::Kv)) => Ok(Job::aggregate()),
            (JobName::Aggregate, Some(_)) => refuse("aggregate", "kv"),
        }
    }

    fn spec(&self) -> Result<SortSpec, SortError> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(SortSpec {
            inputs: self.input.clone(),
            outputs: self.output.clone(),
            scratch: if self.scratch.is_empty() {
                self.output.clone()
            } else {
                self.scratch.clone()
            },
            replicas: self.replica.clone(),
            job: self.job()?,
            memory_bytes: match self.memory {
                Some(bytes) => bytes,
                None => default_memory()?,
            },
            threads: self.threads.unwrap_or(processors),
            indy: self.indy,
            verify: self.verify,
            overwrite: self.overwrite,
            max_record_bytes: self.max_record_bytes,
            backend: match self.io {
                IoName::Auto => rawio::Backend::Auto,
                IoName::Posix => rawio::Backend::Threads,
            },
            direct: !self.buffered,
            seed: self.seed,
            partition_bytes: self.partition_bytes,
            first_bytes: self.first_bytes,
            patience: Duration::from_secs_f64(self.stall_seconds),
        })
    }
}

/// A share of the available memory, within the limits of control groups.
fn default_memory() -> Result<u64, SortError> {
    let facts = hostmon::collect(Path::new("/")).ok();
    let available = facts.as_ref().and_then(|facts| facts.memory_available_bytes);
    let limit = match facts.as_ref().and_then(|facts| facts.cgroup_memory_limit_bytes.as_ref()) {
        Some(hostmon::Limit::At(bytes)) => *bytes,
        _ => u64::MAX,
    };
    let available = available.ok_or_else(|| {
        SortError::Options("cannot tell how much memory is available: give --memory".to_owned())
    })?;
    Ok((available.min(limit) as f64 * DEFAULT_MEMORY_SHARE) as u64)
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    let spec = args.spec()?;
    if args.plan_only {
        events.result(&extsort::preview(&spec)?);
        return Ok(EXIT_OK);
    }
    let cancel = crate::signals::stop_flag()?;
    let report = extsort::sort(&spec, &cancel, &Reporter(events))?;
    for phase in &report.phases {
        events.phase(phase.name, phase.started_s, phase.elapsed_s);
    }
    let buffered: Vec<_> = report.io.iter().filter(|io| io.method != "io_uring+direct").collect();
    if !buffered.is_empty() && !args.buffered {
        let list: Vec<String> =
            buffered.iter().map(|io| format!("{} {}: {}", io.role, io.dir, io.method)).collect();
        let text = format!("not every disk takes direct io_uring requests: {}", list.join(", "));
        events.warning("VEN-SORT-SLOW-IO", &text);
    }
    events.result(&report);
    Ok(EXIT_OK)
}

/// Passes on the progress of a sort.
struct Reporter<'a>(&'a Events);

impl Observer for Reporter<'_> {
    fn progress(&self, phase: &'static str, done_bytes: u64, total_bytes: Option<u64>) {
        self.0.progress(phase, done_bytes, total_bytes, "bytes");
    }

    fn stuck(&self, error: &SortError) {
        let failure = Failure::from(error);
        self.0.error(&failure);
        // A thread that cannot be woken ends with its process, and only so.
        std::process::exit(failure.exit.into());
    }
}

impl From<SortError> for Failure {
    fn from(error: SortError) -> Self {
        Self::from(&error)
    }
}

impl From<&SortError> for Failure {
    fn from(error: &SortError) -> Self {
        let mut place = serde_json::Map::new();
        if let Some(path) = error.path() {
            place.insert("file".to_owned(), json!(path.to_string_lossy()));
        }
        match error {
            SortError::InputLength { size_bytes, record_bytes, remainder_bytes, .. } => {
                place.insert("size_bytes".to_owned(), json!(size_bytes));
                place.insert("record_bytes".to_owned(), json!(record_bytes));
                place.insert("remainder_bytes".to_owned(), json!(remainder_bytes));
            }
            SortError::Record { offset, .. } => {
                place.insert("offset".to_owned(), json!(offset));
            }
            SortError::Space { needed_bytes, available_bytes, .. } => {
                place.insert("needed_bytes".to_owned(), json!(needed_bytes));
                place.insert("available_bytes".to_owned(), json!(available_bytes));
            }
            SortError::Memory { budget_bytes, minimum_bytes } => {
                place.insert("budget_bytes".to_owned(), json!(budget_bytes));
                place.insert("minimum_bytes".to_owned(), json!(minimum_bytes));
            }
            _ => {}
        }
        let exit = match error {
            SortError::Interrupted => EXIT_INTERRUPTED,
            SortError::Options(_) => 2,
            SortError::InputChanged { .. } | SortError::InputModified { .. } => EXIT_INVALID,
            _ => EXIT_USER,
        };
        Self {
            code: error.code(),
            message: error.to_string(),
            place: place.into(),
            hint: error.hint().to_owned(),
            exit,
        }
    }
}
