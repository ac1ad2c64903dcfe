//! The locks of the pool. `tests/pool_schedules.rs` compiles the pool again, with locks whose
//! scheduling it chooses in place of these.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
