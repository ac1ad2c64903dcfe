use proptest::prelude::*;

use super::*;

const STAT: &str = "cpu  13084 0 3896 189810 1107 0 95 36 5 0\ncpu0 1 2 3 4 5 6 7 8 9 10\n";

#[test]
fn cpu_shares_add_up_to_one() {
    let before = cpu(STAT).expect("cpu");
    let mut now = before;
    now[0] = now[0].map(|ticks| ticks + 30);
    now[3] = now[3].map(|ticks| ticks + 70);
    let shares = cpu_fractions(&before, &now).expect("shares");
    assert!((shares[0] - 0.3).abs() < 1e-12);
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

#[test]
fn cpu_that_goes_backwards_or_stands_still_is_missing() {
    let before = cpu(STAT).expect("cpu");
    assert_eq!(cpu_fractions(&before, &before), None);
    let mut now = before;
    now[0] = now[0].map(|ticks| ticks + 30);
    now[4] = now[4].map(|ticks| ticks - 1);
    assert_eq!(cpu_fractions(&before, &now), None);
}

#[test]
fn broken_stat_is_none() {
    for text in ["", "cpu", "cpu 1 2 3", "cpu0 1 2 3 4 5 6 7 8", "cpu a 2 3 4 5 6 7 8"] {
        assert_eq!(cpu(text), None, "{text:?}");
    }
}

#[test]
fn disks_and_interfaces() {
    let line =
        " 254       0 vda 66509 12239 10429394 36880 20814 27436 16709160 13948 0 14260 52536";
    let (name, reading) = disk(line).expect("disk");
    assert_eq!(name, "vda");
    assert_eq!(reading, [66509, 10_429_394, 20814, 16_709_160, 14260, 52536].map(Some));
    assert_eq!(disk(" 254 0 vda 66509 12239"), None);
    assert_eq!(disk(""), None);

    let line = "  eth0: 633 26 1 2 0 0 0 0 109 11 3 4 0 0 0 0";
    let (name, reading) = network(line).expect("interface");
    assert_eq!(name, "eth0");
    assert_eq!(reading, [633, 26, 2, 109, 11, 4].map(Some));
    // An alias has a colon of its own.
    assert_eq!(
        network("eth0:1: 1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0").map(|found| found.0),
        Some("eth0:1")
    );
    assert_eq!(network(" face |bytes    packets errs drop"), None);
}

#[test]
fn keyed_lines_and_pressure() {
    let reading = keyed("pgpgin 7\nnuma_miss x\npswpin 9\n", ' ', &PAGING_KEYS);
    assert_eq!(reading[0], Some(7));
    assert_eq!(reading[2], Some(9));
    assert_eq!(reading[6], None, "no number");
    assert_eq!(reading[1], None, "absent");
    let memory = keyed("MemFree:   5 kB\nDirty: 6 kB\n", ':', &["Dirty", "MemFree"]);
    assert_eq!(memory, [Some(6), Some(5)]);
    let text = "some avg10=2.7 avg60=1.7 avg300=0.8 total=118\nfull avg10=0.0 total=12\n";
    assert_eq!(pressure(text), [Some(118), Some(12)]);
    assert_eq!(pressure("some avg10=2.7 total="), [None, None]);
    assert_eq!(pressure(""), [None, None]);
}

#[test]
fn rates_need_two_readings_that_grow() {
    let rate = Rate::new("x", "B/s", 512.0);
    assert_eq!(rate.of(Some(10), Some(14), 2.0), Some(1024.0));
    assert_eq!(rate.of(Some(14), Some(14), 2.0), Some(0.0), "measured zero");
    assert_eq!(rate.of(Some(14), Some(10), 2.0), None, "reset");
    assert_eq!(rate.of(Some(u64::from(u32::MAX)), Some(3), 1.0), None, "wrap");
    assert_eq!(rate.of(None, Some(14), 2.0), None);
    assert_eq!(rate.of(Some(10), None, 2.0), None);
    assert_eq!(rate.of(Some(10), Some(14), 0.0), None, "no time passed");
}

#[test]
fn a_device_that_left_and_came_back_starts_anew() {
    let at = Duration::from_secs;
    let mut tracker: Tracker<1> = Tracker::new();
    assert!(tracker.update("sda", [Some(1)], at(0)).1.is_none());
    tracker.finish(at(0));
    let before = tracker.update("sda", [Some(5)], at(2)).1;
    assert_eq!(before, Some(([Some(1)], 2.0)));
    tracker.finish(at(2));
    tracker.finish(at(3)); // not there this time
    assert!(tracker.update("sda", [Some(9)], at(4)).1.is_none());
    tracker.finish(at(4));
    tracker.forget(); // the file could not be read
    assert!(tracker.update("sda", [Some(10)], at(5)).1.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(text in "[ -~\\n\\t\u{e9}]{0,200}") {
        let _ = (cpu(&text), disk(&text), network(&text), pressure(&text));
        let _ = (keyed(&text, ' ', &PAGING_KEYS), keyed(&text, ':', &PAGING_KEYS));
    }

    /// A rate is never negative, whatever the counters do.
    #[test]
    fn no_rate_is_negative(before: Option<u64>, now: Option<u64>, elapsed_s in -1.0..10.0_f64) {
        if let Some(rate) = Rate::new("x", "1/s", 512.0).of(before, now, elapsed_s) {
            prop_assert!(rate >= 0.0 && now >= before && elapsed_s > 0.0);
        }
    }
}
