//! `venturi-agent pi`.

use std::io;

use extsort::halton::{MOST_POINTS, points_inside};
use serde_json::{Value, json};

use super::generate::{one_or_more, threads};
use super::used::Used;
use crate::events::{EXIT_INTERRUPTED, EXIT_OK, EXIT_USER, Events, Failure};
use crate::signals::stop_flag;

/// Arguments of `venturi-agent pi`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Points of the Halton sequence, at most 2^53
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_POINTS))]
    points: u64,
    /// Tasks that the points are divided into
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..))]
    parts: u64,
    /// Concurrent tasks [default: one for each available CPU]
    #[arg(long, value_name = "N", value_parser = one_or_more())]
    threads: Option<usize>,
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    let stop = stop_flag()?;
    let threads = threads(args.threads);
    let (started_s, used) = (events.elapsed_s(), Used::so_far());
    let progress = |done| events.progress("pi", done, Some(args.points), "points");
    let inside = points_inside(args.points, args.parts, threads, &stop, &progress)
        .map_err(|error| threads_refused(&error))?
        .ok_or_else(interrupted)?;
    let elapsed_s = events.elapsed_s() - started_s;
    events.phase("pi", started_s, elapsed_s);
    events.result(&json!({
        "points": args.points,
        "inside": inside,
        "pi": 4.0 * inside as f64 / args.points as f64,
        "parts": args.parts,
        "threads": threads,
        "elapsed_s": elapsed_s,
        "used": used.until_now(),
    }));
    Ok(EXIT_OK)
}

/// A command that the system refuses a thread.
pub(super) fn threads_refused(error: &io::Error) -> Failure {
    Failure {
        code: rawio::REFUSED.0,
        message: format!("the system refuses a thread: {error}"),
        place: Value::Null,
        hint: rawio::REFUSED_HINT.to_owned(),
        exit: EXIT_USER,
    }
}

fn interrupted() -> Failure {
    Failure {
        code: "VEN-INTERRUPTED",
        message: "interrupted".to_owned(),
        place: Value::Null,
        hint: String::new(),
        exit: EXIT_INTERRUPTED,
    }
}
