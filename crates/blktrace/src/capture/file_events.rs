//! Events of file systems in the kernel's ring buffers: which file owns which blocks, which files
//! are made and which are gone.
//!
//! Source: Linux, `include/trace/events/ext4.h`, `fs/xfs/xfs_trace.h`.

use crate::capture::format::{Field, Format};
use crate::capture::xfs;
use crate::read::event::{Device, Event, Kind, Operation};

/// The states of an ext4 extent that has blocks: written, or allocated to be written.
const HAS_BLOCKS: u8 = 1 | 2;

/// Where an event has what is needed of it.
#[derive(Clone, Debug)]
pub struct Place {
    kind: Kind,
    /// How long it is at least.
    bytes: usize,
    device: usize,
    inode: Field,
    /// The first block, the folder, or the group of the inode.
    first: Field,
    blocks: Option<Blocks>,
}

/// Where an event has the number of blocks, and how it reports an extent without blocks.
#[derive(Clone, Debug)]
struct Blocks {
    count: Field,
    /// ext4 by a state, xfs by the number of the first one.
    state: Option<usize>,
}

impl Place {
    /// The event of the name; `None` if it is none of these, or is not as it is known to be.
    pub fn of(name: &str, format: &Format) -> Option<Self> {
        let field = |name: &str| format.field(name).filter(|field| field.bytes <= 8).cloned();
        let (kind, inode, first, blocks) = match name {
            "ext4_es_insert_extent" => {
                let state = Some(format.at("status", 1)?);
                (Kind::Extent, "ino", "pblk", Some(Blocks { count: field("len")?, state }))
            }
            "ext4_allocate_inode" => (Kind::Birth, "ino", "dir", None),
            // When extents are allocated, changed, and read from the disk.
            "xfs_iext_insert" | "xfs_bmap_post_update" | "xfs_read_extent" => {
                let blocks = Blocks { count: field("blockcount")?, state: None };
                (Kind::Extent, "ino", "startblock", Some(blocks))
            }
            "xfs_iget_miss" | "xfs_iget_recycle" => (Kind::Loaded, "ino", "ino", None),
            "xfs_iunlink_remove" => (Kind::Gone, "agino", "agno", None),
            _ => return None,
        };
        let (device, bytes) = (format.at("dev", 4)?, format.bytes());
        Some(Self { kind, bytes, device, inode: field(inode)?, first: field(first)?, blocks })
    }

    /// The event in `bytes`; `None` if it says nothing of blocks, or is damaged.
    pub fn event(&self, bytes: &[u8], time_ns: u64) -> Option<Event> {
        let bytes = bytes.get(..self.bytes)?;
        let number = |field: &Field| {
            let mut word = [0; 8];
            word[..field.bytes].copy_from_slice(&bytes[field.at..field.at + field.bytes]);
            u64::from_le_bytes(word)
        };
        let first = number(&self.first);
        let count = match &self.blocks {
            None => 0,
            Some(Blocks { count, state }) => {
                let are_blocks = match state {
                    Some(at) => bytes[*at] & HAS_BLOCKS != 0,
                    None => first < xfs::NO_BLOCK,
                };
                u32::try_from(number(count)).ok().filter(|_| are_blocks)?
            }
        };
        let device = Device(u32::from_le_bytes(*bytes[self.device..].first_chunk()?));
        let event = Event::new(time_ns, self.kind, device, Operation::Other);
        event.at(first, count).of_file(number(&self.inode))
    }
}
