//! Shared by the tests of the engine: directories, data of many shapes, reference sorts, and a way
//! to run a sort that turns a hang into a failure.
#![allow(dead_code, clippy::print_stderr)]

pub mod data;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use extsort::{Format, Job, MANIFEST, PartFile, SortError, SortReport, SortSpec, preview, sort};
use proptest::test_runner::{Config, RngSeed};
use tempfile::TempDir;

/// No sort of these tests takes a tenth of this, even on a loaded machine.
const HANG: Duration = Duration::from_secs(30);

/// Configuration of a property test. `VENTURI_TEST_SEED` and `VENTURI_TEST_CASES` replace the fixed
/// seed and the number of cases, for longer hunts.
pub fn config(cases: u32, seed: u64) -> Config {
    let from = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = from("VENTURI_TEST_SEED").map_or(seed, |base| base.wrapping_mul(1000) + seed);
    let cases = from("VENTURI_TEST_CASES").map_or(cases, |cases| cases as u32);
    eprintln!("seed {seed}, {cases} cases");
    Config {
        cases,
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 40,
        ..Config::default()
    }
}

/// How many directories of each role a sort gets.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub inputs: usize,
    pub outputs: usize,
    pub scratch: usize,
    pub replicas: usize,
}

impl Layout {
    pub const SIMPLE: Self = Self { inputs: 1, outputs: 1, scratch: 1, replicas: 0 };
}

/// The directories of one sort; removed when dropped.
pub struct Dirs {
    pub root: TempDir,
    pub inputs: Vec<PathBuf>,
    pub outputs: Vec<PathBuf>,
    pub scratch: Vec<PathBuf>,
    pub replicas: Vec<PathBuf>,
}

impl Dirs {
    pub fn new(layout: Layout) -> Self {
        let root = tempfile::tempdir().unwrap();
        let make = |role: &str, count: usize| -> Vec<PathBuf> {
            let paths: Vec<_> =
                (0..count).map(|n| root.path().join(format!("{role}{n}"))).collect();
            for path in &paths {
                fs::create_dir(path).unwrap();
            }
            paths
        };
        let (inputs, outputs) = (make("in", layout.inputs), make("out", layout.outputs));
        let (scratch, replicas) = (make("scratch", layout.scratch), make("copy", layout.replicas));
        Self { root, inputs, outputs, scratch, replicas }
    }

    /// One directory of each, and one input file.
    pub fn with_input(bytes: &[u8]) -> Self {
        let dirs = Self::new(Layout::SIMPLE);
        dirs.put(0, "data", bytes);
        dirs
    }

