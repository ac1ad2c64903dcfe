//! A peer: listens, and takes its part in the measurements of one coordinator at a time.

use std::collections::HashMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::error::NetError;
use super::sockets::SocketFacts;
use super::transfer::{Received, receive, send_all, summary};
use super::wire::{
    self, ANSWER_TIME, Answer, Gap, Hello, Order, Patience, PeerReport, Plan, SLICE, VERSION,
    woke_up,
};

/// Time to connect, and to say hello.
pub(crate) const CONNECT_TIME: Duration = Duration::from_secs(5);
/// How long a coordinator may be silent between measurements.
const IDLE_TIME: Duration = Duration::from_mins(10);
/// Most open connections.
const CONNECTIONS_LIMIT: usize = 8192;
/// How long a new coordinator waits for the previous one. If that one was killed in a measurement,
/// the peer only notices when the measurement's time is up.
const HANDOVER_TIME: Duration = Duration::from_secs(3);
/// After a connection that could not be accepted.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);

/// A listening peer.
pub struct Peer {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    shared: Shared,
}

#[derive(Default)]
struct Shared {
    /// Where the data connections of the prepared measurement go.
    expected: Mutex<HashMap<u64, Sender<(usize, TcpStream)>>>,
    /// Whether a coordinator is served.
    busy: Mutex<bool>,
    freed: Condvar,
    open: AtomicUsize,
}

impl Shared {
    /// Takes this peer for a coordinator, once no other is served: whether it could.
    fn take(&self, patience: Patience<'_>) -> bool {
        let mut busy = self.busy.lock().unwrap_or_else(PoisonError::into_inner);
        while *busy && patience.check().is_ok() {
            let woken = self.freed.wait_timeout(busy, SLICE);
            busy = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        !std::mem::replace(&mut *busy, true)
    }
}

impl Peer {
    /// Listens on `address`. Beyond loopback a token is required: its holders can make this host
    /// send and receive.
    pub fn bind(address: &str, token: &str) -> Result<Self, NetError> {
        let failed = |source| NetError::Listen { address: address.to_owned(), source };
        let resolved: Vec<SocketAddr> = address.to_socket_addrs().map_err(failed)?.collect();
        if token.is_empty() && !resolved.iter().all(|a| a.ip().is_loopback()) {
            return Err(NetError::Token {
                address: address.to_owned(),
                problem: "listening beyond loopback needs a token".to_owned(),
            });
        }
        let listener = TcpListener::bind(&resolved[..]).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, token: token.to_owned(), shared: Shared::default() })
    }

    /// The address that was bound: with the port the system chose, if it was to choose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop`; all connections are closed when this returns.
    pub fn serve(&self, stop: &AtomicBool) {
        std::thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                // Waking up oftener would disturb what is being measured.
                if !comes(&self.listener) {
                    continue;
                }
                match self.listener.accept() {
                    Ok((stream, _))
                        if self.shared.open.load(Ordering::Relaxed) < CONNECTIONS_LIMIT =>
                    {
                        self.shared.open.fetch_add(1, Ordering::Relaxed);
                        let greet = move || {
                            // A connection that fails is closed; who made it hears of that.
                            let _ = self.greet(stream, stop);
                            self.shared.open.fetch_sub(1, Ordering::Relaxed);
                        };
                        // Without a thread for it the connection is closed too.
                        if Builder::new().spawn_scoped(scope, greet).is_err() {
                            self.shared.open.fetch_sub(1, Ordering::Relaxed);
                        }
                    }
                    // Too many connections, or one that went away again.
                    _ => std::thread::sleep(ACCEPT_PAUSE),
                }
            }
        });
    }

    fn greet(&self, stream: TcpStream, stop: &AtomicBool) -> io::Result<()> {
        wire::tune(&stream)?;
        let patience = Patience::new(CONNECT_TIME, stop);
        let hello: Hello = wire::receive(&stream, patience)?;
        if hello.version != VERSION {
            let text = format!("speaks version {VERSION}, not {}", hello.version);
            return wire::send(&stream, &Answer::Failed(text), patience);
        }
        if !same(&hello.token, &self.token) {
            return wire::send(&stream, &Answer::WrongToken, patience);
        }
        if let Some((run, from)) = hello.data {
            let expected = self.shared.expected.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(receiver) = expected.get(&run) {
                let _ = receiver.send((from, stream)); // closed: the receiver gave up
            }
            return Ok(());
        }
        if !self.shared.take(Patience::new(HANDOVER_TIME, stop)) {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let text = "is busy with another coordinator".to_owned();
            return wire::send(&stream, &Answer::Failed(text), patience);
        }
        let outcome =
            wire::send(&stream, &Answer::Ready, patience).and_then(|()| self.obey(&stream, stop));
        self.shared.expected.lock().unwrap_or_else(PoisonError::into_inner).clear();
        *self.shared.busy.lock().unwrap_or_else(PoisonError::into_inner) = false;
        self.shared.freed.notify_one();
        outcome
    }

    /// Follows the orders of a coordinator until it goes away.
    fn obey(&self, control: &TcpStream, stop: &AtomicBool) -> io::Result<()> {
        loop {
            let mut session = None;
            loop {
                let order: Order = wire::receive(control, Patience::new(IDLE_TIME, stop))?;
                let last = matches!(order, Order::Go);
                let answer = self.follow(order, &mut session, stop).unwrap_or_else(Answer::Failed);
                let failed = matches!(answer, Answer::Failed(_) | Answer::Unconnected(_));
                wire::send(control, &answer, Patience::new(ANSWER_TIME, stop))?;
                if last || failed {
                    break;
                }
            }
        }
    }

    fn follow<'s>(
        &'s self,
        order: Order,
        session: &mut Option<Session<'s>>,
        stop: &AtomicBool,
    ) -> Result<Answer, String> {
        match (order, session) {
            (Order::Prepare(plan), session) => {
                if let Some(problem) = plan.problem() {
                    return Err(problem.to_owned());
                }
                *session = Some(Session::prepare(plan, &self.shared));
                Ok(Answer::Ready)
            }
            (Order::Connect, Some(session)) => {
                let gaps = session.connect(&self.token, stop)?;
                Ok(if gaps.is_empty() { Answer::Ready } else { Answer::Unconnected(gaps) })
            }
            (Order::Go, Some(session)) => session.go(stop).map(Answer::Report),
            (_, None) => Err("nothing was prepared".to_owned()),
        }
    }
}

