//! The link's life on this side: who we are, calls, the end of all.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{getpid, set_child_subreaper};
use rustix::stdio::{stdin, stdout};
use rustix::thread::sched_getaffinity;
use serde::Deserialize;
use serde_json::{Value, json};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::calls::{Call, Shared};
use crate::channel::Channel;
use crate::frame::{Frame, Input, Kind, Output, PROTOCOL};
use crate::processes::user;
use crate::text::Text;

/// Time to end after a request, before a kill.
const GRACE: Duration = Duration::from_secs(10);
/// Silence that is borne until the near end says how long it may be.
const FIRST_PATIENCE: Duration = Duration::from_mins(1);
const PATIENCES_S: std::ops::RangeInclusive<f64> = 0.2..=3600.0;
/// Signs of life in the time that is borne without one.
const SIGNS: u32 = 4;

#[derive(Deserialize)]
struct Greeting {
    silence_s: f64,
}

/// Serves stdin and stdout until they break, or until a signal; then ends all started processes.
/// `identity` names this build.
pub fn serve(identity: &Value) -> io::Result<()> {
    let (wake, signalled) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, signalled.try_clone()?)?;
    }
    set_child_subreaper(Some(getpid()))?;
    let input = Input::new(rustix::io::fcntl_dupfd_cloexec(stdin(), 3)?);
    let output = File::from(rustix::io::fcntl_dupfd_cloexec(stdout(), 3)?);
    let output = Arc::new(Output::new(output));
    output.send(Kind::Hello, 0, hello(identity)?.to_string().as_bytes())?;
    let shared = Arc::new(Shared::default());
    let reaper = Arc::clone(&shared);
    thread::spawn(move || reaper.children.reap_orphans());
    let link = Link { output, shared, channels: Arc::default(), working: Arc::default() };
    link.read(input, &wake.into());
    link.end();
    Ok(())
}

fn hello(identity: &Value) -> io::Result<Value> {
    let agent = std::fs::read_link("/proc/self/exe")?;
    Ok(json!({
        "protocol": PROTOCOL,
        "identity": identity,
        "agent": Text::from(agent.as_path()),
        "name": rustix::system::uname().nodename().to_string_lossy(),
        "user": user(),
        "cores": sched_getaffinity(None)?.count(),
        "temporaries": Text::from(std::env::temp_dir().as_path()),
    }))
}

struct Link {
    output: Arc<Output>,
    shared: Arc<Shared>,
    channels: Arc<Mutex<HashMap<u32, Arc<Channel>>>>,
    working: Arc<AtomicUsize>,
}

impl Link {
    fn read(&self, mut input: Input, wake: &OwnedFd) {
        let mut patience = FIRST_PATIENCE;
        while let Ok(frame) = input.next(patience, wake) {
            match frame.kind {
                Kind::Hello => match serde_json::from_slice::<Greeting>(&frame.payload) {
                    Ok(said) if PATIENCES_S.contains(&said.silence_s) => {
                        patience = Duration::from_secs_f64(said.silence_s);
                        self.show_life(patience / SIGNS);
                    }
                    _ => return,
                },
                Kind::Call => self.call(&frame),
                Kind::Ping => {}
                _ => {
                    let channel = self.channels().get(&frame.channel).cloned();
                    if let Some(channel) = channel {
                        channel.take(frame.kind, frame.payload);
                    }
                }
            }
        }
    }

    fn call(&self, frame: &Frame) {
        let channel = Arc::new(Channel::new(frame.channel, Arc::clone(&self.output)));
        let call = match serde_json::from_slice::<Call>(&frame.payload) {
            Ok(call) => call,
            Err(error) => {
                let _ = channel.unknown(&error.to_string());
                return;
            }
        };
        self.channels().insert(frame.channel, Arc::clone(&channel));
        let (shared, channels) = (Arc::clone(&self.shared), Arc::clone(&self.channels));
        let (number, working) = (frame.channel, Arc::clone(&self.working));
        working.fetch_add(1, Ordering::SeqCst);
        thread::spawn(move || {
            let result = call.run(&channel, &shared);
            channels.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
            let _ = channel.answer(result);
            working.fetch_sub(1, Ordering::SeqCst);
        });
    }

    fn show_life(&self, each: Duration) {
        let output = Arc::clone(&self.output);
        thread::spawn(move || {
            while output.send(Kind::Ping, 0, &[]).is_ok() {
                thread::sleep(each);
            }
        });
    }

    /// Ends all started processes, and removes temporary files.
    fn end(&self) {
        let deadline = Instant::now() + GRACE;
        for channel in self.channels().values() {
            channel.cancel();
        }
        self.shared.children.end(GRACE);
        // Those that were writing a file remove what there is of it.
        while self.working.load(Ordering::SeqCst) > 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(5));
        }
        self.shared.remove_temporaries();
    }

    fn channels(&self) -> std::sync::MutexGuard<'_, HashMap<u32, Arc<Channel>>> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
