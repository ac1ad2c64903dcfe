//! Resource use of a process and all its descendants, for the same metrics as the host's counters.
//!
//! The kernel adds a process's time and bytes to its parent's when it is reaped. So the sum over
//! the living processes of a tree, each with its reaped children, is the total use of the tree.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::counters::Reading;

/// Where a tree of processes begins.
enum Root {
    Process(u32),
    /// Processes with this among the words of their command line.
    Word(&'static [u8]),
}

/// In the command line of Spark's Python daemon and of the workers that it forks.
const PYTHON_WORKERS: &[u8] = b"pyspark.daemon";

/// A process and its descendants, or several.
pub(crate) struct Own {
    proc: PathBuf,
    root: Root,
    /// Whether a process belongs to the tree, decided when it was first seen: it still does after
    /// its parent has ended.
    known: HashMap<u32, bool>,
    /// Maximum so far of ticks, bytes read, bytes written and bytes canceled.
    highest: Reading<4>,
    written: u64,
}

impl Own {
    /// The process `pid`.
    pub(crate) fn new(root: &Path, pid: u32) -> Self {
        Self::of(root, Root::Process(pid))
    }

    /// All Python workers of Spark on this host, for any user.
    pub(crate) fn python_workers(root: &Path) -> Self {
        Self::of(root, Root::Word(PYTHON_WORKERS))
    }

    fn of(under: &Path, root: Root) -> Self {
        Self {
            proc: under.join("proc"),
            root,
            known: HashMap::new(),
            highest: [None; 4],
            written: 0,
        }
    }

    /// Clock ticks of CPU time, bytes read from and written to disks, so far. A sum lower than
    /// before missed a process that was just being reaped: it is `None`.
    ///
    /// Bytes of files deleted before they reached the disk don't count as written: the kernel
    /// counts them in memory and reports them later as canceled. Reported bytes are never reduced.
    pub(crate) fn read(&mut self) -> Reading<3> {
        self.look();
        let mut pids: Vec<u32> =
            self.known.iter().filter(|(_, own)| **own).map(|(pid, _)| *pid).collect();
        pids.sort_unstable();
        let mut sums: Reading<4> = if pids.is_empty() { [None; 4] } else { [Some(0); 4] };
        for pid in pids {
            let Some(ticks) = self.text(pid, "stat").as_deref().and_then(cpu_ticks) else {
                continue; // it has ended: its parent has its time
            };
            let bytes = self.text(pid, "io").as_deref().map_or([None; 3], io_bytes);
            let used = [Some(ticks), bytes[0], bytes[1], bytes[2]];
            for (sum, value) in sums.iter_mut().zip(used) {
                *sum = sum.zip(value).map(|(sum, value)| sum + value);
            }
        }
        for (sum, highest) in sums.iter_mut().zip(&mut self.highest) {
            *sum = sum.filter(|sum| highest.is_none_or(|highest| *sum >= highest));
            *highest = (*sum).or(*highest);
        }
        let [ticks, read, written, cancelled] = sums;
        let net = written.zip(cancelled).map(|(all, cancelled)| all.saturating_sub(cancelled));
        self.written = self.written.max(net.unwrap_or(0));
        [ticks, read, net.map(|_| self.written)]
    }

    /// Forgets the processes that have ended, and assigns new ones to trees.
    fn look(&mut self) {
        let Ok(entries) = std::fs::read_dir(&self.proc) else {
            return self.known.clear();
        };
        let living: Vec<u32> =
            entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect();
        let known = std::mem::take(&mut self.known);
        let parents: HashMap<u32, u32> = living
            .iter()
            .filter(|pid| !known.contains_key(pid))
            .filter_map(|&pid| Some((pid, self.text(pid, "stat").as_deref().and_then(parent)?)))
            .collect();
        let is_own = |pid: u32| {
            let mut at = pid;
            for _ in 0..=parents.len() {
                if self.is_root(at) {
                    return true;
                }
                match (known.get(&at), parents.get(&at)) {
                    (Some(&own), _) => return own,
                    (None, Some(&parent)) => at = parent,
                    (None, None) => return false,
                }
            }
            false
        };
        self.known = living.iter().map(|&pid| (pid, is_own(pid))).collect();
    }

    fn is_root(&self, pid: u32) -> bool {
        match self.root {
            Root::Process(root) => pid == root,
            Root::Word(word) => std::fs::read(self.proc.join(pid.to_string()).join("cmdline"))
                .is_ok_and(|words| words.split(|byte| *byte == 0).any(|each| each == word)),
        }
    }

