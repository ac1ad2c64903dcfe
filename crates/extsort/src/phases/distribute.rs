//! The first phase: records go to their partitions.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use rawio::Block;

use crate::checksum::RecordSum;
use crate::error::SortError;
use crate::io::input::Chunk;
use crate::io::queue::ByteQueue;
use crate::job::Job;
use crate::phases::partition::{Filled, Store};
use crate::phases::splitters::Splitters;
use crate::phases::stage::{Meter, Shared, lock};
use crate::record::{Format, HEADER_BYTES, prefix};

/// State shared by all workers of one distribution.
pub(crate) struct Distribution<'a> {
    pub(crate) shared: &'a Shared<'a>,
    pub(crate) job: &'a Job,
    pub(crate) splitters: &'a Splitters,
    pub(crate) store: &'a Store,
    /// Number of this distribution's first partition in the store.
    pub(crate) first: usize,
    pub(crate) input: &'a ByteQueue<Chunk>,
    /// Whether records still have to be mapped (not when a partition is split again).
    pub(crate) map: bool,
    pub(crate) checksum: Option<&'a Mutex<RecordSum>>,
    /// Records read from the input.
    pub(crate) records_in: &'a AtomicU64,
    /// Records that were passed on to partitions.
    pub(crate) records_passed: &'a AtomicU64,
}

/// A worker's own blocks, one for each partition; no other thread writes to them.
struct Appender<'a> {
    distribution: &'a Distribution<'a>,
    open: Vec<Open>,
    meter: Meter,
    passed: u64,
}

#[derive(Default)]
struct Open {
    block: Option<Block>,
    used: usize,
    records: u32,
}

/// The sort is being abandoned; the reason is in [`Shared`].
struct Abandoned;

impl Distribution<'_> {
    /// Takes chunks until there are none and puts their records into partitions.
    pub(crate) fn run(&self) -> Result<(), SortError> {
        let mut appender = Appender {
            distribution: self,
            open: (0..self.splitters.partitions()).map(|_| Open::default()).collect(),
            meter: Meter::start(),
            passed: 0,
        };
        let mut sum = RecordSum::default();
        let mut records = 0;
        while let Some(chunk) = self.input.pop(&mut appender.meter.idle) {
            appender.meter.bytes += chunk.bytes().len() as u64;
            if self.checksum.is_some() {
                self.add_to(&mut sum, chunk.bytes());
            }
            match self.distribute(&chunk, &mut appender)? {
                Ok(count) => records += count,
                Err(Abandoned) => break,
            }
        }
        appender.meter.records = records;
        self.records_in.fetch_add(records, Ordering::Relaxed);
        self.records_passed.fetch_add(appender.passed, Ordering::Relaxed);
        if let Some(total) = self.checksum {
            lock(total).merge(sum);
        }
        appender.finish();
        self.shared.report("map+shuffle", "distribute", None, &appender.meter);
        Ok(())
    }

    fn add_to(&self, sum: &mut RecordSum, bytes: &[u8]) {
        match self.job.input {
            Format::Fixed { record, .. } => sum.add_all_fixed(bytes, record),
            format => format.records(bytes).for_each(|record| sum.add(record)),
        }
    }

    fn distribute(
        &self,
        chunk: &Chunk,
        appender: &mut Appender<'_>,
    ) -> Result<Result<u64, Abandoned>, SortError> {
        let bytes = chunk.bytes();
        if self.map
            && let Some(mapper) = &self.job.mapper
        {
            let records = self.job.input.records(bytes);
            let count = records.clone().count() as u64;
            let (mut abandoned, mut too_long) = (false, None);
            mapper.map(records, &mut |key, value| {
                let length = HEADER_BYTES + key.len() + value.len();
                if length > appender.block_bytes() {
                    too_long = Some(length);
                } else if !abandoned {
                    abandoned = appender.append_pair(key, value).is_err();
                }
            });
            return match too_long {
                Some(length) => Err(SortError::Record {
                    path: chunk.path.to_path_buf(),
                    offset: chunk.offset,
                    reason: format!("a mapped pair of {length} bytes is too long"),
                }),
                None if abandoned => Ok(Err(Abandoned)),
                None => Ok(Ok(count)),
            };
        }
        Ok(match self.job.intermediate {
            // The benchmark's own shape, with lengths the compiler knows.
            Format::Fixed { record: 100, key: 10 } => appender.append_fixed::<100, 10>(bytes),
            Format::Fixed { record, key } => {
                appender.append_all(bytes.chunks_exact(record), |r| r.split_at(key))
            }
            format => appender.append_all(format.records(bytes), |r| format.split(r)),
        })
    }
}

