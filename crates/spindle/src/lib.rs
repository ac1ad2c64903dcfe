//! Disks that are as slow as real ones: image files served through FUSE.
//!
//! With direct I/O, a loop device on a served file, with a file system on it, is a disk with
//! buffered reads and writes at the speed of the model. The modules:
//!
//! | module | content |
//! |---|---|
//! | [`spec`] | the description of a disk: JSON in, checked |
//! | [`seek`], [`head`] | the time of a hard disk to reach a place and to pass over it |
//! | [`elevator`] | the waiting request that a hard disk serves next |
//! | [`mechanism`] | a hard disk or a solid-state disk as a machine on a clock that the caller keeps |
//! | [`predict`] | the performance of such a machine, by formula |
//! | [`image`] | the sparse file that holds the content |
//! | [`service`] | the thread that holds a request back until its time has come |
//! | [`server`] | the FUSE file system of all disks |
//!
//! `docs/method/disk-model.md` describes the model and its sources.

pub mod elevator;
mod error;
pub mod head;
pub mod image;
pub mod mechanism;
pub mod predict;
pub mod seek;
pub mod server;
pub mod service;
pub mod spec;
pub mod stats;

pub use error::{CODES, SpindleError};
pub use server::{Ended, Server};
pub use spec::DiskSpec;

/// Nanoseconds of a disk's clock.
pub type Nanos = u64;

/// `seconds` as nanoseconds, rounded.
pub(crate) fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9).round() as Nanos
}

/// `nanos` as seconds.
pub(crate) fn seconds(nanos: Nanos) -> f64 {
    nanos as f64 / 1e9
}
