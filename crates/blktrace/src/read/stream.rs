//! A file, or standard input, as events in order of time.
//!
//! A file of one CPU is in order except for interrupts, which write their events before those that
//! they interrupted. A merged file is as well ordered as the program that merged it could make it.
//! So the reader keeps the last [`HELD_BACK`] events back until it has read more, and sorts them
//! all.

use std::io::{self, Read};
use std::path::PathBuf;

use crate::capture::ring;
use crate::error::TraceError;
use crate::read::binary::{self, Layout, VERSIONS};
use crate::read::event::Event;
use crate::read::tally::Tally;
use crate::read::text;

/// By how many places an event may be late.
pub const HELD_BACK: usize = 512;
/// The order of no event.
pub const END: u64 = u64::MAX;
/// Fewer events that may be handed on are few: more are read before any is.
const FEW: usize = 512;

/// How a file is read.
#[derive(Debug)]
enum Decoder {
    Binary(binary::Decoder),
    Text(text::Decoder),
    Ring(ring::Decoder),
}

/// Where a trace's bytes come from.
pub struct Source {
    /// The name for messages.
    pub path: PathBuf,
    /// Its bytes.
    pub reader: Box<dyn Read>,
}

/// Into what sources are read, one after the other, so that it stays near the processor.
#[derive(Default)]
pub struct Buffer(Vec<u8>);

/// The events of a source, in order.
pub struct Stream {
    source: Source,
    /// The bytes of one read.
    at_once: usize,
    decoder: Decoder,
    tally: Tally,
    /// Bytes that were read but are not yet a whole record.
    rest: Vec<u8>,
    ended: bool,
    events: Vec<Event>,
    /// The next event of `events`, and how many of them may be handed on.
    next: usize,
    ready: usize,
    handed_on: u64,
}

impl Stream {
    /// Reads the beginning of `source` and recognizes its format; each read has up to `at_once`
    /// bytes.
    pub fn open(source: Source, at_once: usize) -> Result<Self, TraceError> {
        Self::begin(source, at_once, None)
    }

    /// Reads pages of a ring buffer.
    pub fn of_pages(
        source: Source,
        at_once: usize,
        decoder: ring::Decoder,
    ) -> Result<Self, TraceError> {
        Self::begin(source, at_once, Some(Decoder::Ring(decoder)))
    }

    fn begin(
        mut source: Source,
        at_once: usize,
        decoder: Option<Decoder>,
    ) -> Result<Self, TraceError> {
        let mut head = vec![0; at_once];
        let mut filled = 0;
        let mut ended = false;
        // A pipe gives little in one read.
        while filled < head.len() && !ended {
            let read = read(&mut source, &mut head[filled..])?;
            filled += read;
            ended = read == 0;
        }
        head.truncate(filled);
        let decoder = match decoder {
            Some(decoder) => decoder,
            None => recognise(&source, &head, ended)?,
        };
        let mut stream = Self {
            source,
            at_once,
            decoder,
            tally: Tally { bytes: filled as u64, ..Tally::default() },
            rest: Vec::new(),
            ended,
            events: Vec::new(),
            next: 0,
            ready: 0,
            handed_on: 0,
        };
        stream.decode(&head);
        Ok(stream)
    }

    /// The name of the source's format.
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

    /// The counts so far.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The events that may be handed on, in order.
    #[inline]
    pub fn ready(&self) -> &[Event] {
        &self.events[self.next..self.ready]
    }

    /// The order up to which all of its events are [`Self::ready`]; [`END`] once it has been read to
    /// its end.
    pub fn known_to(&self) -> u64 {
        if self.ended { END } else { self.ready().last().map_or(0, Event::order) }
    }

    /// Marks this many ready events as passed on.
    pub fn hand_on(&mut self, events: usize) {
        self.next += events;
    }

    /// Reads until there are events to pass on, or the source ends. The callback gets the number of
    /// bytes of each read.
    pub fn refill(
        &mut self,
        buffer: &mut Buffer,
        told: &mut impl FnMut(u64) -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        while self.ready().len() < FEW && !self.ended {
            if let Some(last) = self.events[..self.next].last() {
                self.handed_on = self.handed_on.max(last.order());
            }
            self.events.drain(..self.next);
            self.next = 0;
            let before = self.rest.len();
            let buffer = buffer.of(before + self.at_once);
            buffer[..before].copy_from_slice(&self.rest);
            let count = read(&mut self.source, &mut buffer[before..])?;
            self.ended = count == 0;
            self.tally.bytes += count as u64;
            told(count as u64)?;
            self.decode(&buffer[..before + count]);
        }
        Ok(())
    }

    /// Decodes the bytes: the rest of the previous read, then the new ones.
    fn decode(&mut self, bytes: &[u8]) {
        let before = self.events.len();
        let (tally, events) = (&mut self.tally, &mut self.events);
        let done = match &mut self.decoder {
            Decoder::Binary(decoder) => decoder.decode(bytes, tally, events),
            Decoder::Text(decoder) => decoder.decode(bytes, self.ended, tally, events),
            Decoder::Ring(decoder) => decoder.decode(bytes, tally, events),
        };
        self.in_order(before);
        self.rest.clear();
        self.rest.extend_from_slice(&bytes[done..]);
        if self.ended {
            self.tally.truncated_bytes = self.rest.len() as u64;
        }
        let held_back = if self.ended { 0 } else { HELD_BACK };
        self.ready = self.events.len().saturating_sub(held_back);
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
}

impl Buffer {
    /// So many bytes of it.
    fn of(&mut self, bytes: usize) -> &mut [u8] {
        if self.0.len() < bytes {
            self.0.resize(bytes, 0);
        }
        &mut self.0[..bytes]
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

/// Names the kind of file, for a file that is no trace in a known format, by its beginning.
fn what_it_is(head: &[u8]) -> &'static str {
    if head.is_empty() {
        "it is empty"
    } else if head.starts_with(b"PERFILE2") {
        "it is perf's data file, which `perf script --ns` writes as text"
    } else if head.starts_with(b"\x17\x08\x44tracing") {
        "it is trace-cmd's data file, which `trace-cmd report` writes as text"
    } else if head.starts_with(&[0x1f, 0x8b]) || head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        "it is compressed: unpack it first"
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
        let (mut times, mut buffer) = (Vec::new(), Buffer::default());
        loop {
            stream.refill(&mut buffer, &mut |_| Ok(())).unwrap();
            let ready: Vec<u64> = stream.ready().iter().map(Event::time_ns).collect();
            if ready.is_empty() {
                return (times, stream.tally().late);
            }
            stream.hand_on(ready.len());
            times.extend(ready);
        }
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
