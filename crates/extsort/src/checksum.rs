//! The order-independent checksum of the sort benchmark: the sum, modulo 2^128, of the zlib CRC32 of
//! every whole record. Equal sums before and after a sort say that no record was lost or damaged.
//!
//! Records are short and CRC32 libraries start their fast path at 128 bytes or more, so batches of
//! equally long records have kernels of their own in [`clmul`].

#[cfg(target_arch = "x86_64")]
mod clmul;

use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;
use std::str::FromStr;

/// Sum of the CRC32 of records. Prints as lower-case hexadecimal without leading zeros, as gensort
/// and valsort do, and parses from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordSum {
    /// The sum, modulo 2^128.
    pub sum: u128,
}

impl RecordSum {
    /// Adds one record.
    pub fn add(&mut self, record: &[u8]) {
        self.sum = self.sum.wrapping_add(u128::from(crc32fast::hash(record)));
    }

    /// Adds all records of a batch of records of `record_len` bytes.
    ///
    /// # Panics
    /// If `record_len` is zero or `bytes` does not hold whole records: errors of the caller.
    pub fn add_all_fixed(&mut self, bytes: &[u8], record_len: usize) {
        assert!(bytes.len().is_multiple_of(record_len));
        #[cfg(target_arch = "x86_64")]
        if let Some(sum) = clmul::sum(bytes, record_len) {
            self.sum = self.sum.wrapping_add(sum);
            return;
        }
        for record in bytes.chunks_exact(record_len) {
            self.add(record);
        }
    }

    /// Adds the records that another sum has seen.
    pub fn merge(&mut self, other: Self) {
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

impl AddAssign for RecordSum {
    fn add_assign(&mut self, other: Self) {
        self.merge(other);
    }
}

impl Sum for RecordSum {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        let mut total = Self::default();
        for part in parts {
            total.merge(part);
        }
        total
    }
}

impl fmt::Display for RecordSum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}", self.sum)
    }
}

impl FromStr for RecordSum {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self { sum: u128::from_str_radix(text, 16)? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one_by_one(bytes: &[u8], record_len: usize) -> RecordSum {
        let mut sum = RecordSum::default();
        for record in bytes.chunks_exact(record_len) {
            sum.add(record);
        }
        sum
    }

    fn noise(len: usize, seed: u64) -> Vec<u8> {
        let mut state = seed | 1;
        (0..len)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect()
    }

    #[test]
    fn every_length_agrees_with_the_library() {
        for record_len in (1..=400).chain([511, 512, 513, 1000, 1023, 1024, 1025, 5000]) {
            for count in [0, 1, 3, 4, 9] {
                let bytes = noise(record_len * count, record_len as u64);
                let mut sum = RecordSum::default();
                sum.add_all_fixed(&bytes, record_len);
                assert_eq!(sum, one_by_one(&bytes, record_len), "{record_len} x {count}");
            }
        }
    }

    #[test]
    fn printed_as_gensort_does_and_read_back() {
        let sum = RecordSum { sum: 0x0746_a510_0704_0ea0_7ed0 };
        assert_eq!(sum.to_string(), "746a51007040ea07ed0");
        assert_eq!(sum.to_string().parse(), Ok(sum));
        assert!("xyz".parse::<RecordSum>().is_err());
    }

    #[test]
    fn wraps_around() {
        let mut sum = RecordSum { sum: u128::MAX };
        sum.merge(RecordSum { sum: 5 });
        assert_eq!(sum.sum, 4);
    }

    proptest! {
        #[test]
        fn batches_agree_with_the_library(
            record_len in 1_usize..400,
            bytes in prop::collection::vec(any::<u8>(), 0..6000),
        ) {
            let bytes = &bytes[..bytes.len() / record_len * record_len];
            let mut sum = RecordSum::default();
            sum.add_all_fixed(bytes, record_len);
            prop_assert_eq!(sum, one_by_one(bytes, record_len));
        }

        #[test]
        fn order_and_grouping_do_not_matter(
            bytes in prop::collection::vec(any::<[u8; 100]>(), 0..50), cut in 0_usize..50,
        ) {
            let cut = cut.min(bytes.len());
            let (mut left, mut right) = (RecordSum::default(), RecordSum::default());
            left.add_all_fixed(bytes[cut..].as_flattened(), 100);
            right.add_all_fixed(bytes[..cut].as_flattened(), 100);
            left += right;
            let mut all = RecordSum::default();
            all.add_all_fixed(bytes.as_flattened(), 100);
            prop_assert_eq!(left, all);
        }
    }
}
