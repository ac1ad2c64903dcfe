//! Summary of a sequence of records, and how to join two that follow each other.

use std::cmp::Ordering;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

use super::error::ValidateError;
use super::spec::check_format;
use crate::checksum::RecordSum;
use crate::record::{Format, prefix};

/// The state of order of a sequence of records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// How many records.
    pub records: u128,
    /// Records with a smaller key than the record before.
    pub unordered: u128,
    /// Number of the first of them, from 0.
    pub first_unordered: Option<u128>,
    /// Records with the same key as the record before.
    pub duplicates: u128,
    /// Checksum over all records.
    pub checksum: RecordSum,
    first: Vec<u8>,
    last: Vec<u8>,
}

/// Records that are checked twice, for order and sum, while they are in the nearest cache.
const STEP_BYTES: usize = 16 << 10;

impl Summary {
    /// Of whole records, in memory.
    pub fn of(bytes: &[u8], format: Format) -> Self {
        match format {
            Format::Fixed { record, key } => Self::of_fixed(bytes, record, key),
            Format::KeyValue | Format::Lines => {
                let mut summary = Self::default();
                for record in format.records(bytes) {
                    summary.push(record, format);
                }
                summary
            }
        }
    }

    fn of_fixed(bytes: &[u8], record: usize, key: usize) -> Self {
        let mut summary = Self::default();
        let Some(mut before) = bytes.get(..record) else {
            return summary;
        };
        summary.first = before.to_vec();
        let mut before_high = prefix(&before[..key], 0);
        let mut index = 0_usize;
        // The first record is compared with itself.
        let (mut unordered, mut equal, mut first_unordered) = (0, 0, None);
        for step in bytes.chunks((STEP_BYTES / record).max(1) * record) {
            for current in step.chunks_exact(record) {
                let high = prefix(&current[..key], 0);
                if high <= before_high {
                    let tail = key.min(8)..key;
                    if high < before_high || current[tail.clone()] < before[tail.clone()] {
                        unordered += 1;
                        first_unordered.get_or_insert(index as u128);
                    } else if current[tail.clone()] == before[tail] {
                        equal += 1;
                    }
                }
                (before, before_high) = (current, high);
                index += 1;
            }
            summary.checksum.add_all_fixed(step, record);
        }
        summary.last = before.to_vec();
        summary.records = index as u128;
        summary.unordered = unordered;
        summary.first_unordered = first_unordered;
        summary.duplicates = equal - 1;
        summary
    }

    fn push(&mut self, record: &[u8], format: Format) {
        if self.records == 0 {
            record.clone_into(&mut self.first);
        } else {
            self.compare(record, format);
        }
        self.checksum.add(record);
        self.records += 1;
        record.clone_into(&mut self.last);
    }

    /// Counts the border between the last record and `next`.
    fn compare(&mut self, next: &[u8], format: Format) {
        match format.split(next).0.cmp(format.split(&self.last).0) {
            Ordering::Less => {
                self.unordered = self.unordered.wrapping_add(1);
                self.first_unordered.get_or_insert(self.records);
            }
            Ordering::Equal => self.duplicates = self.duplicates.wrapping_add(1),
            Ordering::Greater => {}
        }
    }

    /// Appends what follows. Counts are modulo 2^128, as valsort's are.
    pub fn join(&mut self, next: Self, format: Format) {
        if next.records == 0 {
            return;
        }
        if self.records == 0 {
            *self = next;
            return;
        }
        self.compare(&next.first, format);
        let found = next.first_unordered.map(|n| n.wrapping_add(self.records));
        self.first_unordered = self.first_unordered.or(found);
        self.unordered = self.unordered.wrapping_add(next.unordered);
        self.duplicates = self.duplicates.wrapping_add(next.duplicates);
        self.records = self.records.wrapping_add(next.records);
        self.checksum.merge(next.checksum);
        self.last = next.last;
    }

