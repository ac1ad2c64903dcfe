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

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rawio::{Backend, Pool};
use serde::Serialize;

use crate::checksum::RecordSum;
use crate::error::SortError;
use crate::input::{self, InputFile};
use crate::job::Job;
use crate::output::{Outputs, PartFile, Summary};
use crate::partition::{Partition, Store};
use crate::phases::{Disks, MapShuffle, SortReduce, split_oversized};
use crate::plan::{Plan, PlanInput, plan};
use crate::record::Format;
use crate::sample::sample;
use crate::spill::Scratch;
use crate::splitters::Splitters;
use crate::stage::{Meter, Shared, StageReport, lock};
use crate::usage::{CpuTime, cpu_time, peak_rss_bytes};

/// What is to be sorted, where to, and with what.
#[derive(Clone)]
pub struct SortSpec {
    /// Files, or directories whose files are meant.
    pub inputs: Vec<PathBuf>,
    /// Directories for the output.
    pub outputs: Vec<PathBuf>,
    /// Directories for what does not fit in memory.
    pub scratch: Vec<PathBuf>,
    /// Directories for a second copy of the output.
    pub replicas: Vec<PathBuf>,
    /// What happens to the records.
    pub job: Job,
    /// Budget for the process.
    pub memory_bytes: u64,
    /// Workers that distribute and sort.
    pub threads: usize,
    /// Keys are uniformly random: divide the key space evenly instead of sampling.
    pub indy: bool,
    /// Compare the checksum over all records before and after.
    pub verify: bool,
    /// Replace output that exists.
    pub overwrite: bool,
    /// The longest record of various lengths.
    pub max_record_bytes: usize,
    /// Which way to the kernel.
    pub backend: Backend,
    /// Bypass the page cache where the file system allows it.
    pub direct: bool,
    /// Of the random places sampled.
    pub seed: u64,
}

/// A timed part of the sort.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseReport {
    /// `sample`, `map+shuffle` or `sort+reduce`.
    pub name: &'static str,
    /// Since the start of the sort.
    pub started_s: f64,
    /// How long it took.
    pub elapsed_s: f64,
}

/// How a directory was accessed.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct IoReport {
    /// `input`, `scratch`, `output` or `replica`.
    pub role: &'static str,
    /// The directory, or a file on the disk in question.
    pub dir: String,
    /// `io_uring+direct` is the fastest; `posix+buffered` the last resort.
    pub method: String,
}

/// Bytes, records and files of one end of the sort.
#[derive(Clone, Debug, Serialize)]
pub struct Volume {
    /// Bytes.
    pub bytes: u64,
    /// Records (of a mapped job's input: input records).
    pub records: u64,
    /// Number of files.
    pub files: usize,
}

/// What was published.
#[derive(Clone, Debug, Serialize)]
pub struct Published {
    /// Bytes.
    pub bytes: u64,
    /// Records.
    pub records: u64,
    /// The files in the order of keys.
    pub files: Vec<PartFile>,
    /// Their second copies.
    pub replicas: Vec<PartFile>,
    /// The manifest.
    pub manifests: Vec<PathBuf>,
}

/// Budget and use.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryReport {
    /// The budget.
    pub budget_bytes: u64,
    /// The most the process had resident; none where the kernel does not say.
    pub peak_rss_bytes: Option<u64>,
    /// Blocks of records that were not given back: zero, or the engine has a bug.
    pub unreturned_blocks: usize,
}

/// Checksums of all records.
#[derive(Clone, Debug, Serialize)]
pub struct ChecksumReport {
    /// Over the records read.
    pub input: String,
    /// Over the records written; none for jobs that change records.
    pub output: Option<String>,
}

