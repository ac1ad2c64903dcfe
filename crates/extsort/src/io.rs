//! Input, output, scratch files and the queues between disks and threads.

pub(crate) mod disks;
pub(crate) mod input;
pub(crate) mod journal;
pub(crate) mod manifest;
pub(crate) mod output;
pub(crate) mod publish;
pub(crate) mod pump;
pub(crate) mod queue;
#[cfg(test)]
pub(crate) mod queue_tests;
pub(crate) mod spill;
pub(crate) mod stamp;
pub(crate) mod sync;
pub(crate) mod transfers;
