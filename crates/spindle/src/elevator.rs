//! Which waiting request a hard disk serves next.

use std::collections::{BTreeMap, VecDeque};

use crate::Nanos;
use crate::head::{Head, Way};

/// A request that waits for its disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// The caller's number; later requests have higher ones.
    pub id: u64,
    /// When it came.
    pub arrival: Nanos,
    /// First byte.
    pub offset: u64,
    /// Length, above 0.
    pub bytes: u64,
}

/// Requests in the order of a circular sweep (C-LOOK): upwards from the head, and from the lowest one
/// again.
///
/// The disk sees the first `depth` requests alone; the others wait in the order in which they came. No
/// request is overtaken by more than `2 * depth` later ones, about as many as a sweep over random
/// places serves: so many leave such a sweep as it is, and end the wait of those behind a stream that
/// runs ahead of the head.
#[derive(Debug)]
pub struct Elevator {
    depth: usize,
    seen: BTreeMap<(u64, u64), (Waiting, usize)>,
    outside: VecDeque<Waiting>,
}

impl Elevator {
    /// An empty queue of which the disk sees `depth` requests.
    pub fn new(depth: usize) -> Self {
        Self { depth, seen: BTreeMap::new(), outside: VecDeque::new() }
    }

    /// How many later requests may overtake one.
    pub fn patience(&self) -> usize {
        2 * self.depth
    }

    /// Requests that wait.
    pub fn len(&self) -> usize {
        self.seen.len() + self.outside.len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes a request.
    pub fn push(&mut self, waiting: Waiting) {
        self.outside.push_back(waiting);
        self.admit();
    }

    /// The request that is served next, with the head where it is; it waits no longer.
    pub fn pop(&mut self, head: &Head) -> Option<Waiting> {
        let key =
            self.overdue().or_else(|| self.buffered(head)).or_else(|| self.next(head.at()))?;
        let (chosen, _) = self.seen.remove(&key)?;
        for (waiting, overtaken) in self.seen.values_mut() {
            if waiting.id < chosen.id {
                *overtaken += 1;
            }
        }
        self.admit();
        Some(chosen)
    }

    /// The oldest of those that were overtaken often enough.
    fn overdue(&self) -> Option<(u64, u64)> {
        let patience = self.patience();
        let late = self.seen.iter().filter(|(_, (_, overtaken))| *overtaken >= patience);
        late.map(|(key, _)| *key).min_by_key(|(_, id)| *id)
    }

    fn buffered(&self, head: &Head) -> Option<(u64, u64)> {
        let (key, (waiting, _)) = self.seen.range((head.buffered_from(), 0)..).next()?;
        (head.way(waiting.offset, waiting.bytes) == Way::Passed).then_some(*key)
    }

    fn next(&self, at: u64) -> Option<(u64, u64)> {
        let ahead = self.seen.range((at, 0)..).next();
        ahead.or_else(|| self.seen.iter().next()).map(|(key, _)| *key)
    }

    fn admit(&mut self) {
        while self.seen.len() < self.depth {
            let Some(waiting) = self.outside.pop_front() else { return };
            self.seen.insert((waiting.offset, waiting.id), (waiting, 0));
        }
    }
}
