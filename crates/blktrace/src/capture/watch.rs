//! The names of files made during a recording, for a whole file system and without gaps: fanotify
//! reports the folder, name and file of each, even if it is gone when the event is read.
//!
//! Source: Linux, man pages fanotify(7), `fanotify_init(2)`: `FAN_REPORT_DFID_NAME_TARGET`, since
//! 5.17; `include/uapi/linux/fanotify.h`; `include/linux/exportfs.h` (the content of a file
//! handle).

use std::io;
use std::path::Path;

use nix::sys::fanotify::{EventFFlags, Fanotify, InitFlags, MarkFlags, MaskFlags};
use rustix::fs::CWD;

/// Folder and name, and the file itself.
const REPORTS: u32 = 0x200 | 0x400 | 0x800 | 0x1000;
/// The size of one read: an event has at most a name of 255 bytes and two handles of 128.
const ROOM_BYTES: usize = 64 << 10;
/// The head of an event, and where it has what.
const HEAD_BYTES: usize = 24;
const HEAD_LENGTH_AT: usize = 6;
const MASK_AT: usize = 8;
/// The kinds of information record in an event.
const OF_FILE: u8 = 1;
const OF_NAME: u8 = 2;
/// Where the file's handle begins in a record, after its head and the file system.
const TOLD_HANDLE_AT: usize = 12;
/// A handle's kinds, of numbers with 32 and with 64 bits.
const INODE_32: u32 = 1;
const INODE_64: u32 = 0x81;

/// A file that got a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its number.
    pub inode: u64,
    /// The number of the folder.
    pub folder: u64,
    /// The name.
    pub name: String,
    /// Whether it is a folder itself.
    pub is_folder: bool,
    /// Whether it was made, and not only called so.
    pub is_new: bool,
}

/// See the module.
pub struct Watch {
    group: Fanotify,
    room: Vec<u8>,
}

impl Watch {
    /// Watches the file system of the folder from now on.
    pub fn begin(folder: &Path) -> io::Result<Self> {
        let flags = InitFlags::FAN_CLOEXEC
            | InitFlags::FAN_NONBLOCK
            | InitFlags::FAN_UNLIMITED_QUEUE
            | InitFlags::from_bits_retain(REPORTS);
        let group = Fanotify::init(flags, EventFFlags::O_RDONLY)?;
        let events = MaskFlags::FAN_CREATE | MaskFlags::FAN_MOVED_TO | MaskFlags::FAN_ONDIR;
        let marks = MarkFlags::FAN_MARK_ADD | MarkFlags::FAN_MARK_FILESYSTEM;
        group.mark(marks, events, CWD, Some(folder))?;
        Ok(Self { group, room: vec![0; ROOM_BYTES] })
    }

    /// Passes each new file to `each`, and returns whether no event was lost.
    pub fn take(&mut self, mut each: impl FnMut(Made)) -> io::Result<bool> {
        let mut whole = true;
        loop {
            let filled = match rustix::io::read(&self.group, &mut self.room) {
                Ok(0) | Err(rustix::io::Errno::AGAIN) => return Ok(whole),
                Ok(filled) => filled,
                Err(error) => return Err(error.into()),
            };
            let mut rest = &self.room[..filled];
            while let Some((event, more)) = next(rest) {
                let mask = u64::from_le_bytes(*event[MASK_AT..].first_chunk().unwrap_or(&[0; 8]));
                let mask = MaskFlags::from_bits_retain(mask);
                whole &= !mask.contains(MaskFlags::FAN_Q_OVERFLOW);
                made(event, mask).into_iter().for_each(&mut each);
                rest = more;
            }
        }
    }
}

/// The next event, and the bytes behind it.
fn next(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let length = word(bytes, 0)? as usize;
    (length >= HEAD_BYTES).then(|| bytes.split_at_checked(length)).flatten()
}

/// The content of an event; `None` if it has no file.
fn made(event: &[u8], mask: MaskFlags) -> Option<Made> {
    let head: [u8; 2] = *event.get(HEAD_LENGTH_AT..)?.first_chunk()?;
    let mut rest = event.get(usize::from(u16::from_le_bytes(head))..)?;
    let (mut file, mut named) = (None, None);
    while let &[kind, _, low, high, ..] = rest {
        let length = usize::from(u16::from_le_bytes([low, high]));
        let (told, more) = rest.split_at_checked(length)?;
        let handle = told.get(TOLD_HANDLE_AT..)?;
        match kind {
            OF_FILE => file = inode(handle),
            OF_NAME => {
                let name = handle.get(8 + word(handle, 0)? as usize..)?;
                let name = name.split(|byte| *byte == 0).next()?;
                named = Some((inode(handle)?, String::from_utf8_lossy(name).into_owned()));
            }
            _ => {}
        }
        rest = more;
    }
    let (folder, name) = named?;
    let is_folder = mask.contains(MaskFlags::FAN_ONDIR);
    let is_new = mask.contains(MaskFlags::FAN_CREATE);
    Some(Made { inode: file?, folder, name, is_folder, is_new })
}

/// The number in a file's handle, which has its length, its kind and the file system's bytes.
fn inode(handle: &[u8]) -> Option<u64> {
    match word(handle, 4)? {
        INODE_32 => word(handle, 8).map(u64::from),
        INODE_64 => handle.get(8..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)),
        _ => None,
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The Linux 6.18 event for a file `tmp` that was made in the folder 13 of ext4.
    const NAMED: [u8; 32] = [
        2, 0, 32, 0, 0xb7, 0x95, 0x82, 0xe5, 0x87, 0x5d, 0x94, 0xa6, 8, 0, 0, 0, 1, 0, 0, 0, 13, 0,
        0, 0, 0x51, 0xc7, 0xc0, 0x12, b't', b'm', b'p', 0,
    ];
    const FILE: [u8; 28] = [
        1, 0, 28, 0, 0xb7, 0x95, 0x82, 0xe5, 0x87, 0x5d, 0x94, 0xa6, 8, 0, 0, 0, 1, 0, 0, 0, 14, 0,
        0, 0, 0xbf, 0xaf, 0x28, 0x65,
    ];

    fn event() -> Vec<u8> {
        let length = (HEAD_BYTES + NAMED.len() + FILE.len()) as u8;
        let head =
            [length, 0, 0, 0, 3, 0, 24, 0, 0, 1, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 9, 0, 0, 0];
        [&head[..], &NAMED, &FILE].concat()
    }

    #[test]
    fn an_event_tells_folder_name_and_file() {
        let event = event();
        let (first, rest) = next(&event).unwrap();
        assert!(rest.is_empty());
        let name = "tmp".to_owned();
        let expected = Made { inode: 14, folder: 13, name, is_folder: false, is_new: true };
        assert_eq!(made(first, MaskFlags::FAN_CREATE), Some(expected));
    }

    #[test]
    fn what_is_cut_off_or_of_another_kind_is_nothing() {
        let event = event();
        for length in 0..event.len() {
            assert_eq!(made(&event[..length], MaskFlags::FAN_CREATE), None, "{length}");
            assert_eq!(next(&event[..length]), None);
        }
        let mut other = event;
        other[HEAD_BYTES + TOLD_HANDLE_AT + 4] = 0x4d; // the kind of the folder's handle
        assert_eq!(made(&other, MaskFlags::FAN_CREATE), None);
    }
}
