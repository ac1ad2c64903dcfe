//! The locks of the queue between stages. `tests/queue_schedules.rs` compiles the queue again, with
//! locks whose scheduling it chooses in place of these.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
