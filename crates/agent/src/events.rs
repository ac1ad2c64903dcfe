//! The agent's only output: newline-delimited JSON events on stdout.
//!
//! Every event is one object with an `event` key:
//!
//! | event | when | other keys |
//! |---|---|---|
//! | `started` | first, always | `schema_version`, `command`, `agent`, `unix_time_s` |
//! | `progress` | at most five a second | `phase`, `done`, `total` (or null), `unit`, `elapsed_s` |
//! | `phase` | a timed part has ended | `name`, `started_s`, `elapsed_s` |
//! | `sample` | a measured value | `phase`, `metric`, `value` (or null), `unit`, `labels`, `missing_reason` |
//! | `warning` | something the reader must know | `code`, `message` |
//! | `ready` | the requested service is available | by command |
//! | `result` | last, when it worked | `data` |
//! | `error` | last, when it did not | `code`, `message`, `where`, `hint` |
//!
//! Times ending in `_s` are seconds since the `started` event.

use std::io::{self, Write};
use std::os::fd::AsFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use serde_json::{Value, json};

/// Version of the event vocabulary; raised when a reader of the old one would misread the new one.
pub const SCHEMA_VERSION: u32 = 1;

/// Exit status: it worked.
pub const EXIT_OK: u8 = 0;
/// Exit status: the user or the environment must change something.
pub const EXIT_USER: u8 = 1;
/// Exit status: measured, but the result is not valid (unsorted output, lost messages).
pub const EXIT_INVALID: u8 = 3;
/// Exit status: interrupted by a signal, everything temporary removed.
pub const EXIT_INTERRUPTED: u8 = 130;

/// A failure as the outside sees it.
#[derive(Debug)]
pub struct Failure {
    /// Stable code, `VEN-AREA-NAME`.
    pub code: &'static str,
    /// The problem.
    pub message: String,
    /// Where: file, offset, field, value.
    pub place: Value,
    /// The remedy.
    pub hint: String,
    /// Exit status of the process.
    pub exit: u8,
}

/// Writes events; one per process, shared by its threads.
pub struct Events {
    start: Instant,
    progress: Mutex<Option<Instant>>,
    stdout: Mutex<io::Stdout>,
}

impl Events {
    /// Announces the command and starts the clock that every `_s` refers to.
    pub fn start(command: &str) -> Self {
        let events = Self {
            start: Instant::now(),
            progress: Mutex::new(None),
            stdout: Mutex::new(io::stdout()),
        };
        let unix_time_s = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0.0, |d| d.as_secs_f64());
        events.write(&json!({
            "event": "started",
            "schema_version": SCHEMA_VERSION,
            "command": command,
            "agent": identity(),
            "unix_time_s": unix_time_s,
        }));
        events
    }

    /// Seconds since the `started` event.
    pub fn elapsed_s(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Reports progress; calls closer together than 200 ms are dropped, and all while the reader of
    /// stdout does not read: progress must not keep the work waiting.
    pub fn progress(&self, phase: &str, done: u64, total: Option<u64>, unit: &str) {
        let mut last = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if last.is_some_and(|at| now - at < Duration::from_millis(200)) {
            return;
        }
        *last = Some(now);
        if !takes_more(&io::stdout()) {
            return;
        }
        self.write(&json!({
            "event": "progress", "phase": phase, "done": done, "total": total,
            "unit": unit, "elapsed_s": self.elapsed_s(),
        }));
    }

    /// Reports a timed part that has ended.
    pub fn phase(&self, name: &str, started_s: f64, elapsed_s: f64) {
        self.write(&json!({
            "event": "phase", "name": name, "started_s": started_s, "elapsed_s": elapsed_s,
        }));
    }

    /// Reports something the reader of the result must know.
    pub fn warning(&self, code: &str, message: &str) {
        let message = without_numbers(message);
        self.write(&json!({"event": "warning", "code": code, "message": message}));
    }

    /// Reports any other event; `fields` must be a JSON object.
    pub fn emit(&self, event: &str, fields: &impl Serialize) {
        let mut value = serde_json::to_value(fields).unwrap_or(Value::Null);
        if let Value::Object(map) = &mut value {
            map.insert("event".to_owned(), event.into());
        }
        self.write(&value);
    }

    /// The last event of a command that worked.
    pub fn result(&self, data: &impl Serialize) {
        self.write(&Last { event: "result", data });
    }

    /// The last event of a command that did not; the same text goes to stderr for people.
    pub fn error(&self, failure: &Failure) {
        let message = without_numbers(&failure.message);
        self.write(&json!({
            "event": "error", "code": failure.code, "message": message,
            "where": failure.place, "hint": failure.hint,
        }));
        let mut stderr = io::stderr().lock();
        let _ = writeln!(stderr, "error[{}]: {message}", failure.code);
        if !failure.hint.is_empty() {
            let _ = writeln!(stderr, "  hint: {}", failure.hint);
        }
    }

    fn write(&self, event: &impl Serialize) {
        // In one write: standard output has room for a kilobyte, and a result may be longer.
        let mut line = serde_json::to_vec(event).unwrap_or_default();
        line.push(b'\n');
        let mut stdout = self.stdout.lock().unwrap_or_else(PoisonError::into_inner);
        // A reader that went away is no reason to fail: the work itself is the product.
        let _ = stdout.write_all(&line).and_then(|()| stdout.flush());
    }
}

/// The final event, with the outcome.
#[derive(Serialize)]
struct Last<'a, T> {
    event: &'static str,
    data: &'a T,
}

/// Whether a line can be written to `file` without blocking.
fn takes_more(file: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(file, PollFlags::OUT)];
    let ready = poll(&mut fds, Some(&Timespec::default()));
    !matches!(ready, Ok(0))
}

/// `message` as people say it: `No such file or directory`, without `(os error 2)` after it.
fn without_numbers(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let mut said = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        said += part.split_once(')').map_or(part, |(_, rest)| rest);
    }
    said
}

/// Which build this is; stored with every number it produces.
pub fn identity() -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "git_sha": env!("VENTURI_GIT_SHA"),
        "build_profile": env!("VENTURI_PROFILE"),
        "target_arch": std::env::consts::ARCH,
    })
}
