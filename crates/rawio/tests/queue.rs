//! Requests that fail, among others that do not: each comes back once, with its block and its end.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use rawio::{ALIGN, Backend, DirectFile, Method, Operation, Pool, Queue, Request};

const DEPTH: usize = 6;
const FILE_BYTES: usize = 5 * ALIGN + 100;

/// A request, and the ways in which it may end.
#[derive(Clone, Copy, Debug)]
enum Ask {
    /// A read at this offset, perhaps beyond the end.
    Read {
        offset: u64,
    },
    /// A direct read that no disk takes as it is: it goes on through the page cache.
    Misaligned {
        offset: u64,
    },
    Write,
    /// To a file that was opened for reading.
    NotWritable,
    /// Beyond the largest offset that there is.
    Nowhere,
}

fn asks() -> impl Strategy<Value = Vec<Ask>> {
    let one = prop_oneof![
        (0..10_u64).prop_map(|page| Ask::Read { offset: page * ALIGN as u64 }),
        (0..FILE_BYTES as u64).prop_map(|offset| Ask::Misaligned { offset: offset | 1 }),
        Just(Ask::Write),
        Just(Ask::NotWritable),
        Just(Ask::Nowhere),
    ];
    proptest::collection::vec(one, 1..60)
}

struct Files {
    input: Arc<DirectFile>,
    /// A handle for misaligned requests, which make a handle buffered for good.
    other: Arc<DirectFile>,
    output: Arc<DirectFile>,
    nowhere: Arc<DirectFile>,
}

impl Files {
    fn new(dir: &Path) -> Self {
        let input = dir.join("input");
        fs::write(&input, vec![7; FILE_BYTES]).unwrap();
        let open = |path: &Path| Arc::new(DirectFile::open(path, true).unwrap());
        let create = |name| Arc::new(DirectFile::create_new(&dir.join(name), true).unwrap());
        Self {
            other: open(&input),
            input: open(&input),
            output: create("output"),
            nowhere: create("nowhere"),
        }
    }

    fn request(&self, ask: Ask, pool: &Pool, tag: u64) -> Request {
        let (operation, file, offset) = match ask {
            Ask::Read { offset } => (Operation::Read, &self.input, offset),
            Ask::Misaligned { offset } => (Operation::Read, &self.other, offset),
            Ask::Write => (Operation::Write, &self.output, tag * ALIGN as u64),
            Ask::NotWritable => (Operation::Write, &self.input, 0),
            Ask::Nowhere => {
                (Operation::Write, &self.nowhere, i64::MAX as u64 / ALIGN as u64 * ALIGN as u64)
            }
        };
        let block = pool.try_take().unwrap();
        Request { operation, file: Arc::clone(file), offset, block, range: 0..ALIGN, tag }
    }
}

fn check(ask: Ask, result: std::io::Result<usize>) {
    let left = |offset: u64| (FILE_BYTES as u64).saturating_sub(offset).min(ALIGN as u64) as usize;
    match ask {
        Ask::Read { offset } | Ask::Misaligned { offset } => {
            assert_eq!(result.unwrap(), left(offset));
        }
        Ask::Write => assert_eq!(result.unwrap(), ALIGN),
        Ask::NotWritable => assert_eq!(result.unwrap_err().raw_os_error(), Some(9)),
        Ask::Nowhere => assert!(result.is_err()),
    }
}

fn every_request_is_accounted_for(asks: &[Ask], backend: Backend) {
    let dir = tempfile::tempdir().unwrap();
    let files = Files::new(dir.path());
    let pool = Pool::new(DEPTH, ALIGN).unwrap();
    let mut queue = Queue::new(DEPTH, backend).unwrap();
    let mut expected: HashMap<u64, Ask> = HashMap::new();
    let take = |queue: &mut Queue, expected: &mut HashMap<u64, Ask>| {
        let done = queue.wait().unwrap().expect("requests are in flight");
        let ask = expected.remove(&done.request.tag).expect("it comes back once");
        check(ask, done.result);
    };
    for (tag, &ask) in asks.iter().enumerate() {
        if queue.is_full() {
            take(&mut queue, &mut expected);
        }
        queue.submit(files.request(ask, &pool, tag as u64)).unwrap();
        expected.insert(tag as u64, ask);
        assert_eq!(queue.in_flight(), expected.len());
    }
    while !expected.is_empty() {
        take(&mut queue, &mut expected);
    }
    assert!(queue.wait().unwrap().is_none());
    assert_eq!(pool.free(), DEPTH, "every block came back");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn failures_come_back_and_take_nobody_with_them(asks in asks()) {
        for backend in [Backend::Auto, Backend::Threads] {
            every_request_is_accounted_for(&asks, backend);
        }
    }
}

/// A pipe without a writer never ends a read.
#[test]
fn a_wait_with_a_limit_ends_though_the_request_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    let pool = Pool::new(1, ALIGN).unwrap();
    let mut queue = Queue::new(1, Backend::Auto).unwrap();
    if queue.method() == Method::Posix {
        return; // `pread` refuses a pipe immediately
    }
    let writer = OpenOptions::new().read(true).write(true).open(&pipe).unwrap();
    let file = Arc::new(DirectFile::open(&pipe, false).unwrap());
    let block = pool.try_take().unwrap();
    let read =
        Request { operation: Operation::Read, file, offset: 0, block, range: 0..ALIGN, tag: 0 };
    queue.submit(read).unwrap();
    let start = Instant::now();
    assert!(queue.wait_for(Duration::from_millis(50)).unwrap().is_none());
    assert!(start.elapsed() >= Duration::from_millis(50));
    assert_eq!(queue.in_flight(), 1);
    drop(writer);
    assert_eq!(queue.wait().unwrap().unwrap().result.unwrap(), 0);
    assert_eq!(pool.free(), 1);
}
