//! Every error that can be provoked from outside, with its message; none leaves files behind.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use common::data::{self, Shape};
use common::{Dirs, Layout, check_report, minimum_memory, run};
use extsort::{
    CODES, Format, Job, Mapper, Order, Records, SortError, SortSpec, preview, push_key_value,
};

const FIXED: Format = Format::Fixed { record: 100, key: 10 };

fn records(count: usize) -> Vec<u8> {
    data::fixed(Shape::Random, 100, 10, count, 1)
}

fn sort_job() -> Job {
    Job::sort(FIXED).unwrap()
}

/// The error of a sort that must fail and leave nothing; its code must be a known one.
fn refused(dirs: &Dirs, spec: &SortSpec) -> SortError {
    let before = dirs.input_contents();
    let error = run(spec).expect_err("the sort worked");
    assert!(CODES.iter().any(|&(code, _)| code == error.code()), "{}", error.code());
    assert_eq!(before, dirs.input_contents(), "the input was touched");
    dirs.assert_nothing_published();
    error
}

#[test]
fn codes_are_told_once_and_documented() {
    let mut codes: Vec<_> = CODES.iter().map(|&(code, _)| code).collect();
    codes.sort_unstable();
    codes.dedup();
    assert_eq!(codes.len(), CODES.len());
    assert!(CODES.iter().all(|(code, text)| code.starts_with("VEN-") && text.ends_with('.')));
}

#[test]
fn a_length_that_is_no_multiple_names_file_size_and_remainder() {
    let dirs = Dirs::with_input(&records(10));
    let path = dirs.put(0, "odd", &records(7)[..642]);
    let error = refused(&dirs, &dirs.spec(sort_job()));
    let SortError::InputLength { path: told, size_bytes, record_bytes, remainder_bytes } = &error
    else {
        panic!("{error}");
    };
    assert_eq!((told, *size_bytes, *record_bytes, *remainder_bytes), (&path, 642, 100, 42));
    assert!(preview(&dirs.spec(sort_job())).is_err());
}

#[test]
fn a_record_that_is_cut_off_is_refused_where_it_begins() {
    let mut bytes = Vec::new();
    for n in 0..50_000_u32 {
        push_key_value(&mut bytes, &n.to_be_bytes(), b"value");
    }
    let whole = bytes.len();
    push_key_value(&mut bytes, b"last", b"one");
    let job = || Job::sort(Format::KeyValue).unwrap();
    for cut in [whole + 1, whole + 7, whole + 8, whole + 12, bytes.len() - 1] {
        let dirs = Dirs::with_input(&bytes[..cut]);
        for tiny in [false, true] {
            let mut spec = dirs.spec(job());
            if tiny {
                spec.memory_bytes = minimum_memory(&spec);
            }
            let error = refused(&dirs, &spec);
            let SortError::Record { path, offset, reason } = &error else { panic!("{error}") };
            assert_eq!((path, *offset), (&dirs.inputs[0].join("data"), whole as u64));
            assert!(reason.contains("cut off"), "{reason}");
        }
    }
    // Cut where a record ends, and no end of a file is joined with the start of the next.
    let dirs = Dirs::with_input(&bytes[..whole]);
    dirs.put(0, "more", &bytes[whole..]);
    assert_eq!(run(&dirs.spec(job())).unwrap().output.records, 50_001);
}

