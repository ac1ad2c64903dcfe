//! A memory reserve for an orderly end when memory runs out.
//!
//! Rust ends a program immediately, by SIGABRT, when a small allocation fails, and its temporary
//! files stay. Here such an allocation is served from a reserve, and the command is asked to stop
//! as by a signal: it removes its unfinished output and reports why. A command that exhausts the
//! reserve before it checks whether to stop ends immediately, but with the same error; no command
//! takes that much once it has begun to write.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::UnsafeCell;
use std::ptr;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::events::{EXIT_USER, Failure};

/// Several times the memory that an orderly end takes. Until used, it is only address space.
const RESERVE_BYTES: usize = 4 << 20;

#[repr(align(4096))]
struct Reserve(UnsafeCell<[u8; RESERVE_BYTES]>);

// SAFETY: parts of it are returned, each once, and no other code reads its bytes.
unsafe impl Sync for Reserve {}

static RESERVE: Reserve = Reserve(UnsafeCell::new([0; RESERVE_BYTES]));
/// Bytes of the reserve that were handed out; they do not come back.
static USED: AtomicUsize = AtomicUsize::new(0);
pub const CODE: &str = "VEN-AGENT-MEMORY";
const HINT: &str = "raise what limits it (ulimit -v, ulimit -d, memory.max of the control group), \
                        or use less: --memory, --threads, fewer files of input";

/// Raised when the reserve is used for the first time.
static STOP: OnceLock<Arc<AtomicBool>> = OnceLock::new();

/// The flag to raise when there is no more memory; the first counts.
pub fn stop_by(flag: Arc<AtomicBool>) {
    let _ = STOP.set(flag);
}

/// Whether there was no more memory.
pub fn is_used() -> bool {
    USED.load(Ordering::Relaxed) > 0
}

/// The error of a command that was stopped because memory ran out.
pub fn failure() -> Failure {
    Failure {
        code: CODE,
        message: "there was no more memory; partial results were removed".to_owned(),
        place: serde_json::Value::Null,
        hint: HINT.to_owned(),
        exit: EXIT_USER,
    }
}

/// Says that there is no more memory, in few words and without any, and ends the process.
fn end() -> ! {
    for part in [
        "{\"event\":\"error\",\"code\":\"",
        CODE,
        "\",\"message\":\"there is no more memory\",\"where\":null,\"hint\":\"",
        HINT,
        "\"}\n",
    ] {
        let _ = rustix::io::write(rustix::stdio::stdout(), part.as_bytes());
    }
    for part in ["error[", CODE, "]: there is no more memory\n  hint: ", HINT, "\n"] {
        let _ = rustix::io::write(rustix::stdio::stderr(), part.as_bytes());
    }
    signal_hook::low_level::exit(EXIT_USER.into())
}

/// The system's allocator, and behind it the reserve.
pub struct WithReserve;

impl WithReserve {
    fn from_reserve(layout: Layout) -> *mut u8 {
        let mut place = ptr::null_mut();
        let taken = USED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            let start = used.next_multiple_of(layout.align());
            let end = start.checked_add(layout.size())?;
            // SAFETY: `start` is within the reserve, or its end.
            place = (end <= RESERVE_BYTES)
                .then(|| unsafe { RESERVE.0.get().cast::<u8>().add(start) })?;
            Some(end)
        });
        if let Some(stop) = STOP.get() {
            stop.store(true, Ordering::Relaxed);
        }
        if taken.is_err() {
            end();
        }
        place
    }

    fn is_ours(pointer: *mut u8) -> bool {
        let start = RESERVE.0.get() as usize;
        (start..start + RESERVE_BYTES).contains(&(pointer as usize))
    }
}

// SAFETY: memory from the system goes back to it; memory from the reserve is aligned, within it,
// returned once and never reused.
unsafe impl GlobalAlloc for WithReserve {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let given = unsafe { System.alloc(layout) };
        if given.is_null() { Self::from_reserve(layout) } else { given }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let given = unsafe { System.alloc_zeroed(layout) };
        // The reserve is zero where it was not handed out.
        if given.is_null() { Self::from_reserve(layout) } else { given }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if !Self::is_ours(pointer) {
            // SAFETY: as the caller promises; it is the system's.
            unsafe { System.dealloc(pointer, layout) }
        }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !Self::is_ours(pointer) {
            // SAFETY: as the caller promises; it is the system's.
            let given = unsafe { System.realloc(pointer, layout, size) };
            if !given.is_null() {
                return given;
            }
        }
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return ptr::null_mut();
        };
        // SAFETY: `wanted` is not empty, as the caller promises of `size`.
        let moved = unsafe { self.alloc(wanted) };
        if !moved.is_null() {
            // SAFETY: both have that size, and no other code uses the new one.
            unsafe { ptr::copy_nonoverlapping(pointer, moved, layout.size().min(size)) };
            // SAFETY: as the caller promises; it is not used any more.
            unsafe { self.dealloc(pointer, layout) };
        }
        moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_refuses_comes_of_the_reserve_and_asks_to_stop() {
        let stop = Arc::new(AtomicBool::new(false));
        stop_by(Arc::clone(&stop));
        assert!(!is_used() && !stop.load(Ordering::Relaxed));
        let few = Layout::from_size_align(3, 1).unwrap();
        let page = Layout::from_size_align(5000, 4096).unwrap();
        let (first, second) = (WithReserve::from_reserve(few), WithReserve::from_reserve(page));
        assert!(is_used() && stop.load(Ordering::Relaxed));
        assert!(WithReserve::is_ours(first) && second as usize >= first as usize + 3);
        assert_eq!(second as usize % 4096, 0);
        // SAFETY: three bytes that are ours, given away once, and twice as many after.
        let content = unsafe {
            first.copy_from_nonoverlapping(b"abc".as_ptr(), 3);
            let grown = WithReserve.realloc(first, few, 6);
            WithReserve.dealloc(second, page);
            std::slice::from_raw_parts(grown, 3)
        };
        assert_eq!(content, b"abc");
        assert!(!WithReserve::is_ours(content.as_ptr().cast_mut()), "the system has memory again");
    }
}
