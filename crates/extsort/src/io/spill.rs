//! The scratch disks: writing blocks out in the first phase, reading them back in the second.
//!
//! A scratch file has no name, so that nothing is left of it however the process ends.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use rawio::{Block, DirectFile, Operation, Request, align_up};
use rustix::process::{Resource, getrlimit};

use crate::error::SortError;
use crate::io::pump::pump;
use crate::io::queue::ByteQueue;
use crate::io::transfers::Transfers;
use crate::phases::partition::{Filled, Spilled, Store};
use crate::phases::stage::{Meter, Shared, lock};
use crate::spec::SortSpec;

/// Space in the common file is reserved in steps of this many bytes: large enough to be rare, small
/// enough for a disk that is nearly full.
const RESERVE_BYTES: u64 = 64 << 20;
/// Most partitions that have a file of their own, of all scratch directories together.
const MOST_FILES: u64 = 512;
/// Handles that are left to all else when there are few.
const KEPT_OPEN_FILES: u64 = 128;

/// The files of one scratch directory.
///
/// On the disk of an output directory, a partition has a file of its own while there are not too
/// many. Once the partition has been read back, this file becomes its output file: its space need
/// neither be freed nor found again. All others share a file.
pub(crate) struct Scratch {
    pub(crate) dir: usize,
    path: PathBuf,
    home: Option<Home>,
    direct: bool,
    files: Mutex<Files>,
}

/// Where files are made so that they can become output files.
struct Home {
    /// Number and path of the output directory.
    output: usize,
    path: PathBuf,
    /// Approximate size of an output file.
    file_bytes: u64,
}

struct Files {
    own: HashMap<usize, Area>,
    /// How many partitions may still get a file.
    left: usize,
    common: Area,
}

/// A file and how far it is filled and reserved.
struct Area {
    file: Arc<DirectFile>,
    end: u64,
    reserved: u64,
}

impl Area {
    fn new(file: DirectFile) -> Self {
        Self { file: Arc::new(file), end: 0, reserved: 0 }
    }

    /// A place for `length` more bytes; space is reserved `step` bytes at a time.
    fn extend(&mut self, length: usize, step: u64) -> (Arc<DirectFile>, u64) {
        let offset = self.end;
        self.end += length as u64;
        if self.end > self.reserved {
            let from = self.reserved;
            self.reserved = (from + step).max(self.end);
            // Ignore a refusal: the write itself will report a full disk.
            let _ = self.file.preallocate(from, self.reserved - from);
        }
        (Arc::clone(&self.file), offset)
    }
}

