//! A kernel I/O queue with waits that end when the sort does.

use std::io;
use std::time::Duration;

use rawio::{Backend, Completion, Method, Queue, Request};

use crate::error::SortError;
use crate::phases::stage::Shared;

/// How soon a wait sees that the sort is being abandoned.
const LOOK: Duration = Duration::from_millis(100);

/// The requests of one thread, which the watchdog sees. To be used by the thread that made it.
pub(crate) struct Transfers<'a> {
    queue: Queue,
    shared: &'a Shared<'a>,
}

impl<'a> Transfers<'a> {
    /// Room for `depth` requests in flight.
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        (depth, backend): (usize, Backend),
    ) -> Result<Self, SortError> {
        let refused = |source| SortError::Refused { what: "an I/O queue", source };
        Ok(Self { queue: Queue::new(depth, backend).map_err(refused)?, shared })
    }

    pub(crate) fn depth(&self) -> usize {
        self.queue.depth()
    }

    pub(crate) fn method(&self) -> Method {
        self.queue.method()
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.queue.is_full()
    }

    pub(crate) fn submit(&mut self, request: Request) -> io::Result<()> {
        self.queue.submit(request)?;
        self.shared.begun(1);
        Ok(())
    }

    /// Waits for a request to end; `None` if none is in flight, or the sort is being abandoned.
    pub(crate) fn wait(&mut self) -> io::Result<Option<Completion>> {
        while self.queue.in_flight() > 0 {
            if let Some(completion) = self.queue.wait_for(LOOK)? {
                self.shared.ended(1);
                return Ok(Some(completion));
            }
            if self.shared.is_failed() {
                break;
            }
        }
        Ok(None)
    }
}

impl Drop for Transfers<'_> {
    fn drop(&mut self) {
        self.shared.ended(self.queue.in_flight());
    }
}
