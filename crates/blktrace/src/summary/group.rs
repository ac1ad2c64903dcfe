//! Counts of the requests of one device with the same operation: read, write or discard.

use std::collections::BTreeMap;

use crate::read::event::{Event, FAILED};
use crate::summary::histogram::Histogram;
use crate::summary::locality::Locality;
use crate::summary::raster::Raster;

/// Sizes up to this many sectors (4 MiB) are counted in an array.
const SMALL_SECTORS: u32 = 8192;
/// So many different larger sizes are counted; only damage has more.
const LARGE_SIZES: usize = 1 << 16;

/// How many requests there are of each size.
#[derive(Clone, Debug)]
pub struct Sizes {
    small: Vec<u64>,
    large: BTreeMap<u32, u64>,
    /// Requests of further sizes.
    pub others: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { small: vec![0; SMALL_SECTORS as usize + 1], large: BTreeMap::new(), others: 0 }
    }
}

impl Sizes {
    #[inline]
    fn record(&mut self, sectors: u32) {
        if let Some(count) = self.small.get_mut(sectors as usize) {
            *count += 1;
        } else {
            self.record_large(sectors);
        }
    }

    #[cold]
    fn record_large(&mut self, sectors: u32) {
        if self.large.len() < LARGE_SIZES || self.large.contains_key(&sectors) {
            *self.large.entry(sectors).or_default() += 1;
        } else {
            self.others += 1;
        }
    }

    /// Sectors and count of every size that there is, the smallest first.
    pub fn counts(&self) -> impl Iterator<Item = (u32, u64)> {
        let small = self.small.iter().enumerate().map(|(sectors, count)| (sectors as u32, *count));
        let large = self.large.iter().map(|(sectors, count)| (*sectors, *count));
        small.chain(large).filter(|(_, count)| *count > 0)
    }

    /// The median of the sizes that are counted, by the nearest rank; `None` without sizes.
    pub fn median(&self) -> Option<u32> {
        let all: u64 = self.counts().map(|(_, count)| count).sum();
        let mut below = 0;
        self.counts()
            .find(|(_, count)| {
                below += count;
                below >= all.div_ceil(2)
            })
            .map(|(sectors, _)| sectors)
    }
}

/// Requests and their sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// How many requests.
    pub count: u64,
    /// How many sectors they have.
    pub sectors: u64,
}

impl Amount {
    #[inline]
    fn add(&mut self, sectors: u32) {
        self.count += 1;
        self.sectors += u64::from(sectors);
    }
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// Q: requests as the file system made them.
    pub queued: Amount,
    /// M.
    pub back_merges: u64,
    /// F.
    pub front_merges: u64,
    /// D: requests as the device got them, each once, by their flags but [`FAILED`], the highest.
    issued: [Amount; FAILED as usize],
    /// C: requests that were done as a whole.
    pub completed: u64,
    /// The completed requests with an error.
    pub failed: u64,
    /// Sizes of the issued requests.
    pub sizes: Sizes,
    /// From being issued to being done, in nanoseconds.
    pub issued_to_done: Histogram,
    /// From being queued to being done, in nanoseconds.
    pub queued_to_done: Histogram,
    /// Locality of the issued requests.
    pub locality: Locality,
    /// Places of the issued requests over time.
    pub raster: Raster,
}

impl Group {
    /// A request was queued.
    #[inline]
    pub fn queue(&mut self, event: &Event) {
        self.queued.add(event.sectors);
    }

    /// A request for the file with a number went to the device, `since_start_ns` after the trace began.
    #[inline]
    pub fn issue(&mut self, event: &Event, file: u32, since_start_ns: u64) {
        self.issued[usize::from(event.flags) % self.issued.len()].add(event.sectors);
        self.sizes.record(event.sectors);
        self.locality.take(event.sector, event.sectors);
        self.raster.take(since_start_ns, event.sector, event.sectors, file);
    }

    /// The requests with these flags as the device got them, each once.
    pub fn issued(&self, flags: u8) -> Amount {
        let has = |of: &(usize, &Amount)| of.0 & usize::from(flags) == usize::from(flags);
        let mut sum = Amount::default();
        for (_, amount) in self.issued.iter().enumerate().filter(has) {
            sum.count += amount.count;
            sum.sectors += amount.sectors;
        }
        sum
    }

    /// A request was done so long after it was issued and queued.
    #[inline]
    pub fn complete(&mut self, issued_ns: u64, queued_ns: Option<u64>, failed: bool) {
        self.completed += 1;
        self.failed += u64::from(failed);
        self.issued_to_done.record(issued_ns);
        if let Some(queued_ns) = queued_ns {
            self.queued_to_done.record(queued_ns);
        }
    }
}
