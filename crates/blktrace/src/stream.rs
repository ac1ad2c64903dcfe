//! A file, or standard input, as events in order of time.
//!
//! A file of one processor is ordered but for interrupts, which write their events before those that
//! they came between; a merged file as well as whoever merged it could. So the last [`HELD_BACK`]
//! events of what was read are held back until more has been, and all of it is sorted.

use std::io::{self, Read};
use std::path::PathBuf;

use crate::binary::{self, Layout, VERSIONS};
use crate::error::TraceError;
use crate::event::Event;
use crate::ring;
use crate::tally::Tally;
use crate::text;

/// By how many places an event may be late.
pub const HELD_BACK: usize = 512;
/// The order of no event: what a stream's end has.
pub const END: u64 = u64::MAX;
/// A record of the binary format has at most 64 bytes and 65,535 behind it.
const BUFFER_MAX_BYTES: usize = 128 << 10;

/// How a file is read.
#[derive(Debug)]
enum Decoder {
    Binary(binary::Decoder),
    Text(text::Decoder),
    Ring(ring::Decoder),
}

/// Where a trace's bytes come from.
pub struct Source {
    /// What it is called in messages.
    pub path: PathBuf,
    /// Its bytes.
    pub reader: Box<dyn Read>,
}

/// The events of a source, in order.
pub struct Stream {
    source: Source,
    decoder: Decoder,
    tally: Tally,
    buffer: Vec<u8>,
    filled: usize,
    ended: bool,
    events: Vec<Event>,
    /// The next event of `events`, and how many of them may be handed on.
    next: usize,
    ready: usize,
    handed_on: u64,
}

impl Stream {
    /// Reads the beginning of `source` and sees what it is; `buffer_bytes` are read at once.
    pub fn open(source: Source, buffer_bytes: usize) -> Result<Self, TraceError> {
        Self::begin(source, buffer_bytes, None)
    }

    /// Reads pages of a ring buffer.
    pub fn of_pages(
        source: Source,
        buffer_bytes: usize,
        decoder: ring::Decoder,
    ) -> Result<Self, TraceError> {
        Self::begin(source, buffer_bytes, Some(Decoder::Ring(decoder)))
    }

    fn begin(
        mut source: Source,
        buffer_bytes: usize,
        decoder: Option<Decoder>,
    ) -> Result<Self, TraceError> {
        let mut buffer = vec![0; buffer_bytes];
        let mut filled = 0;
        let mut ended = false;
        // A pipe gives little at once.
        while filled < buffer.len() && !ended {
            let read = read(&mut source, &mut buffer[filled..])?;
            filled += read;
            ended = read == 0;
        }
        let decoder = match decoder {
            Some(decoder) => decoder,
            None => recognise(&source, &buffer[..filled], ended)?,
        };
        let tally = Tally { bytes: filled as u64, ..Tally::default() };
        let events = Vec::new();
        let mut stream = Self {
            source,
            decoder,
            tally,
            buffer,
            filled,
            ended,
            events,
            next: 0,
            ready: 0,
            handed_on: 0,
        };
        stream.decode();
        stream.hold_back();
        if stream.ready == 0 {
            stream.refill(&mut |_| Ok(()))?;
        }
        Ok(stream)
    }

    /// What the source is written as.
    pub fn format(&self) -> String {
        match &self.decoder {
            Decoder::Binary(decoder) => decoder.name(),
            Decoder::Text(decoder) => decoder.name().to_owned(),
            Decoder::Ring(_) => "tracepoints as venturi records them".to_owned(),
        }
    }

    /// The source.
    pub fn path(&self) -> &PathBuf {
        &self.source.path
    }

    /// What was counted so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The order of the next event; [`END`] if there is none.
    #[inline]
    pub fn order(&self) -> u64 {
        self.events[..self.ready].get(self.next).map_or(END, Event::order)
    }

    /// The next event, which there is.
    #[inline]
    pub fn event(&self) -> &Event {
        &self.events[self.next]
    }

    /// Goes to the next event and gives its order. `read` is told how many bytes were read, if any
    /// had to be.
    #[inline]
    pub fn advance(
        &mut self,
        read: &mut impl FnMut(u64) -> Result<(), TraceError>,
    ) -> Result<u64, TraceError> {
        self.next += 1;
        if self.next >= self.ready {
            self.refill(read)?;
        }
        Ok(self.order())
    }

    #[cold]
    fn refill(
        &mut self,
        told: &mut impl FnMut(u64) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        if let Some(last) = self.next.checked_sub(1).and_then(|at| self.events.get(at)) {
            self.handed_on = self.handed_on.max(last.order());
        }
        self.events.drain(..self.next);
        (self.next, self.ready) = (0, 0);
        while self.ready == 0 && !self.ended {
            let count = read(&mut self.source, &mut self.buffer[self.filled..])?;
            self.filled += count;
            self.ended = count == 0;
            self.tally.bytes += count as u64;
            told(count as u64)?;
            self.decode();
            self.hold_back();
        }
        if self.ended {
            self.ready = self.events.len();
        }
        Ok(())
    }

