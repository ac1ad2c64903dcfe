//! A disk as a machine: requests in, times of completion out, on a clock that the caller keeps.

use std::collections::VecDeque;

use crate::elevator::{Elevator, Waiting};
use crate::head::{Head, Way};
use crate::spec::{self, DiskSpec, Hdd, Ssd};
use crate::{Nanos, nanos};

/// The longest pause after the end of a request that still makes the next one follow directly. The
/// path through the block device, FUSE and our threads takes that long, which isn't work of the
/// disk; and bytes are copied on that path.
pub fn path_ns(bytes: u64) -> Nanos {
    const WAY_NS: Nanos = 200_000;
    const COPIED_BYTES_PER_NS: u64 = 2;
    WAY_NS + bytes / COPIED_BYTES_PER_NS
}

/// How far behind the clock a disk may be and still catch up, when the processor had no time for it.
pub const CATCH_UP_NS: Nanos = 100_000_000;

/// A request that is being served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// The request.
    pub request: Waiting,
    /// When the disk began with it.
    pub begin: Nanos,
    /// When it ends.
    pub end: Nanos,
    /// Whether the arm had to move, or the platter to turn, before it.
    pub positioned: bool,
}

/// A disk, of either kind.
#[derive(Debug)]
pub enum Machine {
    /// Heads over turning platters.
    Hdd(Box<HddMachine>),
    /// Flash.
    Ssd(SsdMachine),
}

impl Machine {
    /// The disk that `spec` describes, at rest; none if its seek times make no curve.
    pub fn new(spec: &DiskSpec) -> Option<Self> {
        Some(match &spec.mechanism {
            spec::Mechanism::Hdd(hdd) => {
                Self::Hdd(Box::new(HddMachine::new(hdd, spec.size_bytes)?))
            }
            spec::Mechanism::Ssd(ssd) => Self::Ssd(SsdMachine::new(ssd)),
        })
    }

    /// Takes a request; ids rise.
    pub fn submit(&mut self, request: Waiting) {
        match self {
            Self::Hdd(hdd) => hdd.waiting.push(request),
            Self::Ssd(ssd) => ssd.waiting.push_back(request),
        }
    }

    /// Begins with the next request, if one waits and the disk can.
    pub fn start(&mut self, now: Nanos) -> Option<Started> {
        match self {
            Self::Hdd(hdd) => hdd.start(now),
            Self::Ssd(ssd) => ssd.start(now),
        }
    }

    /// When the next request ends, if any is being served.
    pub fn due(&self) -> Option<Nanos> {
        match self {
            Self::Hdd(hdd) => hdd.current.map(|started| started.end),
            Self::Ssd(ssd) => ssd.next_end().map(|(_, started)| started.end),
        }
    }

    /// A request that has ended by `now`; its sender is notified then.
    pub fn finish(&mut self, now: Nanos) -> Option<Started> {
        match self {
            Self::Hdd(hdd) => hdd.finish(now),
            Self::Ssd(ssd) => ssd.finish(now),
        }
    }

    /// Requests that wait or are being served.
    pub fn queued(&self) -> usize {
        match self {
            Self::Hdd(hdd) => hdd.waiting.len() + usize::from(hdd.current.is_some()),
            Self::Ssd(ssd) => ssd.waiting.len() + ssd.in_flight(),
        }
    }
}

/// A unit that serves requests: an arm, or a channel of flash.
#[derive(Clone, Copy, Debug, Default)]
struct Server {
    free_at: Nanos,
    told_at: Nanos,
}

impl Server {
    /// When it begins with a request that came at `arrival`, having waited no longer than `grace` for
    /// it. Times of the model follow one another without gaps, so that what the clock loses is made up.
    fn begin(&self, arrival: Nanos, grace: Nanos, now: Nanos) -> Nanos {
        let idle = arrival.saturating_sub(self.told_at);
        let begin = if idle <= grace { self.free_at } else { arrival.max(self.free_at) };
        begin.max(now.saturating_sub(CATCH_UP_NS))
    }
}

/// A hard disk: one budget for reads and writes.
#[derive(Debug)]
pub struct HddMachine {
    waiting: Elevator,
    head: Head,
    revolution: Nanos,
    arm: Server,
    current: Option<Started>,
}

impl HddMachine {
    fn new(hdd: &Hdd, size_bytes: u64) -> Option<Self> {
        Some(Self {
            waiting: Elevator::new(hdd.queue_depth),
            head: Head::new(hdd, size_bytes)?,
            revolution: nanos(hdd.revolution_s()),
            arm: Server::default(),
            current: None,
        })
    }

    fn start(&mut self, now: Nanos) -> Option<Started> {
        if self.current.is_some() {
            return None;
        }
        let request = self.waiting.pop(&self.head)?;
        let service = self.head.serve(request.offset, request.bytes);
        // In a pause of a stream the disk reads a track ahead, or takes as much into its buffer.
        let streams = matches!(service.way, Way::Continued | Way::Passed);
        let path = path_ns(request.bytes);
        let grace = if streams { self.revolution.max(path) } else { path };
        let begin = self.arm.begin(request.arrival, grace, now);
        let end = begin + nanos(service.positioning_s + service.transfer_s);
        self.current = Some(Started { request, begin, end, positioned: !streams });
        self.current
    }

    fn finish(&mut self, now: Nanos) -> Option<Started> {
        let ended = self.current.take_if(|started| started.end <= now)?;
        self.arm = Server { free_at: ended.end, told_at: now };
        Some(ended)
    }
}

/// A solid-state disk: channels that work side by side, behind one interface.
#[derive(Debug)]
pub struct SsdMachine {
    waiting: VecDeque<Waiting>,
    operation: Nanos,
    rate: f64,
    channels: Vec<(Server, Option<Started>)>,
    interface_free_at: Nanos,
}

impl SsdMachine {
    fn new(ssd: &Ssd) -> Self {
        Self {
            waiting: VecDeque::new(),
            operation: nanos(ssd.channels as f64 / ssd.iops),
            rate: ssd.rate_bytes_per_s,
            channels: vec![(Server::default(), None); ssd.channels],
            interface_free_at: 0,
        }
    }

    fn start(&mut self, now: Nanos) -> Option<Started> {
        // The channel that became free last, so that a single sender uses one channel, with
        // consecutive times.
        let free = self.channels.iter_mut().filter(|(_, current)| current.is_none());
        let (server, current) = free.max_by_key(|(server, _)| server.free_at)?;
        let request = self.waiting.pop_front()?;
        let begin = server.begin(request.arrival, path_ns(request.bytes), now);
        let transfer = nanos(request.bytes as f64 / self.rate);
        self.interface_free_at = self.interface_free_at.max(begin) + transfer;
        let end = self.interface_free_at.max(begin + self.operation);
        *current = Some(Started { request, begin, end, positioned: false });
        *current
    }

    fn next_end(&self) -> Option<(usize, Started)> {
        let served = self.channels.iter().enumerate();
        served
            .filter_map(|(at, (_, current))| Some((at, (*current)?)))
            .min_by_key(|(_, started)| (started.end, started.request.id))
    }

    fn finish(&mut self, now: Nanos) -> Option<Started> {
        let (at, ended) = self.next_end().filter(|(_, started)| started.end <= now)?;
        self.channels[at] = (Server { free_at: ended.end, told_at: now }, None);
        Some(ended)
    }

    fn in_flight(&self) -> usize {
        self.channels.iter().filter(|(_, current)| current.is_some()).count()
    }
}
