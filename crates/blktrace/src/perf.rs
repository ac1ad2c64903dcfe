//! The commands by which perf records what a [`Plan`] says, for who may use perf and not tracefs.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use crate::convert::NAMES;
use crate::disks::{Disk, disks};
use crate::record::{Plan, SYS};

/// How long it records if nothing is said.
const LASTS: Duration = Duration::from_mins(1);

/// Commands that record the disks of the plan for a time, and make a recording of it at its `output`;
/// nothing if it has no disks.
pub fn commands(plan: &Plan, lasts: Option<Duration>) -> Option<String> {
    let disks = disks(Path::new(SYS), &plan.folders, &plan.devices).ok()?;
    let numbers: Vec<u32> = disks.iter().flat_map(Disk::numbers).collect();
    Some(commands_of(&numbers, lasts.unwrap_or(LASTS), &plan.output))
}

fn commands_of(numbers: &[u32], lasts: Duration, output: &Path) -> String {
    let terms: Vec<String> = numbers.iter().map(|number| format!("dev == {number}")).collect();
    let filter = terms.join(" || ");
    let mut text = "perf record -a -o perf.data".to_owned();
    for (_, event) in NAMES {
        // A filter is of the event before it.
        let _ = write!(text, " -e {} --filter '{filter}'", event.replace('/', ":"));
    }
    let _ = write!(
        text,
        " -- sleep {} && perf script --ns -i perf.data > perf.txt && venturi trace convert perf.txt -o {}",
        lasts.as_secs_f64(),
        quoted(&output.display().to_string())
    );
    text
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+:,@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commands_are_those_of_the_disks_the_time_and_the_folder() {
        let text =
            commands_of(&[7 << 20, 8 << 20 | 1], Duration::from_millis(1500), "/a b'c".as_ref());
        let (record, rest) = text.split_once(" -- ").unwrap();
        for event in ["block_bio_queue", "block_rq_issue", "block_rq_complete"] {
            let filtered = format!(" -e block:{event} --filter 'dev == 7340032 || dev == 8388609'");
            assert!(record.contains(&filtered), "{event}");
        }
        assert_eq!(record.matches(" -e ").count(), NAMES.len());
        assert!(record.starts_with("perf record -a -o perf.data -e "));
        assert_eq!(
            rest,
            "sleep 1.5 && perf script --ns -i perf.data > perf.txt && \
             venturi trace convert perf.txt -o '/a b'\\''c'"
        );
        let text = commands_of(&[1], LASTS, "/data1/out-2".as_ref());
        assert!(text.ends_with(" -- sleep 60 && perf script --ns -i perf.data > perf.txt && venturi trace convert perf.txt -o /data1/out-2"));
    }

    #[test]
    fn of_no_disk_there_are_none() {
        let plan = Plan {
            folders: vec!["/proc".into()],
            devices: Vec::new(),
            marks: Vec::new(),
            buffer_bytes: None,
            output: "/x".into(),
        };
        assert_eq!(commands(&plan, None), None);
    }
}
