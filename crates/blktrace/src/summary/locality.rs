//! Whether requests follow one another on the device: how far each begins from where others ended,
//! and how much is read or written in one go.

use crate::summary::histogram::{Histogram, Lengths};

/// How many earlier requests, and how many streams, are looked at.
pub const WINDOW: usize = 16;

/// Distances between sectors, from an end to a beginning: exactly 0 apart, the others by direction.
#[derive(Clone, Debug, Default)]
pub struct Distances {
    /// How many begin where the other one ended.
    pub zero: u64,
    /// Those that begin behind it, and those that begin before it, as if they were positive.
    directions: [Histogram; 2],
}

impl Distances {
    #[inline]
    fn record(&mut self, distance: i64) {
        if distance == 0 {
            self.zero += 1;
        } else {
            // Without a branch: the direction can't be predicted.
            self.directions[usize::from(distance < 0)].record(distance.unsigned_abs());
        }
    }

    /// Those that begin behind where the other one ended.
    pub fn forward(&self) -> &Histogram {
        &self.directions[0]
    }

    /// Those that begin before it, as if they were positive.
    pub fn backward(&self) -> &Histogram {
        &self.directions[1]
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.zero + self.forward().count() + self.backward().count()
    }

    /// The median distance by the nearest rank, in either direction; `None` without distances. In a
    /// bucket it is the end that is farther from 0.
    pub fn median(&self) -> Option<u64> {
        let mut either = self.forward().clone();
        either.add(self.backward());
        let rank = self.count().div_ceil(2);
        if rank <= self.zero { (rank > 0).then_some(0) } else { either.ranked(rank - self.zero) }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Locality {
    /// From the end of the request before.
    pub plain: Distances,
    /// From the nearest end of the 16 requests before.
    pub window: Distances,
    /// From the nearest end of the 16 streams that were continued last. A stream is continued by a
    /// request that begins where it ends; any other one begins a stream.
    pub streams: Distances,
    /// How many sectors each stream had.
    pub runs: Lengths,
    /// The ends of the requests before, each in the place of the one 16 before it.
    ends: [u64; WINDOW],
    seen: u64,
    /// Where the request before ended.
    last_end: u64,
    /// The end of each stream, its length, and the request that continued it last, from 1; 0 without one.
    stream_ends: [u64; WINDOW],
    /// The low half of each end, of which a CPU compares several in one instruction.
    low_ends: [u32; WINDOW],
    stream_sectors: [u64; WINDOW],
    continued: [u64; WINDOW],
    /// The stream that was continued last.
    stream: usize,
}

/// The end of no request: farther from every sector than any other end.
const NOWHERE: u64 = 1 << 62;

impl Default for Locality {
    fn default() -> Self {
        Self {
            plain: Distances::default(),
            window: Distances::default(),
            streams: Distances::default(),
            runs: Lengths::default(),
            ends: [NOWHERE; WINDOW],
            seen: 0,
            last_end: NOWHERE,
            stream_ends: [NOWHERE; WINDOW],
            low_ends: [NOWHERE as u32; WINDOW],
            stream_sectors: [0; WINDOW],
            continued: [0; WINDOW],
            stream: 0,
        }
    }
}

impl Locality {
    /// A request was issued.
    #[inline]
    pub fn take(&mut self, sector: u64, sectors: u32) {
        let sectors = u64::from(sectors);
        if self.last_end == sector {
            self.plain.zero += 1;
            self.window.zero += 1;
            self.streams.zero += 1;
            self.stream_sectors[self.stream] += sectors;
        } else {
            if self.seen > 0 {
                self.plain.record(sector as i64 - self.last_end as i64);
            }
            match self.ending_at(sector) {
                Some(stream) => self.go_on(stream, sector, sectors),
                None => self.begin(sector, sectors),
            }
        }
        self.last_end = sector + sectors;
        self.ends[self.seen as usize % WINDOW] = self.last_end;
        self.seen += 1;
        self.stream_ends[self.stream] = self.last_end;
        self.low_ends[self.stream] = self.last_end as u32;
        self.continued[self.stream] = self.seen;
    }

    /// The stream that ends at `sector`; of several the one that was continued last.
    #[inline]
    fn ending_at(&self, sector: u64) -> Option<usize> {
        // Without a branch for each: the stream can't be predicted.
        let mut found = 0_u32;
        for (stream, end) in self.low_ends.iter().enumerate() {
            found |= u32::from(*end == sector as u32) << stream;
        }
        if found == 0 {
            return None;
        }
        let first = found.trailing_zeros() as usize;
        if found.is_power_of_two() && self.stream_ends[first] == sector {
            return Some(first);
        }
        let several = (0..WINDOW).filter(|stream| self.stream_ends[*stream] == sector);
        several.max_by_key(|stream| self.continued[*stream])
    }

    #[inline]
    fn go_on(&mut self, stream: usize, sector: u64, sectors: u64) {
        self.streams.zero += 1;
        // Its last request is then one of those before, which ends there, too.
        if self.seen - self.continued[stream] < WINDOW as u64 {
            self.window.zero += 1;
        } else {
            self.window.record(nearest(&self.ends, sector));
        }
        self.stream = stream;
        self.stream_sectors[stream] += sectors;
    }

    /// A stream begins; the one that was continued the longest ago makes room if it has to.
    #[inline]
    fn begin(&mut self, sector: u64, sectors: u64) {
        if self.seen > 0 {
            self.window.record(nearest(&self.ends, sector));
            self.streams.record(nearest(&self.stream_ends, sector));
        }
        // Times and places in one number each, so that the least of them is found without a branch.
        let times = self.continued.iter().enumerate();
        let oldest = times.map(|(stream, time)| time * WINDOW as u64 + stream as u64);
        self.stream = oldest.fold(u64::MAX, u64::min) as usize % WINDOW;
        if self.continued[self.stream] > 0 {
            self.runs.record(self.stream_sectors[self.stream]);
        }
        self.stream_sectors[self.stream] = sectors;
    }

    /// There are no more: what streams there are end.
    pub fn finish(&mut self) {
        let streams = self.continued.iter_mut().zip(&self.stream_sectors);
        for (continued, sectors) in streams.filter(|(continued, _)| **continued > 0) {
            self.runs.record(*sectors);
            *continued = 0;
        }
    }
}

/// From the nearest of `ends` to `sector`, with the sign of the way.
#[inline]
fn nearest(ends: &[u64; WINDOW], sector: u64) -> i64 {
    // A distance in the other direction wraps round to more than any distance.
    // Several together, so that no comparison waits for the one before.
    const LANES: usize = 4;
    let (mut forward, mut backward) = ([u64::MAX; LANES], [u64::MAX; LANES]);
    for ends in ends.chunks_exact(LANES) {
        for (lane, end) in ends.iter().enumerate() {
            forward[lane] = forward[lane].min(sector.wrapping_sub(*end));
            backward[lane] = backward[lane].min(end.wrapping_sub(sector));
        }
    }
    let least = |lanes: [u64; LANES]| lanes.into_iter().fold(u64::MAX, u64::min);
    let (forward, backward) = (least(forward), least(backward));
    if forward <= backward { forward as i64 } else { -(backward as i64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(requests: impl IntoIterator<Item = (u64, u32)>) -> Locality {
        let mut locality = Locality::default();
        for (sector, sectors) in requests {
            locality.take(sector, sectors);
        }
        locality.finish();
        locality
    }

    #[test]
    fn one_stream_is_one_run_without_a_seek() {
        let found = of((0..100).map(|n| (n * 256, 256)));
        assert_eq!((found.plain.zero, found.window.zero, found.streams.zero), (99, 99, 99));
        assert_eq!(found.plain.median(), Some(0));
        assert_eq!(found.runs.buckets().len(), 1);
        assert_eq!(found.runs.counts().max(), Some(25_600));
    }

    #[test]
    fn interleaved_streams_seek_plainly_and_not_in_a_window() {
        let far = 1 << 30;
        let found = of((0..100_u64).map(|n| (n / 2 * 8 + n % 2 * far, 8)));
        assert_eq!(found.plain.zero, 0);
        assert_eq!((found.window.zero, found.streams.zero), (98, 98));
        assert_eq!((found.window.count(), found.plain.count()), (99, 99));
        assert_eq!(found.runs.counts().count(), 2);
        assert_eq!(found.runs.median_by_sum(), Some(400));
        assert_eq!((found.plain.forward().count(), found.plain.backward().count()), (50, 49));
    }

    #[test]
    fn more_streams_than_are_looked_at_are_runs_of_one_request() {
        let streams = WINDOW as u64 + 1;
        let found = of((0..10 * streams).map(|n| (n / streams * 8 + ((n % streams) << 30), 8)));
        assert_eq!((found.window.zero, found.streams.zero), (0, 0));
        assert_eq!(found.runs.counts().count(), 10 * streams);
    }

    #[test]
    fn a_stream_is_known_longer_than_its_last_request_is() {
        // Two streams; of one there is nothing while the other has 20 requests.
        let one = [(1 << 30, 8)].into_iter();
        let found = of(one.clone().chain((0..20).map(|n| (n * 8, 8))).chain([((1 << 30) + 8, 8)]));
        assert_eq!((found.window.zero, found.streams.zero), (19, 20));
        assert_eq!(found.runs.counts().count(), 2);
    }

    #[test]
    fn the_median_is_a_distance_in_either_direction() {
        let of_distances = |distances: &[i64]| {
            let mut found = Distances::default();
            for distance in distances {
                found.record(*distance);
            }
            found.median()
        };
        assert_eq!(of_distances(&[]), None);
        assert_eq!(of_distances(&[-3, -2, -1, 0, 1]), Some(1));
        assert_eq!(of_distances(&[-100, -7, -7, 5]), Some(7));
        assert_eq!(of_distances(&[-5, 0, 9]), Some(5));
        assert_eq!(of_distances(&[0, 0, 9]), Some(0));
        // Random places: as many before as behind, but none near.
        assert_eq!(of_distances(&[-90, 80, -70, 100]), Some(80));
    }
}
