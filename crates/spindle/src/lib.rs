//! Disks that are as slow as real ones: image files served through FUSE.
//!
//! A loop device with direct I/O on a served file, and a file system on that, is a disk whose buffered
//! reads and writes take the time that the model says. What the parts do:
//!
//! | module | what |
//! |---|---|
//! | [`spec`] | what a disk is: JSON in, checked |
//! | [`seek`], [`head`] | how long a hard disk takes to get to a place and to pass over it |
//! | [`elevator`] | which waiting request a hard disk serves next |
//! | [`mechanism`] | a hard disk or a solid-state disk as a machine on a clock that the caller keeps |
//! | [`predict`] | what such a machine reaches, by formula |
//! | [`image`] | the sparse file that holds the content |
//! | [`service`] | the thread that holds a request back until its time has come |
//! | [`server`] | the FUSE file system of all disks |
//!
//! The model and its sources are described in `docs/method/disk-model.md`.

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