#[test]
fn a_record_that_is_too_long_is_refused_where_it_begins() {
    let mut bytes = Vec::new();
    for n in 0..3000_u32 {
        push_key_value(&mut bytes, &n.to_be_bytes(), &[0; 60]);
    }
    let start = bytes.len() as u64;
    push_key_value(&mut bytes, b"k", &vec![1; 9000]);
    push_key_value(&mut bytes, b"z", b"z");
    let dirs = Dirs::with_input(&bytes);
    let job = Job::sort(Format::KeyValue).unwrap();
    for max_record_bytes in [100, 4096, 9008] {
        let error = refused(&dirs, &SortSpec { max_record_bytes, ..dirs.spec(job.clone()) });
        let SortError::Record { offset, reason, .. } = &error else { panic!("{error}") };
        assert_eq!(*offset, start);
        assert!(reason.contains("9009"), "{reason}");
    }
    let spec = SortSpec { max_record_bytes: 9009, ..dirs.spec(job.clone()) };
    assert_eq!(run(&spec).unwrap().output.records, 3002);
    // A length of 8 GiB, as in a file that is no key/value file at all.
    let dirs = Dirs::with_input(&[0xff; 64]);
    let error = refused(&dirs, &dirs.spec(job));
    assert!(matches!(error, SortError::Record { offset: 0, .. }), "{error}");
}

#[test]
fn a_line_that_is_too_long_is_refused_wherever_it_lies() {
    for lines_before in [0, 1, 700, 3000] {
        let mut text = b"some words in a line\n".repeat(lines_before);
        text.extend_from_slice(&vec![b'x'; 20_000]);
        text.extend_from_slice(b"\nend\n");
        let dirs = Dirs::with_input(&text);
        let spec = SortSpec { max_record_bytes: 8192, ..dirs.spec(Job::wordcount()) };
        let error = refused(&dirs, &spec);
        assert!(matches!(error, SortError::Record { .. }), "{error}");
        let spec = SortSpec { max_record_bytes: 32 << 10, ..dirs.spec(Job::wordcount()) };
        let words = if lines_before == 0 { 2 } else { 7 };
        assert_eq!(run(&spec).unwrap().output.records, words);
    }
}

#[test]
fn inputs_that_cannot_be_read_are_named() {
    let dirs = Dirs::with_input(&records(10));
    let missing = dirs.root.path().join("missing");
    let mut spec = dirs.spec(sort_job());
    spec.inputs.push(missing.clone());
    let error = refused(&dirs, &spec);
    let SortError::Input { path, source } = &error else { panic!("{error}") };
    assert_eq!((path, source.kind()), (&missing, ErrorKind::NotFound));

    std::os::unix::fs::symlink("nowhere", dirs.inputs[0].join("dangling")).unwrap();
    let error =
        run(&dirs.spec(sort_job())).expect_err("a link to nowhere was passed over in silence");
    assert!(
        matches!(&error, SortError::Input { path, .. } if path.ends_with("dangling")),
        "{error}"
    );
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let dirs = Dirs::new(Layout::SIMPLE);
    let pipe = dirs.root.path().join("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    for path in [pipe, PathBuf::from("/dev/null")] {
        let spec = SortSpec { inputs: vec![path.clone()], ..dirs.spec(sort_job()) };
        let error = run(&spec).unwrap_err();
        assert!(matches!(error, SortError::Options(_) | SortError::Input { .. }), "{error}");
        assert!(error.to_string().contains(path.to_str().unwrap()), "{error}");
    }
}

#[test]
fn an_input_given_twice_is_refused() {
    let dirs = Dirs::with_input(&records(10));
    let file = dirs.inputs[0].join("data");
    let link = dirs.root.path().join("link");
    fs::hard_link(&file, &link).unwrap();
    for second in [file, dirs.inputs[0].clone(), link] {
        let mut spec = dirs.spec(sort_job());
        spec.inputs.push(second);
        let error = refused(&dirs, &spec);
        assert!(matches!(&error, SortError::Options(text) if text.contains("twice")), "{error}");
    }
}

