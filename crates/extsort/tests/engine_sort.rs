//! The sort job against a reference sort: any records, any budget, any number of threads and
//! directories.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use common::data::{self, SHAPES, Shape};
use common::{Dirs, Layout, assert_same_bytes, check_report, joined, minimum_memory, run};
use extsort::checksum::RecordSum;
use extsort::{Format, HEADER_BYTES, Job, PlanInput, SortError, SortSpec, plan, preview};
use proptest::prelude::*;

/// One sort, small enough to be printed.
#[derive(Clone, Debug)]
struct Case {
    format: Format,
    shape: Shape,
    bytes: usize,
    files: usize,
    /// Thousandths between the least budget and plenty.
    memory: u32,
    threads: usize,
    layout: Layout,
    direct: bool,
    backend: rawio::Backend,
    verify: bool,
    seed: u64,
}

fn formats() -> impl Strategy<Value = Format> {
    let fixed = |lengths: std::ops::RangeInclusive<usize>| {
        (lengths, 1_usize..=1000)
            .prop_map(|(record, key)| Format::Fixed { record, key: (record * key).div_ceil(1000) })
    };
    prop_oneof![
        3 => Just(Format::Fixed { record: 100, key: 10 }),
        3 => fixed(1..=40),
        2 => fixed(41..=1000),
        1 => fixed(4000..=9000),
        4 => Just(Format::KeyValue),
    ]
}

fn layouts() -> impl Strategy<Value = Layout> {
    (1_usize..=3, 1_usize..=3, 1_usize..=3, 0_usize..=2).prop_map(
        |(inputs, outputs, scratch, replicas)| Layout { inputs, outputs, scratch, replicas },
    )
}

fn cases(bytes: std::ops::Range<usize>) -> impl Strategy<Value = Case> {
    let shape = prop::sample::select(SHAPES.to_vec());
    let memory = prop_oneof![2 => Just(0), 3 => 0_u32..50, 3 => 0_u32..=1000];
    let backend = prop_oneof![Just(rawio::Backend::Auto), Just(rawio::Backend::Threads)];
    let switches = (any::<bool>(), backend, any::<bool>(), any::<u64>());
    (formats(), shape, bytes, 1_usize..=4, memory, 1_usize..=4, layouts(), switches).prop_map(
        |(format, shape, bytes, files, memory, threads, layout, switches)| {
            let (direct, backend, verify, seed) = switches;
            Case {
                format,
                shape,
                bytes,
                files,
                memory,
                threads,
                layout,
                direct,
                backend,
                verify,
                seed,
            }
        },
    )
}

/// Bytes of the longest record of various lengths.
const LONGEST: usize = 5000;

impl Case {
    fn data(&self) -> Vec<u8> {
        match self.format {
            Format::Fixed { record, key } => {
                data::fixed(self.shape, record, key, self.bytes / record, self.seed)
            }
            _ => data::key_value(self.shape, self.bytes, LONGEST, self.seed),
        }
    }

    fn check(&self) {
        let bytes = self.data();
        let records: Vec<&[u8]> = self.format.records(&bytes).collect();
        let dirs = Dirs::new(self.layout);
        for (n, file) in data::cut(&records, self.files, self.seed).into_iter().enumerate() {
            dirs.put(n % self.layout.inputs, &format!("file{n}"), &file.concat());
        }
        let before = dirs.input_contents();
        let mut spec = SortSpec {
            inputs: dirs
                .inputs
                .iter()
                .filter(|dir| !common::names(dir).is_empty())
                .cloned()
                .collect(),
            threads: self.threads,
            verify: self.verify,
            max_record_bytes: LONGEST,
            backend: self.backend,
            direct: self.direct,
            seed: self.seed,
            ..dirs.spec(Job::sort(self.format).unwrap())
        };
        let least = minimum_memory(&spec);
        let plenty = 6 * bytes.len() as u64 + (64 << 20);
        let share = f64::from(self.memory) / 1000.0;
        spec.memory_bytes = least + (plenty.saturating_sub(least) as f64 * share * share) as u64;

        let expected = preview(&spec).unwrap();
        let report = run(&spec).unwrap();
        check_report(&dirs, &spec, &report);
        assert_same_bytes(
            &joined(&report.output.files),
            &common::sorted_records(self.format, &bytes),
        );
        let count = records.len() as u64;
        assert_eq!((report.input.records, report.output.records), (count, count));
        assert_eq!(
            (report.input.bytes, report.output.bytes),
            (bytes.len() as u64, bytes.len() as u64)
        );
        assert_eq!(report.input.files, self.files);
        assert_eq!(before, dirs.input_contents(), "the input was touched");
        if expected.plan.regime == "in-memory" && matches!(self.format, Format::Fixed { .. }) {
            assert_eq!(
                report.regime, "in-memory",
                "nothing should have been spilled: {expected:?}"
            );
        }
        if bytes.len() > expected.plan.blocks * expected.plan.block_bytes {
            assert_eq!(report.regime, "hybrid");
            assert!(report.spilled_bytes > 0 && report.bytes_read > bytes.len() as u64);
        }
        if self.verify {
            let mut sum = RecordSum::default();
            for record in &records {
                sum.add(record);
            }
            let found = report.checksum.unwrap();
            assert_eq!((found.input, found.output), (sum.to_string(), sum.to_string()));
        }
    }
}

