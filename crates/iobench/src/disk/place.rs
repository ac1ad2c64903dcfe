//! Place of a directory: its mount point, file system and block device.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rawio::Method;

use super::error::DiskError;
use super::report::Device;
use crate::Observer;

/// A directory to measure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) dir: PathBuf,
    pub(crate) mount_point: Option<String>,
    pub(crate) file_system: Option<String>,
    /// The kernel's name of the block device, as in its I/O counters.
    pub(crate) device: Option<String>,
    pub(crate) file_system_id: u64,
}

impl Place {
    pub(crate) fn of(dir: &Path) -> Result<Self, DiskError> {
        let problem = |problem: String| DiskError::Dir { path: dir.to_owned(), problem };
        let meta = fs::metadata(dir).map_err(|e| problem(e.to_string()))?;
        if !meta.is_dir() {
            return Err(problem("not a directory".to_owned()));
        }
        let (major, minor) = (rustix::fs::major(meta.dev()), rustix::fs::minor(meta.dev()));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let real = fs::canonicalize(dir).map_err(|e| problem(e.to_string()))?;
        let mount = mount_of(&mounts, &real);
        let device = fs::read_link(format!("/sys/dev/block/{major}:{minor}"))
            .ok()
            .or_else(|| {
                // btrfs and the like have numbers of their own: ask for the mounted device's.
                let source = fs::metadata(mount.as_ref()?.source.as_str()).ok()?.rdev();
                let (major, minor) = (rustix::fs::major(source), rustix::fs::minor(source));
                fs::read_link(format!("/sys/dev/block/{major}:{minor}")).ok()
            })
            .and_then(|link| Some(link.file_name()?.to_string_lossy().into_owned()));
        Ok(Self {
            dir: dir.to_owned(),
            mount_point: mount.as_ref().map(|m| m.point.clone()),
            file_system: mount.map(|m| m.kind),
            device,
            file_system_id: meta.dev(),
        })
    }

    /// The report about it, given its access method.
    pub(crate) fn device(&self, method: Method, direct: bool) -> Device {
        let cache = if direct { "direct" } else { "buffered" };
        Device {
            dir: self.dir.clone(),
            mount_point: self.mount_point.clone(),
            file_system: self.file_system.clone(),
            device: self.device.clone(),
            io_method: format!("{method}+{cache}"),
        }
    }

    /// Says that what is measured is memory, if it is.
    pub(crate) fn warn_if_in_memory(&self, observer: &dyn Observer) {
        if matches!(self.file_system.as_deref(), Some("tmpfs" | "ramfs")) {
            let message = format!("{} is in memory, not on a disk", self.dir.display());
            observer.warning("VEN-DISK-MEMORY", &message);
        }
    }

    /// Says that direct I/O was refused here.
    pub(crate) fn warn_buffered(&self, observer: &dyn Observer) {
        observer.warning(
            "VEN-DISK-BUFFERED",
            &format!(
                "{}: direct I/O was not used: the page cache takes part (what is read was dropped \
                 from it before)",
                self.dir.display()
            ),
        );
    }
}

/// Fails if test files would take more than half of the free space of a file system; `needs` are
/// the bytes for each place.
pub(crate) fn check_space(places: &[Place], needs: &[u64]) -> Result<(), DiskError> {
    let mut by_file_system: HashMap<u64, u64> = HashMap::new();
    for (place, need) in places.iter().zip(needs) {
        let sum = by_file_system.entry(place.file_system_id).or_default();
        *sum = sum.saturating_add(*need);
    }
    for place in places {
        let needed_bytes = by_file_system[&place.file_system_id];
        let free_bytes = rawio::available_bytes(&place.dir)
            .map_err(|e| DiskError::io(&place.dir, "statvfs", 0, e))?;
        if let Some(free_bytes) = free_bytes
            && needed_bytes > free_bytes / 2
        {
            return Err(DiskError::Space { path: place.dir.clone(), needed_bytes, free_bytes });
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    point: String,
    kind: String,
    source: String,
}

/// The line of a mountinfo file (see `proc_pid_mountinfo(5)`) with the mount point that holds
/// `path`.
fn mount_of(mountinfo: &str, path: &Path) -> Option<Mount> {
    mountinfo
        .lines()
        .filter_map(|line| {
            let (left, right) = line.split_once(" - ")?;
            let point = unescape(left.split(' ').nth(4)?);
            let mut right = right.split(' ');
            let (kind, source) = (right.next()?.to_owned(), unescape(right.next()?));
            path.starts_with(&point).then_some(Mount { point, kind, source })
        })
        // A later mount hides an earlier one at the same point: the last of the longest.
        .max_by_key(|mount| mount.point.len())
}

/// Undoes the octal escapes of spaces, tabs, newlines and backslashes.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = (*first == b'\\')
            .then(|| tail.get(..3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        let used = if code.is_some() { 4 } else { 1 };
        bytes.push(code.unwrap_or(*first));
        rest = &rest[used..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n\
30 27 8:1 / /mnt/my\\040disk rw - xfs /dev/sdb1 rw\n\
31 27 0:40 / /mnt rw - tmpfs tmpfs rw\n\
32 27 8:2 / /mnt rw - ext4 /dev/sdc1 rw\n";

    #[test]
    fn the_deepest_and_latest_mount_wins() {
        let mount = |path: &str| mount_of(MOUNTS, Path::new(path)).unwrap();
        assert_eq!(mount("/home/x").kind, "ext4");
        assert_eq!(mount("/mnt/my disk/d").source, "/dev/sdb1");
        assert_eq!(mount("/mnt/mine").source, "/dev/sdc1");
        assert_eq!(mount_of("garbage\n", Path::new("/")), None);
    }

    #[test]
    fn more_than_half_of_the_free_space_is_refused_also_when_shared() {
        let dir = tempfile::tempdir().unwrap();
        let place = Place::of(dir.path()).unwrap();
        let free = rawio::available_bytes(dir.path()).unwrap().unwrap();
        assert!(check_space(std::slice::from_ref(&place), &[free / 4]).is_ok());
        let both = [place.clone(), place];
        let error = check_space(&both, &[free / 3, free / 3]).unwrap_err();
        assert!(matches!(error, DiskError::Space { needed_bytes, .. } if needed_bytes > free / 2));
    }

    #[test]
    fn a_file_is_no_place() {
        let file = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(Place::of(file.path()).unwrap_err().code(), "VEN-DISK-DIR");
        assert_eq!(Place::of(Path::new("/does/not/exist")).unwrap_err().code(), "VEN-DISK-DIR");
    }
}
