//! Which block comes next.

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

/// Equally long files and the block size they are accessed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) files: usize,
    pub(crate) file_bytes: u64,
    pub(crate) block_bytes: usize,
}

impl Shape {
    fn blocks_per_file(self) -> u64 {
        self.file_bytes / self.block_bytes as u64
    }

    /// Whole blocks in all files.
    pub(crate) fn blocks(self) -> u64 {
        self.blocks_per_file() * self.files as u64
    }

    /// File and byte offset of a block.
    pub(crate) fn locate(self, block: u64) -> (usize, u64) {
        let per_file = self.blocks_per_file();
        ((block / per_file) as usize, block % per_file * self.block_bytes as u64)
    }
}

/// An endless sequence of blocks of a [`Shape`].
#[derive(Debug)]
pub(crate) enum Pattern {
    /// One after the other, then from the beginning.
    Sequential { next: u64 },
    /// Independent and uniform.
    Random(Box<Xoshiro256PlusPlus>),
    /// Every block once, in random order, then again: what a shuffle does with the segments of its
    /// map outputs.
    Shuffled { order: Vec<u32>, next: usize },
}

impl Pattern {
    pub(crate) fn sequential() -> Self {
        Self::Sequential { next: 0 }
    }

    pub(crate) fn random(seed: u64) -> Self {
        Self::Random(Box::new(Xoshiro256PlusPlus::seed_from_u64(seed)))
    }

    pub(crate) fn shuffled(shape: Shape, seed: u64) -> Self {
        let mut order: Vec<u32> = (0..shape.blocks() as u32).collect();
        order.shuffle(&mut Xoshiro256PlusPlus::seed_from_u64(seed));
        Self::Shuffled { order, next: 0 }
    }

    /// The next block's number.
    pub(crate) fn next(&mut self, shape: Shape) -> u64 {
        match self {
            Self::Sequential { next } => {
                let block = *next;
                *next = (block + 1) % shape.blocks();
                block
            }
            Self::Random(random) => random.random_range(0..shape.blocks()),
            Self::Shuffled { order, next } => {
                let block = order[*next];
                *next = (*next + 1) % order.len();
                u64::from(block)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn one_round_touches_every_block_once_and_stays_inside(
            files in 1..20_usize, per_file in 1..50_u64, shuffled: bool, seed: u64,
        ) {
            let shape = Shape { files, file_bytes: per_file * 4096 + 100, block_bytes: 4096 };
            let mut pattern =
                if shuffled { Pattern::shuffled(shape, seed) } else { Pattern::sequential() };
            for _round in 0..2 {
                let seen: HashSet<(usize, u64)> =
                    (0..shape.blocks()).map(|_| shape.locate(pattern.next(shape))).collect();
                prop_assert_eq!(seen.len() as u64, shape.blocks());
                for (file, offset) in seen {
                    prop_assert!(file < files && offset + 4096 <= shape.file_bytes);
                    prop_assert_eq!(offset % 4096, 0);
                }
            }
        }

        #[test]
        fn random_blocks_stay_inside_and_differ(seed: u64) {
            let shape = Shape { files: 3, file_bytes: 1 << 20, block_bytes: 4096 };
            let mut pattern = Pattern::random(seed);
            let seen: HashSet<u64> = (0..200).map(|_| pattern.next(shape)).collect();
            prop_assert!(seen.iter().all(|b| *b < shape.blocks()));
            prop_assert!(seen.len() > 50);
        }
    }
}
