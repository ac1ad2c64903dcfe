//! `venturi-agent`: the one program that touches a host.
//!
//! It parses arguments, calls a library crate and writes NDJSON events (see [`events`]) on stdout;
//! talk goes to stderr. It keeps no state and has no logic of its own.

mod cmd;
mod events;
mod signals;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use events::Events;

#[derive(Debug, Parser)]
#[command(name = "venturi-agent", version, about, long_about = None)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Generate sort-benchmark records, bit-compatible with gensort 1.5
    Gen(cmd::generate::Args),
    /// Sort with the 2-IO engine
    Sort(cmd::sort::Args),
    /// Check order, count, checksum and duplicates, compatible with valsort
    Validate(cmd::validate::Args),
    /// DiskBench: what the disks behind some directories can do
    Disk(cmd::disk::Args),
    /// NetBench: what the network between some hosts can do
    Net(cmd::net::Args),
    /// Facts about this host
    Facts(cmd::facts::Args),
    /// Sample this host's counters until stopped
    Sample(cmd::sample::Args),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let (name, run): (&str, Box<dyn Fn(&Events) -> Result<u8, events::Failure>>) = match cli.command
    {
        Command::Gen(args) => ("gen", Box::new(move |e| cmd::generate::run(&args, e))),
        Command::Sort(args) => ("sort", Box::new(move |e| cmd::sort::run(&args, e))),
        Command::Validate(args) => ("validate", Box::new(move |e| cmd::validate::run(&args, e))),
        Command::Disk(args) => ("disk", Box::new(move |e| cmd::disk::run(&args, e))),
        Command::Net(args) => ("net", Box::new(move |e| cmd::net::run(&args, e))),
        Command::Facts(args) => ("facts", Box::new(move |e| cmd::facts::run(&args, e))),
        Command::Sample(args) => ("sample", Box::new(move |e| cmd::sample::run(&args, e))),
    };
    let events = Events::start(name);
    match run(&events) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            events.error(&failure);
            ExitCode::from(failure.exit)
        }
    }
}
