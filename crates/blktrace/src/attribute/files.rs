//! The files on a recording's disks: their names over time, and their sectors at the start and at
//! the end. Files are known by their inode number. A later file may get the same number, so each
//! name belongs to one life of a number.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read};

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::attribute::classes::{Class, Owner};
use crate::attribute::extents::FileId;
use crate::capture::xfs::{self, Groups};
use crate::read::event::{Device, SECTOR_BYTES};

/// The most names, and the most ranges of sectors, that are kept: about 200 MB.
pub const LIMIT: usize = 1 << 20;
/// No line is longer.
const LINE_BYTES: u64 = 1 << 20;
/// So many folders are looked at above a file.
const DEPTH: usize = 64;
/// No folder has this number.
const NO_FOLDER: u64 = 0;
/// Files of ext2 to ext4 with a lower number are the file system's own: its root, journal, ...
const EXT_FIRST_INODE: u64 = 11;

/// A file system on a disk that is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSystem {
    /// The type, such as `ext4`.
    pub kind: String,
    /// The number of the disk or partition that holds it.
    pub device: u32,
    /// The number of the disk.
    pub disk: u32,
    /// Where on the disk it begins, in sectors.
    pub start_sector: u64,
    /// How long its blocks are.
    pub block_bytes: u64,
    /// Of xfs, how it numbers blocks; `None` if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Groups>,
    /// Whether the recording has names of files made while it ran.
    pub watched: bool,
    /// Folders in which all files have one class, by inode number.
    pub marked: BTreeMap<u64, Class>,
}

impl FileSystem {
    /// Whether the events of this file system report which file owns a block.
    pub fn tells(&self) -> bool {
        self.kind == "ext4" || self.groups.is_some()
    }

    /// Where on the disk the block begins that it calls so, in sectors; `None` if that is not known.
    pub fn sector(&self, block: u64) -> Option<u64> {
        let counted = match self.groups {
            Some(groups) => groups.block(block)?,
            None if self.kind == xfs::KIND => return None,
            None => block,
        };
        counted.checked_mul(self.block_bytes / SECTOR_BYTES)?.checked_add(self.start_sector)
    }
}

/// One observation of a file: a line of `files.jsonl` in the recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The place of its file system in the recording.
    pub file_system: u16,
    /// Its number there.
    pub inode: u64,
    /// Since when it may have been so, on the clock of the events.
    pub since_ns: u64,
    /// By when it was so.
    pub by_ns: u64,
    /// The number of the folder that it is in.
    pub folder: u64,
    /// Its name.
    pub name: String,
    /// Whether it is a folder itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_folder: bool,
    /// Whether it was made then, so that what had its number before is gone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_new: bool,
    /// First sectors on the disk, and how many each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sectors: Vec<(u64, u64)>,
}

/// A file, for as long as it had its number.
#[derive(Clone, Debug)]
struct Life {
    since_ns: u64,
    /// The time by which it existed.
    by_ns: u64,
    /// When it was made, if that was not before.
    made_ns: Option<u64>,
    folder: u64,
    name: Box<str>,
    is_folder: bool,
    /// From 1, in the order of [`Files::named`].
    number: u32,
    owner: OnceCell<Owner>,
}

impl Life {
    /// Whether it begins about now, and the file system has not said that it has begun.
    fn is_being_made(&self, now_ns: u64) -> bool {
        self.made_ns == Some(self.by_ns) && (self.since_ns..self.by_ns).contains(&now_ns)
    }
}

/// Sectors of a file that come from a snapshot, not from an event.
#[derive(Clone, Copy, Debug)]
pub struct Lying {
    /// Since when.
    pub since_ns: u64,
    /// The first sector on the disk.
    pub start: u64,
    /// The one behind the last.
    pub end: u64,
    /// The file that owns them.
    pub file: FileId,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// The lives of each number, in order.
    lives: FxHashMap<FileId, Vec<Life>>,
    /// Where each of the files with a name is among the lives.
    named: Vec<(FileId, usize)>,
    /// The folder and the creation time of files with names that were not seen.
    born: FxHashMap<FileId, (u64, u64)>,
    /// The file systems of the recording.
    pub file_systems: Vec<FileSystem>,
    /// Sectors from the snapshots, in order of time.
    pub lying: Vec<Lying>,
    /// Lines that could not be read, or were too many.
    pub left_out: u64,
}