impl Scratch {
    /// Number `dir` of the scratch directories of `spec`, for partitions of about `partition_bytes`.
    pub(crate) fn create(
        spec: &SortSpec,
        dir: usize,
        partition_bytes: u64,
    ) -> Result<Self, SortError> {
        let path = spec.scratch[dir].clone();
        let fail = |source| SortError::Directory { role: "scratch", path: path.clone(), source };
        let common = DirectFile::anonymous(&path, spec.direct).map_err(fail)?;
        let disk = rawio::file_system_id(&path).map_err(fail)?;
        let on_disk =
            |at: &usize| rawio::file_system_id(&spec.outputs[*at]).is_ok_and(|other| other == disk);
        let outputs = spec.outputs.len();
        // A reducer's output size is unknown, so its output goes to new files.
        let home = (dir..dir + outputs)
            .map(|at| at % outputs)
            .find(on_disk)
            .filter(|_| spec.job.reducer.is_none())
            .map(|output| Home {
                output,
                path: spec.outputs[output].clone(),
                file_bytes: align_up(partition_bytes as usize) as u64,
            });
        let open_files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
        // Outputs, inputs and the process need some themselves.
        let spare = open_files.saturating_sub(KEPT_OPEN_FILES) / 2;
        let left = MOST_FILES.min(spare) as usize / spec.scratch.len();
        let files = Files { own: HashMap::new(), left, common: Area::new(common) };
        Ok(Self { dir, path, home, direct: spec.direct, files: Mutex::new(files) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// `direct` unless some file had to be written through the page cache.
    pub(crate) fn way(&self) -> &'static str {
        let files = lock(&self.files);
        let direct =
            files.common.file.is_direct() && files.own.values().all(|a| a.file.is_direct());
        if direct { "direct" } else { "buffered" }
    }

    /// A place for `length` bytes of `partition`.
    fn place(&self, partition: usize, length: usize) -> (Arc<DirectFile>, u64) {
        let mut files = lock(&self.files);
        let Files { own, left, common } = &mut *files;
        let Some(home) = &self.home else {
            return common.extend(length, RESERVE_BYTES);
        };
        if *left > 0 && !own.contains_key(&partition) {
            match DirectFile::anonymous(&home.path, self.direct) {
                Ok(file) => {
                    own.insert(partition, Area::new(file));
                    *left -= 1;
                }
                Err(_) => *left = 0,
            }
        }
        match own.get_mut(&partition) {
            Some(area) if area.reserved == 0 => area.extend(length, home.file_bytes),
            Some(area) => area.extend(length, home.file_bytes / 8),
            None => common.extend(length, RESERVE_BYTES),
        }
    }

    /// Takes the file of a partition that will not be spilled any more; it lives until its blocks
    /// have been read. It can become a file in the output directory with the returned number.
    pub(crate) fn take(&self, partition: usize) -> Option<(usize, Arc<DirectFile>)> {
        let area = lock(&self.files).own.remove(&partition)?;
        Some((self.home.as_ref()?.output, area.file))
    }

    /// Writes what the store sends to this disk; returns how, if there was anything.
    pub(crate) fn write(
        &self,
        shared: &Shared<'_>,
        store: &Store,
        transfers: &mut Transfers<'_>,
    ) -> Result<Option<String>, SortError> {
        let mut meter = Meter::start();
        let method = pump(
            shared,
            &store.spills[self.dir],
            transfers,
            &mut meter,
            |spill| {
                let Filled { block, used, records } = spill.filled;
                let length = align_up(used);
                let (file, offset) = shared.in_kernel(|| self.place(spill.partition, length));
                let request = request(Operation::Write, &file, offset, block, length);
                let spilled = Spilled { dir: self.dir, file, offset, used, records };
                Ok((request, (spill.partition, spilled)))
            },
            |request, (partition, spilled), result| {
                let bytes =
                    result.map_err(|e| SortError::write("write scratch in", &self.path, e))?;
                shared.bytes_written.fetch_add(bytes as u64, Ordering::Relaxed);
                store.written(partition, spilled);
                drop(request);
                Ok(())
            },
        )?;
        if meter.bytes == 0 {
            return Ok(None);
        }
        shared.report("map+shuffle", "write_partitions", self.path.to_str(), &meter);
        Ok(Some(method))
    }

    /// Reads blocks back and hands each to `loaded` with its tag.
    pub(crate) fn read<K>(
        &self,
        shared: &Shared<'_>,
        source: &ByteQueue<Load<K>>,
        transfers: &mut Transfers<'_>,
        phase: &'static str,
        mut loaded: impl FnMut(Filled, K),
    ) -> Result<(), SortError> {
        let mut meter = Meter::start();
        pump(
            shared,
            source,
            transfers,
            &mut meter,
            |load| {
                let length = align_up(load.spilled.used);
                let Spilled { file, offset, .. } = &load.spilled;
                let request = request(Operation::Read, file, *offset, load.block, length);
                Ok((request, (load.spilled, load.token)))
            },
            |request, (spilled, token), result| {
                let fail = |source| SortError::Io {
                    action: "read scratch in",
                    path: self.path.clone(),
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
            shared.report(phase, "read_partition", self.path.to_str(), &meter);
        }
        Ok(())
    }
}

/// A transfer of `length` bytes from the start of `block` on.
pub(crate) fn request(
    operation: Operation,
    file: &Arc<DirectFile>,
    offset: u64,
    block: Block,
    length: usize,
) -> Request {
    Request { operation, file: Arc::clone(file), offset, block, range: 0..length, tag: 0 }
}

/// A block to be read back into `block`.
pub(crate) struct Load<K> {
    pub(crate) spilled: Spilled,
    pub(crate) block: Block,
    pub(crate) token: K,
}
