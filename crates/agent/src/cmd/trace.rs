//! `venturi-agent trace`: what a job did to its disks, from a trace of its block I/O.

use std::path::{Path, PathBuf};

use blktrace::{Input, TraceError, analyze};
use hostmon::process_cpu_s;
use serde_json::{Value, json};

use crate::events::{EXIT_INTERRUPTED, EXIT_OK, EXIT_USER, Events, Failure};
use crate::signals::stop_flag;

/// Arguments of `venturi-agent trace`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Sizes, latencies, distances, runs and depth of what was traced
    Analyze {
        /// Folder with blktrace's files, one of them, what `blkparse -d` wrote, or text by blkparse,
        /// ftrace or perf script; `-` is standard input
        #[arg(value_name = "PATH")]
        path: PathBuf,
    },
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    let What::Analyze { path } = &args.what;
    let stop = stop_flag()?;
    let (started_s, cpu_before_s) = (events.elapsed_s(), process_cpu_s());
    let opened = if path == Path::new("-") { Input::stdin() } else { Input::open(path) };
    let report = opened
        .and_then(|input| {
            let progress = |done, total| events.progress("analyze", done, total, "bytes");
            analyze(input, &stop, &progress)
        })
        .map_err(|error| failure(&error))?;
    let (elapsed_s, cpu_s) = (events.elapsed_s() - started_s, process_cpu_s() - cpu_before_s);
    events.phase("analyze", started_s, elapsed_s);
    for warning in &report.warnings {
        events.warning(warning.code, &warning.message);
    }
    events.result(&json!({"trace": report, "analysis_s": elapsed_s, "cpu_s": cpu_s}));
    Ok(EXIT_OK)
}

fn failure(error: &TraceError) -> Failure {
    Failure {
        code: error.code(),
        message: error.to_string(),
        place: error.path().map_or(Value::Null, |path| json!({"file": path})),
        hint: error.hint().to_owned(),
        exit: if matches!(error, TraceError::Interrupted) { EXIT_INTERRUPTED } else { EXIT_USER },
    }
}
