//! A fixed amount of aligned memory, handed out in blocks of one size.
//!
//! The pool is the memory budget: who wants a block when none is free waits, and a dropped block is
//! free again. Pages are only touched when a block is first used, so an unused pool costs nothing.
#![allow(unsafe_code)]

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::ALIGN;
use crate::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A pool of blocks; clones share the same memory.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    base: NonNull<u8>,
    mapped_bytes: usize,
    block_bytes: usize,
    blocks: usize,
    state: Mutex<State>,
    freed: Condvar,
}

struct State {
    /// Last in, first out: blocks used lately are in the caches and in touched pages.
    free: Vec<u32>,
    peak_used: usize,
    closed: bool,
    /// How often a block was taken.
    taken: u64,
    waiting: usize,
    /// Number of notifications.
    told: u64,
}

/// How a wait for a block ended.
pub enum Taken {
    /// With a block.
    Block(Block),
    /// With a notification.
    Told,
    /// With [`Pool::close`].
    Closed,
}

/// Where a pool stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// Number of blocks.
    pub blocks: usize,
    /// Free blocks.
    pub free: usize,
    /// How many wait for one.
    pub waiting: usize,
    /// How often a block was taken since the pool was made.
    pub taken: u64,
}

// SAFETY: `base` points to a private mapping that lives as long as `Inner`; which block of it belongs
// to whom is decided under the mutex, and a block is never in two hands.
unsafe impl Send for Inner {}
// SAFETY: as above; shared access goes through the mutex only.
unsafe impl Sync for Inner {}

impl Pool {
    /// A pool of `blocks` blocks of `block_bytes` bytes.
    ///
    /// # Panics
    /// If either is zero, `block_bytes` is no multiple of [`ALIGN`], or there are over 2^32 blocks.
    pub fn new(blocks: usize, block_bytes: usize) -> io::Result<Self> {
        assert!(blocks > 0 && block_bytes > 0 && block_bytes.is_multiple_of(ALIGN));
        assert!(u32::try_from(blocks).is_ok());
        let mapped_bytes = blocks
            .checked_mul(block_bytes)
            .ok_or(io::ErrorKind::OutOfMemory)?
            .next_multiple_of(2 << 20);
        // SAFETY: a fresh private anonymous mapping; nothing else refers to it.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )?
        };
        // Huge pages, because the distribution writes to many places. A refusal costs only speed.
        // SAFETY: the range is the mapping made above.
        let _ = unsafe { madvise(base, mapped_bytes, Advice::LinuxHugepage) };
        let base = NonNull::new(base.cast::<u8>()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self(Arc::new(Inner {
            base,
            mapped_bytes,
            block_bytes,
            blocks,
            state: Mutex::new(State {
                free: (0..blocks as u32).rev().collect(),
                peak_used: 0,
                closed: false,
                taken: 0,
                waiting: 0,
                told: 0,
            }),
            freed: Condvar::new(),
        })))
    }

    /// Bytes in each block.
    pub fn block_bytes(&self) -> usize {
        self.0.block_bytes
    }

    /// Number of blocks, free or not.
    pub fn blocks(&self) -> usize {
        self.0.blocks
    }

    /// Number of blocks free now.
    pub fn free(&self) -> usize {
        self.0.lock().free.len()
    }

    /// The most blocks that were ever in use together.
    pub fn peak_used(&self) -> usize {
        self.0.lock().peak_used
    }

    /// Where it stands now.
    pub fn level(&self) -> Level {
        let state = self.0.lock();
        let State { ref free, waiting, taken, .. } = *state;
        Level { blocks: self.0.blocks, free: free.len(), waiting, taken }
    }

    /// A block if one is free.
    pub fn try_take(&self) -> Option<Block> {
        self.take_leaving(0)
    }

    /// A block if more than `reserve` are free.
    pub fn take_leaving(&self, reserve: usize) -> Option<Block> {
        let mut state = self.0.lock();
        if state.free.len() <= reserve {
            return None;
        }
        self.0.pop(&mut state).map(|index| self.block(index))
    }

    /// A block, waiting for one if need be, and how long that took; `None` after [`Pool::close`].
    pub fn take(&self) -> Option<(Block, Duration)> {
        let mut waited = Duration::ZERO;
        match self.wait(None, &mut waited) {
            Taken::Block(block) => Some((block, waited)),
            Taken::Told | Taken::Closed => None,
        }
    }

    /// A block; waits for one unless a notification came since the count was `heard`. Adds the time
    /// waited to `waited`.
    pub fn take_or_hear(&self, heard: u64, waited: &mut Duration) -> Taken {
        self.wait(Some(heard), waited)
    }

    fn wait(&self, heard: Option<u64>, waited: &mut Duration) -> Taken {
        let mut state = self.0.lock();
        let mut start = None;
        let taken = loop {
            if state.closed {
                break Taken::Closed;
            }
            if let Some(index) = self.0.pop(&mut state) {
                break Taken::Block(self.block(index));
            }
            if heard.is_some_and(|heard| heard != state.told) {
                break Taken::Told;
            }
            start.get_or_insert_with(Instant::now);
            state.waiting += 1;
            state = self.0.freed.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
        };
        *waited += start.map_or(Duration::ZERO, |start| start.elapsed());
        taken
    }

    /// Number of notifications so far.
    pub fn told(&self) -> u64 {
        self.0.lock().told
    }

    /// Wakes who waits in [`Pool::take_or_hear`]: there may be another way to a block now.
    pub fn tell(&self) {
        self.0.lock().told += 1;
        self.0.freed.notify_all();
    }

    /// Wakes all who wait for a block: there will be none (the work is being abandoned).
    pub fn close(&self) {
        self.0.lock().closed = true;
        self.0.freed.notify_all();
    }

    fn block(&self, index: u32) -> Block {
        // SAFETY: `index < blocks`, so the block lies inside the mapping.
        let start = unsafe { self.0.base.add(index as usize * self.0.block_bytes) };
        Block { start, index, pool: Arc::clone(&self.0) }
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pop(&self, state: &mut State) -> Option<u32> {
        let index = state.free.pop()?;
        state.taken += 1;
        state.peak_used = state.peak_used.max(self.blocks - state.free.len());
        Some(index)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: every block holds an `Arc` to this, so none is left; the range is our mapping.
        let _ = unsafe { munmap(self.base.as_ptr().cast(), self.mapped_bytes) };
    }
}

/// A block of aligned memory, given back to its pool when dropped. Its contents are whatever the
/// last user left.
pub struct Block {
    start: NonNull<u8>,
    index: u32,
    pool: Arc<Inner>,
}

// SAFETY: a block is the only handle to its part of the mapping.
unsafe impl Send for Block {}
// SAFETY: shared references only allow reading.
unsafe impl Sync for Block {}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the memory is mapped (zeroed at first), this long, and only ours.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.pool.block_bytes) }
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.pool.block_bytes) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        self.pool.lock().free.push(self.index);
        self.pool.freed.notify_one();
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({} of {} bytes)", self.index, self.pool.block_bytes)
    }
}
