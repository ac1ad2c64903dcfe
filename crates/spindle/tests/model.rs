//! The disk model on a clock that only its events move: no thread, no sleep.

use std::collections::BTreeMap;

use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use spindle::elevator::{Elevator, Waiting};
use spindle::head::Head;
use spindle::mechanism::Machine;
use spindle::predict::{random_iops, sequential_bytes_per_s, streams_bytes_per_s};
use spindle::spec::{Hdd, Mechanism, Ssd};
use spindle::{DiskSpec, Nanos};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

fn hdd() -> Hdd {
    Hdd {
        rate_bytes_per_s: 1e8,
        inner_rate_bytes_per_s: None,
        seek_average_ms: 8.5,
        seek_track_ms: Some(0.8),
        seek_full_ms: Some(16.0),
        revolution_ms: 8.333,
        queue_depth: 32,
        seed: 1,
    }
}

fn disk(mechanism: Mechanism) -> DiskSpec {
    DiskSpec { name: "d".into(), image: "/d.img".into(), size_bytes: 8 * GIB, mechanism }
}

fn ssd(rate_bytes_per_s: f64, iops: f64, channels: usize) -> DiskSpec {
    disk(Mechanism::Ssd(Ssd { rate_bytes_per_s, iops, channels }))
}

/// Seconds in which `count` requests end, of senders each of which sends its next one when the last has
/// ended and the disk has gone on. `next(sender)` gives offset and length.
fn closed_loop(
    spec: &DiskSpec,
    senders: usize,
    count: usize,
    mut next: impl FnMut(usize) -> (u64, u64),
) -> f64 {
    let mut machine = Machine::new(spec).expect("a curve");
    let mut sent = 0;
    let mut send = |machine: &mut Machine, sender: usize, now: Nanos| {
        let (offset, bytes) = next(sender);
        machine.submit(Waiting { id: sent, arrival: now, offset, bytes });
        sent += 1;
        sent - 1
    };
    let mut owner: BTreeMap<u64, usize> =
        (0..senders).map(|sender| (send(&mut machine, sender, 0), sender)).collect();
    let mut now = 0;
    for _ in 0..count {
        while machine.start(now).is_some() {}
        now = machine.due().expect("one is served");
        let ended = machine.finish(now).expect("it is due");
        machine.start(now);
        let sender = owner.remove(&ended.request.id).expect("its own");
        owner.insert(send(&mut machine, sender, now), sender);
    }
    now as f64 / 1e9
}

fn random_places(spec: &DiskSpec, depth: usize, bytes: u64, count: usize) -> f64 {
    let mut draw = StdRng::seed_from_u64(7);
    let places = spec.size_bytes / bytes;
    let next = |_| (draw.random_range(0..places) * bytes, bytes);
    count as f64 / closed_loop(spec, depth, count, next)
}

fn near(found: f64, expected: f64, within: f64) {
    let off = (found / expected - 1.0).abs();
    assert!(off <= within, "{found} is not within {within} of {expected}");
}

/// One sender's requests of a MiB, one behind the other.
fn stream(spec: &DiskSpec, senders: usize, count: usize) -> f64 {
    let mut at = 0;
    let elapsed = closed_loop(spec, senders, count, |_| {
        at += MIB;
        ((at - MIB) % spec.size_bytes, MIB)
    });
    (count as u64 * MIB) as f64 / elapsed
}

#[test]
fn a_stream_has_exactly_the_rate() {
    for spec in [disk(Mechanism::Hdd(hdd())), ssd(1e9, 8000.0, 8), ssd(20e6, 100.0, 1)] {
        near(stream(&spec, 1, 1000), sequential_bytes_per_s(&spec, MIB, 1), 1e-6);
    }
}

#[test]
fn zones_take_the_time_of_their_rates() {
    let zoned = Hdd { inner_rate_bytes_per_s: Some(5e7), ..hdd() };
    let spec = disk(Mechanism::Hdd(zoned));
    let mean = sequential_bytes_per_s(&spec, MIB, 1);
    near(stream(&spec, 1, (spec.size_bytes / MIB) as usize), mean, 1e-6);
    near(stream(&spec, 1, 10), 1e8, 1e-2);
    // Nearer to the inner rate, at which more time is spent.
    assert!(mean < 7.5e7);
}

#[test]
fn all_requests_share_one_budget() {
    // The model knows no directions: two senders at one place have the rate between them.
    let spec = disk(Mechanism::Hdd(hdd()));
    near(stream(&spec, 2, 1000), 1e8, 1e-6);
    // Far from one another they pay for the way as well.
    for streams in [2, 4] {
        let gap = spec.size_bytes / streams as u64;
        let mut at: Vec<u64> = (0..streams as u64).map(|stream| stream * gap).collect();
        let elapsed = closed_loop(&spec, streams, 1500, |of| {
            at[of] += MIB;
            (at[of] - MIB, MIB)
        });
        let together = 1500.0 * MIB as f64 / elapsed;
        near(together, streams_bytes_per_s(&spec, streams, MIB), 0.02);
        assert!(together < 0.6e8);
    }
}

#[test]
fn random_operations_are_as_many_as_foretold() {
    let quick = Hdd { seek_average_ms: 2.0, seek_track_ms: None, seek_full_ms: None, ..hdd() };
    for of in [hdd(), quick] {
        for size_bytes in [GIB, 64 * GIB] {
            let spec = DiskSpec { size_bytes, ..disk(Mechanism::Hdd(of.clone())) };
            for depth in [1, 2, 4, 8, 32, 64] {
                for bytes in [4096, 65536] {
                    let found = random_places(&spec, depth, bytes, 20_000);
                    near(found, random_iops(&spec, bytes, depth), 0.02);
                }
            }
        }
    }
}

