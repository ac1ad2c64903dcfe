//! Threads wait here until all of them have arrived: then all go, or none does.

use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(crate) struct StartLine<E> {
    state: Mutex<State<E>>,
    changed: Condvar,
}

struct State<E> {
    arrived: usize,
    /// Why the first that cannot go cannot.
    refusal: Option<E>,
    /// The word, once it was said.
    go: Option<bool>,
}

impl<E> StartLine<E> {
    pub(crate) fn new() -> Self {
        let state = State { arrived: 0, refusal: None, go: None };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// Registers an arrival; waits for the decision and returns whether to go.
    pub(crate) fn arrive(&self) -> bool {
        let mut state = self.lock();
        state.arrived += 1;
        self.changed.notify_all();
        loop {
            if let Some(go) = state.go {
                return go;
            }
            state = self.wait(state);
        }
    }

    /// One cannot go: none will.
    pub(crate) fn refuse(&self, reason: E) {
        let mut state = self.lock();
        state.refusal.get_or_insert(reason);
        state.go = Some(false);
        self.changed.notify_all();
    }

    /// Dismisses all threads, unless they have gone already.
    pub(crate) fn dismiss(&self) {
        self.lock().go.get_or_insert(false);
        self.changed.notify_all();
    }

    /// Waits for `count` arrivals and lets them go; returns the reason if one of them fails.
    pub(crate) fn start(&self, count: usize) -> Result<(), E> {
        let mut state = self.lock();
        while state.arrived < count && state.go.is_none() {
            state = self.wait(state);
        }
        state.go.get_or_insert(true);
        self.changed.notify_all();
        state.refusal.take().map_or(Ok(()), Err)
    }

    fn lock(&self) -> MutexGuard<'_, State<E>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'s>(&self, state: MutexGuard<'s, State<E>>) -> MutexGuard<'s, State<E>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }
}
