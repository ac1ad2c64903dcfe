//! Detects and reports a stalled sort.
//!
//! Work progresses when a block passes between two stages or a request comes back from the kernel.
//! If neither happens, no request is with the kernel and the CPUs are idle, all threads wait for
//! each other, and that will not change. With a request in the kernel (drivers retry a failing disk
//! for minutes) or a busy CPU (a very large partition), the patience is [`BUSY_FACTOR`] times as
//! long.

use std::fmt::Write;
use std::time::{Duration, Instant};

use rawio::Pool;
use rustix::time::{ClockId, clock_gettime};

use crate::error::SortError;
use crate::io::queue::ByteQueue;
use crate::phases::stage::Shared;

/// Factor on the patience while the kernel or a CPU is busy.
const BUSY_FACTOR: u32 = 20;
/// Time between two looks at the gauges, at the most.
const LOOK: Duration = Duration::from_secs(1);
/// Processors are idle if they were used for less than one part in so many of the time.
const IDLE_PARTS: u32 = 10;

/// How often something has passed, and how things stand.
type Gauge<'s> = Box<dyn Fn() -> (u64, String) + Send + 's>;

/// The queues and pools of a phase.
#[derive(Default)]
pub(crate) struct Gauges<'s>(Vec<(String, Gauge<'s>)>);

impl<'s> Gauges<'s> {
    pub(crate) fn queue<T: Send>(mut self, name: &str, queue: &'s ByteQueue<T>) -> Self {
        let look = move || {
            let level = queue.level();
            let mut text = format!("{} queued ({} bytes)", level.items, level.bytes);
            for (count, what) in [
                (level.producers, "to add more"),
                (level.blocked, "waiting to add"),
                (level.idle, "waiting to take"),
            ] {
                if count > 0 {
                    let _ = write!(text, ", {count} {what}");
                }
            }
            (level.passed, text)
        };
        self.0.push((name.to_owned(), Box::new(look)));
        self
    }

    /// Queues of the same kind, one for each directory.
    pub(crate) fn queues<T: Send>(self, name: &str, queues: &'s [ByteQueue<T>]) -> Self {
        queues
            .iter()
            .enumerate()
            .fold(self, |gauges, (number, queue)| gauges.queue(&format!("{name} {number}"), queue))
    }

    pub(crate) fn pool(mut self, name: &str, pool: &'s Pool) -> Self {
        let look = move || {
            let level = pool.level();
            let waiting = level.waiting;
            let text = format!("{} of {} blocks free, {waiting} waiting", level.free, level.blocks);
            (level.taken, text)
        };
        self.0.push((name.to_owned(), Box::new(look)));
        self
    }
}

/// How long a phase has stood still.
pub(crate) struct Stall<'a> {
    shared: &'a Shared<'a>,
    looked: Instant,
    stood: Duration,
    /// Items passed and CPU time used at the last progress.
    passed: u64,
    used: Duration,
}

impl<'a> Stall<'a> {
    pub(crate) fn new(shared: &'a Shared<'a>) -> Self {
        let (looked, used) = (Instant::now(), processor_time());
        Self { shared, looked, stood: Duration::ZERO, passed: 0, used }
    }

    /// The error, if the phase has stalled for too long.
    pub(crate) fn look(&mut self, gauges: &Gauges<'_>) -> Option<SortError> {
        let patience = self.shared.patience;
        let step = LOOK.min(patience / 10);
        let since = self.looked.elapsed();
        if patience.is_zero() || since < step {
            return None;
        }
        self.looked = Instant::now();
        let (with_kernel, from_kernel) = self.shared.kernel();
        let seen: Vec<(u64, String)> = gauges.0.iter().map(|(_, look)| look()).collect();
        let passed = from_kernel + seen.iter().map(|(passed, _)| passed).sum::<u64>();
        if passed != self.passed {
            (self.passed, self.stood, self.used) = (passed, Duration::ZERO, processor_time());
            return None;
        }
        // Only what we were there for: the process may have been stopped for hours.
        self.stood += since.min(2 * step);
        let used = processor_time().saturating_sub(self.used);
        let busy = with_kernel > 0 || used > self.stood / IDLE_PARTS;
        if self.stood < if busy { patience * BUSY_FACTOR } else { patience } {
            return None;
        }
        let mut state = format!("{with_kernel} requests with the kernel; threads:");
        for (name, count) in self.shared.alive() {
            let _ = write!(state, " {name} {count}");
        }
        for ((name, _), (_, text)) in gauges.0.iter().zip(seen) {
            let _ = write!(state, "; {name}: {text}");
        }
        Some(SortError::Stalled { stood_s: self.stood.as_secs_f64(), state })
    }
}

/// Processor time of all threads of this process.
fn processor_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
