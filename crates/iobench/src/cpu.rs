//! Measures the speed of CPUs at four kinds of work that data-intensive programs do.
//!
//! All threads work concurrently, because that is how an executor uses the CPUs. Rates are means
//! of the threads, so they are rates of a core. Data are made before the clock starts.

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

use lz4_flex::block::{compress_into, get_maximum_output_size};
use serde::{Deserialize, Serialize};

use crate::Spread;

/// Keys sorted at a time: they fit into the first-level cache.
const KEYS: usize = 2048;
/// Bytes of a copy: larger than a core's share of the caches.
const COPY_BYTES: usize = 16 << 20;
/// Bytes compressed at a time: a block of Spark's codecs is of this order.
const TEXT_BYTES: usize = 128 << 10;
/// Records serialized at a time.
const RECORDS: u64 = 256;

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Sorting random keys: comparisons and branches.
    Integer,
    /// Copying memory.
    Memory,
    /// Compressing text with LZ4, the default codec of Spark.
    Compression,
    /// Writing records as JSON, and reading them again.
    Serialization,
}

/// The speed of a core at one kind of work, in `unit`.
#[derive(Clone, Debug, Serialize)]
pub struct CoreSpeed {
    /// The kind of work.
    pub kind: Kind,
    /// `1/s` or `B/s`.
    pub unit: &'static str,
    /// Over the rounds.
    pub per_core: Spread,
}

/// The speed of a core at each kind of work, with `threads` working concurrently.
#[derive(Clone, Debug, Serialize)]
pub struct CpuReport {
    /// The threads.
    pub threads: usize,
    /// One for each kind.
    pub speeds: Vec<CoreSpeed>,
}

/// Measures each kind of work `rounds` times for about `each`; the error is that of a thread.
pub fn measure(threads: usize, rounds: usize, each: Duration) -> io::Result<CpuReport> {
    let kinds = [Kind::Integer, Kind::Memory, Kind::Compression, Kind::Serialization];
    let mut rates = vec![Vec::new(); kinds.len()];
    for _ in 0..rounds {
        // Rounds are spread over the whole time, so that a disturbance hits all kinds.
        for (kind, rates) in kinds.iter().zip(&mut rates) {
            let job = || rate_of(*kind, each);
            let found = rawio::side_by_side("cpu", (0..threads).map(|_| job), || ())?;
            rates.push(found.iter().sum::<f64>() / found.len() as f64);
        }
    }
    let speeds = kinds.iter().zip(&rates).filter_map(|(&kind, rates)| {
        let unit = if kind == Kind::Integer { "1/s" } else { "B/s" };
        Spread::of(rates).map(|per_core| CoreSpeed { kind, unit, per_core })
    });
    Ok(CpuReport { threads, speeds: speeds.collect() })
}

/// Units of work per second in this thread.
fn rate_of(kind: Kind, each: Duration) -> f64 {
    match kind {
        Kind::Integer => {
            let random: Vec<u64> = random().take(KEYS).collect();
            let mut keys = random.clone();
            timed(each, || {
                keys.copy_from_slice(&random);
                black_box(&mut keys).sort_unstable();
                KEYS
            })
        }
        Kind::Memory => {
            let from = vec![1_u8; COPY_BYTES];
            let mut to = vec![2_u8; COPY_BYTES];
            timed(each, || {
                black_box(&mut to).copy_from_slice(black_box(&from));
                COPY_BYTES
            })
        }
        Kind::Compression => {
            let text = text(TEXT_BYTES);
            let mut packed = vec![0; get_maximum_output_size(TEXT_BYTES)];
            timed(each, || {
                black_box(compress_into(black_box(&text), black_box(&mut packed)).is_ok());
                TEXT_BYTES
            })
        }
        Kind::Serialization => {
            let records: Vec<Record> = random().take(RECORDS as usize).map(Record::of).collect();
            let mut bytes = Vec::new();
            timed(each, || {
                bytes.clear();
                if serde_json::to_writer(&mut bytes, black_box(&records)).is_ok() {
                    black_box(serde_json::from_slice::<Vec<Record>>(&bytes).is_ok());
                }
                bytes.len()
            })
        }
    }
}

/// Units per second of `work`, which gives the units of one call. The first call isn't counted.
fn timed(each: Duration, mut work: impl FnMut() -> usize) -> f64 {
    work();
    let start = Instant::now();
    let mut units = 0;
    loop {
        units += work();
        let elapsed = start.elapsed();
        if elapsed >= each {
            return units as f64 / elapsed.as_secs_f64();
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Record {
    id: u64,
    price: f64,
    name: String,
    tags: [u32; 4],
}

impl Record {
    fn of(seed: u64) -> Self {
        let tags = [0, 16, 32, 48].map(|shift| (seed >> shift) as u32 & 0xffff);
        Self { id: seed, price: (seed % 100_000) as f64 / 100.0, name: format!("{seed:x}"), tags }
    }
}

/// Random numbers, always the same: splitmix64.
fn random() -> impl Iterator<Item = u64> {
    let mut state = 1_u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    })
}

/// Words, frequent ones more often.
fn text(bytes: usize) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes + 16);
    for each in random() {
        if text.len() >= bytes {
            break;
        }
        let word = (each >> 32) % (1 + each % 512);
        text.extend_from_slice(format!("word{word:x} ").as_bytes());
    }
    text.truncate(bytes);
    text
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use lz4_flex::block::compress;

    use super::{TEXT_BYTES, measure, text};

    #[test]
    fn every_kind_has_a_rate_of_each_round() {
        let report = measure(2, 3, Duration::from_millis(1)).unwrap();
        assert_eq!((report.threads, report.speeds.len()), (2, 4));
        for speed in report.speeds {
            assert_eq!(speed.per_core.iterations.len(), 3);
            assert!(speed.per_core.min > 0.0, "{:?}", speed.kind);
        }
    }

    #[test]
    fn text_is_compressible() {
        let text = text(TEXT_BYTES);
        let packed = compress(&text).len();
        assert!((TEXT_BYTES / 10..TEXT_BYTES * 3 / 4).contains(&packed), "{packed} bytes");
    }
}
