//! The threads of each phase.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Scope};
use std::time::Duration;

use rawio::{Backend, Operation, Pool, align_up};

use crate::checksum::RecordSum;
use crate::distribute::Distribution;
use crate::emit::{Emission, Group, OutBlock, Ready, release};
use crate::error::SortError;
use crate::input::{InputFile, ReadSpec, Reader, by_device};
use crate::output::{Finished, OutFile, Outputs};
use crate::partition::{Filled, Partition, Spilled, Store, empty_partitions};
use crate::plan::Plan;
use crate::pump::pump;
use crate::queue::ByteQueue;
use crate::report::IoReport;
use crate::spec::SortSpec;
use crate::spill::{Load, Scratch};
use crate::splitters::Splitters;
use crate::stage::{Meter, Progress, Shared, lock};

/// The scratch disks and how all disks are accessed.
pub(crate) struct Disks<'a> {
    pub(crate) scratch: &'a [Scratch],
    pub(crate) scratch_io: (usize, Backend),
    output_io: (usize, Backend),
    reports: Mutex<Vec<IoReport>>,
}

impl<'a> Disks<'a> {
    pub(crate) fn new(scratch: &'a [Scratch], plan: &Plan, backend: Backend) -> Self {
        Self {
            scratch,
            scratch_io: (plan.scratch_depth, backend),
            output_io: (plan.queue_depth, backend),
            reports: Mutex::default(),
        }
    }

    fn note(&self, role: &'static str, dir: String, method: String) {
        let report = IoReport { role, dir, method };
        let mut reports = lock(&self.reports);
        if !reports.contains(&report) {
            reports.push(report);
        }
    }

    pub(crate) fn into_report(self) -> Vec<IoReport> {
        self.reports.into_inner().unwrap_or_default()
    }
}

/// Runs `work`; its error, or a panic in it, fails the sort.
pub(crate) fn guarded<T>(
    shared: &Shared<'_>,
    work: impl FnOnce() -> Result<T, SortError>,
) -> Option<T> {
    let result = std::panic::catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        Err(SortError::Panic(text.unwrap_or("no message").to_owned()))
    });
    result.map_err(|error| shared.fail(error)).ok()
}

/// A thread that brings chunks to a distribution.
pub(crate) type Feeder<'a> = Box<dyn FnOnce() + Send + 'a>;

/// Watches a phase: wakes everybody when the sort has failed or was cancelled, and tells progress.
struct Watch<'s> {
    done: Arc<AtomicBool>,
    thread: thread::ScopedJoinHandle<'s, ()>,
}

impl<'s> Watch<'s> {
    fn start(
        scope: &'s Scope<'s, '_>,
        shared: &'s Shared<'_>,
        tell: impl Fn() + Send + 's,
        abort: impl Fn() + Send + 's,
    ) -> Self {
        let done = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&done);
        let thread = scope.spawn(move || {
            while !seen.load(Ordering::Acquire) && !shared.is_failed() {
                tell();
                thread::park_timeout(Duration::from_millis(20));
            }
            // Looked at once more after the end: others may still wait for one who failed.
            if shared.is_failed() {
                abort();
            }
        });
        Self { done, thread }
    }

    fn stop(self) {
        self.done.store(true, Ordering::Release);
        self.thread.thread().unpark();
        let _ = self.thread.join();
    }
}

/// The first phase: from the input to partitions.
pub(crate) struct MapShuffle<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) spec: &'a SortSpec,
    pub(crate) plan: &'a Plan,
    pub(crate) store: &'a Store,
    pub(crate) disks: &'a Disks<'a>,
    pub(crate) progress: Progress<'a>,
    pub(crate) records_in: &'a AtomicU64,
    pub(crate) records_passed: &'a AtomicU64,
    pub(crate) checksum: Option<&'a Mutex<RecordSum>>,
}

