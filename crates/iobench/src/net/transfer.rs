//! Sending and receiving messages: one thread for each connection.

use std::collections::BTreeMap;
use std::io;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::AtomicBool;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, RngExt, SeedableRng};
use rustix::net::{RecvFlags, recv};

use crate::steady::{Timeline, unsteady_reason};

use super::wire::{
    Flow, HEADER_BYTES, Header, Patience, PeerReport, Plan, SLICE, woke_up, write_all,
};

/// Bytes handed to the kernel in one call: many, so that the receiver finds more whenever it looks.
const SEND_BYTES: usize = 1 << 20;
/// Bytes taken from the kernel in one call: few, so that they stay in the core's cache.
const RECEIVE_BYTES: usize = 128 << 10;
/// Messages that may wait to be sent, for each connection.
const TICKETS_PER_CONNECTION: usize = 4;
/// How long a connection may take longer than planned.
const GRACE: Duration = Duration::from_secs(10);

impl Plan {
    /// How long anything in this measurement may take.
    pub(crate) fn patience<'a>(&self, cancel: &'a AtomicBool) -> Patience<'a> {
        Patience::new(Duration::from_millis(self.time_ms) + GRACE, cancel)
    }
}

/// Who sends the next message where. Each message has a ticket with a random destination; a fixed
/// number of tickets is about, a new one being drawn for each that is done. So a slow destination
/// collects the tickets and slows its senders, as it would with any bounded memory.
struct Tickets {
    state: Mutex<TicketState>,
    drawn: Condvar,
    deadline: Instant,
}

struct TicketState {
    /// For each destination.
    waiting: Vec<u64>,
    /// How many may still be drawn.
    left: u64,
    /// Whether any was taken: a sender that gets no core in time sends one message all the same,
    /// or its rate would be missing.
    begun: bool,
    random: Xoshiro256PlusPlus,
}

impl Tickets {
    fn new(destinations: usize, count: usize, messages: Option<u64>, deadline: Instant) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(crate::seed());
        let left = messages.unwrap_or(u64::MAX);
        let tickets = Self {
            state: Mutex::new(TicketState {
                waiting: vec![0; destinations],
                left,
                begun: false,
                random,
            }),
            drawn: Condvar::new(),
            deadline,
        };
        (0..count).for_each(|_| tickets.draw());
        tickets
    }

    fn lock(&self) -> MutexGuard<'_, TicketState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn draw(&self) {
        let mut state = self.lock();
        if state.left > 0 {
            let destinations = state.waiting.len();
            let destination = state.random.random_range(0..destinations);
            state.waiting[destination] += 1;
            state.left -= 1;
        }
        // The destination may have several connections, and all must hear of the end.
        if state.waiting.len() > 1 || state.left == 0 {
            self.drawn.notify_all();
        } else {
            self.drawn.notify_one();
        }
    }

    /// Takes a ticket for `destination`; false when there will be no more.
    fn take(&self, destination: usize, cancel: &AtomicBool) -> bool {
        let mut state = self.lock();
        loop {
            let over = Instant::now() >= self.deadline;
            let first = !state.begun && state.waiting[destination] > 0;
            if over && !first || cancel.load(std::sync::atomic::Ordering::Relaxed) {
                return false;
            }
            if state.waiting[destination] > 0 {
                state.waiting[destination] -= 1;
                state.begun = true;
                return true;
            }
            if state.left == 0 {
                return false;
            }
            state = self
                .drawn
                .wait_timeout(state, SLICE.min(self.deadline - Instant::now()))
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
    }
}

/// Sends as planned over `connections` (destination, stream), each with its own thread.
pub(crate) fn send_all(
    plan: &Plan,
    connections: &[(usize, TcpStream)],
    cancel: &AtomicBool,
) -> io::Result<Vec<Flow>> {
    if connections.is_empty() {
        return Ok(Vec::new());
    }
    let deadline = Instant::now() + Duration::from_millis(plan.time_ms);
    let count = connections.len() * TICKETS_PER_CONNECTION;
    let tickets = Tickets::new(plan.destinations.len(), count, plan.messages, deadline);
    let tickets = &tickets;
    let jobs =
        connections.iter().map(|(peer, stream)| move || send(plan, *peer, stream, tickets, cancel));
    let outcomes = rawio::side_by_side("send", jobs, || ())?;
    outcomes.into_iter().collect::<io::Result<Vec<Flow>>>().map(by_peer)
}

fn send(
    plan: &Plan,
    peer: usize,
    stream: &TcpStream,
    tickets: &Tickets,
    cancel: &AtomicBool,
) -> io::Result<Flow> {
    let slot = plan.destinations.iter().position(|d| *d == peer).unwrap_or_default();
    let mut chunk = vec![0; SEND_BYTES.min(plan.message_bytes)];
    Xoshiro256PlusPlus::seed_from_u64(crate::seed()).fill_bytes(&mut chunk);
    let patience = plan.patience(cancel);
    let mut flow = Flow { peer, ..Flow::default() };
    let header = |length: usize, sequence| Header {
        sender: plan.index as u64,
        sequence,
        length: length as u64,
    };
    while tickets.take(slot, cancel) {
        chunk[..HEADER_BYTES].copy_from_slice(&header(plan.message_bytes, flow.messages).encode());
        let mut left = plan.message_bytes;
        while left > 0 {
            let part = left.min(chunk.len());
            write_all(stream, &chunk[..part], patience)?;
            left -= part;
        }
        flow.messages += 1;
        flow.bytes += plan.message_bytes as u64;
        tickets.draw();
    }
    write_all(stream, &header(0, flow.messages).encode(), patience)?;
    stream.shutdown(Shutdown::Write)?;
    Ok(flow)
}

