//! The files to know about during a recording: files that exist at the start, files that are made
//! while it runs and, where the file system's own events do not report their blocks, files that
//! exist at the end.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{OFlags, major, minor, statfs};

use crate::attribute::classes::Class;
use crate::attribute::files::{FileSystem, LIMIT, Seen};
use crate::capture::disks::Disk;
use crate::capture::fiemap;
use crate::capture::watch::Watch;
use crate::capture::xfs::{self, Groups};
use crate::read::event::{Device, SECTOR_BYTES};

const MOUNTS: &str = "/proc/self/mountinfo";
/// So many ranges of sectors are kept of a file.
const RANGES: usize = 1 << 16;

/// A file system that is looked at.
struct Place {
    /// The number of the device that holds it, from `stat`.
    number: u64,
    /// Folders with files to look at.
    folders: Vec<PathBuf>,
    watch: Option<Watch>,
}

/// See the module.
pub struct Observer {
    places: Vec<Place>,
    file_systems: Vec<FileSystem>,
    log: Option<BufWriter<File>>,
    /// When it was looked last.
    looked_ns: u64,
    names: usize,
    /// Whether some names are not in it.
    pub incomplete: bool,
}

impl Observer {
    /// The file systems of `folders`, and those that are mounted of `disks`, of which names are taken
    /// from now on; `sys` is where sysfs is.
    pub fn begin(sys: &Path, disks: &[Disk], folders: &[PathBuf], now_ns: u64) -> Self {
        let mounts = fs::read_to_string(MOUNTS).unwrap_or_default();
        let mounted = mounts.lines().filter_map(mount).collect::<Vec<_>>();
        let mut found: BTreeMap<u64, Vec<PathBuf>> = BTreeMap::new();
        for folder in folders {
            if let Ok(about) = fs::metadata(folder) {
                found.entry(about.dev()).or_default().push(folder.clone());
            }
        }
        for mount in &mounted {
            let of_disk =
                disks.iter().any(|disk| disk.numbers().any(|each| each == mount.device.0));
            let about = fs::metadata(&mount.at).ok().filter(|about| of_disk && about.is_dir());
            // A folder that was named is enough.
            if let Some(about) = about {
                found.entry(about.dev()).or_insert_with(|| vec![mount.at.clone()]);
            }
        }
        let mut observer = Self {
            places: Vec::new(),
            file_systems: Vec::new(),
            log: None,
            looked_ns: now_ns,
            names: 0,
            incomplete: false,
        };
        for (number, folders) in found {
            let device = Device::of(major(number).into(), minor(number).into());
            let mount = mounted.iter().find(|mount| Some(mount.device) == device);
            let disk =
                disks.iter().find(|disk| disk.numbers().any(|each| Some(Device(each)) == device));
            let (Some(mount), Some(disk)) = (mount, disk) else { continue };
            let watch = Watch::begin(&mount.at).ok();
            observer.incomplete |= watch.is_none();
            observer.file_systems.push(FileSystem {
                kind: mount.kind.clone(),
                device: mount.device.0,
                disk: disk.number,
                start_sector: start_sector(sys, mount.device),
                block_bytes: statfs(&mount.at).map_or(0, |about| about.f_bsize as u64),
                groups: groups(mount),
                watched: watch.is_some(),
                marked: BTreeMap::new(),
            });
            observer.places.push(Place { number, folders, watch });
        }
        observer
    }

    /// Gives everything below the folder this class.
    pub fn mark(&mut self, folder: &Path, class: Class) -> io::Result<()> {
        let about = fs::metadata(folder)?;
        let at = self.places.iter().position(|place| place.number == about.dev());
        if let Some(at) = at {
            self.file_systems[at].marked.insert(about.ino(), class);
        }
        Ok(())
    }

    /// The file systems that are looked at.
    pub fn file_systems(&self) -> &[FileSystem] {
        &self.file_systems
    }

    /// Records the files that exist now and, from now on, each new file.
    pub fn log_to(&mut self, file: File, now_ns: u64) -> io::Result<()> {
        self.log = Some(BufWriter::new(file));
        self.scan(now_ns, |_| true)
    }

    /// Writes down what was made since the last time.
    pub fn take(&mut self, now_ns: u64) -> io::Result<()> {
        let (since_ns, by_ns) = (std::mem::replace(&mut self.looked_ns, now_ns), now_ns);
        let mut made = Vec::new();
        for (at, place) in self.places.iter_mut().enumerate() {
            let Some(watch) = &mut place.watch else { continue };
            let file_system = at as u16;
            let whole = watch.take(|each| {
                made.push(Seen {
                    file_system,
                    inode: each.inode,
                    since_ns,
                    by_ns,
                    folder: each.folder,
                    name: each.name,
                    is_folder: each.is_folder,
                    is_new: each.is_new,
                    sectors: Vec::new(),
                });
            })?;
            self.incomplete |= !whole;
        }
        made.iter().try_for_each(|seen| self.write(seen))?;
        self.log.as_mut().map_or(Ok(()), Write::flush)
    }

    /// Records the files at the end that no event has reported.
    pub fn end(&mut self, now_ns: u64) -> io::Result<()> {
        self.take(now_ns)?;
        self.scan(now_ns, |of| !of.watched || !of.tells())?;
        self.log.as_mut().map_or(Ok(()), Write::flush)
    }

