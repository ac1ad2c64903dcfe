//! The threads of the first phase, from the input to partitions.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rawio::Pool;

use crate::checksum::RecordSum;
use crate::disks::Disks;
use crate::distribute::Distribution;
use crate::error::SortError;
use crate::input::{InputFile, ReadSpec, Reader, by_device};
use crate::partition::{Store, empty_partitions};
use crate::plan::Plan;
use crate::queue::ByteQueue;
use crate::spec::SortSpec;
use crate::splitters::Splitters;
use crate::stage::{Progress, Shared};
use crate::threads::{Watch, guarded};

/// A thread that brings chunks to a distribution.
pub(crate) type Feeder<'a> = Box<dyn FnOnce() + Send + 'a>;

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
