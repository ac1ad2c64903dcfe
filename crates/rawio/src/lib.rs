//! Direct I/O for the sort engine and for DiskBench: aligned memory, files opened past the page
//! cache, and request queues on `io_uring`. If a kernel or a file system refuses one of these, the
//! next best is used, and [`Queue::method`] names it. Measuring and sorting share this path, so a
//! sort can reach the rates that DiskBench reports. Both also make their threads here: all of them
//! or none ([`Crew`]).

mod crew;
mod file;
mod pool;
mod queue;
mod request;
mod start_line;
mod sync;
mod threads;
mod uring;

pub use crew::{Crew, REFUSED, REFUSED_HINT, side_by_side};
pub use file::{DirectFile, available_bytes, file_system_id, is_no_space, sync_dir};
pub use pool::{Block, Level, Pool, Taken};
pub use queue::{Backend, Method, Queue};
pub use request::{Completion, Operation, Request};

/// Memory, offsets and lengths of direct I/O are multiples of this many bytes.
pub const ALIGN: usize = 4096;

/// `value` rounded up to a multiple of [`ALIGN`].
pub const fn align_up(value: usize) -> usize {
    value.next_multiple_of(ALIGN)
}
