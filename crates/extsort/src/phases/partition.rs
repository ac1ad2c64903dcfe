//! Partitions between the phases: the part of each in memory and the part spilled, and which one is
//! spilled next when memory runs short.
//!
//! Partitions stay in memory while it lasts. When it runs out, the last partition still in memory
//! is written to disk, and from then on each of its blocks as it fills. So the first partitions are
//! sorted without touching the scratch disks.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rawio::{Block, DirectFile, Pool, Taken};

use crate::io::queue::ByteQueue;
use crate::job::Job;
use crate::phases::splitters::Splitters;
use crate::phases::stage::{Meter, lock};
use crate::record::Format;

/// A block with whole records from its start on.
pub(crate) struct Filled {
    pub(crate) block: Block,
    pub(crate) used: usize,
    pub(crate) records: u32,
}

impl Filled {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.block[..self.used]
    }
}

/// Where a filled block lies on a scratch disk.
#[derive(Clone, Debug)]
pub(crate) struct Spilled {
    pub(crate) dir: usize,
    pub(crate) file: Arc<DirectFile>,
    pub(crate) offset: u64,
    pub(crate) used: usize,
    pub(crate) records: u32,
}

/// A range of the order and the records in it.
#[derive(Default)]
pub(crate) struct Partition {
    pub(crate) resident: Vec<Filled>,
    pub(crate) spilled: Vec<Spilled>,
    pub(crate) bytes: u64,
    pub(crate) records: u64,
    /// Leading bits that all keys share.
    pub(crate) common_bits: usize,
    /// All records are equal: nothing to sort.
    pub(crate) constant: bool,
    spilling: bool,
}

/// Empty partitions for the ranges between the bounds of `splitters`.
pub(crate) fn empty_partitions(splitters: &Splitters, job: &Job) -> Vec<Partition> {
    let with_rest = matches!(job.intermediate, Format::Fixed { .. });
    (0..splitters.partitions())
        .map(|partition| Partition {
            common_bits: splitters.common_bits(partition, with_rest),
            constant: splitters.is_constant(partition),
            ..Partition::default()
        })
        .collect()
}

/// A block on its way to a scratch disk.
pub(crate) struct Spill {
    pub(crate) partition: usize,
    pub(crate) filled: Filled,
}

/// All partitions, and the memory their blocks come from.
pub(crate) struct Store {
    pub(crate) pool: Pool,
    partitions: Mutex<Vec<Partition>>,
    /// One queue for each scratch directory.
    pub(crate) spills: Vec<ByteQueue<Spill>>,
    next_dir: AtomicUsize,
    /// Blocks given to the spill queues and not yet written.
    pending: AtomicUsize,
    /// Free blocks below this are a shortage.
    reserve: usize,
    pub(crate) spilled_bytes: AtomicU64,
}

impl Store {
    /// A store over `pool` that spills to `scratch_dirs` directories; `producers` workers fill it.
    pub(crate) fn new(pool: Pool, scratch_dirs: usize, queue_depth: usize) -> Self {
        Self {
            pool,
            partitions: Mutex::default(),
            spills: (0..scratch_dirs).map(|_| ByteQueue::new(usize::MAX, 0)).collect(),
            next_dir: AtomicUsize::new(0),
            pending: AtomicUsize::new(0),
            reserve: scratch_dirs * queue_depth,
            spilled_bytes: AtomicU64::new(0),
        }
    }

    /// Adds empty partitions and returns the number of the first.
    pub(crate) fn extend(&self, partitions: impl IntoIterator<Item = Partition>) -> usize {
        let mut all = lock(&self.partitions);
        let first = all.len();
        all.extend(partitions);
        first
    }

    /// Takes a partition out; later use of its number finds it empty.
    pub(crate) fn take(&self, partition: usize) -> Partition {
        std::mem::take(&mut lock(&self.partitions)[partition])
    }

    /// Looks at a partition.
    pub(crate) fn with<T>(&self, partition: usize, look: impl FnOnce(&Partition) -> T) -> T {
        look(&lock(&self.partitions)[partition])
    }

    /// A free block, spilling partitions if there is a shortage; `None` if the sort is abandoned.
    pub(crate) fn block(&self, meter: &mut Meter) -> Option<Block> {
        loop {
            let heard = self.pool.told();
            if let Some(block) = self.pool.take_leaving(self.reserve) {
                return Some(block);
            }
            // Spill only as much as the writers can take soon: what stays is I/O saved.
            if self.pending.load(Ordering::Relaxed) < self.reserve {
                meter.blocked += self.spill_last_resident()?;
            }
            // Who waits counts on blocks that are being written, and another worker may take those,
            // put its records into them and end: then it is time to spill again.
            match self.pool.take_or_hear(heard, &mut meter.memory) {
                Taken::Block(block) => return Some(block),
                Taken::Told => {}
                Taken::Closed => return None,
            }
        }
    }

