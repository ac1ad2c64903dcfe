//! The 2-IO external sort and MapReduce of one machine, with the tools of the sort benchmark.
//!
//! Every record is read twice and written twice when the data exceed memory, once when they fit, and
//! in between only the excess is spilled. It is a distribution sort, as in Themis (SoCC 2015), not a
//! merge sort. Records are first distributed over ranges of keys, then each range, which fits in
//! memory, is sorted and written in its final place. See [`sort`] for the stages. [`halton`] is the
//! engine's one job without input or output.

pub mod checksum;
mod engine;
mod error;
pub mod gensort;
pub mod halton;
mod io;
mod job;
mod kernels;
mod phases;
mod plan;
mod record;
mod report;
mod spec;
mod usage;
pub mod validate;

pub use engine::sort;
pub use error::{CODES, SortError};
pub use io::manifest::{MANIFEST, PartFile};
pub use job::{Job, MakeReducer, Mapper, Reducer};
pub use phases::splitters::{Sample, Splitters};
pub use phases::stage::{Observer, StageReport};
pub use plan::{Plan, PlanInput, plan};
pub use record::{Format, HEADER_BYTES, Order, Records, prefix, push_key_value};
pub use report::{
    ChecksumReport, IoReport, MemoryReport, PhaseReport, Published, SortReport, Volume,
};
pub use spec::{Preview, SortSpec, preview};
pub use usage::{CpuTime, ThreadUse, cpu_time, peak_rss_bytes};
