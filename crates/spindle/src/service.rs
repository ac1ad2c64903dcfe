//! The thread of a disk: it answers each request when the disk would have served it.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::io;
use std::num::NonZeroU64;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::elevator::Waiting;
use crate::image::Image;
use crate::mechanism::{Machine, Started};
use crate::stats::Stats;
use crate::{Nanos, seconds};

/// Receives the data read.
pub type OnRead = Box<dyn FnOnce(io::Result<&[u8]>) + Send>;
/// Called when a write has ended.
pub type OnWrite = Box<dyn FnOnce(io::Result<()>) + Send>;
/// Called when the writes before a flush have ended.
pub type OnFlush = Box<dyn FnOnce() + Send>;

enum Job {
    Read(OnRead),
    Write(OnWrite),
}

struct Submitted {
    arrival: Nanos,
    offset: u64,
    bytes: u64,
    job: Job,
}

#[derive(Default)]
struct Inbox {
    requests: Vec<Submitted>,
    flushes: Vec<OnFlush>,
    closed: bool,
}

struct Shared {
    image: Image,
    began: Instant,
    inbox: Mutex<Inbox>,
    arrived: Condvar,
    stats: Mutex<Stats>,
}

/// A disk at work. What is not answered when it is dropped is dropped with it.
pub struct Service {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Service {
    /// Starts the thread of a disk.
    pub fn start(name: &str, image: Image, machine: Machine) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            image,
            began: Instant::now(),
            inbox: Mutex::default(),
            arrived: Condvar::new(),
            stats: Mutex::default(),
        });
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new().name(format!("disk {name}")).spawn(move || {
            // A refusal costs only precision: wake-ups may then be 50 us late.
            let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
            Worker::new(&of_thread, machine).run();
        })?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Size of the disk.
    pub fn size_bytes(&self) -> u64 {
        self.shared.image.size_bytes()
    }

    /// Its counters so far.
    pub fn stats(&self) -> Stats {
        locked(&self.shared.stats).clone()
    }

    /// Bytes that the image takes, if known.
    pub fn allocated_bytes(&self) -> Option<u64> {
        self.shared.image.allocated_bytes().ok()
    }

    /// Reads; `offset + bytes` lies within the disk, `bytes` is above 0.
    pub fn read(&self, offset: u64, bytes: u64, done: OnRead) {
        let arrival = self.shared.now();
        self.submit(Submitted { arrival, offset, bytes, job: Job::Read(done) });
    }

    /// Writes, like `read`. The content is in the image immediately; `done` is called when the disk
    /// would have written it, or immediately on an error of the image.
    pub fn write(&self, offset: u64, data: &[u8], done: OnWrite) {
        let arrival = self.shared.now();
        if let Err(error) = self.shared.image.write(data, offset) {
            locked(&self.shared.stats).failed += 1;
            return done(Err(error));
        }
        let bytes = data.len() as u64;
        self.submit(Submitted { arrival, offset, bytes, job: Job::Write(done) });
    }

    /// Calls `done` when every earlier write has ended.
    pub fn flush(&self, done: OnFlush) {
        locked(&self.shared.inbox).flushes.push(done);
        self.shared.arrived.notify_one();
    }

    /// Frees the space of a range immediately: the disk only notes it.
    pub fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        let done = self.shared.image.discard(offset, bytes);
        let mut stats = locked(&self.shared.stats);
        match &done {
            Ok(()) => {
                stats.discards += 1;
                stats.discarded_bytes += bytes;
            }
            Err(_) => stats.failed += 1,
        }
        done
    }

    fn submit(&self, submitted: Submitted) {
        locked(&self.shared.inbox).requests.push(submitted);
        self.shared.arrived.notify_one();
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        locked(&self.shared.inbox).closed = true;
        self.shared.arrived.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn now(&self) -> Nanos {
        self.began.elapsed().as_nanos() as Nanos
    }
}

