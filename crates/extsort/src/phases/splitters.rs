//! Where partitions begin and end, and which one a record belongs to.

use std::cmp::Ordering;

use crate::record::{Order, prefix};

/// A key and the rest of its record.
pub type Sample = (Vec<u8>, Vec<u8>);

/// Boundaries between partitions, in order. A boundary that equals many sampled records gets its
/// own partition, which needs no sorting.
///
/// ```text
///   bounds:          b0        b1 (heavy)      b2
///   partitions:  0  |    1    |  2 (= b1)  3  |   4
/// ```
#[derive(Clone, Debug)]
pub struct Splitters {
    order: Order,
    /// First eight bytes of each bound, for the fast path.
    prefixes: Vec<u64>,
    index: Index,
    bounds: Vec<Bound>,
    /// `first[i]` is the partition of records below bound `i` and not below bound `i - 1`.
    first: Vec<u32>,
    partitions: usize,
}

#[derive(Clone, Debug)]
struct Bound {
    key: Vec<u8>,
    rest: Vec<u8>,
    heavy: bool,
}

impl Splitters {
    /// `partitions` partitions of equal width for uniformly random keys.
    pub fn uniform(partitions: usize) -> Self {
        let bounds = (1..partitions as u128)
            .map(|i| {
                let start = ((i << 64) / partitions as u128) as u64;
                Bound { key: start.to_be_bytes().to_vec(), rest: Vec::new(), heavy: false }
            })
            .collect();
        Self::from_bounds(Order::KeyThenRest, bounds)
    }

    /// About `partitions` partitions of equal bytes, judged by `samples`.
    ///
    /// A value that fills more than a partition's share of the samples is heavy.
    pub fn from_samples(order: Order, mut samples: Vec<Sample>, partitions: usize) -> Self {
        samples.sort_unstable_by(|a, b| compare(order, a, b));
        let total: u64 = samples.iter().map(weight).sum();
        let share = (total / partitions.max(1) as u64).max(1);
        let mut bounds: Vec<Bound> = Vec::new();
        let mut passed = 0;
        let mut next = share;
        let mut before: Option<&Sample> = None;
        for group in samples.chunk_by(|a, b| compare(order, a, b) == Ordering::Equal) {
            let bytes: u64 = group.iter().map(weight).sum();
            let heavy = group.len() > 1 && bytes > share;
            if heavy || (passed >= next && bounds.len() + 1 < partitions) {
                let (key, rest) = match before {
                    Some(before) if !heavy => shortest_above(before, &group[0]),
                    _ => group[0].clone(),
                };
                bounds.push(Bound { key, rest, heavy });
                next = passed + share + if heavy { bytes } else { 0 };
            }
            passed += bytes;
            before = Some(&group[0]);
        }
        Self::from_bounds(order, bounds)
    }

    fn from_bounds(order: Order, bounds: Vec<Bound>) -> Self {
        let mut first = Vec::with_capacity(bounds.len() + 1);
        let mut next = 0;
        for bound in &bounds {
            first.push(next);
            next += 1 + u32::from(bound.heavy);
        }
        first.push(next);
        let prefixes: Vec<u64> = bounds.iter().map(|bound| prefix(&bound.key, 0)).collect();
        Self {
            order,
            index: Index::new(&prefixes),
            prefixes,
            bounds,
            first,
            partitions: next as usize + 1,
        }
    }

    /// Number of partitions.
    pub fn partitions(&self) -> usize {
        self.partitions
    }

    /// Whether all records of `partition` are equal, so that there is nothing to sort.
    pub fn is_constant(&self, partition: usize) -> bool {
        self.bounds
            .iter()
            .zip(&self.first)
            .any(|(bound, &first)| bound.heavy && first as usize + 1 == partition)
    }

    /// Number of leading bits that the keys of all records of `partition` have in common, according
    /// to its bounds. With `with_rest`, of key and rest as one string of bytes.
    pub fn common_bits(&self, partition: usize, with_rest: bool) -> usize {
        let upper = self.first.partition_point(|&first| first as usize <= partition) - 1;
        let bytes = |bound: Option<&Bound>| {
            bound.map(|bound| {
                if with_rest { [&bound.key[..], &bound.rest].concat() } else { bound.key.clone() }
            })
        };
        // Where there is no bound, the lowest and the highest string stand in.
        let low = bytes(upper.checked_sub(1).and_then(|i| self.bounds.get(i))).unwrap_or_default();
        let high = bytes(self.bounds.get(upper));
        let length = low.len().max(high.as_ref().map_or(0, Vec::len));
        for at in 0..length {
            let above = high.as_ref().map_or(0xff, |high| high.get(at).copied().unwrap_or(0));
            let differing = low.get(at).copied().unwrap_or(0) ^ above;
            if differing != 0 {
                return at * 8 + differing.leading_zeros() as usize;
            }
        }
        length * 8
    }

