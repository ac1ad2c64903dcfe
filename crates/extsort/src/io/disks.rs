//! The disks of a sort: how each is accessed, and how it turned out to be.

use std::sync::Mutex;

use rawio::Backend;

use crate::io::spill::Scratch;
use crate::phases::stage::lock;
use crate::plan::Plan;
use crate::report::IoReport;

/// The scratch disks and how all disks are accessed.
pub(crate) struct Disks<'a> {
    pub(crate) scratch: &'a [Scratch],
    /// Requests in flight on a scratch disk, and the way to the kernel.
    pub(crate) scratch_io: (usize, Backend),
    /// The same of an output disk.
    pub(crate) output_io: (usize, Backend),
    reports: Mutex<Vec<IoReport>>,
}

impl<'a> Disks<'a> {
    pub(crate) fn new(scratch: &'a [Scratch], plan: &Plan, backend: Backend) -> Self {
        Self {
            scratch,
            scratch_io: (plan.scratch_depth, backend),
            output_io: (plan.queue_depth, backend),
            reports: Mutex::default(),
        }
    }

    /// Remembers how a directory was accessed.
    pub(crate) fn note(&self, role: &'static str, dir: String, method: String) {
        let report = IoReport { role, dir, method };
        let mut reports = lock(&self.reports);
        if !reports.contains(&report) {
            reports.push(report);
        }
    }

    pub(crate) fn into_report(self) -> Vec<IoReport> {
        self.reports.into_inner().unwrap_or_default()
    }
}
