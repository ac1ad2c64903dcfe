//! Recording by perf, for users who may read tracefs but not change it: many containers mount it
//! that way. Such a recording has no names of new files, so the file of a request is unknown.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::system::uname;

use crate::capture::bundle::{Clock, CpuEnd, End, make_folder, unwritable};
use crate::capture::disks::{Disk, disks};
use crate::capture::record::{Ended, Plan, SYS, clock, gone, of_disks};
use crate::error::TraceError;
use crate::read::convert::{Converted, Known, NAMES, forget, nothing, rewrite};
use crate::read::input::Input;
use crate::summary::report::Warning;

/// perf's output file, in the recording's folder until it is converted.
const DATA: &str = "perf.data";
const PAUSE: Duration = Duration::from_millis(200);
/// How long perf may take to begin, and to write what it has at the end.
const BEGINS: Duration = Duration::from_secs(30);
const ENDS: Duration = Duration::from_mins(1);
const MOMENT: Duration = Duration::from_millis(20);
/// The most bytes of perf's messages that are kept.
const SAID_BYTES: u64 = 4 << 10;
const LINES_TOLD: usize = 3;
/// The start of the lines that perf prints for every recording.
const AS_USUAL: &str = "[ perf record: ";
const NO_ROOM: &str = "No space left on device";

/// A recording under way. perf ends with it, however that is ended: it records as long as a program
/// runs that reads from here.
pub struct ByPerf {
    perf: Child,
    disks: Vec<Disk>,
    folder: PathBuf,
    /// Whether the folder existed before.
    was_there: bool,
    clock: Clock,
    started: Instant,
    /// Why perf records.
    because: String,
}

