//! The calls that this host accepts, and their execution.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::channel::{Channel, Failure, value};
use crate::children::Children;
use crate::files::{self, Replacement};
use crate::frame::PIECE_BYTES;
use crate::lock::{self, Taken};
use crate::processes::{self, Start};
use crate::text::Text;

/// The most that one call reads at a place of an open file.
const READ_BYTES: usize = 4 << 20;

/// State shared by calls: children, open files, folders to remove at the end.
#[derive(Default)]
pub struct Shared {
    /// All started processes.
    pub children: Children,
    open: Mutex<(u64, HashMap<u64, Arc<File>>)>,
    temporaries: Mutex<BTreeSet<PathBuf>>,
}

impl Shared {
    /// Removes the temporary folders that are still there.
    pub fn remove_temporaries(&self) {
        for folder in std::mem::take(&mut *locked(&self.temporaries)) {
            let _ = files::remove(&folder);
        }
    }

    fn keep(&self, file: File) -> u64 {
        let mut open = locked(&self.open);
        open.0 += 1;
        let handle = open.0;
        open.1.insert(handle, Arc::new(file));
        handle
    }

    fn kept(&self, handle: u64) -> Result<Arc<File>, Failure> {
        locked(&self.open).1.get(&handle).cloned().ok_or_else(|| Errno::BADF.into())
    }
}

fn locked<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A call. Paths and words are texts of bytes.
#[derive(Debug, Deserialize)]
#[serde(tag = "call", rename_all = "snake_case", deny_unknown_fields)]
pub enum Call {
    Stat { path: Text },
    Mkdir { path: Text, mode: u32, parents: bool, exist_ok: bool },
    Remove { path: Text },
    Rmdir { path: Text },
    Rename { path: Text, to: Text },
    Symlink { path: Text, to: Text },
    Resolve { path: Text },
    Entries { path: Text },
    Walk { path: Text, depth: Option<usize>, follow: bool },
    Read { path: Text, last_bytes: Option<u64> },
    Write { path: Text, durable: bool },
    Open { path: Text },
    Create { path: Text },
    ReadAt { handle: u64, offset: u64, bytes: usize },
    Append { handle: u64 },
    Length { handle: u64 },
    Close { handle: u64 },
    Sync { path: Text },
    FreeBytes { path: Text },
    RequireWritable { path: Text },
    Temporary { prefix: String },
    Which { program: Text, path: Option<Text> },
    AddressTowards { server: String, port: u16, timeout_s: f64 },
    UnixTime,
    Lock { about: String },
    Start { argv: Vec<Text>, cwd: Option<Text>, env: Vec<(Text, Text)> },
    Supervise { argv: Vec<Text>, cwd: Text, env: Vec<(Text, Text)>, log: Text },
}

