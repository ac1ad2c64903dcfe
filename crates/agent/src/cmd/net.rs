//! `venturi-agent net`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use iobench::net::{NetError, Options, Pattern, Peer, run as measure, run_loopback};
use serde_json::json;
use signal_hook::consts::SIGINT;

use super::disk::{Reporter, seconds};
use crate::events::{EXIT_INTERRUPTED, EXIT_INVALID, EXIT_OK, EXIT_USER, Events, Failure};
use crate::signals::stop_flag;

/// The longest measurement if neither bytes nor seconds are given, and if bytes are.
const SECONDS: f64 = 2.0;
const SECONDS_FOR_BYTES: f64 = 10.0;

/// Arguments of `venturi-agent net`.
#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("what").required(true).args(["listen", "peer", "loopback"])))]
pub struct Args {
    /// Serve as a peer on this ADDRESS:PORT (port 0: any free one) until SIGTERM
    #[arg(long)]
    listen: Option<String>,
    /// With --listen: end by itself after this many seconds [default: never]
    #[arg(long, value_parser = seconds, requires = "listen")]
    listen_seconds: Option<f64>,
    /// Measure between listening peers, each as HOST:PORT
    #[arg(long)]
    peer: Vec<String>,
    /// Measure between this many peers in this process, over 127.0.0.1
    #[arg(long)]
    loopback: Option<usize>,
    /// Secret that listening peers require of the measuring process
    #[arg(long, conflicts_with = "token_file")]
    token: Option<String>,
    /// File with the secret on its first line; all users of the host can see a --token
    #[arg(long)]
    token_file: Option<PathBuf>,
    /// Bytes that each sender sends in a measurement [default: until the time is up]
    #[arg(long)]
    bytes: Option<u64>,
    /// The longest a single measurement may take, in seconds [default: 2; with --bytes 10]
    #[arg(long, value_parser = seconds)]
    max_seconds: Option<f64>,
    /// Bytes of a message
    #[arg(long, default_value_t = 4 << 20)]
    message_bytes: usize,
    /// Connections from each sender to each receiver
    #[arg(long, default_value_t = 1)]
    sockets_per_peer: usize,
    /// `every_pair`: measure pairs without a common peer concurrently, not each alone
    #[arg(long)]
    disjoint_pairs: bool,
    /// How many of the peers take part in `all_to_all` [default: 2,4,8,... and all]
    #[arg(long, value_delimiter = ',')]
    scale: Vec<usize>,
    /// How often each measurement is made
    #[arg(long, default_value_t = 3)]
    iterations: usize,
    /// Who sends to whom
    #[arg(long, value_enum, value_delimiter = ',', default_value = "pairwise,all_to_all")]
    pattern: Vec<PatternName>,
}

/// A pattern by its name in reports.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
enum PatternName {
    Pairwise,
    EveryPair,
    AllToAll,
}

impl From<PatternName> for Pattern {
    fn from(name: PatternName) -> Self {
        match name {
            PatternName::Pairwise => Self::Pairwise,
            PatternName::EveryPair => Self::EveryPair,
            PatternName::AllToAll => Self::AllToAll,
        }
    }
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    let token = token(args)?;
    if let Some(address) = &args.listen {
        return listen(address, &token, args.listen_seconds, events);
    }
    let default = if args.bytes.is_some() { SECONDS_FOR_BYTES } else { SECONDS };
    let options = Options {
        patterns: args.pattern.iter().map(|name| Pattern::from(*name)).collect(),
        sockets_per_peer: args.sockets_per_peer,
        scale: args.scale.clone(),
        disjoint_pairs: args.disjoint_pairs,
        message_bytes: args.message_bytes,
        bytes: args.bytes,
        max_time: Duration::from_secs_f64(args.max_seconds.unwrap_or(default)),
        iterations: args.iterations,
        token,
    };
    let cancel = stop_flag()?;
    let report = match args.loopback {
        Some(count) => run_loopback(count, &options, &Reporter(events), &cancel),
        None => measure(&args.peer, &options, &Reporter(events), &cancel),
    }
    .map_err(|error| failure(&error))?;
    events.result(&report);
    Ok(if report.valid { EXIT_OK } else { EXIT_INVALID })
}

/// Holds the secret if the command line, which all users of the host can see, has none.
const TOKEN: &str = "VENTURI_NET_TOKEN";

fn token(args: &Args) -> Result<String, Failure> {
    let Some(path) = &args.token_file else {
        let given = args.token.clone().or_else(|| std::env::var(TOKEN).ok());
        return Ok(given.unwrap_or_default());
    };
    let text = std::fs::read_to_string(path).map_err(|error| {
        let address = path.display().to_string();
        failure(&NetError::Token { address, problem: format!("cannot read the token: {error}") })
    })?;
    Ok(text.lines().next().unwrap_or_default().trim().to_owned())
}

/// Serves until a signal: SIGTERM is how a listener is meant to end, SIGINT an interruption.
fn listen(
    address: &str,
    token: &str,
    seconds: Option<f64>,
    events: &Events,
) -> Result<u8, Failure> {
    let stop = stop_flag()?;
    if let Some(seconds) = seconds {
        let stop = Arc::clone(&stop);
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs_f64(seconds));
            stop.store(true, Ordering::Relaxed);
        });
    }
    let interrupted = Arc::new(AtomicBool::new(false));
    // If this fails, Ctrl-C only ends like SIGTERM.
    let _ = signal_hook::flag::register(SIGINT, Arc::clone(&interrupted));
    let peer = Peer::bind(address, token).map_err(|error| failure(&error))?;
    let address = peer.address().to_string();
    events.emit("listening", &json!({"address": address}));
    peer.serve(&stop);
    if interrupted.load(Ordering::Relaxed) {
        return Err(failure(&NetError::Interrupted));
    }
    events.result(&json!({"address": address}));
    Ok(EXIT_OK)
}

fn failure(error: &NetError) -> Failure {
    Failure {
        code: error.code(),
        message: error.to_string(),
        place: error.place(),
        hint: error.hint().to_owned(),
        exit: if matches!(error, NetError::Interrupted) { EXIT_INTERRUPTED } else { EXIT_USER },
    }
}