    /// Adds a block to a partition, or sends it to a scratch disk if the partition is being spilled.
    pub(crate) fn add(&self, partition: usize, filled: Filled, meter: &mut Meter) -> Option<()> {
        let mut all = lock(&self.partitions);
        let this = &mut all[partition];
        this.bytes += filled.used as u64;
        this.records += u64::from(filled.records);
        if this.spilling {
            drop(all);
            meter.blocked += self.send(Spill { partition, filled })?;
        } else {
            this.resident.push(filled);
        }
        Some(())
    }

    /// Adds the last, part-filled blocks of a worker that ends: they always stay in memory. Who waits
    /// for a block may spill them.
    pub(crate) fn add_last(&self, blocks: impl IntoIterator<Item = (usize, Filled)>) {
        let mut all = lock(&self.partitions);
        for (partition, filled) in blocks {
            let this = &mut all[partition];
            this.bytes += filled.used as u64;
            this.records += u64::from(filled.records);
            this.resident.push(filled);
        }
        drop(all);
        self.pool.tell();
    }

    /// A scratch disk has written a block.
    pub(crate) fn written(&self, partition: usize, spilled: Spilled) {
        self.spilled_bytes.fetch_add(spilled.used as u64, Ordering::Relaxed);
        lock(&self.partitions)[partition].spilled.push(spilled);
        self.pending.fetch_sub(1, Ordering::Relaxed);
    }

    /// Spills what the last partition has in memory: one that was never spilled if there is one,
    /// else the part-filled blocks of one that was.
    fn spill_last_resident(&self) -> Option<Duration> {
        let mut all = lock(&self.partitions);
        let whole = all.iter().rposition(|p| !p.spilling && !p.resident.is_empty());
        let victim = whole.or_else(|| all.iter().rposition(|p| !p.resident.is_empty()));
        let Some(victim) = victim else {
            return Some(Duration::ZERO);
        };
        all[victim].spilling = true;
        let resident = std::mem::take(&mut all[victim].resident);
        drop(all);
        self.spill(victim, resident)
    }

    /// Sends blocks that are counted in `partition` to the scratch disks.
    pub(crate) fn spill(&self, partition: usize, resident: Vec<Filled>) -> Option<Duration> {
        let mut blocked = Duration::ZERO;
        for filled in resident {
            blocked += self.send(Spill { partition, filled })?;
        }
        Some(blocked)
    }

    /// Spills until part-filled blocks of spilled partitions take at most half of the memory: the
    /// other half is enough to bring any partition back.
    pub(crate) fn trim(&self) -> Option<()> {
        let excess = |all: &[Partition]| {
            let tails = all.iter().filter(|p| p.spilling).map(|p| p.resident.len()).sum::<usize>();
            tails > self.pool.blocks() / 2
        };
        loop {
            let mut all = lock(&self.partitions);
            if !excess(&all) {
                return Some(());
            }
            let victim = all.iter().rposition(|p| p.spilling && !p.resident.is_empty())?;
            let resident = std::mem::take(&mut all[victim].resident);
            drop(all);
            self.spill(victim, resident)?;
        }
    }

    /// Whether blocks are still on their way to the scratch disks.
    pub(crate) fn is_spilling(&self) -> bool {
        self.pending.load(Ordering::Relaxed) > 0
    }

    fn send(&self, spill: Spill) -> Option<Duration> {
        self.pending.fetch_add(1, Ordering::Relaxed);
        let dir = self.next_dir.fetch_add(1, Ordering::Relaxed) % self.spills.len();
        let bytes = spill.filled.used;
        self.spills[dir].push(spill, bytes)
    }

    /// Wakes all waiting threads: the sort is being abandoned.
    pub(crate) fn abort(&self) {
        self.pool.close();
        self.spills.iter().for_each(ByteQueue::abort);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

    use std::sync::mpsc;
    use std::thread;
    use std::time::Duration;

    use super::*;

    /// Two workers have all the memory: one waits for a block while nothing can be spilled, the
    /// other ends. What that leaves behind must be spilled, or the first waits for ever.
    #[test]
    fn who_waits_for_a_block_spills_what_a_worker_that_ends_leaves_behind() {
        let store = Store::new(Pool::new(2, rawio::ALIGN).unwrap(), 1, 1);
        store.extend([Partition::default()]);
        store.spills[0].reopen();
        let open = [store.pool.try_take().unwrap(), store.pool.try_take().unwrap()];
        let (sender, received) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let mut idle = Duration::ZERO;
                while let Some(Spill { filled, .. }) = store.spills[0].pop(&mut idle) {
                    store.pending.fetch_sub(1, Ordering::Relaxed);
                    drop(filled);
                }
            });
            let (store, sender) = (&store, sender);
            scope.spawn(move || sender.send(store.block(&mut Meter::start()).is_some()));
            while store.pool.level().waiting == 0 {
                thread::yield_now();
            }
            store.add_last(open.map(|block| (0, Filled { block, used: 1, records: 1 })));
            let got = received.recv_timeout(Duration::from_secs(20));
            store.abort();
            assert_eq!(got, Ok(true));
        });
    }
}
