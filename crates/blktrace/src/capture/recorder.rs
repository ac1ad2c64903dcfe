//! Who records: we through tracefs, or perf where that is refused.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::capture::disks::{Disk, disks};
use crate::capture::perf::ByPerf;
use crate::capture::record::{Ended, Plan, Recording, SYS};
use crate::error::TraceError;
use crate::summary::report::Warning;

/// A recording under way.
pub struct Recorder {
    by: By,
    output: PathBuf,
}

enum By {
    Tracefs(Box<Recording>),
    Perf(Box<ByPerf>),
}

impl Recorder {
    /// Starts a recording; the folder exists only if it succeeds. While it waits for perf to start,
    /// it asks `stopped`.
    pub fn start(plan: &Plan, stopped: &dyn Fn() -> bool) -> Result<Self, TraceError> {
        let by = match Recording::start(plan) {
            Ok(recording) => By::Tracefs(Box::new(recording)),
            Err(refused @ TraceError::Rights { .. }) => {
                By::Perf(Box::new(by_perf(plan, refused, stopped)?))
            }
            Err(error) => return Err(error),
        };
        Ok(Self { by, output: plan.output.clone() })
    }

    fn recorded(&self) -> &[Disk] {
        match &self.by {
            By::Tracefs(recording) => recording.disks(),
            By::Perf(perf) => perf.disks(),
        }
    }

    /// Names of the disks that are recorded.
    pub fn disks(&self) -> impl Iterator<Item = &str> {
        self.recorded().iter().map(|disk| disk.name.as_str())
    }

    /// The instance of tracefs that records, if one does.
    pub fn instance(&self) -> Option<&Path> {
        match &self.by {
            By::Tracefs(recording) => Some(recording.instance()),
            By::Perf(_) => None,
        }
    }

    /// That the recording is written to a disk that is recorded, if it is.
    pub fn records_itself(&self) -> Option<Warning> {
        let own = disks(Path::new(SYS), std::slice::from_ref(&self.output), &[]).ok()?;
        let disks = self.recorded();
        let own = own.iter().find(|own| disks.iter().any(|disk| disk.number == own.number))?;
        let message = format!(
            "the recording is written to a disk that is recorded, {}, so that its own writes are in it",
            own.name
        );
        Some(Warning { code: "VEN-TRACE-ITSELF", message })
    }

    /// How many bytes were recorded.
    pub fn bytes(&self) -> u64 {
        match &self.by {
            By::Tracefs(recording) => recording.bytes(),
            By::Perf(perf) => perf.bytes(),
        }
    }

    /// How long until [`Recorder::copy`] is to be called again.
    pub fn pause(&self) -> Duration {
        match &self.by {
            By::Tracefs(recording) => recording.pause(),
            By::Perf(perf) => perf.pause(),
        }
    }

    /// Takes what there is; how many bytes it is.
    pub fn copy(&mut self) -> Result<u64, TraceError> {
        match &mut self.by {
            By::Tracefs(recording) => recording.copy(),
            By::Perf(perf) => perf.look(),
        }
    }

    /// Ends it with everything recorded so far, or up to where `cut` ended it.
    pub fn end(self, cut: Option<TraceError>) -> Result<Ended, TraceError> {
        match self.by {
            By::Tracefs(recording) => recording.end(cut),
            By::Perf(perf) => perf.end(cut),
        }
    }
}

/// Starts a recording by perf after tracefs `refused`. If perf fails too, the error is the refusal
/// with perf's message; a folder in use or a full disk is an error of its own.
fn by_perf(
    plan: &Plan,
    refused: TraceError,
    stopped: &dyn Fn() -> bool,
) -> Result<ByPerf, TraceError> {
    match (ByPerf::start(plan, refused.to_string(), stopped), refused) {
        (Ok(Some(perf)), _) => Ok(perf),
        (Err(error @ (TraceError::Occupied { .. } | TraceError::Interrupted)), _) => Err(error),
        // More rights wouldn't help against a full disk.
        (Err(TraceError::Write { path, reason }), _)
            if reason.kind() == io::ErrorKind::StorageFull =>
        {
            Err(TraceError::Write { path, reason })
        }
        (Err(error), TraceError::Rights { path, reason, .. }) => {
            let said = match error {
                TraceError::Perf { said } => said,
                error => error.to_string(),
            };
            Err(TraceError::Rights { path, reason, perf: Some(said) })
        }
        (_, refused) => Err(refused),
    }
}
