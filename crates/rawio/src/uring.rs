//! Requests on one `io_uring`.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::io;

use io_uring::{IoUring, opcode, types};

use crate::ALIGN;
use crate::request::{Completion, Operation, Request};

pub(crate) struct Uring {
    ring: IoUring,
    slots: Vec<Option<InFlight>>,
    free: Vec<usize>,
    ready: VecDeque<Completion>,
}

struct InFlight {
    request: Request,
    done: usize,
}

impl Uring {
    pub(crate) fn new(depth: usize) -> io::Result<Self> {
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
        })
    }

    pub(crate) fn submit(&mut self, request: Request) -> io::Result<()> {
        let slot = self.free.pop().ok_or(io::ErrorKind::QuotaExceeded)?;
        self.slots[slot] = Some(InFlight { request, done: 0 });
        self.push(slot)
    }

    /// Hands what is left of the request in `slot` to the kernel.
    fn push(&mut self, slot: usize) -> io::Result<()> {
        let Some(InFlight { request, done }) = &mut self.slots[slot] else {
            return Err(io::ErrorKind::NotFound.into());
        };
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
            .map_err(|_| io::Error::from(io::ErrorKind::QuotaExceeded))?;
        self.ring.submit()?;
        Ok(())
    }

    pub(crate) fn wait(&mut self) -> io::Result<Completion> {
        loop {
            if let Some(completion) = self.ready.pop_front() {
                return Ok(completion);
            }
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            let reaped: Vec<(usize, i32)> =
                self.ring.completion().map(|e| (e.user_data() as usize, e.result())).collect();
            for (slot, result) in reaped {
                self.reap(slot, result)?;
            }
        }
    }

    /// Takes in one completion: a short transfer goes on, a refused direct one goes on buffered.
    fn reap(&mut self, slot: usize, result: i32) -> io::Result<()> {
        let Some(in_flight) = &mut self.slots[slot] else {
            return Ok(());
        };
        let wanted = in_flight.request.range.len();
        let result = if result < 0 {
            let error = io::Error::from_raw_os_error(-result);
            let again = match error.kind() {
                io::ErrorKind::Interrupted | io::ErrorKind::WouldBlock => true,
                io::ErrorKind::InvalidInput if in_flight.request.file.is_direct() => {
                    in_flight.request.file.clear_direct();
                    true
                }
                _ => false,
            };
            if again {
                return self.push(slot);
            }
            Err(error)
        } else {
            in_flight.done += result as usize;
            let more = result > 0 && in_flight.done < wanted;
            let at_end = in_flight.request.operation == Operation::Read
                && in_flight.request.file.is_direct()
                && !in_flight.done.is_multiple_of(ALIGN);
            if more && !at_end {
                return self.push(slot);
            }
            if in_flight.request.operation == Operation::Write && in_flight.done < wanted {
                Err(io::ErrorKind::WriteZero.into())
            } else {
                Ok(in_flight.done)
            }
        };
        if let Some(InFlight { request, .. }) = self.slots[slot].take() {
            self.free.push(slot);
            self.ready.push_back(Completion { request, result });
        }
        Ok(())
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // The kernel may still write to the blocks: they are ours until it says it is done.
        while self.slots.iter().any(Option::is_some) {
            match self.ring.submit_and_wait(1) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => {
                    // Cannot tell what is in flight: leaking the memory is safe, reusing it is not.
                    self.slots.drain(..).for_each(std::mem::forget);
                    return;
                }
                Ok(_) => {}
            }
            let slots: Vec<usize> =
                self.ring.completion().map(|e| e.user_data() as usize).collect();
            for slot in slots {
                self.slots[slot] = None;
            }
        }
    }
}