    fn text(&self, pid: u32, file: &str) -> Option<String> {
        let bytes = std::fs::read(self.proc.join(pid.to_string()).join(file)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// The fields of `/proc/PID/stat` from the state on; the name before may hold anything.
fn fields(stat: &str) -> Option<impl Iterator<Item = &str>> {
    Some(stat.rsplit_once(')')?.1.split_ascii_whitespace())
}

fn parent(stat: &str) -> Option<u32> {
    fields(stat)?.nth(1)?.parse().ok()
}

/// User and system time of a process and of the children that it has reaped.
fn cpu_ticks(stat: &str) -> Option<u64> {
    let mut fields = fields(stat)?.skip(11);
    (0..4).try_fold(0_u64, |sum, _| Some(sum + fields.next()?.parse::<u64>().ok()?))
}

/// Bytes that were fetched from disks, were to be written to them, and of these never were, from
/// `/proc/PID/io`.
fn io_bytes(text: &str) -> Reading<3> {
    crate::counters::keyed(text, ':', &["read_bytes", "write_bytes", "cancelled_write_bytes"])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(root: &Path, pid: u32, parent: u32, ticks: u64, bytes: u64) {
        let folder = root.join(format!("proc/{pid}"));
        std::fs::create_dir_all(&folder).expect("folder");
        let stat = format!("{pid} (a) b) S {parent} 1 1 0 -1 0 0 0 0 0 {ticks} 1 2 3 20 0\n");
        std::fs::write(folder.join("stat"), stat).expect("stat");
        let io =
            format!("rchar: 9\nread_bytes: {bytes}\nwrite_bytes: 7\ncancelled_write_bytes: 1\n");
        std::fs::write(folder.join("io"), io).expect("io");
    }

    #[test]
    fn a_tree_is_summed_and_others_are_not() {
        let dir = tempfile::tempdir().expect("tempdir");
        let root = dir.path();
        put(root, 1, 0, 1000, 1000);
        put(root, 50, 1, 10, 100);
        put(root, 40, 50, 20, 200); // a child may have the smaller number
        put(root, 60, 40, 30, 300);
        put(root, 70, 1, 5000, 5000);
        let mut own = Own::new(root, 50);
        assert_eq!(own.read(), [Some(60 + 18), Some(600), Some(18)]);
        // Its parent ends and leaves it to process 1; its own children are still ours.
        std::fs::remove_dir_all(root.join("proc/40")).expect("ended");
        put(root, 50, 1, 10 + 20, 100 + 200);
        put(root, 60, 1, 40, 300);
        put(root, 61, 60, 5, 1);
        assert_eq!(own.read(), [Some(30 + 40 + 5 + 18), Some(601), Some(18)]);
    }

    #[test]
    fn a_sum_that_falls_is_not_known() {
        let dir = tempfile::tempdir().expect("tempdir");
        put(dir.path(), 50, 1, 10, 100);
        put(dir.path(), 51, 50, 90, 0);
        let mut own = Own::new(dir.path(), 50);
        assert_eq!(own.read()[0], Some(112));
        std::fs::remove_dir_all(dir.path().join("proc/51")).expect("ended");
        assert_eq!(own.read(), [None, Some(100), None]);
        put(dir.path(), 50, 1, 100, 100);
        assert_eq!(own.read()[0], None, "still below what was seen");
        put(dir.path(), 50, 1, 150, 100);
        assert_eq!(own.read()[0], Some(156));
    }

    #[test]
    fn files_deleted_before_they_were_written_count_for_nothing() {
        let dir = tempfile::tempdir().expect("tempdir");
        put(dir.path(), 50, 1, 10, 0);
        let mut own = Own::new(dir.path(), 50);
        let mut written = |all: u64, cancelled: u64| {
            let text =
                format!("read_bytes: 0\nwrite_bytes: {all}\ncancelled_write_bytes: {cancelled}\n");
            std::fs::write(dir.path().join("proc/50/io"), text).expect("io");
            own.read()[2]
        };
        assert_eq!(written(100, 0), Some(100));
        assert_eq!(written(100, 100), Some(100), "the reported value stays");
        assert_eq!(written(200, 100), Some(100), "the next file takes its place");
        assert_eq!(written(260, 100), Some(160));
        assert_eq!(written(300, 900), Some(160), "another's files that it cut off");
    }

    #[test]
    fn python_workers_are_known_by_their_command_line() {
        let dir = tempfile::tempdir().expect("tempdir");
        let root = dir.path();
        let named = |pid: u32, parent: u32, ticks: u64, words: &str| {
            put(root, pid, parent, ticks, 0);
            std::fs::write(root.join(format!("proc/{pid}/cmdline")), words).expect("cmdline");
        };
        named(40, 1, 1000, "java\0-cp\0pyspark.daemon.jar\0");
        let mut workers = Own::python_workers(root);
        assert_eq!(workers.read()[0], None);
        named(50, 40, 10, "python3\0-m\0pyspark.daemon\0");
        named(51, 50, 20, "python3\0-m\0pyspark.daemon\0");
        named(52, 51, 5, "gzip\0");
        named(60, 1, 30, "python3\0-m\0pyspark.daemon\0"); // of another application
        assert_eq!(workers.read()[0], Some(65 + 24));
    }

    #[test]
    fn without_the_process_nothing_is_known() {
        let dir = tempfile::tempdir().expect("tempdir");
        assert_eq!(Own::new(dir.path(), 50).read(), [None; 3]);
    }
}
