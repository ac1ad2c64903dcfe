//! The validator against a plain model, and its reports about damaged input.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use extsort::checksum::RecordSum;
use extsort::gensort::{Generator, Kind};
use extsort::validate::{
    Summary, VALIDATE_CODES, ValidateError, ValidateReport, ValidateSpec, read_summaries,
    summary_bytes, validate, write_summary,
};
use extsort::{Format, push_key_value};
use proptest::prelude::*;

const SORT: Format = Format::Fixed { record: 100, key: 10 };

fn spec(inputs: &[PathBuf], format: Format) -> ValidateSpec {
    ValidateSpec { inputs: inputs.to_vec(), format, threads: 2, buffered: false }
}

fn run(spec: &ValidateSpec) -> Result<ValidateReport, ValidateError> {
    validate(spec, &AtomicBool::new(false), &|_, _| {})
}

fn check(input: &Path, format: Format) -> Result<Summary, ValidateError> {
    run(&spec(&[input.to_owned()], format)).map(|report| report.summary)
}

fn generated(start: u128, records: usize, sorted: bool) -> Vec<u8> {
    let mut bytes = vec![0; records * 100];
    Generator::new(start, Kind::Binary, false).fill(&mut bytes);
    if sorted {
        bytes.as_chunks_mut::<100>().0.sort_unstable();
    }
    bytes
}

/// Unordered records, the first of them, duplicates, checksum: by the definitions, one by one.
fn model(records: &[&[u8]], format: Format) -> (u128, Option<u128>, u128, RecordSum) {
    let (mut unordered, mut first, mut duplicates) = (0, None, 0);
    let mut sum = RecordSum::default();
    for (index, record) in records.iter().enumerate() {
        sum.add(record);
        if index > 0 {
            let before = format.split(records[index - 1]).0;
            let key = format.split(record).0;
            if key < before {
                unordered += 1;
                first = first.or(Some(index as u128));
            } else if key == before {
                duplicates += 1;
            }
        }
    }
    (unordered, first, duplicates, sum)
}

fn facts(summary: &Summary) -> (u128, Option<u128>, u128, RecordSum) {
    (summary.unordered, summary.first_unordered, summary.duplicates, summary.checksum)
}

#[test]
fn sorted_records_of_the_benchmark() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sorted");
    // More than two direct reads, and a border of records that is none of pages.
    let bytes = generated(0, 100_001, true);
    std::fs::write(&path, &bytes).unwrap();
    for (threads, buffered) in [(1, false), (3, false), (1, true), (3, true)] {
        let spec = ValidateSpec { threads, buffered, ..spec(std::slice::from_ref(&path), SORT) };
        let report = run(&spec).unwrap();
        assert_eq!(report.summary.records, 100_001);
        let mut sum = RecordSum::default();
        sum.add_all_fixed(&bytes, 100);
        assert_eq!(facts(&report.summary), (0, None, 0, sum));
        assert_eq!((report.bytes, report.files), (10_000_100, 1));
        let method = report.io_method.unwrap();
        assert!(!buffered || method.ends_with("+buffered"), "{method}");
    }
}

#[test]
fn faults_at_the_borders_of_reads_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let records = 100_000;
    let mut bytes = generated(0, records, true);
    let swap = |bytes: &mut [u8], at: usize| {
        let (left, right) = bytes.split_at_mut(at * 100);
        left[(at - 1) * 100..].swap_with_slice(&mut right[..100]);
    };
    // Around every multiple of 4 MiB and 256 KiB lies a border of some read.
    for at in [1, 2620, 2621, 2622, 41_859, 41_860, 41_861, 41_943, 41_944, 83_720, records - 1] {
        swap(&mut bytes, at);
        std::fs::write(&path, &bytes).unwrap();
        for buffered in [false, true] {
            let spec = ValidateSpec { buffered, ..spec(std::slice::from_ref(&path), SORT) };
            let found = run(&spec).unwrap().summary;
            assert_eq!((found.unordered, found.first_unordered), (1, Some(at as u128)));
        }
        swap(&mut bytes, at);
    }
}