    fn decode(&mut self) {
        let bytes = &self.buffer[..self.filled];
        let before = self.events.len();
        let done = match &mut self.decoder {
            Decoder::Binary(decoder) => decoder.decode(bytes, &mut self.tally, &mut self.events),
            Decoder::Text(decoder) => {
                decoder.decode(bytes, self.ended, &mut self.tally, &mut self.events)
            }
            Decoder::Ring(decoder) => decoder.decode(bytes, &mut self.tally, &mut self.events),
        };
        self.in_order(before);
        self.buffer.copy_within(done..self.filled, 0);
        self.filled -= done;
        if self.ended {
            self.tally.truncated_bytes = self.filled as u64;
        } else if self.filled == self.buffer.len() {
            self.buffer.resize(BUFFER_MAX_BYTES, 0); // for a record that is longer than the buffer
        }
    }

    /// Puts the events from `first` on among those before them.
    fn in_order(&mut self, first: usize) {
        let new = &self.events[first..];
        let Some(least) = new.first().map(Event::order) else { return };
        let sorted = self.events[first.saturating_sub(1)..].is_sorted_by_key(Event::order);
        if sorted && least >= self.handed_on {
            return;
        }
        let late = |event: &&Event| event.order() < self.handed_on;
        self.tally.late += new.iter().filter(late).count() as u64;
        self.events.sort_by_key(Event::order);
    }

    fn hold_back(&mut self) {
        let held_back = if self.ended { 0 } else { HELD_BACK };
        self.ready = self.events.len().saturating_sub(held_back);
    }
}

fn read(source: &mut Source, buffer: &mut [u8]) -> Result<usize, TraceError> {
    loop {
        match source.reader.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(reason) => return Err(TraceError::Read { path: source.path.clone(), reason }),
            Ok(count) => return Ok(count),
        }
    }
}

fn recognise(source: &Source, head: &[u8], whole: bool) -> Result<Decoder, TraceError> {
    let path = || source.path.clone();
    if let Some(layout) = Layout::of(head) {
        return if VERSIONS.contains(&layout.version) {
            Ok(Decoder::Binary(binary::Decoder::new(layout)))
        } else {
            Err(TraceError::Version { path: path(), version: layout.version })
        };
    }
    let last_line = || text::Decoder::of(&[head, b"\n"].concat()).filter(|_| whole);
    if let Some(decoder) = text::Decoder::of(head).or_else(last_line) {
        return Ok(Decoder::Text(decoder));
    }
    Err(TraceError::Format { path: path(), found: what_it_is(head).to_owned() })
}

/// What a file is that is no trace of the formats that are read, as far as its beginning tells.
fn what_it_is(head: &[u8]) -> &'static str {
    if head.is_empty() {
        "it is empty"
    } else if head.starts_with(b"PERFILE2") {
        "it is perf's data file"
    } else if head.starts_with(b"\x17\x08\x44tracing") {
        "it is trace-cmd's data file"
    } else if head.starts_with(&[0x1f, 0x8b]) || head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        "it is compressed"
    } else {
        "it neither begins with a record of blktrace nor has lines of blkparse, ftrace or perf"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Trickle(Vec<u8>, usize);

    impl Read for Trickle {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.1.min(buffer.len()).min(self.0.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0.drain(..count);
            Ok(count)
        }
    }

    fn stream(text: String, at_once: usize, buffer: usize) -> Stream {
        let reader = Box::new(Trickle(text.into_bytes(), at_once));
        Stream::open(Source { path: "x".into(), reader }, buffer).unwrap()
    }

    fn times(mut stream: Stream) -> (Vec<u64>, u64) {
        let mut times = Vec::new();
        while stream.order() != END {
            times.push(stream.event().time_ns());
            stream.advance(&mut |_| Ok(())).unwrap();
        }
        (times, stream.tally().late)
    }

    fn lines(times: impl IntoIterator<Item = u64>) -> String {
        let line = |ns| format!("8,0 0 1 0.{ns:09} 1 D R 8 + 8 [x]\n");
        times.into_iter().map(line).collect()
    }

    #[test]
    fn what_is_out_of_order_by_little_comes_in_order() {
        let mixed: Vec<u64> = (0..5000).map(|n| n ^ 0x1ff).collect();
        for (at_once, buffer) in [(7, 1 << 10), (4096, 1 << 12), (1 << 20, 1 << 16)] {
            let (found, late) = times(stream(lines(mixed.clone()), at_once, buffer));
            assert!(found.is_sorted());
            assert_eq!((found.len(), late), (5000, 0));
        }
    }

    #[test]
    fn what_is_far_out_of_order_is_counted_and_not_lost() {
        let (found, late) = times(stream(lines((4000..8000).chain(0..4000)), 4096, 1 << 12));
        assert_eq!(found.len(), 8000);
        assert_eq!(late, 4000);
        let mut sorted = found;
        sorted.sort_unstable();
        assert!(sorted.into_iter().eq(0..8000));
    }
}
