//! The block devices behind folders, from sysfs.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{major, minor};
use serde::{Deserialize, Serialize};

use crate::error::TraceError;
use crate::read::event::Device;

/// How many sectors of 512 bytes a disk has.
const SIZE: &str = "size";
/// The files of sysfs that describe a disk or settings that shape its requests.
const SETTINGS: [&str; 9] = [
    "device/model",
    "queue/logical_block_size",
    "queue/max_hw_sectors_kb",
    "queue/max_sectors_kb",
    "queue/nr_requests",
    "queue/read_ahead_kb",
    "queue/rotational",
    "queue/scheduler",
    SIZE,
];

/// A disk, or another device with a request queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disk {
    /// The kernel's name for it.
    pub name: String,
    /// Its number, as tracepoints have it.
    pub number: u32,
    /// Names and numbers of its partitions.
    pub partitions: BTreeMap<String, u32>,
    /// The values in sysfs, by file name.
    pub settings: BTreeMap<String, String>,
}

impl Disk {
    /// The numbers that events of the disk have: its own, and those of its partitions.
    pub fn numbers(&self) -> impl Iterator<Item = u32> {
        std::iter::once(self.number).chain(self.partitions.values().copied())
    }

    fn at(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?.to_owned();
        let partitions = fs::read_dir(path).ok()?.filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?.to_owned();
            path.join("partition").exists().then_some((name, number(&path)?.0))
        });
        let settings = SETTINGS.iter().filter_map(|file| {
            let text = fs::read_to_string(path.join(file)).ok()?;
            Some(((*file).to_owned(), text.trim().to_owned()))
        });
        Some(Self {
            name,
            number: number(path)?.0,
            partitions: partitions.collect(),
            settings: settings.collect(),
        })
    }
}

/// The disks under folders, and the disks that hold devices or are those devices; `sys` is the path
/// of sysfs. The result includes the disks below a device that is made of others (device mapper,
/// md).
pub fn disks(
    sys: &Path,
    folders: &[PathBuf],
    devices: &[PathBuf],
) -> Result<Vec<Disk>, TraceError> {
    let mut found = Vec::new();
    let about = |path: &PathBuf| {
        fs::metadata(path).map_err(|reason| TraceError::Read { path: path.clone(), reason })
    };
    for folder in folders {
        let number = about(folder)?.dev();
        let none =
            || none(folder, "it is on no single block device (tmpfs, overlay, btrfs, network)");
        collect(sys, (major(number), minor(number)), &mut found).ok_or_else(none)?;
    }
    for device in devices {
        let about = about(device)?;
        let none = || none(device, "it is no block device");
        let number = Some(about.rdev()).filter(|_| about.file_type().is_block_device());
        let number = number.ok_or_else(none)?;
        collect(sys, (major(number), minor(number)), &mut found).ok_or_else(none)?;
    }
    Ok(found)
}

/// Whether the disk is still there, and as large as it was.
pub fn is_there(sys: &Path, disk: &Disk) -> bool {
    let size = fs::read_to_string(sys.join("block").join(&disk.name).join(SIZE));
    size.is_ok_and(|size| disk.settings.get(SIZE).is_some_and(|was| was == size.trim()))
}

/// Adds the device's disk, and the disks below it.
fn collect(sys: &Path, (major, minor): (u32, u32), found: &mut Vec<Disk>) -> Option<()> {
    let path = sys.join(format!("dev/block/{major}:{minor}")).canonicalize().ok()?;
    let path = if path.join("partition").exists() { path.parent()? } else { &path };
    let disk = Disk::at(path)?;
    if found.iter().any(|other| other.number == disk.number) {
        return Some(());
    }
    found.push(disk);
    for part in fs::read_dir(path.join("slaves")).into_iter().flatten().flatten() {
        let number = part.path().canonicalize().ok().and_then(|path| numbers(&path));
        if let Some(number) = number {
            collect(sys, number, found)?;
        }
    }
    Some(())
}

fn none(path: &Path, found: &'static str) -> TraceError {
    TraceError::NoDevice { path: path.to_path_buf(), found }
}

/// The number in a device's folder of sysfs.
fn number(path: &Path) -> Option<Device> {
    let (major, minor) = numbers(path)?;
    Device::of(major.into(), minor.into())
}

fn numbers(path: &Path) -> Option<(u32, u32)> {
    let text = fs::read_to_string(path.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A device of sysfs.
    fn device(sys: &Path, path: &str, number: &str) -> PathBuf {
        let folder = sys.join("devices").join(path);
        fs::create_dir_all(folder.join("slaves")).unwrap();
        fs::write(folder.join("dev"), format!("{number}\n")).unwrap();
        fs::create_dir_all(sys.join("dev/block")).unwrap();
        symlink(&folder, sys.join("dev/block").join(number)).unwrap();
        folder
    }

    #[test]
    fn a_partition_is_of_its_disk_and_a_mapped_device_has_those_below() {
        let folder = tempfile::tempdir().unwrap();
        let sys = folder.path();
        let disk = device(sys, "block/sda", "8:0");
        let part = device(sys, "block/sda/sda2", "8:2");
        fs::write(part.join("partition"), "2\n").unwrap();
        fs::create_dir_all(disk.join("queue")).unwrap();
        fs::write(disk.join("queue/read_ahead_kb"), "128\n").unwrap();
        let mapped = device(sys, "virtual/block/dm-0", "253:0");
        symlink(&part, mapped.join("slaves/sda2")).unwrap();

        let mut found = Vec::new();
        collect(sys, (8, 2), &mut found).unwrap();
        collect(sys, (8, 0), &mut found).unwrap();
        let [disk] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((disk.name.as_str(), disk.number), ("sda", 8 << 20));
        assert_eq!(disk.numbers().collect::<Vec<_>>(), [8 << 20, 8 << 20 | 2]);
        assert_eq!(disk.settings["queue/read_ahead_kb"], "128");

        let mut found = Vec::new();
        collect(sys, (253, 0), &mut found).unwrap();
        let names: Vec<&str> = found.iter().map(|disk| disk.name.as_str()).collect();
        assert_eq!(names, ["dm-0", "sda"]);
        assert_eq!(collect(sys, (0, 45), &mut found), None);
    }

    #[test]
    fn what_is_no_device_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let sys = folder.path();
        let file = sys.join("file");
        fs::write(&file, "").unwrap();
        let code = |found: Result<Vec<Disk>, TraceError>| found.unwrap_err().code();
        assert_eq!(code(disks(sys, &[], &[file])), "VEN-TRACE-DEVICE");
        assert_eq!(code(disks(sys, &[sys.to_path_buf()], &[])), "VEN-TRACE-DEVICE");
        assert_eq!(code(disks(sys, &[sys.join("none")], &[])), "VEN-TRACE-READ");
    }
}