#[test]
fn options_that_make_no_sense_are_refused() {
    for (record, key) in [(0, 0), (10, 0), (10, 11), (0, 1)] {
        assert!(matches!(Job::sort(Format::Fixed { record, key }), Err(SortError::Options(_))));
    }
    assert!(matches!(Job::sort(Format::Lines), Err(SortError::Options(_))));
    let dirs = Dirs::with_input(&records(10));
    let plain = dirs.spec(sort_job());
    let specs = [
        SortSpec { threads: 0, ..plain.clone() },
        SortSpec { threads: usize::MAX, ..plain.clone() },
        SortSpec { inputs: vec![], ..plain.clone() },
        SortSpec { outputs: vec![], ..plain.clone() },
        SortSpec { scratch: vec![], ..plain.clone() },
        SortSpec {
            outputs: vec![dirs.outputs[0].clone(), dirs.outputs[0].join(".")],
            ..plain.clone()
        },
        SortSpec { replicas: dirs.outputs.clone(), ..plain.clone() },
        SortSpec { indy: true, ..dirs.spec(Job::sort(Format::KeyValue).unwrap()) },
        SortSpec { verify: true, ..dirs.spec(Job::aggregate()) },
        SortSpec {
            max_record_bytes: usize::MAX,
            ..dirs.spec(Job::sort(Format::KeyValue).unwrap())
        },
    ];
    for (n, spec) in specs.iter().enumerate() {
        let error = refused(&dirs, spec);
        assert!(matches!(error, SortError::Options(_)), "{n}: {error}");
    }
    fs::create_dir(dirs.root.path().join("empty")).unwrap();
    let spec = SortSpec { inputs: vec![dirs.root.path().join("empty")], ..plain };
    assert!(matches!(refused(&dirs, &spec), SortError::Options(_)));
}

/// Jobs are plain structures: one that makes no sense is refused, not run.
#[test]
fn jobs_that_make_no_sense_are_refused() {
    let dirs = Dirs::with_input(&records(10));
    for (record, key) in [(0, 0), (10, 20)] {
        let format = Format::Fixed { record, key };
        let job = Job { input: format, intermediate: format, ..sort_job() };
        let outcome = common::outcome(&dirs.spec(job), &Arc::new(AtomicBool::new(false)));
        assert!(matches!(outcome, Some(Err(SortError::Options(_)))), "{record}, {key}");
    }
}

#[test]
fn a_missing_or_odd_directory_is_named_with_its_role() {
    let dirs = Dirs::with_input(&records(10));
    let file = dirs.inputs[0].join("data");
    for bad in [dirs.root.path().join("none"), file] {
        let plain = dirs.spec(sort_job());
        let specs = [
            ("output", SortSpec { outputs: vec![bad.clone()], ..plain.clone() }),
            ("scratch", SortSpec { scratch: vec![bad.clone()], ..plain.clone() }),
            ("replica", SortSpec { replicas: vec![bad.clone()], ..plain.clone() }),
        ];
        for (expected, spec) in specs {
            let error = refused(&dirs, &spec);
            let SortError::Directory { role, path, .. } = &error else { panic!("{error}") };
            assert_eq!((*role, path), (expected, &bad));
        }
    }
}

#[test]
fn a_budget_too_small_names_one_that_works() {
    let bytes = records(80_000);
    for (threads, layout) in
        [(1, Layout::SIMPLE), (4, Layout { inputs: 1, outputs: 3, scratch: 3, replicas: 2 })]
    {
        let dirs = Dirs::new(layout);
        dirs.put(0, "data", &bytes);
        let mut spec = SortSpec { threads, memory_bytes: 0, ..dirs.spec(sort_job()) };
        let error = refused(&dirs, &spec);
        let SortError::Memory { budget_bytes: 0, minimum_bytes } = error else { panic!("{error}") };
        assert_eq!(minimum_bytes, minimum_memory(&spec));
        spec.memory_bytes = minimum_bytes;
        let report = run(&spec).unwrap();
        check_report(&dirs, &spec, &report);
    }
}