    /// The partition of the record with this key and rest; `key_prefix` is [`prefix`] of the key.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "one call for each record; not inlined it costs a third more"
    )]
    pub fn find(&self, key_prefix: u64, key: &[u8], rest: &[u8]) -> usize {
        let low = self.index.lower_bound(&self.prefixes, key_prefix);
        if self.prefixes.get(low) != Some(&key_prefix) {
            return self.first[low] as usize;
        }
        self.find_slowly(low, key, rest)
    }

    /// Bounds from `low` on share the record's prefix: compare in full.
    #[cold]
    fn find_slowly(&self, low: usize, key: &[u8], rest: &[u8]) -> usize {
        let above = self.bounds[low..].partition_point(|bound| {
            self.order.compare((&bound.key, &bound.rest), (key, rest)) != Ordering::Greater
        }) + low;
        // `above` is the first bound greater than the record; the one before may equal it.
        if above > 0 {
            let bound = &self.bounds[above - 1];
            let equal = self.order.compare((&bound.key, &bound.rest), (key, rest));
            if bound.heavy && equal == Ordering::Equal {
                return self.first[above - 1] as usize + 1;
            }
        }
        self.first[above] as usize
    }
}

/// Finds a place in sorted numbers: the bits after those that first and last number share lead to a
/// slot, and few slots have more than one answer. A binary search would mispredict at every step.
#[derive(Clone, Debug)]
struct Index {
    first: u64,
    last: u64,
    shared_bits: u32,
    /// For each slot, how many numbers are below its start; one more entry ends the last slot.
    below: Vec<u32>,
}

const SLOT_BITS: u32 = 12;

impl Index {
    fn new(sorted: &[u64]) -> Self {
        let (first, last) = (*sorted.first().unwrap_or(&0), *sorted.last().unwrap_or(&0));
        let shared_bits = (first ^ last).leading_zeros().min(64 - SLOT_BITS);
        let mut this = Self { first, last, shared_bits, below: Vec::new() };
        this.below = (0..=1 << SLOT_BITS)
            .map(|slot| sorted.partition_point(|&number| this.slot(number) < slot) as u32)
            .collect();
        this
    }

    fn slot(&self, number: u64) -> usize {
        ((number << self.shared_bits) >> (64 - SLOT_BITS)) as usize
    }

    /// How many of the numbers this was made for are below `number`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "as for `find`")]
    fn lower_bound(&self, sorted: &[u64], number: u64) -> usize {
        if number <= self.first {
            return 0;
        }
        if number > self.last {
            return sorted.len();
        }
        let slot = self.slot(number);
        let (low, high) = (self.below[slot] as usize, self.below[slot + 1] as usize);
        if low == high { low } else { Self::search(sorted, low, high, number) }
    }

    #[cold]
    fn search(sorted: &[u64], low: usize, high: usize, number: u64) -> usize {
        low + sorted[low..high].partition_point(|&bound| bound < number)
    }
}

fn compare(order: Order, a: &Sample, b: &Sample) -> Ordering {
    order.compare((&a.0, &a.1), (&b.0, &b.1))
}

/// The shortest bound that is above `below` and not above `sample`: long records are not kept whole.
fn shortest_above(below: &Sample, sample: &Sample) -> Sample {
    let common = |a: &[u8], b: &[u8]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    if below.0 != sample.0 {
        let end = common(&below.0, &sample.0) + 1;
        return (sample.0[..end.min(sample.0.len())].to_vec(), Vec::new());
    }
    let end = common(&below.1, &sample.1) + 1;
    (sample.0.clone(), sample.1[..end.min(sample.1.len())].to_vec())
}

