//! The threads of the first phase, from the input to partitions.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use rawio::{Backend, Pool};

use crate::checksum::RecordSum;
use crate::error::SortError;
use crate::io::disks::Disks;
use crate::io::input::{InputFile, ReadSpec, Reader, by_device};
use crate::io::queue::ByteQueue;
use crate::io::transfers::Transfers;
use crate::phases::distribute::Distribution;
use crate::phases::partition::{Store, empty_partitions};
use crate::phases::splitters::Splitters;
use crate::phases::stage::{Observer, Shared};
use crate::phases::threads::{Stages, Watch, guarded};
use crate::phases::watch::Gauges;
use crate::plan::Plan;
use crate::spec::SortSpec;

/// The work of a feeder with its transfers.
type Feed<'a> = Box<dyn FnOnce(Option<Transfers<'_>>) + Send + 'a>;

/// A thread that brings chunks to a distribution, by transfers if it needs any.
pub(crate) struct Feeder<'a> {
    pub(crate) name: &'static str,
    pub(crate) io: Option<(usize, Backend)>,
    pub(crate) work: Feed<'a>,
}

/// The first phase: from the input to partitions.
pub(crate) struct MapShuffle<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) spec: &'a SortSpec,
    pub(crate) plan: &'a Plan,
    pub(crate) store: &'a Store,
    pub(crate) disks: &'a Disks<'a>,
    pub(crate) observer: &'a dyn Observer,
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
            self.observer.progress("map+shuffle", done, Some(total));
        };
        let feeders = groups.iter().map(|group| {
            let reader = Reader::new(shared, group, &pool, spec, &chunks);
            let work = move |transfers: Option<Transfers<'_>>| {
                let device = group[0].path.parent().unwrap_or(&group[0].path);
                let device = device.display().to_string();
                let Some(mut transfers) = transfers else { return };
                if let Some(method) = guarded(shared, || reader.run(&mut transfers, &device)) {
                    self.disks.note("input", device, method);
                }
            };
            let io = Some((plan.queue_depth, self.spec.backend));
            Feeder { name: "read", io, work: Box::new(work) }
        });
        let gauges = Gauges::default().pool("input buffers", &pool).queue("chunks", &chunks);
        self.distribute(&distribution, tell, abort, gauges, feeders.collect())
    }

    /// Runs workers and spill writers together with the threads that feed them.
    pub(crate) fn distribute(
        &self,
        distribution: &Distribution<'_>,
        tell: impl Fn() + Send + Sync,
        abort: impl Fn() + Send + Sync,
        gauges: Gauges<'_>,
        feeders: Vec<Feeder<'_>>,
    ) -> Result<(), SortError> {
        let (shared, store) = (self.shared, self.store);
        store.spills.iter().for_each(ByteQueue::reopen);
        let gauges = gauges.pool("memory", &store.pool).queues("to scratch", &store.spills);
        thread::scope(|scope| {
            let mut stages = Stages::new(scope, shared);
            let abort = || {
                abort();
                store.abort();
            };
            let watch = Watch::spawn(&mut stages, tell, abort, gauges)?;
            let mut others = Vec::new();
            for scratch in self.disks.scratch {
                let io = self.disks.scratch_io;
                let write = move |mut transfers: Transfers<'_>| {
                    let written = guarded(shared, || scratch.write(shared, store, &mut transfers));
                    if let Some(method) = written.flatten() {
                        let dir = scratch.path().display().to_string();
                        self.disks.note("scratch", dir, format!("{method}+{}", scratch.way()));
                    }
                };
                let transfers = move || Transfers::new(shared, io);
                others.push(stages.spawn_with("write_scratch", transfers, write)?);
            }
            for Feeder { name, io, work } in feeders {
                let transfers = move || io.map(|io| Transfers::new(shared, io)).transpose();
                others.push(stages.spawn_with(name, transfers, work)?);
            }
            let workers = (0..self.spec.threads)
                .map(|_| {
                    let work = || guarded(shared, || distribution.run());
                    stages.spawn("distribute", work)
                })
                .collect::<Result<Vec<_>, _>>()?;
            stages.start()?;
            for worker in workers {
                let _ = worker.join();
            }
            // Refused only when the sort is being abandoned, which is checked below.
            let _ = store.trim();
            store.spills.iter().for_each(ByteQueue::finish);
            for other in others {
                let _ = other.join();
            }
            watch.stop();
            shared.check()
        })
    }
}
