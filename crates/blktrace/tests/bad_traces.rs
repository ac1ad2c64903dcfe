//! A report names the damage in a trace. Damage costs bounded time and memory, and removes as few
//! events as possible.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod traces;

use blktrace::TraceError;
use proptest::prelude::*;
use traces::{
    LAYOUTS, Record, Request, analyzed, codes, encoded, file, per_cpu, records, requests,
    try_to_analyze,
};

fn some(count: u64) -> Vec<Request> {
    let one = |n: u64| Request {
        writes: n.is_multiple_of(3),
        ahead: false,
        sector: 4096 * n,
        sectors: 8,
        queued_ns: 1000 * n,
        issued_ns: 1000 * n + 100,
        done_ns: 1000 * n + 5000,
        cpus: [(n % 4) as u32, (n / 2 % 4) as u32],
    };
    (1..=count).map(one).collect()
}

fn completed(report: &blktrace::Report) -> u64 {
    report.devices.iter().flat_map(|device| &device.operations).map(|each| each.completed).sum()
}

#[test]
fn a_file_that_ends_within_a_record_loses_no_more_than_that() {
    let folder = tempfile::tempdir().unwrap();
    for layout in LAYOUTS {
        let bytes = encoded(&records(&some(100)), layout);
        let report = analyzed(&file(folder.path(), "trace", &bytes[..bytes.len() - 5]));
        assert_eq!((report.records, completed(&report)), (499, 99));
        assert!(report.losses.truncated_bytes > 0 && report.losses.not_done == 1);
        assert_eq!(codes(&report), ["VEN-TRACE-DAMAGED"]);
        assert!(report.warnings[0].message.contains("trace ends within a record"));
    }
}

#[test]
fn damage_within_a_file_is_left_out_and_its_place_told() {
    let folder = tempfile::tempdir().unwrap();
    for layout in LAYOUTS {
        let all = records(&some(100));
        let (before, after) = all.split_at(250);
        let damage = vec![0xa5; 1000];
        let bytes = [encoded(before, layout), damage, encoded(after, layout)].concat();
        let report = analyzed(&file(folder.path(), "trace", &bytes));
        assert_eq!((report.records, completed(&report)), (500, 100));
        assert_eq!((report.losses.damaged_places, report.losses.damaged_bytes), (1, 1000));
        let at = format!("the first at byte {}", encoded(before, layout).len());
        assert_eq!(codes(&report), ["VEN-TRACE-DAMAGED"]);
        assert!(report.warnings[0].message.contains(&at), "{}", report.warnings[0].message);
    }
}

#[test]
fn a_record_of_a_processor_that_cannot_be_is_damage() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = records(&some(10));
    all[20].cpu = 1_000_000;
    let report = analyzed(&file(folder.path(), "trace", &encoded(&all, LAYOUTS[0])));
    assert_eq!((report.records, report.losses.damaged_bytes), (49, 48));
}

#[test]
fn processors_without_a_file_are_named_and_the_others_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = per_cpu(folder.path(), &records(&some(100)), LAYOUTS[0]);
    std::fs::remove_file(path.join("sdc.blktrace.1")).unwrap();
    std::fs::write(path.join("sdc.blktrace.1000000"), []).unwrap();
    let report = analyzed(&path);
    assert_eq!(report.losses.missing_cpus, ["sdc: 1, 4-999999"]);
    assert_eq!(codes(&report)[0], "VEN-TRACE-CPUS");
    // Requests that began and ended on the other three.
    assert!(completed(&report) > 30 && completed(&report) < 100);
}

#[test]
fn one_processors_file_of_several_is_said_to_be_that() {
    let folder = tempfile::tempdir().unwrap();
    let path = per_cpu(folder.path(), &records(&some(100)), LAYOUTS[0]);
    let report = analyzed(&path.join("sdc.blktrace.2"));
    assert_eq!(codes(&report)[0], "VEN-TRACE-CPUS");
    assert!(report.warnings[0].message.contains("one of 4 CPUs"));
}

