//! Numbers of blocks and files in xfs: by allocation group, and within it.
//!
//! Source: Linux, `fs/xfs/libxfs/xfs_format.h`: the superblock, with big-endian numbers, and
//! `NULLSTARTBLOCK`.

use serde::{Deserialize, Serialize};

/// The name of the file system type.
pub const KIND: &str = "xfs";
/// Block numbers from here on are placeholders: data not written out yet has no position.
pub const NO_BLOCK: u64 = ((1 << 35) - 1) << 17;
/// So much of the device is read.
pub const HEAD_BYTES: usize = 512;

/// The allocation groups of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Groups {
    /// Blocks of each.
    pub blocks: u32,
    /// The bits of a block's number that count within its group.
    pub block_bits: u32,
    /// As many of a file's number.
    pub inode_bits: u32,
}

impl Groups {
    /// Reads the first bytes of the device; `None` if it is no xfs, or has files on a second device
    /// (realtime), where blocks have the same numbers.
    pub fn of(head: &[u8; HEAD_BYTES]) -> Option<Self> {
        let word = |at: usize| head[at..].first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        let is_alone = head[16..24].iter().all(|byte| *byte == 0);
        let (blocks, block_bits) = (word(84)?, u32::from(head[124]));
        let inode_bits = block_bits + u32::from(head[123]);
        let fits = blocks > 0 && inode_bits <= u32::BITS && u64::from(blocks) <= 1 << block_bits;
        (head.starts_with(b"XFSB") && is_alone && fits).then_some(Self {
            blocks,
            block_bits,
            inode_bits,
        })
    }

    /// The position of a block, counted from the beginning of the file system; `None` on overflow.
    pub fn block(self, number: u64) -> Option<u64> {
        let group = number.checked_shr(self.block_bits)?;
        let within = number - (group << self.block_bits);
        group.checked_mul(self.blocks.into())?.checked_add(within)
    }

    /// The number of a file that has a number within its group.
    pub fn inode(self, group: u64, within: u64) -> u64 {
        group.checked_shl(self.inode_bits).map_or(within, |group| group | within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(blocks: u32, block_log: u8, second_device: u8) -> [u8; HEAD_BYTES] {
        let mut head = [0; HEAD_BYTES];
        head[..4].copy_from_slice(b"XFSB");
        head[23] = second_device;
        head[84..88].copy_from_slice(&blocks.to_be_bytes());
        (head[123], head[124]) = (3, block_log);
        head
    }

    #[test]
    fn a_block_is_counted_from_the_beginning() {
        // Groups need not have a power of two of blocks.
        let groups = Groups::of(&head(20_480, 15, 0)).unwrap();
        assert_eq!(groups.block(7), Some(7));
        assert_eq!(groups.block(3 << 15 | 7), Some(3 * 20_480 + 7));
        assert_eq!(groups.inode(3, 128), 3 << 18 | 128);
    }

    #[test]
    fn what_cannot_be_counted_is_refused() {
        assert_eq!(Groups::of(&[0; HEAD_BYTES]), None);
        assert_eq!(Groups::of(&head(20_480, 15, 9)), None);
        assert_eq!(Groups::of(&head(20_480, 14, 0)), None);
        assert_eq!(Groups::of(&head(20_480, 255, 0)), None);
        let damaged = Groups { blocks: 1, block_bits: 99, inode_bits: 99 };
        assert_eq!((damaged.block(7), damaged.inode(1, 7)), (None, 7));
    }
}
