//! Signals that ask a command to stop.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::events::{EXIT_USER, Failure};

/// A flag that SIGINT, SIGTERM and SIGHUP raise: the command cleans up and ends.
pub fn stop_flag() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).map_err(|error| Failure {
            code: "VEN-AGENT-SIGNAL",
            message: format!("cannot watch for signal {signal}: {error}"),
            place: serde_json::Value::Null,
            hint: String::new(),
            exit: EXIT_USER,
        })?;
    }
    Ok(stop)
}