/// Data received on one connection.
pub(crate) struct Received {
    flow: Flow,
    first: Option<Instant>,
    last: Option<Instant>,
    problem: Option<String>,
    /// When how much came, since the first byte of any connection.
    timeline: Timeline,
}

/// Where a receiver is in the stream of messages.
struct Parser<'a> {
    plan: &'a Plan,
    flow: Flow,
    header: [u8; HEADER_BYTES],
    header_filled: usize,
    body_left: usize,
    ended: bool,
}

impl Parser<'_> {
    fn take(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            if self.ended {
                return Err("bytes after the end".to_owned());
            }
            if self.body_left > 0 {
                let part = self.body_left.min(bytes.len());
                self.body_left -= part;
                bytes = &bytes[part..];
            } else {
                let part = (HEADER_BYTES - self.header_filled).min(bytes.len());
                self.header[self.header_filled..][..part].copy_from_slice(&bytes[..part]);
                self.header_filled += part;
                bytes = &bytes[part..];
                if self.header_filled < HEADER_BYTES {
                    return Ok(());
                }
                self.header_filled = 0;
                self.begin()?;
            }
            if self.body_left == 0 && self.header_filled == 0 && !self.ended {
                self.flow.messages += 1;
                self.flow.bytes += self.plan.message_bytes as u64;
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), String> {
        let header = Header::decode(&self.header).ok_or("not a message of this measurement")?;
        if header.sender != self.flow.peer as u64 {
            return Err(format!("a message of peer {}", header.sender));
        }
        if header.sequence != self.flow.messages {
            return Err(format!("message {}, expected {}", header.sequence, self.flow.messages));
        }
        match header.length {
            0 => self.ended = true,
            length if length == self.plan.message_bytes as u64 => {
                self.body_left = self.plan.message_bytes - HEADER_BYTES;
            }
            length => return Err(format!("a message of {length} bytes")),
        }
        Ok(())
    }
}

/// Receives everything that peer `from` sends over one connection. `began`: the first byte of any.
pub(crate) fn receive(
    plan: &Plan,
    from: usize,
    stream: &TcpStream,
    began: &OnceLock<Instant>,
    cancel: &AtomicBool,
) -> Received {
    let mut chunk = vec![0; RECEIVE_BYTES];
    let flow = Flow { peer: from, ..Flow::default() };
    let header = [0; HEADER_BYTES];
    let mut parser = Parser { plan, flow, header, header_filled: 0, body_left: 0, ended: false };
    let (mut first, mut last) = (None, None);
    let mut timeline = Timeline::default();
    let mut before_ns = 0;
    let patience = plan.patience(cancel);
    let outcome = loop {
        // Waiting for all of it means falling asleep, and being woken, less often. The clock starts
        // with a header: what came in with the first chunk would count and its time would not.
        let wanted = if first.is_none() { HEADER_BYTES } else { RECEIVE_BYTES };
        match recv(stream, &mut chunk[..wanted], RecvFlags::WAITALL).map(|(read, _)| read) {
            Ok(0) if parser.ended => break Ok(()),
            Ok(0) => break Err("the connection ended too early".to_owned()),
            Ok(read) => {
                let now = Instant::now();
                let now_ns = (now - *began.get_or_init(|| now)).as_nanos() as u64;
                if first.replace(first.unwrap_or(now)).is_some() {
                    timeline.add(before_ns, now_ns, read as f64);
                }
                before_ns = now_ns;
                if let Err(problem) = parser.take(&chunk[..read]) {
                    break Err(problem);
                }
                if parser.ended {
                    last.get_or_insert(now);
                }
            }
            Err(error) if woke_up(&error.into()) => {
                if let Err(error) = patience.check() {
                    break Err(error.to_string());
                }
            }
            Err(error) => break Err(io::Error::from(error).to_string()),
        }
    };
    let problem = outcome
        .err()
        .map(|problem| format!("{} from {}: {problem}", plan.peers[plan.index], plan.peers[from]));
    Received { flow: parser.flow, first, last: last.or(first), problem, timeline }
}

/// The receiving part of a peer's report.
pub(crate) fn summary(sent: Vec<Flow>, received: &[Received]) -> PeerReport {
    let mut timeline = Timeline::default();
    for one in received {
        timeline.merge(&one.timeline);
    }
    let flow = |r: &Received| Flow { elapsed_s: span_s(std::slice::from_ref(r)), ..r.flow };
    PeerReport {
        sent,
        receiving_s: span_s(received),
        problems: received.iter().filter_map(|r| r.problem.clone()).collect(),
        received: by_peer(received.iter().map(flow).collect()),
        unsteady: span_s(received)
            .and_then(|s| unsteady_reason(timeline.bins_until((s * 1e9) as u64))),
        sockets: None,
    }
}

