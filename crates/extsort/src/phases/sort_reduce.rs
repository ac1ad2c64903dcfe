//! The threads of the second phase, from partitions to output files.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use rawio::{Operation, Pool, align_up};

use crate::checksum::RecordSum;
use crate::error::SortError;
use crate::io::disks::Disks;
use crate::io::output::{Finished, OutFile, Outputs};
use crate::io::pump::pump;
use crate::io::queue::ByteQueue;
use crate::io::spill::Load;
use crate::io::transfers::Transfers;
use crate::phases::emit::{Emission, Group, OutBlock, Ready, release};
use crate::phases::partition::{Filled, Partition, Spilled, Store};
use crate::phases::stage::{Meter, Observer, Shared, lock};
use crate::phases::threads::{Stages, Watch, guarded};
use crate::phases::watch::Gauges;
use crate::plan::Plan;
use crate::spec::SortSpec;

/// The second phase: from partitions to output files.
pub(crate) struct SortReduce<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) spec: &'a SortSpec,
    pub(crate) plan: &'a Plan,
    pub(crate) store: &'a Store,
    pub(crate) disks: &'a Disks<'a>,
    pub(crate) outputs: &'a Outputs,
    pub(crate) observer: &'a dyn Observer,
    pub(crate) records_taken: &'a AtomicU64,
    pub(crate) checksum: Option<&'a Mutex<RecordSum>>,
}

/// A partition that is being read back.
struct Assembly {
    ready: Mutex<Option<Ready>>,
    missing: AtomicUsize,
}

type Loads = Vec<ByteQueue<Load<Arc<Assembly>>>>;

