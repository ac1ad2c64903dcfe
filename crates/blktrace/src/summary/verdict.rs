//! The name of an access pattern, in words, and its thresholds.

use serde::Serialize;

use crate::read::event::Operation;
use crate::summary::locality::WINDOW;

/// The time a hard disk needs to get to another place: 8.5 ms on average to the track, 4.16 ms half a
/// turn at 7,200 rpm.
const HARD_DISK_ACCESS_S: f64 = 0.0085 + 0.00416;
/// Its transfer rate at that place.
const HARD_DISK_BYTES_PER_S: f64 = 130e6;
/// A run that takes as long to transfer as to get to.
const SEQUENTIAL_BYTES: f64 = HARD_DISK_ACCESS_S * HARD_DISK_BYTES_PER_S;
/// The default read-ahead of Linux.
const RANDOM_BYTES: u64 = 128 << 10;
/// Fewer requests say nothing.
const REQUESTS_MIN: u64 = 30;

/// A number that a verdict depends on.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// Its name.
    pub name: &'static str,
    /// How much it is.
    pub value: f64,
    /// In which unit.
    pub unit: &'static str,
    /// Who says so.
    pub source: &'static str,
}

/// The numbers that verdicts depend on.
pub const THRESHOLDS: [Threshold; 4] = [
    Threshold {
        name: "streams",
        value: WINDOW as f64,
        unit: "streams",
        source: "as many earlier requests as VMware's vscsiStats looks at for its windowed seek \
                 distance",
    },
    Threshold {
        name: "sequential_run",
        value: SEQUENTIAL_BYTES,
        unit: "B",
        source: "half of the bytes in longer runs are sequential: so much does a hard disk transfer \
                 at 130 MB/s while it gets to another place, 8.5 ms to seek and 4.16 ms for half a \
                 turn (a 7,200 rpm disk's data sheet; Y. Yu, Intel, April 2016, names both)",
    },
    Threshold {
        name: "random_run",
        value: RANDOM_BYTES as f64,
        unit: "B",
        source: "half of the bytes in shorter runs are random: so much does Linux read ahead by \
                 default (read_ahead_kb = 128)",
    },
    Threshold {
        name: "requests_min",
        value: REQUESTS_MIN as f64,
        unit: "requests",
        source: "ours: the share of fewer is not known to 18 per cent points, with 95 % certainty",
    },
];

/// The kind of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Half of the bytes are in runs that are worth a hard disk's way.
    Sequential,
    /// Between the two.
    ShortRuns,
    /// Half of the bytes are in runs that are no longer than one small read.
    Random,
    /// There is too little.
    CannotTell,
}

/// A pattern's name and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Its kind.
    pub access: Access,
    /// The same as a sentence with its numbers.
    pub text: String,
    /// The rate of a hard disk with these runs and nothing else to do. `None` where
    /// there is too little.
    pub hard_disk_bytes_per_s: Option<f64>,
}

/// The input of a verdict.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// How many requests were issued.
    pub requests: u64,
    /// Their bytes.
    pub bytes: u64,
    /// How many of them have others before them.
    pub followers: u64,
    /// How many of those continue a stream.
    pub continuing: u64,
    /// How many runs there are.
    pub runs: u64,
    /// The length of run up to which half of the bytes lie in, in bytes.
    pub median_bytes: u64,
}

impl Verdict {
    /// The verdict on reads or writes.
    pub fn of(operation: Operation, runs: &Runs) -> Self {
        let (some, done) = match operation {
            Operation::Read => ("reads", "read"),
            _ => ("writes", "written"),
        };
        let Runs { requests, bytes, followers, continuing, runs: count, median_bytes } = *runs;
        let continued =
            format!("{} of {some} continue one of {WINDOW} streams", share(continuing, followers));
        let much = bytes as f64;
        let reached = much / (count as f64 * HARD_DISK_ACCESS_S + much / HARD_DISK_BYTES_PER_S);
        let told = |access, text| Self { access, text, hard_disk_bytes_per_s: Some(reached) };
        if requests < REQUESTS_MIN {
            let some = if requests == 1 { some.trim_end_matches('s') } else { some };
            let text = format!("cannot tell: only {requests} {some}");
            Self { access: Access::CannotTell, text, hard_disk_bytes_per_s: None }
        } else if median_bytes as f64 >= SEQUENTIAL_BYTES {
            let mean = size(much / count as f64);
            told(Access::Sequential, format!("sequential: {continued}, mean run {mean}"))
        } else if much < 2.0 * SEQUENTIAL_BYTES && median_bytes >= RANDOM_BYTES {
            let text = format!("cannot tell: {continued}, but only {} was {done}", size(much));
            Self { access: Access::CannotTell, text, hard_disk_bytes_per_s: None }
        } else {
            let (access, name) = if median_bytes >= RANDOM_BYTES {
                (Access::ShortRuns, "short runs")
            } else {
                (Access::Random, "random")
            };
            let median = size(median_bytes as f64);
            let text = format!(
                "{name}: {continued}, but half of the bytes are in runs of at most {median}, which \
                 a hard disk would serve at {:.1} of its {:.0} MB/s",
                reached / 1e6,
                HARD_DISK_BYTES_PER_S / 1e6,
            );
            told(access, text)
        }
    }
}

