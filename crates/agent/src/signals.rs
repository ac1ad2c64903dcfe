//! Signals that ask a command to stop, and one that would end it without its cleaning up.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

use crate::events::{EXIT_USER, Failure};

/// A flag that SIGINT, SIGTERM and SIGHUP raise, and that there is no more memory: the command cleans
/// up and ends.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        register(signal, Arc::clone(&stop))?;
    }
    crate::reserve::stop_by(Arc::clone(&stop));
    Ok(stop)
}

/// Makes a write beyond the limit on the size of files an error like any other, as one to a pipe
/// without a reader is already.
pub fn heed_file_limit() -> Result<(), Failure> {
    register(SIGXFSZ, Arc::default())
}

fn register(signal: i32, flag: Arc<AtomicBool>) -> Result<(), Failure> {
    let failed = |error| Failure {
        code: "VEN-AGENT-SIGNAL",
        message: format!("cannot watch for signal {signal}: {error}"),
        place: serde_json::Value::Null,
        hint: String::new(),
        exit: EXIT_USER,
    };
    signal_hook::flag::register(signal, flag).map(drop).map_err(failed)
}
