//! `venturi-agent memory`.

use iobench::memory::{Refusal, touch};

use super::pi::threads_refused;
use crate::events::{EXIT_OK, EXIT_USER, Events, Failure};

/// Arguments of `venturi-agent memory`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Memory to write, in bytes
    #[arg(long, value_name = "BYTES")]
    bytes: u64,
    /// Threads [default: one for each available CPU]
    #[arg(long, value_name = "N")]
    threads: Option<std::num::NonZero<usize>>,
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    let threads = args
        .threads
        .map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let facts = hostmon::collect(std::path::Path::new("/")).ok();
    let available = facts.and_then(|facts| facts.memory_available_bytes);
    if available.is_some_and(|available| args.bytes > available / 10 * 9) {
        return Err(failure(format!(
            "{} bytes are more than nine tenths of the memory available",
            args.bytes
        )));
    }
    let report = touch(args.bytes, threads).map_err(|refusal| match refusal {
        Refusal::Memory(error) => failure(format!("cannot map {} bytes: {error}", args.bytes)),
        Refusal::Thread(error) => threads_refused(&error),
    })?;
    events.result(&report);
    Ok(EXIT_OK)
}

fn failure(message: String) -> Failure {
    Failure {
        code: "VEN-MEMORY-BYTES",
        message,
        place: serde_json::json!({"field": "bytes"}),
        hint: "give fewer --bytes".to_owned(),
        exit: EXIT_USER,
    }
}
