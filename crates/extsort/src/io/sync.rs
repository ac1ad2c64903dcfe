//! The locks of the queue between stages. `tests/queue_schedules.rs` compiles the queue with locks
//! that it schedules itself.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
