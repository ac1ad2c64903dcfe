//! `venturi-agent sample`: this host's counters as rates, until stopped.

use std::io;
use std::ops::RangeInclusive;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use hostmon::{Row, Sampler, next_tick, process_cpu_s};
use serde::Serialize;
use serde_json::json;

use super::facts::failure;
use crate::events::{EXIT_INTERRUPTED, EXIT_OK, Events, Failure};
use crate::signals::Stop;

/// From 10 ms, the tick in which the kernel counts CPU time, to an hour.
const INTERVALS_MS: RangeInclusive<u64> = 10..=3_600_000;

/// A last sample covers at least this: the kernel counts processor time in ticks of 10 ms.
const LEAST_LAST: Duration = Duration::from_millis(100);

/// Arguments of `venturi-agent sample`.
///
/// Stops after `--duration-s`, at SIGTERM or SIGHUP (exit 0), at SIGINT (exit 130), or when the
/// reader closes the output (exit 0); the result has the cost of sampling.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Time between two samples
    #[arg(long, default_value_t = 1000, value_name = "MS",
          value_parser = clap::value_parser!(u64).range(INTERVALS_MS))]
    interval_ms: u64,
    /// Stop after this long; otherwise at SIGTERM
    #[arg(long, value_name = "S", value_parser = seconds)]
    duration_s: Option<Duration>,
    /// Also sample what the process that started this one, and all that it started, used
    #[arg(long)]
    own: bool,
    /// Folder under which /proc and /sys are read
    #[arg(long, default_value = "/", value_name = "DIR")]
    root: PathBuf,
}

/// A number of seconds.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let value: f64 = text.parse().map_err(|_| "not a number of seconds")?;
    Duration::try_from_secs_f64(value).map_err(|error| error.to_string())
}

/// One sample; the rows are `[metric, device, value, unit]`.
#[derive(Serialize)]
struct Series<'a> {
    t_s: f64,
    unix_time_s: Option<f64>,
    rows: &'a [Row],
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    let interval = Duration::from_millis(args.interval_ms);
    let stop = Stop::on_signals()?;
    let mut sampler = Sampler::open(&args.root).map_err(|error| failure(&error))?;
    if args.own {
        sampler = sampler.with_own(std::os::unix::process::parent_id());
    }
    for source in sampler.missing() {
        events.warning("VEN-HOST-SOURCE", &format!("no rows from {source}"));
    }
    let started = Instant::now();
    let mut samples = 0_u64;
    let mut sample = || {
        let rows = sampler.sample(started.elapsed());
        let unix_time = SystemTime::now().duration_since(UNIX_EPOCH);
        events.emit(
            "series",
            &Series {
                t_s: events.elapsed_s(),
                unix_time_s: unix_time.ok().map(|time| time.as_secs_f64()),
                rows,
            },
        );
        samples += 1;
        started.elapsed()
    };
    loop {
        let at = sample();
        let next = next_tick(started.elapsed(), interval);
        let last = args.duration_s.is_some_and(|duration| next > duration);
        let until = if last { args.duration_s } else { None }.unwrap_or(next);
        // Also stops when the reader closes the output.
        let stopped = stop.wait(started + until, Some(io::stdout().as_fd()));
        if stopped && started.elapsed().saturating_sub(at) >= LEAST_LAST {
            sample(); // samples the end of the watched process
        }
        if stopped || last {
            break;
        }
    }
    events.result(&json!({
        "samples": samples,
        "cpu_s": process_cpu_s(),
        "elapsed_s": started.elapsed().as_secs_f64(),
    }));
    Ok(if stop.interrupted() { EXIT_INTERRUPTED } else { EXIT_OK })
}