/// What a sort did.
#[derive(Clone, Debug, Serialize)]
pub struct SortReport {
    /// What was read.
    pub input: Volume,
    /// What was published.
    pub output: Published,
    /// The job's name.
    pub job: String,
    /// `in-memory` if nothing was spilled, else `hybrid`.
    pub regime: &'static str,
    /// Bytes of records that were written to scratch disks.
    pub spilled_bytes: u64,
    /// Bytes of records that stayed in memory between the phases.
    pub retained_bytes: u64,
    /// Bytes read from all disks.
    pub bytes_read: u64,
    /// Bytes written to all disks.
    pub bytes_written: u64,
    /// Budget and use of memory.
    pub memory: MemoryReport,
    /// Workers.
    pub threads: usize,
    /// Partitions, after splitting.
    pub partitions: usize,
    /// Partitions that had to be split because they were too large for memory.
    pub oversized_partitions: usize,
    /// Processor time of the sort; none where the kernel does not say.
    pub cpu: Option<CpuTime>,
    /// From start to the durable manifest.
    pub elapsed_s: f64,
    /// How each disk was accessed.
    pub io: Vec<IoReport>,
    /// The timed parts.
    pub phases: Vec<PhaseReport>,
    /// What each stage did.
    pub stages: Vec<StageReport>,
    /// Checksums, if asked for.
    pub checksum: Option<ChecksumReport>,
    /// How the memory was divided.
    pub plan: Plan,
}

/// What a sort would do, without doing it.
#[derive(Clone, Debug, Serialize)]
pub struct Preview {
    /// How the memory would be divided.
    #[serde(flatten)]
    pub plan: Plan,
    /// Bytes of input.
    pub input_bytes: u64,
    /// Records of input, where the length says it.
    pub input_records: Option<u64>,
    /// Space the scratch directories need together.
    pub scratch_bytes_needed: u64,
    /// Space output and replicas need together.
    pub output_bytes_needed: u64,
    /// The smallest budget that would do.
    pub minimum_memory_bytes: u64,
    /// The budget.
    pub memory_bytes: u64,
    /// Workers.
    pub threads: usize,
}

