//! How full the kernel's buffers get: how soon they have to be emptied again, and how large they would
//! have had to be.
//!
//! They are not resized while something is recorded: since Linux 6.7 (`__tracing_resize_ring_buffer`,
//! kernel/trace/trace.c) an instance records nothing while its buffers are, and counts nothing of it
//! as lost.

use std::time::Duration;

use rustix::system::sysinfo;

/// The buffer of a processor: a second of 200,000 events, of 65 bytes each.
const BUFFER_KIB: u64 = 16 << 10;
const BUFFER_MIN_KIB: u64 = 1 << 10;
/// All buffers together have at most this part of the memory.
const MEMORY_PART: u64 = 32;
/// The longest and the shortest time until buffers are emptied again.
const PAUSE_MOST: Duration = Duration::from_millis(200);
const PAUSE_LEAST: Duration = Duration::from_millis(10);
/// A buffer of which more than one in so many parts was used is to be emptied sooner, and one of which
/// less than one in so many was, later.
const MUCH: u64 = 4;
const LITTLE: u64 = 16;
/// The advised size is this many times the largest amount seen.
const SPARE: u64 = 2;
/// The advised size is a whole number of MiB, up to `--buffer`'s limit of [`ADVISED_MOST`] bytes.
const MIB: u64 = 1 << 20;
const ADVISED_MOST: u64 = 1 << 32;

/// The buffers of a recording, of which each processor has one of the same size.
#[derive(Clone, Copy, Debug)]
pub struct Buffers {
    kib: u64,
    peak_bytes: u64,
    pause: Duration,
}

impl Buffers {
    /// Of so many bytes each; of none, as the memory allows.
    pub fn new(bytes: Option<u64>) -> Self {
        let kib = bytes.map_or_else(fitting_kib, |bytes| bytes >> 10).max(1);
        Self { kib, peak_bytes: 0, pause: PAUSE_MOST }
    }

    /// The size of each.
    pub fn kib(&self) -> u64 {
        self.kib
    }

    /// The most bytes that arrived for one buffer between two reads, including bytes that did not
    /// fit.
    pub fn peak_bytes(&self) -> u64 {
        self.peak_bytes
    }

    /// How long until they are to be emptied again.
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// Whether one in which `bytes` were may have been full.
    pub fn may_have_been_full(&self, bytes: u64) -> bool {
        bytes > self.bytes() / 2
    }

    /// Notes a read of all buffers: the busiest one got `bytes`, including bytes that did not fit.
    pub fn emptied(&mut self, bytes: u64) {
        self.peak_bytes = self.peak_bytes.max(bytes);
        if bytes > self.bytes() / MUCH {
            self.pause = (self.pause / 2).max(PAUSE_LEAST);
        } else if bytes < self.bytes() / LITTLE {
            self.pause = (self.pause * 2).min(PAUSE_MOST);
        }
    }

    /// A size for `--buffer` that would have held all that came, if these did not.
    pub fn enough(&self) -> String {
        let bytes = SPARE * self.peak_bytes.max(self.bytes());
        format!("{}MiB", bytes.min(ADVISED_MOST).div_ceil(MIB))
    }

    fn bytes(&self) -> u64 {
        self.kib << 10
    }
}

/// A processor's buffer, smaller where there are many for the memory.
fn fitting_kib() -> u64 {
    let about = sysinfo();
    let memory_kib = (about.totalram as u64 * u64::from(about.mem_unit)) >> 10;
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as u64;
    (memory_kib / MEMORY_PART / cpus).clamp(BUFFER_MIN_KIB, BUFFER_KIB)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fuller_they_are_the_sooner_they_are_emptied_again() {
        let mut buffers = Buffers::new(Some(MIB));
        assert_eq!((buffers.kib(), buffers.pause()), (1024, PAUSE_MOST));
        buffers.emptied(MIB / 4 + 1);
        assert_eq!(buffers.pause(), PAUSE_MOST / 2);
        buffers.emptied(MIB / 8); // neither much nor little
        assert_eq!(buffers.pause(), PAUSE_MOST / 2);
        for _ in 0..10 {
            buffers.emptied(MIB);
        }
        assert_eq!(buffers.pause(), PAUSE_LEAST);
        for _ in 0..10 {
            buffers.emptied(0);
        }
        assert_eq!((buffers.pause(), buffers.peak_bytes()), (PAUSE_MOST, MIB));
    }

    #[test]
    fn what_is_advised_has_room_for_twice_what_came_and_is_larger() {
        let mut buffers = Buffers::new(Some(8 << 10));
        assert!(buffers.may_have_been_full(5 << 10) && !buffers.may_have_been_full(4 << 10));
        assert_eq!(buffers.enough(), "1MiB");
        buffers.emptied(3 * MIB + 1);
        assert_eq!(buffers.enough(), "7MiB");
        let mut buffers = Buffers::new(Some(16 * MIB));
        buffers.emptied(1);
        assert_eq!(buffers.enough(), "32MiB");
        buffers.emptied(u64::MAX >> 8);
        assert_eq!(buffers.enough(), "4096MiB");
    }

    #[test]
    fn by_themselves_they_are_no_larger_than_the_memory_allows() {
        let kib = Buffers::new(None).kib();
        assert!((BUFFER_MIN_KIB..=BUFFER_KIB).contains(&kib));
    }
}