    /// Writes an input file.
    pub fn put(&self, dir: usize, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.inputs[dir].join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// A sort over all directories: 64 MiB, two threads, everything else plain.
    pub fn spec(&self, job: Job) -> SortSpec {
        SortSpec {
            inputs: self.inputs.clone(),
            outputs: self.outputs.clone(),
            scratch: self.scratch.clone(),
            replicas: self.replicas.clone(),
            job,
            memory_bytes: 64 << 20,
            threads: 2,
            indy: false,
            verify: false,
            overwrite: false,
            max_record_bytes: 4096,
            backend: rawio::Backend::Auto,
            direct: true,
            seed: 1,
            partition_bytes: None,
            first_bytes: None,
            patience: Duration::from_secs(30),
        }
    }

    /// Every file of the inputs with its contents.
    pub fn input_contents(&self) -> Vec<(PathBuf, Vec<u8>)> {
        self.inputs.iter().flat_map(|dir| contents(dir)).collect()
    }

    /// Fails unless scratch directories are empty and the others hold `expected` files only.
    pub fn assert_only(&self, expected: &BTreeSet<PathBuf>) {
        let dirs = self.outputs.iter().chain(&self.replicas).chain(&self.scratch);
        let found: BTreeSet<PathBuf> = dirs.flat_map(|dir| names(dir)).collect();
        assert_eq!(&found, expected, "files that are there (left) and that should be (right)");
    }

    /// Fails if anything is left of a sort that did not succeed.
    pub fn assert_nothing_published(&self) {
        self.assert_only(&BTreeSet::new());
    }
}

/// Paths of everything in a directory.
pub fn names(dir: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    names
}

fn contents(dir: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    names(dir).into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
}

/// How a sort ended; none: it panicked.
pub type Outcome = Option<Result<SortReport, SortError>>;

/// Sorts on another thread; a sort that hangs fails the test and reports whether it could be
/// canceled.
pub fn outcome(spec: &SortSpec, cancel: &Arc<AtomicBool>) -> Outcome {
    outcome_with(spec, cancel, |_, _, _| ())
}

/// As [`outcome`], with a progress callback.
pub fn outcome_with(
    spec: &SortSpec,
    cancel: &Arc<AtomicBool>,
    progress: impl Fn(&'static str, u64, Option<u64>) + Send + Sync + 'static,
) -> Outcome {
    let (sender, receiver) = channel();
    let (task, flag) = (spec.clone(), Arc::clone(cancel));
    let thread = std::thread::spawn(move || {
        let _ = sender.send(sort(&task, &flag, &progress));
    });
    match receiver.recv_timeout(HANG) {
        Ok(result) => {
            thread.join().unwrap();
            Some(result)
        }
        Err(RecvTimeoutError::Disconnected) => None,
        Err(RecvTimeoutError::Timeout) => {
            cancel.store(true, Ordering::Relaxed);
            let ended = receiver.recv_timeout(Duration::from_secs(20)).is_ok();
            let ended = if ended { "ended it" } else { "did not end it" };
            panic!(
                "the sort hung: canceling {ended}; budget {} bytes, {} threads, {:?}",
                spec.memory_bytes,
                spec.threads,
                preview(spec)
            );
        }
    }
}

/// Sorts; see [`outcome`].
pub fn run(spec: &SortSpec) -> Result<SortReport, SortError> {
    outcome(spec, &Arc::new(AtomicBool::new(false))).expect("the sort panicked")
}

/// The smallest budget, as the engine says.
pub fn minimum_memory(spec: &SortSpec) -> u64 {
    match preview(&SortSpec { memory_bytes: 1, ..spec.clone() }) {
        Err(SortError::Memory { budget_bytes: 1, minimum_bytes }) => minimum_bytes,
        other => panic!("a budget of one byte was accepted: {other:?}"),
    }
}

/// The bytes of published files, one after the other.
pub fn joined(files: &[PartFile]) -> Vec<u8> {
    let mut all = Vec::new();
    for file in files {
        let bytes = fs::read(&file.path).unwrap();
        assert_eq!(bytes.len() as u64, file.bytes, "{}", file.path.display());
        all.extend_from_slice(&bytes);
    }
    all
}

/// The records of `bytes` in the engine's order, as bytes.
pub fn sorted_records(format: Format, bytes: &[u8]) -> Vec<u8> {
    let mut records: Vec<&[u8]> = format.records(bytes).collect();
    records.sort_by(|a, b| format.split(a).cmp(&format.split(b)));
    records.concat()
}

/// Where two byte strings differ first; for messages that a person can read.
pub fn assert_same_bytes(found: &[u8], expected: &[u8]) {
    if found == expected {
        return;
    }
    let at = found.iter().zip(expected).position(|(a, b)| a != b);
    let at = at.unwrap_or(found.len().min(expected.len()));
    let around = |bytes: &[u8]| bytes[at.saturating_sub(8)..bytes.len().min(at + 40)].to_vec();
    panic!(
        "{} bytes of output, {} expected; they differ from byte {at} on: {:?} instead of {:?}",
        found.len(),
        expected.len(),
        around(found),
        around(expected)
    );
}

/// Everything that must hold of a sort that succeeded, whatever it was asked to do.
pub fn check_report(dirs: &Dirs, spec: &SortSpec, report: &SortReport) {
    assert_eq!(report.memory.unreturned_blocks, 0);
    assert_eq!(report.regime == "in-memory", report.spilled_bytes == 0);
    assert_eq!(report.output.manifests, [spec.outputs[0].canonicalize().unwrap().join(MANIFEST)]);
    let files = report.output.files.iter().chain(&report.output.replicas);
    let mut expected: BTreeSet<PathBuf> = files.map(|file| file.path.clone()).collect();
    expected.extend(report.output.manifests.iter().cloned());
    dirs.assert_only(&expected);
    check_manifest(spec, report);
    let of = |count: fn(&PartFile) -> u64| report.output.files.iter().map(count).sum::<u64>();
    assert_eq!(of(|file| file.bytes), report.output.bytes);
    assert_eq!(of(|file| file.records), report.output.records);
    if dirs.replicas.is_empty() {
        assert!(report.output.replicas.is_empty());
    } else {
        let records = |files: &[PartFile]| files.iter().map(|f| f.records).collect::<Vec<_>>();
        assert_eq!(records(&report.output.replicas), records(&report.output.files));
        assert_same_bytes(&joined(&report.output.replicas), &joined(&report.output.files));
    }
    check_stages(report);
}

fn check_manifest(spec: &SortSpec, report: &SortReport) {
    let text = fs::read_to_string(&report.output.manifests[0]).unwrap();
    let manifest: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(manifest["job"], spec.job.name);
    assert_eq!(manifest["records"], report.output.records);
    assert_eq!(manifest["bytes"], report.output.bytes);
    assert_eq!(manifest["checksum"].is_string(), spec.verify);
    for (name, files) in [("files", &report.output.files), ("replicas", &report.output.replicas)] {
        assert_eq!(manifest[name], serde_json::to_value(files).unwrap());
    }
}

fn check_stages(report: &SortReport) {
    let sum = |stage: &str, count: fn(&extsort::StageReport) -> u64| -> u64 {
        report.stages.iter().filter(|s| s.stage == stage).map(count).sum()
    };
    assert_eq!(sum("read", |s| s.bytes), report.input.bytes);
    // Splitting distributes records again.
    assert!(sum("distribute", |s| s.records) >= report.input.records);
    let mut ended = 0.0;
    for phase in &report.phases {
        assert!(phase.started_s >= ended - 1e-3 && phase.elapsed_s >= 0.0, "{:?}", report.phases);
        ended = phase.started_s + phase.elapsed_s;
    }
    assert!(ended <= report.elapsed_s + 1e-3);
    for stage in &report.stages {
        let times = [stage.useful_s, stage.idle_s, stage.waiting_for_memory_s, stage.blocked_s];
        assert!(times.iter().all(|&t| t >= 0.0) && stage.workers > 0, "{stage:?}");
        assert!(stage.started_s <= stage.ended_s && stage.ended_s <= report.elapsed_s, "{stage:?}");
    }
}
