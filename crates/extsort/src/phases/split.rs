//! Splits partitions that turned out too large to be sorted in memory.
//!
//! Such a partition is distributed again, over ranges sampled from itself: only its own bytes are
//! read and written again. A value that fills a partition alone gets its own partition of equal
//! records, which needs no sorting, so splitting always makes progress.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use rawio::{Block, Operation, Pool, align_up};

use crate::error::SortError;
use crate::io::input::Chunk;
use crate::io::queue::ByteQueue;
use crate::io::spill::{Load, request};
use crate::io::transfers::Transfers;
use crate::phases::distribute::Distribution;
use crate::phases::map_shuffle::{Feeder, MapShuffle};
use crate::phases::partition::{Filled, Partition, Spilled, empty_partitions};
use crate::phases::splitters::{Sample, Splitters};
use crate::phases::threads::{guarded, watched};
use crate::phases::watch::Gauges;

/// Splits partitions that are too large to be sorted in memory until none is left, keeping `order`
/// the order of their keys. Returns how many were split.
pub(crate) fn split_oversized(
    phase: &MapShuffle<'_>,
    order: &mut Vec<usize>,
) -> Result<usize, SortError> {
    let mut split = 0;
    let mut at = 0;
    while at < order.len() {
        let oversized = phase.store.with(order[at], |partition| {
            !partition.constant && partition.bytes > phase.plan.max_partition_bytes
        });
        if oversized {
            let partition = phase.store.take(order[at]);
            phase.give_up_files(order[at]);
            let (first, count) = phase.split(partition)?;
            order.splice(at..=at, first..first + count);
            split += 1;
        } else {
            at += 1;
        }
    }
    Ok(split)
}

