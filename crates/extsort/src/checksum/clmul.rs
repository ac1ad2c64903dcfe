//! CRC32 of many short records of one length, by carry-less multiplication.
//!
//! A message is a polynomial M over GF(2), and its CRC is M x^32 mod P (the CRC's initial value and
//! final inversion add a constant that depends on the length alone: the CRC of that many zeros).
//! Folding each 16-byte block into the next would make each wait for the one before. Instead, every
//! block is multiplied by x^distance mod P, where the distance to the record's end, and so the
//! factor, is the same for all records. The products are independent and their sum has 96 bits,
//! which a Barrett reduction takes to 32.
//!
//! CRC32 is bit-reflected: bit i of a 64-bit word is the coefficient of x^(63-i), and a carry-less
//! product of two words comes out multiplied by x, which the factors make up for. Method: Gopal et
//! al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel 2009.
#![allow(unsafe_code)]

use std::arch::x86_64::{
    __m128i, __m512i, _mm_and_si128, _mm_clmulepi64_si128, _mm_cvtsi128_si64, _mm_loadu_si128,
    _mm_set_epi64x, _mm_shuffle_epi8, _mm_srli_epi64, _mm_unpackhi_epi64, _mm_xor_si128,
    _mm512_add_epi64, _mm512_clmulepi64_epi128, _mm512_loadu_si512, _mm512_maskz_and_epi64,
    _mm512_maskz_loadu_epi8, _mm512_maskz_srli_epi64, _mm512_reduce_add_epi64, _mm512_set1_epi64,
    _mm512_setzero_si512, _mm512_shuffle_i64x2, _mm512_unpackhi_epi64, _mm512_xor_si512,
};

/// Blocks of 16 bytes in the longest record the kernels take; longer ones suit the library.
const BLOCKS: usize = 64;
const MIN_BYTES: usize = 16;
const MAX_BYTES: usize = 16 * BLOCKS;
/// Records in a batch; the sum of their 32-bit values fits into 64 bits.
const BATCH: usize = 1 << 16;

/// For every block the factors of its first and second half; the last block is the last in here.
static FACTORS: [[u64; 2]; BLOCKS] = factors();
/// x^63 mod P: takes the top 32 of 96 bits to the lower 64.
const TOP: i64 = word(power(63)) as i64;
/// floor(x^64 / P), 33 bits, reflected.
const QUOTIENT: i64 = 0x1_F701_1641;
/// P, 33 bits, reflected.
const POLYNOMIAL: i64 = 0x1_DB71_0641;

/// x^`exponent` mod P; bit i is the coefficient of x^(31-i).
const fn power(exponent: u32) -> u32 {
    let mut value = 1 << 31;
    let mut at = 0;
    while at < exponent {
        value = times_x(value);
        at += 1;
    }
    value
}

const fn times_x(value: u32) -> u32 {
    (value >> 1) ^ if value & 1 == 1 { 0xEDB8_8320 } else { 0 }
}

/// The same polynomial as a 64-bit word.
const fn word(value: u32) -> u64 {
    (value as u64) << 32
}

const fn factors() -> [[u64; 2]; BLOCKS] {
    let mut factors = [[0; 2]; BLOCKS];
    // Multiplied by x^32, as the CRC asks, and divided by the x of the reflected product.
    let mut second = power(31);
    let mut block = BLOCKS;
    while block > 0 {
        block -= 1;
        let mut first = second;
        let mut next = second;
        let mut step = 0;
        while step < 128 {
            next = times_x(next);
            step += 1;
            if step == 64 {
                first = next;
            }
        }
        factors[block] = [word(first), word(second)];
        second = next;
    }
    factors
}

/// Sum of the CRC32 of every record of `record_len` bytes, if this CPU and this length suit a kernel.
pub(super) fn sum(bytes: &[u8], record_len: usize) -> Option<u128> {
    let suited = (MIN_BYTES..=MAX_BYTES).contains(&record_len)
        && is_x86_feature_detected!("pclmulqdq")
        && is_x86_feature_detected!("ssse3");
    if !suited {
        return None;
    }
    let wide = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("vpclmulqdq");
    let zeros = crc32fast::hash(&[0; MAX_BYTES][..record_len]);
    let mut total = 0_u128;
    for batch in bytes.chunks(record_len * BATCH) {
        let sum = if wide {
            // SAFETY: this CPU has the features.
            unsafe { sum_wide(batch, record_len, zeros) }
        } else {
            // SAFETY: this CPU has the features.
            unsafe { sum_narrow(batch, record_len, zeros) }
        };
        total = total.wrapping_add(u128::from(sum));
    }
    Some(total)
}