#[test]
fn parts_and_borders_between_files() {
    let dir = tempfile::tempdir().unwrap();
    let bytes = generated(5, 3000, true);
    let write = |name: &str, from: usize, to: usize| {
        let path = dir.path().join(name);
        std::fs::write(&path, &bytes[from * 100..to * 100]).unwrap();
        path
    };
    // Record 999 ends one file and begins the next, so it is a duplicate across the border.
    let parts = [
        write("part-9", 0, 1000),
        write("part-10", 999, 2000),
        write("part-11", 0, 0),
        write("part-100", 2000, 3000),
    ];
    for hidden in [".part-0.crc", "_SUCCESS"] {
        std::fs::write(dir.path().join(hidden), b"not a record").unwrap();
    }
    let listed = run(&spec(&parts, SORT)).unwrap();
    let summary = &listed.summary;
    assert_eq!((summary.records, summary.unordered, summary.duplicates), (3001, 0, 1));
    assert_eq!((listed.files, listed.bytes), (4, 300_100));
    assert_eq!(&check(dir.path(), SORT).unwrap(), summary, "the directory, in its natural order");
    let turned: Vec<_> = parts.iter().rev().cloned().collect();
    let found = run(&spec(&turned, SORT)).unwrap().summary;
    assert_eq!((found.unordered, found.first_unordered), (2, Some(1000)));
    assert_eq!(found.checksum, summary.checksum);

    // The same by summaries, concatenated.
    let mut all = Vec::new();
    for part in &parts {
        let out = part.with_extension("sum");
        write_summary(&out, &check(part, SORT).unwrap(), 100).unwrap();
        let one = std::fs::read(&out).unwrap();
        assert_eq!(one.len(), 280);
        all.extend(one);
        std::fs::remove_file(out).unwrap();
    }
    let file = dir.path().join("all.sum");
    std::fs::write(&file, all).unwrap();
    assert_eq!(&read_summaries(&file, SORT).unwrap(), summary);
}

#[test]
fn the_bytes_of_a_summary_are_those_of_valsort() {
    let dir = tempfile::tempdir().unwrap();
    let mut records = [[0_u8; 100]; 4];
    for (record, key) in records.iter_mut().zip([b"bb", b"aa", b"aa", b"cc"]) {
        record[..2].copy_from_slice(key);
    }
    let path = dir.path().join("f");
    std::fs::write(&path, records.as_flattened()).unwrap();
    let summary = check(&path, SORT).unwrap();
    let words: Vec<u64> = summary.to_bytes(100)[..80]
        .as_chunks()
        .0
        .iter()
        .map(|word| u64::from_le_bytes(*word))
        .collect();
    let sum = summary.checksum.sum as u64;
    assert_eq!(words, [0, 1, 0, 1, 0, 4, 0, 1, 0, sum]);
    assert_eq!(&summary.to_bytes(100)[80..180], &records[0]);
    assert_eq!(&summary.to_bytes(100)[180..], &records[3]);

    let out = dir.path().join("out");
    write_summary(&out, &summary, 100).unwrap();
    let again = write_summary(&out, &summary, 100).unwrap_err();
    assert_eq!(again.code(), "VEN-VALIDATE-OUTPUT", "the existing file stays");
}

#[test]
fn damaged_summaries_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("s");
    let good = Summary::of(&generated(0, 3, false), SORT).to_bytes(100);
    let mut lying = good.clone();
    lying[24] = 200; // more unordered records than records
    for (bytes, part) in
        [(&good[..279], "279 are left over"), (&[][..], "0 bytes"), (&lying[..], "contradict")]
    {
        std::fs::write(&path, bytes).unwrap();
        let error = read_summaries(&path, SORT).unwrap_err();
        assert_eq!(error.code(), "VEN-VALIDATE-SUMMARY");
        assert!(error.to_string().contains(part), "{error}");
    }
    assert_eq!(read_summaries(&path, Format::KeyValue).unwrap_err().code(), "VEN-VALIDATE-OPTION");
}

#[test]
fn manifests_are_read_and_checked() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("out")).unwrap();
    let elsewhere = dir.path().join("elsewhere");
    std::fs::write(dir.path().join("out/b"), generated(0, 10, true)).unwrap();
    std::fs::write(&elsewhere, generated(0, 10, true)).unwrap();
    let manifest = dir.path().join("out/manifest.json");
    let write = |records: u64, bytes: u64| {
        let text = serde_json::json!({"job": "sort", "files": [
            {"path": elsewhere, "bytes": 1000, "records": 10},
            {"path": "b", "bytes": bytes, "records": records},
        ]});
        std::fs::write(&manifest, text.to_string()).unwrap();
    };
    write(10, 1000);
    for input in [dir.path().join("out"), manifest.clone()] {
        let found = check(&input, SORT).unwrap();
        assert_eq!((found.records, found.first_unordered), (20, Some(10)));
    }
    for (records, bytes) in [(10, 1100), (11, 1000)] {
        write(records, bytes);
        let error = check(&manifest, SORT).unwrap_err();
        assert_eq!(error.code(), "VEN-VALIDATE-MANIFEST");
        assert!(error.to_string().contains("should have"), "{error}");
    }
    std::fs::write(&manifest, "{}").unwrap();
    assert_eq!(check(&manifest, SORT).unwrap_err().code(), "VEN-VALIDATE-MANIFEST");
}