impl SortReduce<'_> {
    /// Sorts the partitions in `order` and writes them; returns the finished files, not yet named.
    pub(crate) fn run(&self, order: &[usize]) -> Result<Vec<Finished>, SortError> {
        let Self { shared, outputs, .. } = *self;
        shared.phase_bytes.store(0, Ordering::Relaxed);
        let total: u64 = order.iter().map(|&p| self.store.with(p, |p| p.bytes)).sum();
        let pool = self.buffers()?;
        let scratch = self.disks.scratch;
        let ready = ByteQueue::new(usize::MAX, 1 + scratch.len());
        let loads: Loads = scratch.iter().map(|_| ByteQueue::new(usize::MAX, 1)).collect();
        let writers: Vec<ByteQueue<OutBlock>> =
            (0..outputs.dirs()).map(|_| ByteQueue::new(usize::MAX, 1)).collect();
        let finisher = ByteQueue::new(usize::MAX, 1);
        let finished = Mutex::new(Vec::new());
        let emission = Emission {
            shared,
            job: &self.spec.job,
            outputs,
            pool: &pool,
            ready: &ready,
            writers: &writers,
            finisher: &finisher,
            checksum: self.checksum,
            records_taken: self.records_taken,
        };
        let gauges = Gauges::default()
            .pool("memory", &self.store.pool)
            .pool("output buffers", &pool)
            .queues("from scratch", &loads)
            .queue("ready", &ready)
            .queues("to write", &writers)
            .queue("to finish", &finisher);
        let (writers, finisher) = (&writers, &finisher);
        thread::scope(|scope| -> Result<(), SortError> {
            let mut stages = Stages::new(scope, shared);
            let tell = move || self.tell(total);
            let abort = || {
                pool.close();
                self.store.abort();
                ready.abort();
                loads.iter().for_each(ByteQueue::abort);
                writers.iter().for_each(ByteQueue::abort);
                finisher.abort();
            };
            let watch = Watch::spawn(&mut stages, tell, abort, gauges)?;
            let mut others = self.read_back(&mut stages, &loads, &ready)?;
            let sorters = (0..self.spec.threads)
                .map(|_| stages.spawn("sort", || guarded(shared, || emission.run())))
                .collect::<Result<Vec<_>, _>>()?;
            let mut writing = Vec::new();
            for dir in 0..outputs.dirs() {
                let io = self.disks.output_io;
                let write = move |mut transfers: Transfers<'_>| {
                    guarded(shared, || self.write(dir, &mut transfers, writers, finisher))
                };
                let transfers = move || Transfers::new(shared, io);
                writing.push(stages.spawn_with("write", transfers, write)?);
                let finish = || {
                    guarded(shared, || self.finish(finisher, &finished));
                };
                others.push(stages.spawn("finish", finish)?);
            }
            stages.start()?;
            self.load(order, &loads, &ready);
            for sorter in sorters {
                let _ = sorter.join();
            }
            // Output writers pass blocks on to replica writers: those end after them.
            for (dir, thread) in writing.into_iter().enumerate() {
                writers[dir].finish();
                let _ = thread.join();
            }
            finisher.finish();
            for other in others {
                let _ = other.join();
            }
            watch.stop();
            Ok(())
        })?;
        shared.check()?;
        Ok(finished.into_inner().unwrap_or_default())
    }

    fn tell(&self, total: u64) {
        let done = self.shared.phase_bytes.load(Ordering::Relaxed);
        self.observer.progress("sort+reduce", done, Some(total));
    }

    /// Memory for output on its way to the disks.
    fn buffers(&self) -> Result<Pool, SortError> {
        Pool::new(self.plan.output_blocks, self.plan.io_bytes).map_err(|source| SortError::Io {
            action: "allocate",
            path: "memory".into(),
            source,
        })
    }

    /// Threads that read back what was spilled, one for each scratch disk.
    fn read_back<'s>(
        &'s self,
        stages: &mut Stages<'s, '_>,
        loads: &'s Loads,
        ready: &'s ByteQueue<Ready>,
    ) -> Result<Vec<ScopedJoinHandle<'s, Option<()>>>, SortError> {
        let (shared, io) = (self.shared, self.disks.scratch_io);
        let mut threads = Vec::new();
        for scratch in self.disks.scratch {
            let loads = &loads[scratch.dir];
            let read = move |mut transfers: Transfers<'_>| {
                let add = |filled, assembly: Arc<Assembly>| assembly.add(filled, ready);
                guarded(shared, || scratch.read(shared, loads, &mut transfers, "sort+reduce", add));
                ready.finish();
            };
            let transfers = move || Transfers::new(shared, io);
            threads.push(stages.spawn_with("read_scratch", transfers, read)?);
        }
        Ok(threads)
    }

    /// Brings the partitions into memory as it becomes free: those that are there already first,
    /// since only their output makes room for others.
    fn load(&self, order: &[usize], loads: &Loads, ready: &ByteQueue<Ready>) {
        let mut number = 0;
        let partitions = order.iter().map(|&id| (id, self.store.take(id)));
        let (here, away): (Vec<_>, Vec<_>) = partitions
            .filter(|(_, partition)| partition.records > 0)
            .flat_map(|(id, partition)| self.parts(id, partition, &mut number))
            .partition(|(_, spilled)| spilled.is_empty());
        for (part, _) in here {
            ready.push(part, 0);
        }
        'parts: for (part, mut spilled) in away {
            spilled.sort_unstable_by_key(|s| (s.offset, s.dir));
            let missing = AtomicUsize::new(spilled.len());
            let assembly = Arc::new(Assembly { ready: Mutex::new(Some(part)), missing });
            for spilled in spilled {
                let Some((block, _)) = self.store.pool.take() else {
                    break 'parts;
                };
                let token = Arc::clone(&assembly);
                loads[spilled.dir].push(Load { spilled, block, token }, 0);
            }
        }
        loads.iter().for_each(ByteQueue::finish);
        ready.finish();
    }

    /// A partition as parts that fit in memory: one, unless all its records are equal.
    fn parts(
        &self,
        id: usize,
        partition: Partition,
        number: &mut usize,
    ) -> Vec<(Ready, Vec<Spilled>)> {
        let limit = self.plan.max_partition_bytes;
        let Partition { resident, spilled, common_bits, constant, bytes, .. } = partition;
        let mut pieces: Vec<(Vec<Filled>, Vec<Spilled>)> = vec![(Vec::new(), Vec::new())];
        let mut room = if constant && bytes > limit { limit } else { u64::MAX };
        let mut piece = |used: usize, pieces: &mut Vec<_>| {
            if used as u64 > room {
                pieces.push((Vec::new(), Vec::new()));
                room = limit;
            }
            room -= used as u64;
            pieces.len() - 1
        };
        for filled in resident {
            let at = piece(filled.used, &mut pieces);
            pieces[at].0.push(filled);
        }
        for spilled in spilled {
            let at = piece(spilled.used, &mut pieces);
            pieces[at].1.push(spilled);
        }
        // A partition's scratch file is free for its output when all of it has been read.
        let mut files: Vec<_> = self.disks.scratch.iter().filter_map(|s| s.take(id)).collect();
        files.retain(|(dir, _)| pieces.len() == 1 && *dir == self.outputs.dir_of(*number));
        let left = AtomicUsize::new(pieces.len());
        let group = (pieces.len() > 1 && self.spec.job.reducer.is_some())
            .then(|| Arc::new(Group { reducer: Mutex::new(None), left }));
        pieces
            .into_iter()
            .map(|(chunks, spilled)| {
                let ready = Ready {
                    number: std::mem::replace(number, *number + 1),
                    chunks,
                    common_bits,
                    constant,
                    file: files.pop().map(|(_, file)| file),
                    group: group.clone(),
                };
                (ready, spilled)
            })
            .collect()
    }

    /// Writes the blocks of one directory; those with a replica go on to its writer.
    fn write(
        &self,
        dir: usize,
        transfers: &mut Transfers<'_>,
        writers: &[ByteQueue<OutBlock>],
        finisher: &ByteQueue<Arc<OutFile>>,
    ) -> Result<(), SortError> {
        let (shared, outputs) = (self.shared, self.outputs);
        let mut meter = Meter::start();
        let direct = AtomicBool::new(true);
        let method = pump(
            shared,
            &writers[dir],
            transfers,
            &mut meter,
            |OutBlock { file, offset, block, used }| {
                let write = rawio::Request {
                    operation: Operation::Write,
                    file: Arc::clone(&file.direct),
                    offset,
                    block,
                    range: 0..align_up(used),
                    tag: 0,
                };
                direct.fetch_and(file.direct.is_direct(), Ordering::Relaxed);
                Ok((write, (file, used)))
            },
            |request, (file, used), result| {
                result.map_err(|e| SortError::write("write", outputs.path(dir), e))?;
                shared.bytes_written.fetch_add(used as u64, Ordering::Relaxed);
                if let Some(replica) = &file.replica {
                    let block = request.block;
                    let copy =
                        OutBlock { file: Arc::clone(replica), offset: request.offset, block, used };
                    writers[replica.dir].push(copy, used);
                } else {
                    shared.phase_bytes.fetch_add(used as u64, Ordering::Relaxed);
                }
                // Refused only when the sort is being abandoned.
                let _ = release(file, finisher);
                Ok(())
            },
        )?;
        let stage = outputs.stage(dir);
        shared.report("sort+reduce", stage, outputs.path(dir).to_str(), &meter);
        let direct = if direct.into_inner() { "direct" } else { "buffered" };
        let role = if stage == "write_output" { "output" } else { "replica" };
        self.disks.note(
            role,
            outputs.path(dir).display().to_string(),
            format!("{method}+{direct}"),
        );
        Ok(())
    }

    /// Makes files durable.
    fn finish(
        &self,
        finisher: &ByteQueue<Arc<OutFile>>,
        finished: &Mutex<Vec<Finished>>,
    ) -> Result<(), SortError> {
        while let Some(file) = finisher.pop(&mut Duration::default()) {
            let dir = self.outputs.path(file.dir);
            let finish = || file.finish();
            let done = self
                .shared
                .in_kernel(finish)
                .map_err(|e| SortError::write("make durable files in", dir, e))?;
            lock(finished).push(done);
        }
        Ok(())
    }
}

impl Assembly {
    /// Adds a block that was read back; the last one makes the partition ready.
    fn add(&self, filled: Filled, ready: &ByteQueue<Ready>) {
        let mut slot = lock(&self.ready);
        if let Some(part) = slot.as_mut() {
            part.chunks.push(filled);
        }
        if self.missing.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(part) = slot.take()
        {
            ready.push(part, 0);
        }
    }
}