impl Files {
    /// Reads the lines of `seen`.
    pub fn of(file_systems: Vec<FileSystem>, seen: impl Read) -> io::Result<Self> {
        let mut files = Self { file_systems, ..Self::default() };
        let (mut reader, mut line, mut names) = (BufReader::new(seen), Vec::new(), 0);
        loop {
            line.clear();
            if reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
                break;
            }
            let found = serde_json::from_slice::<Seen>(&line).ok();
            let known = |seen: &Seen| usize::from(seen.file_system) < files.file_systems.len();
            match found.filter(known) {
                Some(seen) if names < LIMIT && files.lying.len() + seen.sectors.len() <= LIMIT => {
                    names += 1;
                    files.add(seen);
                }
                _ => files.left_out += 1,
            }
        }
        files.lying.sort_by_key(|lying| lying.since_ns);
        Ok(files)
    }

    fn add(&mut self, seen: Seen) {
        let file = FileId { file_system: seen.file_system, inode: seen.inode };
        let lives = self.lives.entry(file).or_default();
        let mut since_ns = seen.since_ns;
        match lives.last_mut() {
            // The last name is the file's name: before that it was not finished.
            Some(life) if !seen.is_new => {
                since_ns = life.since_ns;
                (life.folder, life.name) = (seen.folder, seen.name.into());
            }
            _ => {
                self.named.push((file, lives.len()));
                lives.push(Life {
                    since_ns,
                    by_ns: seen.by_ns,
                    made_ns: seen.is_new.then_some(seen.by_ns),
                    folder: seen.folder,
                    name: seen.name.into(),
                    is_folder: seen.is_folder,
                    number: self.named.len() as u32,
                    owner: OnceCell::new(),
                });
            }
        }
        let lying = |(start, count): (u64, u64)| {
            Some(Lying { since_ns, start, end: start.checked_add(count)?, file })
        };
        self.lying.extend(seen.sectors.into_iter().filter_map(lying));
    }

    /// The place of the file system of an event, by its device.
    pub fn file_system(&self, device: Device) -> Option<u16> {
        let at = self.file_systems.iter().position(|known| known.device == device.0)?;
        u16::try_from(at).ok()
    }

    /// A file was made in the folder, of whatever name.
    pub fn is_made(&mut self, file: FileId, folder: u64, now_ns: u64) {
        let lives = self.lives.get_mut(&file).map_or(&mut [][..], Vec::as_mut_slice);
        let begun = lives.partition_point(|life| life.since_ns <= now_ns);
        let made = lives.iter().position(|life| life.is_being_made(now_ns));
        let made = made.or_else(|| begun.checked_sub(1).filter(|at| lives[*at].by_ns >= now_ns));
        if let Some(at) = made {
            lives[at].made_ns = Some(now_ns);
            self.born.remove(&file);
        } else if self.born.len() < LIMIT {
            self.born.insert(file, (folder, now_ns));
        }
    }

    /// The file is in memory from now on: if it was made about now, it was made now. It may leave the
    /// memory and come back.
    pub fn is_loaded(&mut self, file: FileId, now_ns: u64) {
        let mut lives = self.lives.get_mut(&file).into_iter().flatten();
        if let Some(life) = lives.find(|life| life.is_being_made(now_ns)) {
            life.made_ns = Some(now_ns);
            self.born.remove(&file);
        }
    }

    /// Records that the number is free: the next file with it does not inherit the name.
    pub fn is_gone(&mut self, file: FileId, now_ns: u64) {
        if self.born.len() < LIMIT {
            self.born.insert(file, (NO_FOLDER, now_ns));
        }
    }

    /// The class and origin of the file that has this number now.
    pub fn owner(&self, file: FileId, now_ns: u64) -> Owner {
        let of = &self.file_systems[usize::from(file.file_system)];
        if of.kind.starts_with("ext") && file.inode < EXT_FIRST_INODE {
            return Owner::of(Class::FileSystem);
        }
        let life = self.life(file, now_ns);
        // A name that it was given later counts.
        let nameless =
            |(_, made_ns): &&(u64, u64)| life.is_none_or(|life| life.since_ns <= *made_ns);
        if let Some((folder, made_ns)) = self.born.get(&file).filter(nameless) {
            let owner = self.owner_in(file.file_system, *folder, "", *made_ns);
            let class = if owner.class == Class::Other { Class::Unnamed } else { owner.class };
            return Owner { class, made_ns: Some(*made_ns), ..owner };
        }
        match life {
            None => Owner::of(Class::Unnamed),
            Some(life) if life.is_folder => Owner::of(Class::FileSystem),
            Some(life) => *life.owner.get_or_init(|| {
                let owner = self.owner_in(file.file_system, life.folder, &life.name, life.by_ns);
                Owner { made_ns: life.made_ns, number: life.number, ..owner }
            }),
        }
    }

    /// The name of the file with a number, from 1; `None` of 0.
    pub fn name(&self, number: u32) -> Option<&str> {
        let (file, life) = self.named.get((number as usize).checked_sub(1)?)?;
        Some(&self.lives.get(file)?.get(*life)?.name)
    }

    fn life(&self, file: FileId, now_ns: u64) -> Option<&Life> {
        let lives = self.lives.get(&file)?.iter().rev();
        let mut begun = lives.filter(|life| life.since_ns <= now_ns);
        let last = begun.next()?;
        if !last.is_being_made(now_ns) {
            return Some(last);
        }
        Some(begun.find(|life| !life.is_being_made(now_ns)).unwrap_or(last))
    }

    /// The owner for a file with this name, which was in the folder at `at_ns`.
    fn owner_in(&self, file_system: u16, folder: u64, name: &str, at_ns: u64) -> Owner {
        let life = |inode: u64| {
            let life = self.life(FileId { file_system, inode }, at_ns)?;
            life.is_folder.then_some(life)
        };
        let above = |inode: &u64| life(*inode).map(|life| life.folder);
        let folders = std::iter::successors(Some(folder), above).take(DEPTH);
        let marked = &self.file_systems[usize::from(file_system)].marked;
        let names = folders.clone().filter_map(|inode| life(inode).map(|life| &*life.name));
        let owner = Owner::of_name(name, names);
        match folders.into_iter().find_map(|folder| marked.get(&folder)) {
            Some(class) if owner.class == Class::Other => Owner::of(*class),
            _ => owner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: FileId = FileId { file_system: 0, inode: 100 };

    fn seen(inode: u64, name: &str, since_ns: u64, is_new: bool) -> Seen {
        Seen {
            file_system: 0,
            inode,
            since_ns,
            by_ns: since_ns + 10,
            folder: 50,
            name: name.to_owned(),
            is_folder: false,
            is_new,
            sectors: Vec::new(),
        }
    }

    fn files(seen: &[Seen]) -> Files {
        let text: String =
            seen.iter().map(|seen| serde_json::to_string(seen).unwrap() + "\n").collect();
        let file_system = FileSystem {
            kind: "ext4".to_owned(),
            device: 7,
            disk: 7,
            start_sector: 0,
            block_bytes: 4096,
            groups: None,
            watched: true,
            marked: BTreeMap::from([(60, Class::Scratch)]),
        };
        Files::of(vec![file_system], text.as_bytes()).unwrap()
    }

    #[test]
    fn a_number_is_of_one_file_after_the_other_and_the_last_name_counts() {
        let mut files = files(&[
            seen(100, "shuffle_0_1_0.data.7f", 1000, true),
            seen(100, "shuffle_0_1_0.data", 2000, false),
            seen(100, "rdd_3_1", 5000, true),
        ]);
        let of = |files: &Files, now_ns| files.owner(FILE, now_ns).class;
        assert_eq!(of(&files, 999), Class::Unnamed);
        assert_eq!(of(&files, 1000), Class::ShuffleData);
        assert_eq!(of(&files, 5009), Class::ShuffleData);
        assert_eq!(of(&files, 5010), Class::RddBlock);
        files.is_made(FILE, 50, 5004);
        assert_eq!(of(&files, 5004), Class::RddBlock);
        assert_eq!(files.owner(FileId { inode: 8, ..FILE }, 0).class, Class::FileSystem);
        assert_eq!(files.owner(FileId { inode: 12, ..FILE }, 0).class, Class::Unnamed);
    }

    #[test]
    fn a_file_that_is_made_is_made_when_it_is_first_in_memory() {
        let mut files = files(&[seen(90, "old", 0, false), seen(100, "rdd_3_1", 1000, true)]);
        let made_ns = |files: &Files| files.owner(FILE, 1010).made_ns;
        assert_eq!(made_ns(&files.clone()), Some(1010));
        for now_ns in [999, 1004, 1006] {
            files.is_loaded(FILE, now_ns);
        }
        files.is_loaded(FileId { inode: 90, ..FILE }, 5);
        assert_eq!(made_ns(&files), Some(1004));
        assert_eq!(files.owner(FileId { inode: 90, ..FILE }, 5).made_ns, None);
    }

    #[test]
    fn a_number_that_several_have_at_about_one_time_is_of_one_after_the_other() {
        let mut files =
            files(&[seen(100, "rdd_3_1", 1000, true), seen(100, "rdd_3_2", 1000, true)]);
        let of = |files: &Files, now_ns| {
            let owner = files.owner(FILE, now_ns);
            (owner.class, owner.number)
        };
        files.is_loaded(FILE, 1001);
        assert_eq!(of(&files, 1002), (Class::RddBlock, 1));
        files.is_gone(FILE, 1003);
        assert_eq!(of(&files, 1004), (Class::Unnamed, 0));
        files.is_loaded(FILE, 1005);
        assert_eq!(of(&files, 1006), (Class::RddBlock, 2));
        files.is_gone(FILE, 1007);
        // Who is loaded now has no name.
        files.is_loaded(FILE, 1008);
        assert_eq!(of(&files, 2000), (Class::Unnamed, 0));
    }

    #[test]
    fn a_file_without_a_name_is_for_what_its_folder_is() {
        let folder = Seen { is_folder: true, folder: 60, ..seen(50, "sub", 0, false) };
        // The folder's number is another file's later.
        let after = seen(50, "file", 9000, true);
        let mut files = files(&[folder, seen(100, "rdd_3_1", 1000, true), after]);
        files.is_made(FILE, 50, 1005);
        assert_eq!(files.owner(FILE, 1006).class, Class::RddBlock);
        // Another file got its number, and its name was not seen.
        files.is_made(FILE, 50, 3000);
        assert_eq!(files.owner(FILE, 3001).class, Class::Scratch);
        files.is_made(FILE, 40, 4000);
        assert_eq!(files.owner(FILE, 4001).class, Class::Unnamed);
    }

    #[test]
    fn what_lies_where_is_told_since_the_file_was_made_and_damage_is_counted() {
        let late = Seen { sectors: vec![(64, 8)], ..seen(100, "b", 9000, false) };
        let known = files(&[seen(100, "a", 1000, true), late.clone()]);
        let lying: Vec<_> = known.lying.iter().map(|at| (at.since_ns, at.start, at.end)).collect();
        assert_eq!((lying, known.left_out), (vec![(1000, 64, 72)], 0));
        let elsewhere = Seen { file_system: 1, ..late };
        assert_eq!(files(&[elsewhere]).left_out, 1);
        assert_eq!(Files::of(Vec::new(), &b"{}\n\xff\n"[..]).unwrap().left_out, 2);
    }
}
