//! Any file as key/value records at the least budget: sorted as a reference sorts, or refused.

use std::sync::atomic::AtomicBool;

use extsort::{Format, Job, SortError, SortSpec, preview, sort};

/// The content of the file.
pub type Input<'a> = &'a [u8];

/// Sorts the file and compares.
pub fn run(bytes: Input) {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::create_dir(path("out")).unwrap();
    std::fs::write(path("in"), bytes).unwrap();
    let mut spec = SortSpec {
        inputs: vec![path("in")],
        outputs: vec![path("out")],
        scratch: vec![path("out")],
        replicas: vec![],
        job: Job::sort(Format::KeyValue).unwrap(),
        memory_bytes: 0,
        threads: 1,
        indy: false,
        verify: true,
        overwrite: false,
        max_record_bytes: 4096,
        backend: rawio::Backend::Auto,
        direct: false,
        seed: 1,
        partition_bytes: None,
        first_bytes: None,
        patience: std::time::Duration::from_secs(30),
    };
    let Err(SortError::Memory { minimum_bytes, .. }) = preview(&spec) else {
        panic!("no budget at all was accepted");
    };
    spec.memory_bytes = minimum_bytes;
    match sort(&spec, &AtomicBool::new(false), &|_, _, _| ()) {
        Ok(report) => {
            let mut records: Vec<&[u8]> = Format::KeyValue.records(bytes).collect();
            records.sort_by(|a, b| Format::KeyValue.split(a).cmp(&Format::KeyValue.split(b)));
            let parts = report.output.files.iter();
            let found: Vec<u8> =
                parts.flat_map(|part| std::fs::read(&part.path).unwrap()).collect();
            assert_eq!(found, records.concat());
            assert_eq!(found.len(), bytes.len());
        }
        Err(SortError::Record { offset, .. }) => assert!(offset <= bytes.len() as u64),
        Err(error) => panic!("{error}"),
    }
}
