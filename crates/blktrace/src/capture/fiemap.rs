//! The position of a file on its file system, from the kernel (FIEMAP).
//!
//! Source: Linux, Documentation/filesystems/fiemap.rst, `include/uapi/linux/fiemap.h`.

#![allow(unsafe_code)]

use std::io;
use std::ops::Range;
use std::os::fd::AsFd;

use rustix::ioctl::{Opcode, Updater, ioctl, opcode};

/// The number of extents in one request.
const AT_ONCE: usize = 128;
/// The size of the request in the ioctl's number: its head, without extents.
const HEAD_BYTES: usize = 32;
const FIEMAP: Opcode = opcode::read_write::<[u8; HEAD_BYTES]>(b'f', 11);
/// It is the file's last one.
const LAST: u32 = 0x1;
/// It has no place of its own on the device yet, or none at all: unknown, delayed, encoded, not
/// aligned, in the inode, in a tail.
const NOWHERE: u32 = 0x2 | 0x4 | 0x8 | 0x100 | 0x200 | 0x400;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Extent {
    logical: u64,
    physical: u64,
    length: u64,
    reserved64: [u64; 2],
    flags: u32,
    reserved: [u32; 3],
}

#[repr(C)]
struct Request {
    start: u64,
    length: u64,
    flags: u32,
    mapped: u32,
    count: u32,
    reserved: u32,
    extents: [Extent; AT_ONCE],
}

/// Bytes of the file system in which a file lies, in the order of the file; at most `limit` ranges,
/// of which those that follow one another are one. What is not written out yet has no place.
pub fn extents(file: impl AsFd, limit: usize) -> io::Result<Vec<Range<u64>>> {
    let mut found: Vec<Range<u64>> = Vec::new();
    let mut request = Request {
        start: 0,
        length: u64::MAX,
        flags: 0,
        mapped: 0,
        count: AT_ONCE as u32,
        reserved: 0,
        extents: [Extent::default(); AT_ONCE],
    };
    loop {
        request.length = u64::MAX - request.start;
        // SAFETY: `Request` is laid out as the kernel's struct fiemap with room for `count` extents
        // behind it, all of which are plain numbers, and lives as long as the call.
        unsafe { ioctl(file.as_fd(), Updater::<FIEMAP, Request>::new(&mut request))? };
        let mapped = &request.extents[..(request.mapped as usize).min(AT_ONCE)];
        let Some(last) = mapped.last() else { return Ok(found) };
        for extent in mapped.iter().filter(|extent| extent.flags & NOWHERE == 0) {
            let bytes = extent.physical..extent.physical.saturating_add(extent.length);
            let full = found.len() == limit;
            match found.last_mut() {
                Some(before) if before.end == bytes.start => before.end = bytes.end,
                _ if full => return Ok(found),
                _ => found.push(bytes),
            }
        }
        let next = last.logical.saturating_add(last.length);
        if last.flags & LAST != 0 || next <= request.start {
            return Ok(found);
        }
        request.start = next;
    }
}