/// Seconds from the first byte received to the last.
fn span_s(received: &[Received]) -> Option<f64> {
    let first = received.iter().filter_map(|r| r.first).min()?;
    let last = received.iter().filter_map(|r| r.last).max()?;
    Some((last - first).as_secs_f64())
}

/// Sums the connections to or from the same peer; of side by side ones the longest time counts.
fn by_peer(flows: Vec<Flow>) -> Vec<Flow> {
    let mut sums: BTreeMap<usize, Flow> = BTreeMap::new();
    for flow in flows {
        let sum = sums.entry(flow.peer).or_insert(Flow { peer: flow.peer, ..Flow::default() });
        sum.messages += flow.messages;
        sum.bytes += flow.bytes;
        sum.elapsed_s = sum.elapsed_s.into_iter().chain(flow.elapsed_s).reduce(f64::max);
    }
    sums.into_values().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plan(message_bytes: usize) -> Plan {
        Plan {
            run: 1,
            index: 0,
            peers: vec!["a:1".to_owned(), "b:1".to_owned(), "c:1".to_owned()],
            destinations: vec![1, 2],
            sources: vec![1, 2],
            sockets: 1,
            message_bytes,
            messages: None,
            time_ms: 1000,
        }
    }

    fn stream(count: u64, message_bytes: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for sequence in 0..count {
            let header = Header { sender: 1, sequence, length: message_bytes as u64 };
            bytes.extend(header.encode());
            bytes.resize(bytes.len() + message_bytes - HEADER_BYTES, 0xAA);
        }
        bytes.extend(Header { sender: 1, sequence: count, length: 0 }.encode());
        bytes
    }

    fn parse(plan: &Plan, bytes: &[u8], cuts: usize) -> Result<(Flow, bool), String> {
        let flow = Flow { peer: 1, ..Flow::default() };
        let header = [0; HEADER_BYTES];
        let mut parser =
            Parser { plan, flow, header, header_filled: 0, body_left: 0, ended: false };
        for part in bytes.chunks(cuts) {
            parser.take(part)?;
        }
        Ok((parser.flow, parser.ended))
    }

    proptest! {
        #[test]
        fn messages_are_counted_however_they_are_cut(
            count in 0..20_u64, body in 0..300_usize, cuts in 1..500_usize,
        ) {
            let plan = plan(HEADER_BYTES + body);
            let (flow, ended) = parse(&plan, &stream(count, plan.message_bytes), cuts).unwrap();
            prop_assert!(ended);
            prop_assert_eq!((flow.messages, flow.bytes), (count, count * plan.message_bytes as u64));
        }

        #[test]
        fn a_lost_message_is_noticed(count in 2..10_u64, lost in 0..9_usize, cuts in 1..500_usize) {
            prop_assume!((lost as u64) < count);
            let plan = plan(100);
            let mut bytes = stream(count, 100);
            bytes.drain(lost * 100..(lost + 1) * 100);
            prop_assert!(parse(&plan, &bytes, cuts).unwrap_err().contains("expected"));
        }

        #[test]
        fn exactly_the_messages_asked_for_get_tickets(messages in 0..200_u64, count in 1..20_usize) {
            let deadline = Instant::now() + Duration::from_mins(1);
            let tickets = Tickets::new(3, count, Some(messages), deadline);
            let cancel = AtomicBool::new(false);
            let mut taken = 0;
            'all: loop {
                for destination in 0..3 {
                    if tickets.lock().waiting[destination] > 0 {
                        prop_assert!(tickets.take(destination, &cancel));
                        taken += 1;
                        tickets.draw();
                        continue 'all;
                    }
                }
                break;
            }
            prop_assert_eq!(taken, messages);
            prop_assert!(!tickets.take(0, &cancel));
        }
    }

    #[test]
    fn a_sender_that_got_no_core_in_time_sends_one_message() {
        let tickets = Tickets::new(1, 4, None, Instant::now());
        let cancel = AtomicBool::new(false);
        assert!(tickets.take(0, &cancel));
        assert!(!tickets.take(0, &cancel));
    }

    #[test]
    fn foreign_bytes_and_wrong_lengths_are_refused() {
        let plan = plan(100);
        assert!(parse(&plan, &[0; 64], 64).is_err());
        let long = Header { sender: 1, sequence: 0, length: 1 << 40 }.encode();
        assert!(parse(&plan, &long, 32).unwrap_err().contains("bytes"));
        let other = Header { sender: 2, sequence: 0, length: 100 }.encode();
        assert!(parse(&plan, &other, 32).unwrap_err().contains("peer 2"));
        let mut tail = stream(1, 100);
        tail.push(0);
        assert!(parse(&plan, &tail, 7).unwrap_err().contains("after the end"));
    }
}
