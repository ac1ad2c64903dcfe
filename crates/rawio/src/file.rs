//! Files opened past the page cache where the file system allows it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, FallocateFlags, OFlags, StatxFlags};
use rustix::io::Errno;

/// A file and whether its I/O bypasses the page cache.
#[derive(Debug)]
pub struct DirectFile {
    file: File,
    path: PathBuf,
    direct: AtomicBool,
}

impl DirectFile {
    /// Opens an existing file for reading; direct if `want_direct` and the file system agrees.
    pub fn open(path: &Path, want_direct: bool) -> io::Result<Self> {
        Self::with(OpenOptions::new().read(true), path, want_direct)
    }

    /// Creates a file that does not exist yet, for writing and reading.
    pub fn create_new(path: &Path, want_direct: bool) -> io::Result<Self> {
        Self::with(OpenOptions::new().read(true).write(true).create_new(true), path, want_direct)
    }

    /// Creates a file without a name in `dir`: it vanishes with the last handle, however the
    /// process ends, unless [`DirectFile::link`] gives it a name. On file systems without support
    /// for this, the file is created under a name and unlinked immediately.
    pub fn anonymous(dir: &Path, want_direct: bool) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        let nameless = options.clone().custom_flags(OFlags::TMPFILE.bits() as i32).open(dir);
        match nameless {
            Ok(file) => Ok(Self::wrap(file, dir, want_direct)),
            Err(error) if unsupported(&error) || error.kind() == io::ErrorKind::IsADirectory => {
                let name = dir.join(format!(".venturi-scratch-{}.tmp", std::process::id()));
                let file = options.create_new(true).mode(0o600).open(&name)?;
                std::fs::remove_file(&name)?;
                Ok(Self::wrap(file, dir, want_direct))
            }
            Err(error) => Err(error),
        }
    }

    /// Gives a nameless file the name `to`, which must be free and on the same mount.
    pub fn link(&self, to: &Path) -> io::Result<()> {
        let here = format!("/proc/self/fd/{}", self.fd());
        Ok(rustix::fs::linkat(CWD, here, CWD, to, AtFlags::SYMLINK_FOLLOW)?)
    }

    fn with(options: &OpenOptions, path: &Path, want_direct: bool) -> io::Result<Self> {
        Ok(Self::wrap(options.open(path)?, path, want_direct))
    }

    fn wrap(file: File, path: &Path, want_direct: bool) -> Self {
        let direct = want_direct && allows_direct(&file) && set_direct(&file, true);
        Self { file, path: path.to_owned(), direct: AtomicBool::new(direct) }
    }

    /// Whether I/O on this file bypasses the page cache.
    pub fn is_direct(&self) -> bool {
        self.direct.load(Ordering::Relaxed)
    }

    /// Falls back to buffered I/O: the file system accepted the flag but refuses the requests.
    pub fn clear_direct(&self) {
        set_direct(&self.file, false);
        self.direct.store(false, Ordering::Relaxed);
    }

    /// The path it was opened by (of a nameless file: its folder).
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The standard library's handle.
    pub fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }

    /// Length in bytes now.
    pub fn len(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// Whether the file has no bytes.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Sets the length.
    pub fn truncate(&self, len: u64) -> io::Result<()> {
        self.file.set_len(len)
    }

    /// Reserves blocks for the range and extends the file over it, so that a full disk shows now and
    /// later writes do not change the size. Where the file system cannot, nothing happens.
    pub fn preallocate(&self, offset: u64, len: u64) -> io::Result<()> {
        if len == 0 {
            return Ok(());
        }
        match rustix::fs::fallocate(&self.file, FallocateFlags::empty(), offset, len) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) | Ok(()) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the contents durable.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }
}

fn allows_direct(file: &File) -> bool {
    match rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN) {
        // A kernel that reports the alignment knows: zero means "not at all".
        Ok(stat) if stat.stx_mask & StatxFlags::DIOALIGN.bits() != 0 => {
            (1..=crate::ALIGN as u32).contains(&stat.stx_dio_offset_align)
                && stat.stx_dio_mem_align as usize <= crate::ALIGN
        }
        // An older kernel: try, and fall back when a request is refused.
        _ => true,
    }
}

fn set_direct(file: &File, on: bool) -> bool {
    let Ok(flags) = rustix::fs::fcntl_getfl(file) else {
        return false;
    };
    let wanted = if on { flags | OFlags::DIRECT } else { flags - OFlags::DIRECT };
    rustix::fs::fcntl_setfl(file, wanted).is_ok()
}

fn unsupported(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS))
}

/// Whether `error` says that there is no room for more: on the disk, within the quota, or within the
/// limit on the size of files.
pub fn is_no_space(error: &io::Error) -> bool {
    matches!(Errno::from_io_error(error), Some(Errno::NOSPC | Errno::DQUOT | Errno::FBIG))
}

/// Bytes that an unprivileged user may still write on the file system of `path`; `None` if it has no
/// size of its own (as ramfs) and so does not say.
pub fn available_bytes(path: &Path) -> io::Result<Option<u64>> {
    let stat = rustix::fs::statvfs(path)?;
    Ok((stat.f_blocks > 0).then(|| stat.f_bavail.saturating_mul(stat.f_frsize)))
}

/// An id that is equal for paths on the same file system.
pub fn file_system_id(path: &Path) -> io::Result<u64> {
    Ok(std::fs::metadata(path)?.dev())
}

/// Makes the names in `dir` durable (a rename is only safe after this).
pub fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