    fn scan(&mut self, now_ns: u64, which: impl Fn(&FileSystem) -> bool) -> io::Result<()> {
        for at in 0..self.places.len() {
            if !which(&self.file_systems[at]) {
                continue;
            }
            let mut folders = Vec::new();
            for folder in self.places[at].folders.clone() {
                let Ok(about) = fs::metadata(&folder) else { continue };
                let name = folder.file_name().unwrap_or_default();
                self.see(at, &folder, &name.to_string_lossy(), &about, (0, now_ns))?;
                folders.push((folder, about.ino()));
            }
            while let Some((folder, inode)) = folders.pop() {
                for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
                    let Ok(about) = entry.metadata() else { continue };
                    let path = entry.path();
                    let name = entry.file_name();
                    if about.dev() != self.places[at].number || self.names > LIMIT {
                        continue;
                    }
                    self.see(at, &path, &name.to_string_lossy(), &about, (inode, now_ns))?;
                    if about.is_dir() {
                        folders.push((path, about.ino()));
                    }
                }
            }
        }
        Ok(())
    }

    /// A file that is there now, in the folder of this number.
    fn see(
        &mut self,
        at: usize,
        path: &Path,
        name: &str,
        about: &Metadata,
        (folder, now_ns): (u64, u64),
    ) -> io::Result<()> {
        let kind = about.file_type();
        let has_blocks = kind.is_dir() || kind.is_file();
        let of = &self.file_systems[at];
        let sectors = if has_blocks { lying(path, of.start_sector) } else { Vec::new() };
        self.write(&Seen {
            file_system: at as u16,
            inode: about.ino(),
            since_ns: 0,
            by_ns: now_ns,
            folder,
            name: name.to_owned(),
            is_folder: kind.is_dir(),
            is_new: false,
            sectors,
        })
    }

    fn write(&mut self, seen: &Seen) -> io::Result<()> {
        self.names += 1;
        self.incomplete |= self.names > LIMIT;
        let Some(log) = self.log.as_mut().filter(|_| self.names <= LIMIT) else { return Ok(()) };
        serde_json::to_writer(&mut *log, seen)?;
        log.write_all(b"\n")
    }
}

/// The file's sectors on the disk; empty if the file is gone or its position is unknown.
fn lying(path: &Path, start_sector: u64) -> Vec<(u64, u64)> {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    let file = File::options().read(true).custom_flags(flags).open(path);
    let found = file.and_then(|file| fiemap::extents(file, RANGES)).unwrap_or_default();
    let sectors = |bytes: std::ops::Range<u64>| {
        let count = (bytes.end - bytes.start).div_ceil(SECTOR_BYTES);
        (start_sector + bytes.start / SECTOR_BYTES, count)
    };
    found.into_iter().map(sectors).collect()
}

/// Where on its disk a partition begins; a disk begins at 0.
fn start_sector(sys: &Path, device: Device) -> u64 {
    let (major, minor) = device.numbers();
    let start = fs::read_to_string(sys.join(format!("dev/block/{major}:{minor}/start")));
    start.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(0)
}

/// How an xfs numbers what it has, as the device says; `None` of others.
fn groups(mount: &Mount) -> Option<Groups> {
    let mut head = [0; xfs::HEAD_BYTES];
    let device = (mount.kind == xfs::KIND).then(|| File::open(&mount.source));
    device?.ok()?.read_exact(&mut head).ok()?;
    Groups::of(&head)
}

/// Where something is mounted.
struct Mount {
    device: Device,
    at: PathBuf,
    kind: String,
    /// The mounted device, with the name given to `mount`.
    source: PathBuf,
}

/// A line of `mountinfo`: `36 35 98:0 /root /mount options - ext4 ...`.
fn mount(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(2);
    let (major, minor) = fields.next()?.split_once(':')?;
    let device = Device::of(major.parse().ok()?, minor.parse().ok()?)?;
    let at = PathBuf::from(unescaped(fields.nth(1)?));
    let (kind, source) = after.split_once(' ')?;
    let source = PathBuf::from(unescaped(source.split(' ').next()?));
    Some(Mount { device, at, kind: kind.to_owned(), source })
}

/// Replaces escapes such as `\040`, which the kernel writes for a space.
fn unescaped(path: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(path.to_owned(), |path, (written, is)| path.replace(written, is))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_mountinfo_tells_device_place_and_kind() {
        let line =
            r"36 35 8:17 / /mnt/my\040disk rw,noatime shared:1 - ext4 /dev/sdb1 rw,errors=continue";
        let found = mount(line).unwrap();
        assert_eq!(found.device, Device(8 << 20 | 0x11));
        assert_eq!((found.at.to_str(), &*found.kind), (Some("/mnt/my disk"), "ext4"));
        assert_eq!(found.source.to_str(), Some("/dev/sdb1"));
        for bad in ["", "36 35 8:17 / /mnt rw", "a b c - ext4", "36 35 8 / /mnt rw - ext4"] {
            assert!(mount(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn a_file_lies_where_the_kernel_says_or_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, vec![1; 1 << 16]).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();
        let found = lying(&path, 1000);
        // A file system without blocks (tmpfs, overlay) reports no extents.
        let sectors: u64 = found.iter().map(|(_, count)| count).sum();
        assert!(found.is_empty() || sectors == (1 << 16) / SECTOR_BYTES);
        assert!(found.iter().all(|(start, _)| *start >= 1000));
        assert_eq!(lying(&folder.path().join("none"), 0), []);
    }
}
