//! Requests on one `io_uring`.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, types};
use rustix::io::Errno;

use crate::ALIGN;
use crate::request::{Completion, Operation, Request};

pub(crate) struct Uring {
    ring: IoUring,
    slots: Vec<Option<InFlight>>,
    free: Vec<usize>,
    ready: VecDeque<Completion>,
    patience: Duration,
}

struct InFlight {
    request: Request,
    done: usize,
    /// Whether the file was direct when this was handed to the kernel.
    direct: bool,
}

/// Between two attempts to give the kernel what it had no resources for.
const PAUSE: Duration = Duration::from_millis(1);

impl Uring {
    /// A ring for `depth` requests. When it is dropped, requests that do not end within `patience` are
    /// left to the kernel, with their memory.
    pub(crate) fn new(depth: usize, patience: Duration) -> io::Result<Self> {
        let entries = (depth as u32).next_power_of_two();
        // One thread submits and reaps: the kernel then runs completions only when we look.
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(entries)
            .or_else(|_| IoUring::new(entries))?;
        Ok(Self {
            ring,
            slots: (0..depth).map(|_| None).collect(),
            free: (0..depth).rev().collect(),
            ready: VecDeque::new(),
            patience,
        })
    }

    /// Queues a request. Whatever the kernel says to it comes with its completion, or, if the ring
    /// itself fails, from [`Uring::wait`].
    pub(crate) fn submit(&mut self, request: Request) -> io::Result<()> {
        let slot = self.free.pop().ok_or(io::ErrorKind::QuotaExceeded)?;
        self.slots[slot] = Some(InFlight { request, done: 0, direct: false });
        if let Err(error) = self.push(slot) {
            self.slots[slot] = None;
            self.free.push(slot);
            return Err(error);
        }
        // If the kernel refuses it now, it stays queued: `wait` submits it again.
        let _ = self.ring.submit();
        Ok(())
    }

    /// Queues what is left of the request in `slot`. Fails only if nothing was queued.
    fn push(&mut self, slot: usize) -> io::Result<()> {
        let Some(InFlight { request, done, direct }) = &mut self.slots[slot] else {
            return Err(io::ErrorKind::NotFound.into());
        };
        *direct = request.file.is_direct();
        let fd = types::Fd(request.file.fd());
        let offset = request.offset + *done as u64;
        let memory = &mut request.block[request.range.start + *done..request.range.end];
        let (pointer, length) = (memory.as_mut_ptr(), memory.len() as u32);
        let entry = match request.operation {
            Operation::Read => opcode::Read::new(fd, pointer, length).offset(offset).build(),
            Operation::Write => opcode::Write::new(fd, pointer, length).offset(offset).build(),
        };
        let entry = entry.user_data(slot as u64);
        // SAFETY: the block and the file of the entry stay in `slots[slot]` until its completion was
        // reaped (`Drop` waits for those that are left), so memory and descriptor stay valid.
        unsafe { self.ring.submission().push(&entry) }
            .map_err(|_| io::ErrorKind::QuotaExceeded.into())
    }

    /// The next completed request, if one completes within `limit`. An error means that the ring
    /// failed: requests in flight stay so.
    pub(crate) fn wait(&mut self, limit: Duration) -> io::Result<Option<Completion>> {
        let until = Instant::now() + limit;
        loop {
            if let Some(completion) = self.ready.pop_front() {
                return Ok(Some(completion));
            }
            let left = until.saturating_duration_since(Instant::now());
            self.enter(left)?;
            self.take_in();
            if self.ready.is_empty() && left.is_zero() {
                return Ok(None);
            }
        }
    }

