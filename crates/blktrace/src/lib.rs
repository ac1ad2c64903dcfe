//! Traces of block devices: recording, readers, pairing of events, and reports of the I/O.
//!
//! A trace is read once, from beginning to end, in memory that does not grow with it:
//!
//! ```text
//! input --> stream (one a file) --> merge --> analysis --> report
//!            |  binary | text       by time    |  pairing: which events are one request
//!            |  in order of time               |  group: sizes, latencies, locality, raster
//!            tally: missing and damaged events |  depth: concurrent requests of a device
//! ```
//!
//! | folder | what |
//! |---|---|
//! | [`read`] | trace files (blktrace, blkparse, ftrace, perf) to events in order of time |
//! | [`capture`] | recording through the kernel's tracepoints or perf, and the files of a recording |
//! | [`attribute`] | which file, task and stage each request belongs to |
//! | [`summary`] | pairing, sizes, latencies, locality, depth, and the report |

pub mod attribute;
pub mod capture;
mod error;
pub mod read;
pub mod summary;

use std::sync::atomic::{AtomicBool, Ordering};

pub use attribute::classes::Class;
pub use attribute::stages::Stage;
pub use capture::record::{Ended, Plan};
pub use capture::recorder::Recorder;
pub use error::{CODES, TraceError};
pub use read::convert::{Converted, convert};
pub use read::input::Input;
pub use summary::report::{Report, Warning};

use attribute::attribution::Attribution;
use attribute::stages::Stages;
use attribute::whose::DiskReport;
use read::stream::Stream;
use read::tally::{NOTE, Tally};
use summary::analysis::Analysis;
use summary::heat::Heat;

/// So many warnings of single files are given.
const FILES_NAMED: usize = 20;

/// Optional parts of a report.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// The stages of the job, to which requests are given.
    pub stages: Vec<Stage>,
    /// Whether the report is to have [`Report::heat`].
    pub heat: bool,
}

/// Reads a trace to its end. `progress` gets how many bytes were read, and of how many if that is
/// known; once `stop` is raised it ends with [`TraceError::Interrupted`].
pub fn analyze(
    mut input: Input,
    asked: Asked,
    stop: &AtomicBool,
    progress: &dyn Fn(u64, Option<u64>),
) -> Result<Report, TraceError> {
    let mut analysis = Analysis::default();
    analysis.heat = asked.heat.then(Heat::default);
    analysis.attribution = input.owners.take().map(|files| {
        let wall = input.streams.iter().find_map(|stream| stream.tally().wall);
        let stages = wall.map_or_else(Stages::default, |wall| Stages::of(asked.stages, wall));
        Attribution::new(files, stages, input.processes.clone())
    });
    let mut done = 0;
    read::merge::merge(
        &mut input.streams,
        |event| analysis.take(event),
        |bytes| {
            done += bytes;
            progress(done, input.bytes);
            if stop.load(Ordering::Relaxed) { Err(TraceError::Interrupted) } else { Ok(()) }
        },
    )?;
    let mut tally = Tally::default();
    input.streams.iter().for_each(|stream| tally.join(stream.tally()));
    if let Some(recorded) = input.recorded_events {
        tally.sequences.lose(recorded.saturating_sub(tally.records()));
    }
    analysis.finish(tally.sequences.missing > 0);
    if analysis.started_ns().is_none() {
        return Err(nothing_in(&input, &tally));
    }
    let missing_cpus = input.missing_cpus.clone();
    let mut report = Report::new(&analysis, &tally, formats_of(&input), input.files, missing_cpus);
    report.host.clone_from(&input.host);
    report.disks = input.disks.iter().map(DiskReport::of).collect();
    let files = analysis.attribution.take().map(|attribution| attribution.files);
    report.heat = analysis.heat.take().map(|mut heat| {
        heat.files = files;
        heat
    });
    report.warnings = warnings_of(&input);
    report.warnings.extend(of_trace(&report, &tally));
    Ok(report)
}

