//! The analysis of a trace, event by event in order of time, in memory that does not grow with it.

use crate::attribute::attribution::Attribution;
use crate::error::TraceError;
use std::collections::BTreeMap;

use crate::read::event::{Device, Event, FAILED, FLUSHED, Kind, Operation, SECTOR_LIMIT};
use crate::summary::depth::Depth;
use crate::summary::group::Group;
use crate::summary::heat::{Heat, What};
use crate::summary::histogram::Histogram;
use crate::summary::overlap::{Overlap, Settled};
use crate::summary::pairing::{Completion, GIVEN_UP_NS, Issue, Pairing, Request, Tag};
use crate::summary::table::Key;

/// So many devices may be in one trace; each has some megabytes.
const DEVICES: usize = 256;
const _: () = assert!(DEVICES <= Key::DEVICES);

/// So many places may have requests that wait for a decision which of them a completion ends.
const OVERLAPS: usize = 1 << 10;
/// The usual time of a request is known from so many.
const USUAL: u64 = 3;
/// At the end of a trace, a request is lost that has been with the device for so long and for so many
/// times the longest one that was done. Others are still under way. If the trace lacks records, the
/// second alone decides.
const LOST_AFTER_NS: u64 = 1_000_000_000;
const LOST_AFTER_LONGEST: u64 = 10;

/// The operations that have a [`Group`] each.
pub const OPERATIONS: [Operation; 3] = [Operation::Read, Operation::Write, Operation::Discard];

/// Counts of one device.
pub struct DeviceCounts {
    /// Its number.
    pub device: Device,
    /// Groups by [`OPERATIONS`]; `None` for an operation without requests.
    pub groups: [Option<Box<Group>>; OPERATIONS.len()],
    /// Requests without data that went to the device: flushes of its cache.
    pub flushes: u64,
    /// From the issue of a flush to its end; of a write that flushes first, all of it.
    pub flush_times: Histogram,
    /// Flushes with the device.
    flushing: Overlap<()>,
    /// Flushes without their ends.
    pub flushes_lost: u64,
    /// Requests that move no data of a file system: commands passed through, zones.
    pub others: u64,
    /// Requests that the driver gave back.
    pub requeues: u64,
    /// Requests that were done in more than one part; the parts but the last.
    pub parts: u64,
    /// Completions of requests that were queued and never issued.
    pub never_issued: u64,
    /// Completions of requests that began before the trace.
    pub begun_before: u64,
    /// Requests with the device.
    pub depth: Depth,
}

impl DeviceCounts {
    fn new(device: Device, started_ns: u64) -> Self {
        Self {
            device,
            groups: [const { None }; OPERATIONS.len()],
            flushes: 0,
            flush_times: Histogram::default(),
            flushing: Overlap::default(),
            flushes_lost: 0,
            others: 0,
            requeues: 0,
            parts: 0,
            never_issued: 0,
            begun_before: 0,
            depth: Depth::since(started_ns),
        }
    }

    #[inline]
    fn group(&mut self, operation: Operation) -> Option<&mut Group> {
        let group = self.groups.get_mut(operation as usize)?;
        if group.is_none() {
            make(group);
        }
        group.as_deref_mut()
    }
}

#[cold]
fn make(group: &mut Option<Box<Group>>) {
    *group = Some(Box::default());
}

/// Requests of one sector, operation and size.
struct OneSector {
    what: (Operation, u32),
    requests: Overlap<Request>,
}

/// See the module.
#[derive(Default)]
pub struct Analysis {
    /// In the order in which they were seen first.
    pub devices: Vec<DeviceCounts>,
    /// Requests that are under way.
    pub pairing: Pairing,
    /// Owners of the requests; `None` if the trace does not show them.
    pub attribution: Option<Attribution>,
    /// Finer cells of time; `None` if they are not requested.
    pub heat: Option<Heat>,
    /// Requests of a sector that wait for a decision which of them was done.
    overlaps: BTreeMap<Key, OneSector>,
    /// When the trace begins.
    started_ns: Option<u64>,
    ended_ns: u64,
    /// The place of the device that was seen last.
    last: usize,
}

