//! `venturi-agent trace`: what a job did to its disks, from a trace of its block I/O.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use blktrace::capture::buffers::Buffers;
use blktrace::{Asked, Class, Input, Plan, Recorder, Report, Stage, TraceError, analyze, convert};
use hostmon::process_cpu_s;
use serde_json::{Value, json};

use super::sample::seconds;
use crate::events::{EXIT_INTERRUPTED, EXIT_OK, EXIT_USER, Events, Failure};
use crate::signals::{Stop, stop_flag};

/// Arguments of `venturi-agent trace`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Analyze the sizes, latencies, distances, runs and depth of traced requests
    Analyze {
        /// Folder of a recording, or with blktrace's files, one of them, what `blkparse -d` wrote, or text by blkparse,
        /// ftrace or perf script; `-` is standard input
        #[arg(value_name = "PATH")]
        path: PathBuf,
        /// JSON file with the job's stages, to attribute requests to them
        #[arg(long, value_name = "FILE")]
        stages: Option<PathBuf>,
        /// File for finer cells of time, for zooming into charts
        #[arg(long, value_name = "FILE")]
        heat: Option<PathBuf>,
    },
    /// Write a trace by another program as a recording
    Convert {
        /// As for `analyze`
        #[arg(value_name = "PATH")]
        path: PathBuf,
        /// Folder for the recording: a new one, or an empty one
        #[arg(short, long, value_name = "FOLDER")]
        output: PathBuf,
    },
    /// Record the requests to disks, until `--for` ends, SIGTERM arrives or the reader closes
    Record(Record),
}

#[derive(Debug, clap::Args)]
struct Record {
    /// Folder on the disk to record; repeatable
    #[arg(long = "dir", value_name = "DIR", required_unless_present = "devices")]
    folders: Vec<PathBuf>,
    /// Disk to record, such as /dev/sdb; repeatable
    #[arg(long = "device", value_name = "DEVICE")]
    devices: Vec<PathBuf>,
    /// Duration in seconds [default: until SIGTERM]
    #[arg(long = "for", value_name = "S", value_parser = seconds)]
    duration: Option<Duration>,
    /// Purpose of a folder's files: input, output or scratch; repeatable
    #[arg(long = "mark", value_name = "CLASS=DIR", value_parser = mark)]
    marks: Vec<(Class, PathBuf)>,
    /// Buffer of each CPU in bytes [default: 16 MiB, or less: 1/32 of the memory for all]
    #[arg(long = "buffer", value_name = "BYTES",
          value_parser = clap::value_parser!(u64).range(1 << 12..=1 << 32))]
    buffer_bytes: Option<u64>,
    /// Folder for the recording: a new one, or an empty one
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
}

/// Runs the command; the exit status when it could say something useful.
pub fn run(args: &Args, events: &Events) -> Result<u8, Failure> {
    match &args.what {
        What::Analyze { path, stages, heat } => {
            read(path, stages.as_deref(), heat.as_deref(), events)
        }
        What::Convert { path, output } => rewrite(path, output, events),
        What::Record(record) => write(record, events),
    }
}

/// `scratch=/data1`: what the files of a folder are for.
fn mark(text: &str) -> Result<(Class, PathBuf), String> {
    let (class, folder) = text.split_once('=').ok_or("give CLASS=DIR")?;
    let class = match class {
        "input" => Class::Input,
        "output" => Class::Output,
        "scratch" => Class::Scratch,
        other => return Err(format!("{other} is none of input, output, scratch")),
    };
    Ok((class, folder.into()))
}

/// The stages in a file; empty without a file.
fn stages_in(path: Option<&Path>) -> Result<Vec<Stage>, TraceError> {
    let Some(path) = path else { return Ok(Vec::new()) };
    let text =
        fs::read(path).map_err(|reason| TraceError::Read { path: path.to_path_buf(), reason })?;
    serde_json::from_slice(&text).map_err(|error| TraceError::Format {
        path: path.to_path_buf(),
        found: format!("it has no stages: {error}"),
    })
}

/// The result of `analyze`. It may have hundreds of thousands of numbers, so it is written
/// directly.
#[derive(serde::Serialize)]
struct Analyzed {
    trace: Report,
    /// How long reading took, and of how many processor seconds.
    analysis_s: f64,
    cpu_s: f64,
}

