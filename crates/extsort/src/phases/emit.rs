//! The second phase: partitions are sorted, reduced and written.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rawio::{Block, DirectFile, Pool};

use crate::checksum::RecordSum;
use crate::error::SortError;
use crate::io::output::{OutFile, Outputs};
use crate::io::queue::ByteQueue;
use crate::job::{Job, Reducer};
use crate::kernels::{Lines, finish_streaming, prefetch, stream};
use crate::phases::partition::Filled;
use crate::phases::sorter::{Sorted, Sorter, wide_location};
use crate::phases::stage::{Meter, Shared, lock};
use crate::record::Format;

/// A partition in memory, ready to be sorted, or a part of one with equal records.
pub(crate) struct Ready {
    pub(crate) number: usize,
    pub(crate) chunks: Vec<Filled>,
    pub(crate) common_bits: usize,
    pub(crate) constant: bool,
    /// A nameless file that is free for the output.
    pub(crate) file: Option<Arc<DirectFile>>,
    /// Set if other parts hold records with the same key: they share a reducer.
    pub(crate) group: Option<Arc<Group>>,
}

/// The parts of a partition of one key that is too large for memory, and their common reducer.
pub(crate) struct Group {
    pub(crate) reducer: Mutex<Option<Box<dyn Reducer>>>,
    pub(crate) left: AtomicUsize,
}

/// A block of output on its way to its disk.
pub(crate) struct OutBlock {
    pub(crate) file: Arc<OutFile>,
    pub(crate) offset: u64,
    pub(crate) block: Block,
    pub(crate) used: usize,
}

/// State shared by all workers of the second phase.
pub(crate) struct Emission<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) job: &'a Job,
    pub(crate) outputs: &'a Outputs,
    pub(crate) pool: &'a Pool,
    pub(crate) ready: &'a ByteQueue<Ready>,
    /// One queue for each output directory.
    pub(crate) writers: &'a [ByteQueue<OutBlock>],
    pub(crate) finisher: &'a ByteQueue<Arc<OutFile>>,
    pub(crate) checksum: Option<&'a Mutex<RecordSum>>,
    /// Records taken from partitions.
    pub(crate) records_taken: &'a AtomicU64,
}

/// Prefetch distance in records.
const PREFETCH_AHEAD: usize = 32;

/// The sort is being abandoned; the reason is in [`Shared`].
struct Abandoned;