#[test]
fn output_that_exists_stays() {
    for name in ["part-000003", "part-7", "manifest.json"] {
        for role in ["out", "copy"] {
            let dirs = Dirs::new(Layout { replicas: 1, ..Layout::SIMPLE });
            dirs.put(0, "data", &records(100));
            let dir = if role == "out" { &dirs.outputs[0] } else { &dirs.replicas[0] };
            let theirs = dir.canonicalize().unwrap().join(name);
            fs::write(&theirs, b"theirs").unwrap();
            let spec = dirs.spec(sort_job());
            let error = run(&spec).unwrap_err();
            assert!(
                matches!(&error, SortError::OutputExists { path } if *path == theirs),
                "{error}"
            );
            assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
        }
    }
}

#[test]
fn only_published_names_are_ever_replaced() {
    let dirs = Dirs::with_input(&records(5000));
    let foreign = [
        "part-",
        "part-000000.bak",
        "part-00000x",
        "xpart-000000",
        "manifest.json.bak",
        "notes",
        ".venturi-sort-1-0a.tmp",
        ".venturi-sort-1-0a.000000.tmp",
        ".venturi-sort-",
        ".lock",
        "venturi-sort-1-0a.lock",
    ];
    for name in foreign {
        for dir in dirs.outputs.iter().chain(&dirs.scratch) {
            fs::write(dir.join(name), name).unwrap();
        }
    }
    let spec = SortSpec { overwrite: true, ..dirs.spec(sort_job()) };
    for _ in 0..2 {
        run(&spec).unwrap();
        for name in foreign {
            for dir in dirs.outputs.iter().chain(&dirs.scratch) {
                assert_eq!(fs::read(dir.join(name)).unwrap(), name.as_bytes());
            }
        }
    }
}

/// Fewer files than before, in fewer directories: nothing of the old output may pass for new.
#[test]
fn replacing_leaves_no_old_part() {
    let dirs = Dirs::new(Layout { outputs: 2, replicas: 1, ..Layout::SIMPLE });
    dirs.put(0, "data", &records(100_000));
    let first = SortSpec { memory_bytes: 4 << 20, ..dirs.spec(sort_job()) };
    assert!(run(&first).unwrap().output.files.len() > 3);
    dirs.put(0, "data", &records(10));
    let second = SortSpec { overwrite: true, ..dirs.spec(sort_job()) };
    let report = run(&second).unwrap();
    assert_eq!(report.output.records, 10);
    check_report(&dirs, &second, &report);
}

/// An old output that can't be replaced completely stays unchanged, without new files next to it.
#[test]
fn a_publication_that_fails_leaves_the_old_output_or_nothing() {
    let dirs = Dirs::with_input(&records(100_000));
    let spec = SortSpec { memory_bytes: 4 << 20, overwrite: true, ..dirs.spec(sort_job()) };
    fs::create_dir(dirs.outputs[0].join("part-000001")).unwrap();
    assert!(run(&spec).is_err());
    assert_eq!(common::names(&dirs.outputs[0]), [dirs.outputs[0].join("part-000001")]);
}

#[test]
fn an_input_where_output_would_be_written_is_refused_even_with_overwrite() {
    let dirs = Dirs::new(Layout::SIMPLE);
    let part = dirs.outputs[0].join("part-000000");
    fs::write(&part, records(10)).unwrap();
    let link = dirs.root.path().join("link");
    fs::hard_link(&part, &link).unwrap();
    for input in [&part, &dirs.outputs[0], &link] {
        for overwrite in [false, true] {
            let spec = SortSpec { inputs: vec![input.clone()], overwrite, ..dirs.spec(sort_job()) };
            let error = run(&spec).unwrap_err();
            assert!(
                matches!(&error, SortError::InputIsOutput { path } if path.ends_with("part-000000")),
                "{error}"
            );
            assert_eq!(fs::read(&part).unwrap(), records(10));
        }
    }
}

#[test]
fn empty_input_gives_empty_output() {
    for (job, count) in [
        (sort_job(), 1),
        (Job::sort(Format::KeyValue).unwrap(), 3),
        (Job::wordcount(), 1),
        (Job::aggregate(), 2),
    ] {
        let dirs = Dirs::new(Layout { replicas: 1, ..Layout::SIMPLE });
        for n in 0..count {
            dirs.put(0, &format!("empty{n}"), b"");
        }
        let spec = dirs.spec(job);
        let report = run(&spec).unwrap();
        check_report(&dirs, &spec, &report);
        assert_eq!(
            (report.output.records, report.output.bytes, report.regime),
            (0, 0, "in-memory")
        );
    }
}