impl MapShuffle<'_> {
    /// The scratch files of a partition end with the last of its blocks that is read back.
    fn give_up_files(&self, partition: usize) {
        self.disks.scratch.iter().for_each(|scratch| drop(scratch.take(partition)));
    }

    /// Distributes the records of one partition again; returns the number of its first new
    /// partition, and how many there are.
    fn split(&self, partition: Partition) -> Result<(usize, usize), SortError> {
        let plan = self.plan;
        let wanted = partition.bytes.div_ceil(plan.max_partition_bytes * 2 / 3) as usize;
        let samples = watched(self.shared, "sample", || self.sample(&partition))?;
        let wanted = wanted.clamp(2, plan.partitions.max(2));
        let splitters = Splitters::from_samples(self.spec.job.order, samples, wanted);
        let first = self.store.extend(empty_partitions(&splitters, &self.spec.job));
        let disks = self.disks.scratch.len();
        let chunks = ByteQueue::new(plan.read_blocks * plan.io_bytes, 1 + disks);
        let loads: Vec<ByteQueue<Load<()>>> =
            (0..disks).map(|_| ByteQueue::new(usize::MAX, 1)).collect();
        let uncounted = AtomicU64::new(0);
        let distribution = Distribution {
            shared: self.shared,
            job: &self.spec.job,
            splitters: &splitters,
            store: self.store,
            first,
            input: &chunks,
            map: false,
            checksum: None,
            records_in: &uncounted,
            records_passed: &uncounted,
        };
        // In place of the buffers that the input was read into.
        let buffer_bytes = plan.read_blocks * (plan.io_bytes + plan.headroom_bytes);
        let buffers = self.buffers((buffer_bytes / plan.block_bytes).max(2))?;
        let abort = || {
            buffers.close();
            chunks.abort();
            loads.iter().for_each(ByteQueue::abort);
        };
        let feeders = self.bring_back(partition, &buffers, &loads, &chunks);
        let gauges = Gauges::default()
            .pool("buffers", &buffers)
            .queue("chunks", &chunks)
            .queues("from scratch", &loads);
        self.distribute(&distribution, || (), abort, gauges, feeders)?;
        Ok((first, splitters.partitions()))
    }

    /// Threads that pass on the blocks of a partition in memory and on the scratch disks.
    fn bring_back<'f>(
        &'f self,
        partition: Partition,
        buffers: &'f Pool,
        loads: &'f [ByteQueue<Load<()>>],
        chunks: &'f ByteQueue<Chunk>,
    ) -> Vec<Feeder<'f>> {
        let path = Arc::new(PathBuf::from("scratch"));
        let pass_on = move |filled: Filled| {
            let Filled { block, used: end, .. } = filled;
            let chunk = Chunk { block, start: 0, end, path: Arc::clone(&path), offset: 0 };
            // Refused only when the sort is being abandoned; the block is free again then.
            let _ = chunks.push(chunk, end);
        };
        let mut feeders: Vec<Feeder<'f>> = Vec::new();
        for scratch in self.disks.scratch {
            let pass_on = pass_on.clone();
            let read = move |transfers: Option<Transfers<'_>>| {
                if let Some(mut transfers) = transfers {
                    guarded(self.shared, || {
                        let loads = &loads[scratch.dir];
                        let pass_on = |filled, ()| pass_on(filled);
                        scratch.read(self.shared, loads, &mut transfers, "map+shuffle", pass_on)
                    });
                }
                chunks.finish();
            };
            let io = Some(self.disks.scratch_io);
            feeders.push(Feeder { name: "read_scratch", io, work: Box::new(read) });
        }
        let bring = move |_: Option<Transfers<'_>>| {
            let Partition { mut resident, mut spilled, .. } = partition;
            // Blocks on their way to the workers cannot be spilled, and the workers need free ones.
            if resident.len() > self.store.pool.blocks() / 4 {
                spilled.extend(self.spill_first(std::mem::take(&mut resident)));
            }
            resident.into_iter().for_each(pass_on);
            chunks.finish();
            for spilled in spilled {
                let Some((block, _)) = buffers.take() else {
                    break;
                };
                if loads[spilled.dir].push(Load { spilled, block, token: () }, 0).is_none() {
                    break;
                }
            }
            loads.iter().for_each(ByteQueue::finish);
        };
        feeders.push(Feeder { name: "bring_back", io: None, work: Box::new(bring) });
        feeders
    }

    /// Writes blocks to the scratch disks and waits until they are written.
    fn spill_first(&self, resident: Vec<Filled>) -> Vec<Spilled> {
        let passing = self.store.extend([Partition::default()]);
        let _ = self.store.spill(passing, resident);
        while self.store.is_spilling() && !self.shared.is_failed() {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.give_up_files(passing);
        self.store.take(passing).spilled
    }

    /// Records from all over a partition.
    fn sample(&self, partition: &Partition) -> Result<Vec<Sample>, SortError> {
        const CHUNKS: usize = 64;
        const PER_CHUNK: usize = 64;
        let format = self.spec.job.intermediate;
        let mut samples = Vec::new();
        // Bounded in bytes too: records may be long.
        let share = (self.spec.memory_bytes as usize / 16).clamp(1 << 16, 16 << 20) / CHUNKS;
        let mut take = |filled: &Filled| {
            let step = (filled.records as usize / PER_CHUNK).max(filled.used / share).max(1);
            samples.extend(format.records(filled.bytes()).step_by(step).map(|record| {
                let (key, rest) = format.split(record);
                (key.to_vec(), rest.to_vec())
            }));
        };
        let every = |count: usize| (count / CHUNKS).max(1);
        partition.resident.iter().step_by(every(partition.resident.len())).for_each(&mut take);
        let buffer = self.buffers(1)?;
        let mut transfers = Transfers::new(self.shared, (1, self.spec.backend))?;
        for spilled in partition.spilled.iter().step_by(every(partition.spilled.len())) {
            let Some(block) = buffer.try_take() else {
                break;
            };
            take(&self.read_now(&mut transfers, spilled, block)?);
        }
        self.shared.check()?;
        Ok(samples)
    }

    fn buffers(&self, blocks: usize) -> Result<Pool, SortError> {
        Pool::new(blocks, self.plan.block_bytes).map_err(|source| SortError::Io {
            action: "allocate",
            path: "memory".into(),
            source,
        })
    }

    fn read_now(
        &self,
        transfers: &mut Transfers<'_>,
        spilled: &Spilled,
        block: Block,
    ) -> Result<Filled, SortError> {
        let scratch = &self.disks.scratch[spilled.dir];
        let fail = |source| SortError::Io {
            action: "read scratch in",
            path: scratch.path().to_owned(),
            source,
        };
        let length = align_up(spilled.used);
        let read = request(Operation::Read, &spilled.file, spilled.offset, block, length);
        transfers.submit(read).map_err(fail)?;
        let done = transfers
            .wait()
            .map_err(fail)?
            .ok_or(std::io::ErrorKind::UnexpectedEof.into())
            .map_err(fail)?;
        done.result.map_err(fail)?;
        Ok(Filled { block: done.request.block, used: spilled.used, records: spilled.records })
    }
}
