//! `NetBench`: measures the network between some hosts.
//!
//! Every peer listens ([`Peer`]); a coordinator ([`run`]) assigns their destinations and joins
//! their reports. `pairwise` measures each peer sending to the next, one pair at a time;
//! `every_pair` each to each other, alone or as a tournament of pairs without a common peer;
//! `all_to_all` lets the first 2, 4, 8, ... peers send to all others concurrently, every message to
//! a random one, never to itself. Receivers count messages and bytes, which must match those sent,
//! and time them from the first byte to the last on their own clock. Peers in this process
//! ([`run_loopback`]) use the same sockets and the same protocol over 127.0.0.1.

mod blame;
mod error;
mod peer;
mod report;
mod sockets;
mod transfer;
mod wire;

use std::io;
use std::net::{IpAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

pub use error::NetError;
pub use peer::Peer;
pub use report::{LOOPBACK_LABEL, Measurement, NETWORK_LABEL, PairFlow, Pattern, Report, Slowest};
pub use sockets::SocketFacts;

use rawio::Crew;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::Observer;
use blame::{blamed, tournament};
use report::{Round, measurement};
use wire::{ANSWER_TIME, Answer, Gap, Hello, Order, Patience, PeerReport, Plan, SLICE, VERSION};

/// Options of a network measurement.
#[derive(Clone, Debug)]
pub struct Options {
    /// Who sends to whom, each once.
    pub patterns: Vec<Pattern>,
    /// Connections from each sender to each receiver.
    pub sockets_per_peer: usize,
    /// How many of the peers take part in `all_to_all`; empty: 2, 4, 8, ... and all.
    pub scale: Vec<usize>,
    /// `every_pair`: run pairs without a common peer concurrently, not one by one.
    pub disjoint_pairs: bool,
    /// Length of a message, header included.
    pub message_bytes: usize,
    /// Bytes that each sender sends; `None`: until the time is up.
    pub bytes: Option<u64>,
    /// The longest a measurement may take.
    pub max_time: Duration,
    /// How often each measurement is made.
    pub iterations: usize,
    /// The token that the listeners require.
    pub token: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            patterns: vec![Pattern::Pairwise, Pattern::AllToAll],
            sockets_per_peer: 1,
            scale: Vec::new(),
            disjoint_pairs: false,
            message_bytes: 4 << 20,
            bytes: None,
            max_time: Duration::from_secs(2),
            iterations: 3,
            token: String::new(),
        }
    }
}

impl Options {
    fn check(&self, peers: usize) -> Result<(), NetError> {
        let bad = |option, given: String, problem: &str| {
            Err(NetError::Option { option, given, problem: problem.to_owned() })
        };
        if peers < 2 {
            return bad("--peer", peers.to_string(), "at least two peers are needed");
        }
        if peers > 4096 {
            return bad("--peer", peers.to_string(), "at most 4096 peers");
        }
        if let Some(size) = self.scale.iter().find(|size| !(2..=peers).contains(*size)) {
            return bad("--scale", size.to_string(), "must be between 2 and the number of peers");
        }
        if !(1..=64).contains(&self.sockets_per_peer) {
            let given = self.sockets_per_peer.to_string();
            return bad("--sockets-per-peer", given, "must be between 1 and 64");
        }
        if !(wire::HEADER_BYTES..=wire::MESSAGE_LIMIT_BYTES).contains(&self.message_bytes) {
            let given = self.message_bytes.to_string();
            return bad("--message-bytes", given, "must be between 32 and 67108864");
        }
        if self.bytes.is_some_and(|bytes| bytes < self.message_bytes as u64) {
            let given = self.bytes.unwrap_or_default().to_string();
            return bad("--bytes", given, "must be at least one message");
        }
        if self.iterations == 0 {
            return bad("--iterations", "0".to_owned(), "must be at least 1");
        }
        if !(1..=3_600_000).contains(&self.max_time.as_millis()) {
            let given = self.max_time.as_secs_f64().to_string();
            return bad("--max-seconds", given, "must be between 0.001 and 3600");
        }
        if self.patterns.is_empty() {
            return bad("--pattern", "nothing".to_owned(), "at least one is needed");
        }
        Ok(())
    }

