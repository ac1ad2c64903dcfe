//! Records of many shapes, from a seed.

use extsort::push_key_value;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// How keys are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Uniformly random.
    Random,
    /// Seven different keys, random rests.
    FewKeys,
    /// All records are equal.
    AllEqual,
    /// All keys are equal, the rests differ.
    EqualKeys,
    /// One key in nine of ten records.
    HotKey,
    /// In order already.
    Sorted,
    /// In reverse order.
    Reverse,
    /// Keys that differ in their last byte only.
    Prefix,
    /// As `gensort -s`: some leading bytes are much more common than others.
    Skew,
    /// The lowest and the highest keys there are, and little between them.
    Extremes,
}

pub const SHAPES: [Shape; 10] = [
    Shape::Random,
    Shape::FewKeys,
    Shape::AllEqual,
    Shape::EqualKeys,
    Shape::HotKey,
    Shape::Sorted,
    Shape::Reverse,
    Shape::Prefix,
    Shape::Skew,
    Shape::Extremes,
];

impl Shape {
    /// Fills a key. `n` is the record's number of `count`.
    fn key(self, key: &mut [u8], n: usize, count: usize, rng: &mut StdRng) {
        let counter = |n: usize, key: &mut [u8]| {
            let digits = ((n as u128) << 64) / count as u128;
            let digits = (digits as u64).to_be_bytes();
            key.fill(0);
            let length = key.len().min(8);
            key[..length].copy_from_slice(&digits[..length]);
        };
        match self {
            Self::FewKeys => {
                let chosen = rng.random_range(0..7_u8);
                key.fill(chosen.wrapping_mul(41));
            }
            Self::AllEqual | Self::EqualKeys => key.fill(0x55),
            Self::HotKey if rng.random_bool(0.9) => key.fill(0x7f),
            Self::Random | Self::HotKey => rng.fill(key),
            Self::Sorted => counter(n, key),
            Self::Reverse => counter(count - 1 - n, key),
            Self::Prefix => {
                key.fill(0xaa);
                if let Some(last) = key.last_mut() {
                    *last = rng.random();
                }
            }
            Self::Skew => {
                rng.fill(key);
                let u: f64 = rng.random();
                if let Some(first) = key.first_mut() {
                    *first = (u.powi(6) * 256.0) as u8;
                }
            }
            Self::Extremes => {
                let end = if rng.random() { 0xff } else { 0 };
                key.fill(end);
                if rng.random_bool(0.01) {
                    rng.fill(key);
                }
            }
        }
    }
}

/// `count` records of `record` bytes with keys of `key` bytes.
pub fn fixed(shape: Shape, record: usize, key: usize, count: usize, seed: u64) -> Vec<u8> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut bytes = vec![0; record * count];
    for (n, this) in bytes.chunks_exact_mut(record).enumerate() {
        if shape == Shape::AllEqual {
            this.fill(0x55);
        } else {
            rng.fill(&mut this[key..]);
            shape.key(&mut this[..key], n, count, &mut rng);
        }
    }
    bytes
}

/// About `total` bytes of key/value records of at most `longest` bytes. Keys and values may be
/// empty; most are short.
pub fn key_value(shape: Shape, total: usize, longest: usize, seed: u64) -> Vec<u8> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut bytes = Vec::with_capacity(total);
    let room = longest - extsort::HEADER_BYTES;
    let expected = total / 40 + 1;
    let mut n = 0;
    let length = |rng: &mut StdRng, most: usize| {
        let most = if rng.random_bool(0.95) { most.min(24) } else { most };
        rng.random_range(0..=most)
    };
    while bytes.len() < total {
        let key_length = match shape {
            Shape::Random | Shape::Skew | Shape::Extremes => length(&mut rng, room),
            _ => room.min(9),
        };
        let mut key = vec![0; key_length];
        shape.key(&mut key, n % expected, expected, &mut rng);
        let mut value = vec![0x55; length(&mut rng, room - key_length)];
        if shape == Shape::AllEqual {
            value.resize((room - key_length).min(20), 0x55);
        } else {
            rng.fill(&mut value[..]);
        }
        push_key_value(&mut bytes, &key, &value);
        n += 1;
    }
    bytes
}

/// Cuts whole records into `files` runs, some of them maybe empty.
pub fn cut<'a>(records: &[&'a [u8]], files: usize, seed: u64) -> Vec<Vec<&'a [u8]>> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut cuts: Vec<usize> = (1..files).map(|_| rng.random_range(0..=records.len())).collect();
    cuts.extend([0, records.len()]);
    cuts.sort_unstable();
    cuts.windows(2).map(|pair| records[pair[0]..pair[1]].to_vec()).collect()
}
