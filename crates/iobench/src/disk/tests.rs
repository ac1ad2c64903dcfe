//! Whole measurements on small files.

use std::path::Path;
use std::sync::Mutex;

use rawio::Backend;

use super::*;

#[derive(Default)]
struct Heard {
    warnings: Mutex<Vec<&'static str>>,
    phases: Mutex<Vec<String>>,
}

impl Observer for Heard {
    fn progress(&self, _phase: &str, done: u64, total: Option<u64>) {
        assert!(total.is_none_or(|total| done <= total));
    }

    fn phase(&self, name: &str, _started: Instant, _elapsed: Duration) {
        self.phases.lock().unwrap().push(name.to_owned());
    }

    fn warning(&self, code: &'static str, _message: &str) {
        assert!(crate::CODES.iter().any(|(known, _)| *known == code));
        self.warnings.lock().unwrap().push(code);
    }
}

fn small(dirs: &[&Path]) -> Options {
    Options {
        bytes: 8 << 20,
        block_bytes: 256 << 10,
        modes: Mode::ALL.to_vec(),
        random_block_bytes: vec![4096, 64 << 10],
        random_queue_depth: vec![1, 8],
        iterations: 2,
        min_time: Duration::ZERO,
        random_time: Duration::from_millis(50),
        ..Options::new(dirs.iter().map(|dir| dir.to_path_buf()).collect())
    }
}

fn is_empty(dir: &Path) -> bool {
    std::fs::read_dir(dir).unwrap().next().is_none()
}

#[test]
fn every_mode_of_one_directory_is_reported_and_nothing_stays() {
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    for (backend, direct) in
        [(Backend::Auto, true), (Backend::Threads, true), (Backend::Auto, false)]
    {
        let heard = Heard::default();
        let options = Options { direct, backend, ..small(&[dir.path()]) };
        let report = run(&options, &heard, &AtomicBool::new(false)).unwrap();
        // read, write, read_write (2 roles), 4 random ones, shuffle: of the directory and of all.
        assert_eq!(report.measurements.len(), 2 * (1 + 1 + 2 + 4 + 1));
        for m in &report.measurements {
            assert!(m.bytes > 0 && m.bytes_per_s.min > 0.0, "{m:?}");
            assert_eq!(m.bytes_per_s.iterations.len(), 2);
            assert!(m.bytes_per_s.stdev.is_some() && m.latency_s.is_some());
            assert_eq!(m.steady, m.unsteady_reason.is_none());
            let by_requests = m.iops.mean * m.block_bytes as f64;
            assert!((by_requests / m.bytes_per_s.mean - 1.0).abs() < 1e-6);
            if m.mode == Mode::Write {
                assert!(m.bytes >= 2 * options.bytes);
            }
        }
        let method = &report.devices[0].io_method;
        let cache = if direct { "direct" } else { "buffered" };
        assert!(method.ends_with(cache), "{method}");
        assert_eq!(heard.warnings.lock().unwrap().contains(&"VEN-DISK-BUFFERED"), !direct);
        let phases = ["prepare", "read", "write", "read_write", "random_read", "shuffle_read"];
        assert_eq!(*heard.phases.lock().unwrap(), phases);
        assert!(is_empty(dir.path()));
    }
}

#[test]
fn of_three_directories_two_are_read_and_one_is_written_at_once() {
    let dirs: Vec<_> =
        (0..3).map(|_| tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap()).collect();
    let paths: Vec<&Path> = dirs.iter().map(tempfile::TempDir::path).collect();
    let options = Options { modes: vec![Mode::ReadWrite], ..small(&paths) };
    let heard = Heard::default();
    let report = run(&options, &heard, &AtomicBool::new(false)).unwrap();
    let roles: Vec<(Role, Option<&Path>)> =
        report.measurements.iter().map(|m| (m.role, m.dir.as_deref())).collect();
    assert_eq!(
        roles,
        [
            (Role::Read, Some(paths[0])),
            (Role::Read, Some(paths[1])),
            (Role::Read, None),
            (Role::Write, Some(paths[2])),
            (Role::Write, None),
        ]
    );
    assert!(heard.warnings.lock().unwrap().contains(&"VEN-DISK-SHARED"));
    assert!(paths.iter().all(|path| is_empty(path)));
}

#[test]
fn what_cannot_be_measured_is_refused_before_anything_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |options: Options| {
        let error = run(&options, &Heard::default(), &AtomicBool::new(false)).unwrap_err();
        assert!(is_empty(dir.path()));
        assert!(crate::CODES.iter().any(|(code, _)| *code == error.code()));
        error.code()
    };
    let good = small(&[dir.path()]);
    assert_eq!(refused(Options { bytes: u64::MAX / 4, ..good.clone() }), "VEN-DISK-SPACE");
    assert_eq!(refused(Options { bytes: 4096, ..good.clone() }), "VEN-DISK-OPTION");
    assert_eq!(refused(Options { block_bytes: 1000, ..good.clone() }), "VEN-DISK-OPTION");
    assert_eq!(refused(Options { queue_depth: 0, ..good.clone() }), "VEN-DISK-OPTION");
    assert_eq!(refused(Options { iterations: 0, ..good.clone() }), "VEN-DISK-OPTION");
    assert_eq!(refused(Options { modes: vec![], ..good.clone() }), "VEN-DISK-OPTION");
    let random_block_bytes = vec![16 << 20];
    assert_eq!(refused(Options { random_block_bytes, ..good }), "VEN-DISK-OPTION");
    let missing = dir.path().join("missing");
    assert_eq!(refused(small(&[&missing])), "VEN-DISK-DIR");
    assert_eq!(refused(small(&[dir.path(), dir.path()])), "VEN-DISK-DIR");
}

#[test]
fn a_cancelled_measurement_says_so_and_leaves_nothing() {
    let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let cancel = AtomicBool::new(false);
    let options = Options {
        modes: vec![Mode::RandomRead],
        random_time: Duration::from_mins(1),
        max_time: Duration::from_mins(1),
        ..small(&[dir.path()])
    };
    let began = Instant::now();
    let error = std::thread::scope(|scope| {
        let worker = scope.spawn(|| run(&options, &Heard::default(), &cancel));
        std::thread::sleep(Duration::from_millis(300));
        cancel.store(true, Ordering::Relaxed);
        worker.join().unwrap().unwrap_err()
    });
    assert!(matches!(error, DiskError::Interrupted));
    assert!(began.elapsed() < Duration::from_secs(30));
    assert!(is_empty(dir.path()));
}