    fn sizes(&self, peers: usize) -> Vec<usize> {
        if !self.scale.is_empty() {
            return self.scale.clone();
        }
        let doubling = std::iter::successors(Some(2), |size| Some(size * 2));
        doubling.take_while(|size| *size < peers).chain([peers]).collect()
    }
}

/// Measures between `count` peers in this process, over 127.0.0.1.
pub fn run_loopback(
    count: usize,
    options: &Options,
    observer: &dyn Observer,
    cancel: &AtomicBool,
) -> Result<Report, NetError> {
    options.check(count)?;
    let token = format!("{:016x}{:016x}", crate::seed(), crate::seed());
    let peers = (0..count)
        .map(|_| Peer::bind("127.0.0.1:0", &token))
        .collect::<Result<Vec<Peer>, NetError>>()?;
    let addresses: Vec<String> = peers.iter().map(|peer| peer.address().to_string()).collect();
    let options = Options { token, ..options.clone() };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut crew: Crew<'_, '_, ()> = Crew::new(scope);
        for peer in &peers {
            crew.spawn("serve", || Ok(()), |()| peer.serve(&stop)).map_err(NetError::Threads)?;
        }
        // Nothing to prepare, so it can't fail.
        let _ = crew.start();
        let outcome = run(&addresses, &options, observer, cancel);
        stop.store(true, Ordering::Relaxed);
        outcome
    })
}

/// Measures between listening peers, given as `host:port`.
pub fn run(
    peers: &[String],
    options: &Options,
    observer: &dyn Observer,
    cancel: &AtomicBool,
) -> Result<Report, NetError> {
    options.check(peers.len())?;
    if let Some(twice) = peers.iter().enumerate().find(|(i, peer)| peers[..*i].contains(peer)) {
        let problem = "given twice".to_owned();
        return Err(NetError::Option { option: "--peer", given: twice.1.clone(), problem });
    }
    let label = label(peers)?;
    let links = peers
        .iter()
        .map(|address| Link::open(address, options, cancel))
        .collect::<Result<Vec<Link>, NetError>>()?;
    let sockets = vec![None; peers.len()];
    let mut coordinator =
        Coordinator { peers, options, observer, cancel, links, moved: 0, sockets };
    let mut measurements = Vec::new();
    for pattern in [Pattern::Pairwise, Pattern::EveryPair, Pattern::AllToAll] {
        if !options.patterns.contains(&pattern) {
            continue;
        }
        let started = Instant::now();
        coordinator.moved = 0;
        let sizes = match pattern {
            Pattern::Pairwise | Pattern::EveryPair => vec![peers.len()],
            Pattern::AllToAll => options.sizes(peers.len()),
        };
        for size in sizes {
            measurements.push(coordinator.measure(pattern, size)?);
        }
        observer.phase(pattern.name(), started, started.elapsed());
    }
    for invalid in measurements.iter().filter_map(|m| m.invalid_reason.as_deref()) {
        observer.warning("VEN-NET-COUNT", invalid);
    }
    let valid = measurements.iter().all(|m| m.valid);
    Ok(Report { label, valid, measurements, sockets: coordinator.sockets })
}

/// No network lies between peers that are all on loopback, or all at one address.
fn label(peers: &[String]) -> Result<&'static str, NetError> {
    let mut addresses: Vec<IpAddr> = Vec::new();
    for peer in peers {
        let found = peer
            .to_socket_addrs()
            .map_err(|source| NetError::Connect { address: peer.clone(), source })?;
        addresses.extend(found.map(|address| address.ip()));
    }
    let one_host = addresses.iter().all(IpAddr::is_loopback)
        || addresses.windows(2).all(|pair| pair[0] == pair[1]);
    Ok(if one_host { LOOPBACK_LABEL } else { NETWORK_LABEL })
}

/// How long others are waited for once one has failed.
const AFTER_FAILURE: Duration = Duration::from_secs(1);

/// A control connection.
struct Link<'a> {
    address: &'a str,
    stream: TcpStream,
    cancel: &'a AtomicBool,
}

impl<'a> Link<'a> {
    fn open(address: &'a str, options: &Options, cancel: &'a AtomicBool) -> Result<Self, NetError> {
        let hello = Hello { version: VERSION, token: options.token.clone(), data: None };
        let stream = peer::dial(address, &hello, cancel)
            .map_err(|source| NetError::Connect { address: address.to_owned(), source })?;
        let link = Self { address, stream, cancel };
        link.ready()?;
        Ok(link)
    }