/// `part` of `whole` in per cent, never rounded to all or nothing.
fn share(part: u64, whole: u64) -> String {
    let per_cent = 100.0 * part as f64 / whole.max(1) as f64;
    if part == 0 || part == whole || (0.5..99.5).contains(&per_cent) {
        format!("{per_cent:.0} %")
    } else if per_cent < 0.05 {
        "less than 0.1 %".to_owned()
    } else if per_cent > 99.95 {
        "more than 99.9 %".to_owned()
    } else {
        format!("{per_cent:.1} %")
    }
}

/// Bytes in decimal units: `10.7 MB`.
fn size(bytes: f64) -> String {
    let (scale, unit) = match bytes {
        1e9.. => (1e9, "GB"),
        1e6.. => (1e6, "MB"),
        1e3.. => (1e3, "kB"),
        _ => return format!("{bytes:.0} B"),
    };
    format!("{:.1} {unit}", bytes / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(requests: u64, bytes: u64, continuing: u64, median_bytes: u64) -> Verdict {
        let (followers, runs) = (requests, requests - continuing);
        let runs = Runs { requests, bytes, followers, continuing, runs, median_bytes };
        Verdict::of(Operation::Read, &runs)
    }

    #[test]
    fn the_words_say_what_the_numbers_are() {
        let found = of(800, 96_000_000, 791, 12_000_000);
        assert_eq!(found.access, Access::Sequential);
        assert_eq!(
            found.text,
            "sequential: 99 % of reads continue one of 16 streams, mean run 10.7 MB"
        );
        let found = of(2400, 96_000_000, 2092, 393_216);
        assert_eq!(found.access, Access::ShortRuns);
        assert_eq!(
            found.text,
            "short runs: 87 % of reads continue one of 16 streams, but half of the bytes are in runs \
             of at most 393.2 kB, which a hard disk would serve at 20.7 of its 130 MB/s"
        );
        let found = of(10_000, 40_960_000, 1, 4096);
        assert_eq!(found.access, Access::Random);
        assert!(
            found.text.starts_with("random: less than 0.1 % of reads continue"),
            "{}",
            found.text
        );
        assert!(found.hard_disk_bytes_per_s.unwrap() < 1e6);
    }

    #[test]
    fn little_is_no_pattern() {
        let found = of(29, 1 << 30, 28, 1 << 30);
        assert_eq!(
            (found.access, found.text.as_str()),
            (Access::CannotTell, "cannot tell: only 29 reads")
        );
        assert_eq!(of(1, 4096, 0, 4096).text, "cannot tell: only 1 read");
        let found = of(100, 400_000, 99, 400_000);
        assert_eq!(found.access, Access::CannotTell);
        assert_eq!(
            found.text,
            "cannot tell: 99 % of reads continue one of 16 streams, but only 400.0 kB was read"
        );
        // That few bytes are scattered is certain.
        assert_eq!(of(100, 409_600, 0, 4096).access, Access::Random);
    }

    #[test]
    fn shares_are_not_rounded_to_all_or_nothing() {
        let shares =
            [(0, 9), (1, 2), (1, 1000), (999, 1000), (9, 9), (0, 0), (1, 9999), (9998, 9999)];
        assert_eq!(
            shares.map(|(part, whole)| share(part, whole)),
            [
                "0 %",
                "50 %",
                "0.1 %",
                "99.9 %",
                "100 %",
                "0 %",
                "less than 0.1 %",
                "more than 99.9 %"
            ]
        );
    }
}
