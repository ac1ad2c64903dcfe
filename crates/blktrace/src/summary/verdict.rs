//! The name of an access pattern, in words, and its thresholds.

use serde::Serialize;

use crate::read::event::Operation;
use crate::summary::locality::WINDOW;

/// A disk for which a rate is predicted from runs, requests and bytes.
#[derive(Clone, Copy, Debug)]
struct ReferenceDisk {
    name: &'static str,
    bytes_per_s: f64,
    way: Way,
}

/// The cost of a request besides the transfer.
#[derive(Clone, Copy, Debug)]
enum Way {
    /// So many seconds to get to each run, and then the transfer.
    Moves(f64),
    /// So many requests in a second, with transfers in the same time.
    Serves(f64),
}

impl ReferenceDisk {
    /// The rate with these runs and nothing else to do.
    fn rate(self, runs: &Runs) -> f64 {
        let bytes = runs.bytes as f64;
        let transfer_s = bytes / self.bytes_per_s;
        bytes
            / match self.way {
                Way::Moves(access_s) => runs.runs as f64 * access_s + transfer_s,
                Way::Serves(per_s) => transfer_s.max(runs.requests as f64 / per_s),
            }
    }
}

/// The time a hard disk needs to get to another place: 8.5 ms on average to the track, 4.16 ms half a
/// turn at 7,200 rpm.
const HARD_DISK_ACCESS_S: f64 = 0.0085 + 0.00416;
/// Its transfer rate at that place.
const HARD_DISK_BYTES_PER_S: f64 = 130e6;
/// The disks that a verdict names. Y. Yu, Intel, April 2016, has the `NVMe` drive's figures, and says
/// that it takes 7 SATA SSDs to reach them.
const REFERENCE_DISKS: [ReferenceDisk; 3] = [
    ReferenceDisk {
        name: "hard disk",
        bytes_per_s: HARD_DISK_BYTES_PER_S,
        way: Way::Moves(HARD_DISK_ACCESS_S),
    },
    ReferenceDisk { name: "SATA SSD", bytes_per_s: 400e6, way: Way::Serves(65_700.0) },
    ReferenceDisk { name: "NVMe SSD", bytes_per_s: 2.8e9, way: Way::Serves(460_000.0) },
];
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
        source: "runs that are longer on average are sequential: a hard disk reaches half of its \
                 130 MB/s, as it transfers so much while it gets to another place, 8.5 ms to seek \
                 and 4.16 ms for half a turn (a 7,200 rpm disk's data sheet; Y. Yu, Intel, April \
                 2016, names both)",
    },
    Threshold {
        name: "random_run",
        value: RANDOM_BYTES as f64,
        unit: "B",
        source: "runs that are shorter on average are random: so much does Linux read ahead by \
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
    /// A hard disk reaches half of its rate.
    Sequential,
    /// Between sequential and random.
    ShortRuns,
    /// A hard disk doesn't reach half of its rate, although half of the bytes are in long runs.
    Mixed,
    /// The mean run is no longer than one small read.
    Random,
    /// There is too little.
    CannotTell,
}