fn weight(sample: &Sample) -> u64 {
    (sample.0.len() + sample.1.len()) as u64 + 1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn find(splitters: &Splitters, record: &Sample) -> usize {
        splitters.find(prefix(&record.0, 0), &record.0, &record.1)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, rng_seed: proptest::test_runner::RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn partitions_respect_the_order(
            samples in prop::collection::vec((prop::collection::vec(0_u8..3, 0..12), prop::collection::vec(0_u8..2, 0..3)), 1..200),
            partitions in 1_usize..20,
            by_key in any::<bool>(),
            fixed in any::<bool>(),
        ) {
            let mut samples = samples;
            if fixed {
                for sample in &mut samples {
                    sample.0.resize(6, 1);
                }
            }
            let fixed = fixed && !by_key;
            let order = if by_key { Order::KeyOnly } else { Order::KeyThenRest };
            let splitters = Splitters::from_samples(order, samples.clone(), partitions);
            let mut sorted = samples;
            sorted.sort_by(|a, b| compare(order, a, b));
            let mut last = 0;
            let mut constant: Option<&Sample> = None;
            let mut shared: Option<Vec<bool>> = None;
            for record in &sorted {
                let partition = find(&splitters, record);
                prop_assert!(partition >= last && partition < splitters.partitions());
                if partition != last { constant = None; shared = None; }
                if splitters.is_constant(partition) {
                    if let Some(other) = constant {
                        prop_assert_eq!(compare(order, record, other), Ordering::Equal);
                    }
                    constant = Some(record);
                }
                // With keys of equal length, key and rest count as one string of bytes.
                let whole = if fixed { [&record.0[..], &record.1].concat() } else { record.0.clone() };
                let bits = splitters.common_bits(partition, fixed);
                let leading: Vec<bool> =
                    (0..bits).map(|bit| whole.get(bit / 8).is_some_and(|byte| byte >> (7 - bit % 8) & 1 == 1)).collect();
                prop_assert_eq!(shared.get_or_insert_with(|| leading.clone()), &leading);
                last = partition;
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, rng_seed: proptest::test_runner::RngSeed::Fixed(4), ..ProptestConfig::default() })]

        #[test]
        fn the_index_finds_what_a_search_finds(
            mut numbers in prop::collection::vec(prop_oneof![any::<u64>(), 0_u64..50, 1_u64 << 40..(1 << 40) + 9000], 0..80),
            probes in prop::collection::vec(any::<u64>(), 20),
        ) {
            numbers.sort_unstable();
            let index = Index::new(&numbers);
            let near = numbers.iter().flat_map(|&n| [n.wrapping_sub(1), n, n.wrapping_add(1)]);
            for probe in probes.into_iter().chain(near.collect::<Vec<_>>()) {
                prop_assert_eq!(index.lower_bound(&numbers, probe), numbers.partition_point(|&n| n < probe));
            }
        }
    }

    #[test]
    fn uniform_partitions_split_the_key_space_evenly() {
        let splitters = Splitters::uniform(4);
        let at = |first: u8| find(&splitters, &(vec![first, 0, 0, 0, 0, 0, 0, 0, 0, 0], vec![]));
        assert_eq!((at(0), at(0x3f), at(0x40), at(0x80), at(0xff)), (0, 0, 1, 2, 3));
        assert_eq!(Splitters::uniform(1).partitions(), 1);
    }

    #[test]
    fn a_value_that_fills_the_samples_gets_its_own_partition() {
        let samples = vec![(b"same".to_vec(), vec![]); 1000];
        let splitters = Splitters::from_samples(Order::KeyThenRest, samples, 8);
        let own = find(&splitters, &(b"same".to_vec(), vec![]));
        assert!(splitters.is_constant(own));
        assert_ne!(own, find(&splitters, &(b"samf".to_vec(), vec![])));
        assert_ne!(own, find(&splitters, &(b"samd".to_vec(), vec![])));
    }

    #[test]
    fn partitions_are_balanced_by_bytes() {
        let samples: Vec<Sample> =
            (0..10_000_u32).map(|n| (n.to_be_bytes().to_vec(), vec![])).collect();
        let splitters = Splitters::from_samples(Order::KeyThenRest, samples.clone(), 16);
        assert_eq!(splitters.partitions(), 16);
        let mut counts = vec![0; 16];
        for sample in &samples {
            counts[find(&splitters, sample)] += 1;
        }
        assert!(counts.iter().all(|&n| (600..=650).contains(&n)), "{counts:?}");
    }
}
