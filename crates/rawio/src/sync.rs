//! The locks of the pool and of the start line. `tests/pool_schedules.rs` and
//! `tests/start_line_schedules.rs` compile them again, with locks whose scheduling they choose in
//! place of these.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
