//! Sampling the input at random offsets, to learn where partitions should begin and end.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::num::NonZeroU64;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rustix::fs::{Advice, fadvise};

use crate::error::SortError;
use crate::io::input::InputFile;
use crate::job::Job;
use crate::phases::splitters::Sample;
use crate::record::{Format, HEADER_BYTES, Records};

/// Most places looked at.
const PLACES: usize = 512;
/// Bytes read at a place, at the least.
const PLACE_BYTES: usize = 16 << 10;
/// Most records taken at a place, because adjacent records may be similar.
const PER_PLACE: usize = 64;
/// Most bytes of all samples together.
const SAMPLE_BYTES: usize = 16 << 20;
/// Records that must follow each other sensibly before a guessed start of a record is believed.
const BELIEVED: usize = 4;

/// Samples the job's intermediate records at random places of its input.
///
/// A file's share of the places follows its length. A wrongly guessed start of a record costs only
/// balance, never order: partitions that turn out too large are split again.
pub(crate) fn sample(
    files: &[InputFile],
    job: &Job,
    max_record: usize,
    memory_bytes: u64,
    seed: u64,
) -> Result<Vec<Sample>, SortError> {
    let total: u64 = files.iter().map(|file| file.bytes).sum();
    let mut rng = StdRng::seed_from_u64(seed);
    // Sorted places are read in one sweep over each file.
    let budget = SAMPLE_BYTES.min(memory_bytes as usize / 8);
    let count = PLACES.min(budget / max_record).max(1);
    let mut places: Vec<u64> = (0..count).map(|_| rng.random_range(0..total.max(1))).collect();
    places.sort_unstable();
    let mut samples = Vec::new();
    // Records of various lengths are only found behind the end of the one that was hit.
    let window = if matches!(job.input, Format::Fixed { .. }) { 1 } else { 2 };
    let mut bytes = vec![0; PLACE_BYTES.max(window * max_record)];
    let mut ends = 0;
    let mut places = &places[..];
    for file in files {
        let begins = ends;
        ends += file.bytes;
        let (here, others) = places.split_at(places.partition_point(|&place| place < ends));
        places = others;
        if here.is_empty() {
            continue;
        }
        let fail = |source| SortError::Input { path: file.path.clone(), source };
        let mut handle = open(file)?;
        let offsets = here.iter().map(|&place| match job.input {
            Format::Fixed { record, .. } => (place - begins) / record as u64 * record as u64,
            _ => place - begins,
        });
        // Request all places together: one after the other would leave the disk mostly idle.
        for offset in offsets.clone() {
            let _ = fadvise(&handle, offset, NonZeroU64::new(bytes.len() as u64), Advice::WillNeed);
        }
        for offset in offsets {
            handle.seek(SeekFrom::Start(offset)).map_err(fail)?;
            let length = bytes.len().min((file.bytes - offset) as usize);
            if let Err(error) = handle.read_exact(&mut bytes[..length]) {
                // The file has become shorter since it was opened, or it cannot be read.
                open(file)?;
                return Err(fail(error));
            }
            let start = record_start(job.input, &bytes[..length], offset, max_record);
            take(job, &bytes[start..length], budget / count, &mut samples);
        }
    }
    Ok(samples)
}

/// Opens an input, which must be as long as it was when it was found.
fn open(file: &InputFile) -> Result<File, SortError> {
    let fail = |source| SortError::Input { path: file.path.clone(), source };
    let handle = File::open(&file.path).map_err(fail)?;
    let found_bytes = handle.metadata().map_err(fail)?.len();
    if found_bytes == file.length {
        return Ok(handle);
    }
    let (path, expected_bytes) = (file.path.clone(), file.length);
    Err(SortError::InputChanged { path, expected_bytes, found_bytes })
}

/// Adds samples from `bytes`, which begin with a record, of about `budget` bytes.
fn take(job: &Job, bytes: &[u8], budget: usize, samples: &mut Vec<Sample>) {
    let format = job.intermediate;
    let (mut taken, mut left) = (0, budget);
    let mut push = |key: &[u8], rest: &[u8]| {
        let size = key.len() + rest.len() + size_of::<Sample>();
        if taken == 0 || (taken < PER_PLACE && size <= left) {
            samples.push((key.to_vec(), rest.to_vec()));
            taken += 1;
            left = left.saturating_sub(size);
        }
    };
    let records = job.input.records(bytes).take(PER_PLACE);
    match &job.mapper {
        None => records.for_each(|record| {
            let (key, rest) = format.split(record);
            push(key, rest);
        }),
        Some(mapper) => {
            let end = records.map(<[u8]>::len).sum::<usize>();
            mapper.map(job.input.records(&bytes[..end]), &mut push);
        }
    }
}

/// Where, in `bytes` read at `offset`, a record begins; the end of `bytes` if none is found.
fn record_start(format: Format, bytes: &[u8], offset: u64, max_record: usize) -> usize {
    match format {
        _ if offset == 0 => 0,
        Format::Fixed { .. } => 0,
        Format::Lines => memchr::memchr(b'\n', bytes).map_or(bytes.len(), |n| n + 1),
        Format::KeyValue => (0..bytes.len().saturating_sub(HEADER_BYTES))
            .find(|&at| believable(format.records(&bytes[at..]), max_record))
            .unwrap_or(bytes.len()),
    }
}

fn believable(mut records: Records<'_>, max_record: usize) -> bool {
    (0..BELIEVED)
        .all(|_| records.next().is_some_and(|r| r.len() > HEADER_BYTES && r.len() <= max_record))
}