/// A path that is no UTF-8 cannot be named in a manifest: refused before anything is done, or sorted.
#[test]
fn names_of_any_bytes_do_no_harm() {
    let dirs = Dirs::with_input(&records(1000));
    let odd = dirs.root.path().join(std::ffi::OsStr::from_bytes(b"odd\xff"));
    fs::create_dir(&odd).unwrap();
    let spec = SortSpec { outputs: vec![odd.clone()], ..dirs.spec(sort_job()) };
    match common::outcome(&spec, &Arc::new(AtomicBool::new(false))) {
        None => panic!("it panicked"),
        Some(Ok(report)) => assert_eq!(report.output.records, 1000),
        Some(Err(error)) => {
            assert!(matches!(error, SortError::Options(_)), "{error}");
            assert_eq!(fs::read_dir(&odd).unwrap().count(), 0);
        }
    }
    let input = odd.join(std::ffi::OsStr::from_bytes(b"in\xfe"));
    fs::write(&input, records(10)).unwrap();
    let spec = SortSpec { inputs: vec![input], ..dirs.spec(sort_job()) };
    assert_eq!(run(&spec).unwrap().output.records, 10);
}

/// Does something to the input while it is read: the budget is so small that most of it is not yet.
struct Meddler<F> {
    calls: AtomicU64,
    meddle: F,
}

impl<F: Fn() + Send + Sync> Mapper for Meddler<F> {
    fn map(&self, records: Records<'_>, emit: &mut dyn FnMut(&[u8], &[u8])) {
        if self.calls.fetch_add(1, Ordering::Relaxed) == 0 {
            (self.meddle)();
        }
        records.for_each(|record| emit(&record[..10], &record[10..]));
    }
}

/// Sorts two files of 8 MB; when the first block of the first arrives, `meddle` gets both paths.
fn meddled(meddle: impl Fn(&Path, &Path) + Send + Sync + 'static) -> SortError {
    let dirs = Dirs::new(Layout::SIMPLE);
    let first = dirs.put(0, "first", &records(80_000));
    let second = dirs.put(0, "second", &records(80_000));
    let mapper = Meddler { calls: 0.into(), meddle: move || meddle(&first, &second) };
    let job = Job {
        name: "meddle".to_owned(),
        input: FIXED,
        intermediate: Format::KeyValue,
        order: Order::KeyThenRest,
        mapper: Some(Arc::new(mapper)),
        reducer: None,
    };
    let mut spec = SortSpec { threads: 1, ..dirs.spec(job) };
    spec.memory_bytes = minimum_memory(&spec);
    let error = run(&spec).expect_err("the input changed and the sort worked");
    dirs.assert_nothing_published();
    error
}

#[test]
fn input_that_changes_while_it_is_sorted_is_noticed() {
    let cut = |path: &Path, bytes: u64| {
        OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
    };
    let error = meddled(move |_, second| cut(second, 4_000_000));
    assert!(
        matches!(&error, SortError::InputChanged { path, expected_bytes: 8_000_000, found_bytes: 4_000_000 } if path.ends_with("second")),
        "{error}"
    );
    let error = meddled(move |first, _| cut(first, 6_000_000));
    assert!(
        matches!(&error, SortError::InputChanged { path, expected_bytes: 8_000_000, found_bytes } if path.ends_with("first") && *found_bytes <= 6_000_000),
        "{error}"
    );
    let error = meddled(|_, second| {
        OpenOptions::new().append(true).open(second).unwrap().write_all(&[0; 100]).unwrap();
    });
    assert!(matches!(&error, SortError::InputChanged { found_bytes: 8_000_100, .. }), "{error}");
    let error = meddled(|_, second| fs::remove_file(second).unwrap());
    assert!(
        matches!(&error, SortError::Input { path, source } if path.ends_with("second") && source.kind() == ErrorKind::NotFound),
        "{error}"
    );
}

