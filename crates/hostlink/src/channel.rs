//! One call under way: what it is sent, what it sends, and how much of that.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::frame::{Kind, Output, PIECE_BYTES, WINDOW_BYTES};
use crate::text::Text;

/// Why a call failed: the number and the path that the system gave.
#[derive(Debug)]
pub struct Failure {
    errno: i32,
    path: Option<Text>,
}

impl Failure {
    /// A failed operation on `path`.
    pub fn of(path: &std::path::Path) -> impl FnOnce(io::Error) -> Self {
        let path = Text::from(path);
        move |error| Self { path: Some(path), ..Self::from(error) }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self { errno: error.raw_os_error().unwrap_or(Errno::IO.raw_os_error()), path: None }
    }
}

impl From<Errno> for Failure {
    fn from(error: Errno) -> Self {
        Self::from(io::Error::from(error))
    }
}

/// A note about a running call.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// To be asked to end (SIGTERM).
    Terminate,
    /// To be interrupted (SIGINT), and killed after so many seconds.
    Stop(f64),
    /// To end, and all that it started.
    Release,
    /// Its data are no longer wanted.
    Cancel,
}

type OnNote = Box<dyn Fn(Note) + Send>;

#[derive(Default)]
struct State {
    credit: u64,
    arrived: VecDeque<Vec<u8>>,
    complete: bool,
    cancelled: bool,
    notes: Vec<Note>,
}

/// A call under way.
pub struct Channel {
    number: u32,
    output: Arc<Output>,
    state: Mutex<State>,
    changed: Condvar,
    on_note: Mutex<Option<OnNote>>,
}

impl Channel {
    /// The channel of the call with this `number`.
    pub fn new(number: u32, output: Arc<Output>) -> Self {
        let state = Mutex::new(State { credit: WINDOW_BYTES, ..State::default() });
        Self { number, output, state, changed: Condvar::new(), on_note: Mutex::new(None) }
    }

    /// Sends data, in pieces, each when there is credit for it.
    pub fn send(&self, data: &[u8]) -> io::Result<()> {
        for piece in data.chunks(PIECE_BYTES) {
            let bytes = piece.len() as u64;
            let mut state = self.locked();
            while state.credit < bytes && !state.cancelled {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.cancelled {
                return Err(Errno::CANCELED.into());
            }
            state.credit -= bytes;
            drop(state);
            self.output.send(Kind::Data, self.number, piece)?;
        }
        Ok(())
    }

    /// Says that there is no more data.
    pub fn end(&self) -> io::Result<()> {
        self.output.send(Kind::End, self.number, &[])
    }

    /// Says something about the call.
    pub fn note(&self, note: &Value) -> io::Result<()> {
        self.output.send(Kind::Note, self.number, note.to_string().as_bytes())
    }

    /// Says how the call ended.
    pub fn answer(&self, result: Result<Value, Failure>) -> io::Result<()> {
        let answer = match result {
            Ok(value) => json!({ "ok": value }),
            Err(failure) => json!({ "errno": failure.errno, "path": failure.path }),
        };
        self.output.send(Kind::Answer, self.number, answer.to_string().as_bytes())
    }

    /// Answers that the call is unknown.
    pub fn unknown(&self, why: &str) -> io::Result<()> {
        let answer = json!({ "unknown": why });
        self.output.send(Kind::Answer, self.number, answer.to_string().as_bytes())
    }

    /// The next data received; `None` at the end.
    pub fn receive(&self) -> io::Result<Option<Vec<u8>>> {
        let mut state = self.locked();
        loop {
            if state.cancelled {
                return Err(Errno::CANCELED.into());
            }
            if let Some(piece) = state.arrived.pop_front() {
                drop(state);
                let bytes = piece.len() as u32;
                self.output.send(Kind::Credit, self.number, &bytes.to_le_bytes())?;
                return Ok(Some(piece));
            }
            if state.complete {
                return Ok(None);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether its data are no longer wanted.
    pub fn is_cancelled(&self) -> bool {
        self.locked().cancelled
    }

    /// Has `heed` called with each note, also those that came already.
    pub fn heed(&self, heed: impl Fn(Note) + Send + 'static) {
        let mut on_note = self.on_note.lock().unwrap_or_else(PoisonError::into_inner);
        self.locked().notes.drain(..).for_each(&heed);
        *on_note = Some(Box::new(heed));
    }

    /// Takes a frame that came for the call.
    pub fn take(&self, kind: Kind, payload: Vec<u8>) {
        match kind {
            Kind::Data => self.change(|state| state.arrived.push_back(payload)),
            Kind::End => self.change(|state| state.complete = true),
            Kind::Credit => {
                let more = payload.try_into().map_or(0, u32::from_le_bytes);
                self.change(|state| state.credit += u64::from(more));
            }
            Kind::Note => {
                if let Ok(note) = serde_json::from_slice(&payload) {
                    self.noted(note);
                }
            }
            Kind::Hello | Kind::Call | Kind::Answer | Kind::Ping => {}
        }
    }

    /// Its data are no longer wanted.
    pub fn cancel(&self) {
        self.change(|state| state.cancelled = true);
    }

    fn noted(&self, note: Note) {
        if matches!(note, Note::Cancel) {
            self.cancel();
        }
        let on_note = self.on_note.lock().unwrap_or_else(PoisonError::into_inner);
        match &*on_note {
            Some(heed) => heed(note),
            None => self.locked().notes.push(note),
        }
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.locked());
        self.changed.notify_all();
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// `of` as JSON, or a failure.
pub fn value(of: &impl Serialize) -> Result<Value, Failure> {
    serde_json::to_value(of).map_err(|error| Failure::from(io::Error::other(error)))
}
