//! Every way in which a trace can be written comes to the same.

#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod traces;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use blktrace::{Asked, Input, Report, analyze};
use proptest::prelude::*;
use serde_json::Value;
use traces::{
    LAYOUTS, Record, Request, analyzed, codes, converted, encoded, file, of_requests, per_cpu,
    records, requests,
};

/// Bytes and count of each size, by counting.
fn sizes(requests: &[&Request]) -> Vec<(u64, u64)> {
    let mut counts = BTreeMap::new();
    for request in requests {
        *counts.entry(u64::from(request.sectors) * 512).or_insert(0) += 1;
    }
    counts.into_iter().collect()
}

/// The mean, minimum and maximum of the measured values.
fn spread(values: &[u64]) -> (f64, u64, u64) {
    let sum: u128 = values.iter().map(|value| u128::from(*value)).sum();
    let (min, max) = (values.iter().min().unwrap(), values.iter().max().unwrap());
    (sum as f64 / values.len() as f64, *min, *max)
}

/// A write's completion and a later read's issue were lost, both at one sector.
#[test]
fn block_pairing() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/cases/block-pairing");
    let report = analyzed(&data.join("stale-pair.ftrace.txt"));
    let [device] = report.devices.as_slice() else { panic!("one device") };
    assert_eq!((report.losses.given_up, report.losses.not_done, device.begun_before), (1, 0, 1));
    assert!((device.busy_s - 80.0 * 0.4e-3).abs() < 1e-6, "busy for {} s", device.busy_s);
    assert_eq!(device.depth_max, 1);
    let [read, write] = device.operations.as_slice() else { panic!("reads and writes") };
    assert_eq!((read.completed, write.issued.count, write.completed), (80, 1, 0));
    assert!(write.issued_to_done.is_none());
}

fn of_text(text: &str) -> Report {
    let folder = tempfile::tempdir().unwrap();
    analyzed(&file(folder.path(), "ftrace.txt", format!("# tracer: nop\n#\n{text}").as_bytes()))
}

#[test]
fn a_request_that_was_lost_does_not_keep_the_disk_busy_until_the_end() {
    let mut text =
        String::from("x-1 [000] ..... 1.000000: block_rq_issue: 8,0 W 4096 () 8 + 8 [x]\n");
    for at in 0..100 {
        let (s, us) = (1 + at / 10, at % 10 * 100_000 + 50);
        let done_us = us + 1000;
        writeln!(text, "x-1 [000] ..... {s}.{us:06}: block_rq_issue: 8,0 R 4096 () 64 + 8 [x]")
            .unwrap();
        writeln!(text, "x-1 [000] ..... {s}.{done_us:06}: block_rq_complete: 8,0 R () 64 + 8 [0]")
            .unwrap();
    }
    let report = of_text(&text);
    assert!((report.devices[0].busy_s - 0.1).abs() < 1e-6, "{}", report.devices[0].busy_s);
    assert_eq!(report.losses.not_done, 1);
}

#[test]
fn a_request_that_is_under_way_at_the_end_keeps_the_disk_busy() {
    let report = of_text(
        "x-1 [000] ..... 1.000000: block_rq_issue: 8,0 R 4096 () 64 + 8 [x]\n\
         x-1 [000] ..... 1.500000: block_rq_complete: 8,0 R () 64 + 8 [0]\n\
         x-1 [000] ..... 2.000000: block_rq_issue: 8,0 W 4096 () 8 + 8 [x]\n\
         x-1 [000] ..... 4.000000: block_bio_queue: 8,0 R 128 + 8 [x]\n",
    );
    assert!((report.devices[0].busy_s - 2.5).abs() < 1e-6, "{}", report.devices[0].busy_s);
}

