//! Requests under way, by device and sector: a hash table with open addressing that may have a key
//! several times, and then gives what was put in first.

use crate::read::event::SECTOR_BITS;

/// A device, by its place in the analysis, and a sector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key(u64);

impl Key {
    const EMPTY: Self = Self(u64::MAX);
    /// Places of devices are below this; [`Key::EMPTY`] has no such place.
    pub const DEVICES: usize = (1 << (u64::BITS - SECTOR_BITS)) - 1;

    /// The key of a sector, which is below [`crate::read::event::SECTOR_LIMIT`].
    #[inline]
    pub fn of(device: usize, sector: u64) -> Self {
        debug_assert!(device < Self::DEVICES && sector >> SECTOR_BITS == 0);
        Self((device as u64) << SECTOR_BITS | sector)
    }

    /// The device's place.
    pub fn device(self) -> usize {
        (self.0 >> SECTOR_BITS) as usize
    }
}

/// See the module.
#[derive(Debug)]
pub struct Table<V> {
    /// A power of two, at most half of them in use.
    slots: Vec<(Key, V)>,
    /// By how much a mixed key is shifted to be a slot's number.
    shift: u32,
    count: usize,
}

impl<V: Copy + Default> Default for Table<V> {
    fn default() -> Self {
        // Few, so that they stay in the CPU's caches; the table grows with the requests under way.
        const SLOTS_MIN: usize = 1 << 8;
        let shift = u64::BITS - SLOTS_MIN.trailing_zeros();
        Self { slots: vec![(Key::EMPTY, V::default()); SLOTS_MIN], shift, count: 0 }
    }
}

impl<V: Copy + Default> Table<V> {
    /// How many values there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Puts a value in, behind those of the same key.
    #[inline]
    pub fn insert(&mut self, key: Key, value: V) {
        if (self.count + 1) * 2 > self.slots.len() {
            self.rebuild(self.slots.len() * 2, |_, _| true);
        }
        self.put(key, value);
    }

    /// The place of the first value of the key for which `fits` holds. It is valid until the table
    /// is changed.
    #[inline]
    pub fn find(&self, key: Key, fits: impl Fn(&V) -> bool) -> Option<usize> {
        let mut at = self.home(key);
        loop {
            let (found, value) = &self.slots[at];
            if *found == key && fits(value) {
                return Some(at);
            }
            if *found == Key::EMPTY {
                return None;
            }
            at = self.after(at);
        }
    }

    /// The value at a place.
    #[inline]
    pub fn value(&mut self, at: usize) -> &mut V {
        &mut self.slots[at].1
    }

    /// Takes out the value at a place.
    #[inline]
    pub fn remove_at(&mut self, at: usize) -> V {
        let removed = self.slots[at].1;
        // The entries behind it move up, unless they would come before their homes.
        let (mut hole, mut at) = (at, at);
        loop {
            at = self.after(at);
            let (key, _) = self.slots[at];
            if key == Key::EMPTY {
                break;
            }
            let mask = self.slots.len() - 1;
            let from_home = at.wrapping_sub(self.home(key)) & mask;
            if from_home >= at.wrapping_sub(hole) & mask {
                self.slots[hole] = self.slots[at];
                hole = at;
            }
        }
        self.slots[hole].0 = Key::EMPTY;
        self.count -= 1;
        removed
    }

    /// Takes out all values for which `stays` does not hold.
    pub fn retain(&mut self, stays: impl FnMut(Key, &V) -> bool) {
        self.rebuild(self.slots.len(), stays);
    }

    /// Every value.
    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.slots.iter().filter(|(key, _)| *key != Key::EMPTY).map(|(_, value)| value)
    }

    #[cold]
    fn rebuild(&mut self, slots: usize, mut stays: impl FnMut(Key, &V) -> bool) {
        let old = std::mem::replace(&mut self.slots, vec![(Key::EMPTY, V::default()); slots]);
        (self.shift, self.count) = (u64::BITS - slots.trailing_zeros(), 0);
        // From behind an empty slot on, so that those of one key keep their order.
        let start = old.iter().position(|(key, _)| *key == Key::EMPTY).unwrap_or(0);
        for (key, value) in old[start..].iter().chain(&old[..start]) {
            if *key != Key::EMPTY && stays(*key, value) {
                self.put(*key, *value);
            }
        }
    }

    #[inline]
    fn put(&mut self, key: Key, value: V) {
        let mut at = self.home(key);
        while self.slots[at].0 != Key::EMPTY {
            at = self.after(at);
        }
        self.slots[at] = (key, value);
        self.count += 1;
    }

    #[inline]
    fn home(&self, key: Key) -> usize {
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4): 2^64 / golden ratio.
        let mixed = key.0.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> self.shift) as usize
    }

    #[inline]
    fn after(&self, at: usize) -> usize {
        (at + 1) & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, VecDeque};

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_queue_for_each_key(
            steps in prop::collection::vec((any::<bool>(), 0_u64..300, 0_usize..3), 0..4000)
        ) {
            let take = |table: &mut Table<usize>, key| {
                let at = table.find(key, |_| true)?;
                Some(table.remove_at(at))
            };
            let mut table = Table::default();
            let mut queues: HashMap<(usize, u64), VecDeque<usize>> = HashMap::new();
            for (number, (puts, sector, device)) in steps.into_iter().enumerate() {
                let queue = queues.entry((device, sector)).or_default();
                let key = Key::of(device, sector);
                if puts {
                    table.insert(key, number);
                    queue.push_back(number);
                } else {
                    prop_assert_eq!(take(&mut table, key), queue.pop_front());
                }
            }
            prop_assert_eq!(table.count(), queues.values().map(VecDeque::len).sum::<usize>());
            table.retain(|_, number| number % 2 == 0);
            for ((device, sector), queue) in queues {
                let key = Key::of(device, sector);
                for number in queue.into_iter().filter(|number| number % 2 == 0) {
                    prop_assert_eq!(take(&mut table, key), Some(number));
                }
                prop_assert_eq!(take(&mut table, key), None);
            }
            prop_assert_eq!(table.count(), 0);
        }
    }
}
