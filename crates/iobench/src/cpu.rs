//! Measures the speed of CPUs at four kinds of work that data-intensive programs do.
//!
//! All threads work concurrently, because that is how an executor uses the CPUs. Rates are means
//! of the threads, so they are rates of a core. Data are made before the clock starts.

use std::hint::black_box;
use std::io;
use std::time::{Duration, Instant};

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
    /// Compressing text, as LZ4 does.
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
            let mut packed = Vec::with_capacity(TEXT_BYTES);
            timed(each, || {
                packed.clear();
                compress(black_box(&text), &mut packed);
                black_box(&packed);
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

const HASH_BITS: u32 = 12;
const LEAST_MATCH: usize = 4;

/// Appends tokens of literals and matches, found greedily with a hash of four bytes.
fn compress(from: &[u8], to: &mut Vec<u8>) {
    let mut table = [0_u32; 1 << HASH_BITS];
    let word = |at: usize| {
        from.get(at..at + 4).and_then(|four| four.try_into().ok()).map(u32::from_le_bytes)
    };
    let (mut at, mut literals) = (1, 0);
    while let Some(now) = word(at) {
        let slot = (now.wrapping_mul(2_654_435_761) >> (32 - HASH_BITS)) as usize;
        let before = table[slot] as usize;
        table[slot] = at as u32;
        if word(before) != Some(now) || at - before > usize::from(u16::MAX) {
            at += 1;
            continue;
        }
        let longer = from[before + LEAST_MATCH..].iter().zip(&from[at + LEAST_MATCH..]);
        let length = LEAST_MATCH + longer.take_while(|(a, b)| a == b).count();
        token(&from[literals..at], at - before, length, to);
        at += length;
        literals = at;
    }
    token(&from[literals..], 0, 0, to);
}

fn token(literals: &[u8], back: usize, length: usize, to: &mut Vec<u8>) {
    size(literals.len(), to);
    to.extend_from_slice(literals);
    to.extend_from_slice(&(back as u16).to_le_bytes());
    size(length, to);
}

/// A number, in a byte if it is small.
fn size(mut number: usize, to: &mut Vec<u8>) {
    while number >= 0xff {
        to.push(0xff);
        number -= 0xff;
    }
    to.push(number as u8);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{TEXT_BYTES, compress, measure, text};

    #[test]
    fn every_kind_has_a_rate_of_each_round() {
        let report = measure(2, 3, Duration::from_millis(1)).unwrap();
        assert_eq!((report.threads, report.speeds.len()), (2, 4));
        for speed in report.speeds {
            assert_eq!(speed.per_core.iterations.len(), 3);
            assert!(speed.per_core.min > 0.0, "{:?}", speed.kind);
        }
    }

    /// The bytes that tokens stand for.
    fn unpacked(mut packed: &[u8]) -> Vec<u8> {
        fn taken<'a>(packed: &mut &'a [u8], bytes: usize) -> &'a [u8] {
            let (taken, rest) = packed.split_at(bytes);
            *packed = rest;
            taken
        }
        fn size(packed: &mut &[u8]) -> usize {
            let byte = usize::from(taken(packed, 1)[0]);
            byte + if byte == 0xff { size(packed) } else { 0 }
        }
        let mut found = Vec::new();
        while !packed.is_empty() {
            let literals = size(&mut packed);
            found.extend_from_slice(taken(&mut packed, literals));
            let back = u16::from_le_bytes(taken(&mut packed, 2).try_into().unwrap());
            for _ in 0..size(&mut packed) {
                found.push(found[found.len() - usize::from(back)]);
            }
        }
        found
    }

    #[test]
    fn text_is_compressed_without_a_loss() {
        let text = text(TEXT_BYTES);
        let mut packed = Vec::new();
        compress(&text, &mut packed);
        assert_eq!(unpacked(&packed), text);
        assert!(packed.len() < text.len() * 3 / 4, "{} bytes", packed.len());
    }
}
