//! Jobs that change records: the two that ship, and others through the public traits, against
//! references that hold everything in maps.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use common::data::{self, Shape};
use common::{Dirs, Layout, assert_same_bytes, check_report, joined, minimum_memory, run};
use extsort::{
    Format, Job, Mapper, Order, Records, Reducer, SortError, SortReport, SortSpec, push_key_value,
};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Runs `job` over `bytes` in several files, at the least budget if `tiny`.
fn sort_with(
    job: Job,
    files: &[&[u8]],
    threads: usize,
    tiny: bool,
) -> Result<(Vec<u8>, SortReport), SortError> {
    let dirs = Dirs::new(Layout { inputs: 2, outputs: 2, scratch: 2, replicas: 1 });
    for (n, bytes) in files.iter().enumerate() {
        dirs.put(n % 2, &format!("file{n}"), bytes);
    }
    let inputs = dirs.inputs.iter().filter(|dir| !common::names(dir).is_empty());
    let mut spec = SortSpec { inputs: inputs.cloned().collect(), threads, ..dirs.spec(job) };
    if tiny {
        spec.memory_bytes = minimum_memory(&spec);
    }
    let before = dirs.input_contents();
    let result = run(&spec);
    assert_eq!(before, dirs.input_contents(), "the input was touched");
    match result {
        Ok(report) => {
            check_report(&dirs, &spec, &report);
            Ok((joined(&report.output.files), report))
        }
        Err(error) => {
            dirs.assert_nothing_published();
            Err(error)
        }
    }
}

fn counted(text: &[u8]) -> Vec<u8> {
    let mut counts: HashMap<&[u8], u64> = HashMap::new();
    for word in text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()) {
        *counts.entry(word).or_default() += 1;
    }
    let mut words: Vec<_> = counts.into_iter().collect();
    words.sort_unstable();
    let line = |(word, count): &(&[u8], u64)| [word, format!("\t{count}\n").as_bytes()].concat();
    words.iter().flat_map(line).collect()
}

/// Text of `words` words of which few are frequent.
fn text(words: usize, vocabulary: u64, seed: u64) -> Vec<u8> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut text = Vec::new();
    for _ in 0..words {
        let u: f64 = rng.random();
        let word = (u.powi(3) * vocabulary as f64) as u64;
        text.extend_from_slice(format!("w{word:x}").as_bytes());
        let ends = [" ", " ", " ", "\n", "\t", "\r\n", "  ", "\n\n", "\u{e9} \u{2028}x "];
        text.extend_from_slice(ends[rng.random_range(0..ends.len())].as_bytes());
    }
    text
}

proptest! {
    #![proptest_config(common::config(16, 21))]

    #[test]
    fn words_are_counted(
        words in 0_usize..60_000,
        vocabulary in prop_oneof![Just(1_u64), 2_u64..50, 1000_u64..1_000_000],
        threads in 1_usize..=4,
        tiny in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let (one, two) = (text(words, vocabulary, seed), text(words / 3, vocabulary, !seed));
        let (found, report) = sort_with(Job::wordcount(), &[&one, &two], threads, tiny).unwrap();
        // A word does not go on from one file to the next.
        assert_same_bytes(&found, &counted(&[&one[..], b"\n", &two].concat()));
        let lines = |bytes: &[u8]| Format::Lines.records(bytes).count() as u64;
        prop_assert_eq!(report.input.records, lines(&one) + lines(&two));
    }
}

#[test]
fn words_of_any_bytes_and_a_last_line_without_end_are_counted() {
    let text = b"\xff\xfe \x00 b\xc3 a\n\n \t\r\n\xff\xfe a\x0bc a";
    let (found, _) = sort_with(Job::wordcount(), &[text], 2, false).unwrap();
    assert_same_bytes(&found, b"\x00\t1\na\t2\na\x0bc\t1\nb\xc3\t1\n\xff\xfe\t2\n");
}

/// Key/value records of which `hot` thousandths have one key; returns them and the sums by key.
fn numbers(count: usize, hot: u32, keys: u64, seed: u64) -> (Vec<u8>, BTreeMap<Vec<u8>, u64>) {
    let mut rng = StdRng::seed_from_u64(seed);
    let (mut bytes, mut sums) = (Vec::new(), BTreeMap::new());
    for _ in 0..count {
        let key = if rng.random_range(0..1000) < hot {
            b"hot".to_vec()
        } else {
            format!("k{}", rng.random_range(0..keys)).into_bytes()
        };
        let value = rng.random_range(0..1_u64 << 32);
        push_key_value(&mut bytes, &key, &value.to_le_bytes());
        *sums.entry(key).or_default() += value;
    }
    (bytes, sums)
}

fn summed(sums: &BTreeMap<Vec<u8>, u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (key, sum) in sums {
        push_key_value(&mut bytes, key, &sum.to_le_bytes());
    }
    bytes
}