/// A file that is replaced by another of the same name and length is another file.
#[test]
fn input_that_is_replaced_while_it_is_sorted_does_no_harm() {
    let error = meddled(|_, second| {
        let other = second.with_extension("new");
        fs::write(&other, vec![7; 8_000_000]).unwrap();
        fs::rename(&other, second).unwrap();
        OpenOptions::new().write(true).open(second).unwrap().set_len(1).unwrap();
    });
    assert!(matches!(error, SortError::InputChanged { .. }), "{error}");
}

#[test]
fn a_sort_that_is_cancelled_ends_soon_and_leaves_nothing() {
    let bytes = records(200_000);
    for round in 0..30_u64 {
        let dirs = Dirs::new(Layout { outputs: 2, scratch: 2, replicas: 1, ..Layout::SIMPLE });
        dirs.put(0, "data", &bytes);
        let threads = 1 + round as usize % 4;
        let mut spec = SortSpec { threads, ..dirs.spec(sort_job()) };
        spec.memory_bytes = minimum_memory(&spec);
        let cancel = Arc::new(AtomicBool::new(round == 0));
        let flag = Arc::clone(&cancel);
        let canceller = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(round * round / 2));
            flag.store(true, Ordering::Relaxed);
            std::time::Instant::now()
        });
        let result = common::outcome(&spec, &cancel).expect("it panicked");
        match result {
            Ok(report) => check_report(&dirs, &spec, &report),
            Err(SortError::Interrupted) => {
                let took = canceller.join().unwrap().elapsed();
                assert!(took < Duration::from_secs(5), "it took {took:?}");
                dirs.assert_nothing_published();
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// One at most may win where two sort into one directory; the other must say so and leave no trace.
#[test]
fn of_two_sorts_into_one_directory_one_wins_whole() {
    let (one, two) = (records(30_000), data::fixed(Shape::Random, 100, 10, 30_000, 2));
    for round in 0..10 {
        let dirs = Dirs::new(Layout { inputs: 2, outputs: 1, scratch: 1, replicas: 0 });
        dirs.put(0, "one", &one);
        dirs.put(1, "two", &two);
        let overwrite = round % 2 == 1;
        let spec = |n: usize| SortSpec {
            inputs: vec![dirs.inputs[n].clone()],
            memory_bytes: 6 << 20,
            threads: 1,
            overwrite,
            ..dirs.spec(sort_job())
        };
        let specs = [spec(0), spec(1)];
        let results = std::thread::scope(|scope| {
            let threads = specs.each_ref().map(|spec| scope.spawn(|| run(spec)));
            threads.map(|thread| thread.join().unwrap())
        });
        let won = results.iter().filter(|result| result.is_ok()).count();
        for result in &results {
            assert!(matches!(result, Ok(_) | Err(SortError::OutputExists { .. })), "{result:?}");
        }
        assert!(won == 1 || (overwrite && won == 2), "{won} sorts won");
        // Whichever sort was last, the manifest matches the files.
        let text = fs::read(dirs.outputs[0].join(extsort::MANIFEST)).unwrap();
        let manifest: serde_json::Value = serde_json::from_slice(&text).unwrap();
        let files = manifest["files"].as_array().unwrap();
        assert_eq!(common::names(&dirs.outputs[0]).len(), files.len() + 1);
        let read = |file: &serde_json::Value| fs::read(file["path"].as_str().unwrap()).unwrap();
        let found: Vec<u8> = files.iter().flat_map(read).collect();
        let sorted = [&one, &two].map(|bytes| common::sorted_records(FIXED, bytes));
        assert!(sorted.contains(&found), "the output is a mixture of two");
    }
}
