//! Pages of the kernel's ring buffer, as `trace_pipe_raw` of tracefs gives them.
//!
//! A page has a time, the number of bytes in use, and events. An event has a head of 32 bits: its
//! length in words or its special type, and the time since the previous event. Field positions
//! depend on the kernel that recorded it. Source: Linux, `kernel/trace/ring_buffer.c` and
//! `include/linux/ring_buffer.h`; the files `header_page` and `header_event` of tracefs.

use std::sync::Arc;

use crate::attribute::processes::{NAME_BYTES, Processes};
use crate::capture::file_events;
use crate::capture::format::Format;
use crate::read::event::{Device, Event, FAILED, Kind, SECTOR_LIMIT, TIME_LIMIT_NS};
use crate::read::fields::what;
use crate::read::tally::{NOTE, Tally};
use crate::read::tracepoints;

/// A page is not smaller or larger than this.
const PAGE_BYTES: std::ops::RangeInclusive<usize> = 256..=64 << 10;
/// No event of these is longer.
const EVENT_BYTES: u64 = 256;
/// Parts of the word with a page's used bytes: the bytes, and the events lost before the page.
const USED_BYTES: u64 = (1 << 20) - 1;
const LOST: u64 = 1 << 31;
const LOST_IS_COUNTED: u64 = 1 << 30;

/// Bits of an event's head for its type, and for the time since the previous event.
pub(crate) const TYPE_BITS: u32 = 5;
pub(crate) const DELTA_BITS: u32 = u32::BITS - TYPE_BITS;
/// The type of an event without a length in words.
const LONG: u32 = 0;
const PADDING: u32 = 29;
/// The type of an event that only adds to the time.
pub(crate) const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// A time stamp has 59 bits; the rest is that of the time before.
const STAMP_BITS: u32 = DELTA_BITS + u32::BITS;

/// Where things lie in the pages of one kernel.
#[derive(Debug)]
pub struct Layout {
    page_bytes: usize,
    /// Where in a page it says how much is used, and how wide that is.
    used_at: usize,
    long_used: bool,
    /// Where the events begin.
    data_at: usize,
    /// Where an event has its number.
    id_at: usize,
    /// By the event's number.
    events: Vec<Option<Known>>,
    /// A partition, and the disk that it is on.
    partitions: Vec<(Device, Device)>,
    /// A time on the pages' clock, and the same in seconds since 1970; `None` if it is unknown.
    wall: Option<(u64, f64)>,
    /// Who makes requests.
    processes: Processes,
}

/// An event that is read.
#[derive(Clone, Debug)]
enum Known {
    Request(Place),
    File(file_events::Place),
}

/// Where an event of the block layer has what is needed of it.
#[derive(Clone, Debug)]
struct Place {
    action: usize,
    kind: Option<Kind>,
    bytes: usize,
    device: usize,
    sector: usize,
    sectors: Sectors,
    letters: (usize, usize),
    error: Option<usize>,
    /// The process that makes the request, in a queue or an issue.
    process: Option<usize>,
}

/// How an event says how long a request is.
#[derive(Clone, Copy, Debug)]
enum Sectors {
    Count(usize),
    /// Where the second part of a split request begins.
    Until(usize),
}

impl Layout {
    /// The layout that `header` (tracefs' `header_page`) describes, without events.
    pub fn of(header: &Format, wall: Option<(u64, f64)>) -> Option<Self> {
        let (used, data) = (header.field("commit")?, header.field("data")?);
        let page_bytes = data.at + data.bytes;
        let fits = PAGE_BYTES.contains(&page_bytes) && used.at + used.bytes <= data.at;
        let known = header.at("timestamp", 8) == Some(0) && matches!(used.bytes, 4 | 8);
        (fits && known).then(|| Self {
            page_bytes,
            used_at: used.at,
            long_used: used.bytes == 8,
            data_at: data.at,
            id_at: 0,
            events: Vec::new(),
            partitions: Vec::new(),
            wall,
            processes: Processes::default(),
        })
    }

