//! Any samples and any records: partitions follow each other as records do.

use extsort::{Order, Sample, Splitters, prefix};

/// Whether the key alone counts, how many partitions, samples, and records.
pub type Input = (bool, u8, Vec<Sample>, Vec<Sample>);

/// Sorts the records and looks whether their partitions are sorted, too.
pub fn run((by_key, partitions, samples, mut records): Input) {
    let order = if by_key { Order::KeyOnly } else { Order::KeyThenRest };
    let splitters = Splitters::from_samples(order, samples, usize::from(partitions));
    records.sort_by(|a, b| order.compare((&a.0, &a.1), (&b.0, &b.1)));
    let mut last = 0;
    for (key, rest) in &records {
        let partition = splitters.find(prefix(key, 0), key, rest);
        assert!(partition >= last && partition < splitters.partitions());
        last = partition;
    }
}
