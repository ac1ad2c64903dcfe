//! The sparse file that holds a disk's content.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};

use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use rustix::io::Errno;

use crate::error::SpindleError;
use crate::spec::DiskSpec;

/// An image, locked: no other process serves it.
#[derive(Debug)]
pub struct Image {
    file: File,
    size_bytes: u64,
}

impl Image {
    /// Opens the image of a disk, or makes it, sparse.
    pub fn open(spec: &DiskSpec) -> Result<Self, SpindleError> {
        let failed = |reason| SpindleError::Image {
            disk: spec.name.clone(),
            path: spec.image.clone(),
            reason,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&spec.image).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            // Two openings of one file exclude each other also within a process.
            Err(Errno::WOULDBLOCK) => {
                let (disk, path) = (spec.name.clone(), spec.image.clone());
                return Err(SpindleError::ImageShared { disk, path });
            }
            Err(error) => return Err(failed(error.into())),
        }
        let found = file.metadata().map_err(failed)?;
        if !found.is_file() {
            return Err(failed(io::Error::other("it is not a regular file")));
        }
        if found.len() == 0 {
            file.set_len(spec.size_bytes).map_err(failed)?;
        } else if found.len() != spec.size_bytes {
            return Err(SpindleError::ImageSize {
                disk: spec.name.clone(),
                path: spec.image.clone(),
                found_bytes: found.len(),
                size_bytes: spec.size_bytes,
            });
        }
        Ok(Self { file, size_bytes: spec.size_bytes })
    }

    /// Size of the disk.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Bytes of the file system below that the image takes.
    pub fn allocated_bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.blocks() * 512)
    }

    /// Fills `buffer` from `offset`.
    pub fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_exact_at(buffer, offset)
    }

    /// Writes `data` at `offset`.
    pub fn write(&self, data: &[u8], offset: u64) -> io::Result<()> {
        self.whole()?;
        self.file.write_all_at(data, offset)
    }

    /// Gives the space of a range back: it reads as zeros.
    pub fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.whole()?;
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(&self.file, flags, offset, bytes)?)
    }

    /// An error if the image was truncated: writes behind its end would turn the data between into
    /// zeros.
    fn whole(&self) -> io::Result<()> {
        if self.file.metadata()?.len() < self.size_bytes {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Ok(())
    }
}