impl MapShuffle<'_> {
    /// Reads `files` and distributes their records.
    pub(crate) fn run(&self, files: &[InputFile], splitters: &Splitters) -> Result<(), SortError> {
        let (shared, plan) = (self.shared, self.plan);
        let total: u64 = files.iter().map(|file| file.bytes).sum();
        let pool =
            Pool::new(plan.read_blocks, plan.io_bytes + plan.headroom_bytes).map_err(|source| {
                SortError::Io { action: "allocate", path: "memory".into(), source }
            })?;
        let groups = by_device(files);
        let chunks = ByteQueue::new(plan.read_blocks * plan.io_bytes, groups.len());
        let spec = ReadSpec {
            format: self.spec.job.input,
            max_record: self.spec.max_record(),
            headroom: plan.headroom_bytes,
            io_bytes: plan.io_bytes,
            depth: plan.queue_depth,
            backend: self.spec.backend,
            direct: self.spec.direct,
        };
        let first = self.store.extend(empty_partitions(splitters, &self.spec.job));
        let distribution = Distribution {
            shared,
            job: &self.spec.job,
            splitters,
            store: self.store,
            first,
            input: &chunks,
            map: true,
            checksum: self.checksum,
            records_in: self.records_in,
            records_passed: self.records_passed,
        };
        let abort = || {
            pool.close();
            chunks.abort();
        };
        let tell = || {
            let done = shared.phase_bytes.load(Ordering::Relaxed);
            (self.progress)("map+shuffle", done, Some(total));
        };
        let feeders = groups.iter().map(|group| -> Feeder<'_> {
            let reader = Reader::new(shared, group, &pool, spec, &chunks);
            Box::new(move || {
                let device = group[0].path.parent().unwrap_or(&group[0].path);
                let device = device.display().to_string();
                if let Some(method) = guarded(shared, || reader.run(&device)) {
                    self.disks.note("input", device, method);
                }
            })
        });
        self.distribute(&distribution, tell, abort, feeders.collect())
    }

    /// Runs workers and spill writers beside the threads that feed them.
    pub(crate) fn distribute(
        &self,
        distribution: &Distribution<'_>,
        tell: impl Fn() + Send + Sync,
        abort: impl Fn() + Send + Sync,
        feeders: Vec<Feeder<'_>>,
    ) -> Result<(), SortError> {
        let (shared, store) = (self.shared, self.store);
        store.spills.iter().for_each(ByteQueue::reopen);
        thread::scope(|scope| {
            let watch = Watch::start(scope, shared, &tell, || {
                abort();
                store.abort();
            });
            for scratch in self.disks.scratch {
                scope.spawn(move || {
                    let io = self.disks.scratch_io;
                    let method = guarded(shared, || scratch.write(shared, store, io)).flatten();
                    if let Some(method) = method {
                        let dir = scratch.path().display().to_string();
                        self.disks.note("scratch", dir, format!("{method}+{}", scratch.way()));
                    }
                });
            }
            for feeder in feeders {
                scope.spawn(feeder);
            }
            let workers: Vec<_> = (0..self.spec.threads)
                .map(|_| scope.spawn(|| guarded(shared, || distribution.run())))
                .collect();
            for worker in workers {
                let _ = worker.join();
            }
            // Refused only when the sort is being abandoned, which is checked below.
            let _ = store.trim();
            store.spills.iter().for_each(ByteQueue::finish);
            watch.stop();
        });
        shared.check()
    }
}

/// The second phase: from partitions to output files.
pub(crate) struct SortReduce<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) spec: &'a SortSpec,
    pub(crate) plan: &'a Plan,
    pub(crate) store: &'a Store,
    pub(crate) disks: &'a Disks<'a>,
    pub(crate) outputs: &'a Outputs,
    pub(crate) progress: Progress<'a>,
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
        let (shared, plan, outputs) = (self.shared, self.plan, self.outputs);
        shared.phase_bytes.store(0, Ordering::Relaxed);
        let total: u64 = order.iter().map(|&p| self.store.with(p, |p| p.bytes)).sum();
        let pool = Pool::new(plan.output_blocks, plan.io_bytes).map_err(|source| {
            SortError::Io { action: "allocate", path: "memory".into(), source }
        })?;
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
        thread::scope(|scope| {
            let done = || shared.phase_bytes.load(Ordering::Relaxed);
            let tell = move || (self.progress)("sort+reduce", done(), Some(total));
            let watch = Watch::start(scope, shared, tell, || {
                pool.close();
                self.store.abort();
                ready.abort();
                loads.iter().for_each(ByteQueue::abort);
                writers.iter().for_each(ByteQueue::abort);
                finisher.abort();
            });
            for scratch in scratch {
                let (loads, ready) = (&loads[scratch.dir], &ready);
                scope.spawn(move || {
                    guarded(shared, || {
                        scratch.read(
                            shared,
                            loads,
                            self.disks.scratch_io,
                            "sort+reduce",
                            |filled, assembly| {
                                assembly.add(filled, ready);
                            },
                        )
                    });
                    ready.finish();
                });
            }
            let sorters: Vec<_> = (0..self.spec.threads)
                .map(|_| scope.spawn(|| guarded(shared, || emission.run())))
                .collect();
            let (writers, finisher) = (&writers, &finisher);
            let threads: Vec<_> = (0..outputs.dirs())
                .map(|dir| {
                    scope.spawn(move || guarded(shared, || self.write(dir, writers, finisher)))
                })
                .collect();
            for _ in 0..outputs.dirs() {
                scope.spawn(|| guarded(shared, || self.finish(finisher, &finished)));
            }
            self.load(order, &loads, &ready);
            for sorter in sorters {
                let _ = sorter.join();
            }
            // Output writers pass blocks on to replica writers: those end after them.
            for (dir, thread) in threads.into_iter().enumerate() {
                writers[dir].finish();
                let _ = thread.join();
            }
            finisher.finish();
            watch.stop();
        });
        shared.check()?;
        Ok(finished.into_inner().unwrap_or_default())
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
        writers: &[ByteQueue<OutBlock>],
        finisher: &ByteQueue<Arc<OutFile>>,
    ) -> Result<(), SortError> {
        let (shared, outputs) = (self.shared, self.outputs);
        let mut meter = Meter::start();
        let direct = AtomicBool::new(true);
        let method = pump(
            shared,
            &writers[dir],
            self.disks.output_io,
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
            let done =
                file.finish().map_err(|e| SortError::write("make durable files in", dir, e))?;
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
