//! Sorts one partition in memory: the records stay where they are, small entries move.
//!
//! An entry is 64 bits: as many key bits as fit, then the record's location. Leaves out bits that
//! all keys of the partition share, according to its bounds. Entries are scattered by their top
//! bits into buckets of about 300, each bucket is sorted by its next 16 bits and finished by
//! insertion, and remaining ties are settled by comparing the records themselves:
//!
//! ```text
//!   records --extract--> entries --scatter by top bits--> buckets --LSD 2 x 8 + insertion--> order
//! ```

use crate::kernels::prefetch;
use crate::phases::partition::Filled;
use crate::record::{Format, Order, prefix};

/// Sorts partitions; one for each worker, so that its arrays are used again.
pub(crate) struct Sorter {
    format: Format,
    order: Order,
    entries: Vec<u64>,
    scratch: Vec<u64>,
    wide: Vec<u128>,
}

/// The order found: where the records are, first to last.
pub(crate) enum Sorted<'a> {
    /// The low bits of an entry are the record's chunk and its number in the chunk.
    Fixed { entries: &'a [u64], chunk_shift: u32, mask: u64 },
    /// The low half of an entry is the record's chunk and its offset in the chunk.
    Wide(&'a [u128]),
}

const MAX_DIGIT_BITS: u32 = 12;
/// Prefetch distance in records, for keys.
const KEYS_AHEAD: usize = 32;

impl Sorter {
    pub(crate) fn new(format: Format, order: Order) -> Self {
        Self { format, order, entries: Vec::new(), scratch: Vec::new(), wide: Vec::new() }
    }

    /// The order of all records in `chunks`; their keys have `common_bits` leading bits in common.
    pub(crate) fn sort(&mut self, chunks: &[Filled], common_bits: usize) -> Sorted<'_> {
        let records: usize = chunks.iter().map(|chunk| chunk.records as usize).sum();
        if let Format::Fixed { record, key } = self.format {
            let slot_bits = bits(chunks.iter().map(|c| c.records as usize).max().unwrap_or(0));
            let location_bits = slot_bits + bits(chunks.len());
            if location_bits <= 32 {
                let slices: Vec<&[u8]> = chunks.iter().map(Filled::bytes).collect();
                let skip = common_bits / 8;
                let fields = Fields {
                    record,
                    skip,
                    shift: (common_bits % 8) as u32,
                    slot_bits,
                    location_bits,
                };
                self.sort_fixed(&slices, records, &fields);
                let end = match self.order {
                    Order::KeyThenRest => record,
                    Order::KeyOnly => key,
                };
                let at = |entry: u64| {
                    let location = entry & fields.mask();
                    let start = (location & ((1 << slot_bits) - 1)) as usize * record;
                    &slices[(location >> slot_bits) as usize][start + skip.min(end)..start + end]
                };
                settle_ties(&mut self.scratch, location_bits, |a, b| at(a).cmp(at(b)));
                return Sorted::Fixed {
                    entries: &self.scratch,
                    chunk_shift: slot_bits,
                    mask: fields.mask(),
                };
            }
        }
        self.sort_wide(chunks, records, common_bits / 8);
        Sorted::Wide(&self.wide)
    }

    fn sort_fixed(&mut self, slices: &[&[u8]], records: usize, fields: &Fields) {
        let digit_bits = bits(records / 256).clamp(1, MAX_DIGIT_BITS);
        let digit_shift = 64 - digit_bits;
        let mut starts = vec![0_u32; 1 << digit_bits];
        self.entries.clear();
        self.entries.reserve(records);
        for (chunk, slice) in slices.iter().enumerate() {
            fields.extract(slice, (chunk as u64) << fields.slot_bits, &mut self.entries, |entry| {
                starts[(entry >> digit_shift) as usize] += 1;
            });
        }
        let mut total = 0;
        for start in &mut starts {
            total += std::mem::replace(start, total);
        }
        self.scratch.resize(records, 0);
        let mut next = starts.clone();
        for &entry in &self.entries {
            let place = &mut next[(entry >> digit_shift) as usize];
            self.scratch[*place as usize] = entry;
            *place += 1;
        }
        for (bucket, &end) in next.iter().enumerate() {
            let range = starts[bucket] as usize..end as usize;
            sort_bucket(&mut self.scratch[range.clone()], &mut self.entries[range], digit_bits);
        }
    }

    fn sort_wide(&mut self, chunks: &[Filled], records: usize, skip: usize) {
        let (format, order) = (self.format, self.order);
        self.wide.clear();
        self.wide.reserve(records);
        for (index, chunk) in chunks.iter().enumerate() {
            let mut offset = 0;
            for record in format.records(chunk.bytes()) {
                let (key, _) = format.split(record);
                let location = (index as u128) << 32 | offset as u128;
                self.wide.push(u128::from(prefix(key, skip)) << 64 | location);
                offset += record.len();
            }
        }
        self.wide.sort_unstable();
        let at = |entry: u128| {
            let (chunk, offset) = wide_location(entry);
            let record = format.records(&chunks[chunk].bytes()[offset..]).next();
            format.split(record.unwrap_or_default())
        };
        for group in self.wide.chunk_by_mut(|a, b| a >> 64 == b >> 64).filter(|g| g.len() > 1) {
            group.sort_unstable_by(|&a, &b| order.compare(at(a), at(b)));
        }
    }
}