/// Whether a connection comes before it is time to look around.
fn comes(listener: &TcpListener) -> bool {
    let mut listening = [PollFd::new(listener, PollFlags::IN)];
    let patience = Timespec { tv_sec: 0, tv_nsec: i64::from(SLICE.subsec_nanos()) };
    poll(&mut listening, Some(&patience)).is_ok_and(|ready| ready > 0)
}

/// Compares in a time that does not depend on where two tokens differ.
fn same(given: &str, token: &str) -> bool {
    let differences = given.bytes().zip(token.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == token.len() && differences == 0
}

/// One measurement on this peer.
struct Session<'s> {
    plan: Plan,
    shared: &'s Shared,
    incoming: Receiver<(usize, TcpStream)>,
    outgoing: Vec<(usize, TcpStream)>,
    receivers: Vec<JoinHandle<()>>,
    received: (Sender<Received>, Receiver<Received>),
    began: Arc<OnceLock<Instant>>,
    abandoned: Arc<AtomicBool>,
}

impl<'s> Session<'s> {
    fn prepare(plan: Plan, shared: &'s Shared) -> Self {
        let (sender, incoming) = channel();
        let mut expected = shared.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.insert(plan.run, sender);
        drop(expected);
        Self {
            plan,
            shared,
            incoming,
            outgoing: Vec::new(),
            receivers: Vec::new(),
            received: channel(),
            began: Arc::default(),
            abandoned: Arc::default(),
        }
    }

