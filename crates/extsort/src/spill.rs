//! The scratch disks: writing blocks out in the first phase, reading them back in the second.
//!
//! A scratch file has no name, so that nothing is left of it however the process ends.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rawio::{Backend, Block, DirectFile, Operation, Request, align_up};

use crate::error::SortError;
use crate::partition::{Filled, Spilled, Store};
use crate::pump::pump;
use crate::stage::{ByteQueue, Meter, Shared};

/// Space is reserved in steps of this many bytes: large enough to be rare, small enough for a disk
/// that is nearly full.
const RESERVE_BYTES: u64 = 64 << 20;

/// One scratch directory's file.
pub(crate) struct Scratch {
    pub(crate) dir: usize,
    pub(crate) file: Arc<DirectFile>,
}

impl Scratch {
    /// Creates the nameless file.
    pub(crate) fn create(dir: usize, path: &Path, direct: bool) -> Result<Self, SortError> {
        let file = DirectFile::anonymous(path, direct).map_err(|source| SortError::Directory {
            role: "scratch",
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { dir, file: Arc::new(file) })
    }

    /// Writes what the store sends to this disk, from `from` on; returns where it ended.
    pub(crate) fn write(
        &self,
        shared: &Shared<'_>,
        store: &Store,
        io: (usize, Backend),
        from: u64,
    ) -> Result<(u64, String), SortError> {
        let mut meter = Meter::start();
        let (mut end, mut reserved) = (from, from);
        let method = pump(
            shared,
            &store.spills[self.dir],
            io,
            &mut meter,
            |spill| {
                let Filled { block, used, records } = spill.filled;
                let length = align_up(used);
                let offset = end;
                end += length as u64;
                if end > reserved {
                    reserved = end.next_multiple_of(RESERVE_BYTES);
                    // A refusal is no failure yet: the write itself will tell.
                    let _ = self.file.preallocate(offset, reserved - offset);
                }
                let spilled = Spilled { dir: self.dir, offset, used, records };
                let request = self.request(Operation::Write, block, offset, length);
                Ok((request, (spill.partition, spilled)))
            },
            |request, (partition, spilled), result| {
                let bytes = result
                    .map_err(|e| SortError::write("write scratch in", self.file.path(), e))?;
                shared.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
                store.written(partition, spilled);
                drop(request);
                Ok(())
            },
        )?;
        if meter.bytes > 0 {
            shared.report("map+shuffle", "write_partitions", self.file.path().to_str(), &meter);
        }
        Ok((end, method))
    }

    /// Reads blocks back and hands each to `loaded` with what it came with.
    pub(crate) fn read<K>(
        &self,
        shared: &Shared<'_>,
        source: &ByteQueue<Load<K>>,
        io: (usize, Backend),
        phase: &'static str,
        mut loaded: impl FnMut(Filled, K),
    ) -> Result<(), SortError> {
        let mut meter = Meter::start();
        pump(
            shared,
            source,
            io,
            &mut meter,
            |load| {
                let length = align_up(load.spilled.used);
                let request =
                    self.request(Operation::Read, load.block, load.spilled.offset, length);
                Ok((request, (load.spilled, load.token)))
            },
            |request, (spilled, token), result| {
                let fail = |source| SortError::Io {
                    action: "read scratch in",
                    path: self.file.path().to_owned(),
                    source,
                };
                let bytes = result.map_err(fail)?;
                if bytes < spilled.used {
                    return Err(fail(std::io::ErrorKind::UnexpectedEof.into()));
                }
                shared.bytes_read.fetch_add(bytes as u64, Ordering::Relaxed);
                let Spilled { used, records, .. } = spilled;
                loaded(Filled { block: request.block, used, records }, token);
                Ok(())
            },
        )?;
        if meter.bytes > 0 {
            shared.report(phase, "read_partition", self.file.path().to_str(), &meter);
        }
        Ok(())
    }

    fn request(&self, operation: Operation, block: Block, offset: u64, length: usize) -> Request {
        Request { operation, file: Arc::clone(&self.file), offset, block, range: 0..length, tag: 0 }
    }
}

/// A block to be read back into `block`.
pub(crate) struct Load<K> {
    pub(crate) spilled: Spilled,
    pub(crate) block: Block,
    pub(crate) token: K,
}
