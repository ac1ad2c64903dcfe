//! Finding the input, and reading it in blocks of whole records.

use std::collections::{HashSet, VecDeque};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rawio::{Block, DirectFile, Operation, Pool, Request, align_up};

use crate::error::SortError;
use crate::io::manifest::MANIFEST;
use crate::io::queue::ByteQueue;
use crate::io::stamp::{self, Rigour, Stamp};
use crate::io::transfers::Transfers;
use crate::phases::stage::{Meter, Shared};
use crate::record::Format;

/// A file to be sorted.
#[derive(Clone, Debug)]
pub(crate) struct InputFile {
    pub(crate) path: PathBuf,
    /// The number of bytes to sort, from its start.
    pub(crate) bytes: u64,
    /// All of it.
    pub(crate) length: u64,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    pub(crate) stamp: Stamp,
}

/// The files meant by `paths`: files as given, directories as the regular files in them by name,
/// without hidden ones, folders, and the engine's own manifest.
pub(crate) fn find(paths: &[PathBuf], format: Format) -> Result<Vec<InputFile>, SortError> {
    let mut files = Vec::new();
    for path in paths {
        let fail = |source| SortError::Input { path: path.clone(), source };
        if fs::metadata(path).map_err(fail)?.is_dir() {
            let mut names = fs::read_dir(path)
                .and_then(|entries| {
                    entries.map(|e| e.map(|e| e.path())).collect::<Result<Vec<_>, _>>()
                })
                .map_err(fail)?;
            names.retain(|path| {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                !name.starts_with('.') && name != MANIFEST && !path.is_dir()
            });
            names.sort();
            for name in names {
                files.push(describe(&name, format)?);
            }
        } else {
            files.push(describe(path, format)?);
        }
    }
    if files.is_empty() {
        return Err(SortError::Options("no input files".to_owned()));
    }
    let mut seen = HashSet::new();
    if let Some(twice) = files.iter().find(|file| !seen.insert((file.device, file.inode))) {
        return Err(SortError::Options(format!("{} is given twice", twice.path.display())));
    }
    Ok(files)
}

/// The first `bytes` of `files`, in whole records of `record_bytes`.
pub(crate) fn first(mut files: Vec<InputFile>, bytes: u64, record_bytes: u64) -> Vec<InputFile> {
    let mut left = bytes;
    for file in &mut files {
        file.bytes = file.bytes.min(left / record_bytes * record_bytes);
        left -= file.bytes;
    }
    files.retain(|file| file.bytes > 0);
    files
}

fn describe(path: &Path, format: Format) -> Result<InputFile, SortError> {
    let fail = |source| SortError::Input { path: path.to_owned(), source };
    // Looking first: opening a pipe would wait for its writer.
    if !fs::metadata(path).map_err(fail)?.is_file() {
        return Err(SortError::Options(format!("{} is not a regular file", path.display())));
    }
    // Opening now finds an unreadable file before any work is done.
    let meta = stamp::describe(path).map_err(fail)?;
    if let Format::Fixed { record, .. } = format {
        let remainder = meta.len() % record as u64;
        if remainder != 0 {
            return Err(SortError::InputLength {
                path: path.to_owned(),
                size_bytes: meta.len(),
                record_bytes: record as u64,
                remainder_bytes: remainder,
            });
        }
    }
    Ok(InputFile {
        path: path.to_owned(),
        bytes: meta.len(),
        length: meta.len(),
        device: meta.dev(),
        inode: meta.ino(),
        stamp: Stamp::of(&meta),
    })
}

/// Fails if a file is no longer the one that was found.
pub(crate) fn check_unchanged(files: &[InputFile], rigour: Rigour) -> Result<(), SortError> {
    for InputFile { path, stamp, .. } in files {
        if let Some(change) = stamp.change(path, rigour).map_err(|e| refuse(path, e))? {
            return Err(SortError::InputModified { path: path.clone(), change });
        }
    }
    Ok(())
}

fn refuse(path: &Path, source: std::io::Error) -> SortError {
    SortError::Input { path: path.to_owned(), source }
}

/// Files grouped by the disk they are on: each group gets a reader.
pub(crate) fn by_device(files: &[InputFile]) -> Vec<Vec<InputFile>> {
    let mut groups: Vec<Vec<InputFile>> = Vec::new();
    for file in files {
        match groups.iter_mut().find(|group| group[0].device == file.device) {
            Some(group) => group.push(file.clone()),
            None => groups.push(vec![file.clone()]),
        }
    }
    groups
}

