//! Commands that make this machine a host of another one, without events: `host` speaks frames (see
//! [`hostlink`]), `supervise` and `execute` start supervised commands.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use crate::events::{EXIT_USER, identity};
use crate::signals::heed_file_limit;

/// Arguments of `venturi-agent host`.
#[derive(Debug, clap::Args)]
pub struct Host {
    /// Serve in this very process, which another watches over
    #[arg(long, hide = true)]
    guarded: bool,
}

/// Arguments of `venturi-agent supervise`.
#[derive(Debug, clap::Args)]
pub struct Supervise {
    /// Log file to which the command's output is appended
    log: PathBuf,
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Arguments of `venturi-agent execute`.
#[derive(Debug, clap::Args)]
pub struct Execute {
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// Is the far end of a link until that breaks.
pub fn serve(args: &Host) -> ExitCode {
    if !args.guarded {
        return guard();
    }
    // A file that may not grow any further is an error of the call that writes it.
    let heeded = heed_file_limit().map_err(|failure| io::Error::other(failure.message));
    ended(heeded.and_then(|()| hostlink::serve(&identity())))
}

fn guard() -> ExitCode {
    match hostlink::guard(["--end-with-parent", "host", "--guarded"]) {
        Ok(killed @ ..0) => {
            ended(Err(io::Error::other(format!("it was ended by signal {}", -killed))))
        }
        Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(EXIT_USER)),
        Err(error) => ended(Err(error)),
    }
}

/// Runs a command of which nothing is left.
pub fn supervise(args: &Supervise) -> ExitCode {
    ended(hostlink::supervise(&args.log, &args.command))
}

/// Becomes a command.
pub fn execute(args: &Execute) -> ExitCode {
    hostlink::execute(&args.command).into()
}

fn ended(result: io::Result<()>) -> ExitCode {
    let Err(error) = result else { return ExitCode::SUCCESS };
    let _ = writeln!(io::stderr(), "venturi-agent: {error}");
    EXIT_USER.into()
}
