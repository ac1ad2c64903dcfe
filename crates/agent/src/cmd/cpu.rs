//! `venturi-agent cpu`.

use std::time::Duration;

use super::generate::{one_or_more, threads};
use super::pi::threads_refused;
use crate::events::{EXIT_OK, Events, Failure};

/// Arguments of `venturi-agent cpu`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Measurements of each kind of work
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = one_or_more())]
    rounds: usize,
    /// Time of a measurement, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=60_000))]
    each_ms: u64,
    /// Threads [default: one for each available CPU]
    #[arg(long, value_name = "N", value_parser = one_or_more())]
    threads: Option<usize>,
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    let each = Duration::from_millis(args.each_ms);
    let report = iobench::cpu::measure(threads(args.threads), args.rounds, each)
        .map_err(|error| threads_refused(&error))?;
    events.result(&report);
    Ok(EXIT_OK)
}
