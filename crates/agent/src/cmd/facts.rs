//! `venturi-agent facts`.

use crate::events::{Events, Failure};

/// Arguments of `venturi-agent facts`.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Runs the command; the exit status when it could say something useful.
pub fn run(_args: &Args, _events: &Events) -> Result<u8, Failure> {
    Err(Failure {
        code: "VEN-AGENT-PENDING",
        message: "not built yet".to_owned(),
        place: serde_json::Value::Null,
        hint: String::new(),
        exit: crate::events::EXIT_USER,
    })
}