proptest! {
    #![proptest_config(common::config(60, 11))]

    #[test]
    fn small_inputs_are_sorted(case in cases(0..300_000)) {
        case.check();
    }
}

proptest! {
    #![proptest_config(common::config(24, 12))]

    #[test]
    fn inputs_beyond_the_least_budget_are_sorted(case in cases(1_000_000..6_000_000)) {
        case.check();
    }
}

/// Every shape at the least budget, where partitions have to be split several times.
#[test]
fn every_shape_fits_in_the_least_budget() {
    for (n, shape) in SHAPES.into_iter().enumerate() {
        for format in [Format::Fixed { record: 50, key: 7 }, Format::KeyValue] {
            let case = Case {
                format,
                shape,
                bytes: 6 << 20,
                files: 1,
                memory: 0,
                threads: 1 + n % 3,
                layout: Layout::SIMPLE,
                direct: true,
                backend: rawio::Backend::Auto,
                verify: true,
                seed: n as u64,
            };
            case.check();
        }
    }
}

/// Uniform boundaries are a promise about keys; a broken one costs time, not order.
#[test]
fn uniform_boundaries_sort_any_keys() {
    for (n, shape) in SHAPES.into_iter().enumerate() {
        for (record, key) in [(100, 10), (16, 3), (9, 9)] {
            let bytes = data::fixed(shape, record, key, (3 << 20) / record, n as u64);
            let dirs = Dirs::with_input(&bytes);
            let format = Format::Fixed { record, key };
            let spec = SortSpec {
                indy: true,
                memory_bytes: 3 << 20,
                ..dirs.spec(Job::sort(format).unwrap())
            };
            let report = run(&spec).unwrap();
            check_report(&dirs, &spec, &report);
            assert_same_bytes(
                &joined(&report.output.files),
                &common::sorted_records(format, &bytes),
            );
        }
    }
}

/// 64 MiB through 4 MiB of memory.
#[test]
fn data_sixteen_times_the_memory_are_sorted() {
    for (shape, threads) in [(Shape::Skew, 2), (Shape::EqualKeys, 4), (Shape::Random, 1)] {
        let case = Case {
            format: Format::Fixed { record: 100, key: 10 },
            shape,
            bytes: 64 << 20,
            files: 2,
            memory: 0,
            threads,
            layout: Layout { inputs: 2, outputs: 2, scratch: 2, replicas: 1 },
            direct: true,
            backend: rawio::Backend::Auto,
            verify: false,
            seed: 5,
        };
        let bytes = case.data();
        let dirs = Dirs::with_input(&bytes);
        let spec = SortSpec {
            memory_bytes: 4 << 20,
            threads,
            ..dirs.spec(Job::sort(case.format).unwrap())
        };
        let report = run(&spec).unwrap();
        check_report(&dirs, &spec, &report);
        assert_same_bytes(
            &joined(&report.output.files),
            &common::sorted_records(case.format, &bytes),
        );
    }
}