/// Whole records in a block, on their way to the distribution.
pub(crate) struct Chunk {
    pub(crate) block: Block,
    pub(crate) start: usize,
    pub(crate) end: usize,
    /// For messages about its records.
    pub(crate) path: Arc<PathBuf>,
    pub(crate) offset: u64,
}

impl Chunk {
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.block[self.start..self.end]
    }
}

/// How a reader reads.
#[derive(Clone, Copy)]
pub(crate) struct ReadSpec {
    pub(crate) format: Format,
    pub(crate) max_record: usize,
    pub(crate) headroom: usize,
    pub(crate) io_bytes: usize,
    pub(crate) direct: bool,
}

/// One transfer of a reader.
struct Segment {
    file: usize,
    offset: u64,
    bytes: usize,
    last: bool,
}

/// Reads the files of one disk, in order, and passes on blocks of whole records.
pub(crate) struct Reader<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) files: &'a [InputFile],
    pub(crate) pool: &'a Pool,
    pub(crate) spec: ReadSpec,
    pub(crate) out: &'a ByteQueue<Chunk>,
    pub(crate) meter: Meter,
    /// The start of a record that ends in the next segment.
    carry: Vec<u8>,
    /// The file being read.
    open: Option<(usize, Arc<DirectFile>)>,
    /// Whether all files so far could be read past the page cache.
    direct: bool,
}

/// Segments in flight, oldest first: they are passed on in order, whatever order they end in.
#[derive(Default)]
struct Window {
    segments: VecDeque<(Segment, Option<(Block, usize)>)>,
    /// How many have left the window: the tag of the first one in it.
    delivered: u64,
}

impl Window {
    fn complete(&mut self, tag: u64, block: Block, read: usize) {
        self.segments[(tag - self.delivered) as usize].1 = Some((block, read));
    }

    /// The oldest segment, if it has been read.
    fn next(&mut self) -> Option<(Segment, Block, usize)> {
        let (segment, read) = self.segments.pop_front_if(|(_, read)| read.is_some())?;
        self.delivered += 1;
        read.map(|(block, bytes)| (segment, block, bytes))
    }

    fn path<'f>(&self, files: &'f [InputFile]) -> &'f Path {
        let file = self.segments.front().map_or(0, |(segment, _)| segment.file);
        &files[file].path
    }
}

/// The transfers that read all of `files`, in order.
fn segments(files: &[InputFile], io_bytes: u64) -> impl Iterator<Item = Segment> {
    files.iter().enumerate().flat_map(move |(file, input)| {
        (0..input.bytes.div_ceil(io_bytes)).map(move |n| Segment {
            file,
            offset: n * io_bytes,
            bytes: io_bytes.min(input.bytes - n * io_bytes) as usize,
            last: (n + 1) * io_bytes >= input.bytes,
        })
    })
}