impl Appender<'_> {
    fn block_bytes(&self) -> usize {
        self.distribution.store.pool.block_bytes()
    }

    fn append_fixed<const RECORD: usize, const KEY: usize>(
        &mut self,
        bytes: &[u8],
    ) -> Result<u64, Abandoned> {
        let splitters = self.distribution.splitters;
        let (records, _) = bytes.as_chunks::<RECORD>();
        for record in records {
            let (key, rest) = record.split_at(KEY);
            let partition = splitters.find(prefix(key, 0), key, rest);
            let place = self.place(partition, RECORD)?;
            place.copy_from_slice(record);
        }
        self.passed += records.len() as u64;
        Ok(records.len() as u64)
    }

    fn append_all<'r>(
        &mut self,
        records: impl Iterator<Item = &'r [u8]>,
        split: impl Fn(&'r [u8]) -> (&'r [u8], &'r [u8]),
    ) -> Result<u64, Abandoned> {
        let mut count = 0;
        for record in records {
            let (key, rest) = split(record);
            let partition = self.distribution.splitters.find(prefix(key, 0), key, rest);
            self.place(partition, record.len())?.copy_from_slice(record);
            count += 1;
        }
        self.passed += count;
        Ok(count)
    }

    fn append_pair(&mut self, key: &[u8], value: &[u8]) -> Result<(), Abandoned> {
        let partition = self.distribution.splitters.find(prefix(key, 0), key, value);
        let place = self.place(partition, HEADER_BYTES + key.len() + value.len())?;
        place[..4].copy_from_slice(&(key.len() as u32).to_le_bytes());
        place[4..8].copy_from_slice(&(value.len() as u32).to_le_bytes());
        place[8..8 + key.len()].copy_from_slice(key);
        place[8 + key.len()..].copy_from_slice(value);
        self.passed += 1;
        Ok(())
    }

    /// Room for a record of `length` bytes in the open block of `partition`.
    #[inline]
    fn place(&mut self, partition: usize, length: usize) -> Result<&mut [u8], Abandoned> {
        let open = &self.open[partition];
        if open.block.as_ref().is_none_or(|block| open.used + length > block.len()) {
            self.renew(partition)?;
        }
        let open = &mut self.open[partition];
        let start = open.used;
        open.used += length;
        open.records += 1;
        match &mut open.block {
            Some(block) => Ok(&mut block[start..start + length]),
            None => Err(Abandoned),
        }
    }

    /// Passes the full block of `partition` on and opens another.
    #[cold]
    fn renew(&mut self, partition: usize) -> Result<(), Abandoned> {
        let Distribution { store, first, .. } = *self.distribution;
        if let Some(filled) = self.open[partition].take() {
            store.add(first + partition, filled, &mut self.meter).ok_or(Abandoned)?;
        }
        self.open[partition].block = Some(store.block(&mut self.meter).ok_or(Abandoned)?);
        Ok(())
    }

    fn finish(&mut self) {
        let Distribution { store, first, .. } = *self.distribution;
        let open = self.open.iter_mut().enumerate();
        store
            .add_last(open.filter_map(|(partition, open)| Some((first + partition, open.take()?))));
    }
}

impl Open {
    fn take(&mut self) -> Option<Filled> {
        let block = self.block.take()?;
        let Self { used, records, .. } = std::mem::take(self);
        Some(Filled { block, used, records })
    }
}