    fn order(&self, order: &Order) -> Result<(), NetError> {
        wire::send(&self.stream, order, Patience::new(ANSWER_TIME, self.cancel))
            .map_err(|error| self.lost(&error))
    }

    fn answer(&self, time: Duration) -> Result<Answer, NetError> {
        let answer = wire::receive(&self.stream, Patience::new(time, self.cancel))
            .map_err(|error| self.lost(&error))?;
        let address = self.address.to_owned();
        match answer {
            Answer::WrongToken => {
                Err(NetError::Token { address, problem: "refused the token".to_owned() })
            }
            Answer::Failed(problem) => Err(NetError::Peer { address, problem }),
            answer => Ok(answer),
        }
    }

    fn ready(&self) -> Result<(), NetError> {
        match self.connected()? {
            gaps if gaps.is_empty() => Ok(()),
            gaps => Err(self.unexpected(&Answer::Unconnected(gaps))),
        }
    }

    /// With whom it has no connection. It is waited for longer than it waits for others.
    fn connected(&self) -> Result<Vec<Gap>, NetError> {
        match self.answer(2 * ANSWER_TIME)? {
            Answer::Ready => Ok(Vec::new()),
            Answer::Unconnected(gaps) => Ok(gaps),
            other => Err(self.unexpected(&other)),
        }
    }

    fn report(&self) -> Result<PeerReport, NetError> {
        match self.answer(ANSWER_TIME)? {
            Answer::Report(report) => Ok(report),
            other => Err(self.unexpected(&other)),
        }
    }

    fn unexpected(&self, answer: &Answer) -> NetError {
        let problem = format!("unexpected answer {answer:?}");
        NetError::Protocol { address: self.address.to_owned(), problem }
    }

    fn lost(&self, error: &io::Error) -> NetError {
        let address = self.address.to_owned();
        if self.cancel.load(Ordering::Relaxed) {
            return NetError::Interrupted;
        }
        match error.kind() {
            io::ErrorKind::InvalidData => {
                NetError::Protocol { address, problem: error.to_string() }
            }
            io::ErrorKind::TimedOut => {
                NetError::Peer { address, problem: "did not answer in time".to_owned() }
            }
            _ => NetError::Lost { address, problem: format!("connection lost: {error}") },
        }
    }
}

struct Coordinator<'a> {
    peers: &'a [String],
    options: &'a Options,
    observer: &'a dyn Observer,
    cancel: &'a AtomicBool,
    links: Vec<Link<'a>>,
    /// Bytes received in this phase, for progress.
    moved: u64,
    /// How each peer's connections were set up.
    sockets: Vec<Option<SocketFacts>>,
}

impl<'a> Coordinator<'a> {
    fn measure(&mut self, pattern: Pattern, size: usize) -> Result<Measurement, NetError> {
        let peers = &self.peers[..size];
        let mut rounds = Vec::with_capacity(self.options.iterations);
        for _ in 0..self.options.iterations {
            let mut round = Round::new(size);
            match pattern {
                Pattern::Pairwise => {
                    for from in 0..size {
                        self.transfer(&mut round, pattern, peers, &[(from, (from + 1) % size)])?;
                    }
                }
                Pattern::EveryPair => {
                    for mut pairs in tournament(size) {
                        let at_once = if self.options.disjoint_pairs { pairs.len() } else { 1 };
                        while !pairs.is_empty() {
                            let rest = pairs.split_off(at_once);
                            self.transfer(&mut round, pattern, peers, &pairs)?;
                            pairs = rest;
                        }
                    }
                }
                Pattern::AllToAll => {
                    let pairs: Vec<(usize, usize)> = (0..size)
                        .flat_map(|from| (0..size).map(move |to| (from, to)))
                        .filter(|(from, to)| from != to)
                        .collect();
                    self.transfer(&mut round, pattern, peers, &pairs)?;
                }
            }
            rounds.push(round);
        }
        let (sockets, message_bytes) = (self.options.sockets_per_peer, self.options.message_bytes);
        measurement(pattern, peers, sockets, message_bytes, &rounds).ok_or_else(|| NetError::Peer {
            address: peers[0].clone(),
            problem: "nothing was received".to_owned(),
        })
    }