/// The rate of a reference disk with an access pattern.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// The disk.
    pub disk: &'static str,
    /// Its rate with this pattern.
    pub bytes_per_s: f64,
    /// Its rate with one long run.
    pub most_bytes_per_s: f64,
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
    /// The rates of all reference disks; none where there is too little.
    pub rates: Vec<Rate>,
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
        let cannot_tell = |why: String| Self {
            access: Access::CannotTell,
            text: format!("cannot tell: {why}"),
            hard_disk_bytes_per_s: None,
            rates: Vec::new(),
        };
        if requests < REQUESTS_MIN {
            let some = if requests == 1 { some.trim_end_matches('s') } else { some };
            return cannot_tell(format!("only {requests} {some}"));
        }
        let much = bytes as f64;
        let mean = much / count as f64;
        let access = if mean >= SEQUENTIAL_BYTES {
            Access::Sequential
        } else if median_bytes as f64 >= SEQUENTIAL_BYTES {
            Access::Mixed
        } else if mean >= RANDOM_BYTES as f64 {
            Access::ShortRuns
        } else {
            Access::Random
        };
        if access == Access::ShortRuns && much < 2.0 * SEQUENTIAL_BYTES {
            return cannot_tell(format!("{continued}, but only {} was {done}", size(much)));
        }
        let rates: Vec<Rate> = REFERENCE_DISKS
            .iter()
            .map(|disk| Rate {
                disk: disk.name,
                bytes_per_s: disk.rate(runs),
                most_bytes_per_s: disk.bytes_per_s,
            })
            .collect();
        let name = match access {
            Access::Sequential => "sequential",
            Access::Mixed => "mixed",
            Access::ShortRuns => "short runs",
            _ => "random",
        };
        let by_bytes = if access == Access::Mixed {
            format!(", but half of the bytes are in runs of {} or more", size(median_bytes as f64))
        } else {
            String::new()
        };
        let reached: Vec<String> = rates.iter().map(Rate::text).collect();
        let text = format!(
            "{name}: {continued}, mean run {}{by_bytes}; would get {}",
            size(mean),
            reached.join(", ")
        );
        Self { access, text, hard_disk_bytes_per_s: Some(rates[0].bytes_per_s), rates }
    }
}

impl Rate {
    /// `18.0 of 130 MB/s on a hard disk`, the figures in MB/s.
    fn text(&self) -> String {
        let mb_per_s = self.bytes_per_s / 1e6;
        let digits = usize::from(mb_per_s < 100.0);
        let article = if self.disk.starts_with('N') { "an" } else { "a" };
        let most = self.most_bytes_per_s / 1e6;
        format!("{mb_per_s:.digits$} of {most:.0} MB/s on {article} {}", self.disk)
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
    fn the_rate_of_a_hard_disk_decides_and_is_shown() {
        let found = of(800, 96_000_000, 791, 12_000_000);
        assert_eq!(found.access, Access::Sequential);
        assert_eq!(
            found.text,
            "sequential: 99 % of reads continue one of 16 streams, mean run 10.7 MB; would get 113 of \
             130 MB/s on a hard disk, 400 of 400 MB/s on a SATA SSD, 2800 of 2800 MB/s on an NVMe SSD"
        );
        let found = of(2400, 96_000_000, 2092, 393_216);
        assert_eq!(found.access, Access::ShortRuns);
        assert!(
            found.text.contains("mean run 311.7 kB; would get 20.7 of 130 MB/s on a hard disk")
        );
        let found = of(10_000, 40_960_000, 1, 4096);
        assert_eq!(found.access, Access::Random);
        assert!(
            found.text.starts_with("random: less than 0.1 % of reads continue"),
            "{}",
            found.text
        );
        assert!(
            found.text.contains("0.3 of 130 MB/s on a hard disk, 269 of 400 MB/s on a SATA SSD")
        );
        assert!(found.hard_disk_bytes_per_s.unwrap() < 1e6);
    }

    #[test]
    fn few_long_runs_do_not_make_many_short_ones_sequential() {
        // 8,000 random reads of 4 KiB, and 300 of 1 MiB one after the other.
        let found = of(8300, 8000 * 4096 + (300 << 20), 299, 300 << 20);
        assert_eq!(found.access, Access::Mixed);
        assert!(
            found.text.starts_with(
                "mixed: 4 % of reads continue one of 16 streams, mean run 43.4 kB, but half of the \
                 bytes are in runs of 314.6 MB or more; would get 3.3 of 130 MB/s on a hard disk"
            ),
            "{}",
            found.text
        );
        // 24 % of writes continue a stream, in runs of 268 kB on average.
        assert_eq!(of(1000, 203_000_000, 242, 3_000_000).access, Access::Mixed);
        // A shuffle is read in pieces of 36 KiB, a few of them contiguous.
        assert_eq!(of(10_000, 10_000 * 36 * 1024, 400, 200_000).access, Access::Random);
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