    /// Connects to the destinations and waits for the sources: with whom that could not be done.
    fn connect(&mut self, token: &str, stop: &AtomicBool) -> Result<Vec<Gap>, String> {
        let me = self.plan.index;
        let mut gaps = Vec::new();
        let patience = Patience::new(ANSWER_TIME, stop);
        for &peer in &self.plan.destinations {
            let address = &self.plan.peers[peer];
            for _ in 0..self.plan.sockets {
                let hello = Hello {
                    version: VERSION,
                    token: token.to_owned(),
                    data: Some((self.plan.run, self.plan.index)),
                };
                match patience.check().and_then(|()| dial(address, &hello, stop)) {
                    Ok(stream) => self.outgoing.push((peer, stream)),
                    Err(error) => {
                        let problem =
                            format!("{} cannot connect to {address}: {error}", self.plan.peers[me]);
                        gaps.push(Gap { from: me, to: peer, problem });
                        break;
                    }
                }
            }
        }
        let mut missing: Vec<usize> =
            self.plan.sources.iter().flat_map(|s| vec![*s; self.plan.sockets]).collect();
        while !missing.is_empty() {
            match self.incoming.recv_timeout(SLICE) {
                Ok((from, stream)) => {
                    let place = missing.iter().position(|m| *m == from);
                    missing.swap_remove(place.ok_or("more connections than planned")?);
                    self.receive(from, stream).map_err(|error| {
                        format!(
                            "the system refuses a thread for {}: {error}",
                            self.plan.peers[from]
                        )
                    })?;
                }
                Err(RecvTimeoutError::Timeout) if patience.check().is_ok() => {}
                Err(RecvTimeoutError::Timeout) => {
                    missing.dedup();
                    gaps.extend(missing.drain(..).map(|from| {
                        let (name, me_name) = (&self.plan.peers[from], &self.plan.peers[me]);
                        let problem = format!("{me_name} got no connection from {name}");
                        Gap { from, to: me, problem }
                    }));
                }
                Err(RecvTimeoutError::Disconnected) => return Err("abandoned".to_owned()),
            }
        }
        Ok(gaps)
    }

    fn receive(&mut self, from: usize, stream: TcpStream) -> io::Result<()> {
        let (plan, abandoned) = (self.plan.clone(), Arc::clone(&self.abandoned));
        let began = Arc::clone(&self.began);
        let done = self.received.0.clone();
        self.receivers.push(Builder::new().spawn(move || {
            let _ = done.send(receive(&plan, from, &stream, &began, &abandoned));
        })?);
        Ok(())
    }

    fn go(&mut self, stop: &AtomicBool) -> Result<PeerReport, String> {
        let sent =
            send_all(&self.plan, &self.outgoing, stop).map_err(|e| format!("sending: {e}"))?;
        let patience = self.plan.patience(stop);
        let mut received = Vec::new();
        while received.len() < self.receivers.len() {
            let ended = self.receivers.iter().all(JoinHandle::is_finished);
            match self.received.1.recv_timeout(SLICE) {
                Ok(one) => received.push(one),
                Err(_) if ended => return Err("a receiver failed".to_owned()),
                Err(_) => patience.check().map_err(|error| format!("receiving: {error}"))?,
            }
        }
        let sockets = self.outgoing.first().and_then(|(_, stream)| SocketFacts::of(stream).ok());
        Ok(PeerReport { sockets, ..summary(sent, &received) })
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.abandoned.store(true, Ordering::Relaxed);
        for receiver in self.receivers.drain(..) {
            let _ = receiver.join();
        }
        let mut expected = self.shared.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.remove(&self.plan.run);
    }
}

/// Connects and says hello.
pub(crate) fn dial(address: &str, hello: &Hello, stop: &AtomicBool) -> io::Result<TcpStream> {
    let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_TIME) {
            Ok(stream) => {
                wire::tune(&stream)?;
                wire::send(&stream, hello, Patience::new(CONNECT_TIME, stop))?;
                return Ok(stream);
            }
            Err(error) if woke_up(&error) => last = io::ErrorKind::TimedOut.into(),
            Err(error) => last = error,
        }
    }
    Err(last)
}
