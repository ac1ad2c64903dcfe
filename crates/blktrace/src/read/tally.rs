//! The counts that a reader keeps of a file, besides the events that it passes on.

use rustc_hash::FxHashMap;

use crate::read::event::Device;

/// Actions by their number in blktrace's format; place 0 has those without a name here.
pub const ACTIONS: [&str; 19] = [
    "unknown",
    "queue",
    "back_merge",
    "front_merge",
    "get_request",
    "sleep",
    "requeue",
    "issue",
    "complete",
    "plug",
    "unplug",
    "unplug_timer",
    "insert",
    "split",
    "bounce",
    "remap",
    "abort",
    "driver_data",
    "note",
];
/// The place of notes: names of processes, times of day, messages.
pub const NOTE: usize = 18;

/// No kernel has more processors; a record that names a higher one is damage.
pub const CPUS: u32 = 8192;

/// The counts of one file, or the totals of all files.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Bytes that were read.
    pub bytes: u64,
    /// Whole records, or lines that are one, by action.
    pub actions: [u64; ACTIONS.len()],
    /// The earliest time; `u64::MAX` before the first record.
    pub first_ns: u64,
    /// The latest time.
    pub last_ns: u64,
    /// A time on the trace's clock, and the same as seconds since 1970.
    pub wall: Option<(u64, f64)>,
    /// The gaps in the records' numbers.
    pub sequences: Sequences,
    /// Places at which there was something else than a record.
    pub damaged_places: u64,
    /// Bytes of these places.
    pub damaged_bytes: u64,
    /// Where the first one is.
    pub first_damaged_byte: Option<u64>,
    /// Bytes at the end that are a part of a record.
    pub truncated_bytes: u64,
    /// Lines that are no event.
    pub unread_lines: u64,
    /// The number of the first such line, from 1.
    pub first_unread_line: Option<u64>,
    /// Events that came so late that later ones had been handed on.
    pub late: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            bytes: 0,
            actions: [0; ACTIONS.len()],
            first_ns: u64::MAX,
            last_ns: 0,
            wall: None,
            sequences: Sequences::default(),
            damaged_places: 0,
            damaged_bytes: 0,
            first_damaged_byte: None,
            truncated_bytes: 0,
            unread_lines: 0,
            first_unread_line: None,
            late: 0,
        }
    }
}

impl Tally {
    /// Counts a record of the action at a time.
    #[inline]
    pub fn record(&mut self, action: usize, time_ns: u64) {
        self.actions[if action < ACTIONS.len() { action } else { 0 }] += 1;
        self.first_ns = self.first_ns.min(time_ns);
        self.last_ns = self.last_ns.max(time_ns);
    }

    /// Whole records, or lines that are one.
    pub fn records(&self) -> u64 {
        self.actions.iter().sum()
    }

    /// Adds another file's; which of several damaged places is the first is this one's to say.
    pub fn join(&mut self, other: &Self) {
        self.bytes += other.bytes;
        for (sum, more) in self.actions.iter_mut().zip(other.actions) {
            *sum += more;
        }
        self.first_ns = self.first_ns.min(other.first_ns);
        self.last_ns = self.last_ns.max(other.last_ns);
        self.wall = self.wall.or(other.wall);
        self.sequences.gaps += other.sequences.gaps;
        self.sequences.missing += other.sequences.missing;
        self.damaged_places += other.damaged_places;
        self.damaged_bytes += other.damaged_bytes;
        self.truncated_bytes += other.truncated_bytes;
        self.unread_lines += other.unread_lines;
        self.late += other.late;
    }
}

/// The numbers that the kernel gives the records of a device on a CPU: 1, 2, 3, ...
///
/// A missing number means that a record was lost, or that the program that wrote the file left it
/// out. Kernels before 6.19 do not number records that they drop when buffers are full, so a
/// sequence without gaps proves nothing.
#[derive(Clone, Debug)]
pub struct Sequences {
    /// How often numbers were missing.
    pub gaps: u64,
    /// How many were.
    pub missing: u64,
    /// Pairs and their last numbers, each in its own slot: in a merged trace, neighboring records
    /// come from different CPUs. A pair that lost its slot to another is in `last`.
    near: [(u64, u32); Self::NEAR],
    last: FxHashMap<u64, u32>,
}

impl Default for Sequences {
    fn default() -> Self {
        Self { gaps: 0, missing: 0, near: [(0, 0); Self::NEAR], last: FxHashMap::default() }
    }
}

impl Sequences {
    /// So many pairs of device and processor are watched; more are damage.
    const PAIRS: usize = 1 << 20;
    const NEAR: usize = 64;

    /// Takes a record's number; 0 means that it has none.
    #[inline]
    pub fn take(&mut self, device: Device, cpu: u32, number: u32) {
        if number == 0 {
            return;
        }
        // + 1, because 0 is no pair yet.
        let pair = (u64::from(device.0) << 32 | u64::from(cpu)) + 1;
        let place = (device.0 ^ cpu) as usize % Self::NEAR;
        if self.near[place].0 != pair {
            self.change(place, pair);
        }
        let last = &mut self.near[place].1;
        if number == last.wrapping_add(1) {
            *last = number;
        } else {
            self.jump(place, number);
        }
    }

    /// The trace itself says that so many records were lost at one place.
    pub fn lose(&mut self, records: u64) {
        self.gaps += u64::from(records > 0);
        self.missing += records;
    }

    #[cold]
    fn jump(&mut self, place: usize, number: u32) {
        let last = self.near[place].1;
        // The first number of a pair says nothing: a trace may be the end of a longer one.
        if last != 0 && number > last {
            self.gaps += 1;
            self.missing += u64::from(number - last - 1);
        }
        self.near[place].1 = last.max(number);
    }

    fn change(&mut self, place: usize, pair: u64) {
        let (before, last) = self.near[place];
        if before != 0 && (self.last.len() < Self::PAIRS || self.last.contains_key(&before)) {
            self.last.insert(before, last);
        }
        self.near[place] = (pair, self.last.get(&pair).copied().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_counted_for_each_processor_and_device() {
        let mut seen = Sequences::default();
        let (a, b) = (Device(1), Device(2));
        for (device, cpu, number) in
            [(a, 0, 7), (a, 1, 1), (a, 0, 8), (b, 0, 1), (a, 1, 4), (a, 0, 0), (a, 0, 9), (b, 0, 3)]
        {
            seen.take(device, cpu, number);
        }
        assert_eq!((seen.gaps, seen.missing), (2, 3));
    }

    #[test]
    fn of_many_processors_none_takes_the_numbers_of_another() {
        let mut seen = Sequences::default();
        for number in 1..=3 {
            for cpu in 0..500 {
                seen.take(Device(8 << 20), cpu, number);
            }
        }
        assert_eq!((seen.gaps, seen.missing), (0, 0));
        seen.take(Device(8 << 20), 130, 6);
        assert_eq!((seen.gaps, seen.missing), (1, 2));
    }

    #[test]
    fn a_number_that_comes_again_or_late_is_not_missing() {
        let mut seen = Sequences::default();
        for number in [1, 2, 2, 1, 3, u32::MAX] {
            seen.take(Device(0), 0, number);
        }
        assert_eq!((seen.gaps, seen.missing), (1, u64::from(u32::MAX) - 4));
    }
}