/// One record at a time, 16 bytes at a time.
#[target_feature(enable = "pclmulqdq,ssse3")]
fn sum_narrow(bytes: &[u8], record_len: usize, zeros: u32) -> u64 {
    let mut sum = 0;
    for record in bytes.chunks_exact(record_len) {
        let (head, blocks) = record.split_at(record_len % 16);
        let used = &FACTORS[BLOCKS - record_len.div_ceil(16)..];
        let (head_factors, factors) = used.split_at(used.len() - blocks.len() / 16);
        let mut folded = _mm_set_epi64x(0, 0);
        if let [factor] = head_factors {
            folded = multiply(right_aligned(record, head.len()), factor);
        }
        for (block, factor) in blocks.as_chunks::<16>().0.iter().zip(factors) {
            folded = _mm_xor_si128(folded, multiply(load(block), factor));
        }
        sum += u64::from(reduce(folded) ^ zeros);
    }
    sum
}

fn load(block: &[u8; 16]) -> __m128i {
    // SAFETY: SSE2 is part of x86-64, the block is 16 readable bytes, and alignment does not matter.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

/// The first `len` bytes of a record, after zeros.
#[target_feature(enable = "ssse3")]
fn right_aligned(record: &[u8], len: usize) -> __m128i {
    // Bytes chosen by an index with the top bit set become zero.
    const SHIFT: [u8; 32] = {
        let mut shift = [0x80; 32];
        let mut at = 0;
        while at < 16 {
            shift[16 + at] = at as u8;
            at += 1;
        }
        shift
    };
    let (Some(start), Some(choice)) = (record.first_chunk(), SHIFT[len..].first_chunk()) else {
        unreachable!("records have at least 16 bytes and their head has at most 15")
    };
    _mm_shuffle_epi8(load(start), load(choice))
}

#[target_feature(enable = "pclmulqdq")]
fn multiply(block: __m128i, [first, second]: &[u64; 2]) -> __m128i {
    let factor = _mm_set_epi64x(*second as i64, *first as i64);
    _mm_xor_si128(
        _mm_clmulepi64_si128(block, factor, 0x00),
        _mm_clmulepi64_si128(block, factor, 0x11),
    )
}

#[target_feature(enable = "pclmulqdq")]
fn reduce(folded: __m128i) -> u32 {
    let constants = _mm_set_epi64x(QUOTIENT, TOP);
    let low_half = _mm_set_epi64x(0, 0xFFFF_FFFF);
    let folded = _mm_xor_si128(folded, _mm_clmulepi64_si128(folded, constants, 0x00));
    let rest = _mm_unpackhi_epi64(folded, folded);
    let quotient = _mm_clmulepi64_si128(_mm_and_si128(rest, low_half), constants, 0x10);
    let quotient = _mm_and_si128(quotient, low_half);
    let product = _mm_clmulepi64_si128(quotient, _mm_set_epi64x(0, POLYNOMIAL), 0x00);
    _mm_cvtsi128_si64(_mm_srli_epi64(_mm_xor_si128(rest, product), 32)) as u32
}

/// Four records at a time, 64 bytes of each at a time, counted from the record's end.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq,pclmulqdq,ssse3")]
fn sum_wide(bytes: &[u8], record_len: usize, zeros: u32) -> u64 {
    let zeros_wide = _mm512_set1_epi64(i64::from(zeros));
    let mut sums = _mm512_setzero_si512();
    let mut fours = bytes.chunks_exact(4 * record_len);
    for four in &mut fours {
        let record = |n: usize| fold_wide(&four[n * record_len..(n + 1) * record_len]);
        let first_two = add_halves(record(0), record(1));
        let last_two = add_halves(record(2), record(3));
        let folded = _mm512_xor_si512(
            _mm512_shuffle_i64x2(first_two, last_two, 0x88),
            _mm512_shuffle_i64x2(first_two, last_two, 0xDD),
        );
        let crc = reduce_wide(folded, zeros_wide);
        sums = _mm512_add_epi64(sums, crc);
    }
    _mm512_reduce_add_epi64(sums) as u64 + sum_narrow(fours.remainder(), record_len, zeros)
}

/// The record's blocks times their factors, added up into four partial sums.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn fold_wide(record: &[u8]) -> __m512i {
    let mut folded = _mm512_setzero_si512();
    let mut left = record.len();
    let mut block = BLOCKS;
    while left > 0 {
        block -= 4;
        let here = left.min(64);
        let mask = u64::MAX << (64 - here);
        let start = record.as_ptr().wrapping_add(left).wrapping_sub(64);
        // SAFETY: only the last `here` bytes before `left` are read, all inside the record; masked
        // ones are not touched. Records have at most 16 * BLOCKS bytes, so four factors are left.
        let (bytes, factor) = unsafe {
            let factor = FACTORS.as_ptr().add(block);
            (_mm512_maskz_loadu_epi8(mask, start.cast()), _mm512_loadu_si512(factor.cast()))
        };
        let first = _mm512_clmulepi64_epi128(bytes, factor, 0x00);
        let second = _mm512_clmulepi64_epi128(bytes, factor, 0x11);
        folded = _mm512_xor_si512(folded, _mm512_xor_si512(first, second));
        left -= here;
    }
    folded
}

