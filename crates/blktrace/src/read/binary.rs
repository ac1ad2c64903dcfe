//! blktrace's own format: records of 48 bytes (version 7) or 64 bytes (version 8), each with extra
//! data behind it if its length field says so. Numbers are in the byte order of the traced host,
//! which the first word shows.
//!
//! Source: Linux, `include/uapi/linux/blktrace_api.h`. Version 8 (`struct blk_io_trace2`) has the
//! process before the action, which became 64 bits wide, and 12 unused bytes at the end.

use memchr::memmem;

use crate::read::event::{
    Device, Event, FAILED, FLUSHED, FUA, Kind, METADATA, Operation, READAHEAD, SECTOR_BYTES,
    SECTOR_LIMIT, SYNC, TIME_LIMIT_NS,
};
use crate::read::tally::{CPUS, NOTE, Tally};

/// All but the last byte of a record's first word; the last is the version.
const MAGIC: u32 = 0x6561_7400;
/// The versions that are known.
pub const VERSIONS: [u8; 2] = [7, 8];

const CATEGORIES: u32 = 16;
const READ: u32 = 0;
const WRITE: u32 = 1;
const FLUSH: u32 = 2;
const SYNCHRONOUS: u32 = 3;
const PASSED_THROUGH: u32 = 9;
const NOTIFY: u32 = 10;
const AHEAD: u32 = 11;
const META: u32 = 12;
const DISCARD: u32 = 13;
const FORCED: u32 = 15;
const ZONE_APPEND: u32 = 16;
/// Version 8 only: what manages zones, and zeroes written without data.
const NO_DATA: u64 = 0b11_1111 << 17;
/// A flag of the action: the data behind the record begin with a control group's 8 bytes.
const CONTROL_GROUP: u64 = 1 << 8;
const COMPLETE: usize = 8;
const SPLIT: usize = 13;

/// Which kind of event an action is, by its number; `None` of those that the analysis does not need.
const fn kind_of(action: usize) -> Option<Kind> {
    match action {
        1 => Some(Kind::Queue),
        2 => Some(Kind::BackMerge),
        3 => Some(Kind::FrontMerge),
        6 => Some(Kind::Requeue),
        7 => Some(Kind::Issue),
        COMPLETE => Some(Kind::Complete),
        SPLIT => Some(Kind::Split),
        _ => None,
    }
}

/// Kinds by action.
const KINDS: [Option<Kind>; 32] = {
    let mut kinds = [None; 32];
    let mut action = 0;
    while action < kinds.len() {
        kinds[action] = kind_of(action);
        action += 1;
    }
    kinds
};

/// How the records of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// 7 or 8, or another one, which cannot be read.
    pub version: u8,
    /// Whether numbers begin with their highest byte.
    pub big_endian: bool,
}

impl Layout {
    /// The layout of a record that begins with `head`; `None` if it is not a record.
    pub fn of(head: &[u8]) -> Option<Self> {
        let word: [u8; 4] = head.get(..4)?.try_into().ok()?;
        [(u32::from_le_bytes(word), false), (u32::from_be_bytes(word), true)]
            .into_iter()
            .find(|(word, _)| word & !0xff == MAGIC)
            .map(|(word, big_endian)| Self { version: word as u8, big_endian })
    }

    fn magic(self) -> [u8; 4] {
        let word = MAGIC | u32::from(self.version);
        if self.big_endian { word.to_be_bytes() } else { word.to_le_bytes() }
    }
}

/// Reads records of one layout.
#[derive(Debug)]
pub struct Decoder {
    layout: Layout,
    /// Whether what was left out last was no record either, so that it is the same damage.
    in_damage: bool,
    /// How many bytes came before those that are decoded next.
    offset: u64,
}

/// The fields of a record.
struct Record {
    sequence: u32,
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    device: Device,
    cpu: u32,
    error: u16,
    behind: usize,
}

impl Decoder {
    /// A reader of records of one of the [`VERSIONS`].
    pub fn new(layout: Layout) -> Self {
        Self { layout, in_damage: false, offset: 0 }
    }