#[test]
fn flash_scales_with_depth_to_its_limits() {
    let spec = ssd(400e6, 20_000.0, 8);
    for (depth, bytes, expected) in [
        (1, 4096, 2500.0),
        (4, 4096, 10_000.0),
        (8, 4096, 20_000.0),
        (32, 4096, 20_000.0),
        (32, MIB, 400e6 / MIB as f64),
    ] {
        near(random_iops(&spec, bytes, depth), expected, 1e-9);
        near(random_places(&spec, depth, bytes, 20_000), expected, 1e-3);
    }
}

#[test]
fn parts_of_a_stream_may_come_in_another_order() {
    // Two threads that carry the parts of one large request may overtake one another.
    let spec = disk(Mechanism::Hdd(hdd()));
    let part = 256 << 10;
    let mut sent = 0_u64;
    let elapsed = closed_loop(&spec, 1, 4000, |_| {
        sent += 1;
        (((sent - 1) ^ 1) * part, part)
    });
    near(4000.0 * part as f64 / elapsed, 1e8, 1e-3);
}

#[test]
fn what_the_clock_loses_is_made_up() {
    // Each answer arrives 3 ms late, and the sender takes 100 us to send the next request.
    let spec = disk(Mechanism::Hdd(hdd()));
    let mut machine = Machine::new(&spec).unwrap();
    let (mut now, mut end) = (0, 0);
    for id in 0..100 {
        machine.submit(Waiting { id, arrival: now, offset: id * 4 * MIB, bytes: 4 * MIB });
        end = machine.start(now).unwrap().end;
        now = now.max(end) + 3_000_000;
        machine.finish(now).unwrap();
        now += 100_000;
    }
    near(400.0 * MIB as f64 / (end as f64 / 1e9), 1e8, 1e-6);
}

#[test]
fn a_pause_is_no_credit() {
    let spec = ssd(1e8, 1000.0, 1);
    let mut machine = Machine::new(&spec).unwrap();
    for id in 0..10 {
        let now = id * 1_000_000_000;
        machine.submit(Waiting { id, arrival: now, offset: 0, bytes: 4096 });
        assert_eq!(machine.start(now).unwrap().end, now + 1_000_000);
        assert!(machine.finish(now + 999_999).is_none());
        assert!(machine.finish(now + 1_000_000).is_some());
    }
}

proptest! {
    #[test]
    fn no_request_is_overtaken_too_often(
        depth in 1_usize..40,
        seed in any::<u64>(),
        // How many of a hundred requests go on just ahead of the head, as a stream does.
        streaming in 0_u32..=100,
    ) {
        let mut draw = StdRng::seed_from_u64(seed);
        let mut head = Head::new(&hdd(), GIB).unwrap();
        let mut elevator = Elevator::new(depth);
        let mut overtaken = BTreeMap::new();
        let mut served = 0;
        for id in 0..600_u64 {
            let streams = draw.random_range(0..100) < streaming;
            let place = draw.random_range(0..GIB / 4096 - 1) * 4096;
            let offset = if streams { head.at().min(GIB - 8192) } else { place };
            elevator.push(Waiting { id, arrival: 0, offset, bytes: 4096 });
            overtaken.insert(id, 0);
            // The queue grows to more than the disk sees, and is emptied at the end.
            while elevator.len() > 50 || (id == 599 && !elevator.is_empty()) {
                let next = elevator.pop(&head).unwrap();
                head.serve(next.offset, next.bytes);
                let times: usize = overtaken.remove(&next.id).unwrap();
                prop_assert!(times <= elevator.patience(), "{} of {}", times, elevator.patience());
                overtaken.range_mut(..next.id).for_each(|(_, times)| *times += 1);
                served += 1;
            }
        }
        prop_assert_eq!(served, 600);
    }

    #[test]
    fn a_disk_never_does_more_than_its_rate(
        requests in prop::collection::vec((0_u64..2000, 1_u64..64, 0_u64..3_000_000), 1..200),
        flash in any::<bool>(),
    ) {
        let spec = if flash { ssd(1e8, 50_000.0, 4) } else { disk(Mechanism::Hdd(hdd())) };
        let mut machine = Machine::new(&spec).unwrap();
        let (mut now, mut bytes, mut begin, mut end) = (0, 0, Nanos::MAX, 0);
        let mut left = requests.len();
        let mut coming = requests.into_iter().zip(0..);
        while left > 0 {
            if let Some(((place, blocks, wait), id)) = coming.next() {
                now += wait;
                let (offset, bytes) = (place * 4 * MIB, blocks * 4096);
                machine.submit(Waiting { id, arrival: now, offset, bytes });
            } else {
                now = now.max(machine.due().unwrap_or(now));
            }
            while let Some(started) = machine.start(now) {
                begin = begin.min(started.begin);
                bytes += started.request.bytes;
            }
            while let Some(ended) = machine.finish(now) {
                prop_assert!(ended.begin <= ended.end && ended.end <= now);
                end = end.max(ended.end);
                left -= 1;
            }
        }
        prop_assert_eq!(machine.queued(), 0);
        prop_assert!(bytes as f64 <= 1e8 * (end - begin) as f64 / 1e9 * (1.0 + 1e-6) + 1.0);
    }
}
