//! The class of a file, by its name and by its folders.
//!
//! Sources: Spark's `BlockId` (names of blocks), `DiskBlockManager` and `Utils.tempFileWith`; Hadoop's
//! `MROutputFiles`, `YarnOutputFiles` (spills, map outputs) and `Block` (HDFS).

use serde::{Deserialize, Serialize};

/// The class of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Sectors that belong to no file that is known.
    Unknown,
    /// A file without a known name.
    Unnamed,
    /// A partition that Spark keeps.
    RddBlock,
    /// Spark's shuffle files.
    ShuffleData,
    /// Where in it each reduce task's part is.
    ShuffleIndex,
    /// Its checksums.
    ShuffleChecksum,
    /// Records that did not fit into the memory of a task.
    Spill,
    /// A variable that every executor gets.
    Broadcast,
    /// Hadoop's map outputs.
    MapOutput,
    /// Map outputs that a reduce task has merged.
    Merge,
    /// A block of HDFS, with its checksums.
    HdfsBlock,
    /// The input of a job.
    Input,
    /// The output of a job.
    Output,
    /// Files that a job writes and reads again.
    Scratch,
    /// The recording itself.
    Recording,
    /// Journal, folders, and where the file system keeps what.
    FileSystem,
    /// A file with any other name.
    Other,
}

impl Class {
    /// Whether map tasks write it and reduce tasks read it.
    pub fn is_handed_on(self) -> bool {
        matches!(
            self,
            Self::ShuffleData | Self::ShuffleIndex | Self::ShuffleChecksum | Self::MapOutput
        )
    }
}

/// On which side of a shuffle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Tasks that do not read a shuffle.
    Map,
    /// Tasks that read one.
    Reduce,
}

/// The class of a file, and its owner as far as its name shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its class.
    pub class: Class,
    /// The task that wrote it, as Spark numbers the tasks of an application.
    pub task: Option<u64>,
    /// On which side of a shuffle it was written.
    pub phase: Option<Phase>,
    /// When it was made, on the clock of the events.
    pub made_ns: Option<u64>,
    /// Its number among those with a name; 0 if it has none that is known.
    pub number: u32,
}

impl Owner {
    /// Return the owner for a file of this class when nothing else is known.
    pub fn of(class: Class) -> Self {
        Self { class, task: None, phase: None, made_ns: None, number: 0 }
    }

    /// Return the owner for a file with this name in `folders`, the nearest folder first.
    pub fn of_name<'a>(name: &'a str, folders: impl Iterator<Item = &'a str> + Clone) -> Self {
        let by_name = of_spark(name).or_else(|| of_hadoop(name, folders.clone()));
        let by_folder = || of_venturi(folders).map(Self::of);
        by_name.or_else(by_folder).unwrap_or(Self::of(Class::Other))
    }
}

fn of_spark(name: &str) -> Option<Owner> {
    let (kind, rest) = name.split_once('_')?;
    let mut numbers = rest.split('_');
    match kind {
        "rdd" => {
            numbers.next()?.parse::<u32>().ok()?;
            Some(Owner::of(Class::RddBlock))
        }
        // shuffle_SHUFFLE_MAP_REDUCE.data, before it is done with .UUID behind it: MAP is the number of
        // the task, from Spark 3.0 on.
        "shuffle" | "shuffleMerged" | "shuffleChunk" => {
            let class = match name.split('.').nth(1).unwrap_or("data") {
                "index" => Class::ShuffleIndex,
                "checksum" => Class::ShuffleChecksum,
                "data" | "meta" => Class::ShuffleData,
                _ => return None,
            };
            numbers.next()?.parse::<u32>().ok()?;
            let task = numbers.next().filter(|_| kind == "shuffle")?.parse().ok();
            Some(Owner { task, phase: Some(Phase::Map), ..Owner::of(class) })
        }
        "temp" if rest.starts_with("shuffle_") || rest.starts_with("local_") => {
            Some(Owner::of(Class::Spill))
        }
        "broadcast" => numbers.next()?.parse::<u64>().ok().map(|_| Owner::of(Class::Broadcast)),
        _ => None,
    }
}