impl Call {
    /// Executes the call, with its data on `channel`.
    pub fn run(self, channel: &Arc<Channel>, shared: &Shared) -> Result<Value, Failure> {
        match self {
            Self::ReadAt { handle, offset, bytes } => {
                let mut buffer = vec![0; bytes.min(READ_BYTES)];
                let read = read_at(&*shared.kept(handle)?, &mut buffer, offset)?;
                Ok(channel.send(&buffer[..read]).map(|()| Value::Null)?)
            }
            Self::Append { handle } => Ok(receive(channel, &*shared.kept(handle)?)?),
            Self::Length { handle } => Ok(shared.kept(handle)?.metadata()?.len().into()),
            Self::Close { handle } => {
                locked(&shared.open).1.remove(&handle);
                Ok(Value::Null)
            }
            Self::Temporary { prefix } => {
                let made = files::temporary(&prefix)?;
                locked(&shared.temporaries).insert(made.clone());
                value(&Text::from(made.as_path()))
            }
            Self::Which { program, path } => {
                let path = path.map(|path| path.word());
                let found = processes::which(&program.word(), path.as_ref());
                value(&found.as_deref().map(Text::from))
            }
            Self::AddressTowards { server, port, timeout_s } => {
                let timeout = Duration::try_from_secs_f64(timeout_s).unwrap_or(Duration::MAX);
                Ok(json!(processes::address_towards(&server, port, timeout).ok()))
            }
            Self::UnixTime => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH);
                Ok(json!(since.unwrap_or_default().as_secs_f64()))
            }
            Self::Lock { about } => {
                let path = lock::place();
                Ok(match lock::take(&path, &about).map_err(Failure::of(&path))? {
                    Taken::Ours(file) => json!({ "handle": shared.keep(file) }),
                    Taken::By(holder) => json!({ "holder": holder }),
                })
            }
            Self::Start { argv, cwd, env } => {
                processes::start(channel, &shared.children, &to_start(&argv, cwd.as_ref(), &env))
            }
            Self::Supervise { argv, cwd, env, log } => {
                let start = to_start(&argv, Some(&cwd), &env);
                processes::supervise(channel, &shared.children, &start, log.word())
            }
            of_a_path => of_a_path.with_path(channel, shared),
        }
    }

    fn with_path(self, channel: &Channel, shared: &Shared) -> Result<Value, Failure> {
        let path = self.path().path();
        let done: io::Result<Value> = match self {
            Self::Stat { .. } => files::stat(&path).map(|info| json!(info)),
            Self::Mkdir { mode, parents, exist_ok, .. } => {
                files::mkdir(&path, mode, parents, exist_ok).map(Value::from)
            }
            Self::Remove { .. } => {
                locked(&shared.temporaries).remove(&path);
                files::remove(&path).map(Value::from)
            }
            Self::Rmdir { .. } => std::fs::remove_dir(&path).map(Value::from),
            Self::Rename { to, .. } => std::fs::rename(&path, to.path()).map(Value::from),
            Self::Symlink { to, .. } => {
                std::os::unix::fs::symlink(to.path(), &path).map(Value::from)
            }
            Self::Resolve { .. } => {
                files::resolve(&path).map(|path| json!(Text::from(path.as_path())))
            }
            Self::Entries { .. } => files::entries(&path).and_then(|found| tell(channel, &found)),
            Self::Walk { depth, follow, .. } => tell(channel, &files::walk(&path, depth, follow)),
            Self::Read { last_bytes, .. } => read(channel, &path, last_bytes),
            Self::Write { durable, .. } => write(channel, &path, durable),
            Self::Open { .. } => files::open(&path).map(|file| shared.keep(file).into()),
            Self::Create { .. } => File::create(&path).map(|file| shared.keep(file).into()),
            Self::Sync { .. } => files::sync(&path).map(Value::from),
            Self::FreeBytes { .. } => files::free_bytes(&path).map(Value::from),
            Self::RequireWritable { .. } => files::require_writable(&path).map(Value::from),
            _ => Err(Errno::NOSYS.into()),
        };
        done.map_err(Failure::of(&path))
    }

    /// The path that it is about; no other call than those of a path has one.
    fn path(&self) -> &Text {
        const NONE: &Text = &Text(Vec::new());
        match self {
            Self::Stat { path }
            | Self::Mkdir { path, .. }
            | Self::Remove { path }
            | Self::Rmdir { path }
            | Self::Rename { path, .. }
            | Self::Symlink { path, .. }
            | Self::Resolve { path }
            | Self::Entries { path }
            | Self::Walk { path, .. }
            | Self::Read { path, .. }
            | Self::Write { path, .. }
            | Self::Open { path }
            | Self::Create { path }
            | Self::Sync { path }
            | Self::FreeBytes { path }
            | Self::RequireWritable { path } => path,
            _ => NONE,
        }
    }
}

fn to_start(argv: &[Text], cwd: Option<&Text>, env: &[(Text, Text)]) -> Start {
    Start {
        argv: argv.iter().map(Text::word).collect(),
        cwd: cwd.map(Text::path),
        env: env.iter().map(|(name, value)| (name.word(), value.word())).collect(),
    }
}

/// Sends something as JSON, however long it is.
fn tell(channel: &Channel, what: &impl Serialize) -> io::Result<Value> {
    channel.send(&serde_json::to_vec(what)?)?;
    Ok(Value::Null)
}

/// Sends what is in a file; at most its `last_bytes`.
fn read(channel: &Channel, path: &Path, last_bytes: Option<u64>) -> io::Result<Value> {
    let mut file = files::open(path)?;
    if let Some(last) = last_bytes {
        let bytes = file.metadata()?.len();
        file.seek(SeekFrom::Start(bytes.saturating_sub(last)))?;
    }
    let mut buffer = vec![0; PIECE_BYTES];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(Value::Null),
            bytes => channel.send(&buffer[..bytes])?,
        }
    }
}

/// Writes what comes to a file; how many bytes that was.
fn receive(channel: &Channel, mut file: &File) -> io::Result<Value> {
    let mut bytes = 0;
    while let Some(piece) = channel.receive()? {
        file.write_all(&piece)?;
        bytes += piece.len();
    }
    Ok(bytes.into())
}

/// Makes what comes the content of a file: whole, or not at all.
fn write(channel: &Channel, path: &Path, durable: bool) -> io::Result<Value> {
    let replacement = Replacement::of(path)?;
    let bytes = receive(channel, &replacement.file)?;
    replacement.commit(durable)?;
    Ok(bytes)
}

fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while read < buffer.len() {
        match file.read_at(&mut buffer[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(bytes) => read += bytes,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}
