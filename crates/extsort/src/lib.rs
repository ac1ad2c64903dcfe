//! The 2-IO external sort and MapReduce of one machine, with the tools of the sort benchmark.
//!
//! Every record is read twice and written twice when the data exceed memory, once when they fit, and
//! in between only the excess is spilled. It is a distribution sort, as in Themis (SoCC 2015), not a
//! merge sort. Records are first distributed over ranges of keys, then each range, which fits in
//! memory, is sorted and written in its final place. See [`sort`] for the stages. [`halton`] is the
//! engine's one job without input or output.

pub mod checksum;
mod disks;
mod distribute;
mod emit;
mod engine;
mod error;
pub mod gensort;
pub mod halton;
mod input;
mod job;
mod journal;
mod kernels;
mod manifest;
mod map_shuffle;
mod output;
mod partition;
mod plan;
mod publish;
mod pump;
mod queue;
#[cfg(test)]
mod queue_tests;
mod record;
mod report;
mod sample;
mod sort_reduce;
mod sorter;
mod spec;
mod spill;
mod split;
mod splitters;
mod stage;
mod stamp;
mod sync;
mod threads;
mod transfers;
mod usage;
pub mod validate;
mod watch;

pub use engine::sort;
pub use error::{CODES, SortError};
pub use job::{Job, MakeReducer, Mapper, Reducer};
pub use manifest::{MANIFEST, PartFile};
pub use plan::{Plan, PlanInput, plan};
pub use record::{Format, HEADER_BYTES, Order, Records, prefix, push_key_value};
pub use report::{
    ChecksumReport, IoReport, MemoryReport, PhaseReport, Published, SortReport, Volume,
};
pub use spec::{Preview, SortSpec, preview};
pub use splitters::{Sample, Splitters};
pub use stage::{Observer, StageReport};
pub use usage::{CpuTime, ThreadUse, cpu_time, peak_rss_bytes};
