//! The queue between two stages.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A first-in first-out queue between two stages, bounded by the bytes of its items.
///
/// An item larger than the quota passes when the queue is empty, so that no item can block forever.
pub(crate) struct ByteQueue<T> {
    state: Mutex<QueueState<T>>,
    changed: Condvar,
    quota_bytes: usize,
}

struct QueueState<T> {
    items: VecDeque<(T, usize)>,
    bytes: usize,
    producers: usize,
    aborted: bool,
    /// Items put in and taken out so far.
    passed: u64,
    /// Producers waiting to put an item in, and consumers waiting to take one out.
    blocked: usize,
    idle: usize,
}

/// Where a queue stands.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Level {
    pub(crate) items: usize,
    pub(crate) bytes: usize,
    pub(crate) producers: usize,
    pub(crate) blocked: usize,
    pub(crate) idle: usize,
    pub(crate) passed: u64,
}

impl<T> ByteQueue<T> {
    /// A queue of at most `quota_bytes`, fed by `producers` who each call [`ByteQueue::finish`].
    pub(crate) fn new(quota_bytes: usize, producers: usize) -> Self {
        let state = QueueState {
            items: VecDeque::new(),
            bytes: 0,
            producers,
            aborted: false,
            passed: 0,
            blocked: 0,
            idle: 0,
        };
        Self { state: Mutex::new(state), changed: Condvar::new(), quota_bytes }
    }

    /// Appends an item and returns how long that was blocked; `None` if the sort is being abandoned.
    pub(crate) fn push(&self, item: T, bytes: usize) -> Option<Duration> {
        let mut state = self.lock();
        let mut blocked = Duration::ZERO;
        if !state.items.is_empty() && state.bytes + bytes > self.quota_bytes && !state.aborted {
            let start = Instant::now();
            while !state.items.is_empty()
                && state.bytes + bytes > self.quota_bytes
                && !state.aborted
            {
                state.blocked += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.blocked -= 1;
            }
            blocked = start.elapsed();
        }
        if state.aborted {
            return None;
        }
        state.bytes += bytes;
        state.passed += 1;
        state.items.push_back((item, bytes));
        drop(state);
        self.changed.notify_all();
        Some(blocked)
    }

    /// The next item, or `None` after the last one; adds the time waited to `waited`.
    pub(crate) fn pop(&self, waited: &mut Duration) -> Option<T> {
        let mut state = self.lock();
        if state.items.is_empty() && state.producers > 0 && !state.aborted {
            let start = Instant::now();
            while state.items.is_empty() && state.producers > 0 && !state.aborted {
                state.idle += 1;
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
            *waited += start.elapsed();
        }
        let (item, bytes) = state.items.pop_front()?;
        state.bytes -= bytes;
        state.passed += 1;
        drop(state);
        self.changed.notify_all();
        Some(item)
    }

    /// The next item if there is one now.
    pub(crate) fn try_pop(&self) -> Option<T> {
        let mut state = self.lock();
        let (item, bytes) = state.items.pop_front()?;
        state.bytes -= bytes;
        state.passed += 1;
        drop(state);
        self.changed.notify_all();
        Some(item)
    }

    /// One producer has nothing more to add.
    pub(crate) fn finish(&self) {
        self.lock().producers -= 1;
        self.changed.notify_all();
    }

    /// One more producer will add items.
    pub(crate) fn reopen(&self) {
        self.lock().producers += 1;
    }

    /// Wakes all waiting threads and drops the queued items: the sort is being abandoned.
    pub(crate) fn abort(&self) {
        let mut state = self.lock();
        state.aborted = true;
        state.items.clear();
        drop(state);
        self.changed.notify_all();
    }

    /// Where it stands now.
    pub(crate) fn level(&self) -> Level {
        let state = self.lock();
        let QueueState { ref items, bytes, producers, blocked, idle, passed, .. } = *state;
        Level { items: items.len(), bytes, producers, blocked, idle, passed }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
