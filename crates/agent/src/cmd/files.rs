//! `venturi-agent files`.

use std::path::PathBuf;

use clap::ValueEnum;
use iobench::disk::files::{Options, Report, run as move_files};
use rawio::{Backend, Operation};
use serde::Serialize;

use super::disk::{Reporter, failure};
use super::generate::{one_or_more, threads};
use super::used::Used;
use crate::events::{EXIT_OK, Events, Failure};
use crate::signals::stop_flag;

/// Arguments of `venturi-agent files`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Files are named test_io_0, test_io_1, ... in turn over the directories. Writing \
                  ends when they are durable; reading compares every byte with the written data."
)]
pub struct Args {
    /// Write the files or read them
    #[arg(value_enum)]
    what: What,
    /// Directory of files; repeatable, one for each disk
    #[arg(long, required = true)]
    dir: Vec<PathBuf>,
    /// Number of files
    #[arg(long, value_name = "N", value_parser = one_or_more())]
    count: usize,
    /// Bytes of each file
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..))]
    bytes: u64,
    /// Concurrent files [default: one for each available CPU]
    #[arg(long, value_name = "N", value_parser = one_or_more())]
    threads: Option<usize>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// Write the files, none of which may exist
    Write,
    /// Read the files that `write` has made
    Read,
}

#[derive(Serialize)]
struct Outcome {
    #[serde(flatten)]
    report: Report,
    used: Used,
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    let options = Options {
        dirs: args.dir.clone(),
        operation: match args.what {
            What::Write => Operation::Write,
            What::Read => Operation::Read,
        },
        files: args.count,
        file_bytes: args.bytes,
        threads: threads(args.threads),
        backend: Backend::Auto,
        direct: true,
    };
    let stop = stop_flag()?;
    let used = Used::so_far();
    let report = move_files(&options, &Reporter(events), &stop).map_err(|error| failure(&error))?;
    events.result(&Outcome { report, used: used.until_now() });
    Ok(EXIT_OK)
}
