//! Which file each sector of a disk belongs to now, as ranges that do not overlap. A new range
//! replaces the ranges that it covers.

use std::collections::BTreeMap;

/// A file, by the place of its file system and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    /// The place of its file system among those of the recording.
    pub file_system: u16,
    /// Its number there.
    pub inode: u64,
}

#[derive(Clone, Copy, Debug)]
struct Range {
    end: u64,
    file: FileId,
}

/// See the module.
#[derive(Debug)]
pub struct Extents {
    ranges: BTreeMap<u64, Range>,
    limit: usize,
    /// Ranges for which there was no room any more.
    pub refused: u64,
}

/// The most ranges kept for a disk, in about 100 MB.
const LIMIT: usize = 2 << 20;

impl Default for Extents {
    fn default() -> Self {
        Self { ranges: BTreeMap::new(), limit: LIMIT, refused: 0 }
    }
}

impl Extents {
    /// The sectors from `start` up to `end` belong to the file from now on.
    pub fn insert(&mut self, start: u64, end: u64, file: FileId) {
        let before = self.ranges.range_mut(..start).next_back();
        let mut rest = None;
        let mut joined = None;
        if let Some((at, before)) = before {
            if before.end > start {
                rest = (before.end > end).then_some(*before);
                before.end = start;
            }
            joined = (before.end == start && before.file == file).then_some(*at);
        }
        while let Some((&at, &range)) = self.ranges.range(start..end).next() {
            self.ranges.remove(&at);
            rest = (range.end > end).then_some(range);
        }
        if self.ranges.len() + 2 > self.limit {
            self.refused += 1;
            return;
        }
        if let Some(rest) = rest {
            self.ranges.insert(end, rest);
        }
        self.ranges.insert(joined.unwrap_or(start), Range { end, file });
    }

    /// The file with the most of these sectors; `None` if more belong to no known file.
    pub fn owner(&self, start: u64, end: u64) -> Option<FileId> {
        let first = self.ranges.range(..=start).next_back();
        if let Some((_, range)) = first
            && range.end >= end
        {
            return Some(range.file);
        }
        let mut shares: Vec<(FileId, u64)> = Vec::new();
        let others = self.ranges.range(start + 1..end);
        for (at, range) in first.into_iter().chain(others) {
            let sectors = range.end.min(end).saturating_sub((*at).max(start));
            match shares.iter_mut().find(|(file, _)| *file == range.file) {
                Some((_, share)) => *share += sectors,
                None => shares.push((range.file, sectors)),
            }
        }
        let nobodys = (end - start) - shares.iter().map(|(_, sectors)| sectors).sum::<u64>();
        let (file, most) = shares.into_iter().rev().max_by_key(|(_, sectors)| *sectors)?;
        (most > 0 && most >= nobodys).then_some(file)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn file(inode: u64) -> FileId {
        FileId { file_system: 0, inode }
    }

    proptest! {
        #[test]
        fn the_last_to_get_a_sector_has_it(
            steps in prop::collection::vec((0_u64..60, 1_u64..20, 0_u64..4), 1..60)
        ) {
            let (mut extents, mut sectors) = (Extents::default(), [None; 80]);
            for (start, count, inode) in steps {
                extents.insert(start, start + count, file(inode));
                sectors[start as usize..(start + count) as usize].fill(Some(file(inode)));
            }
            for (at, owner) in sectors.iter().enumerate() {
                prop_assert_eq!(extents.owner(at as u64, at as u64 + 1), *owner);
            }
            let ranges = extents.ranges.iter();
            prop_assert!(ranges.clone().zip(ranges.skip(1)).all(|((_, a), (at, _))| a.end <= *at));
        }
    }

    #[test]
    fn of_several_owners_the_one_with_the_most_has_a_request() {
        let mut extents = Extents::default();
        extents.insert(0, 8, file(1));
        extents.insert(8, 24, file(2));
        extents.insert(24, 36, file(1));
        assert_eq!(extents.owner(0, 24), Some(file(2)));
        assert_eq!(extents.owner(0, 36), Some(file(1)));
        assert_eq!(extents.owner(30, 40), Some(file(1)));
        assert_eq!(extents.owner(30, 60), None);
        assert_eq!(extents.owner(100, 108), None);
    }

    #[test]
    fn what_there_is_no_room_for_is_counted() {
        let mut extents = Extents { limit: 4, ..Extents::default() };
        (0..10).for_each(|number| extents.insert(number * 16, number * 16 + 8, file(number)));
        assert_eq!((extents.refused, extents.ranges.len()), (7, 3));
    }
}