proptest! {
    #![proptest_config(common::config(16, 22))]

    #[test]
    fn values_are_added_up_by_key(
        count in 0_usize..120_000,
        hot in prop_oneof![Just(0_u32), Just(500), Just(999), Just(1000)],
        keys in prop_oneof![Just(1_u64), 2_u64..9, Just(1 << 40)],
        threads in 1_usize..=4,
        tiny in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let (bytes, sums) = numbers(count, hot, keys, seed);
        let (found, report) = sort_with(Job::aggregate(), &[&bytes], threads, tiny).unwrap();
        assert_same_bytes(&found, &summed(&sums));
        prop_assert_eq!(report.input.records, count as u64);
        prop_assert_eq!(report.output.records, sums.len() as u64);
    }
}

/// The values of one key alone are several times the memory.
#[test]
fn a_hot_key_larger_than_memory_is_added_up() {
    for (hot, keys, threads) in [(950, 1000, 2), (1000, 1, 3), (400, 2, 1)] {
        let (bytes, sums) = numbers(1_200_000, hot, keys, 7);
        let (found, report) = sort_with(Job::aggregate(), &[&bytes], threads, true).unwrap();
        assert!(bytes.len() as u64 > 4 * report.memory.budget_bytes, "{:?}", report.memory);
        assert_eq!(report.regime, "hybrid");
        assert_same_bytes(&found, &summed(&sums));
    }
}

#[test]
fn a_sum_that_does_not_fit_and_a_value_that_is_no_number_are_refused() {
    let mut most = Vec::new();
    for value in [u64::MAX - 1, 1] {
        push_key_value(&mut most, b"big", &value.to_le_bytes());
    }
    let (found, _) = sort_with(Job::aggregate(), &[&most], 1, false).unwrap();
    let mut expected = Vec::new();
    push_key_value(&mut expected, b"big", &u64::MAX.to_le_bytes());
    assert_same_bytes(&found, &expected);

    push_key_value(&mut most, b"big", &1_u64.to_le_bytes());
    let error = sort_with(Job::aggregate(), &[&most], 1, false).unwrap_err();
    let SortError::Aggregate { key, reason } = &error else { panic!("{error}") };
    assert_eq!((key.as_str(), reason.as_str()), ("big", "the sum is over 2^64 - 1"));

    for value in [&b""[..], b"1234567", b"123456789"] {
        let mut bytes = Vec::new();
        push_key_value(&mut bytes, b"odd\xff", value);
        let error = sort_with(Job::aggregate(), &[&bytes], 2, false).unwrap_err();
        let SortError::Aggregate { key, reason } = &error else { panic!("{error}") };
        assert_eq!(key, "odd\u{fffd}");
        assert_eq!(reason, &format!("a value has {} bytes, not 8", value.len()));
        assert_eq!(error.code(), "VEN-SORT-AGGREGATE");
    }
}

/// Emits `copies` pairs for each record: its two halves swapped, and numbered.
struct Swap {
    copies: u8,
}

impl Mapper for Swap {
    fn map(&self, records: Records<'_>, emit: &mut dyn FnMut(&[u8], &[u8])) {
        for record in records {
            let (left, right) = record.split_at(record.len() / 2);
            for copy in 0..self.copies {
                emit(right, &[left, &[copy]].concat());
            }
        }
    }
}

fn mapped(copies: u8) -> Job {
    Job {
        name: "swap".to_owned(),
        input: Format::Fixed { record: 24, key: 1 },
        intermediate: Format::KeyValue,
        order: Order::KeyThenRest,
        mapper: Some(Arc::new(Swap { copies })),
        reducer: None,
    }
}

/// A mapper may make more of the data than there was, or nothing.
#[test]
fn pairs_of_a_mapper_are_sorted() {
    for (copies, shape) in
        [(0, Shape::Random), (1, Shape::Reverse), (6, Shape::Skew), (4, Shape::AllEqual)]
    {
        let bytes = data::fixed(shape, 24, 10, 60_000, 4);
        let mut pairs = Vec::new();
        Swap { copies }.map(
            Format::Fixed { record: 24, key: 1 }.records(&bytes),
            &mut |key, value| {
                push_key_value(&mut pairs, key, value);
            },
        );
        for (threads, tiny) in [(1, true), (3, true), (2, false)] {
            let (found, report) = sort_with(mapped(copies), &[&bytes], threads, tiny).unwrap();
            assert_same_bytes(&found, &common::sorted_records(Format::KeyValue, &pairs));
            assert_eq!(report.input.records, 60_000);
            assert_eq!(report.output.records, 60_000 * u64::from(copies));
        }
    }
}

/// Folds values of a key, in whatever order they come, into their number and their sum of bytes.
#[derive(Default)]
struct Fold {
    open: Option<Vec<u8>>,
    values: u64,
    sum: u64,
}

impl Reducer for Fold {
    fn begin(&mut self, key: &[u8]) {
        assert!(self.open.is_none(), "a key began before the one before ended");
        *self = Self { open: Some(key.to_vec()), ..Self::default() };
    }