#[test]
fn flushes_are_timed() {
    let report = of_text(
        "x-1 [000] ..... 1.000000: block_rq_issue: 8,0 FF 0 () 0 + 0 [x]\n\
         x-1 [000] ..... 1.004000: block_rq_complete: 8,0 FF () 0 + 0 [0]\n\
         x-1 [000] ..... 1.100000: block_rq_issue: 8,0 FWFS 4096 () 8 + 8 [x]\n\
         x-1 [000] ..... 1.102000: block_rq_complete: 8,0 FWFS () 8 + 8 [0]\n\
         x-1 [000] ..... 1.200000: block_rq_issue: 8,0 WS 4096 () 8 + 8 [x]\n\
         x-1 [000] ..... 1.209000: block_rq_complete: 8,0 WS () 8 + 8 [0]\n",
    );
    let times = report.devices[0].flush_times.as_ref().unwrap();
    assert_eq!((times.count, times.min_ns, times.max_ns), (2, 2_000_000, 4_000_000));
    assert_eq!(report.devices[0].flushes, 1);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn every_way_of_writing_a_trace_comes_to_the_same(requests in requests()) {
        let folder = tempfile::tempdir().unwrap();
        let records = records(&requests);
        let text: String = records.iter().map(Record::line).collect();
        let expected = analyzed(&file(folder.path(), "trace.txt", text.as_bytes()));
        prop_assert_eq!(&expected.formats, &["blkparse text"]);
        prop_assert_eq!(codes(&expected), [""; 0]);
        let expected = of_requests(&expected);
        let text: String = records.iter().map(Record::tracepoint).collect();
        let text = format!("# tracer: nop\n#\n{text}");
        let found = analyzed(&file(folder.path(), "ftrace.txt", text.as_bytes()));
        prop_assert_eq!((&found.formats, codes(&found)), (&vec!["tracepoints as text".to_owned()], vec![]));
        prop_assert_eq!(of_requests(&found), expected.clone());
        let text: String = records.iter().map(Record::perf).collect();
        let found = analyzed(&file(folder.path(), "perf.txt", text.as_bytes()));
        prop_assert_eq!((&found.formats, codes(&found)), (&vec!["tracepoints as text".to_owned()], vec![]));
        prop_assert_eq!(of_requests(&found), expected.clone());
        let mut written = ["trace.txt", "ftrace.txt", "perf.txt"].map(|name| folder.path().join(name)).to_vec();
        for layout in LAYOUTS {
            let name = format!("merged-{}-{}", layout.version, layout.big_endian);
            let path = file(folder.path(), &name, &encoded(&records, layout));
            let merged = analyzed(&path);
            prop_assert_eq!(codes(&merged), [""; 0]);
            prop_assert_eq!(of_requests(&merged), expected.clone(), "{:?}", layout);
            let files = per_cpu(folder.path(), &records, layout);
            let split = analyzed(&files);
            prop_assert_eq!((split.files, codes(&split)), (4, vec![]));
            prop_assert_eq!(of_requests(&split), expected.clone(), "{:?}", layout);
            written.extend([path, files]);
        }
        // But for records that the analysis does not need.
        let needed = |mut value: Value| {
            for key in ["records", "actions"] {
                value.as_object_mut().unwrap().remove(key).unwrap();
            }
            value
        };
        let expected = needed(expected);
        for (number, path) in written.iter().enumerate() {
            let found = converted(path, &folder.path().join(format!("converted-{number}")));
            prop_assert_eq!(codes(&found), [""; 0]);
            prop_assert_eq!(needed(of_requests(&found)), expected.clone(), "{}", path.display());
        }
    }

    #[test]
    fn sizes_and_latencies_are_those_of_the_requests(requests in requests()) {
        let folder = tempfile::tempdir().unwrap();
        let bytes = encoded(&records(&requests), LAYOUTS[0]);
        let report = analyzed(&file(folder.path(), "trace", &bytes));
        let [device] = report.devices.as_slice() else { panic!("{:?}", report.devices) };
        prop_assert_eq!(&device.device, "8,32");
        for (operation, writes) in [("read", false), ("write", true)] {
            let chosen: Vec<&Request> =
                requests.iter().filter(|each| each.writes == writes).collect();
            let count = chosen.len() as u64;
            let found = device.operations.iter().find(|each| each.operation == operation);
            prop_assert_eq!(found.is_some(), !chosen.is_empty());
            let Some(found) = found else { continue };
            prop_assert_eq!(&found.sizes, &sizes(&chosen));
            prop_assert_eq!(found.issued, found.queued);
            prop_assert_eq!((found.issued.count, found.completed), (count, count));
            let ahead = chosen.iter().filter(|each| each.ahead).count() as u64;
            prop_assert_eq!(found.readahead.count, ahead);
            let since = |began: fn(&Request) -> u64| -> Vec<u64> {
                chosen.iter().map(|each| each.done_ns - began(each)).collect()
            };
            let times = [
                (&found.issued_to_done, since(|each| each.issued_ns)),
                (&found.queued_to_done, since(|each| each.queued_ns)),
            ];
            for (found, expected) in times {
                let found = found.as_ref().unwrap();
                prop_assert_eq!((found.mean_ns, found.min_ns, found.max_ns), spread(&expected));
                prop_assert_eq!(found.count, count);
                for (low, count) in &found.buckets {
                    let width = 1 << (u64::BITS - low.leading_zeros()).saturating_sub(7);
                    let within = expected.iter().filter(|ns| (*low..low + width).contains(ns));
                    prop_assert_eq!(within.count() as u64, *count);
                }
                let in_buckets: u64 = found.buckets.iter().map(|(_, count)| count).sum();
                prop_assert_eq!(in_buckets, found.count);
            }
            let in_cells: u64 = found.position.cells.iter().map(|(_, _, count, _)| count).sum();
            prop_assert_eq!(in_cells, found.issued.count);
            prop_assert_eq!(found.seek_plain.count, found.issued.count - 1);
            let in_runs: u64 = found.runs.buckets.iter().map(|(_, _, bytes)| bytes).sum();
            prop_assert_eq!(in_runs, found.issued.bytes);
            prop_assert_eq!(found.runs.count + found.seek_streams.zero, found.issued.count);
        }
        prop_assert!((device.busy_s + device.idle_s - report.elapsed_s).abs() < 1e-9);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, ..ProptestConfig::default() })]

    #[test]
    fn finer_cells_have_every_request_in_every_width(requests in requests()) {
        let folder = tempfile::tempdir().unwrap();
        let bytes = encoded(&records(&requests), LAYOUTS[0]);
        let input = Input::open(&file(folder.path(), "trace", &bytes)).unwrap();
        let asked = Asked { heat: true, ..Asked::default() };
        let mut report = analyze(input, asked, &AtomicBool::new(false), &|_, _| {}).unwrap();
        let mut written = Vec::new();
        report.heat.take().unwrap().write(&mut written).unwrap();
        let (index, lines) = written.split_at(written.iter().position(|b| *b == b'\n').unwrap());
        let index: Vec<Value> = serde_json::from_slice(index).unwrap();
        for said in &index {
            let at = |name: &str| usize::try_from(said[name].as_u64().unwrap()).unwrap();
            let line = &lines[1 + at("offset")..][..at("bytes")];
            let cells: Value = serde_json::from_slice(line).unwrap();
            prop_assert_eq!(&cells["column_s"], &said["column_s"]);
            let cells = cells["cells"].as_array().unwrap();
            let count: u64 = cells.iter().map(|cell| cell[2].as_u64().unwrap()).sum();
            let writes = said["operation"] == "write";
            let expected = requests.iter().filter(|each| each.writes == writes).count();
            prop_assert_eq!(count, expected as u64);
        }
        let kinds = report.devices[0].operations.len();
        prop_assert_eq!(index.len(), kinds * 2 * 3);
    }
}

