//! The lock by which one command at a time measures on this host.
//!
//! `record/store/file_lock.py` takes the same.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

const NAME: &str = "venturi-measuring.lock";
/// Reads at most this much of a holder's text.
const ABOUT_BYTES: u64 = 4096;

/// The result of a try.
pub enum Taken {
    /// It is held for as long as the file is open.
    Ours(File),
    /// Another holds it, and wrote this.
    By(String),
}

/// Its file, which the settings name by `VENTURI_LOCK`.
pub fn place() -> PathBuf {
    let named = std::env::var_os("VENTURI_LOCK").filter(|name| !name.is_empty());
    named.map_or_else(|| std::env::temp_dir().join(NAME), PathBuf::from)
}

/// Takes it and writes `about` into its file, unless another holds it.
pub fn take(path: &Path, about: &str) -> io::Result<Taken> {
    let mut file = opened(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => {
            let mut holder = Vec::new();
            file.take(ABOUT_BYTES).read_to_end(&mut holder)?;
            return Ok(Taken::By(String::from_utf8_lossy(&holder).into_owned()));
        }
        other => other?,
    }
    file.set_len(0)?;
    file.write_all(about.as_bytes())?;
    Ok(Taken::Ours(file))
}

/// The lock file, which all users of the host share. In a world-writable folder, links are not
/// followed, and `O_CREAT` is passed only if the file is missing.
fn opened(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(OFlags::NOFOLLOW.bits() as i32);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        other => return other,
    }
    let file = options.create(true).open(path)?;
    file.set_permissions(Permissions::from_mode(0o666))?; // whatever the umask
    Ok(file)
}
