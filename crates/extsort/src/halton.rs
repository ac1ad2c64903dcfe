//! Pi from the points of the Halton sequence with bases 2 and 3, as Hadoop's example has them.
//!
//! A coordinate is the digits of the point's number in a base, mirrored at the point (van der
//! Corput). The last digits of consecutive numbers run through all their values, so what they add
//! to the coordinate comes from a table; what the digits before them add changes once a table. For
//! the point itself that leaves two sums, two products and a comparison.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The most points: beyond, a number's mirrored digits are more than a coordinate can hold.
pub const MOST_POINTS: u64 = 1 << 53;

/// Larger tables would leave the second-level cache, smaller ones be changed too often.
const DIGITS_OF_2: u32 = 12;
const DIGITS_OF_3: u32 = 8;
/// Points between looking whether to stop: some milliseconds.
const CHUNK: u64 = 1 << 22;

/// The number of points 1 to `points` in the circle in the square; `None` if canceled. Fails if the
/// system refuses a thread.
///
/// Counts in `parts` tasks of consecutive points on `threads` threads. `progress` receives the
/// number of finished points.
///
/// # Panics
/// If `parts` or `threads` is zero or there are over [`MOST_POINTS`].
pub fn points_inside(
    points: u64,
    parts: u64,
    threads: usize,
    cancel: &AtomicBool,
    progress: &(dyn Fn(u64) + Sync),
) -> io::Result<Option<u64>> {
    assert!(parts > 0 && threads > 0 && points <= MOST_POINTS);
    let plane = Plane::new();
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let task = || {
        let mut inside = 0;
        loop {
            let part = next.fetch_add(1, Ordering::Relaxed);
            if part >= parts {
                return Some(inside);
            }
            let mut numbers = numbers_of(part, parts, points);
            while !numbers.is_empty() {
                if cancel.load(Ordering::Relaxed) {
                    return None;
                }
                let until = numbers.end.min(numbers.start + CHUNK);
                inside += plane.inside(numbers.start..until);
                let counted = until - numbers.start;
                progress(done.fetch_add(counted, Ordering::Relaxed) + counted);
                numbers.start = until;
            }
        }
    };
    let tasks = (0..parts.min(threads as u64)).map(|_| task);
    Ok(rawio::side_by_side("pi", tasks, || ())?.into_iter().sum())
}

/// The numbers of the points of a part; the first point of all has number 1.
fn numbers_of(part: u64, parts: u64, points: u64) -> Range<u64> {
    let bound = |part: u64| (u128::from(points) * u128::from(part) / u128::from(parts)) as u64 + 1;
    bound(part)..bound(part + 1)
}

/// Both coordinates.
struct Plane {
    x: Axis<2>,
    y: Axis<3>,
}

impl Plane {
    fn new() -> Self {
        Self { x: Axis::new(DIGITS_OF_2), y: Axis::new(DIGITS_OF_3) }
    }

    fn inside(&self, numbers: Range<u64>) -> u64 {
        let (mut x, mut y) = (self.x.from(numbers.start), self.y.from(numbers.start));
        let (mut inside, mut left) = (0, (numbers.end - numbers.start) as usize);
        while left > 0 {
            let count = x.rest().len().min(y.rest().len()).min(left);
            inside += in_circle(&x.rest()[..count], &y.rest()[..count], x.before, y.before);
            x.advance(count);
            y.advance(count);
            left -= count;
        }
        inside
    }
}

/// How many points lie in the circle, given what the last and the earlier digits add.
fn in_circle(xs: &[f64], ys: &[f64], x: f64, y: f64) -> u64 {
    let points = xs.iter().zip(ys);
    points
        .map(|(last_x, last_y)| {
            let (x, y) = (x + last_x, y + last_y);
            u64::from(x * x + y * y <= 0.25)
        })
        .sum()
}

/// One coordinate, from the center of the square.
struct Axis<const BASE: u64> {
    /// Contribution of the last digits.
    table: Vec<f64>,
}

impl<const BASE: u64> Axis<BASE> {
    fn new(digits: u32) -> Self {
        Self { table: (0..BASE.pow(digits)).map(mirrored::<BASE>).collect() }
    }

