//! Counts in buckets that widen with the value: 64 in each octave, so that none is wider than
//! 1/64 (1.6 %) of its lowest value. Below 128 every value has its own. Nothing is ever cut off.

/// Buckets of an octave.
pub const PER_OCTAVE: u64 = 64;
const OCTAVE_BITS: u32 = PER_OCTAVE.trailing_zeros();
const BUCKETS: usize = (u64::BITS - OCTAVE_BITS + 1) as usize * PER_OCTAVE as usize;

/// The confidence that a percentile needs to be reported.
const CONFIDENCE: f64 = 0.95;

/// The bucket that has `value`.
#[inline]
fn bucket(value: u64) -> usize {
    let shift = (u64::BITS - OCTAVE_BITS - 1).saturating_sub(value.leading_zeros());
    (u64::from(shift) * PER_OCTAVE + (value >> shift)) as usize
}

/// The number of the bucket that has `value`.
pub fn place(value: u64) -> u64 {
    bucket(value) as u64
}

/// The lowest value of the bucket with this number, or of the last one.
pub fn value_at(place: u64) -> u64 {
    lowest((place as usize).min(BUCKETS - 1))
}

/// The lowest value of a bucket.
fn lowest(bucket: usize) -> u64 {
    let (octave, place) = (bucket as u64 / PER_OCTAVE, bucket as u64 % PER_OCTAVE);
    if octave == 0 { place } else { (PER_OCTAVE + place) << (octave - 1) }
}

/// The highest value of a bucket.
fn highest(bucket: usize) -> u64 {
    lowest(bucket) + ((1_u64 << (bucket as u64 / PER_OCTAVE).saturating_sub(1)) - 1)
}

/// Whether `count` samples can tell the quantile `q`: with 95 % certainty the greatest of them is
/// above it. Source: Wilks, Determination of Sample Sizes for Setting Tolerance Limits, 1941: one
/// minus `q` to the power of the count.
pub fn can_tell(count: u64, q: f64) -> bool {
    1.0 - q.powf(count as f64) >= CONFIDENCE
}

/// Counts of values.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: Vec<u64>,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub fn record(&mut self, value: u64) {
        self.counts[bucket(value)] += 1;
        self.sum += u128::from(value);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Counts the values of another one, too.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many values there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The least value; `None` if it is empty.
    pub fn min(&self) -> Option<u64> {
        (self.min <= self.max).then_some(self.min)
    }

    /// The greatest value; `None` if it is empty.
    pub fn max(&self) -> Option<u64> {
        (self.min <= self.max).then_some(self.max)
    }

    /// The sum of the values.
    pub fn sum(&self) -> u128 {
        self.sum
    }

    /// The mean of the values, exact; `None` if it is empty.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// The value with `rank`, from 1 for the least: the highest of its bucket, so at most 1.6 % too
    /// high, and never above the greatest. `None` if there are fewer.
    pub fn ranked(&self, rank: u64) -> Option<u64> {
        let mut below = 0;
        let found = self.counts.iter().position(|count| {
            below += count;
            below >= rank
        })?;
        (rank > 0).then(|| highest(found).min(self.max))
    }

    /// The quantile `q` by the nearest rank; `None` where the values cannot tell it.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let count = self.count();
        can_tell(count, q).then(|| self.ranked((q * count as f64).ceil() as u64)).flatten()
    }

    /// Lowest value and count of every bucket that is not empty.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let counts = self.counts.iter().enumerate();
        counts.filter(|(_, count)| **count > 0).map(|(at, count)| (lowest(at), *count)).collect()
    }
}

/// Lengths, and how much of the whole is in those of each bucket.
#[derive(Clone, Debug)]
pub struct Lengths {
    counts: Histogram,
    sums: Vec<u64>,
}

impl Default for Lengths {
    fn default() -> Self {
        Self { counts: Histogram::default(), sums: vec![0; BUCKETS] }
    }
}

impl Lengths {
    /// Counts a length.
    #[inline]
    pub fn record(&mut self, length: u64) {
        self.counts.record(length);
        self.sums[bucket(length)] += length;
    }

    /// The lengths as values.
    pub fn counts(&self) -> &Histogram {
        &self.counts
    }

    /// The length up to which half of the whole lies in; `None` if it is empty.
    pub fn median_by_sum(&self) -> Option<u64> {
        let half = self.counts.sum.div_ceil(2);
        let mut below = 0;
        let found = self.sums.iter().position(|sum| {
            below += u128::from(*sum);
            below >= half
        })?;
        (half > 0).then(|| highest(found).min(self.counts.max))
    }

    /// Lowest length, count and sum of every bucket that is not empty.
    pub fn buckets(&self) -> Vec<(u64, u64, u64)> {
        let with_sum = |(low, count)| (low, count, self.sums[bucket(low)]);
        self.counts.buckets().into_iter().map(with_sum).collect()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_percentile_is_told_only_by_enough_values() {
        // Wilks's table for 95 % certainty.
        for (q, least) in [(0.5, 5), (0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995)] {
            assert!(can_tell(least, q) && !can_tell(least - 1, q), "{q}");
        }
    }

    #[test]
    fn half_of_the_whole_may_be_in_few_long_ones() {
        let mut lengths = Lengths::default();
        for length in [1, 1, 1, 1, 1, 1, 100] {
            lengths.record(length);
        }
        assert_eq!(lengths.counts().ranked(4), Some(1));
        assert_eq!(lengths.median_by_sum(), Some(100));
        assert_eq!(lengths.buckets(), [(1, 6, 6), (100, 1, 100)]);
        assert_eq!(Lengths::default().median_by_sum(), None);
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket_which_is_narrow(shift in 0_u32..64, bits in any::<u64>()) {
            let value = bits >> shift;
            let (low, high) = (lowest(bucket(value)), highest(bucket(value)));
            prop_assert!(low <= value && value <= high);
            prop_assert!((high - low) as f64 <= low as f64 / PER_OCTAVE as f64);
            prop_assert!(bucket(value) < BUCKETS);
            if let Some(next) = high.checked_add(1) {
                prop_assert_eq!(lowest(bucket(value) + 1), next);
                prop_assert_eq!(bucket(next), bucket(value) + 1);
            }
        }

        #[test]
        fn quantiles_are_those_of_the_sorted_values(
            mut values in prop::collection::vec(0_u64..1_000_000, 300..400)
        ) {
            let mut histogram = Histogram::default();
            for value in &values {
                histogram.record(*value);
            }
            values.sort_unstable();
            for q in [0.5, 0.9, 0.99] {
                let exact = values[(q * values.len() as f64).ceil() as usize - 1];
                let found = histogram.quantile(q).unwrap();
                prop_assert_eq!(bucket(found), bucket(exact));
                prop_assert!(found >= exact && found <= *values.last().unwrap());
            }
            prop_assert_eq!(histogram.quantile(0.999), None);
            prop_assert_eq!(histogram.sum(), values.iter().map(|v| u128::from(*v)).sum::<u128>());
        }
    }
}