    /// The bytes of a valsort summary file: five 128-bit numbers (first unordered record or 0,
    /// unordered records, records, duplicate keys, checksum), each as upper and lower 64 bits in
    /// little-endian order (valsort writes the machine's own; all that it is used on are
    /// little-endian), then the first and the last record.
    pub fn to_bytes(&self, record_bytes: usize) -> Vec<u8> {
        let numbers = [
            self.first_unordered.unwrap_or(0),
            self.unordered,
            self.records,
            self.duplicates,
            self.checksum.sum,
        ];
        let mut bytes = Vec::with_capacity(summary_bytes(record_bytes));
        for number in numbers {
            bytes.extend_from_slice(&((number >> 64) as u64).to_le_bytes());
            bytes.extend_from_slice(&(number as u64).to_le_bytes());
        }
        for record in [&self.first, &self.last] {
            let end = bytes.len() + record_bytes;
            bytes.extend_from_slice(record);
            bytes.resize(end, 0); // a summary of nothing has no records
        }
        bytes
    }

    /// Reads what [`Summary::to_bytes`] wrote; none if the bytes contradict themselves.
    pub fn from_bytes(bytes: &[u8], record_bytes: usize) -> Option<Self> {
        let (numbers, rest) = bytes.split_at_checked(NUMBERS_BYTES)?;
        let mut numbers = numbers.as_chunks::<8>().0.iter().map(|half| u64::from_le_bytes(*half));
        let mut number = || Some(u128::from(numbers.next()?) << 64 | u128::from(numbers.next()?));
        let (first_unordered, unordered) = (number()?, number()?);
        let (records, duplicates, sum) = (number()?, number()?, number()?);
        let (first, last) = rest.split_at_checked(record_bytes)?;
        // Each record but the first is in order, out of order or equal, so neither exceeds.
        let consistent = last.len() == record_bytes
            && unordered.checked_add(duplicates)? <= records.saturating_sub(1)
            && first_unordered <= records.saturating_sub(1)
            && (unordered == 0) == (first_unordered == 0);
        consistent.then(|| Self {
            records,
            unordered,
            first_unordered: (unordered > 0).then_some(first_unordered),
            duplicates,
            checksum: RecordSum { sum },
            first: first.to_vec(),
            last: last.to_vec(),
        })
    }
}

const NUMBERS_BYTES: usize = 5 * 16;

/// Bytes of a summary of records of this size: 280 for the 100 of the sort benchmark.
pub const fn summary_bytes(record_bytes: usize) -> usize {
    NUMBERS_BYTES + 2 * record_bytes
}

/// Writes a summary to a new file, durably.
pub fn write_summary(
    path: &Path,
    summary: &Summary,
    record_bytes: usize,
) -> Result<(), ValidateError> {
    let failed = |source| ValidateError::Output { path: path.to_owned(), source };
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    let written = file.write_all(&summary.to_bytes(record_bytes)).and_then(|()| file.sync_all());
    written.map_err(|error| {
        let _ = std::fs::remove_file(path); // it was made above, and half a summary misleads
        failed(error)
    })
}

/// Joins all summaries in a file, which may be a concatenation of many.
pub fn read_summaries(path: &Path, format: Format) -> Result<Summary, ValidateError> {
    let wrong = |reason: String| ValidateError::Summary { path: path.to_owned(), reason };
    check_format(format)?;
    let Format::Fixed { record, .. } = format else {
        return Err(ValidateError::Options("only fixed-length records have summaries".to_owned()));
    };
    let bytes = std::fs::read(path)
        .map_err(|source: io::Error| ValidateError::Input { path: path.to_owned(), source })?;
    let one = summary_bytes(record);
    if bytes.is_empty() || !bytes.len().is_multiple_of(one) {
        return Err(wrong(format!(
            "{} bytes are not one or more summaries of {one} bytes: {} are left over",
            bytes.len(),
            bytes.len() % one
        )));
    }
    let mut total = Summary::default();
    for (index, part) in bytes.chunks_exact(one).enumerate() {
        let part = Summary::from_bytes(part, record)
            .ok_or_else(|| wrong(format!("the counts of summary {index} contradict each other")))?;
        total.join(part, format);
    }
    Ok(total)
}
