//! The locks of the pool and of the start line. `tests/pool_schedules.rs` and
//! `tests/start_line_schedules.rs` compile both with locks that they schedule themselves.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
