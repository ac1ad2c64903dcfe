//! What a file system says of its files in the kernel's ring buffers: which blocks are whose, and
//! which files are made.
//!
//! Source: Linux, `include/trace/events/ext4.h`.

use crate::event::{Device, Event, Kind, Operation};
use crate::format::Format;

/// Of the states of an extent, that it has blocks: written, or allocated to be written.
const HAS_BLOCKS: u8 = 1 | 2;

/// Where an event has what is needed of it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    kind: Kind,
    /// How long it is at least.
    bytes: usize,
    device: usize,
    inode: usize,
    /// The first block, or the folder.
    first: usize,
    /// How many blocks there are, and where it says whether they are blocks.
    blocks: Option<(usize, usize)>,
}

impl Place {
    /// The event of the name; `None` if it is none of these, or is not as it is known to be.
    pub fn of(name: &str, format: &Format) -> Option<Self> {
        let (kind, first, blocks) = match name {
            "ext4_es_insert_extent" => {
                let blocks = (format.at("len", 4)?, format.at("status", 1)?);
                (Kind::Extent, format.at("pblk", 8)?, Some(blocks))
            }
            "ext4_allocate_inode" => (Kind::Birth, format.at("dir", 8)?, None),
            _ => return None,
        };
        let (device, inode) = (format.at("dev", 4)?, format.at("ino", 8)?);
        Some(Self { kind, bytes: format.bytes(), device, inode, first, blocks })
    }

    /// The event in `bytes`; `None` if it says nothing of blocks, or is damaged.
    pub fn event(&self, bytes: &[u8], time_ns: u64) -> Option<Event> {
        let bytes = bytes.get(..self.bytes)?;
        let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let long = |at: usize| Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
        let count = match self.blocks {
            Some((_, status)) if bytes[status] & HAS_BLOCKS == 0 => return None,
            Some((count, _)) => word(count)?,
            None => 0,
        };
        let event = Event::new(time_ns, self.kind, Device(word(self.device)?), Operation::Other);
        let inode = u32::try_from(long(self.inode)?).ok()?;
        Some(event.at(long(self.first)?, count).of(inode))
    }
}