impl Analysis {
    /// The next event.
    #[inline]
    pub fn take(&mut self, event: &Event) -> Result<(), TraceError> {
        if !event.is_of_request() {
            self.learn(event);
            return Ok(());
        }
        let now_ns = event.time_ns();
        let started_ns = *self.started_ns.get_or_insert(now_ns);
        self.ended_ns = self.ended_ns.max(now_ns);
        let place = self.place(event.device, started_ns)?;
        let device = &mut self.devices[place];
        if event.operation == Operation::Other || event.sectors == 0 {
            device.without_data(event);
            return Ok(());
        }
        let key = Key::of(place, event.sector);
        // A request may end where no sector is.
        let end = (event.sector + u64::from(event.sectors)).min(SECTOR_LIMIT - 1);
        if !self.overlaps.is_empty() && self.overlapping(event, key, now_ns) {
            return Ok(());
        }
        let device = &mut self.devices[place];
        match event.kind() {
            Kind::Queue => {
                self.pairing.queue(key, now_ns, event.who);
                device.group(event.operation).into_iter().for_each(|group| group.queue(event));
            }
            Kind::Split => self.pairing.split(key, Key::of(place, end)),
            Kind::BackMerge => {
                self.pairing.back_merge(key);
                device.group(event.operation).into_iter().for_each(|group| group.back_merges += 1);
            }
            Kind::FrontMerge => {
                self.pairing.front_merge(key, Key::of(place, end));
                device.group(event.operation).into_iter().for_each(|group| group.front_merges += 1);
            }
            Kind::Issue => self.issue(event, key, now_ns, started_ns),
            Kind::Requeue => {
                device.requeues += 1;
                if self.pairing.requeue(key) {
                    device.depth.less(now_ns);
                }
            }
            Kind::Complete => self.complete(event, key, Key::of(place, end), now_ns),
            Kind::Extent | Kind::Birth | Kind::Loaded | Kind::Gone => {}
        }
        Ok(())
    }

    /// Reads an event of a file system about a file.
    #[cold]
    fn learn(&mut self, event: &Event) {
        self.attribution.iter_mut().for_each(|attribution| attribution.learn(event));
    }

    #[inline]
    fn issue(&mut self, event: &Event, key: Key, now_ns: u64, started_ns: u64) {
        let (mut who, mut tag) = (0, Tag::default());
        if let Some(attribution) = &mut self.attribution {
            // A scheduler may have one thread hand over what another one wants.
            who = self.pairing.who(key).unwrap_or(event.who);
            tag = attribution.tag(event, who);
        }
        let devices = &mut self.devices;
        let gone = |key: Key, issued_ns: u64| devices[key.device()].depth.lost(issued_ns, now_ns);
        let what = (event.operation, tag);
        let issue = self.pairing.issue(key, now_ns, event.sectors, what, gone);
        let device = &mut self.devices[key.device()];
        device.depth.more(now_ns);
        if issue != Issue::Again
            && let Some(group) = device.group(event.operation)
        {
            let since_start_ns = now_ns.saturating_sub(started_ns);
            group.issue(event, tag.file, since_start_ns);
            if let Some(heat) = &mut self.heat {
                let files = self.attribution.as_ref().map(|attribution| attribution.files_of(tag));
                let what = What { device: event.device, operation: event.operation, files };
                heat.issue(what, event, tag.file, since_start_ns);
            }
            if let Some(attribution) = &mut self.attribution {
                attribution.issue(tag, event, who, since_start_ns);
            }
        }
        let waits = !self.overlaps.is_empty() && self.overlaps.contains_key(&key);
        if issue == Issue::Overlapping || waits {
            self.hold(event, key, now_ns);
        }
    }

    #[inline]
    fn complete(&mut self, event: &Event, key: Key, rest: Key, now_ns: u64) {
        let what = (event.operation, event.sectors);
        let completion = self.pairing.complete(key, now_ns, what, || rest);
        let device = &mut self.devices[key.device()];
        match completion {
            Completion::Whole { issued_ns, .. } => {
                if issued_ns >= GIVEN_UP_NS && device.is_too_long(issued_ns) {
                    self.pairing.given_up += 1;
                    device.begun_before += 1;
                    device.depth.lost(now_ns - issued_ns, now_ns);
                    return;
                }
                device.depth.less(now_ns);
                self.done(key, &completion, now_ns, event.flags);
            }
            Completion::Part => device.parts += 1,
            Completion::NeverIssued => device.never_issued += 1,
            Completion::Unknown => device.begun_before += 1,
            Completion::Mismatch { issued_ns } => {
                device.begun_before += 1;
                device.depth.lost(issued_ns, now_ns);
            }
        }
    }

