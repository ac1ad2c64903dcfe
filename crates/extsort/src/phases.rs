//! The two phases: records to partitions, partitions to sorted output.

pub(crate) mod distribute;
pub(crate) mod emit;
pub(crate) mod map_shuffle;
pub(crate) mod partition;
pub(crate) mod sample;
pub(crate) mod sort_reduce;
pub(crate) mod sorter;
pub(crate) mod split;
pub(crate) mod splitters;
pub(crate) mod stage;
pub(crate) mod threads;
pub(crate) mod watch;