    /// Who makes requests, as far as they were read.
    pub fn processes(&self) -> Processes {
        self.processes.clone()
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> usize {
        self.page_bytes
    }

    /// Whether what comes next is on another page.
    pub fn is_full(&self, page: &[u8]) -> bool {
        let data_bytes = (self.page_bytes - self.data_at) as u64;
        self.used(page).is_some_and(|used| (used & USED_BYTES) + EVENT_BYTES > data_bytes)
    }

    /// The word with the used bytes of the page, and the events lost before it.
    fn used(&self, page: &[u8]) -> Option<u64> {
        let at = self.used_at;
        if self.long_used { long(page, at) } else { word(page, at).map(u64::from) }
    }

    /// An event of the name, which tracefs describes so; `None` if it lacks what is needed.
    pub fn add(&mut self, name: &str, format: &Format) -> Option<()> {
        let id = usize::from(format.id()?);
        self.id_at = format.at("common_type", 2)?;
        let (action, kind) = tracepoints::action(name.as_bytes());
        if self.events.len() <= id {
            self.events.resize(id + 1, None);
        }
        // Events of neither the block layer nor file systems are only counted.
        if action == 0 {
            self.events[id] = file_events::Place::of(name, format).map(Known::File);
        } else {
            let letters = format.field("rwbs")?;
            let count = format.at("nr_sector", 4).map(Sectors::Count);
            self.events[id] = Some(Known::Request(Place {
                action,
                kind,
                bytes: format.bytes(),
                device: format.at("dev", 4)?,
                sector: format.at("sector", 8)?,
                sectors: count.or_else(|| format.at("new_sector", 8).map(Sectors::Until))?,
                letters: (letters.at, letters.at + letters.bytes),
                error: format.at("error", 4),
                process: format
                    .at("comm", NAME_BYTES)
                    .filter(|_| matches!(kind, Some(Kind::Queue | Kind::Issue))),
            }));
        }
        Some(())
    }

    /// Events of the partition are those of its disk: it is the disk that gets requests, and sectors
    /// are counted from its beginning.
    pub fn join(&mut self, partition: Device, disk: Device) {
        self.partitions.push((partition, disk));
    }

    fn disk(&self, device: Device) -> Device {
        let known = self.partitions.iter().find(|(partition, _)| *partition == device);
        known.map_or(device, |(_, disk)| *disk)
    }

    fn event(
        &self,
        bytes: &[u8],
        time_ns: u64,
        tally: &mut Tally,
        events: &mut Vec<Event>,
    ) -> Option<()> {
        let id = usize::from(u16::from_le_bytes(*bytes.get(self.id_at..)?.first_chunk()?));
        let known = self.events.get(id).and_then(Option::as_ref);
        let Some(Known::Request(place)) = known else {
            tally.actions[NOTE] += 1;
            if let Some(Known::File(place)) = known
                && time_ns < TIME_LIMIT_NS
            {
                events.extend(place.event(bytes, time_ns));
            }
            return Some(());
        };
        if bytes.len() < place.bytes || time_ns >= TIME_LIMIT_NS {
            return None;
        }
        tally.record(place.action, time_ns);
        let Some(kind) = place.kind else { return Some(()) };
        let letters = &bytes[place.letters.0..place.letters.1];
        let (operation, flags) = what(letters.split(|letter| *letter == 0).next()?)?;
        let sector = long(bytes, place.sector)?;
        let sectors = match place.sectors {
            Sectors::Count(at) => word(bytes, at)?,
            Sectors::Until(at) => {
                u32::try_from(long(bytes, at)?.saturating_sub(sector)).unwrap_or(0)
            }
        };
        if sectors > 0 && sector >= SECTOR_LIMIT {
            return None;
        }
        let failed = match place.error {
            Some(at) => kind == Kind::Complete && word(bytes, at)? != 0,
            None => false,
        };
        let device = self.disk(Device(word(bytes, place.device)?));
        let event = Event::new(time_ns, kind, device, operation).at(sector, sectors);
        let event = event.with(flags | if failed { FAILED } else { 0 });
        let name = place.process.and_then(|at| bytes.get(at..)?.first_chunk());
        events.push(name.map_or(event, |name| event.of(self.processes.number(*name))));
        Some(())
    }
}

/// Reads the pages of one processor.
#[derive(Debug)]
pub struct Decoder {
    layout: Arc<Layout>,
    offset: u64,
    /// The lost events, if they are known and not in the tally yet.
    lost: Option<u64>,
    /// Whether the pages are to tell what was lost.
    pages_tell: bool,
}

impl Decoder {
    /// A reader of pages with this layout, from a CPU that lost this many events. If the number is
    /// unknown, the pages have it, except for events lost after the last page.
    pub fn new(layout: Arc<Layout>, lost: Option<u64>) -> Self {
        Self { layout, offset: 0, lost, pages_tell: lost.is_none() }
    }

    /// Appends the events of all whole pages in `bytes`; how many bytes are done with.
    pub fn decode(&mut self, bytes: &[u8], tally: &mut Tally, events: &mut Vec<Event>) -> usize {
        let page_bytes = self.layout.page_bytes;
        tally.wall = self.layout.wall;
        tally.sequences.missing += self.lost.take().unwrap_or(0);
        for page in bytes.chunks_exact(page_bytes) {
            if self.page(page, tally, events).is_none() {
                tally.damaged_places += 1;
                tally.damaged_bytes += page_bytes as u64;
                tally.first_damaged_byte.get_or_insert(self.offset);
            }
            self.offset += page_bytes as u64;
        }
        bytes.len() / page_bytes * page_bytes
    }

