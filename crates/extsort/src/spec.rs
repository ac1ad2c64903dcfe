//! The options of a sort, and everything about it that can be known in advance.

use std::path::PathBuf;
use std::time::Duration;

use rawio::Backend;
use serde::Serialize;

use crate::error::SortError;
use crate::io::input::{self, InputFile};
use crate::job::Job;
use crate::plan::{MOST_WORKERS, Plan, PlanInput, plan};
use crate::record::Format;

/// The largest supported record size.
const MOST_RECORD_BYTES: usize = 1 << 30;

/// Input, output and options of a sort.
#[derive(Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is an independent switch of the user's")]
pub struct SortSpec {
    /// Files, or directories of files.
    pub inputs: Vec<PathBuf>,
    /// Directories for the output.
    pub outputs: Vec<PathBuf>,
    /// Directories for data that don't fit in memory.
    pub scratch: Vec<PathBuf>,
    /// Directories for a second copy of the output.
    pub replicas: Vec<PathBuf>,
    /// The work done on the records.
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
    /// Seed of the sampled places.
    pub seed: u64,
    /// Size of a partition to aim at, if not the usual one.
    pub partition_bytes: Option<u64>,
    /// Sort only as much of the input, from its start; of fixed records only.
    pub first_bytes: Option<u64>,
    /// Time without progress before the sort fails, 20 times as long while a disk or a CPU is busy;
    /// zero: forever.
    pub patience: Duration,
}

/// The plan of a sort, without running it.
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

impl SortSpec {
    pub(crate) fn check(&self) -> Result<(), SortError> {
        self.job.check()?;
        let refuse = |text: &str| Err(SortError::Options(text.to_owned()));
        if !(1..=MOST_WORKERS).contains(&self.threads) {
            return Err(SortError::Options(format!("threads must be 1 to {MOST_WORKERS}")));
        }
        if !(1..=MOST_RECORD_BYTES).contains(&self.max_record()) {
            let text = format!("records must have 1 to {MOST_RECORD_BYTES} bytes");
            return Err(SortError::Options(text));
        }
        for dir in self.outputs.iter().chain(&self.replicas) {
            if dir.to_str().is_none() {
                let text = format!("the path {} is not UTF-8, as the manifest is", dir.display());
                return Err(SortError::Options(text));
            }
        }
        if self.outputs.is_empty() || self.scratch.is_empty() {
            return refuse("at least one output and one scratch directory are needed");
        }
        if self.indy && !matches!(self.job.intermediate, Format::Fixed { .. }) {
            return refuse("uniform boundaries (--indy) are for fixed records with random keys");
        }
        if self.partition_bytes == Some(0) {
            return refuse("a partition must have bytes (--partition-bytes)");
        }
        if let Some(bytes) = self.first_bytes {
            let Format::Fixed { record, .. } = self.job.input else {
                return refuse(
                    "a part of the input (--first-bytes) is taken of fixed records only",
                );
            };
            if bytes < record as u64 {
                return refuse("a part of the input (--first-bytes) must have a record at least");
            }
        }
        if self.verify && !self.job.keeps_records() {
            return refuse("only the sort job keeps its records and can compare checksums");
        }
        Ok(())
    }

    /// The longest record that can occur.
    pub(crate) fn max_record(&self) -> usize {
        match self.job.input {
            Format::Fixed { record, .. } => record,
            _ => self.max_record_bytes,
        }
    }

    /// The files to be sorted, or their first bytes.
    pub(crate) fn find_input(&self) -> Result<Vec<InputFile>, SortError> {
        let files = input::find(&self.inputs, self.job.input)?;
        Ok(match (self.first_bytes, self.job.input) {
            (Some(bytes), Format::Fixed { record, .. }) => {
                input::first(files, bytes, record as u64)
            }
            _ => files,
        })
    }

    pub(crate) fn plan_input(&self, files: &[InputFile]) -> PlanInput {
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
            partition_bytes: self.partition_bytes,
        }
    }

    /// Refuses a sort that cannot end well: scratch and output must fit on their file systems.
    pub(crate) fn check_space(&self, plan: &Plan, input_bytes: u64) -> Result<(), SortError> {
        let (scratch, output) = self.space_needed(plan, input_bytes);
        let share = |bytes: u64, dirs: &[PathBuf]| bytes / dirs.len().max(1) as u64;
        let mut needs: Vec<(u64, u64, &PathBuf)> = Vec::new();
        let roles = [
            ("scratch", &self.scratch, scratch),
            ("output", &self.outputs, output),
            ("replica", &self.replicas, output),
        ];
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
            if let Some(available_bytes) = rawio::available_bytes(path).map_err(fail)?
                && needed_bytes > available_bytes
            {
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
    let files = spec.find_input()?;
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