fn read(
    path: &Path,
    stages: Option<&Path>,
    heat: Option<&Path>,
    events: &Events,
) -> Result<u8, Failure> {
    let stop = stop_flag()?;
    let stages = stages_in(stages).map_err(|error| failure(&error))?;
    let asked = Asked { stages, heat: heat.is_some() };
    let (started_s, cpu_before_s) = (events.elapsed_s(), process_cpu_s());
    let mut report = opened(path)
        .and_then(|input| {
            let progress = |done, total| events.progress("analyze", done, total, "bytes");
            analyze(input, asked, &stop, &progress)
        })
        .map_err(|error| failure(&error))?;
    let (elapsed_s, cpu_s) = (events.elapsed_s() - started_s, process_cpu_s() - cpu_before_s);
    if let (Some(path), Some(cells)) = (heat, report.heat.take()) {
        let written = File::create(path).and_then(|file| {
            let mut file = BufWriter::new(file);
            cells.write(&mut file)?;
            file.flush()
        });
        let refused = |reason| failure(&TraceError::Write { path: path.to_path_buf(), reason });
        written.map_err(refused)?;
    }
    events.phase("analyze", started_s, elapsed_s);
    for warning in &report.warnings {
        events.warning(warning.code, &warning.message);
    }
    events.result(&Analyzed { trace: report, analysis_s: elapsed_s, cpu_s });
    Ok(EXIT_OK)
}

fn opened(path: &Path) -> Result<Input, TraceError> {
    if path == Path::new("-") { Input::stdin() } else { Input::open(path) }
}

fn rewrite(path: &Path, output: &Path, events: &Events) -> Result<u8, Failure> {
    let stop = stop_flag()?;
    let started_s = events.elapsed_s();
    let converted = opened(path)
        .and_then(|input| {
            let progress = |done, total| events.progress("convert", done, total, "bytes");
            convert(input, output, &stop, &progress)
        })
        .map_err(|error| failure(&error))?;
    events.phase("convert", started_s, events.elapsed_s() - started_s);
    for warning in &converted.warnings {
        events.warning(warning.code, &warning.message);
    }
    events.result(&json!({
        "output": output.to_string_lossy(),
        "records": converted.records,
        "events": converted.events,
        "bytes": converted.bytes,
    }));
    Ok(EXIT_OK)
}

fn write(args: &Record, events: &Events) -> Result<u8, Failure> {
    let stop = Stop::on_signals()?;
    let plan = Plan {
        folders: args.folders.clone(),
        devices: args.devices.clone(),
        marks: args.marks.clone(),
        buffer_bytes: args.buffer_bytes,
        output: args.output.clone(),
    };
    let stopped = || stop.wait(Instant::now(), Some(io::stdout().as_fd()));
    let mut recording = Recorder::start(&plan, &stopped).map_err(|error| failure(&error))?;
    let (started, started_s, cpu_before_s) = (Instant::now(), events.elapsed_s(), process_cpu_s());
    let disks: Vec<String> = recording.disks().map(str::to_owned).collect();
    let itself = recording.records_itself();
    let instance = recording.instance();
    let output = args.output.to_string_lossy();
    events.emit("ready", &json!({"output": output, "disks": disks, "instance": instance}));
    let mut cut = None;
    while cut.is_none() {
        let next = started.elapsed() + recording.pause();
        let last = args.duration.filter(|duration| *duration <= next);
        // Also stops when the reader closes the output.
        let stopped = stop.wait(started + last.unwrap_or(next), Some(io::stdout().as_fd()));
        if stopped || last.is_some() {
            break;
        }
        cut = recording.copy().err();
        events.progress("record", recording.bytes(), None, "bytes");
    }
    let ended = recording.end(cut).map_err(|error| failure(&error))?;
    events.phase("record", started_s, ended.end.elapsed_s);
    for warning in itself.iter().chain(&ended.warnings) {
        events.warning(warning.code, &warning.message);
    }
    let cpus = ended.end.cpus.values();
    let lost = cpus.clone().map(|cpu| cpu.lost).sum::<u64>();
    let buffers = ended.buffers;
    if lost > 0 {
        let message = match &buffers {
            Some(buffers) => format!(
                "{lost} events were lost: buffers of {} KiB had no room for them; --buffer {} would have had",
                buffers.kib(),
                buffers.enough()
            ),
            None => format!(
                "{lost} events were lost, or more, for perf does not tell of all: its buffers had no room for \
                 them; give a larger --buffer"
            ),
        };
        events.warning("VEN-TRACE-LOST", &message);
    }
    events.result(&json!({
        "disks": disks,
        "elapsed_s": ended.end.elapsed_s,
        "bytes": cpus.clone().map(|cpu| cpu.bytes).sum::<u64>(),
        "events": cpus.map(|cpu| cpu.events).sum::<u64>(),
        "lost": lost,
        "buffer_kib": buffers.as_ref().map(Buffers::kib),
        "buffer_peak_kib": buffers.as_ref().map(|each| each.peak_bytes().div_ceil(1024)),
        // The CPU time of perf is unknown.
        "cpu_s": buffers.map(|_| process_cpu_s() - cpu_before_s),
    }));
    Ok(if stop.interrupted() { EXIT_INTERRUPTED } else { EXIT_OK })
}

fn failure(error: &TraceError) -> Failure {
    Failure {
        code: error.code(),
        message: error.to_string(),
        place: error.path().map_or(Value::Null, |path| json!({"file": path.to_string_lossy()})),
        hint: error.hint().to_owned(),
        exit: if matches!(error, TraceError::Interrupted) { EXIT_INTERRUPTED } else { EXIT_USER },
    }
}