    fn value(&mut self, key: &[u8], value: &[u8]) -> Result<(), SortError> {
        assert_eq!(self.open.as_deref(), Some(key));
        self.values += 1;
        self.sum += value.iter().map(|&byte| u64::from(byte)).sum::<u64>();
        Ok(())
    }

    fn end(&mut self, key: &[u8], output: &mut Vec<u8>) -> Result<(), SortError> {
        assert_eq!(self.open.take().as_deref(), Some(key));
        output.extend_from_slice(
            &[key, format!(" {} {}\n", self.values, self.sum).as_bytes()].concat(),
        );
        Ok(())
    }
}

fn folding(intermediate: Format) -> Job {
    Job {
        name: "fold".to_owned(),
        input: intermediate,
        intermediate,
        order: Order::KeyOnly,
        mapper: None,
        reducer: Some(Arc::new(|| Box::new(Fold::default()))),
    }
}

/// Fixed records may be reduced too: each key comes once, with all of its values.
#[test]
fn keys_of_fixed_records_are_reduced_once_each() {
    let format = Format::Fixed { record: 30, key: 2 };
    for shape in [Shape::Random, Shape::EqualKeys, Shape::AllEqual, Shape::HotKey, Shape::Extremes]
    {
        let bytes = data::fixed(shape, 30, 2, 200_000, 8);
        let mut folds: BTreeMap<&[u8], (u64, u64)> = BTreeMap::new();
        for record in bytes.chunks_exact(30) {
            let fold = folds.entry(&record[..2]).or_default();
            fold.0 += 1;
            fold.1 += record[2..].iter().map(|&byte| u64::from(byte)).sum::<u64>();
        }
        let line = |(key, (n, sum)): (&&[u8], &(u64, u64))| {
            [key, format!(" {n} {sum}\n").as_bytes()].concat()
        };
        let expected: Vec<u8> = folds.iter().flat_map(line).collect();
        for threads in [1, 3] {
            let (found, report) = sort_with(folding(format), &[&bytes], threads, true).unwrap();
            assert_same_bytes(&found, &expected);
            assert_eq!(report.output.records, folds.len() as u64);
        }
    }
}

struct Fails {
    after: u64,
    seen: u64,
    panics: bool,
}

impl Reducer for Fails {
    fn begin(&mut self, _key: &[u8]) {}

    fn value(&mut self, key: &[u8], _value: &[u8]) -> Result<(), SortError> {
        self.seen += 1;
        if self.seen > self.after {
            assert!(!self.panics, "this reducer panics");
            return Err(SortError::Aggregate {
                key: format!("{key:?}"),
                reason: "enough".to_owned(),
            });
        }
        Ok(())
    }

    fn end(&mut self, _key: &[u8], _output: &mut Vec<u8>) -> Result<(), SortError> {
        Ok(())
    }
}

fn failing(after: u64, panics: bool) -> Job {
    let make = move || Box::new(Fails { after, seen: 0, panics }) as Box<dyn Reducer>;
    Job { reducer: Some(Arc::new(make)), ..folding(Format::Fixed { record: 30, key: 2 }) }
}

#[test]
fn what_a_reducer_refuses_fails_the_sort() {
    let bytes = data::fixed(Shape::Random, 30, 2, 100_000, 2);
    for (after, threads) in [(0, 1), (300, 1), (100, 3)] {
        let error = sort_with(failing(after, false), &[&bytes], threads, true).unwrap_err();
        assert!(
            matches!(&error, SortError::Aggregate { reason, .. } if reason == "enough"),
            "{error}"
        );
    }
}

struct Panics {
    calls: std::sync::atomic::AtomicU64,
    on: u64,
}

impl Mapper for Panics {
    fn map(&self, records: Records<'_>, emit: &mut dyn FnMut(&[u8], &[u8])) {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        records.for_each(|record| emit(record, b""));
        assert!(call < self.on, "this mapper panics");
    }
}

/// A bug in a user's mapper or reducer must fail the sort and not hang it.
#[test]
fn a_panic_fails_the_sort() {
    let bytes = data::fixed(Shape::Random, 30, 2, 200_000, 2);
    for (n, threads) in [1, 2, 4].into_iter().enumerate() {
        for part in [3000, bytes.len()] {
            let mapper = Panics { calls: 0.into(), on: if part == 3000 { 0 } else { n as u64 } };
            let mapping = Job {
                mapper: Some(Arc::new(mapper)),
                input: Format::Fixed { record: 30, key: 2 },
                ..mapped(1)
            };
            for job in [mapping, failing(n as u64 * 10, true)] {
                let dirs = Dirs::with_input(&bytes[..part]);
                let mut spec = SortSpec { threads, ..dirs.spec(job) };
                spec.memory_bytes = minimum_memory(&spec);
                let outcome = common::outcome(&spec, &Arc::new(AtomicBool::new(false)));
                if let Some(Ok(report)) = outcome {
                    panic!("{threads} threads: worked, with {} records", report.output.records);
                }
                dirs.assert_nothing_published();
            }
        }
    }
}