impl<'a> Reader<'a> {
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        files: &'a [InputFile],
        pool: &'a Pool,
        spec: ReadSpec,
        out: &'a ByteQueue<Chunk>,
    ) -> Self {
        Self {
            shared,
            files,
            pool,
            spec,
            out,
            meter: Meter::start(),
            carry: Vec::new(),
            open: None,
            direct: spec.direct,
        }
    }

    /// Reads everything and returns how, for example `io_uring+direct`.
    pub(crate) fn run(
        mut self,
        transfers: &mut Transfers<'_>,
        device: &str,
    ) -> Result<String, SortError> {
        self.meter = Meter::start(); // of the thread that reads
        let method = self.read_all(transfers);
        self.out.finish();
        self.shared.report("map+shuffle", "read", Some(device), &self.meter);
        method
    }

    fn read_all(&mut self, queue: &mut Transfers<'_>) -> Result<String, SortError> {
        let mut segments = segments(self.files, self.spec.io_bytes as u64);
        let mut window = Window::default();
        let mut exhausted = false;
        while !self.shared.is_failed() {
            while !queue.is_full() && !exhausted {
                let idle = queue.in_flight() == 0 && window.segments.is_empty();
                let Some(block) = self.buffer(idle) else {
                    break;
                };
                match segments.next() {
                    Some(segment) => self.submit(queue, &mut window, segment, block)?,
                    None => exhausted = true,
                }
            }
            let path = window.path(self.files);
            let Some(done) = queue.wait().map_err(|source| refuse(path, source))? else {
                if exhausted {
                    break;
                }
                continue;
            };
            let read = done.result.map_err(|source| refuse(path, source))?;
            window.complete(done.request.tag, done.request.block, read);
            while let Some((segment, block, read)) = window.next() {
                if self.deliver(&segment, block, read)?.is_none() {
                    return Ok(String::new());
                }
            }
        }
        let direct = if self.direct { "direct" } else { "buffered" };
        Ok(format!("{}+{direct}", queue.method()))
    }

    fn submit(
        &mut self,
        queue: &mut Transfers<'_>,
        window: &mut Window,
        segment: Segment,
        block: Block,
    ) -> Result<(), SortError> {
        let file = match &self.open {
            Some((index, file)) if *index == segment.file => Arc::clone(file),
            _ => {
                let file = Arc::new(self.open(segment.file)?);
                self.direct &= file.is_direct();
                self.open = Some((segment.file, Arc::clone(&file)));
                file
            }
        };
        let start = self.spec.headroom;
        let request = Request {
            operation: Operation::Read,
            file,
            offset: segment.offset,
            block,
            range: start..start + align_up(segment.bytes),
            tag: window.delivered + window.segments.len() as u64,
        };
        let path = &self.files[segment.file].path;
        queue.submit(request).map_err(|source| refuse(path, source))?;
        window.segments.push_back((segment, None));
        Ok(())
    }

    fn open(&self, file: usize) -> Result<DirectFile, SortError> {
        let input = &self.files[file];
        let fail = |source| SortError::Input { path: input.path.clone(), source };
        let file = DirectFile::open(&input.path, self.spec.direct).map_err(fail)?;
        let found_bytes = file.len().map_err(fail)?;
        if found_bytes != input.length {
            let (path, expected_bytes) = (input.path.clone(), input.length);
            return Err(SortError::InputChanged { path, expected_bytes, found_bytes });
        }
        Ok(file)
    }

    /// A buffer to read into; waits for one only if nothing else can be done.
    fn buffer(&mut self, wait: bool) -> Option<Block> {
        if let Some(block) = self.pool.try_take() {
            return Some(block);
        }
        if !wait {
            return None;
        }
        let (block, waited) = self.pool.take()?;
        self.meter.memory += waited;
        Some(block)
    }

    /// Passes on the whole records of a segment; keeps the rest for the next. `None`: abandoned.
    fn deliver(
        &mut self,
        segment: &Segment,
        mut block: Block,
        read: usize,
    ) -> Result<Option<()>, SortError> {
        let input = &self.files[segment.file];
        if read < segment.bytes {
            return Err(SortError::InputChanged {
                path: input.path.clone(),
                expected_bytes: input.bytes,
                found_bytes: segment.offset + read as u64,
            });
        }
        let start = self.spec.headroom - self.carry.len();
        let offset = segment.offset - self.carry.len() as u64;
        block[start..self.spec.headroom].copy_from_slice(&self.carry);
        self.carry.clear();
        let bytes = &block[start..self.spec.headroom + segment.bytes];
        let malformed = |at: usize, reason: String| SortError::Record {
            path: input.path.clone(),
            offset: offset + at as u64,
            reason,
        };
        let mut whole = self
            .spec
            .format
            .whole_records(bytes, self.spec.max_record)
            .map_err(|m| malformed(m.offset, m.reason))?;
        if segment.last && whole < bytes.len() {
            if self.spec.format != Format::Lines {
                return Err(malformed(whole, "the last record is cut off".to_owned()));
            }
            whole = bytes.len();
        }
        self.carry.extend_from_slice(&bytes[whole..]);
        self.meter.bytes += segment.bytes as u64;
        self.shared.bytes_read.fetch_add(segment.bytes as u64, Ordering::Relaxed);
        self.shared.phase_bytes.fetch_add(segment.bytes as u64, Ordering::Relaxed);
        if whole == 0 {
            return Ok(Some(()));
        }
        let path = Arc::new(input.path.clone());
        let chunk = Chunk { block, start, end: start + whole, path, offset };
        let Some(blocked) = self.out.push(chunk, whole) else {
            return Ok(None);
        };
        self.meter.blocked += blocked;
        Ok(Some(()))
    }
}