    /// The answers of all `active` peers within `time`, in any order. Reports a peer with a lost
    /// connection immediately, before peers that only noticed: after a failure, waits for all.
    fn gather<T>(
        &self,
        active: &[usize],
        time: Duration,
        answer: impl Fn(&Link<'a>) -> Result<T, NetError>,
    ) -> Result<Vec<(usize, T)>, NetError> {
        let mut answers = Vec::with_capacity(active.len());
        let mut waiting = active.to_vec();
        let mut failed: Option<NetError> = None;
        let mut patience = Patience::new(time, self.cancel);
        while !waiting.is_empty() {
            let ready = self.said(&waiting);
            for peer in &ready {
                match answer(&self.links[*peer]) {
                    Ok(one) => answers.push((*peer, one)),
                    Err(error @ NetError::Lost { .. }) => return Err(error),
                    Err(error) => {
                        failed = failed.or(Some(error));
                        patience = Patience::new(AFTER_FAILURE, self.cancel);
                    }
                }
            }
            waiting.retain(|peer| !ready.contains(peer));
            if let (Err(error), Some(peer)) = (patience.check(), waiting.first()) {
                return Err(failed.unwrap_or_else(|| self.links[*peer].lost(&error)));
            }
        }
        failed.map_or(Ok(answers), Err)
    }

    /// Which of `waiting` have said something, or gone away; none after a while.
    fn said(&self, waiting: &[usize]) -> Vec<usize> {
        let mut fds: Vec<PollFd<'_>> = waiting
            .iter()
            .map(|peer| PollFd::new(&self.links[*peer].stream, PollFlags::IN))
            .collect();
        let slice = Timespec { tv_sec: 0, tv_nsec: i64::from(SLICE.subsec_nanos()) };
        if poll(&mut fds, Some(&slice)).is_err() {
            return Vec::new();
        }
        let spoke = fds.iter().zip(waiting).filter(|(fd, _)| !fd.revents().is_empty());
        spoke.map(|(_, peer)| *peer).collect()
    }

    /// One transfer over all `pairs` (from, to) concurrently.
    fn transfer(
        &mut self,
        round: &mut Round,
        pattern: Pattern,
        peers: &[String],
        pairs: &[(usize, usize)],
    ) -> Result<(), NetError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(NetError::Interrupted);
        }
        let run = crate::seed();
        let message_bytes = self.options.message_bytes;
        let plans: Vec<Plan> = (0..peers.len())
            .map(|index| Plan {
                run,
                index,
                peers: peers.to_vec(),
                destinations: pairs.iter().filter(|p| p.0 == index).map(|p| p.1).collect(),
                sources: pairs.iter().filter(|p| p.1 == index).map(|p| p.0).collect(),
                sockets: self.options.sockets_per_peer,
                message_bytes,
                messages: self.options.bytes.map(|bytes| bytes / message_bytes as u64),
                time_ms: self.options.max_time.as_millis() as u64,
            })
            .filter(|plan| !plan.destinations.is_empty() || !plan.sources.is_empty())
            .collect();
        let active: Vec<usize> = plans.iter().map(|plan| plan.index).collect();
        for plan in plans {
            self.links[plan.index].order(&Order::Prepare(plan))?;
        }
        active.iter().try_for_each(|peer| self.links[*peer].ready())?;
        active.iter().try_for_each(|peer| self.links[*peer].order(&Order::Connect))?;
        let gaps = self.gather(&active, 2 * ANSWER_TIME, Link::connected)?;
        if let Some((peer, problem)) = blamed(gaps.into_iter().flat_map(|(_, gaps)| gaps)) {
            return Err(NetError::Peer { address: peers[peer].clone(), problem });
        }
        active.iter().try_for_each(|peer| self.links[*peer].order(&Order::Go))?;
        let time = self.options.max_time + 3 * ANSWER_TIME;
        let mut reports = self.gather(&active, time, Link::report)?;
        for (peer, report) in &mut reports {
            self.sockets[*peer] = report.sockets.take().or_else(|| self.sockets[*peer].take());
        }
        let before = round.bytes_received;
        round.add(peers, &reports);
        self.moved += round.bytes_received - before;
        self.observer.progress(pattern.name(), self.moved, None);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