/// In `venturi-data-ID/ROLE`, where a trial has its files, or `venturi-inputs`, where inputs stay.
fn of_venturi<'a>(folders: impl Iterator<Item = &'a str>) -> Option<Class> {
    let mut below = "";
    for folder in folders {
        if folder == "venturi-inputs" {
            return Some(Class::Input);
        }
        if folder.starts_with("venturi-data-") {
            return match below {
                "input" => Some(Class::Input),
                "output" | "replica" => Some(Class::Output),
                "scratch" => Some(Class::Scratch),
                _ => None,
            };
        }
        below = folder;
    }
    None
}

fn of_hadoop<'a>(name: &'a str, folders: impl Iterator<Item = &'a str> + Clone) -> Option<Owner> {
    if name.strip_prefix("blk_").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    {
        return Some(Owner::of(Class::HdfsBlock));
    }
    let attempt = std::iter::once(name).chain(folders).find_map(|part| {
        let at = part.find("attempt_")?;
        // attempt_CLUSTER_JOB_m_TASK_TRY
        part[at..].split('_').nth(3)
    })?;
    let phase = match attempt {
        "m" => Phase::Map,
        "r" => Phase::Reduce,
        _ => return None,
    };
    let stem = name.strip_suffix(".index").unwrap_or(name);
    let class = if stem.contains("spill") && stem.strip_suffix(".out").is_some() {
        Class::Spill
    } else if stem.contains("merged") || (phase == Phase::Reduce && stem.starts_with("map_")) {
        Class::Merge
    } else if stem == "file.out" {
        Class::MapOutput
    } else {
        return None;
    };
    Some(Owner { phase: Some(phase), ..Owner::of(class) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> (Class, Option<Phase>) {
        let mut parts = path.rsplit('/');
        let name = parts.next().unwrap();
        let owner = Owner::of_name(name, parts);
        (owner.class, owner.phase)
    }

    #[test]
    fn names_tell_what_files_are_for() {
        let (map, reduce) = (Some(Phase::Map), Some(Phase::Reduce));
        let job = "usercache/u/appcache/application_1_0001/output/attempt_1_0001";
        for (path, class, phase) in [
            ("blockmgr-1/0c/rdd_12_3", Class::RddBlock, None),
            ("blockmgr-1/0c/shuffle_0_17_0.data", Class::ShuffleData, map),
            ("shuffle_0_17_0.data.0f1e2d3c-1", Class::ShuffleData, map),
            ("shuffle_0_17_0.index", Class::ShuffleIndex, map),
            ("shuffle_0_17_0.checksum.ADLER32", Class::ShuffleChecksum, map),
            ("temp_shuffle_0f1e", Class::Spill, None),
            ("temp_local_0f1e", Class::Spill, None),
            ("broadcast_3_piece0", Class::Broadcast, None),
            ("current/finalized/subdir0/blk_1073741825", Class::HdfsBlock, None),
            ("blk_1073741825_1001.meta", Class::HdfsBlock, None),
            (&format!("{job}_m_000003_0/file.out"), Class::MapOutput, map),
            (&format!("{job}_m_000003_0/file.out.index"), Class::MapOutput, map),
            (&format!("{job}_m_000003_0/spill0.out"), Class::Spill, map),
            ("attempt_1_0001_m_000003_0_spill_2.out", Class::Spill, map),
            (&format!("{job}_r_000000_0/map_7.out"), Class::Merge, reduce),
            (&format!("{job}_r_000000_0/map_7.out.merged"), Class::Merge, reduce),
            ("venturi-data-01/input/part-00000", Class::Input, None),
            ("venturi-data-01/output/job/part-r-00000", Class::Output, None),
            ("venturi-data-01/scratch/", Class::Scratch, None),
            ("venturi-data-01/scratch/blockmgr-1/0c/rdd_1_1", Class::RddBlock, None),
            ("venturi-data-01/owner", Class::Other, None),
            ("venturi-inputs/terasort/part-00000", Class::Input, None),
            ("shuffle_report.txt", Class::Other, None),
            ("rdd_notes", Class::Other, None),
            ("blk_", Class::Other, None),
            ("attempt_", Class::Other, None),
            ("", Class::Other, None),
        ] {
            assert_eq!(of(path), (class, phase), "{path}");
        }
        let owner = Owner::of_name("shuffle_4_17_0.data", std::iter::empty());
        assert_eq!(owner.task, Some(17));
    }
}