    /// Hands over what is queued and waits for a completion, `limit` at most where the kernel can.
    fn enter(&self, limit: Duration) -> io::Result<()> {
        let timespec = types::Timespec::from(limit);
        let entered = if self.ring.params().is_feature_ext_arg() {
            let args = types::SubmitArgs::new().timespec(&timespec);
            self.ring.submitter().submit_with_args(1, &args)
        } else {
            self.ring.submit_and_wait(1)
        };
        let Err(error) = entered else { return Ok(()) };
        match Errno::from_io_error(&error) {
            Some(Errno::INTR | Errno::TIME) => Ok(()),
            // Out of resources, or of room for completions: what is there is taken in first.
            Some(Errno::AGAIN | Errno::BUSY) => {
                std::thread::sleep(PAUSE.min(limit));
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Collects every available completion.
    fn take_in(&mut self) {
        let reaped: Vec<(usize, i32)> =
            self.ring.completion().map(|e| (e.user_data() as usize, e.result())).collect();
        for (slot, result) in reaped {
            if let Some(result) = self.reap(slot, result)
                && let Some(InFlight { request, .. }) = self.slots[slot].take()
            {
                self.free.push(slot);
                self.ready.push_back(Completion { request, result });
            }
        }
    }

    /// How the request in `slot` ended; `None` if it goes on: a short transfer does, and a refused
    /// direct one does buffered.
    fn reap(&mut self, slot: usize, result: i32) -> Option<io::Result<usize>> {
        let in_flight = self.slots[slot].as_mut()?;
        let InFlight { request, done, direct } = in_flight;
        let goes_on = if result < 0 {
            let error = io::Error::from_raw_os_error(-result);
            match error.kind() {
                io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => {}
                io::ErrorKind::InvalidInput if *direct => request.file.clear_direct(),
                _ => return Some(Err(error)),
            }
            true
        } else {
            *done += result as usize;
            let at_end =
                request.operation == Operation::Read && *direct && !done.is_multiple_of(ALIGN);
            result > 0 && *done < request.range.len() && !at_end
        };
        if goes_on {
            // Not queued: it is ours again, and this is its end.
            return self.push(slot).err().map(Err);
        }
        if request.operation == Operation::Write && *done < request.range.len() {
            return Some(Err(io::ErrorKind::WriteZero.into()));
        }
        Some(Ok(*done))
    }

    /// Waits until the kernel has none of our requests, at most `patience` from one completion to
    /// the next. Returns whether that succeeded.
    fn settle(&mut self, patience: Duration) -> bool {
        let mut last = Instant::now();
        while self.free.len() < self.slots.len() {
            let Some(left) = patience.checked_sub(last.elapsed()) else { return false };
            if self.enter(left).is_err() {
                return false;
            }
            let slots: Vec<usize> =
                self.ring.completion().map(|e| e.user_data() as usize).collect();
            for slot in slots {
                if self.slots[slot].take().is_some() {
                    self.free.push(slot);
                    last = Instant::now();
                }
            }
        }
        true
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // The kernel may still write to the blocks: they are ours until it says it is done.
        if !self.settle(self.patience) {
            // Cannot tell what is in flight: leaking the memory is safe, reusing it is not.
            self.slots.drain(..).for_each(std::mem::forget);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, OpenOptions};
    use std::os::fd::AsRawFd;
    use std::sync::Arc;

    use super::*;
    use crate::{DirectFile, Pool};

    /// A read of a pipe, which does not end while the handle returned with it lives.
    fn endless(pool: &Pool) -> (Request, File) {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        let writer = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
        let file = Arc::new(DirectFile::open(&pipe, false).unwrap());
        let block = pool.try_take().unwrap();
        let operation = Operation::Read;
        (Request { operation, file, offset: 0, block, range: 0..ALIGN, tag: 0 }, writer)
    }

    fn ring(depth: usize) -> Option<Uring> {
        Uring::new(depth, Duration::from_millis(50)).ok()
    }

    #[test]
    fn a_request_that_never_ends_does_not_keep_the_ring_from_being_dropped() {
        let Some(mut uring) = ring(1) else { return };
        let pool = Pool::new(1, ALIGN).unwrap();
        let (read, _writer) = endless(&pool);
        uring.submit(read).unwrap();
        let start = Instant::now();
        drop(uring);
        assert!(start.elapsed() < Duration::from_secs(10));
        assert_eq!(pool.free(), 0, "the kernel may still write to this block");
    }

    #[test]
    fn a_ring_that_fails_says_so_and_keeps_what_it_was_given() {
        let Some(mut uring) = ring(2) else { return };
        let pool = Pool::new(2, ALIGN).unwrap();
        let (read, _writer) = endless(&pool);
        // From now on the ring's handle leads elsewhere, and the kernel refuses every call.
        let null = File::open("/dev/null").unwrap();
        // SAFETY: both are open handles, and the one replaced is the ring's own.
        assert!(unsafe { libc::dup2(null.as_raw_fd(), uring.ring.as_raw_fd()) } >= 0);
        uring.submit(read).unwrap();
        assert!(uring.wait(Duration::from_secs(5)).is_err());
        drop(uring);
        assert_eq!(pool.free(), 1, "the kernel may still have it");
    }

    /// If one of several collected completions can't be resubmitted, the others are still handled.
    #[test]
    fn every_completion_of_a_reap_is_taken_in() {
        let Some(mut uring) = ring(3) else { return };
        let dir = tempfile::tempdir().unwrap();
        let pool = Pool::new(3, ALIGN).unwrap();
        for tag in 0..3 {
            let path = dir.path().join(format!("{tag}"));
            std::fs::write(&path, [0; ALIGN]).unwrap();
            let file = Arc::new(DirectFile::open(&path, false).unwrap());
            let block = pool.try_take().unwrap();
            let operation = if tag == 1 { Operation::Write } else { Operation::Read };
            let request = Request { operation, file, offset: 0, block, range: 0..ALIGN, tag };
            uring.submit(request).unwrap();
        }
        let mut ends: Vec<(u64, bool)> = (0..3)
            .map(|_| uring.wait(Duration::from_secs(30)).unwrap().unwrap())
            .map(|ended| (ended.request.tag, ended.result.is_ok()))
            .collect();
        ends.sort_unstable();
        assert_eq!(ends, [(0, true), (1, false), (2, true)]);
        assert_eq!(pool.free(), 3);
    }
}