/// Told now and then: phase, bytes done, bytes in all (if known).
pub type Progress<'a> = &'a (dyn Fn(&'static str, u64, Option<u64>) + Sync);

impl SortSpec {
    fn check(&self) -> Result<(), SortError> {
        let refuse = |text: &str| Err(SortError::Options(text.to_owned()));
        if self.threads == 0 {
            return refuse("at least one thread is needed");
        }
        if self.outputs.is_empty() || self.scratch.is_empty() {
            return refuse("at least one output and one scratch directory are needed");
        }
        if self.indy && !matches!(self.job.intermediate, Format::Fixed { .. }) {
            return refuse("uniform boundaries (--indy) are for fixed records with random keys");
        }
        if self.verify && !self.job.keeps_records() {
            return refuse("only the sort job keeps its records and can compare checksums");
        }
        Ok(())
    }

    fn max_record(&self) -> usize {
        match self.job.input {
            Format::Fixed { record, .. } => record,
            _ => self.max_record_bytes,
        }
    }

    fn plan_input(&self, files: &[InputFile]) -> PlanInput {
        let fixed_record_bytes = match self.job.intermediate {
            Format::Fixed { record, .. } => Some(record),
            _ => None,
        };
        PlanInput {
            input_bytes: files.iter().map(|file| file.bytes).sum(),
            memory_bytes: self.memory_bytes,
            threads: self.threads,
            readers: input::by_device(files).len(),
            scratch_dirs: self.scratch.len(),
            output_dirs: self.outputs.len() + self.replicas.len(),
            fixed_record_bytes,
            max_record_bytes: self.max_record(),
        }
    }

    /// Refuses a sort that cannot end well: scratch and output must fit on their file systems.
    fn check_space(&self, plan: &Plan, input_bytes: u64) -> Result<(), SortError> {
        let (scratch, output) = self.space_needed(plan, input_bytes);
        let share = |bytes: u64, dirs: &[PathBuf]| bytes / dirs.len().max(1) as u64;
        let mut needs: Vec<(u64, u64, &PathBuf)> = Vec::new();
        let roles = [("scratch", &self.scratch, scratch), ("output", &self.outputs, output), ("replica", &self.replicas, output)];
        for (role, dirs, bytes) in roles {
            for dir in dirs {
                let fail = |source| SortError::Directory { role, path: dir.clone(), source };
                let system = rawio::file_system_id(dir).map_err(fail)?;
                match needs.iter_mut().find(|need| need.0 == system) {
                    Some(need) => need.1 += share(bytes, dirs),
                    None => needs.push((system, share(bytes, dirs), dir)),
                }
            }
        }
        for (_, needed_bytes, path) in needs {
            let fail = |source| SortError::Directory { role: "output", path: path.clone(), source };
            let available_bytes = rawio::available_bytes(path).map_err(fail)?;
            if needed_bytes > available_bytes {
                return Err(SortError::Space { path: path.clone(), needed_bytes, available_bytes });
            }
        }
        Ok(())
    }

    /// Bytes that scratch and one copy of the output need. What a reducer leaves is not known before.
    fn space_needed(&self, plan: &Plan, input_bytes: u64) -> (u64, u64) {
        let spill = plan.expected_spilled_bytes;
        let scratch = if spill == 0 { 0 } else { spill + spill / 20 };
        (scratch, if self.job.reducer.is_some() { 0 } else { input_bytes })
    }
}

/// Works out what [`sort`] would do.
pub fn preview(spec: &SortSpec) -> Result<Preview, SortError> {
    spec.check()?;
    let files = input::find(&spec.inputs, spec.job.input)?;
    let plan_input = spec.plan_input(&files);
    let minimum = plan(&PlanInput { memory_bytes: 1, ..plan_input.clone() });
    let minimum_memory_bytes = match minimum {
        Err(SortError::Memory { minimum_bytes, .. }) => minimum_bytes,
        _ => 1,
    };
    let input_bytes = plan_input.input_bytes;
    let plan = plan(&plan_input)?;
    let (scratch_bytes_needed, output) = spec.space_needed(&plan, input_bytes);
    let copies = 1 + u64::from(!spec.replicas.is_empty());
    Ok(Preview {
        input_bytes,
        input_records: match spec.job.input {
            Format::Fixed { record, .. } => Some(input_bytes / record as u64),
            _ => None,
        },
        scratch_bytes_needed,
        output_bytes_needed: output * copies,
        minimum_memory_bytes,
        memory_bytes: spec.memory_bytes,
        threads: spec.threads,
        plan,
    })
}

/// Sorts. On any error nothing is published and everything temporary is removed; the input is never
/// modified. Setting `cancel` makes it return [`SortError::Interrupted`] soon.
pub fn sort(
    spec: &SortSpec,
    cancel: &AtomicBool,
    progress: Progress<'_>,
) -> Result<SortReport, SortError> {
    let shared = Shared::new(cancel);
    let cpu_before = cpu_time();
    spec.check()?;
    let files = input::find(&spec.inputs, spec.job.input)?;
    let plan_input = spec.plan_input(&files);
    let plan = plan(&plan_input)?;
    let outputs = Outputs::claim(&spec.outputs, &spec.replicas, &files, spec.overwrite, spec.direct)?;
    spec.check_space(&plan, plan_input.input_bytes)?;
    let scratch = spec
        .scratch
        .iter()
        .enumerate()
        .map(|(dir, path)| Scratch::create(dir, path, spec.direct))
        .collect::<Result<Vec<_>, _>>()?;
    let pool = Pool::new(plan.blocks, plan.block_bytes)
        .map_err(|source| SortError::Io { action: "allocate", path: "memory".into(), source })?;
    let store = Store::new(pool, scratch.len(), plan.queue_depth);
    let mut phases = Vec::new();
    let mut timed = |name, started_s: f64| {
        phases.push(PhaseReport { name, started_s, elapsed_s: shared.now_s() - started_s });
    };

    let start = shared.now_s();
    let splitters = splitters(spec, &shared, &files, plan.partitions)?;
    timed("sample", start);

    let disks = Disks::new(&scratch, &plan, spec.backend);
    let sums = [Mutex::new(RecordSum::default()), Mutex::new(RecordSum::default())];
    let verified = |n: usize| spec.verify.then_some(&sums[n]);
    let start = shared.now_s();
    let (records_in, passed) = (AtomicU64::new(0), AtomicU64::new(0));
    let map_shuffle = MapShuffle {
        shared: &shared,
        spec,
        plan: &plan,
        store: &store,
        disks: &disks,
        progress,
        records_in: &records_in,
        records_passed: &passed,
        checksum: verified(0),
    };
    map_shuffle.run(&files, &splitters)?;
    let mut order: Vec<usize> = (0..splitters.partitions()).collect();
    let oversized_partitions = split_oversized(&map_shuffle, &mut order)?;
    timed("map+shuffle", start);

    let start = shared.now_s();
    let spilled_bytes = store.spilled_bytes.load(Ordering::Relaxed);
    let taken = AtomicU64::new(0);
    let written = SortReduce {
        shared: &shared,
        spec,
        plan: &plan,
        store: &store,
        disks: &disks,
        outputs: &outputs,
        progress,
        records_taken: &taken,
        checksum: verified(1),
    }
    .run(&order)?;
    let (passed, taken) = (passed.into_inner(), taken.into_inner());
    let written_records: u64 = written.iter().map(|f| f.records.load(Ordering::Relaxed)).sum();
    let records_out = if spec.job.reducer.is_some() { taken } else { written_records / outputs.copies() };
    if passed != taken || (spec.job.reducer.is_none() && records_out != passed) {
        return Err(SortError::Count { records_in: passed, records_out });
    }
    let [before, after] = sums.map(|sum| lock(&sum).to_string());
    if spec.verify && before != after {
        return Err(SortError::Checksum { checksum_in: before, checksum_out: after });
    }
    shared.check()?;
    let checksum = spec.verify.then_some(before.as_str());
    let summary = Summary { job: &spec.job.name, checksum };
    let (parts, replicas, manifest) = outputs.publish(written, &summary)?;
    timed("sort+reduce", start);

    let elapsed_s = shared.now_s();
    Ok(SortReport {
        input: Volume {
            bytes: plan_input.input_bytes,
            records: records_in.into_inner(),
            files: files.len(),
        },
        output: Published {
            bytes: parts.iter().map(|part| part.bytes).sum(),
            records: parts.iter().map(|part| part.records).sum(),
            files: parts,
            replicas,
            manifests: vec![manifest],
        },
        job: spec.job.name.clone(),
        regime: if spilled_bytes == 0 { "in-memory" } else { "hybrid" },
        spilled_bytes,
        retained_bytes: plan_input.input_bytes.saturating_sub(spilled_bytes),
        bytes_read: shared.bytes_read.load(Ordering::Relaxed),
        bytes_written: shared.bytes_written.load(Ordering::Relaxed),
        memory: MemoryReport {
            budget_bytes: spec.memory_bytes,
            peak_rss_bytes: peak_rss_bytes(),
            unreturned_blocks: store.pool.blocks() - store.pool.free(),
        },
        threads: spec.threads,
        partitions: order.len(),
        oversized_partitions,
        cpu: cpu_before.and_then(|before| Some(cpu_time()?.since(before))),
        elapsed_s,
        io: disks.into_report(),
        phases,
        stages: shared.take_reports(),
        checksum: checksum.map(|sum| ChecksumReport { input: sum.to_owned(), output: Some(sum.to_owned()) }),
        plan,
    })
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
    let samples = sample(files, &spec.job, spec.max_record(), spec.seed)?;
    meter.records = samples.len() as u64;
    meter.bytes = samples.iter().map(|(key, rest)| (key.len() + rest.len()) as u64).sum();
    let splitters = Splitters::from_samples(spec.job.order, samples, partitions);
    shared.report("sample", "sample", None, &meter);
    Ok(splitters)
}

/// Empty partitions for the ranges between the bounds of `splitters`.
pub(crate) fn empty_partitions(splitters: &Splitters, job: &Job) -> Vec<Partition> {
    let with_rest = matches!(job.intermediate, Format::Fixed { .. });
    (0..splitters.partitions())
        .map(|partition| {
            let common_bits = splitters.common_bits(partition, with_rest);
            Partition::new(common_bits, splitters.is_constant(partition))
        })
        .collect()
}
