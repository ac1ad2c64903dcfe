//! The kernels that must keep out of the disk's way, in bytes or points per second of one
//! core.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use extsort::checksum::RecordSum;
use extsort::gensort::{Generator, Kind, RECORD_BYTES};
use extsort::halton::points_inside;

const RECORDS: usize = 10_000;

fn generate(c: &mut Criterion) {
    let mut group = c.benchmark_group("generate");
    let mut buffer = vec![0; RECORDS * RECORD_BYTES];
    group.throughput(Throughput::Bytes(buffer.len() as u64));
    for (kind, skewed) in
        [(Kind::Binary, false), (Kind::Binary, true), (Kind::Ascii, false), (Kind::Ascii, true)]
    {
        let mut generator = Generator::new(0, kind, skewed);
        let name = format!("{kind:?}{}", if skewed { ", skewed" } else { "" });
        group.bench_function(name, |b| b.iter(|| generator.fill(black_box(&mut buffer))));
    }
    group.finish();
}

fn checksum(c: &mut Criterion) {
    let mut group = c.benchmark_group("checksum");
    let mut buffer = vec![0; RECORDS * RECORD_BYTES];
    Generator::new(0, Kind::Binary, false).fill(&mut buffer);
    group.throughput(Throughput::Bytes(buffer.len() as u64));
    for record_len in [16, 100, 200, 500] {
        group.bench_function(format!("{record_len}-byte records"), |b| {
            b.iter(|| {
                let mut sum = RecordSum::default();
                sum.add_all_fixed(black_box(&buffer), record_len);
                sum
            });
        });
    }
    group.bench_function("library, 100-byte records", |b| {
        b.iter(|| {
            let mut sum = RecordSum::default();
            black_box(&buffer).chunks_exact(RECORD_BYTES).for_each(|r| sum.add(r));
            sum
        });
    });
    group.finish();
}

fn halton(c: &mut Criterion) {
    let mut group = c.benchmark_group("halton");
    let points = 1 << 24;
    group.throughput(Throughput::Elements(points));
    group.bench_function("points in the circle", |b| {
        b.iter(|| points_inside(black_box(points), 1, 1, &AtomicBool::new(false), &|_| {}));
    });
    group.finish();
}

criterion_group!(kernels, generate, checksum, halton);
criterion_main!(kernels);
