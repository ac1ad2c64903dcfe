//! Files that change during a sort, and files of other programs in the way.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use common::data::{self, Shape};
use common::{Dirs, Layout, check_report, outcome_with, run};
use extsort::{Format, Job, SortError, SortReport, SortSpec};

const FIXED: Format = Format::Fixed { record: 100, key: 10 };

fn records(count: usize) -> Vec<u8> {
    data::fixed(Shape::Random, 100, 10, count, 1)
}

/// Sorts 2 MB that were written long ago; when reading begins, `meddle` gets the input's path.
fn meddled(
    verify: bool,
    meddle: impl Fn(&Path) + Send + Sync + 'static,
) -> (Dirs, Result<SortReport, SortError>) {
    let dirs = Dirs::with_input(&records(20_000));
    let path = dirs.inputs[0].join("data");
    set_modified(&path, SystemTime::now() - Duration::from_hours(24));
    let spec = SortSpec { verify, ..dirs.spec(Job::sort(FIXED).unwrap()) };
    let calls = AtomicUsize::new(0);
    let result = outcome_with(&spec, &Arc::new(AtomicBool::new(false)), move |phase, _, _| {
        if phase == "map+shuffle" && calls.fetch_add(1, Ordering::Relaxed) == 0 {
            meddle(&path);
        }
    });
    (dirs, result.expect("it panicked"))
}

fn set_modified(path: &Path, time: SystemTime) {
    File::open(path).unwrap().set_modified(time).unwrap();
}

fn write_in_place(path: &Path) {
    OpenOptions::new().write(true).open(path).unwrap().write_all_at(&[7; 100], 1_999_900).unwrap();
}

fn assert_changed((dirs, result): (Dirs, Result<SortReport, SortError>), what: &str) {
    let error = result.expect_err("the input changed and the sort worked");
    assert_eq!(error.code(), "VEN-SORT-INPUT-CHANGED");
    assert!(error.to_string().contains(what), "{error}");
    dirs.assert_nothing_published();
}

#[test]
fn input_written_in_place_is_noticed() {
    for verify in [false, true] {
        assert_changed(meddled(verify, write_in_place), "it was last written");
    }
}

#[test]
fn input_replaced_by_another_of_its_length_is_noticed() {
    let replace = |path: &Path| {
        let other = path.with_extension("new");
        fs::write(&other, records(20_000)).unwrap();
        fs::rename(&other, path).unwrap();
    };
    assert_changed(meddled(false, replace), "another file has its name");
}

#[test]
fn with_verification_a_time_that_is_set_back_hides_nothing() {
    let hide = |path: &Path| {
        let time = fs::metadata(path).unwrap().modified().unwrap();
        write_in_place(path);
        set_modified(path, time);
    };
    assert_changed(meddled(true, hide), "it was last changed");
}

#[test]
fn new_rights_alone_are_no_change_of_content() {
    let allow = |path: &Path| fs::set_permissions(path, PermissionsExt::from_mode(0o600)).unwrap();
    let (_, result) = meddled(false, allow);
    assert_eq!(result.unwrap().output.records, 20_000);
}

#[test]
fn a_file_that_hides_its_length_is_refused() {
    let dirs = Dirs::with_input(&records(10));
    let spec = SortSpec { inputs: vec!["/proc/self/status".into()], ..dirs.spec(Job::wordcount()) };
    let error = run(&spec).unwrap_err();
    assert_eq!(error.code(), "VEN-SORT-INPUT");
    assert!(error.to_string().contains("it says that it has no bytes and has some"), "{error}");
    dirs.assert_nothing_published();
}

/// Files in no manifest stay unchanged, whatever their names, and block publication.
#[test]
fn what_no_manifest_names_is_never_replaced() {
    for (name, text) in [
        ("part-000000", "theirs"),
        ("part-7", "theirs"),
        ("manifest.json", "theirs"),
        ("manifest.json", r#"{"files": []}"#),
    ] {
        for role in ["out", "copy"] {
            let dirs = Dirs::new(Layout { replicas: 1, ..Layout::SIMPLE });
            dirs.put(0, "data", &records(100));
            let dir = if role == "out" { &dirs.outputs[0] } else { &dirs.replicas[0] };
            let theirs = dir.canonicalize().unwrap().join(name);
            fs::write(&theirs, text).unwrap();
            let spec = SortSpec { overwrite: true, ..dirs.spec(Job::sort(FIXED).unwrap()) };
            let error = run(&spec).unwrap_err();
            assert!(
                matches!(&error, SortError::OutputForeign { path } if *path == theirs),
                "{error}"
            );
            assert_eq!(fs::read(&theirs).unwrap(), text.as_bytes());
            dirs.assert_only(&[theirs].into());
        }
    }
}

/// A stranger's file that comes while the sort is under way is not replaced either, and the output
/// that was to be replaced is still whole.
#[test]
fn what_comes_meanwhile_is_not_replaced() {
    let dirs = Dirs::with_input(&records(20_000));
    let spec = SortSpec { overwrite: true, ..dirs.spec(Job::sort(FIXED).unwrap()) };
    let before = run(&spec).unwrap();
    let theirs = dirs.outputs[0].canonicalize().unwrap().join("part-000099");
    let coming = theirs.clone();
    let result = outcome_with(&spec, &Arc::new(AtomicBool::new(false)), move |phase, _, _| {
        if phase == "sort+reduce" {
            fs::write(&coming, "theirs").unwrap();
        }
    });
    let error = result.expect("it panicked").unwrap_err();
    assert!(matches!(&error, SortError::OutputForeign { path } if *path == theirs), "{error}");
    assert_eq!(fs::read(&theirs).unwrap(), b"theirs");
    fs::remove_file(&theirs).unwrap();
    check_report(&dirs, &spec, &before);
}

/// An output is replaced whole where a second sort has the same directories.
#[test]
fn what_a_manifest_names_is_replaced() {
    let dirs = Dirs::new(Layout { outputs: 2, replicas: 1, ..Layout::SIMPLE });
    dirs.put(0, "data", &records(1000));
    let spec = SortSpec { overwrite: true, ..dirs.spec(Job::sort(FIXED).unwrap()) };
    for _ in 0..2 {
        check_report(&dirs, &spec, &run(&spec).unwrap());
    }
}