    /// `None` if the page, or the rest of it, is damaged.
    fn page(&self, page: &[u8], tally: &mut Tally, events: &mut Vec<Event>) -> Option<()> {
        let layout = &self.layout;
        let mut time_ns = long(page, 0)?;
        let used = layout.used(page)?;
        let mut at = layout.data_at;
        let end = at + (used & USED_BYTES) as usize;
        if used & LOST != 0 {
            let counted = used & LOST_IS_COUNTED != 0;
            // Where the count does not fit on the page, there was at least one.
            let count = match (counted, layout.long_used) {
                (false, _) => 1,
                (true, true) => long(page, end)?,
                (true, false) => word(page, end)?.into(),
            };
            tally.sequences.lose(if self.pages_tell { count } else { 0 });
        }
        let data = page.get(..end)?;
        while at < end {
            let head = word(data, at)?;
            let (what, delta) = (head & ((1 << TYPE_BITS) - 1), u64::from(head >> TYPE_BITS));
            at += 4;
            let mut bytes = 4 * what as usize;
            match what {
                PADDING if delta == 0 => break,
                PADDING => {
                    bytes = word(data, at)? as usize;
                    time_ns = time_ns.wrapping_add(delta);
                }
                TIME_EXTEND => {
                    bytes = 4;
                    let more = u64::from(word(data, at)?) << DELTA_BITS;
                    time_ns = time_ns.wrapping_add(delta).wrapping_add(more);
                }
                TIME_STAMP => {
                    bytes = 4;
                    let low = u64::from(word(data, at)?) << DELTA_BITS | delta;
                    time_ns = time_ns >> STAMP_BITS << STAMP_BITS | low;
                }
                _ => {
                    if what == LONG {
                        bytes = (word(data, at)? as usize).checked_sub(4)?;
                        at += 4;
                    }
                    time_ns = time_ns.wrapping_add(delta);
                    let event = data.get(at..at.checked_add(bytes)?)?;
                    layout.event(event, time_ns, tally, events)?;
                }
            }
            at = at.checked_add(bytes)?;
        }
        Some(())
    }
}

#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

#[inline]
fn long(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::read::event::{Operation, READAHEAD};

    const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";
    const ISSUE: &str = "ID: 7\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
        \tfield:char rwbs[4];\toffset:28;\tsize:4;\tsigned:0;\n";
    const PARTITION: u32 = 8 << 20 | 1;
    const DISK: u32 = 8 << 20;

    fn layout() -> Arc<Layout> {
        let mut layout = Layout::of(&Format::of(HEADER), Some((0, 1.5))).unwrap();
        layout.add("block_rq_issue", &Format::of(ISSUE)).unwrap();
        layout.join(Device(PARTITION), Device(DISK));
        Arc::new(layout)
    }

    fn head(what: u32, delta: u32) -> Vec<u8> {
        (delta << TYPE_BITS | what).to_le_bytes().to_vec()
    }

    /// The content of a 32-byte event with this number.
    fn content(id: u16, device: u32, letters: [u8; 4]) -> Vec<u8> {
        let mut bytes = vec![0; 32];
        bytes[..2].copy_from_slice(&id.to_le_bytes());
        bytes[8..12].copy_from_slice(&device.to_le_bytes());
        bytes[16..24].copy_from_slice(&2048_u64.to_le_bytes());
        bytes[24..28].copy_from_slice(&8_u32.to_le_bytes());
        bytes[28..].copy_from_slice(&letters);
        bytes
    }

    fn issue(delta: u32) -> Vec<u8> {
        [head(8, delta), content(7, PARTITION, *b"RA\0\0")].concat()
    }

    fn page(time_ns: u64, flags: u64, parts: &[Vec<u8>]) -> Vec<u8> {
        let data = parts.concat();
        let used = data.len() as u64 | flags;
        let mut page = [&time_ns.to_le_bytes()[..], &used.to_le_bytes(), &data].concat();
        page.resize(4096, 0);
        page
    }

    fn read(pages: &[Vec<u8>], lost: Option<u64>) -> (Tally, Vec<Event>) {
        let (mut tally, mut events) = (Tally::default(), Vec::new());
        let bytes = pages.concat();
        let done = Decoder::new(layout(), lost).decode(&bytes, &mut tally, &mut events);
        assert_eq!(done, bytes.len() / 4096 * 4096);
        (tally, events)
    }

    #[test]
    fn times_are_those_of_the_events_before_and_what_was_added() {
        let long = [head(LONG, 5), 36_u32.to_le_bytes().to_vec(), content(7, DISK, *b"WS\0\0")];
        let discarded = [head(PADDING, 2), 8_u32.to_le_bytes().to_vec(), vec![0; 4]];
        let parts = [
            issue(0),
            [head(TIME_EXTEND, 3), 1_u32.to_le_bytes().to_vec()].concat(),
            long.concat(),
            discarded.concat(),
            [head(8, 4), content(99, DISK, *b"????")].concat(),
            [head(TIME_STAMP, 1), 2_u32.to_le_bytes().to_vec()].concat(),
            issue(1),
            head(PADDING, 0),
            vec![0xff; 40],
        ];
        let (tally, events) = read(&[page(1000, 0, &parts)], None);
        let times: Vec<u64> = events.iter().map(Event::time_ns).collect();
        assert_eq!(times, [1000, 1000 + 3 + (1 << 27) + 5, (2 << 27) + 1 + 1]);
        let read = Event::new(1000, Kind::Issue, Device(DISK), Operation::Read);
        assert_eq!(events[0], read.at(2048, 8).with(READAHEAD));
        assert_eq!((tally.records(), tally.actions[7], tally.actions[NOTE]), (4, 3, 1));
        assert_eq!((tally.damaged_places, tally.wall), (0, Some((0, 1.5))));
    }

    #[test]
    fn what_was_lost_is_what_the_kernel_said_at_the_end_or_else_the_pages() {
        let count = 7_u64.to_le_bytes().to_vec();
        let mut counted = page(2000, LOST | LOST_IS_COUNTED, &[issue(0)]);
        counted[16 + 36..16 + 44].copy_from_slice(&count);
        let pages = [page(1000, 0, &[issue(0)]), counted, page(3000, LOST, &[issue(0)])];
        let of = |lost| {
            let (tally, events) = read(&pages, lost);
            assert_eq!((events.len(), tally.damaged_places), (3, 0));
            tally.sequences.missing
        };
        assert_eq!(of(None), 7 + 1);
        assert_eq!(of(Some(12)), 12);
        assert_eq!(of(Some(0)), 0);
    }

    #[test]
    fn a_damaged_page_costs_no_other() {
        let good = || page(1000, 0, &[issue(0)]);
        let bad = [
            page(1000, 0xf_ffff, &[]),
            page(1000, 0, &[issue(0), head(28, 1)]),
            page(1000, 0, &[head(LONG, 1), 3_u32.to_le_bytes().to_vec()]),
            page(1000, 0, &[head(8, 0), content(7, DISK, *b"Y\0\0\0")]),
            page(1000, 0, &[head(2, 0), content(7, DISK, *b"R\0\0\0")[..8].to_vec()]),
            page(TIME_LIMIT_NS, 0, &[issue(0)]),
        ];
        for page in bad {
            let (tally, events) = read(&[good(), page, good(), vec![0; 100]], None);
            assert_eq!((tally.damaged_places, tally.damaged_bytes), (1, 4096));
            assert_eq!(tally.first_damaged_byte, Some(4096));
            assert!(events.len() >= 2);
        }
    }

    #[test]
    fn a_kernel_that_is_not_known_is_refused() {
        let refused = |text: &str| Layout::of(&Format::of(text), None).is_none();
        assert!(!refused(HEADER));
        for (known, unknown) in [
            ("timestamp", "time"),
            ("size:4080", "size:65536"),
            ("local_t commit;\toffset:8;\tsize:8", "local_t commit;\toffset:8;\tsize:2"),
            ("local_t commit;\toffset:8", "local_t commit;\toffset:12"),
        ] {
            assert!(refused(&HEADER.replace(known, unknown)), "{unknown}");
        }
        let mut layout = Layout::of(&Format::of(HEADER), None).unwrap();
        for gone in ["ID: 7", "sector_t sector", "rwbs[4]", "dev_t dev"] {
            let format = Format::of(&ISSUE.replace(gone, "x"));
            assert_eq!(layout.add("block_rq_issue", &format), None, "{gone}");
        }
        assert_eq!(layout.add("ext4_x", &Format::of(ISSUE)), Some(()));
    }

    proptest! {
        #[test]
        fn whatever_a_page_has_is_read_to_its_end(
            bytes in prop::collection::vec(any::<u8>(), 0..4080), time_ns in any::<u64>()
        ) {
            let (tally, events) = read(&[page(time_ns, 0, &[bytes])], None);
            prop_assert!(tally.records() >= events.len() as u64);
        }
    }
}
