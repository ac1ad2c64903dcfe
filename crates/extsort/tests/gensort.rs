//! The generator against what the C program made (checksum and the start of the SHA-256).
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use extsort::checksum::RecordSum;
use extsort::gensort::{Generator, Kind, RECORD_BYTES};
use proptest::prelude::*;
use sha2::{Digest, Sha256};

/// Records, first record, kind, skewed, checksum, first four bytes of the SHA-256 if known.
type Vector = (usize, u128, Kind, bool, &'static str, Option<&'static str>);

const VECTORS: &[Vector] = &[
    (1, 0, Kind::Binary, false, "9ea593a0", Some("7bda0438")),
    (1, 0, Kind::Ascii, false, "3fcaea0a", Some("7c8c9360")),
    (10, 0, Kind::Binary, false, "55fea8a1a", Some("540fdf67")),
    (10, 0, Kind::Binary, true, "5d95519b3", Some("eb685761")),
    (10, 0, Kind::Ascii, false, "469302dca", Some("a91af4f7")),
    (10, 0, Kind::Ascii, true, "46073c01c", Some("2fe0af5a")),
    (1000, 0, Kind::Binary, false, "1ea6370b955", Some("f5244741")),
    (1000, 0, Kind::Binary, true, "1e96301166b", Some("e29ce5d5")),
    (1000, 0, Kind::Ascii, false, "1f5dfb3631a", Some("6c26b26a")),
    (1000, 0, Kind::Ascii, true, "1eef17d1cac", Some("33dc462a")),
    (1_000_000, 0, Kind::Binary, false, "7a0e0d4868cd4", Some("515ea89a")),
    (1_000_000, 0, Kind::Binary, true, "79f9a7e6de673", Some("26c04b08")),
    (1_000_000, 0, Kind::Ascii, false, "7a19cff467438", Some("f0521447")),
    (1_000_000, 0, Kind::Ascii, true, "7a135fbce6df2", Some("6412ad20")),
    (10_000_000, 0, Kind::Binary, false, "4c4e32cca7d315", None),
    (10_000_000, 0, Kind::Binary, true, "4c478a4199c9fe", None),
    (1000, 1_000_000_000_000, Kind::Binary, false, "1ecbffe299b", Some("fb2108d8")),
];

#[test]
fn equals_the_c_program() {
    let mut buffer = vec![0; 10_000 * RECORD_BYTES];
    for &(count, start, kind, skewed, checksum, sha256) in VECTORS {
        let mut generator = Generator::new(start, kind, skewed);
        let (mut sum, mut hash) = (RecordSum::default(), Sha256::new());
        let mut left = count;
        while left > 0 {
            let now = left.min(buffer.len() / RECORD_BYTES);
            let records = &mut buffer[..now * RECORD_BYTES];
            generator.fill(records);
            sum.add_all_fixed(records, RECORD_BYTES);
            if sha256.is_some() {
                hash.update(&*records);
            }
            left -= now;
        }
        let what = format!("{count} records from {start}, {kind:?}, skewed: {skewed}");
        assert_eq!(sum.to_string(), checksum, "{what}");
        if let Some(expected) = sha256 {
            let start =
                hash.finalize()[..4].iter().fold(0, |word, byte| word << 8 | u32::from(*byte));
            assert_eq!(format!("{start:08x}"), expected, "{what}");
        }
    }
}