    /// The name of the format.
    pub fn name(&self) -> String {
        let Layout { version, big_endian } = self.layout;
        format!("blktrace {version}, {}-endian", if big_endian { "big" } else { "little" })
    }

    /// Appends the events of all whole records in `bytes`; how many bytes are done with.
    pub fn decode(&mut self, bytes: &[u8], tally: &mut Tally, events: &mut Vec<Event>) -> usize {
        let done = match (self.layout.version, self.layout.big_endian) {
            (8, true) => self.records::<true, true>(bytes, tally, events),
            (8, false) => self.records::<true, false>(bytes, tally, events),
            (_, true) => self.records::<false, true>(bytes, tally, events),
            (_, false) => self.records::<false, false>(bytes, tally, events),
        };
        self.offset += done as u64;
        done
    }

    fn records<const WIDE: bool, const BIG: bool>(
        &mut self,
        bytes: &[u8],
        tally: &mut Tally,
        events: &mut Vec<Event>,
    ) -> usize {
        let size = if WIDE { 64 } else { 48 };
        let magic = MAGIC | u32::from(self.layout.version);
        let mut at = 0;
        events.reserve(bytes.len() / size);
        while let Some(record) = bytes.get(at..at + size) {
            let found = word::<BIG>(record, 0);
            let record = fields::<WIDE, BIG>(record);
            if found != magic || !record.plausible() {
                at += self.leave_out(&bytes[at..], at, tally);
                continue;
            }
            let Some(behind) = bytes.get(at + size..at + size + record.behind) else { break };
            self.in_damage = false;
            record.take::<BIG>(behind, tally, events);
            at += size + record.behind;
        }
        at
    }

    /// How many bytes lie before the next record, or before a possible start of one.
    #[cold]
    fn leave_out(&mut self, bytes: &[u8], at: usize, tally: &mut Tally) -> usize {
        let magic = self.layout.magic();
        let next =
            memmem::find(&bytes[1..], &magic).map_or(bytes.len() - (magic.len() - 1), |n| n + 1);
        tally.damaged_places += u64::from(!self.in_damage);
        tally.damaged_bytes += next as u64;
        tally.first_damaged_byte.get_or_insert(self.offset + at as u64);
        self.in_damage = true;
        next
    }
}

impl Record {
    #[inline]
    fn plausible(&self) -> bool {
        self.cpu < CPUS
            && self.time_ns < TIME_LIMIT_NS
            && (self.sector < SECTOR_LIMIT || u64::from(self.bytes) < SECTOR_BYTES)
    }

    // Called once for each layout, where of most records only a few fields are needed then.
    #[expect(clippy::inline_always, reason = "a call costs as much as its body")]
    #[inline(always)]
    fn take<const BIG: bool>(&self, behind: &[u8], tally: &mut Tally, events: &mut Vec<Event>) {
        let categories = self.action >> CATEGORIES;
        if categories >> NOTIFY & 1 == 1 {
            self.note::<BIG>(behind, tally);
            return;
        }
        let action = (self.action & 0xffff & !CONTROL_GROUP) as usize;
        tally.record(action, self.time_ns);
        tally.sequences.take(self.device, self.cpu, self.sequence);
        let Some(kind) = KINDS.get(action).copied().flatten() else { return };
        let mut sectors = self.bytes / SECTOR_BYTES as u32;
        if action == SPLIT {
            sectors = first_part(self.sector, behind);
        }
        let failed = action == COMPLETE && self.error != 0;
        let operation = OPERATIONS[told_by(categories, self.bytes)];
        // A request without data is nothing but a flush.
        let flushed = if self.bytes == 0 { 0 } else { FLUSHED };
        let event = Event::new(self.time_ns, kind, self.device, operation)
            .at(self.sector, sectors)
            .with(flags(categories) & (!FLUSHED | flushed) | if failed { FAILED } else { 0 });
        events.push(event);
    }

    #[cold]
    fn note<const BIG: bool>(&self, behind: &[u8], tally: &mut Tally) {
        const TIME_OF_DAY: u64 = 1;
        tally.actions[NOTE] += 1;
        // The time of day is there once, when the trace begins.
        if self.action & 0xffff & !CONTROL_GROUP == TIME_OF_DAY && behind.len() >= 8 {
            let (seconds, nanoseconds) = (word::<BIG>(behind, 0), word::<BIG>(behind, 4));
            let unix_s = f64::from(seconds) + f64::from(nanoseconds) / 1e9;
            tally.wall.get_or_insert((self.time_ns, unix_s));
        }
    }
}

