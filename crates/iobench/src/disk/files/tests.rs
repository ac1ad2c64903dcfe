//! Small files in small directories.

use std::collections::HashSet;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

struct Quiet;

impl Observer for Quiet {
    fn progress(&self, _phase: &str, done: u64, total: Option<u64>) {
        assert!(total.is_some_and(|total| done <= total));
    }
    fn phase(&self, _name: &str, _started: Instant, _elapsed: Duration) {}
    fn warning(&self, code: &'static str, _message: &str) {
        assert!(crate::CODES.iter().any(|(known, _)| *known == code));
    }
}

fn folders(count: usize) -> Vec<TempDir> {
    (0..count).map(|_| tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()).collect()
}

fn options(dirs: &[TempDir], files: usize, file_bytes: u64) -> Options {
    Options {
        dirs: dirs.iter().map(|dir| dir.path().to_owned()).collect(),
        operation: Operation::Write,
        files,
        file_bytes,
        threads: 3,
        backend: Backend::Auto,
        direct: true,
    }
}

fn go(options: &Options) -> Result<Report, DiskError> {
    run(options, &Quiet, &AtomicBool::new(false))
}

fn read(options: &Options) -> Result<Report, DiskError> {
    go(&Options { operation: Operation::Read, ..options.clone() })
}

fn is_empty(dir: &TempDir) -> bool {
    std::fs::read_dir(dir.path()).unwrap().next().is_none()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn what_was_written_is_read_and_a_changed_byte_is_found(
        dirs in 1..4_usize, files in 1..8_usize,
        file_bytes in prop_oneof![1..20_000_u64, (9_u64 << 20)..(10 << 20)],
        threads: bool, direct: bool, at: prop::sample::Index, which: prop::sample::Index,
    ) {
        let dirs = folders(dirs);
        let backend = if threads { Backend::Threads } else { Backend::Auto };
        let options = Options { backend, direct, ..options(&dirs, files, file_bytes) };
        for report in [go(&options).unwrap(), read(&options).unwrap()] {
            prop_assert_eq!(report.files.len(), files);
            prop_assert_eq!(report.bytes, files as u64 * file_bytes);
            for (number, file) in report.files.iter().enumerate() {
                prop_assert_eq!(&file.path, &options.path(number));
                prop_assert_eq!(std::fs::metadata(&file.path).unwrap().len(), file_bytes);
                prop_assert!(file.elapsed_s > 0.0 && file.elapsed_s <= report.elapsed_s);
            }
            let cache = if direct { "+direct" } else { "+buffered" };
            prop_assert!(report.devices.iter().all(|d| d.io_method.ends_with(cache)));
        }
        let path = options.path(which.index(files));
        let at = at.index(file_bytes as usize) as u64;
        let file = std::fs::OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, at).unwrap();
        file.write_all_at(&[!byte[0]], at).unwrap();
        let error = read(&options).unwrap_err();
        let page = at / ALIGN as u64 * ALIGN as u64;
        prop_assert!(
            matches!(&error, DiskError::Content { path: p, offset, .. } if *p == path && *offset == page),
            "{error}"
        );
    }
}

#[test]
fn no_page_is_written_twice() {
    let dirs = folders(1);
    let options = options(&dirs, 3, (BLOCK_BYTES + 5 * ALIGN) as u64);
    go(&options).unwrap();
    let mut seen = HashSet::new();
    for number in 0..options.files {
        let bytes = std::fs::read(options.path(number)).unwrap();
        assert!(bytes.chunks(ALIGN).all(|page| seen.insert(page.to_vec())));
    }
}

#[test]
fn a_file_that_is_there_is_kept_and_the_others_go() {
    let dirs = folders(2);
    let options = options(&dirs, 6, 5000);
    std::fs::write(options.path(5), b"mine").unwrap();
    let error = go(&options).unwrap_err();
    assert!(matches!(&error, DiskError::Exists { path } if *path == options.path(5)), "{error}");
    assert!(is_empty(&dirs[0]));
    assert_eq!(std::fs::read_dir(dirs[1].path()).unwrap().count(), 1);
    assert_eq!(std::fs::read(options.path(5)).unwrap(), b"mine");
}

#[test]
fn what_is_not_there_or_cut_short_is_not_read() {
    let dirs = folders(1);
    let options = options(&dirs, 2, 9000);
    let code = || read(&options).unwrap_err().code();
    assert_eq!(code(), "VEN-DISK-CONTENT");
    go(&options).unwrap();
    std::fs::OpenOptions::new().write(true).open(options.path(1)).unwrap().set_len(8192).unwrap();
    assert_eq!(code(), "VEN-DISK-CONTENT");
    assert!(options.path(0).exists() && options.path(1).exists(), "reading removes nothing");
}

#[test]
fn whoever_cancels_writing_finds_nothing() {
    let dirs = folders(2);
    let cancel = AtomicBool::new(false);
    let error = std::thread::scope(|scope| {
        let worker = scope.spawn(|| run(&options(&dirs, 64, 8 << 20), &Quiet, &cancel));
        while is_empty(&dirs[0]) {
            std::thread::yield_now();
        }
        cancel.store(true, Ordering::Relaxed);
        worker.join().unwrap().unwrap_err()
    });
    assert!(matches!(error, DiskError::Interrupted));
    assert!(dirs.iter().all(is_empty));
}

#[test]
fn what_cannot_be_is_refused() {
    let dirs = folders(1);
    let good = options(&dirs, 2, 4096);
    let code = |options: Options| go(&options).unwrap_err().code();
    assert_eq!(code(Options { files: 0, ..good.clone() }), "VEN-DISK-OPTION");
    assert_eq!(code(Options { file_bytes: 0, ..good.clone() }), "VEN-DISK-OPTION");
    assert_eq!(code(Options { threads: 0, ..good.clone() }), "VEN-DISK-OPTION");
    assert_eq!(code(Options { dirs: vec![], ..good.clone() }), "VEN-DISK-OPTION");
    assert_eq!(code(Options { file_bytes: u64::MAX, ..good.clone() }), "VEN-DISK-OPTION");
    assert_eq!(code(Options { file_bytes: 1 << 50, ..good.clone() }), "VEN-DISK-SPACE");
    assert_eq!(code(Options { dirs: vec!["/does/not/exist".into()], ..good }), "VEN-DISK-DIR");
    assert!(is_empty(&dirs[0]));
}
