//! The 128-bit linear congruential sequence of gensort: X(0) = 0, X(n+1) = A X(n) + C mod 2^128.

const A: u128 = 0x2360_ED05_1FC6_5DA4_4385_DF64_9FCC_F645;
const C: u128 = 0x4A69_6D47_7261_7952_4950_2020_2020_2001;

/// The element after `x`.
pub(super) fn next(x: u128) -> u128 {
    x.wrapping_mul(A).wrapping_add(C)
}

/// X(`n`), by repeated squaring of the step.
pub(super) fn element(n: u128) -> u128 {
    let (mut a, mut c) = (A, C);
    let (mut x, mut left) = (0_u128, n);
    while left > 0 {
        if left & 1 == 1 {
            x = x.wrapping_mul(a).wrapping_add(c);
        }
        c = c.wrapping_mul(a.wrapping_add(1));
        a = a.wrapping_mul(a);
        left >>= 1;
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skipping_ahead_is_stepping() {
        let mut x = 0;
        for n in 0..1000 {
            assert_eq!(element(n), x);
            x = next(x);
        }
        for n in [1 << 40, 1 << 64, u128::MAX - 1] {
            assert_eq!(element(n + 1), next(element(n)));
        }
        assert_eq!(next(element(u128::MAX)), 0, "the period is 2^128");
    }
}
