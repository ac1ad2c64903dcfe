//! The file, purpose and stage that each request belongs to. The code labels a request when it is
//! issued, and counts by label.

use rustc_hash::FxHashMap;

use crate::attribute::classes::{Class, Owner, Phase};
use crate::attribute::extents::{Extents, FileId};
use crate::attribute::files::Files;
use crate::attribute::processes::Processes;
use crate::attribute::stages::Stages;
use crate::attribute::tasks::{Task, TaskCounts};
use crate::capture::xfs::Groups;
use crate::read::event::{Device, Event, Kind, METADATA, Operation, SECTOR_BYTES};
use crate::summary::group::{Amount, Group};
use crate::summary::histogram::place;
use crate::summary::pairing::Tag;
use crate::summary::raster::{ROW_BITS, Raster};

/// The most labels; requests with more have no stage and process.
const LABELS: usize = 4096;
/// Limit of [`Counts`]: one per pattern and device, about 0.7 MB each.
const PATTERNS: usize = 256;
/// Limit of [`Group`]s: one per pattern and stage, about 0.5 MB each.
const STAGED: usize = 64;

/// Properties that all requests of one pattern share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pattern {
    /// The disk.
    pub device: Device,
    /// The class of the file.
    pub class: Class,
    /// On which side of a shuffle it was read or written, if that is known.
    pub phase: Option<Phase>,
    /// Their operation.
    pub operation: Operation,
}

/// A pattern, of one stage and one process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Label {
    /// Which.
    pub pattern: Pattern,
    /// The place of the stage, if it is known.
    pub stage: Option<usize>,
    /// The number of the process; 0 if it is not known.
    pub process: u32,
}

/// The properties of a label.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// Requests that were issued.
    pub requests: u64,
    /// Their sectors.
    pub sectors: u64,
    /// From being issued to being done, of all together.
    pub served_ns: u64,
}

/// Counts of a pattern.
#[derive(Default)]
pub struct Counts {
    /// As of every operation of a device.
    pub group: Group,
    /// How long requests took over time: by when they were done, and by the number of the bucket
    /// of the time that they took, of which a row of the least height has one.
    pub times: Raster,
}

/// See the module.
#[derive(Default)]
pub struct Attribution {
    /// The known files.
    pub files: Files,
    /// Stages of the job.
    pub stages: Stages,
    /// Who makes requests.
    pub processes: Processes,
    /// By the process of the request: tasks, as far as threads have their names.
    pub tasks: FxHashMap<u32, TaskCounts>,
    /// By label.
    pub shares: Vec<(Label, Share)>,
    /// By pattern.
    pub patterns: Vec<(Pattern, Box<Counts>)>,
    /// By pattern and place of the stage, those that were seen first.
    pub staged: Vec<(Pattern, usize, Box<Group>)>,
    disks: FxHashMap<Device, Extents>,
    /// How many entries of `files.lying` are in `disks`.
    laid: usize,
    numbers: FxHashMap<Label, u16>,
    /// The place of each label's pattern; `None` without room for it.
    of_pattern: Vec<Option<usize>>,
    /// The same of [`Self::staged`].
    of_staged: Vec<Option<usize>>,
}

impl Attribution {
    /// By these files, stages and processes.
    pub fn new(files: Files, stages: Stages, processes: Processes) -> Self {
        Self { files, stages, processes, ..Self::default() }
    }

    /// Reads an event of a file system about a file.
    pub fn learn(&mut self, event: &Event) {
        let now_ns = event.time_ns();
        self.lay(now_ns);
        let Some(file_system) = self.files.file_system(event.device) else { return };
        let of = &self.files.file_systems[usize::from(file_system)];
        let file = FileId { file_system, inode: event.file() };
        match event.kind() {
            Kind::Birth => self.files.is_made(file, event.sector, now_ns),
            Kind::Loaded => self.files.is_loaded(file, now_ns),
            Kind::Gone => {
                let within = |groups: Groups| groups.inode(event.sector, file.inode);
                let inode = of.groups.map_or(file.inode, within);
                self.files.is_gone(FileId { inode, ..file }, now_ns);
            }
            _ => {
                let Some(start) = of.sector(event.sector) else { return };
                let count = u64::from(event.sectors).saturating_mul(of.block_bytes / SECTOR_BYTES);
                let end = start.saturating_add(count);
                if start < end {
                    self.disks.entry(Device(of.disk)).or_default().insert(start, end, file);
                }
            }
        }
    }

    /// The owner of a request that is issued, and that `who` made.
    pub fn tag(&mut self, event: &Event, who: u32) -> Tag {
        let now_ns = event.time_ns();
        self.lay(now_ns);
        let Event { device, operation, .. } = *event;
        let end = event.sector + u64::from(event.sectors);
        let file = self.disks.get(&device).and_then(|disk| disk.owner(event.sector, end));
        let unknown = || Owner::of(Class::Unknown);
        let mut owner = file.map_or_else(unknown, |file| self.files.owner(file, now_ns));
        let nameless = matches!(owner.class, Class::Unknown | Class::Unnamed);
        if nameless && event.flags & METADATA != 0 {
            owner = Owner::of(Class::FileSystem);
        }
        let (process, task) = self.processes.who(who);
        let stage = match task {
            Some(task) => self.stage_of(who, task),
            None => self.stages.of_request(&owner, operation, now_ns),
        };
        let phase = stage.and_then(|at| self.stages.phase(at));
        let phase = phase.or_else(|| side(&owner, operation));
        let pattern = Pattern { device, class: owner.class, phase, operation };
        let label = self.number(Label { pattern, stage, process });
        Tag { label, file: owner.number }
    }