struct Worker<'a> {
    shared: &'a Shared,
    machine: Machine,
    next_id: u64,
    jobs: HashMap<u64, Job>,
    /// Results of reads being served.
    contents: HashMap<u64, io::Result<Vec<u8>>>,
    spare: Vec<Vec<u8>>,
    writing: BTreeSet<u64>,
    /// A flush waits for the writes with ids below its number.
    flushes: VecDeque<(u64, OnFlush)>,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared, machine: Machine) -> Self {
        Self {
            shared,
            machine,
            next_id: 0,
            jobs: HashMap::new(),
            contents: HashMap::new(),
            spare: Vec::new(),
            writing: BTreeSet::new(),
            flushes: VecDeque::new(),
        }
    }

    fn run(mut self) {
        let mut may_wait = true;
        while self.take(may_wait) {
            while let Some(started) = self.machine.start(self.shared.now()) {
                self.fetch(&started);
            }
            let now = self.shared.now();
            let ended = self.machine.finish(now);
            may_wait = ended.is_none();
            if let Some(ended) = ended {
                self.answer(&ended, now);
            }
        }
    }

    /// Takes what has come. If nothing has and it `may_wait`, waits for that or for the end of a
    /// request. False when the disk is closed.
    fn take(&mut self, may_wait: bool) -> bool {
        let mut inbox = locked(&self.shared.inbox);
        while may_wait && inbox.requests.is_empty() && inbox.flushes.is_empty() && !inbox.closed {
            let Some(due) = self.machine.due() else {
                let waited = self.shared.arrived.wait(inbox);
                inbox = waited.unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            let Some(left) = due.checked_sub(self.shared.now()).filter(|left| *left > 0) else {
                break;
            };
            let left = Duration::from_nanos(left);
            let waited = self.shared.arrived.wait_timeout(inbox, left);
            inbox = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if inbox.closed {
            return false;
        }
        let (requests, flushes) =
            (std::mem::take(&mut inbox.requests), std::mem::take(&mut inbox.flushes));
        drop(inbox);
        for submitted in requests {
            self.submit(submitted);
        }
        self.flushes.extend(flushes.into_iter().map(|done| (self.next_id, done)));
        self.end_flushes();
        true
    }

    fn submit(&mut self, submitted: Submitted) {
        let Submitted { arrival, offset, bytes, job } = submitted;
        let id = self.next_id;
        self.next_id += 1;
        if matches!(job, Job::Write(_)) {
            self.writing.insert(id);
        }
        self.jobs.insert(id, job);
        self.machine.submit(Waiting { id, arrival, offset, bytes });
        let mut stats = locked(&self.shared.stats);
        stats.queued = self.machine.queued();
        stats.queued_most = stats.queued_most.max(stats.queued);
    }

    /// Reads the content of a request while it is being served, so that it is there at its end.
    fn fetch(&mut self, started: &Started) {
        let Waiting { id, offset, bytes, .. } = started.request;
        if !matches!(self.jobs.get(&id), Some(Job::Read(_))) {
            return;
        }
        let mut buffer = self.spare.pop().unwrap_or_default();
        buffer.resize(bytes as usize, 0);
        let read = self.shared.image.read(&mut buffer, offset);
        self.contents.insert(id, read.map(|()| buffer));
    }

    fn answer(&mut self, ended: &Started, now: Nanos) {
        let Waiting { id, bytes, arrival, .. } = ended.request;
        let late_s = seconds(now.saturating_sub(ended.end));
        let mut stats = locked(&self.shared.stats);
        stats.queued = self.machine.queued();
        stats.seeks += u64::from(ended.positioned);
        stats.busy_s += seconds(ended.end - ended.begin);
        stats.waited_s += seconds(ended.begin.saturating_sub(arrival));
        stats.late_s += late_s;
        stats.late_most_s = stats.late_most_s.max(late_s);
        match self.jobs.remove(&id) {
            Some(Job::Read(done)) => {
                let content = self.contents.remove(&id);
                match content {
                    Some(Ok(buffer)) => {
                        stats.reads += 1;
                        stats.read_bytes += bytes;
                        drop(stats);
                        done(Ok(&buffer));
                        self.spare.push(buffer);
                    }
                    failed => {
                        stats.failed += 1;
                        drop(stats);
                        let error = failed.and_then(Result::err);
                        done(Err(error.unwrap_or_else(|| io::ErrorKind::Other.into())));
                    }
                }
            }
            Some(Job::Write(done)) => {
                stats.writes += 1;
                stats.written_bytes += bytes;
                drop(stats);
                self.writing.remove(&id);
                done(Ok(()));
                self.end_flushes();
            }
            None => {}
        }
    }

    fn end_flushes(&mut self) {
        let oldest = self.writing.first().copied().unwrap_or(u64::MAX);
        while let Some((_, done)) = self.flushes.pop_front_if(|(before, _)| *before <= oldest) {
            locked(&self.shared.stats).flushes += 1;
            done();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
