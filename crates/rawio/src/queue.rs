//! Requests in flight on one thread, with one interface over the ways a kernel offers.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::request::{Completion, Request};
use crate::threads::Threads;
use crate::uring::Uring;

/// Which way to the kernel is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// `io_uring`, and blocking calls on threads where it is refused.
    #[default]
    Auto,
    /// Blocking calls (`pread`, `pwrite`) on one thread for each request in flight.
    Threads,
}

/// Which way to the kernel is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// One `io_uring`.
    IoUring,
    /// Blocking calls on threads.
    Posix,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::IoUring => "io_uring",
            Self::Posix => "posix",
        })
    }
}

/// How long a queue that is dropped waits for a request that is in flight to end. A disk that answers
/// later than this has failed, as the kernel's own limit for a command is the same.
const PATIENCE: Duration = Duration::from_secs(30);

/// Up to `depth` requests in flight. Completions come in any order, one for each request, with its
/// block. Dropping a queue waits for those in flight, but not for ever: the memory of one that does
/// not end is never used again.
pub struct Queue {
    inner: Inner,
    depth: usize,
    in_flight: usize,
}

enum Inner {
    Uring(Box<Uring>),
    Threads(Threads),
}

impl Queue {
    /// A queue for `depth` requests; to be used by the thread that made it.
    ///
    /// # Panics
    /// If `depth` is zero.
    pub fn new(depth: usize, backend: Backend) -> io::Result<Self> {
        assert!(depth > 0);
        let uring = match backend {
            Backend::Auto => Uring::new(depth, PATIENCE).ok(),
            Backend::Threads => None,
        };
        let inner = match uring {
            Some(uring) => Inner::Uring(Box::new(uring)),
            None => Inner::Threads(Threads::new(depth, PATIENCE)?),
        };
        Ok(Self { inner, depth, in_flight: 0 })
    }

    /// Which way to the kernel this queue uses.
    pub fn method(&self) -> Method {
        match self.inner {
            Inner::Uring(_) => Method::IoUring,
            Inner::Threads(_) => Method::Posix,
        }
    }

    /// How many requests may be in flight.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// Whether another request must wait for a completion.
    pub fn is_full(&self) -> bool {
        self.in_flight == self.depth
    }

    /// Starts a request. On error, it was not started; the outcome of a started one comes with its
    /// completion.
    ///
    /// # Panics
    /// If the queue is full or the range lies outside the block: errors of the caller.
    pub fn submit(&mut self, request: Request) -> io::Result<()> {
        assert!(!self.is_full(), "queue is full");
        assert!(request.range.end <= request.block.len() && !request.range.is_empty());
        match &mut self.inner {
            Inner::Uring(uring) => uring.submit(request)?,
            Inner::Threads(threads) => threads.submit(request)?,
        }
        self.in_flight += 1;
        Ok(())
    }

    /// Waits for a request to end; `None` if none is in flight.
    pub fn wait(&mut self) -> io::Result<Option<Completion>> {
        while self.in_flight > 0 {
            if let Some(completion) = self.wait_for(PATIENCE)? {
                return Ok(Some(completion));
            }
        }
        Ok(None)
    }

    /// Waits for a request to end, `limit` at most; `None` if none did, or none is in flight.
    pub fn wait_for(&mut self, limit: Duration) -> io::Result<Option<Completion>> {
        if self.in_flight == 0 {
            return Ok(None);
        }
        let completion = match &mut self.inner {
            Inner::Uring(uring) => uring.wait(limit)?,
            Inner::Threads(threads) => threads.wait(limit)?,
        };
        self.in_flight -= usize::from(completion.is_some());
        Ok(completion)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::{ALIGN, DirectFile, Operation, Pool};

    fn round_trip(backend: Backend, direct: bool) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let pool = Pool::new(8, 4 * ALIGN).unwrap();
        let file = Arc::new(DirectFile::create_new(&path, direct).unwrap());
        let mut queue = Queue::new(4, backend).unwrap();
        let count = 20_u64;
        let mut done = 0;
        for n in 0..count {
            if queue.is_full() {
                queue.wait().unwrap().unwrap().result.unwrap();
                done += 1;
            }
            let mut block = pool.try_take().unwrap();
            block.fill(n as u8);
            let range = 0..block.len();
            let offset = n * block.len() as u64;
            queue
                .submit(Request {
                    operation: Operation::Write,
                    file: Arc::clone(&file),
                    offset,
                    block,
                    range,
                    tag: n,
                })
                .unwrap();
        }
        while let Some(completion) = queue.wait().unwrap() {
            assert_eq!(completion.result.unwrap(), 4 * ALIGN);
            done += 1;
        }
        assert_eq!(done, count);
        // The last request reads past the end: 3.5 blocks exist after this.
        let odd = 3 * 4 * ALIGN as u64 + 100;
        file.truncate(odd).unwrap();
        for n in 0..4_u64 {
            let block = pool.try_take().unwrap();
            let range = 0..block.len();
            let offset = n * block.len() as u64;
            let file = Arc::clone(&file);
            queue
                .submit(Request { operation: Operation::Read, file, offset, block, range, tag: n })
                .unwrap();
        }
        while let Some(completion) = queue.wait().unwrap() {
            let n = completion.request.tag;
            let read = completion.result.unwrap();
            assert_eq!(read, if n == 3 { 100 } else { 4 * ALIGN });
            assert!(completion.request.block[..read].iter().all(|&x| x == n as u8));
        }
        assert_eq!(pool.free(), 8);
    }

    #[test]
    fn what_was_written_is_read_by_every_method() {
        for backend in [Backend::Auto, Backend::Threads] {
            for direct in [true, false] {
                round_trip(backend, direct);
            }
        }
    }

    #[test]
    fn an_error_comes_back_with_its_request() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, b"x").unwrap();
        let file = Arc::new(DirectFile::open(&path, true).unwrap());
        for backend in [Backend::Auto, Backend::Threads] {
            let pool = Pool::new(1, ALIGN).unwrap();
            let mut queue = Queue::new(1, backend).unwrap();
            queue
                .submit(Request {
                    operation: Operation::Write, // opened for reading only
                    file: Arc::clone(&file),
                    offset: 0,
                    block: pool.try_take().unwrap(),
                    range: 0..ALIGN,
                    tag: 7,
                })
                .unwrap();
            let completion = queue.wait().unwrap().unwrap();
            assert!(completion.result.is_err());
            assert_eq!(completion.request.tag, 7);
        }
    }

    #[test]
    fn dropping_a_busy_queue_gives_the_memory_back() {
        let dir = tempfile::tempdir().unwrap();
        let file = Arc::new(DirectFile::anonymous(dir.path(), true).unwrap());
        for backend in [Backend::Auto, Backend::Threads] {
            let pool = Pool::new(4, ALIGN).unwrap();
            let mut queue = Queue::new(4, backend).unwrap();
            for n in 0..4 {
                let block = pool.try_take().unwrap();
                let file = Arc::clone(&file);
                let offset = n * ALIGN as u64;
                queue
                    .submit(Request {
                        operation: Operation::Write,
                        file,
                        offset,
                        block,
                        range: 0..ALIGN,
                        tag: n,
                    })
                    .unwrap();
            }
            drop(queue);
            assert_eq!(pool.free(), 4);
        }
        assert_eq!(
            std::fs::read_dir(dir.path()).unwrap().count(),
            0,
            "a nameless file has no name"
        );
    }
}