    fn from(&self, number: u64) -> Cursor<'_, BASE> {
        let len = self.table.len() as u64;
        let mut cursor =
            Cursor { axis: self, row: number / len, column: (number % len) as usize, before: 0.0 };
        cursor.turn();
        cursor
    }
}

/// A place among the numbers: `row` is the earlier digits, `column` the last ones.
struct Cursor<'a, const BASE: u64> {
    axis: &'a Axis<BASE>,
    row: u64,
    column: usize,
    /// Contribution of the earlier digits.
    before: f64,
}

impl<const BASE: u64> Cursor<'_, BASE> {
    fn rest(&self) -> &[f64] {
        &self.axis.table[self.column..]
    }

    fn advance(&mut self, count: usize) {
        self.column += count;
        if self.column == self.axis.table.len() {
            (self.row, self.column) = (self.row + 1, 0);
            self.turn();
        }
    }

    fn turn(&mut self) {
        self.before = mirrored::<BASE>(self.row) / self.axis.table.len() as f64 - 0.5;
    }
}

/// The digits of `number`, mirrored at the point.
fn mirrored<const BASE: u64>(mut number: u64) -> f64 {
    let (mut digits, mut scale) = (0, 1);
    while number > 0 {
        digits = digits * BASE + number % BASE;
        scale *= BASE;
        number /= BASE;
    }
    digits as f64 / scale as f64
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use proptest::prelude::*;

    use super::*;

    /// Exactly, in integers: with numerators X, Y over scales S, T of a point in the unit square,
    /// (2X - S)² T² + (2Y - T)² S² <= S² T².
    fn is_inside(number: u64) -> bool {
        let fraction = |base: u128| {
            let (mut rest, mut numerator, mut scale) = (u128::from(number), 0_i128, 1_i128);
            while rest > 0 {
                numerator = numerator * base as i128 + (rest % base) as i128;
                scale *= base as i128;
                rest /= base;
            }
            (2 * numerator - scale, scale)
        };
        let ((x, s), (y, t)) = (fraction(2), fraction(3));
        x.pow(2) * t.pow(2) + y.pow(2) * s.pow(2) <= s.pow(2) * t.pow(2)
    }

    fn count(points: u64, parts: u64, threads: usize) -> u64 {
        points_inside(points, parts, threads, &AtomicBool::new(false), &|_| {}).unwrap().unwrap()
    }

    proptest! {
        #[test]
        fn any_range_counts_as_exact_fractions_do(
            // S² T² must fit in 127 bits.
            start in prop_oneof![1..5000_u64, 1..1_000_000_000_u64], len in 0..5000_u64,
        ) {
            let expected = (start..start + len).filter(|number| is_inside(*number)).count();
            prop_assert_eq!(Plane::new().inside(start..start + len), expected as u64);
        }

        #[test]
        fn parts_share_the_points(points in 0..=MOST_POINTS, parts in 1..100_u64) {
            let mut next = 1;
            for part in 0..parts {
                let numbers = numbers_of(part, parts, points);
                prop_assert_eq!(numbers.start, next);
                prop_assert!(numbers.end - numbers.start <= points / parts + 1);
                next = numbers.end;
            }
            prop_assert_eq!(next, points + 1);
        }
    }

    #[test]
    fn the_count_does_not_depend_on_how_it_is_divided() {
        let points = 3_000_000;
        let expected = count(points, 1, 1);
        assert_eq!(count(points, 7, 2), expected);
        assert_eq!(count(points, 1000, 3), expected);
        let pi = 4.0 * expected as f64 / points as f64;
        assert!((pi - std::f64::consts::PI).abs() < 1e-4, "{pi}");
        assert_eq!((count(0, 3, 2), count(1, 3, 2)), (0, 1));
    }

    #[test]
    fn whoever_cancels_gets_no_count() {
        let stopped = points_inside(1 << 40, 2, 2, &AtomicBool::new(true), &|_| {});
        assert_eq!(stopped.unwrap(), None);
    }
}
