//! Readers: trace files to events in order of time.

pub mod binary;
pub mod blkparse;
pub mod convert;
pub mod event;
pub mod fields;
pub mod input;
pub mod merge;
pub mod stream;
pub mod tally;
pub mod text;
pub mod tracepoints;
