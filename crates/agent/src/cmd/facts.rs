//! `venturi-agent facts`: what is known about this host.

use std::path::PathBuf;

use hostmon::HostError;
use serde_json::json;

use crate::events::{EXIT_OK, EXIT_USER, Events, Failure};

/// Arguments of `venturi-agent facts`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folder under which /proc and /sys are read
    #[arg(long, default_value = "/", value_name = "DIR")]
    root: PathBuf,
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    events.result(&hostmon::collect(&args.root).map_err(|error| failure(&error))?);
    Ok(EXIT_OK)
}

/// An error of the host crate as the outside sees it.
pub fn failure(error: &HostError) -> Failure {
    Failure {
        code: error.code(),
        message: error.to_string(),
        place: match error {
            HostError::NoProc { path, .. } => json!({"path": path}),
        },
        hint: error.hint().to_owned(),
        exit: EXIT_USER,
    }
}
