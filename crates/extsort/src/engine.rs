//! One sort from start to end: the stages are wired together here and nowhere else.
//!
//! ```text
//!  sample     map+shuffle                                     sort+reduce
//!  ------     -----------                                     -----------
//!  input --> read --> distribute --+--> memory -----------------+--> sort --> reduce --> write_output
//!            (disk)   (threads)    |                            |  (threads)      |
//!                                  +--> write_partitions        |                 +--> write_replica
//!                                       (scratch disk) --> read_partition
//! ```

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use rawio::Pool;

use crate::checksum::RecordSum;
use crate::error::SortError;
use crate::io::disks::Disks;
use crate::io::input::{InputFile, check_unchanged};
use crate::io::output::Outputs;
use crate::io::publish::{Publication, Summary};
use crate::io::spill::Scratch;
use crate::io::stamp::Rigour;
use crate::phases::map_shuffle::MapShuffle;
use crate::phases::partition::Store;
use crate::phases::sample::sample;
use crate::phases::sort_reduce::SortReduce;
use crate::phases::split::split_oversized;
use crate::phases::splitters::Splitters;
use crate::phases::stage::{Meter, Observer, Shared, lock};
use crate::phases::threads::watched;
use crate::plan::{Plan, plan};
use crate::report::{
    ChecksumReport, IoReport, MemoryReport, PhaseReport, Published, SortReport, Volume,
};
use crate::spec::SortSpec;
use crate::usage::{CpuTime, cpu_time, peak_rss_bytes};

/// Everything that is decided before the first record is read.
struct Prepared {
    files: Vec<InputFile>,
    input_bytes: u64,
    plan: Plan,
    outputs: Outputs,
    scratch: Vec<Scratch>,
    store: Store,
}

impl Prepared {
    fn new(spec: &SortSpec) -> Result<Self, SortError> {
        spec.check()?;
        let files = spec.find_input()?;
        let plan_input = spec.plan_input(&files);
        let plan = plan(&plan_input)?;
        let outputs =
            Outputs::claim(&spec.outputs, &spec.replicas, &files, spec.overwrite, spec.direct)?;
        spec.check_space(&plan, plan_input.input_bytes)?;
        let partition_bytes = plan_input.input_bytes / plan.partitions as u64;
        let scratch = (0..spec.scratch.len())
            .map(|dir| Scratch::create(spec, dir, partition_bytes))
            .collect::<Result<Vec<_>, _>>()?;
        let pool = Pool::new(plan.blocks, plan.block_bytes).map_err(|source| SortError::Io {
            action: "allocate",
            path: "memory".into(),
            source,
        })?;
        let store = Store::new(pool, scratch.len(), plan.scratch_depth);
        Ok(Self { files, input_bytes: plan_input.input_bytes, plan, outputs, scratch, store })
    }
}

/// Counts and sums that must agree at the end.
#[derive(Default)]
struct Ledger {
    records_in: AtomicU64,
    /// Records (of a mapped job: pairs) that went to partitions.
    records_passed: AtomicU64,
    /// Records taken from partitions.
    records_taken: AtomicU64,
    sum_in: Mutex<RecordSum>,
    sum_out: Mutex<RecordSum>,
}

impl Ledger {
    /// Refuses to publish if a record was lost, made up, or (if checksums were taken) changed.
    fn settle(&self, spec: &SortSpec, records_written: u64) -> Result<Option<String>, SortError> {
        let records_in = self.records_passed.load(Ordering::Relaxed);
        let taken = self.records_taken.load(Ordering::Relaxed);
        let records_out = if spec.job.reducer.is_some() { taken } else { records_written };
        if records_in != taken || records_in != records_out {
            return Err(SortError::Count { records_in, records_out });
        }
        if !spec.verify {
            return Ok(None);
        }
        let (before, after) = (lock(&self.sum_in).to_string(), lock(&self.sum_out).to_string());
        if before != after {
            return Err(SortError::Checksum { checksum_in: before, checksum_out: after });
        }
        Ok(Some(before))
    }
}