#[test]
fn the_first_records_look_as_documented() {
    let mut record = [0; RECORD_BYTES];
    Generator::new(0, Kind::Binary, false).fill(&mut record);
    assert!(record.starts_with(b"JimGrayRIP\x65\x08\x00\x60\x83\x6b\x39\x2c\xd5\x8b"));
    Generator::new(0, Kind::Ascii, false).fill(&mut record);
    let text = format!("AsfAGHM5om  {}  0000222200002222", "0".repeat(32));
    assert!(record.starts_with(text.as_bytes()) && record.ends_with(b"\r\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Made in one go or in pieces, from wherever: the same records.
    #[test]
    fn ranges_are_parts_of_the_whole(
        start in prop_oneof![0_u128..5000, any::<u128>()],
        pieces in prop::collection::vec(0_usize..400, 1..6),
        ascii: bool,
        skewed: bool,
    ) {
        let kind = if ascii { Kind::Ascii } else { Kind::Binary };
        let records: usize = pieces.iter().sum();
        let mut whole = vec![0; records * RECORD_BYTES];
        Generator::new(start, kind, skewed).fill(&mut whole);
        let mut going_on = Generator::new(start, kind, skewed);
        let mut at = 0;
        for piece in pieces {
            let expected = &whole[at * RECORD_BYTES..(at + piece) * RECORD_BYTES];
            let mut made = vec![0; piece * RECORD_BYTES];
            going_on.fill(&mut made);
            prop_assert!(made == expected);
            Generator::new(start.wrapping_add(at as u128), kind, skewed).fill(&mut made);
            prop_assert!(made == expected);
            at += piece;
        }
    }
}

#[cfg(test)]
mod files {
    use std::io::Read;
    use std::path::Path;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicBool, Ordering};

    use extsort::gensort::{GenerateError, GenerateReport, GenerateSpec, MOST_RECORDS, generate};

    use super::*;

    fn spec(output: &Path, count: u128) -> GenerateSpec {
        GenerateSpec {
            output: output.to_owned(),
            start: 7,
            count,
            kind: Kind::Binary,
            skewed: true,
            threads: 2,
            checksum: true,
            overwrite: false,
        }
    }

    fn run(spec: &GenerateSpec) -> Result<GenerateReport, GenerateError> {
        generate(spec, &AtomicBool::new(false), &|_| {})
    }

    fn expected(count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count * RECORD_BYTES];
        Generator::new(7, Kind::Binary, true).fill(&mut bytes);
        bytes
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = std::fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_holds_the_records_whatever_the_threads() {
        let dir = tempfile::tempdir().unwrap();
        for (count, threads) in [(0, 1), (1, 3), (41, 1), (40_960, 2), (150_001, 1), (150_001, 3)] {
            let path = dir.path().join(format!("{count}-{threads}"));
            let last = Mutex::new(0);
            let made = generate(
                &GenerateSpec { threads, ..spec(&path, count) },
                &AtomicBool::new(false),
                &|done| {
                    let mut last = last.lock().unwrap();
                    *last = done.max(*last);
                },
            )
            .unwrap();
            let bytes = expected(count as usize);
            assert!(std::fs::read(&path).unwrap() == bytes, "{count} by {threads}");
            let mut sum = RecordSum::default();
            sum.add_all_fixed(&bytes, RECORD_BYTES);
            assert_eq!((made.records, made.bytes), (count, count * 100));
            assert_eq!(made.checksum, Some(sum));
            assert!(made.io_method.unwrap().contains('+'));
            assert!(*last.lock().unwrap() >= count as u64 * 100);
            std::fs::remove_file(&path).unwrap();
        }
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn a_pipe_gets_the_records_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
        let reader = std::thread::spawn({
            let path = path.clone();
            move || {
                let mut bytes = Vec::new();
                std::fs::File::open(path).unwrap().read_to_end(&mut bytes).unwrap();
                bytes
            }
        });
        let made = run(&GenerateSpec { threads: 3, ..spec(&path, 130_000) }).unwrap();
        assert_eq!(made.io_method, None);
        assert!(reader.join().unwrap() == expected(130_000));
    }

    #[test]
    fn a_reader_that_goes_away_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &path, 0o600.into()).unwrap();
        let reader = std::thread::spawn({
            let path = path.clone();
            move || drop(std::fs::File::open(path).unwrap())
        });
        let error = run(&GenerateSpec { threads: 3, ..spec(&path, 1_000_000) }).unwrap_err();
        reader.join().unwrap();
        assert_eq!(error.code(), "VEN-GEN-IO");
    }

    #[test]
    fn a_device_is_written_and_stays() {
        let made = run(&spec(Path::new("/dev/null"), 100_000)).unwrap();
        assert_eq!(made.bytes, 10_000_000);
        let error = run(&spec(Path::new("/dev/full"), 100_000)).unwrap_err();
        assert_eq!(error.code(), "VEN-GEN-FULL");
    }

    #[test]
    fn what_is_there_stays_unless_told_otherwise() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, b"precious").unwrap();
        let error = run(&spec(&path, 10)).unwrap_err();
        assert_eq!(error.code(), "VEN-GEN-OUTPUT-EXISTS");
        assert_eq!(error.path(), Some(path.as_path()));
        assert_eq!(std::fs::read(&path).unwrap(), b"precious");
        run(&GenerateSpec { overwrite: true, ..spec(&path, 10) }).unwrap();
        assert!(std::fs::read(&path).unwrap() == expected(10));
        assert_eq!(names(dir.path()), ["f"]);
    }

    #[test]
    fn stopping_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let cancel = AtomicBool::new(false);
        let path = dir.path().join("f");
        let error = generate(&spec(&path, 2_000_000), &cancel, &|_| {
            cancel.store(true, Ordering::Relaxed);
        })
        .unwrap_err();
        assert_eq!(error.code(), "VEN-INTERRUPTED");
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn impossible_requests_say_why() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let code = |spec: &GenerateSpec| run(spec).unwrap_err().code();
        assert_eq!(code(&GenerateSpec { threads: 0, ..spec(&path, 1) }), "VEN-GEN-OPTION");
        assert_eq!(code(&spec(&path, MOST_RECORDS + 1)), "VEN-GEN-OPTION");
        assert_eq!(code(&GenerateSpec { start: u128::MAX, ..spec(&path, 2) }), "VEN-GEN-OPTION");
        assert_eq!(code(&spec(dir.path(), 1)), "VEN-GEN-OPTION");
        assert_eq!(code(&spec(&path, MOST_RECORDS)), "VEN-GEN-SPACE");
        assert_eq!(code(&spec(&dir.path().join("no/f"), 1)), "VEN-GEN-OUTPUT");
        assert!(names(dir.path()).is_empty());
    }

    #[test]
    fn codes_are_unique_and_listed() {
        let listed = extsort::gensort::GENERATE_CODES;
        let unique: std::collections::HashSet<_> = listed.iter().map(|(code, _)| code).collect();
        assert_eq!(unique.len(), listed.len());
        assert!(unique.contains(&GenerateError::Interrupted.code()));
    }
}