    /// The place of the stage of a task, which is counted from now on.
    fn stage_of(&mut self, who: u32, task: Task) -> Option<usize> {
        let stages = &mut self.stages;
        let counts = self.tasks.entry(who).or_insert_with(|| TaskCounts {
            task,
            stage: stages.of_task(&task),
            read: Amount::default(),
            written: Amount::default(),
        });
        counts.stage
    }

    /// A request that `who` made was issued, `since_start_ns` after the trace began.
    pub fn issue(&mut self, tag: Tag, event: &Event, who: u32, since_start_ns: u64) {
        if let Some(task) = self.tasks.get_mut(&who) {
            task.issue(event.operation, event.sectors);
        }
        let (_, share) = &mut self.shares[usize::from(tag.label)];
        share.requests += 1;
        share.sectors += u64::from(event.sectors);
        if let Some(counts) = self.counts(tag.label) {
            counts.group.issue(event, tag.file, since_start_ns);
        }
        if let Some(group) = self.in_stage(tag.label) {
            group.issue(event, tag.file, since_start_ns);
        }
    }

    /// A request was done, `since_start_ns` after the trace began.
    pub fn complete(
        &mut self,
        tag: Tag,
        issued_ns: u64,
        queued_ns: Option<u64>,
        (since_start_ns, failed): (u64, bool),
    ) {
        self.shares[usize::from(tag.label)].1.served_ns += issued_ns;
        if let Some(counts) = self.counts(tag.label) {
            counts.group.complete(issued_ns, queued_ns, failed);
            counts.times.take(since_start_ns, place(issued_ns) << ROW_BITS, 0, tag.file);
        }
        if let Some(group) = self.in_stage(tag.label) {
            group.complete(issued_ns, queued_ns, failed);
        }
    }

    /// The class of the files of such requests, and the side of a shuffle.
    pub fn files_of(&self, tag: Tag) -> (Class, Option<Phase>) {
        let Pattern { class, phase, .. } = self.shares[usize::from(tag.label)].0.pattern;
        (class, phase)
    }

    /// There are no more events.
    pub fn finish(&mut self) {
        self.patterns.iter_mut().for_each(|(_, counts)| counts.group.locality.finish());
        self.staged.iter_mut().for_each(|(_, _, group)| group.locality.finish());
    }

    /// How many ranges of sectors there was no room for.
    pub fn ranges_refused(&self) -> u64 {
        self.disks.values().map(|disk| disk.refused).sum()
    }

    fn counts(&mut self, label: u16) -> Option<&mut Counts> {
        let place = self.of_pattern[usize::from(label)]?;
        Some(&mut self.patterns[place].1)
    }

    fn in_stage(&mut self, label: u16) -> Option<&mut Group> {
        let place = self.of_staged[usize::from(label)]?;
        Some(&mut self.staged[place].2)
    }

    /// The place of a pattern's counts in a stage; `None` without room for it.
    fn staged(&mut self, pattern: Pattern, stage: usize) -> Option<usize> {
        let is_it = |(known, at, _): &(Pattern, usize, _)| *known == pattern && *at == stage;
        let known = self.staged.iter().position(is_it);
        if known.is_none() && self.staged.len() < STAGED {
            self.staged.push((pattern, stage, Box::default()));
            return Some(self.staged.len() - 1);
        }
        known
    }

    /// Adds the files that lay on the disk by `now_ns`.
    fn lay(&mut self, now_ns: u64) {
        while let Some(lying) = self.files.lying.get(self.laid)
            && lying.since_ns <= now_ns
        {
            let of = &self.files.file_systems[usize::from(lying.file.file_system)];
            let disk = self.disks.entry(Device(of.disk)).or_default();
            disk.insert(lying.start, lying.end, lying.file);
            self.laid += 1;
        }
    }

    fn number(&mut self, label: Label) -> u16 {
        if let Some(number) = self.numbers.get(&label) {
            return *number;
        }
        let alone = Label { stage: None, process: 0, ..label };
        if self.shares.len() >= LABELS && label != alone {
            return self.number(alone);
        }
        let known = self.patterns.iter().position(|(pattern, _)| *pattern == label.pattern);
        if known.is_none() && self.patterns.len() < PATTERNS {
            self.patterns.push((label.pattern, Box::default()));
        }
        self.of_pattern.push(known.or_else(|| {
            let last = self.patterns.len().checked_sub(1)?;
            (self.patterns[last].0 == label.pattern).then_some(last)
        }));
        let staged = label.stage.and_then(|stage| self.staged(label.pattern, stage));
        self.of_staged.push(staged);
        let number = self.shares.len() as u16;
        self.shares.push((label, Share::default()));
        self.numbers.insert(label, number);
        number
    }
}

/// The side of a shuffle of a request without a stage.
fn side(owner: &Owner, operation: Operation) -> Option<Phase> {
    let fetched = owner.class.is_handed_on() && operation == Operation::Read;
    if fetched { Some(Phase::Reduce) } else { owner.phase }
}