/// The sectors of the first part of a split request; where the second begins is the last big-endian
/// 64 bits behind the record, whatever the host.
fn first_part(sector: u64, behind: &[u8]) -> u32 {
    let second = behind.last_chunk::<8>().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    u32::try_from(second.saturating_sub(sector)).unwrap_or(0)
}

/// The operation for each result of [`told_by`]: a table avoids a branch, as reads and writes come
/// in any order.
const OPERATIONS: [Operation; 64] = {
    let mut operations = [Operation::Other; 64];
    let mut told = 0;
    while told < operations.len() {
        operations[told] = operation(told);
        told += 1;
    }
    operations
};
const IS_READ: usize = 1;
const IS_WRITE: usize = 2;
const IS_APPEND: usize = 4;
const IS_DISCARD: usize = 8;
const IS_EMPTY: usize = 16;
const IS_OTHER: usize = 32;

/// The operation that these bits stand for.
const fn operation(told: usize) -> Operation {
    if told & IS_OTHER != 0 {
        Operation::Other
    } else if told & IS_EMPTY != 0 {
        Operation::Flush
    } else if told & IS_DISCARD != 0 {
        Operation::Discard
    } else if told & (IS_WRITE | IS_APPEND) != 0 {
        Operation::Write
    } else if told & IS_READ != 0 {
        Operation::Read
    } else {
        Operation::Other
    }
}

/// The bits for a request's categories and length, as an index into [`OPERATIONS`].
#[inline]
fn told_by(categories: u64, bytes: u32) -> usize {
    let has = |category: u32| categories >> category & 1 == 1;
    let told = |holds: bool, what: usize| usize::from(holds) * what;
    told(has(READ), IS_READ)
        | told(has(WRITE), IS_WRITE)
        | told(has(ZONE_APPEND), IS_APPEND)
        | told(has(DISCARD), IS_DISCARD)
        | told(bytes == 0, IS_EMPTY)
        | told(categories & (1 << PASSED_THROUGH | NO_DATA) != 0, IS_OTHER)
}

#[inline]
fn flags(categories: u64) -> u8 {
    let flag = |category: u32, flag: u8| (categories >> category & 1) as u8 * flag;
    flag(AHEAD, READAHEAD)
        | flag(META, METADATA)
        | flag(SYNCHRONOUS, SYNC)
        | flag(FORCED, FUA)
        | flag(FLUSH, FLUSHED)
}

#[inline]
fn fields<const WIDE: bool, const BIG: bool>(record: &[u8]) -> Record {
    // Both versions begin with the same fields. Then: 7 has action, process; 8 has process, action
    // of 64 bits.
    let more = if WIDE { 4 } else { 0 };
    Record {
        sequence: word::<BIG>(record, 4),
        time_ns: long::<BIG>(record, 8),
        sector: long::<BIG>(record, 16),
        bytes: word::<BIG>(record, 24),
        action: if WIDE { long::<BIG>(record, 32) } else { word::<BIG>(record, 28).into() },
        device: Device(word::<BIG>(record, 36 + more)),
        cpu: word::<BIG>(record, 40 + more),
        error: half::<BIG>(record, 44 + more),
        behind: half::<BIG>(record, 46 + more).into(),
    }
}

#[inline]
fn half<const BIG: bool>(record: &[u8], at: usize) -> u16 {
    let bytes = [record[at], record[at + 1]];
    if BIG { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}

#[inline]
fn word<const BIG: bool>(record: &[u8], at: usize) -> u32 {
    let bytes = [record[at], record[at + 1], record[at + 2], record[at + 3]];
    if BIG { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

#[inline]
fn long<const BIG: bool>(record: &[u8], at: usize) -> u64 {
    let (low, high) = if BIG { (at + 4, at) } else { (at, at + 4) };
    u64::from(word::<BIG>(record, high)) << 32 | u64::from(word::<BIG>(record, low))
}