impl Emission<'_> {
    /// Takes partitions until the queue is empty, sorts them and passes on their output.
    pub(crate) fn run(&self) -> Result<(), SortError> {
        let mut sorter = Sorter::new(self.job.intermediate, self.job.order);
        let (mut sorting, mut reducing) = (Meter::start(), Meter::start());
        let mut sum = RecordSum::default();
        loop {
            let mut waited = Duration::ZERO;
            let ready = self.ready.pop(&mut waited);
            sorting.idle += waited;
            reducing.idle += waited;
            let Some(ready) = ready else { break };
            let bytes: u64 = ready.chunks.iter().map(|chunk| chunk.used as u64).sum();
            let records: u64 = ready.chunks.iter().map(|chunk| u64::from(chunk.records)).sum();
            sorting.bytes += bytes;
            sorting.records += records;
            reducing.records += records;
            self.records_taken.fetch_add(records, Ordering::Relaxed);
            let (start, before) = (Instant::now(), sorting.used());
            let sorted = (!ready.constant).then(|| sorter.sort(&ready.chunks, ready.common_bits));
            reducing.idle += start.elapsed();
            let (start, between) = (Instant::now(), sorting.used());
            reducing.elsewhere = reducing.elsewhere.plus(between.since(before));
            let written = self.emit(&ready, sorted.as_ref(), bytes, &mut reducing, &mut sum)?;
            sorting.blocked += start.elapsed();
            sorting.elsewhere = sorting.elsewhere.plus(sorting.used().since(between));
            let Some(written) = written else { break };
            reducing.bytes += written;
        }
        if let Some(total) = self.checksum {
            lock(total).merge(sum);
        }
        self.shared.report("sort+reduce", "sort", None, &sorting);
        self.shared.report("sort+reduce", "reduce", None, &reducing);
        Ok(())
    }

    /// Writes a partition in order; returns the bytes written, or none if the sort is abandoned.
    fn emit(
        &self,
        ready: &Ready,
        sorted: Option<&Sorted<'_>>,
        bytes: u64,
        meter: &mut Meter,
        sum: &mut RecordSum,
    ) -> Result<Option<u64>, SortError> {
        let expected = if self.job.reducer.is_some() { 0 } else { bytes };
        let create = || self.outputs.create(ready.number, expected, ready.file.clone());
        let file = self.shared.in_kernel(create)?;
        let sum = self.checksum.is_some().then_some(sum);
        let mut stream = Stream {
            emission: self,
            file,
            block: None,
            used: 0,
            offset: 0,
            records: 0,
            meter,
            sum,
        };
        let done = match (&self.job.reducer, self.job.intermediate, sorted) {
            (Some(make), _, _) => {
                let mut own = make();
                self.reduce(ready, sorted, &mut own, &mut stream)?
            }
            (
                None,
                Format::Fixed { record: 100, .. },
                Some(Sorted::Fixed { entries, chunk_shift, mask }),
            ) => stream.gather::<100, 16, 1600>(&ready.chunks, entries, *chunk_shift, *mask),
            _ => for_each(self.job.intermediate, &ready.chunks, sorted, |record| {
                stream.record(record)
            }),
        };
        if done.is_err() {
            return Ok(None);
        }
        Ok(stream.finish())
    }

    fn reduce(
        &self,
        ready: &Ready,
        sorted: Option<&Sorted<'_>>,
        own: &mut Box<dyn Reducer>,
        stream: &mut Stream<'_, '_>,
    ) -> Result<Result<(), Abandoned>, SortError> {
        let format = self.job.intermediate;
        let mut output = Vec::new();
        let mut key: Option<Vec<u8>> = None;
        let mut failure = None;
        let shared_reducer = ready.group.as_ref();
        let mut guard = shared_reducer.map(|group| lock(&group.reducer));
        let resumed = guard.as_ref().is_some_and(|slot| slot.is_some());
        if let Some(slot) = &mut guard
            && slot.is_none()
        {
            **slot = self.job.reducer.as_ref().map(|make| make());
        }
        let reducer = match guard.as_mut().and_then(|slot| slot.as_mut()) {
            Some(shared) => shared,
            None => own,
        };
        let ended = for_each(format, &ready.chunks, sorted, |record| {
            let (this, value) = format.split(record);
            if key.as_deref() != Some(this) {
                if let Some(last) = &key {
                    failure = reducer.end(last, &mut output).err();
                    stream.records += 1;
                    stream.bytes(&output)?;
                    output.clear();
                }
                if key.is_some() || !resumed {
                    reducer.begin(this);
                }
                key = Some(this.to_vec());
            }
            if failure.is_none() {
                failure = reducer.value(this, value).err();
            }
            if failure.is_some() { Err(Abandoned) } else { Ok(()) }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        if ended.is_err() {
            return Ok(Err(Abandoned));
        }
        // For a key in several parts, the last part to finish has the output.
        let last = shared_reducer.is_none_or(|g| g.left.fetch_sub(1, Ordering::AcqRel) == 1);
        if let Some(key) = key.filter(|_| last) {
            reducer.end(&key, &mut output)?;
            stream.records += 1;
        }
        Ok(stream.bytes(&output))
    }
}

/// Calls `each` with every record, in the order found, or as they lie if there was nothing to sort.
fn for_each<'c>(
    format: Format,
    chunks: &'c [Filled],
    sorted: Option<&Sorted<'_>>,
    mut each: impl FnMut(&'c [u8]) -> Result<(), Abandoned>,
) -> Result<(), Abandoned> {
    match sorted {
        None => chunks.iter().flat_map(|chunk| format.records(chunk.bytes())).try_for_each(each),
        Some(Sorted::Wide(entries)) => {
            for &entry in *entries {
                let (chunk, offset) = wide_location(entry);
                if let Some(record) = format.records(&chunks[chunk].bytes()[offset..]).next() {
                    each(record)?;
                }
            }
            Ok(())
        }
        Some(Sorted::Fixed { entries, chunk_shift, mask }) => {
            let Format::Fixed { record, .. } = format else {
                return Ok(());
            };
            for entry in *entries {
                let location = entry & mask;
                let start = (location & ((1 << chunk_shift) - 1)) as usize * record;
                each(&chunks[(location >> chunk_shift) as usize].bytes()[start..start + record])?;
            }
            Ok(())
        }
    }
}

/// The bytes of one output file, cut into blocks that are written as they fill.
struct Stream<'a, 'm> {
    emission: &'a Emission<'a>,
    file: Arc<OutFile>,
    block: Option<Block>,
    used: usize,
    offset: u64,
    records: u64,
    meter: &'m mut Meter,
    sum: Option<&'m mut RecordSum>,
}

impl Stream<'_, '_> {
    fn record(&mut self, record: &[u8]) -> Result<(), Abandoned> {
        self.records += 1;
        if let Some(sum) = &mut self.sum {
            sum.add(record);
        }
        self.bytes(record)
    }

    fn bytes(&mut self, mut bytes: &[u8]) -> Result<(), Abandoned> {
        while !bytes.is_empty() {
            let room = self.room()?;
            let step = bytes.len().min(room.len());
            room[..step].copy_from_slice(&bytes[..step]);
            self.used += step;
            bytes = &bytes[step..];
        }
        Ok(())
    }

    /// The free part of the open block; sends off a full block first.
    fn room(&mut self) -> Result<&mut [u8], Abandoned> {
        if self.block.as_ref().is_some_and(|block| self.used == block.len()) {
            self.send()?;
        }
        if self.block.is_none() {
            let (block, waited) = self.emission.pool.take().ok_or(Abandoned)?;
            self.meter.memory += waited;
            self.block = Some(block);
        }
        let block = self.block.as_deref_mut().ok_or(Abandoned)?;
        Ok(&mut block[self.used..])
    }

    fn send(&mut self) -> Result<(), Abandoned> {
        let Some(block) = self.block.take() else {
            return Ok(());
        };
        let (used, offset) = (std::mem::take(&mut self.used), self.offset);
        self.offset += used as u64;
        self.file.outstanding.fetch_add(1, Ordering::AcqRel);
        if let Some(replica) = &self.file.replica {
            replica.outstanding.fetch_add(1, Ordering::AcqRel);
        }
        let file = Arc::clone(&self.file);
        let queue = &self.emission.writers[file.dir];
        let blocked = queue.push(OutBlock { file, offset, block, used }, used).ok_or(Abandoned)?;
        self.meter.blocked += blocked;
        Ok(())
    }

    /// Copies records of a length the compiler knows in the order of `entries`. `GROUP` records
    /// fill `LINES` bytes, a whole number of cache lines.
    fn gather<const RECORD: usize, const GROUP: usize, const LINES: usize>(
        &mut self,
        chunks: &[Filled],
        entries: &[u64],
        chunk_shift: u32,
        mask: u64,
    ) -> Result<(), Abandoned> {
        const { assert!(RECORD * GROUP == LINES && LINES.is_multiple_of(64)) };
        let slices: Vec<&[[u8; RECORD]]> = chunks.iter().map(|c| c.bytes().as_chunks().0).collect();
        let slot_mask = (1 << chunk_shift) - 1;
        let at = |entry: u64| {
            let location = entry & mask;
            &slices[(location >> chunk_shift) as usize][(location & slot_mask) as usize]
        };
        let mut group = Lines([0; LINES]);
        let mut done = 0;
        while done < entries.len() {
            let room = self.room()?;
            let batch = (room.len() / RECORD).min(entries.len() - done);
            let (places, _) = room[..batch * RECORD].as_chunks_mut::<RECORD>();
            // Up to a line's start one by one, then whole lines, then what is left.
            let lead = places
                .iter()
                .position(|place| place.as_ptr().addr().is_multiple_of(64))
                .unwrap_or(batch);
            let (leading, places) = places.split_at_mut(lead);
            let (middle, trailing) = places.as_chunks_mut::<GROUP>();
            let mut next = entries[done..].iter().enumerate().map(|(i, &entry)| {
                if let Some(&ahead) = entries.get(done + i + PREFETCH_AHEAD) {
                    prefetch(at(ahead));
                }
                at(entry)
            });
            leading.iter_mut().zip(&mut next).for_each(|(place, record)| *place = *record);
            for places in middle {
                for (place, record) in group.0.as_chunks_mut().0.iter_mut().zip(&mut next) {
                    *place = *record;
                }
                stream(places.as_flattened_mut(), &group);
            }
            trailing.iter_mut().zip(&mut next).for_each(|(place, record)| *place = *record);
            finish_streaming();
            self.add_gathered(batch, RECORD);
            done += batch;
            if done < entries.len() {
                // The next record does not fit whole: the rest of it begins the next block.
                self.record(at(entries[done]))?;
                done += 1;
            }
        }
        Ok(())
    }

    /// Takes in `count` records that were put at the end of the open block.
    fn add_gathered(&mut self, count: usize, record_bytes: usize) {
        let end = self.used + count * record_bytes;
        if let (Some(sum), Some(block)) = (&mut self.sum, &self.block) {
            sum.add_all_fixed(&block[self.used..end], record_bytes);
        }
        self.used = end;
        self.records += count as u64;
    }

    /// Sends the last block and gives the file up; returns its length.
    fn finish(mut self) -> Option<u64> {
        self.send().ok()?;
        let files = [Some(Arc::clone(&self.file)), self.file.replica.clone()];
        for file in files.into_iter().flatten() {
            file.bytes.store(self.offset, Ordering::Relaxed);
            file.records.store(self.records, Ordering::Relaxed);
            release(file, self.emission.finisher)?;
        }
        Some(self.offset)
    }
}

/// One block, or the producer, is done with the file; the last one passes it on to be finished.
pub(crate) fn release(file: Arc<OutFile>, finisher: &ByteQueue<Arc<OutFile>>) -> Option<()> {
    if file.outstanding.fetch_sub(1, Ordering::AcqRel) == 1 {
        finisher.push(file, 0)?;
    }
    Some(())
}