    /// Counts a whole request that was done.
    #[inline]
    fn done(&mut self, key: Key, completion: &Completion, now_ns: u64, flags: u8) {
        let Completion::Whole { operation, tag, issued_ns, queued_ns } = *completion else {
            return;
        };
        let device = &mut self.devices[key.device()];
        if flags & FLUSHED != 0 {
            device.flush_times.record(issued_ns);
        }
        let number = device.device;
        let Some(group) = device.group(operation) else { return };
        let failed = flags & FAILED != 0;
        group.complete(issued_ns, queued_ns, failed);
        let since_ns = now_ns.saturating_sub(self.started_ns.unwrap_or(now_ns));
        if let Some(heat) = &mut self.heat {
            let attribution = self.attribution.as_ref();
            let files = attribution.map(|attribution| attribution.files_of(tag));
            let what = What { device: number, operation, files };
            heat.complete(what, issued_ns, tag.file, since_ns);
        }
        if let Some(attribution) = &mut self.attribution {
            attribution.complete(tag, issued_ns, queued_ns, (since_ns, failed));
        }
    }

    /// The event at a sector with requests that wait for a decision; whether it needs no more.
    fn overlapping(&mut self, event: &Event, key: Key, now_ns: u64) -> bool {
        let Some(found) = self.overlaps.get_mut(&key) else { return false };
        let same = found.what == (event.operation, event.sectors);
        match event.kind() {
            Kind::Complete if same => {
                self.devices[key.device()].depth.less(now_ns);
                if found.requests.end(now_ns, event.flags) {
                    self.settle(key, now_ns);
                }
                return true;
            }
            Kind::Complete | Kind::Requeue => self.settle(key, now_ns),
            _ => {}
        }
        false
    }

    /// Moves the requests like this one from the pairing to those that wait for a decision.
    #[cold]
    fn hold(&mut self, event: &Event, key: Key, now_ns: u64) {
        let what = (event.operation, event.sectors);
        let new = OneSector { what, requests: Overlap::default() };
        let one = self.overlaps.entry(key).or_insert(new);
        if one.what != what {
            return;
        }
        let mut ripe = false;
        while let Some((issued_ns, request)) = self.pairing.take_issued(key, what) {
            ripe = one.requests.begin(issued_ns, request);
        }
        if ripe {
            self.settle(key, now_ns);
        } else if self.overlaps.len() > OVERLAPS {
            self.settle_all(now_ns);
        }
    }

    /// Decides for a sector.
    #[cold]
    fn settle(&mut self, key: Key, now_ns: u64) {
        let Some(OneSector { what, requests }) = self.overlaps.remove(&key) else { return };
        let usual_ns = self.devices[key.device()].usual_ns(what.0);
        let Settled { pairs, lost, unknown, open } = requests.settle(usual_ns);
        for (_, request, end) in pairs {
            self.done(key, &request.whole(end.now_ns), end.now_ns, end.flags);
        }
        let device = &mut self.devices[key.device()];
        device.begun_before += unknown;
        self.pairing.given_up += lost.len() as u64;
        // An end without its request has taken out one that was lost.
        (0..unknown).for_each(|_| device.depth.more(now_ns));
        for issued_ns in lost {
            device.depth.lost(issued_ns, now_ns);
        }
        for (_, request) in open {
            self.pairing.put_back(key, request);
        }
    }

    fn settle_all(&mut self, now_ns: u64) {
        while let Some((key, _)) = self.overlaps.first_key_value() {
            self.settle(*key, now_ns);
        }
    }