/// Sorts. On any error nothing is published and everything temporary is removed; the input is never
/// modified. Setting `cancel` makes it return [`SortError::Interrupted`] soon.
pub fn sort(
    spec: &SortSpec,
    cancel: &AtomicBool,
    observer: &dyn Observer,
) -> Result<SortReport, SortError> {
    let (origin, cpu_before) = (Instant::now(), cpu_time());
    let prepared = Prepared::new(spec)?;
    let Prepared { files, plan, outputs, scratch, store, .. } = &prepared;
    let last_resort = |error: &SortError| {
        outputs.remove_temporary();
        observer.stuck(error);
    };
    let shared = Shared::new(origin, cancel, spec.patience, &last_resort);
    let ledger = Ledger::default();
    let disks = Disks::new(scratch, plan, spec.backend);
    let mut phases = Vec::new();
    let mut timed = |name, started_s: f64| {
        phases.push(PhaseReport { name, started_s, elapsed_s: shared.now_s() - started_s });
        shared.now_s()
    };

    let start = shared.now_s();
    let splitters = splitters(spec, &shared, files, plan.partitions)?;
    let start = timed("sample", start);

    let map_shuffle = MapShuffle {
        shared: &shared,
        spec,
        plan,
        store,
        disks: &disks,
        observer,
        records_in: &ledger.records_in,
        records_passed: &ledger.records_passed,
        checksum: spec.verify.then_some(&ledger.sum_in),
    };
    map_shuffle.run(files, &splitters)?;
    let mut order: Vec<usize> = (0..splitters.partitions()).collect();
    let oversized_partitions = split_oversized(&map_shuffle, &mut order)?;
    let start = timed("map+shuffle", start);

    let sort_reduce = SortReduce {
        shared: &shared,
        spec,
        plan,
        store,
        disks: &disks,
        outputs,
        observer,
        records_taken: &ledger.records_taken,
        checksum: spec.verify.then_some(&ledger.sum_out),
    };
    let written = sort_reduce.run(&order)?;
    let records: u64 = written.iter().map(|file| file.records).sum();
    let checksum = ledger.settle(spec, records / outputs.copies())?;
    shared.check()?;
    // The modification time can be set back; the change time shows that.
    let rigour = if spec.verify { Rigour::Everything } else { Rigour::Content };
    check_unchanged(files, rigour)?;
    let summary = Summary { job: &spec.job.name, checksum: checksum.as_deref() };
    let publication = watched(&shared, "publish", || outputs.publish(written, &summary))?;
    timed("sort+reduce", start);

    let done = Done {
        records_in: ledger.records_in.load(Ordering::Relaxed),
        partitions: order.len(),
        oversized_partitions,
        publication,
        phases,
        io: disks.into_report(),
        checksum,
        cpu: cpu_before.and_then(|before| Some(cpu_time()?.since(before))),
    };
    Ok(done.report(spec, &shared, &prepared))
}

/// The result after publication.
struct Done {
    records_in: u64,
    partitions: usize,
    oversized_partitions: usize,
    publication: Publication,
    phases: Vec<PhaseReport>,
    io: Vec<IoReport>,
    checksum: Option<String>,
    cpu: Option<CpuTime>,
}

impl Done {
    fn report(self, spec: &SortSpec, shared: &Shared<'_>, prepared: &Prepared) -> SortReport {
        let store = &prepared.store;
        let spilled_bytes = store.spilled_bytes.load(Ordering::Relaxed);
        SortReport {
            input: Volume {
                bytes: prepared.input_bytes,
                records: self.records_in,
                files: prepared.files.len(),
            },
            output: Published::new(self.publication),
            job: spec.job.name.clone(),
            regime: if spilled_bytes == 0 { "in-memory" } else { "hybrid" },
            spilled_bytes,
            retained_bytes: prepared.input_bytes.saturating_sub(spilled_bytes),
            bytes_read: shared.bytes_read.load(Ordering::Relaxed),
            bytes_written: shared.bytes_written.load(Ordering::Relaxed),
            memory: MemoryReport {
                budget_bytes: spec.memory_bytes,
                peak_rss_bytes: peak_rss_bytes(),
                unreturned_blocks: store.pool.blocks() - store.pool.free(),
            },
            threads: spec.threads,
            partitions: self.partitions,
            oversized_partitions: self.oversized_partitions,
            cpu: self.cpu,
            elapsed_s: shared.now_s(),
            io: self.io,
            phases: self.phases,
            stages: shared.take_reports(),
            checksum: self.checksum.map(|sum| ChecksumReport { input: sum.clone(), output: sum }),
            plan: prepared.plan.clone(),
        }
    }
}

/// Boundaries for the first distribution.
fn splitters(
    spec: &SortSpec,
    shared: &Shared<'_>,
    files: &[InputFile],
    partitions: usize,
) -> Result<Splitters, SortError> {
    if spec.indy || partitions == 1 {
        return Ok(Splitters::uniform(partitions));
    }
    let mut meter = Meter::start();
    let samples = watched(shared, "sample", || {
        sample(files, &spec.job, spec.max_record(), spec.memory_bytes, spec.seed)
    })?;
    meter.records = samples.len() as u64;
    meter.bytes = samples.iter().map(|(key, rest)| (key.len() + rest.len()) as u64).sum();
    let splitters = Splitters::from_samples(spec.job.order, samples, partitions);
    shared.report("sample", "sample", None, &meter);
    Ok(splitters)
}