/// Two partial sums of `a`, then two of `b`.
#[target_feature(enable = "avx512f")]
fn add_halves(a: __m512i, b: __m512i) -> __m512i {
    _mm512_xor_si512(_mm512_shuffle_i64x2(a, b, 0x44), _mm512_shuffle_i64x2(a, b, 0xEE))
}

/// Like [`reduce`], for four values; every CRC is in the lower half of its 128 bits.
#[target_feature(enable = "avx512f,vpclmulqdq")]
fn reduce_wide(folded: __m512i, zeros: __m512i) -> __m512i {
    const LOWER: u8 = 0b0101_0101;
    let low_half = _mm512_set1_epi64(0xFFFF_FFFF);
    let top = _mm512_clmulepi64_epi128(folded, _mm512_set1_epi64(TOP), 0x00);
    let folded = _mm512_xor_si512(folded, top);
    let rest = _mm512_unpackhi_epi64(folded, folded);
    let quotient = _mm512_maskz_and_epi64(LOWER, rest, low_half);
    let quotient = _mm512_clmulepi64_epi128(quotient, _mm512_set1_epi64(QUOTIENT), 0x00);
    let quotient = _mm512_maskz_and_epi64(LOWER, quotient, low_half);
    let product = _mm512_clmulepi64_epi128(quotient, _mm512_set1_epi64(POLYNOMIAL), 0x00);
    let crc = _mm512_maskz_srli_epi64(LOWER, _mm512_xor_si512(rest, product), 32);
    // Above the CRC there is nothing; in the upper halves the constant must not be counted.
    _mm512_maskz_and_epi64(LOWER, _mm512_xor_si512(crc, zeros), low_half)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_are_what_they_say() {
        // Long division of x^64 by P, both as plain (unreflected) polynomials.
        let polynomial = 0x1_04C1_1DB7_u128;
        let (mut rest, mut quotient) = (1_u128 << 64, 0_u128);
        for shift in (0..=32).rev() {
            if rest >> (shift + 32) & 1 == 1 {
                rest ^= polynomial << shift;
                quotient |= 1 << shift;
            }
        }
        assert_eq!((quotient as u64).reverse_bits() >> 31, QUOTIENT as u64);
        assert_eq!((polynomial as u64).reverse_bits() >> 31, POLYNOMIAL as u64);
        assert_eq!(u64::from((rest as u32).reverse_bits()), u64::from(power(64)));
    }

    #[test]
    fn both_kernels_agree_with_the_library() {
        if !(is_x86_feature_detected!("pclmulqdq") && is_x86_feature_detected!("ssse3")) {
            return;
        }
        for record_len in MIN_BYTES..=MAX_BYTES {
            let bytes: Vec<u8> =
                (0..7 * record_len).map(|at| (at * at * 31 + record_len) as u8).collect();
            let expected: u64 = bytes
                .chunks_exact(record_len)
                .map(|record| u64::from(crc32fast::hash(record)))
                .sum();
            let zeros = crc32fast::hash(&vec![0; record_len]);
            // SAFETY: this CPU has the features.
            let narrow = unsafe { sum_narrow(&bytes, record_len, zeros) };
            assert_eq!(narrow, expected, "{record_len}");
            assert_eq!(sum(&bytes, record_len), Some(u128::from(expected)), "{record_len}");
        }
    }
}
