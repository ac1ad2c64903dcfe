//! One event of a block device's queue, as every reader gives it.

use std::fmt;

/// Times from here on are damage: 36 years after the clock began.
pub const TIME_LIMIT_NS: u64 = 1 << 60;
/// Sectors from here on are damage: 128 PiB.
pub const SECTOR_LIMIT: u64 = 1 << SECTOR_BITS;
/// How many bits a sector's number has.
pub const SECTOR_BITS: u32 = 48;
/// The sector in which the block layer counts, whatever the device's.
pub const SECTOR_BYTES: u64 = 512;

/// It was read before a process requested it.
pub const READAHEAD: u8 = 1;
/// It is the file system's own data.
pub const METADATA: u8 = 2;
/// A process waits for it.
pub const SYNC: u8 = 4;
/// It must reach the medium, not only the device's cache.
pub const FUA: u8 = 8;
/// It completed with an error.
pub const FAILED: u8 = 16;
/// The device empties its cache first; a request without data that does only this is
/// [`Operation::Flush`].
pub const FLUSHED: u8 = 32;

const KIND_BITS: u32 = 4;

/// The kind of an event. At the same time, the lower one came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Q: the request was made.
    Queue,
    /// X: it was split; `sectors` are those of the first part.
    Split,
    /// M: it was appended to another one.
    BackMerge,
    /// F: it was put in front of another one.
    FrontMerge,
    /// D: it went to the device's driver.
    Issue,
    /// R: the driver gave it back.
    Requeue,
    /// C: the device is done with it.
    Complete,
    /// No request: the file system reports which of its blocks a file has. `sector` is the first
    /// block and `sectors` the number of blocks, `who` is the file and `device` is the file
    /// system's device.
    Extent,
    /// No request: the file system says that a file is made: `who` is its number, `sector` that
    /// of the folder.
    Birth,
    /// No request: the file system has a file in memory from now on, as it has one that is made: `who` is
    /// its number.
    Loaded,
    /// No request: the file system reports that a file's number is free. `who` is the number, on
    /// xfs within the group `sector`.
    Gone,
}

impl Kind {
    const ALL: [Self; 1 << KIND_BITS] = {
        let mut all = [Self::Gone; 1 << KIND_BITS];
        all[Self::Queue as usize] = Self::Queue;
        all[Self::Split as usize] = Self::Split;
        all[Self::BackMerge as usize] = Self::BackMerge;
        all[Self::FrontMerge as usize] = Self::FrontMerge;
        all[Self::Issue as usize] = Self::Issue;
        all[Self::Requeue as usize] = Self::Requeue;
        all[Self::Complete as usize] = Self::Complete;
        all[Self::Extent as usize] = Self::Extent;
        all[Self::Birth as usize] = Self::Birth;
        all[Self::Loaded as usize] = Self::Loaded;
        all
    };
}

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Operation {
    /// Reads sectors.
    Read,
    /// Writes sectors.
    Write,
    /// Informs the device that sectors are no longer needed.
    Discard,
    /// Has the device empty its cache; has no sectors.
    Flush,
    /// Moves no data of a file system: zones, zeroes, commands passed through.
    Other,
}

impl Operation {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Discard => "discard",
            Self::Flush => "flush",
            Self::Other => "other",
        }
    }
}

/// A block device by its number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Device(pub u32);

impl Device {
    const MINOR_BITS: u32 = 20;

    /// The device of these numbers; `None` if the kernel knows no such.
    pub fn of(major: u64, minor: u64) -> Option<Self> {
        let fits = major < 1 << (u32::BITS - Self::MINOR_BITS) && minor < 1 << Self::MINOR_BITS;
        fits.then_some(Self((major << Self::MINOR_BITS | minor) as u32))
    }

    /// Its major and its minor number.
    pub fn numbers(self) -> (u32, u32) {
        (self.0 >> Self::MINOR_BITS, self.0 & ((1 << Self::MINOR_BITS) - 1))
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.numbers();
        write!(f, "{major},{minor}")
    }
}

/// An event of those that the analysis needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Time and kind in one number, so that sorting compares one.
    order: u64,
    /// Where the request begins.
    pub sector: u64,
    /// How long it is; 0 if it has no data.
    pub sectors: u32,
    /// The device on which it happened.
    pub device: Device,
    /// The request's operation.
    pub operation: Operation,
    /// [`READAHEAD`] and the others.
    pub flags: u8,
    /// The part of a file's number that does not fit into `who`.
    who_above: u16,
    /// The number of the process in the recording, for a request that is queued or issued; for a
    /// file system's event see [`Event::file`]; otherwise 0.
    pub who: u32,
}

impl Event {
    /// An event at `time_ns`, which is below [`TIME_LIMIT_NS`], of a request without data.
    #[inline]
    pub fn new(time_ns: u64, kind: Kind, device: Device, operation: Operation) -> Self {
        let order = time_ns << KIND_BITS | kind as u64;
        Self { order, sector: 0, sectors: 0, device, operation, flags: 0, who_above: 0, who: 0 }
    }

    /// This event of the sectors given.
    #[inline]
    #[must_use]
    pub fn at(self, sector: u64, sectors: u32) -> Self {
        Self { sector, sectors, ..self }
    }

    /// This event of the process with this number.
    #[inline]
    #[must_use]
    pub fn of(self, who: u32) -> Self {
        Self { who, ..self }
    }

    /// This event of the file with this number; `None` if it has more than 48 bits.
    pub fn of_file(self, number: u64) -> Option<Self> {
        let who_above = u16::try_from(number >> u32::BITS).ok()?;
        Some(Self { who_above, who: number as u32, ..self })
    }

    /// The number of the file of which a file system says something.
    pub fn file(&self) -> u64 {
        u64::from(self.who_above) << u32::BITS | u64::from(self.who)
    }

    /// This event with these flags.
    #[inline]
    #[must_use]
    pub fn with(self, flags: u8) -> Self {
        Self { flags, ..self }
    }

    /// This event of a command that is passed through to the device.
    #[must_use]
    pub fn passed_through(self) -> Self {
        Self { operation: Operation::Other, ..self }
    }

    /// Whether it is of a request, and not what a file system says of a file.
    #[inline]
    pub fn is_of_request(&self) -> bool {
        self.order & (Kind::ALL.len() as u64 - 1) <= Kind::Complete as u64
    }

    /// The sort key of events: the time, then the kind.
    #[inline]
    pub fn order(&self) -> u64 {
        self.order
    }

    /// When it happened, on the trace's clock.
    #[inline]
    pub fn time_ns(&self) -> u64 {
        self.order >> KIND_BITS
    }

    /// The kind.
    #[inline]
    pub fn kind(&self) -> Kind {
        Kind::ALL[(self.order & (Kind::ALL.len() as u64 - 1)) as usize]
    }
}
