//! Jobs: what happens to records between reading and writing.
//!
//! A job without mapper and reducer sorts. A [`Mapper`] turns input records into pairs; a [`Reducer`]
//! turns the pairs of one key into output. Pairs travel as key/value records.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::error::SortError;
use crate::record::{Format, Order, Records};

/// Turns input records into pairs. Called for one block of records at a time, so that a mapper may
/// combine pairs of equal key before they travel.
pub trait Mapper: Send + Sync {
    /// Emits the pairs of `records` by calling `emit(key, value)`.
    fn map(&self, records: Records<'_>, emit: &mut dyn FnMut(&[u8], &[u8]));
}

/// Folds the pairs of one key, which come together, into output bytes.
pub trait Reducer: Send {
    /// A new key begins.
    fn begin(&mut self, key: &[u8]);
    /// One value of the key; values of a key come in no particular order.
    fn value(&mut self, key: &[u8], value: &[u8]) -> Result<(), SortError>;
    /// The key's values are complete: appends its output.
    fn end(&mut self, key: &[u8], output: &mut Vec<u8>) -> Result<(), SortError>;
}

/// Makes a reducer for one worker.
pub type MakeReducer = Arc<dyn Fn() -> Box<dyn Reducer> + Send + Sync>;

/// The work done on the records.
#[derive(Clone)]
pub struct Job {
    /// For the record: `sort`, `wordcount`, `aggregate` or the caller's name.
    pub name: String,
    /// How the input is framed.
    pub input: Format,
    /// How records travel between the phases.
    pub intermediate: Format,
    /// How they are ordered.
    pub order: Order,
    /// None: records travel as they are.
    pub mapper: Option<Arc<dyn Mapper>>,
    /// None: records are written as they are.
    pub reducer: Option<MakeReducer>,
}

impl Job {
    /// Sorts records of `format`; lines cannot be sorted as they are.
    pub fn sort(format: Format) -> Result<Self, SortError> {
        let job = Self {
            name: "sort".to_owned(),
            input: format,
            intermediate: format,
            order: Order::KeyThenRest,
            mapper: None,
            reducer: None,
        };
        job.check().map(|()| job)
    }

    /// Counts the words (separated by ASCII white space) of lines of text. The output is a line
    /// `word<TAB>count` for each word, in the bytewise order of the words.
    pub fn wordcount() -> Self {
        Self {
            name: "wordcount".to_owned(),
            input: Format::Lines,
            intermediate: Format::KeyValue,
            order: Order::KeyOnly,
            mapper: Some(Arc::new(CountWords)),
            reducer: Some(Arc::new(|| Box::new(Sum { sum: 0, style: SumStyle::Text }))),
        }
    }

    /// Adds up the values of each key of key/value records; values are little-endian `u64`, and so
    /// are the sums of the output, which has one key/value record for each key, in order of keys.
    pub fn aggregate() -> Self {
        Self {
            name: "aggregate".to_owned(),
            input: Format::KeyValue,
            intermediate: Format::KeyValue,
            order: Order::KeyOnly,
            mapper: None,
            reducer: Some(Arc::new(|| Box::new(Sum { sum: 0, style: SumStyle::KeyValue }))),
        }
    }

    /// Refuses formats that no record can have.
    pub(crate) fn check(&self) -> Result<(), SortError> {
        for format in [self.input, self.intermediate] {
            if let Format::Fixed { record, key } = format
                && (record == 0 || key == 0 || key > record)
            {
                return Err(SortError::Options(format!(
                    "records of {record} bytes with keys of {key} bytes make no sense"
                )));
            }
        }
        if self.intermediate == Format::Lines
            || (self.mapper.is_none() && self.input != self.intermediate)
        {
            return Err(SortError::Options(format!(
                "the {} job cannot pass records on as they are: lines need a mapper",
                self.name
            )));
        }
        Ok(())
    }

    /// Whether every input record is an output record.
    pub fn keeps_records(&self) -> bool {
        self.mapper.is_none() && self.reducer.is_none()
    }
}

struct CountWords;

impl Mapper for CountWords {
    fn map(&self, records: Records<'_>, emit: &mut dyn FnMut(&[u8], &[u8])) {
        // Few enough words to stay in the caches, and in the budget.
        const MOST_WORDS: usize = 1 << 15;
        let mut counts: FxHashMap<&[u8], u64> = FxHashMap::default();
        for line in records {
            for word in line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
                *counts.entry(word).or_default() += 1;
                if counts.len() == MOST_WORDS {
                    emit_all(&mut counts, emit);
                }
            }
        }
        emit_all(&mut counts, emit);
    }
}

fn emit_all(counts: &mut FxHashMap<&[u8], u64>, emit: &mut dyn FnMut(&[u8], &[u8])) {
    for (word, count) in counts.drain() {
        emit(word, &count.to_le_bytes());
    }
}

enum SumStyle {
    Text,
    KeyValue,
}

struct Sum {
    sum: u64,
    style: SumStyle,
}

impl Reducer for Sum {
    fn begin(&mut self, _key: &[u8]) {
        self.sum = 0;
    }

    fn value(&mut self, key: &[u8], value: &[u8]) -> Result<(), SortError> {
        let refuse = |reason: String| SortError::Aggregate {
            key: String::from_utf8_lossy(key).into_owned(),
            reason,
        };
        let value = <[u8; 8]>::try_from(value)
            .map_err(|_| refuse(format!("a value has {} bytes, not 8", value.len())))?;
        self.sum = self
            .sum
            .checked_add(u64::from_le_bytes(value))
            .ok_or_else(|| refuse("the sum is over 2^64 - 1".to_owned()))?;
        Ok(())
    }

    fn end(&mut self, key: &[u8], output: &mut Vec<u8>) -> Result<(), SortError> {
        match self.style {
            SumStyle::Text => {
                output.extend_from_slice(key);
                output.extend_from_slice(format!("\t{}\n", self.sum).as_bytes());
            }
            SumStyle::KeyValue => {
                crate::record::push_key_value(output, key, &self.sum.to_le_bytes());
            }
        }
        Ok(())
    }
}
