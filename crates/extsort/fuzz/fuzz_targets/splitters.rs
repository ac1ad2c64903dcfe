//! Any samples and any records: partitions follow each other as records do.
#![no_main]

use extsort::{Order, Sample, Splitters, prefix};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, u8, Vec<Sample>, Vec<Sample>)| {
    let (by_key, partitions, samples, mut records) = input;
    let order = if by_key { Order::KeyOnly } else { Order::KeyThenRest };
    let splitters = Splitters::from_samples(order, samples, usize::from(partitions));
    records.sort_by(|a, b| order.compare((&a.0, &a.1), (&b.0, &b.1)));
    let mut last = 0;
    for (key, rest) in &records {
        let partition = splitters.find(prefix(key, 0), key, rest);
        assert!(partition >= last && partition < splitters.partitions());
        last = partition;
    }
});
