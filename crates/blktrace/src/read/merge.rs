//! Merges many streams into one, in order of time, piece by piece. A piece has every event up to a
//! time that all streams have reached. Its events are sorted by a number for their time and stream,
//! and then passed on.

use crate::error::TraceError;
use crate::read::event::Event;
use crate::read::stream::{Buffer, END, Stream};

/// Passes the events of all streams to `take` in order, and the bytes of each read to `read`.
pub fn merge(
    streams: &mut [Stream],
    mut take: impl FnMut(&Event) -> Result<(), TraceError>,
    mut read: impl FnMut(u64) -> Result<(), TraceError>,
) -> Result<(), TraceError> {
    let (mut buffer, mut piece) = (Buffer::default(), Piece::of(streams.len()));
    loop {
        for stream in &mut *streams {
            stream.refill(&mut buffer, &mut read)?;
        }
        if !piece.gather(streams) {
            return Ok(());
        }
        let mut events: Vec<_> = streams.iter().map(|stream| stream.ready().iter()).collect();
        for number in &piece.numbers {
            if let Some(event) = events[piece.whose(*number)].next() {
                take(event)?;
            }
        }
        for (stream, count) in streams.iter_mut().zip(&piece.counts) {
            stream.hand_on(*count);
        }
    }
}

/// The events that are sorted and passed on together.
struct Piece {
    /// The number of each event, in order: the distance of its order from the first event's, with
    /// the place of its stream in the low bits.
    numbers: Vec<u64>,
    /// How many low bits.
    bits: u32,
    /// How many events are of each stream.
    counts: Vec<usize>,
    /// Where each part of the numbers ends that is in order by itself.
    runs: Vec<usize>,
    /// Where parts are joined.
    joined: Vec<u64>,
}

impl Piece {
    fn of(streams: usize) -> Self {
        let bits = streams.next_power_of_two().trailing_zeros();
        let (numbers, joined) = (Vec::new(), Vec::new());
        Self { numbers, bits, counts: Vec::new(), runs: Vec::new(), joined }
    }

    /// The next events of streams that have been refilled; whether there are any.
    fn gather(&mut self, streams: &[Stream]) -> bool {
        self.numbers.clear();
        self.counts.clear();
        self.runs.clear();
        let firsts = streams.iter().filter_map(|stream| stream.ready().first());
        let Some(first) = firsts.map(Event::order).min() else { return false };
        let known_to = streams.iter().map(Stream::known_to).fold(END, u64::min);
        // Events that are too far away for the bits come with the next piece.
        let until = known_to.min(first.saturating_add(u64::MAX >> self.bits));
        for (stream, place) in streams.iter().zip(0_u64..) {
            let ready = stream.ready();
            let ready = &ready[..ready.partition_point(|event| event.order() <= until)];
            let number = |event: &Event| (event.order() - first) << self.bits | place;
            self.numbers.extend(ready.iter().map(number));
            self.counts.push(ready.len());
            self.runs.push(self.numbers.len());
        }
        self.join_runs();
        true
    }

    /// Makes one run of those of all streams, two by two.
    fn join_runs(&mut self) {
        while self.runs.len() > 1 {
            self.joined.resize(self.numbers.len(), 0);
            let (mut from, mut count) = (0, 0);
            for at in (0..self.runs.len()).step_by(2) {
                let middle = self.runs[at];
                let end = self.runs.get(at + 1).copied().unwrap_or(middle);
                let (left, right) = (&self.numbers[from..middle], &self.numbers[middle..end]);
                join(left, right, &mut self.joined[from..end]);
                self.runs[count] = end;
                (from, count) = (end, count + 1);
            }
            self.runs.truncate(count);
            std::mem::swap(&mut self.numbers, &mut self.joined);
        }
    }

    #[inline]
    fn whose(&self, number: u64) -> usize {
        (number & ((1 << self.bits) - 1)) as usize
    }
}

/// Merges two sorted parts into one. It works from both ends, so that no comparison waits for the
/// previous one, and without a branch, because neither part is more likely to have the lower
/// number.
fn join(left: &[u64], right: &[u64], into: &mut [u64]) {
    let at = |part: &[u64], place: usize, none: u64| part.get(place).copied().unwrap_or(none);
    let (mut first, mut other_first) = (0, 0);
    let (mut last, mut other_last) = (left.len().wrapping_sub(1), right.len().wrapping_sub(1));
    let (low, high) = into.split_at_mut(into.len() / 2);
    let mut highest = high.iter_mut().rev();
    let mut put_last = |place: &mut u64| {
        let (one, other) = (at(left, last, 0), at(right, other_last, 0));
        *place = one.max(other);
        let of_left = one > other;
        last = last.wrapping_sub(usize::from(of_left));
        other_last = other_last.wrapping_sub(usize::from(!of_left));
    };
    for place in low {
        let (one, other) = (at(left, first, u64::MAX), at(right, other_first, u64::MAX));
        *place = one.min(other);
        let of_left = one <= other;
        first += usize::from(of_left);
        other_first += usize::from(!of_left);
        highest.next().into_iter().for_each(&mut put_last);
    }
    highest.for_each(put_last);
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;
    use crate::read::stream::Source;

    /// A stream of requests of a sector at these times.
    fn stream(sector: usize, times_ns: &[u64]) -> Stream {
        let line = |ns: &u64| {
            let (s, ns) = (ns / 1_000_000_000, ns % 1_000_000_000);
            format!("8,0 0 1 {s}.{ns:09} 1 D R {sector} + 8 [x]\n")
        };
        let text: String = times_ns.iter().map(line).collect();
        let reader = Box::new(Cursor::new(text.into_bytes()));
        Stream::open(Source { path: "x".into(), reader }, 1 << 10).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 30, ..ProptestConfig::default() })]

        #[test]
        fn all_events_come_in_order_of_time(
            between_ns in prop::collection::vec(prop::collection::vec(0_u64..20, 1..2000), 1..6),
            pause_ns in 0_u64..1 << 59,
        ) {
            let mut expected = Vec::new();
            let mut streams = Vec::new();
            for (sector, mut times_ns) in between_ns.into_iter().enumerate() {
                let mut now_ns = 0;
                for (at, time_ns) in times_ns.iter_mut().enumerate() {
                    now_ns += *time_ns + if at == 1000 { pause_ns } else { 0 };
                    *time_ns = now_ns;
                    expected.push((now_ns, sector as u64));
                }
                streams.push(stream(sector, &times_ns));
            }
            let mut found = Vec::new();
            let take = |event: &Event| {
                found.push((event.time_ns(), event.sector));
                Ok(())
            };
            merge(&mut streams, take, |_| Ok(())).unwrap();
            prop_assert!(found.is_sorted_by_key(|(time_ns, _)| *time_ns));
            found.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(found, expected);
        }
    }
}
