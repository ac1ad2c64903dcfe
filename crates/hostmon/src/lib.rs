//! Host facts and the 1 Hz sampler.
//!
//! [`parse`] holds pure functions from the kernel's text to values: text that cannot be read is
//! `None`, never 0 and never a panic (the reason they are written here: the parsers of the `procfs`
//! crate panic on short or foreign lines). [`collect`] is the thin reader that walks `/proc` and
//! `/sys` under a root of the caller's choice. [`Sampler`] turns counters into rates.
//!
//! Every quantity carries its unit in its name; an absent one is `None` with a reason in
//! [`Facts::missing`].

mod cgroup;
mod collect;
mod counters;
mod devices;
mod error;
mod facts;
mod own;
pub mod parse;
mod root;
mod sampler;
mod schedule;

pub use collect::{SYSCTLS, collect};
pub use error::{CODES, HostError};
pub use facts::{
    BlockDevice, Facts, FileSystem, Limit, NetworkInterface, SCHEMA_VERSION, Swap, Unlimited,
};
pub use sampler::{Row, Sampler};
pub use schedule::{next_tick, process_cpu_s};