/// Sorts only the first part of the input, across files and within one.
#[test]
fn the_first_bytes_are_sorted_in_partitions_of_the_size_asked_for() {
    let format = Format::Fixed { record: 100, key: 10 };
    let bytes = data::fixed(Shape::Random, 100, 10, 240_000, 3);
    let (one, two) = bytes.split_at(8_000_000);
    let dirs = Dirs::with_input(one);
    dirs.put(0, "z", two);
    for (first, memory_bytes) in
        [(5_000_050, 64 << 20), (20_000_000, 64 << 20), (20_000_000, 8 << 20)]
    {
        let spec = SortSpec {
            first_bytes: Some(first),
            partition_bytes: Some(1 << 20),
            memory_bytes,
            overwrite: true,
            verify: true,
            ..dirs.spec(Job::sort(format).unwrap())
        };
        let whole = first as usize / 100 * 100;
        let report = run(&spec).unwrap();
        check_report(&dirs, &spec, &report);
        assert_eq!(report.input.bytes, whole as u64);
        assert!(report.partitions > 8_000_000 * whole / 20_000_000 / (1 << 20), "{report:?}");
        let expected = common::sorted_records(format, &bytes[..whole]);
        assert_same_bytes(&joined(&report.output.files), &expected);
        assert_eq!(preview(&spec).unwrap().input_bytes, whole as u64);
    }
    for (job, first, partition) in [
        (Job::sort(Format::KeyValue).unwrap(), Some(1000), None),
        (Job::sort(format).unwrap(), Some(99), None),
        (Job::sort(format).unwrap(), None, Some(0)),
    ] {
        let spec = SortSpec { first_bytes: first, partition_bytes: partition, ..dirs.spec(job) };
        assert!(matches!(run(&spec), Err(SortError::Options(_))));
    }
}

/// The budgets on both sides of the change from spilling to staying in memory.
#[test]
fn the_preview_knows_when_data_fit() {
    let format = Format::Fixed { record: 100, key: 10 };
    let bytes = data::fixed(Shape::Random, 100, 10, 240_000, 3);
    for threads in [1, 2, 4] {
        let dirs = Dirs::with_input(&bytes);
        let mut spec =
            SortSpec { threads, overwrite: true, ..dirs.spec(Job::sort(format).unwrap()) };
        let fits = |memory_bytes: u64| {
            let spec = SortSpec { memory_bytes, ..spec.clone() };
            preview(&spec).unwrap().plan.regime == "in-memory"
        };
        let (mut low, mut high) = (minimum_memory(&spec), 256 << 20);
        assert!(!fits(low) && fits(high));
        while high - low > 4096 {
            let middle = low.midpoint(high);
            if fits(middle) { high = middle } else { low = middle }
        }
        for memory_bytes in [high, high + (64 << 10), high + (1 << 20)] {
            spec.memory_bytes = memory_bytes;
            let expected = preview(&spec).unwrap();
            if expected.plan.regime == "in-memory" {
                let report = run(&spec).unwrap();
                assert_eq!(report.spilled_bytes, 0, "{threads} threads: {expected:?}");
            }
        }
        // Budgets a little lower may still do; half of it cannot.
        spec.memory_bytes = bytes.len() as u64 * 3 / 4;
        let expected = preview(&spec).unwrap();
        assert!(expected.plan.expected_spilled_bytes > 0);
        let report = run(&spec).unwrap();
        assert!(report.spilled_bytes > 0);
        let (told, found) =
            (expected.plan.expected_spilled_bytes as f64, report.spilled_bytes as f64);
        assert!(
            (told - found).abs() < 0.35 * bytes.len() as f64,
            "{told} expected, {found} spilled"
        );
    }
}

/// The shortest records there are, where framing costs more than the data.
#[test]
fn empty_keys_and_values_are_records() {
    let mut bytes = Vec::new();
    for n in 0..100_000_u32 {
        let (key, value) = (&b"ab"[..n as usize % 3], &b"cd"[..(n / 3) as usize % 3]);
        extsort::push_key_value(&mut bytes, key, value);
    }
    assert!(bytes.len() >= 100_000 * HEADER_BYTES);
    let dirs = Dirs::with_input(&bytes);
    for memory in [None, Some(32 << 20)] {
        let mut spec =
            SortSpec { overwrite: true, ..dirs.spec(Job::sort(Format::KeyValue).unwrap()) };
        spec.memory_bytes = memory.unwrap_or_else(|| minimum_memory(&spec));
        let report = run(&spec).unwrap();
        check_report(&dirs, &spec, &report);
        let expected = common::sorted_records(Format::KeyValue, &bytes);
        assert_same_bytes(&joined(&report.output.files), &expected);
    }
}