/// Chunk and byte offset of a wide entry.
pub(crate) fn wide_location(entry: u128) -> (usize, usize) {
    ((entry as u64 >> 32) as usize, entry as u32 as usize)
}

/// How an entry of fixed records is laid out.
struct Fields {
    record: usize,
    /// Bytes, then bits, that all keys share.
    skip: usize,
    shift: u32,
    slot_bits: u32,
    location_bits: u32,
}

impl Fields {
    fn mask(&self) -> u64 {
        (1 << self.location_bits) - 1
    }

    fn extract(&self, slice: &[u8], chunk: u64, entries: &mut Vec<u64>, mut seen: impl FnMut(u64)) {
        let mask = self.mask();
        let shift = self.shift;
        let mut slot = 0;
        let mut push = |key: u64| {
            let entry = (key << shift) & !mask | (chunk + slot);
            slot += 1;
            seen(entry);
            entries.push(entry);
        };
        let skip = self.skip;
        if skip + 8 <= self.record {
            for (n, record) in slice.chunks_exact(self.record).enumerate() {
                let ahead = (n + KEYS_AHEAD) * self.record + skip;
                prefetch(slice.get(ahead..=ahead).unwrap_or_default());
                push(prefix(&record[skip..skip + 8], 0));
            }
        } else {
            for record in slice.chunks_exact(self.record) {
                push(prefix(record, skip));
            }
        }
    }
}

/// Bits needed to tell `count` things apart.
fn bits(count: usize) -> u32 {
    usize::BITS - count.saturating_sub(1).leading_zeros()
}

/// Sorts a bucket by value; `scratch` is as long. The top `digit_bits` are equal already.
fn sort_bucket(bucket: &mut [u64], scratch: &mut [u64], digit_bits: u32) {
    match bucket.len() {
        0..=1 => {}
        2..=24 => insert_all(bucket),
        25..=2048 => {
            let low = 64 - digit_bits - 16;
            counting_pass(bucket, scratch, low);
            counting_pass(scratch, bucket, low + 8);
            // Sorted by 16 more bits: what insertion has left to do is little, or hopeless.
            if !insert_cheaply(bucket) {
                bucket.sort_unstable();
            }
        }
        _ => bucket.sort_unstable(),
    }
}

fn counting_pass(from: &[u64], to: &mut [u64], shift: u32) {
    let mut places = [0_u32; 256];
    for &entry in from {
        places[(entry >> shift) as usize & 255] += 1;
    }
    let mut total = 0;
    for place in &mut places {
        total += std::mem::replace(place, total);
    }
    for &entry in from {
        let place = &mut places[(entry >> shift) as usize & 255];
        to[*place as usize] = entry;
        *place += 1;
    }
}

fn insert_all(entries: &mut [u64]) {
    for i in 1..entries.len() {
        let entry = entries[i];
        let mut at = i;
        while at > 0 && entries[at - 1] > entry {
            entries[at] = entries[at - 1];
            at -= 1;
        }
        entries[at] = entry;
    }
}

/// Insertion sort that gives up (entries kept, order not) when it moves more than 8 for each entry.
fn insert_cheaply(entries: &mut [u64]) -> bool {
    let mut budget = entries.len() * 8;
    for i in 1..entries.len() {
        let entry = entries[i];
        let mut at = i;
        while at > 0 && entries[at - 1] > entry {
            entries[at] = entries[at - 1];
            at -= 1;
        }
        entries[at] = entry;
        let moved = i - at;
        if moved > budget {
            return false;
        }
        budget -= moved;
    }
    true
}

