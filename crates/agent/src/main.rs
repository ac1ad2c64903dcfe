//! `venturi-agent`: the one program that touches a host.
//!
//! It parses arguments, calls a library crate and writes NDJSON events (see [`events`]) on stdout;
//! talk goes to stderr. It keeps no state and has no logic of its own.

mod cmd;
mod events;
mod reserve;
mod signals;
mod stacks;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use rustix::process::{Signal, set_parent_process_death_signal};

use events::Events;

#[global_allocator]
static MEMORY: reserve::WithReserve = reserve::WithReserve;

#[derive(Debug, Parser)]
#[command(name = "venturi-agent", version, about, long_about = None)]
struct Cli {
    /// End when the process that started this one ends, even if that was killed
    #[arg(long, global = true, hide = true)]
    end_with_parent: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Work(Work),
    /// Be a host for the process at the other end of stdin and stdout
    #[command(hide = true)]
    Host(cmd::host::Host),
    /// Run a command of which nothing is left when stdin closes
    #[command(hide = true)]
    Supervise(cmd::host::Supervise),
    /// Become a command that is killed with the process that started this one
    #[command(hide = true)]
    Execute(cmd::host::Execute),
}

/// Commands that report in events.
#[derive(Debug, Subcommand)]
enum Work {
    /// Generate sort-benchmark records, bit-compatible with gensort 1.5
    Gen(cmd::generate::Args),
    /// Sort files of any size: a record is read and written twice at most (2-IO)
    Sort(cmd::sort::Args),
    /// Check order, count, checksum and duplicates, compatible with valsort
    Validate(cmd::validate::Args),
    /// Estimate pi from points of the Halton sequence: work for the CPUs alone
    Pi(cmd::pi::Args),
    /// Write or read many files concurrently, as `TestDFSIO` does
    Files(cmd::files::Args),
    /// DiskBench: how fast the disks under some directories read and write
    Disk(cmd::disk::Args),
    /// NetBench: how fast hosts send to one another, or this one to itself
    Net(cmd::net::Args),
    /// How fast memory can be written for the first time, and again
    Memory(cmd::memory::Args),
    /// How fast a core sorts, copies memory, compresses and serializes
    Cpu(cmd::cpu::Args),
    /// Describe this host: CPU, memory, disks, file systems, network
    Facts(cmd::facts::Args),
    /// Sample the use of CPU, memory, disks and network at intervals, until stopped
    Sample(cmd::sample::Args),
    /// Record and analyze block-I/O traces
    Trace(cmd::trace::Args),
    /// Serve image files with the service times of disks
    #[command(hide = true)]
    Spindle(cmd::spindle::Args),
    /// List every error code with its meaning
    Errors,
}

impl Work {
    fn name(&self) -> &'static str {
        match self {
            Self::Gen(_) => "gen",
            Self::Sort(_) => "sort",
            Self::Validate(_) => "validate",
            Self::Pi(_) => "pi",
            Self::Files(_) => "files",
            Self::Disk(_) => "disk",
            Self::Net(_) => "net",
            Self::Memory(_) => "memory",
            Self::Cpu(_) => "cpu",
            Self::Facts(_) => "facts",
            Self::Sample(_) => "sample",
            Self::Trace(_) => "trace",
            Self::Spindle(_) => "spindle",
            Self::Errors => "errors",
        }
    }

    fn run(&self, events: &Events) -> Result<u8, events::Failure> {
        match self {
            Self::Gen(args) => cmd::generate::run(args, events),
            Self::Sort(args) => cmd::sort::run(args, events),
            Self::Validate(args) => cmd::validate::run(args, events),
            Self::Pi(args) => cmd::pi::run(args, events),
            Self::Files(args) => cmd::files::run(args, events),
            Self::Disk(args) => cmd::disk::run(args, events),
            Self::Net(args) => cmd::net::run(args, events),
            Self::Memory(args) => cmd::memory::run(args, events),
            Self::Cpu(args) => cmd::cpu::run(args, events),
            Self::Facts(args) => cmd::facts::run(args, events),
            Self::Sample(args) => cmd::sample::run(args, events),
            Self::Trace(args) => cmd::trace::run(args, events),
            Self::Spindle(args) => cmd::spindle::run(args, events),
            Self::Errors => Ok(cmd::errors::run(events)),
        }
    }
}

fn main() -> ExitCode {
    stacks::give_back();
    let Cli { end_with_parent, command } = Cli::parse();
    if end_with_parent {
        // A refusal costs only this convenience.
        let _ = set_parent_process_death_signal(Some(Signal::TERM));
    }
    match command {
        Command::Work(work) => tell(&work),
        Command::Host(args) => cmd::host::serve(&args),
        Command::Supervise(args) => cmd::host::supervise(&args),
        Command::Execute(args) => cmd::host::execute(&args),
    }
}

fn tell(work: &Work) -> ExitCode {
    let events = Events::start(work.name());
    match signals::heed_file_limit().and_then(|()| work.run(&events)) {
        Ok(status) => ExitCode::from(status),
        Err(failure) => {
            let stopped = failure.exit == events::EXIT_INTERRUPTED;
            let failure = if stopped && reserve::is_used() { reserve::failure() } else { failure };
            events.error(&failure);
            ExitCode::from(failure.exit)
        }
    }
}
