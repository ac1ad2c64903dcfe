//! `venturi-agent disk`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use iobench::Observer;
use iobench::disk::{DiskError, Mode, Options, run as measure};

use crate::events::{EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_USER, Events, Failure};
use crate::signals::stop_flag;

/// Arguments of `venturi-agent disk`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Directory to measure, one on each device; test files are made in it and removed
    #[arg(long, required = true)]
    dir: Vec<PathBuf>,
    /// Measurements to make
    #[arg(long, value_enum, value_delimiter = ',', default_value = "read,write,read_write")]
    mode: Vec<ModeName>,
    /// Bytes to move in each directory and direction, and size of the test files
    #[arg(long, default_value_t = 1 << 30)]
    bytes: u64,
    /// Bytes of a sequential request
    #[arg(long, default_value_t = 4 << 20)]
    block_bytes: usize,
    /// Sequential and shuffle requests in flight, for each directory and direction
    #[arg(long, default_value_t = 4)]
    queue_depth: usize,
    /// Bytes of a random request
    #[arg(long, value_delimiter = ',', default_value = "4096,16384,65536,262144,1048576")]
    random_block_bytes: Vec<usize>,
    /// Random requests in flight
    #[arg(long, value_delimiter = ',', default_value = "1,32")]
    random_queue_depth: Vec<usize>,
    /// Bytes of a segment in the shuffle pattern
    #[arg(long, default_value_t = 64 << 10)]
    shuffle_segment_bytes: usize,
    /// How often each measurement is made
    #[arg(long, default_value_t = 3)]
    iterations: usize,
    /// The shortest a single measurement may take, in seconds: a fast disk does its file several times
    #[arg(long, default_value_t = 1.0, value_parser = seconds)]
    min_seconds: f64,
    /// The longest a single measurement may take, in seconds
    #[arg(long, default_value_t = 10.0, value_parser = seconds)]
    max_seconds: f64,
    /// How long a single random measurement takes, in seconds
    #[arg(long, default_value_t = 2.0, value_parser = seconds)]
    random_seconds: f64,
    /// A directory is called slow below this share of the median rate of the others
    #[arg(long, default_value_t = 0.8)]
    slow_factor: f64,
}

/// A mode by its name in reports.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum ModeName {
    Read,
    Write,
    ReadWrite,
    RandomRead,
    ShuffleRead,
}

impl From<ModeName> for Mode {
    fn from(name: ModeName) -> Self {
        match name {
            ModeName::Read => Self::Read,
            ModeName::Write => Self::Write,
            ModeName::ReadWrite => Self::ReadWrite,
            ModeName::RandomRead => Self::RandomRead,
            ModeName::ShuffleRead => Self::ShuffleRead,
        }
    }
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    let options = Options {
        modes: args.mode.iter().map(|mode| Mode::from(*mode)).collect(),
        bytes: args.bytes,
        block_bytes: args.block_bytes,
        queue_depth: args.queue_depth,
        random_block_bytes: args.random_block_bytes.clone(),
        random_queue_depth: args.random_queue_depth.clone(),
        shuffle_segment_bytes: args.shuffle_segment_bytes,
        iterations: args.iterations,
        min_time: Duration::from_secs_f64(args.min_seconds),
        max_time: Duration::from_secs_f64(args.max_seconds),
        random_time: Duration::from_secs_f64(args.random_seconds),
        slow_factor: args.slow_factor,
        ..Options::new(args.dir.clone())
    };
    let cancel = stop_flag()?;
    let report = measure(&options, &Reporter(events), &cancel).map_err(|error| failure(&error))?;
    events.result(&report);
    Ok(EXIT_OK)
}

pub(super) fn failure(error: &DiskError) -> Failure {
    Failure {
        code: error.code(),
        message: error.to_string(),
        place: error.place(),
        hint: error.hint().to_owned(),
        exit: match error {
            DiskError::Interrupted => EXIT_INTERRUPTED,
            DiskError::Content { .. } => EXIT_INVALID,
            _ => EXIT_USER,
        },
    }
}

/// A length of time as an option: at most a day.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    if (0.0..=86_400.0).contains(&seconds) {
        Ok(seconds)
    } else {
        Err("must be between 0 and 86400 seconds".to_owned())
    }
}

/// Passes on the progress of a measurement.
pub(super) struct Reporter<'a>(pub &'a Events);

impl Observer for Reporter<'_> {
    fn progress(&self, phase: &str, done_bytes: u64, total_bytes: Option<u64>) {
        self.0.progress(phase, done_bytes, total_bytes, "bytes");
    }

    fn phase(&self, name: &str, started: Instant, elapsed: Duration) {
        let started_s = self.0.elapsed_s() - started.elapsed().as_secs_f64();
        self.0.phase(name, started_s, elapsed.as_secs_f64());
    }

    fn warning(&self, code: &'static str, message: &str) {
        self.0.warning(code, message);
    }
}