/// Records that fill more than half of a block waste the rest of it.
#[test]
fn long_records_fit_in_the_least_budget() {
    for (record, threads) in [(4097, 1), (8200, 2), (70_000, 2), (300_000, 1)] {
        let format = Format::Fixed { record, key: 5 };
        let bytes = data::fixed(Shape::Random, record, 5, (8 << 20) / record, 9);
        let dirs = Dirs::with_input(&bytes);
        let mut spec = SortSpec { threads, ..dirs.spec(Job::sort(format).unwrap()) };
        spec.memory_bytes = minimum_memory(&spec);
        let report = run(&spec).unwrap();
        check_report(&dirs, &spec, &report);
        assert_same_bytes(&joined(&report.output.files), &common::sorted_records(format, &bytes));
    }
    let mut bytes = Vec::new();
    for n in 0..200_u32 {
        let value = vec![n as u8; 33_000 + n as usize % 7 * 4000];
        extsort::push_key_value(&mut bytes, &(n * 7919 % 200).to_be_bytes(), &value);
    }
    for threads in [1, 3] {
        let dirs = Dirs::with_input(&bytes);
        let mut spec = SortSpec {
            threads,
            max_record_bytes: 64 << 10,
            ..dirs.spec(Job::sort(Format::KeyValue).unwrap())
        };
        spec.memory_bytes = minimum_memory(&spec);
        let report = run(&spec).unwrap();
        check_report(&dirs, &spec, &report);
        let expected = common::sorted_records(Format::KeyValue, &bytes);
        assert_same_bytes(&joined(&report.output.files), &expected);
    }
}

proptest! {
    #![proptest_config(common::config(400, 13))]

    /// A sufficient budget stays sufficient with more memory, and the reported minimum is close.
    #[test]
    fn every_budget_from_the_least_on_is_accepted(
        input_bytes in prop_oneof![Just(0_u64), 0_u64..1 << 24, 0_u64..1 << 40],
        threads in 1_usize..=64,
        dirs in (1_usize..=4, 1_usize..=4, 1_usize..=8),
        record in 1_usize..70_000,
        is_fixed in any::<bool>(),
        more in prop::collection::vec(0.0..1.0_f64, 1..20),
    ) {
        let of = |memory_bytes: u64| plan(&PlanInput {
            input_bytes,
            memory_bytes,
            threads,
            readers: dirs.0,
            scratch_dirs: dirs.1,
            output_dirs: dirs.2,
            fixed_record_bytes: is_fixed.then_some(record),
            max_record_bytes: record,
            partition_bytes: None,
        });
        let Err(SortError::Memory { minimum_bytes, .. }) = of(1) else { panic!("one byte will do") };
        for share in more {
            // Up to 2^20 times as much, small steps as likely as large ones.
            let memory_bytes = (minimum_bytes as f64 * (share * 20.0).exp2()) as u64;
            prop_assert!(of(memory_bytes.max(minimum_bytes)).is_ok(), "{memory_bytes}");
        }
        prop_assert!(of(minimum_bytes - (1 << 20).min(minimum_bytes)).is_err(), "{minimum_bytes} is too much");
    }
}

/// Spilled partitions become output if scratch and output share a disk; otherwise they are written
/// again. Both equal files made for the output.
#[test]
fn output_files_are_the_same_wherever_they_were_spilled() {
    use std::os::unix::fs::MetadataExt;
    let format = Format::Fixed { record: 100, key: 10 };
    let bytes = data::fixed(Shape::Random, 100, 10, 200_000, 8);
    for elsewhere in [false, true] {
        let mut dirs = Dirs::with_input(&bytes);
        let other = tempfile::tempdir_in("/dev/shm").unwrap();
        if elsewhere {
            dirs.scratch = vec![other.path().to_owned()];
        }
        let mut spec = dirs.spec(Job::sort(format).unwrap());
        spec.memory_bytes = minimum_memory(&spec);
        let report = run(&spec).unwrap();
        assert!(report.spilled_bytes > 0);
        assert_same_bytes(&joined(&report.output.files), &common::sorted_records(format, &bytes));
        let usual = dirs.root.path().join("usual");
        std::fs::write(&usual, b"").unwrap();
        let attributes = |path: &std::path::Path| {
            let meta = std::fs::metadata(path).unwrap();
            (meta.mode(), meta.nlink(), meta.uid(), meta.gid())
        };
        for file in &report.output.files {
            assert_eq!(attributes(&file.path), attributes(&usual), "{}", file.path.display());
        }
        assert!(common::names(other.path()).is_empty());
    }
}