impl ByPerf {
    /// Starts perf after another way was refused `because`; `None` if perf is not installed. If
    /// perf does not record, the error is [`TraceError::Perf`] with its message, and there is no
    /// folder. Returns [`TraceError::Interrupted`] once `stopped` returns true.
    pub fn start(
        plan: &Plan,
        because: String,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Option<Self>, TraceError> {
        let disks = disks(Path::new(SYS), &plan.folders, &plan.devices)?;
        let folder = plan.output.clone();
        let was_there = folder.exists();
        make_folder(&folder)?;
        let perf = match command(&disks, plan.buffer_bytes, &folder.join(DATA)).spawn() {
            Ok(perf) => perf,
            Err(reason) => {
                leave(&folder, was_there);
                return match reason.kind() {
                    io::ErrorKind::NotFound => Ok(None),
                    _ => Err(TraceError::Perf { said: reason.to_string() }),
                };
            }
        };
        let (clock, started) = (clock(), Instant::now());
        let mut begun = Self { perf, disks, folder, was_there, clock, started, because };
        if let Err(error) = begun.wait_for_first_event(stopped) {
            let _ = begun.perf.kill();
            let _ = begun.perf.wait();
            leave(&begun.folder, was_there);
            return Err(error);
        }
        begun.started = Instant::now();
        Ok(Some(begun))
    }

    /// When the program runs, and answers, every event is on.
    fn wait_for_first_event(&mut self, stopped: &dyn Fn() -> bool) -> Result<(), TraceError> {
        let (asks, answers) = (self.perf.stdin.as_mut(), self.perf.stdout.as_mut());
        let Some((asks, answers)) = asks.zip(answers) else {
            return Err(TraceError::Perf { said: self.said() });
        };
        // One that has ended reads nothing, and says why below.
        let _ = asks.write_all(b"\n");
        let give_up = Instant::now() + BEGINS;
        let moment = Timespec::try_from(MOMENT).ok();
        while !matches!(poll(&mut [PollFd::new(answers, PollFlags::IN)], moment.as_ref()), Ok(1..))
        {
            if stopped() {
                return Err(TraceError::Interrupted);
            }
            if Instant::now() > give_up {
                let said = format!("it did not begin within {} s", BEGINS.as_secs());
                return Err(TraceError::Perf { said });
            }
        }
        if answers.read_exact(&mut [0]).is_ok() {
            return Ok(());
        }
        self.reap(ENDS);
        if stopped() { Err(TraceError::Interrupted) } else { Err(self.ended()) }
    }

    /// Waits for perf's end, but not for ever: then it is killed.
    fn reap(&mut self, limit: Duration) {
        let give_up = Instant::now() + limit;
        while matches!(self.perf.try_wait(), Ok(None)) && Instant::now() < give_up {
            thread::sleep(MOMENT);
        }
        let _ = self.perf.kill();
        let _ = self.perf.wait();
    }

    /// The disks that are recorded.
    pub fn disks(&self) -> &[Disk] {
        &self.disks
    }

    /// How many bytes perf has written.
    pub fn bytes(&self) -> u64 {
        fs::metadata(self.folder.join(DATA)).map_or(0, |about| about.len())
    }

    /// How long until it is to be looked at again.
    pub fn pause(&self) -> Duration {
        PAUSE
    }

    /// Sees that perf still records; how many bytes it has written.
    pub fn look(&mut self) -> Result<u64, TraceError> {
        match self.perf.try_wait() {
            Ok(None) => Ok(self.bytes()),
            Ok(Some(_)) => Err(self.ended()),
            Err(reason) => Err(TraceError::Perf { said: reason.to_string() }),
        }
    }

    /// Ends perf, and converts its output into a recording, up to where `cut` ended it.
    pub fn end(mut self, cut: Option<TraceError>) -> Result<Ended, TraceError> {
        let elapsed_s = self.started.elapsed().as_secs_f64();
        drop(self.perf.stdin.take());
        // By its status it was interrupted, where we were.
        self.reap(ENDS);
        let data = self.folder.join(DATA);
        if !data.exists() {
            leave(&self.folder, self.was_there);
            return Err(cut.unwrap_or_else(|| self.ended()));
        }
        let about = uname();
        let known = Known {
            clock: Some(self.clock),
            host: Some(about.nodename().to_string_lossy().into_owned()),
            kernel: Some(about.release().to_string_lossy().into_owned()),
            disks: self.disks.clone(),
            elapsed_s: Some(elapsed_s),
            cut: cut.as_ref().map(ToString::to_string),
        };
        let converted = self.read_out(&data, known);
        if converted.is_ok() {
            let _ = fs::remove_file(&data);
        }
        let converted = match (cut, converted) {
            (Some(error), _) | (None, Err(error)) => return Err(error),
            (None, Ok(converted)) => converted,
        };
        let message = format!(
            "perf recorded, because {}: which files the requests are for is not known",
            self.because
        );
        let warnings = std::iter::once(Warning { code: "VEN-TRACE-PERF", message });
        let warnings = warnings.chain(gone(&self.disks)).chain(converted.warnings).collect();
        let of_all =
            CpuEnd { bytes: converted.bytes, events: converted.events, lost: converted.lost };
        let end = End { elapsed_s, cut: None, cpus: BTreeMap::from([(0, of_all)]) };
        Ok(Ended { end, buffers: None, warnings })
    }

    /// Has perf say what it wrote, and writes it as a recording.
    fn read_out(&self, data: &Path, known: Known) -> Result<Converted, TraceError> {
        let failed = |reason: io::Error| TraceError::Perf { said: reason.to_string() };
        let mut script = Command::new("perf")
            .args(["script", "--ns", "--show-lost-events", "-i"])
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Interrupted it would leave off, and say that it was well.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let Some((text, mut complaints)) = script.stdout.take().zip(script.stderr.take()) else {
            return Err(failed(io::ErrorKind::BrokenPipe.into()));
        };
        let said = thread::spawn(move || {
            let said = first_lines(&mut complaints);
            let _ = io::copy(&mut complaints, &mut io::sink());
            said
        });
        let input = Input::of_reader(data, Box::new(text));
        let written = match input {
            Ok(input) => rewrite(input, known, &self.folder, &AtomicBool::new(false), &|_, _| ()),
            // No line at all is of disks that were left alone.
            Err(TraceError::Format { .. }) => nothing(known, &self.folder),
            Err(error) => Err(error),
        };
        let status = script.wait().map_err(failed)?;
        let said = said.join().unwrap_or_default();
        match written {
            // A full disk ends it, too: nothing reads it any longer.
            Err(error @ TraceError::Write { .. }) => Err(error),
            _ if !status.success() => {
                forget(&self.folder);
                Err(TraceError::Perf { said: format!("perf script, {status}: {said}") })
            }
            written => written,
        }
    }

    /// Why perf has ended.
    fn ended(&mut self) -> TraceError {
        let said = self.said();
        if said.contains(NO_ROOM) {
            return unwritable(&self.folder.join(DATA), io::ErrorKind::StorageFull.into());
        }
        TraceError::Perf { said }
    }

    /// The first lines of perf's messages.
    fn said(&mut self) -> String {
        // Who was recorded with it says nothing, but holds the pipe for as long as it can read.
        drop(self.perf.stdin.take());
        let said = self.perf.stderr.take().map(|mut said| first_lines(&mut said));
        said.filter(|said| !said.is_empty()).unwrap_or_else(|| match self.perf.wait() {
            Ok(status) => format!("it ended, {status}"),
            Err(reason) => reason.to_string(),
        })
    }
}

/// The first lines of a program's messages.
fn first_lines(of: &mut impl Read) -> String {
    let mut text = Vec::new();
    let _ = of.take(SAID_BYTES).read_to_end(&mut text);
    let text = String::from_utf8_lossy(&text);
    let told = |line: &&str| !line.is_empty() && *line != "Error:" && !line.starts_with(AS_USUAL);
    let lines = text.lines().map(str::trim).filter(told);
    lines.take(LINES_TOLD).collect::<Vec<_>>().join(" ")
}

/// Removes the partial output of a recording that failed.
fn leave(folder: &Path, was_there: bool) {
    let _ = fs::remove_file(folder.join(DATA));
    if !was_there {
        let _ = fs::remove_dir(folder);
    }
}

/// The command that records the disks into `data` until its standard input closes.
fn command(disks: &[Disk], buffer_bytes: Option<u64>, data: &Path) -> Command {
    let filter = of_disks(disks);
    let mut perf = Command::new("perf");
    // -B -N: the recording does not need where programs lie in memory.
    perf.args(["record", "-B", "-N", "-a", "-k", "CLOCK_MONOTONIC", "-o"]).arg(data);
    if let Some(bytes) = buffer_bytes {
        perf.arg("-m").arg(format!("{bytes}B"));
    }
    for (_, event) in NAMES {
        perf.arg("-e").arg(event.replace('/', ":")).arg("--filter").arg(&filter);
    }
    perf.args(["--", "cat"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A Ctrl-C is for us, who end it.
    perf.process_group(0);
    perf
}