#[test]
fn bad_input_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    std::fs::write(&path, [0; 250]).unwrap();
    let error = check(&path, SORT).unwrap_err();
    assert_eq!(error.code(), "VEN-VALIDATE-LENGTH");
    let text = error.to_string();
    assert!(text.contains("250 bytes") && text.contains("50 bytes are left over"), "{text}");
    assert_eq!(check(&dir.path().join("no"), SORT).unwrap_err().code(), "VEN-VALIDATE-INPUT");
    let empty = dir.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert_eq!(check(&empty, SORT).unwrap_err().code(), "VEN-VALIDATE-INPUT");
    assert_eq!(check(Path::new("/dev/zero"), SORT).unwrap_err().code(), "VEN-VALIDATE-INPUT");
    for format in [
        Format::Fixed { record: 0, key: 0 },
        Format::Fixed { record: 10, key: 0 },
        Format::Fixed { record: 10, key: 11 },
        Format::Fixed { record: usize::MAX, key: 1 },
        Format::Lines,
    ] {
        assert_eq!(check(&path, format).unwrap_err().code(), "VEN-VALIDATE-OPTION");
    }
    std::fs::write(&path, []).unwrap();
    assert_eq!(check(&path, SORT).unwrap(), Summary::default(), "nothing is in order");
    for (code, meaning) in VALIDATE_CODES {
        assert!(code.starts_with("VEN-") && meaning.ends_with('.'));
    }
}

#[test]
fn a_file_that_shrinks_or_grows_meanwhile_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    let bytes = generated(0, 200_000, true);
    for new_length in [10_000_000, 30_000_000] {
        std::fs::write(&path, &bytes).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let spec = ValidateSpec { threads: 1, ..spec(std::slice::from_ref(&path), SORT) };
        let error = validate(&spec, &AtomicBool::new(false), &|_, _| {
            file.set_len(new_length).unwrap();
        })
        .unwrap_err();
        assert_eq!(error.code(), "VEN-VALIDATE-CHANGED");
        assert!(error.to_string().contains("had 20000000 bytes"), "{error}");
    }
}

#[test]
fn stopping_stops() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("f");
    std::fs::write(&path, generated(0, 100_000, false)).unwrap();
    let cancel = AtomicBool::new(false);
    let stop = |_, _| cancel.store(true, Ordering::Relaxed);
    let error = validate(&spec(&[path], SORT), &cancel, &stop).unwrap_err();
    assert_eq!(error.code(), "VEN-INTERRUPTED");
}

#[test]
fn key_value_records_longer_than_a_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kv");
    let mut bytes = Vec::new();
    let value = vec![7; 9 << 20];
    for key in [&b"a"[..], b"ab", b"ab", b"aa", b""] {
        push_key_value(&mut bytes, key, &value);
    }
    std::fs::write(&path, &bytes).unwrap();
    let records: Vec<_> = Format::KeyValue.records(&bytes).collect();
    let found = check(&path, Format::KeyValue).unwrap();
    assert_eq!(found.records, 5);
    assert_eq!(facts(&found), model(&records, Format::KeyValue));
    bytes.pop();
    std::fs::write(&path, &bytes).unwrap();
    let error = check(&path, Format::KeyValue).unwrap_err();
    assert_eq!(error.code(), "VEN-VALIDATE-RECORD");
    assert!(error.to_string().contains("cut off"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Keys over two values, so that all relations between adjacent records occur.
    #[test]
    fn agrees_with_the_model(
        record in 1_usize..40, key_part in 0.0..1.0, noise in prop::collection::vec(0_u8..2, 0..4000),
        cuts in prop::collection::vec(0.0..1.0, 0..4),
    ) {
        let key = ((record as f64 * key_part) as usize).max(1);
        let format = Format::Fixed { record, key };
        let bytes = &noise[..noise.len() / record * record];
        let records: Vec<_> = bytes.chunks_exact(record).collect();
        let mut cuts: Vec<_> = cuts.iter().map(|c| (c * records.len() as f64) as usize).collect();
        cuts.extend([0, records.len()]);
        cuts.sort_unstable();
        let dir = tempfile::tempdir().unwrap();
        let (mut files, mut summaries) = (Vec::new(), Vec::new());
        for (number, pair) in cuts.windows(2).enumerate() {
            let part = &bytes[pair[0] * record..pair[1] * record];
            files.push(dir.path().join(number.to_string()));
            std::fs::write(&files[number], part).unwrap();
            summaries.extend(Summary::of(part, format).to_bytes(record));
        }
        let found = run(&spec(&files, format)).unwrap().summary;
        prop_assert_eq!(found.records, records.len() as u128);
        prop_assert_eq!(facts(&found), model(&records, format));
        prop_assert_eq!(summaries.len(), summary_bytes(record) * files.len());
        let path = dir.path().join("summaries");
        std::fs::write(&path, summaries).unwrap();
        prop_assert_eq!(read_summaries(&path, format).unwrap(), found);
    }

    #[test]
    fn key_value_agrees_with_the_model(
        pairs in prop::collection::vec((prop::collection::vec(0_u8..2, 0..4), 0_usize..50), 0..200),
    ) {
        let mut bytes = Vec::new();
        for (key, value) in &pairs {
            push_key_value(&mut bytes, key, &vec![9; *value]);
        }
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("kv");
        std::fs::write(&path, &bytes).unwrap();
        let records: Vec<_> = Format::KeyValue.records(&bytes).collect();
        let found = check(&path, Format::KeyValue).unwrap();
        prop_assert_eq!(found.records, pairs.len() as u128);
        prop_assert_eq!(facts(&found), model(&records, Format::KeyValue));
    }
}
