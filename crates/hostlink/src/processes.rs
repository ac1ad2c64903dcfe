//! Processes and supervised commands: each is a call that lasts as long as it does.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::channel::{Channel, Failure, Note};
use crate::children::{Children, Handle};
use crate::supervise::OURSELVES;

const STDERR_LINES: usize = 20;
const STDERR_LINE_BYTES: u64 = 2000;
/// A process that has ended may have left its standard error to another, which isn't waited for.
const LAST_WORDS: Duration = Duration::from_secs(5);
const PIPE_BYTES: usize = 64 << 10;
/// Interval between checks whether an output is still wanted.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// A command to start, its folder and additions to its environment.
pub struct Start {
    /// Program and arguments.
    pub argv: Vec<OsString>,
    /// Folder; ours if none.
    pub cwd: Option<PathBuf>,
    /// Variables.
    pub env: Vec<(OsString, OsString)>,
}

impl Start {
    fn command(&self, program: &OsString, arguments: &[OsString]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).envs(self.env.iter().cloned()).process_group(0);
        if let Some(folder) = &self.cwd {
            command.current_dir(folder);
        }
        command
    }
}

/// Starts a process and reports until its end: a note that it has started, its standard output as
/// data, and a note of its end with its last error output.
///
/// The calling thread outlives the process: the process may have asked to end with its parent,
/// which to the kernel is a thread.
pub fn start(channel: &Arc<Channel>, children: &Children, start: &Start) -> Result<Value, Failure> {
    let Some((program, arguments)) = start.argv.split_first() else {
        return Err(rustix::io::Errno::INVAL.into());
    };
    let mut command = start.command(program, arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (mut child, handle) = children.spawn(&mut command)?;
    heed(channel, &handle);
    channel.note(&json!({ "started": child.id() }))?;
    let output = child.stdout.take().map(|stdout| {
        let channel = Arc::clone(channel);
        thread::spawn(move || pass(&stdout, &channel))
    });
    let tail: Arc<Mutex<VecDeque<String>>> = Arc::default();
    let (heard, all_heard) = mpsc::channel::<()>();
    if let Some(stderr) = child.stderr.take() {
        let tail = Arc::clone(&tail);
        thread::spawn(move || {
            listen(stderr, &tail);
            drop(heard);
        });
    }
    let status = children.wait(&mut child)?;
    let _: Result<(), RecvTimeoutError> = all_heard.recv_timeout(LAST_WORDS);
    let words: Vec<String> =
        tail.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
    channel.note(&json!({ "ended": status, "stderr": words }))?;
    if let Some(output) = output {
        let _ = output.join();
    }
    Ok(Value::Null)
}

/// Starts a command under a supervisor of its own and answers with its report.
pub fn supervise(
    channel: &Arc<Channel>,
    children: &Children,
    start: &Start,
    log: OsString,
) -> Result<Value, Failure> {
    let mut arguments = vec![OsString::from("supervise"), log, OsString::from("--")];
    arguments.extend(start.argv.iter().cloned());
    let mut command = start.command(&OURSELVES.into(), &arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let (mut child, handle) = children.spawn(&mut command)?;
    heed(channel, &handle);
    channel.note(&json!({ "started": child.id() }))?;
    let mut report = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut report)?;
    }
    let status = children.wait(&mut child)?;
    Ok(serde_json::from_slice(&report).unwrap_or_else(|_| json!({ "status": status })))
}

fn heed(channel: &Channel, handle: &Handle) {
    let handle = handle.clone();
    channel.heed(move |note| match note {
        Note::Terminate => handle.signal(Signal::TERM),
        Note::Stop(grace_s) => stop(&handle, grace_s),
        Note::Release => handle.release(),
        Note::Cancel => {}
    });
}

fn stop(handle: &Handle, grace_s: f64) {
    let Ok(grace) = Duration::try_from_secs_f64(grace_s) else { return };
    handle.signal(Signal::INT);
    let handle = handle.clone();
    thread::spawn(move || {
        thread::sleep(grace);
        handle.signal(Signal::KILL);
    });
}

/// Sends an output to its end, or until it is no longer wanted: then closes the pipe.
fn pass(output: &ChildStdout, channel: &Channel) {
    let mut buffer = vec![0; PIPE_BYTES];
    while !channel.is_cancelled() {
        let mut fds = [PollFd::from_borrowed_fd(output.as_fd(), PollFlags::IN)];
        if matches!(poll(&mut fds, Some(&LOOK)), Ok(0) | Err(rustix::io::Errno::INTR)) {
            continue;
        }
        match rustix::io::read(output, &mut buffer) {
            Ok(0) | Err(_) => break,
            Ok(bytes) => {
                if channel.send(&buffer[..bytes]).is_err() {
                    return;
                }
            }
        }
    }
    let _ = channel.end();
}

/// Keeps the last lines of `stderr`.
fn listen(stderr: impl Read, tail: &Mutex<VecDeque<String>>) {
    let mut stderr = BufReader::new(stderr);
    loop {
        let mut line = Vec::new();
        match stderr.by_ref().take(STDERR_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
        if tail.len() == STDERR_LINES {
            tail.pop_front();
        }
        tail.push_back(String::from_utf8_lossy(&line).trim_end().to_owned());
    }
}

/// The name of the user of this process. Uses `id`, which asks the host's user database.
pub fn user() -> String {
    let said = Command::new("id").arg("-un").stderr(Stdio::null()).output();
    let named = said.ok().filter(|said| said.status.success());
    named.map_or_else(
        || rustix::process::geteuid().as_raw().to_string(),
        |said| String::from_utf8_lossy(&said.stdout).trim().to_owned(),
    )
}

/// Full path of `program` in `path` (in the format of PATH); `None` if there is no executable.
pub fn which(program: &OsString, path: Option<&OsString>) -> Option<PathBuf> {
    let here = std::env::var_os("PATH");
    let can_be_executed = |path: &PathBuf| {
        rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && !path.is_dir()
    };
    if PathBuf::from(program).components().count() > 1 {
        return Some(PathBuf::from(program)).filter(can_be_executed);
    }
    std::env::split_paths(path.or(here.as_ref())?)
        .map(|folder| folder.join(program))
        .find(can_be_executed)
}

/// The address under which `server` sees this host; `None` if it does not answer there.
pub fn address_towards(server: &str, port: u16, timeout: Duration) -> io::Result<String> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in std::net::ToSocketAddrs::to_socket_addrs(&(server, port))? {
        match std::net::TcpStream::connect_timeout(&address, timeout) {
            Ok(connection) => return Ok(connection.local_addr()?.ip().to_string()),
            Err(error) => last = error,
        }
    }
    Err(last)
}