/// Why there is no request in a trace: nothing was traced, or nothing of it can be read.
fn nothing_in(input: &Input, tally: &Tally) -> TraceError {
    let (path, records) = (input.path.clone(), tally.records());
    match tally.damaged_bytes + tally.truncated_bytes {
        0 => TraceError::Empty { path, records },
        bytes => {
            let found =
                format!("it has no request, and {bytes} bytes that are no records: it is damaged");
            TraceError::Format { path, found }
        }
    }
}

/// The formats of the files, and those before they were converted.
fn formats_of(input: &Input) -> Vec<String> {
    let mut formats: Vec<String> = input.streams.iter().map(Stream::format).collect();
    formats.sort();
    formats.dedup();
    if !input.converted.is_empty() {
        formats.push(format!("made from {}", input.converted.join(", ")));
    }
    formats
}

/// Warnings from finding and reading the files.
fn warnings_of(input: &Input) -> Vec<Warning> {
    let mut warnings = input.warnings.clone();
    let mut of_files = of_files(&input.streams);
    warnings.extend(of_files.by_ref().take(FILES_NAMED));
    warnings.extend(of_more(of_files.count()));
    warnings
}

/// That as much is wrong with more files, if it is.
fn of_more(warnings: usize) -> Option<Warning> {
    let message = format!("{warnings} more warnings of other files of the trace are not shown");
    (warnings > 0).then_some(Warning { code: "VEN-TRACE-DAMAGED", message })
}

/// Problems of single files.
fn of_files(streams: &[Stream]) -> impl Iterator<Item = Warning> {
    streams.iter().flat_map(|stream| {
        let (path, tally) = (stream.path().display(), stream.tally());
        let damaged = (tally.damaged_places > 0).then(|| {
            let first = tally.first_damaged_byte.unwrap_or(0);
            let (bytes, places) = (tally.damaged_bytes, tally.damaged_places);
            let places = if places == 1 { "one place".to_owned() } else { format!("{places} places") };
            format!(
                "{path}: {bytes} bytes at {places}, the first at byte {first}, are no records: left out"
            )
        });
        let truncated = (tally.truncated_bytes > 0).then(|| {
            let bytes = tally.truncated_bytes;
            format!("{path} ends within a record: its last {bytes} bytes were left out")
        });
        let unread = (tally.unread_lines > 0).then(|| {
            let (lines, first) = (tally.unread_lines, tally.first_unread_line.unwrap_or(0));
            format!("{path}: {lines} lines, the first is line {first}, are no events: left out")
        });
        let damage = [damaged, truncated, unread].into_iter().flatten();
        let damage = damage.map(|message| Warning { code: "VEN-TRACE-DAMAGED", message });
        let late = (tally.late > 0).then(|| Warning {
            code: "VEN-TRACE-ORDER",
            message: format!(
                "{path}: time goes backwards: {} of {} records came after more than {} later ones, \
                 and latencies are wrong where they belong to them; if files were joined by hand, \
                 give their folder instead",
                tally.late,
                tally.records(),
                read::stream::HELD_BACK
            ),
        });
        damage.chain(late).collect::<Vec<_>>()
    })
}

/// Problems of the trace as a whole.
fn of_trace(report: &Report, tally: &Tally) -> Vec<Warning> {
    let lost = (report.losses.missing_records > 0).then(|| Warning {
        code: "VEN-TRACE-LOST",
        message: format!(
            "{} records are missing, next to {} that the trace has, by their numbers or by its own \
             notes: they were lost, or left out when it was written",
            report.losses.missing_records,
            tally.records() - tally.actions[NOTE]
        ),
    });
    let no_issue = report.devices.iter().filter(|device| {
        device.operations.iter().all(|each| each.issued.count == 0)
            && device.operations.iter().any(|each| each.queued.count > 0)
    });
    let no_issue = no_issue.map(|device| Warning {
        code: "VEN-TRACE-NO-ISSUE",
        message: format!(
            "device {}: requests were queued and none was issued: it hands them on to other devices \
             (device mapper, md), which have to be traced, or issues (D) were not traced",
            device.device
        ),
    });
    lost.into_iter().chain(no_issue).collect()
}