#[test]
fn time_that_goes_backwards_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let all = records(&some(4000));
    let (before, after) = all.split_at(10_000);
    let bytes = [encoded(after, LAYOUTS[0]), encoded(before, LAYOUTS[0])].concat();
    let report = analyzed(&file(folder.path(), "trace", &bytes));
    assert_eq!(report.records, 20_000);
    assert!(report.losses.late_events > 0);
    assert!(codes(&report).contains(&"VEN-TRACE-ORDER"));
}

#[test]
fn lost_records_are_counted_by_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = records(&some(100));
    all.drain(100..110);
    let report = analyzed(&file(folder.path(), "trace", &encoded(&all, LAYOUTS[2])));
    assert_eq!(report.losses.missing_records, 10);
    assert_eq!(codes(&report), ["VEN-TRACE-LOST"]);
}

#[test]
fn what_cannot_be_read_at_all_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let of = |bytes: &[u8]| try_to_analyze(&file(folder.path(), "trace", bytes)).unwrap_err();
    let mut record = records(&some(1))[0].encode(LAYOUTS[0]);
    record[0] = 9;
    let error = of(&record);
    assert!(matches!(error, TraceError::Version { version: 9, .. }), "{error}");
    assert!(error.to_string().contains("version 9"), "{error}");
    let others: [(&[u8], &str); 5] = [
        (b"", "it is empty"),
        (b"PERFILE2....", "perf script --ns"),
        (b"\x17\x08\x44tracing", "trace-cmd report"),
        (b"\x1f\x8b\x08", "unpack it"),
        (b"hello\n", "neither"),
    ];
    for (bytes, found) in others {
        let error = of(bytes);
        assert_eq!(error.code(), "VEN-TRACE-FORMAT");
        assert!(error.to_string().contains(found), "{error}");
    }
    let error = try_to_analyze(folder.path()).unwrap_err();
    assert!(error.to_string().contains("DEVICE.blktrace.CPU"), "{error}");
    assert_eq!(try_to_analyze(&folder.path().join("none")).unwrap_err().code(), "VEN-TRACE-READ");
    let notes = Record::time_of_day(5, 1, 2, LAYOUTS[0]).encode(LAYOUTS[0]);
    let error = of(&notes);
    assert!(matches!(error, TraceError::Empty { records: 1, .. }), "{error}");
    let mut damaged = records(&some(2));
    for record in &mut damaged {
        record.cpu = 1_000_000;
    }
    let error = of(&encoded(&damaged, LAYOUTS[0]));
    assert!(error.to_string().contains("480 bytes that are no records"), "{error}");
}

#[test]
fn more_devices_than_a_host_has_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut all = records(&some(100));
    for (minor, record) in all.iter_mut().enumerate() {
        record.device = minor as u32;
    }
    let error =
        try_to_analyze(&file(folder.path(), "trace", &encoded(&all, LAYOUTS[0]))).unwrap_err();
    assert_eq!(error.code(), "VEN-TRACE-DEVICES");
}

#[test]
fn the_time_of_day_is_that_of_the_first_record() {
    let folder = tempfile::tempdir().unwrap();
    for layout in LAYOUTS {
        let mut all = records(&some(10));
        all.insert(0, Record::time_of_day(500, 1_700_000_000, 500_000_000, layout));
        let report = analyzed(&file(folder.path(), "trace", &encoded(&all, layout)));
        // The first is 1,000 ns on the trace's clock.
        assert!((report.started_unix_s.unwrap() - 1_700_000_000.500_000_5).abs() < 1e-6);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn whatever_is_in_a_file_it_ends_in_a_result_or_an_error(
        requests in requests(),
        layout in 0_usize..6,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..60),
        cut in any::<prop::sample::Index>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let records = records(&requests);
        let mut bytes = match LAYOUTS.get(layout) {
            Some(layout) => encoded(&records, *layout),
            None if layout == 4 => records.iter().map(Record::line).collect::<String>().into_bytes(),
            None => records.iter().map(Record::tracepoint).collect::<String>().into_bytes(),
        };
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        if let Ok(report) = try_to_analyze(&file(folder.path(), "trace", &bytes)) {
            prop_assert!(report.records <= records.len() as u64);
            prop_assert!(serde_json::to_string(&report).is_ok());
        }
    }
}