/// Settles what the key bits of the entries leave equal, by comparing records.
fn settle_ties(
    entries: &mut [u64],
    location_bits: u32,
    mut compare: impl FnMut(u64, u64) -> std::cmp::Ordering,
) {
    let mut start = 0;
    while start + 1 < entries.len() {
        let key = entries[start] >> location_bits;
        if entries[start + 1] >> location_bits != key {
            start += 1;
            continue;
        }
        let rest = &entries[start..];
        let length = rest.iter().position(|&e| e >> location_bits != key).unwrap_or(rest.len());
        entries[start..start + length].sort_unstable_by(|&a, &b| compare(a, b));
        start += length;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rawio::Pool;

    use super::*;
    use crate::record::push_key_value;

    fn chunks(pool: &Pool, records: &[Vec<u8>], per_chunk: usize) -> Vec<Filled> {
        records
            .chunks(per_chunk)
            .map(|group| {
                let mut block = pool.try_take().unwrap();
                let bytes = group.concat();
                block[..bytes.len()].copy_from_slice(&bytes);
                Filled { block, used: bytes.len(), records: group.len() as u32 }
            })
            .collect()
    }

    fn in_order(format: Format, sorted: &Sorted<'_>, chunks: &[Filled]) -> Vec<Vec<u8>> {
        match sorted {
            Sorted::Fixed { entries, chunk_shift, mask } => {
                let Format::Fixed { record, .. } = format else { unreachable!() };
                entries
                    .iter()
                    .map(|entry| {
                        let location = entry & mask;
                        let at = (location & ((1 << chunk_shift) - 1)) as usize * record;
                        chunks[(location >> chunk_shift) as usize].bytes()[at..at + record].to_vec()
                    })
                    .collect()
            }
            Sorted::Wide(entries) => entries
                .iter()
                .map(|&entry| {
                    let (chunk, offset) = wide_location(entry);
                    format.records(&chunks[chunk].bytes()[offset..]).next().unwrap().to_vec()
                })
                .collect(),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, rng_seed: proptest::test_runner::RngSeed::Fixed(3), ..ProptestConfig::default() })]

        #[test]
        fn fixed_records_end_up_as_a_comparison_sort_leaves_them(
            seed in any::<u64>(),
            count in 0_usize..6000,
            record in 1_usize..30,
            alphabet in 1_u8..=255,
            common in 0_usize..12,
        ) {
            let mut state = seed;
            let mut next = || { state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407); (state >> 33) as u8 };
            let common = common.min(record);
            let mut records: Vec<Vec<u8>> = (0..count)
                .map(|_| (0..record).map(|i| if i < common { 7 } else { next() % alphabet }).collect())
                .collect();
            let pool = Pool::new(64, 1 << 16).unwrap();
            let filled = chunks(&pool, &records, 100.max(count / 50));
            let format = Format::Fixed { record, key: record.div_ceil(2) };
            let mut sorter = Sorter::new(format, Order::KeyThenRest);
            for skip_bits in [0, common * 8, common * 4] {
                let got = in_order(format, &sorter.sort(&filled, skip_bits), &filled);
                records.sort();
                prop_assert_eq!(&got, &records);
            }
        }

        #[test]
        fn key_value_records_are_ordered_by_key_then_value(
            pairs in prop::collection::vec((prop::collection::vec(0_u8..3, 0..12), prop::collection::vec(0_u8..3, 0..5)), 0..500),
        ) {
            let encode = |(key, value): &(Vec<u8>, Vec<u8>)| { let mut out = Vec::new(); push_key_value(&mut out, key, value); out };
            let pool = Pool::new(64, 1 << 16).unwrap();
            let filled = chunks(&pool, &pairs.iter().map(encode).collect::<Vec<_>>(), 10);
            let mut sorter = Sorter::new(Format::KeyValue, Order::KeyThenRest);
            let got = in_order(Format::KeyValue, &sorter.sort(&filled, 0), &filled);
            let mut expected = pairs;
            expected.sort();
            prop_assert_eq!(got, expected.iter().map(encode).collect::<Vec<_>>());
        }
    }
}