#[test]
fn the_lines_that_a_talk_prints_say_what_it_says() {
    // Y. Yu, Intel, April 2016: `52090704 + 560` begins in the first line and ends in the ninth.
    let lines = "8,32\t5\t13561\t43.740003038\t13615\tD\tW\t52090704 + 560\t[java]
8,32\t5\t13567\t43.741721414\t13615\tD\tR\t13637888 + 256\t[java]
8,32\t5\t13569\t43.741778543\t13615\tC\tR\t13637888 + 256\t[0]
8,32\t5\t13570\t43.743476793\t13615\tC\tW\t52089584 + 560\t[0]
8,32\t5\t13571\t43.743519464\t13615\tD\tW\t52091264 + 560\t[java]
8,32\t5\t13577\t43.743901725\t13615\tD\tR\t13638144 + 256\t[java]
8,32\t5\t13579\t43.745785309\t13615\tC\tW\t52090144 + 560\t[0]
8,32\t5\t13585\t43.746306216\t13615\tD\tR\t13638400 + 256\t[java]
8,32\t5\t13587\t43.748340765\t0\tC\tW\t52090704 + 560\t[0]
8,32\t17\t5938\t43.761506738\t13449\tD\tR\t50251520 + 8\t[java]
";
    let folder = tempfile::tempdir().unwrap();
    let report = analyzed(&file(folder.path(), "trace.txt", lines.as_bytes()));
    assert_eq!((report.records, report.losses.not_done), (10, 4));
    assert_eq!((report.losses.missing_records, report.losses.gaps), (18, 6));
    assert_eq!(codes(&report), ["VEN-TRACE-LOST"]);
    let [device] = report.devices.as_slice() else { panic!() };
    assert_eq!((device.device.as_str(), device.begun_before), ("8,32", 2));
    let [read, write] = device.operations.as_slice() else { panic!() };
    assert_eq!(read.sizes, [(8 * 512, 1), (256 * 512, 3)]);
    assert_eq!(write.sizes, [(560 * 512, 2)]);
    assert_eq!((read.completed, write.completed), (1, 1));
    assert_eq!(read.issued_to_done.as_ref().unwrap().max_ns, 57_129);
    assert_eq!(write.issued_to_done.as_ref().unwrap().max_ns, 8_337_727);
    assert_eq!((read.seek_plain.zero, read.seek_plain.count), (2, 3));
    assert_eq!((write.seek_plain.zero, write.seek_plain.count), (1, 1));
    assert!(write.queued_to_done.is_none());
    assert!(write.issued_to_done.as_ref().unwrap().p50_ns.is_none()); // of one request
    assert_eq!(device.depth_max, 4);
}