    /// There are no more events. `lacks_records` says whether the trace is known to lack some.
    pub fn finish(&mut self, lacks_records: bool) {
        self.settle_all(self.ended_ns);
        self.take_out_lost(lacks_records);
        for device in &mut self.devices {
            device.settle_flushes();
            // A trace without any end of a flush doesn't record them.
            if device.flush_times.count() > 0 {
                self.pairing.given_up += device.flushes_lost;
            }
            device.depth.finish(self.ended_ns);
            for group in device.groups.iter_mut().flatten() {
                group.locality.finish();
            }
        }
        self.devices.sort_by_key(|device| device.device);
        self.attribution.iter_mut().for_each(Attribution::finish);
    }

    /// Takes the requests out of the depths that are with a device at the end because their ends were
    /// lost: they must not keep it busy.
    fn take_out_lost(&mut self, lacks_records: bool) {
        let (devices, ended_ns) = (&mut self.devices, self.ended_ns);
        self.pairing.each_with_device(|key, issued_ns| {
            let device = &mut devices[key.device()];
            let groups = device.groups.iter().flatten();
            let longest = groups.filter_map(|group| group.issued_to_done.max()).max();
            let least_ns = if lacks_records && longest.is_some() { 0 } else { LOST_AFTER_NS };
            let limit_ns = longest.unwrap_or(0).saturating_mul(LOST_AFTER_LONGEST).max(least_ns);
            if ended_ns.saturating_sub(issued_ns) >= limit_ns {
                device.depth.lost(issued_ns, ended_ns);
            }
        });
    }

    /// When the first event was; `None` without events.
    pub fn started_ns(&self) -> Option<u64> {
        self.started_ns
    }

    #[inline]
    fn place(&mut self, device: Device, started_ns: u64) -> Result<usize, TraceError> {
        if self.devices.get(self.last).is_none_or(|last| last.device != device) {
            self.last = self.search(device, started_ns)?;
        }
        Ok(self.last)
    }

    #[cold]
    fn search(&mut self, device: Device, started_ns: u64) -> Result<usize, TraceError> {
        if let Some(at) = self.devices.iter().position(|known| known.device == device) {
            return Ok(at);
        }
        if self.devices.len() == DEVICES {
            return Err(TraceError::Devices { limit: DEVICES });
        }
        self.devices.push(DeviceCounts::new(device, started_ns));
        Ok(self.devices.len() - 1)
    }
}

impl DeviceCounts {
    /// How long requests usually take; `None` if too few were done.
    fn usual_ns(&self, operation: Operation) -> Option<u64> {
        let times = &self.groups.get(operation as usize)?.as_ref()?.issued_to_done;
        let count = times.count();
        (count >= USUAL).then(|| times.ranked(count.div_ceil(2))).flatten()
    }

    /// Whether no request ever took nearly as long.
    #[cold]
    fn is_too_long(&self, issued_ns: u64) -> bool {
        let times = || self.groups.iter().flatten().map(|group| &group.issued_to_done);
        let longest = times().filter_map(Histogram::max).max();
        times().map(Histogram::count).sum::<u64>() >= USUAL
            && longest.is_some_and(|longest| longest.saturating_mul(1000) < issued_ns)
    }

    #[cold]
    fn without_data(&mut self, event: &Event) {
        let flush = event.operation != Operation::Other;
        match event.kind() {
            Kind::Issue if flush => {
                self.flushes += 1;
                if self.flushing.begin(event.time_ns(), ()) {
                    self.settle_flushes();
                }
            }
            Kind::Issue => self.others += 1,
            Kind::Complete
                if flush
                    && self.flushing.open() > 0
                    && self.flushing.end(event.time_ns(), event.flags) =>
            {
                self.settle_flushes();
            }
            _ => {}
        }
    }

    fn settle_flushes(&mut self) {
        let count = self.flush_times.count();
        let usual_ns = (count >= USUAL).then(|| self.flush_times.ranked(count.div_ceil(2)));
        let settled = std::mem::take(&mut self.flushing).settle(usual_ns.flatten());
        for (issued_ns, (), end) in settled.pairs {
            self.flush_times.record(end.now_ns.saturating_sub(issued_ns));
        }
        self.flushes_lost += settled.lost.len() as u64;
        for (issued_ns, ()) in settled.open {
            self.flushing.begin(issued_ns, ());
        }
    }
}
