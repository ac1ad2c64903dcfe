//! The wire protocol.
//!
//! A connection begins with a frame (four little-endian length bytes, then JSON): a [`Hello`] with
//! the token. On a control connection, orders and answers follow as frames. On a data connection,
//! messages follow in one direction: each begins with a [`Header`] and is padded to its length with
//! meaningless bytes; a header of length zero ends them and gives their number.
//!
//! The token keeps out strangers and mistakes. It isn't encrypted, so it doesn't keep out readers
//! of the network's packets.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::sockets::SocketFacts;

/// Raised when an older agent would misunderstand.
pub(crate) const VERSION: u32 = 2;
/// Longest frame accepted.
const FRAME_LIMIT_BYTES: usize = 1 << 20;
/// How often a waiting thread checks whether it was canceled.
pub(crate) const SLICE: Duration = Duration::from_millis(100);
/// Time to answer a greeting or an order that takes no time.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(10);
/// Longest message accepted.
pub(crate) const MESSAGE_LIMIT_BYTES: usize = 64 << 20;

/// The first frame on a connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) version: u32,
    pub(crate) token: String,
    /// For a data connection: the measurement, and the sender's index. `None` for control.
    pub(crate) data: Option<(u64, usize)>,
}

/// A coordinator's order to a peer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Expect a measurement.
    Prepare(Plan),
    /// Connect to the destinations, and wait for those who send.
    Connect,
    /// Send, and report.
    Go,
}

/// A peer's answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    /// Done; waiting for the next order.
    Ready,
    /// The measurement is over.
    Report(PeerReport),
    /// Not done: the token is wrong.
    WrongToken,
    /// Not done: no connection to or from these peers, and why.
    Unconnected(Vec<Gap>),
    /// Not done, for the reason given.
    Failed(String),
}

/// A connection that could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gap {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) problem: String,
}

/// One peer's part in a measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Plan {
    /// Which measurement.
    pub(crate) run: u64,
    /// This peer.
    pub(crate) index: usize,
    /// Addresses of all peers.
    pub(crate) peers: Vec<String>,
    /// To whom this peer sends; each message to a random one of them.
    pub(crate) destinations: Vec<usize>,
    /// Who sends to this peer.
    pub(crate) sources: Vec<usize>,
    /// Connections from each source to each destination.
    pub(crate) sockets: usize,
    /// Length of a message, header included.
    pub(crate) message_bytes: usize,
    /// Messages to send; `None`: until the time is up.
    pub(crate) messages: Option<u64>,
    /// The longest it may take, in milliseconds.
    pub(crate) time_ms: u64,
}

impl Plan {
    /// Why this plan is invalid; `None` if it is valid.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let others = |list: &[usize]| {
            list.len() < self.peers.len()
                && list.iter().all(|peer| *peer < self.peers.len() && *peer != self.index)
        };
        if self.peers.len() > 4096 || self.index >= self.peers.len() {
            Some("bad list of peers")
        } else if !others(&self.destinations) || !others(&self.sources) {
            Some("bad destinations or sources")
        } else if !(1..=64).contains(&self.sockets) {
            Some("bad number of sockets")
        } else if !(HEADER_BYTES..=MESSAGE_LIMIT_BYTES).contains(&self.message_bytes) {
            Some("bad message length")
        } else if !(1..=3_600_000).contains(&self.time_ms) {
            Some("bad time")
        } else {
            None
        }
    }
}

/// Data that one peer sent and received.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct PeerReport {
    pub(crate) sent: Vec<Flow>,
    pub(crate) received: Vec<Flow>,
    /// From the first byte received to the last, on this peer's clock.
    pub(crate) receiving_s: Option<f64>,
    /// Problems of the received data.
    pub(crate) problems: Vec<String>,
    /// Why its rate of receiving was not steady; `None` if it was, or if nothing was to come.
    pub(crate) unsteady: Option<String>,
    /// How its connections were set up.
    pub(crate) sockets: Option<SocketFacts>,
}

/// Messages and bytes to or from a peer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Flow {
    pub(crate) peer: usize,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
    /// For received data: time from its first byte to its last.
    pub(crate) elapsed_s: Option<f64>,
}

/// Length of a [`Header`].
pub(crate) const HEADER_BYTES: usize = 32;
const MAGIC: u64 = u64::from_le_bytes(*b"venturi\x01");

/// The beginning of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Index of the sender.
    pub(crate) sender: u64,
    /// Number of the message on its connection, from zero.
    pub(crate) sequence: u64,
    /// Length of the message, header included; zero: the end, and `sequence` messages came before.
    pub(crate) length: u64,
}

impl Header {
    pub(crate) fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let words = [MAGIC, self.sender, self.sequence, self.length];
        for (place, word) in bytes.chunks_exact_mut(8).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// The header in `bytes`; `None` if that is something else.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let word = |n: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[8 * n..8 * n + 8]);
            u64::from_le_bytes(word)
        };
        let header = Self { sender: word(1), sequence: word(2), length: word(3) };
        (word(0) == MAGIC).then_some(header)
    }
}

/// When to give up: a time and a flag.
#[derive(Clone, Copy)]
pub(crate) struct Patience<'a> {
    pub(crate) until: Instant,
    pub(crate) cancel: &'a AtomicBool,
}

impl<'a> Patience<'a> {
    pub(crate) fn new(time: Duration, cancel: &'a AtomicBool) -> Self {
        Self { until: Instant::now() + time, cancel }
    }

    /// An error once it is over.
    pub(crate) fn check(&self) -> io::Result<()> {
        if self.cancel.load(Ordering::Relaxed) {
            // Not `Interrupted`, which the standard library's loops would try again.
            Err(io::ErrorKind::ConnectionAborted.into())
        } else if Instant::now() >= self.until {
            Err(io::ErrorKind::TimedOut.into())
        } else {
            Ok(())
        }
    }
}

/// Makes a connection wake up regularly and send data immediately.
pub(crate) fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_read_timeout(Some(SLICE))?;
    stream.set_write_timeout(Some(SLICE))?;
    stream.set_nodelay(true)
}

/// Whether a call only woke up to let us look around.
pub(crate) fn woke_up(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

/// Writes all of `bytes`.
pub(crate) fn write_all(
    mut stream: &TcpStream,
    mut bytes: &[u8],
    patience: Patience<'_>,
) -> io::Result<()> {
    while !bytes.is_empty() {
        match stream.write(bytes) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => bytes = &bytes[written..],
            Err(error) if woke_up(&error) => patience.check()?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn read_exact(mut stream: &TcpStream, bytes: &mut [u8], patience: Patience<'_>) -> io::Result<()> {
    let mut done = 0;
    while done < bytes.len() {
        match stream.read(&mut bytes[done..]) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(read) => done += read,
            Err(error) if woke_up(&error) => {}
            Err(error) => return Err(error),
        }
        patience.check()?;
    }
    Ok(())
}

/// Sends a frame.
pub(crate) fn send(
    stream: &TcpStream,
    value: &impl Serialize,
    patience: Patience<'_>,
) -> io::Result<()> {
    let json = serde_json::to_vec(value)?;
    let mut frame = (json.len() as u32).to_le_bytes().to_vec();
    frame.extend(json);
    write_all(stream, &frame, patience)
}

/// Receives a frame.
pub(crate) fn receive<T: DeserializeOwned>(
    stream: &TcpStream,
    patience: Patience<'_>,
) -> io::Result<T> {
    let mut length = [0; 4];
    read_exact(stream, &mut length, patience)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > FRAME_LIMIT_BYTES {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "frame too long"));
    }
    let mut json = vec![0; length];
    read_exact(stream, &mut json, patience)?;
    Ok(serde_json::from_slice(&json)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn headers_come_back_and_garbage_does_not(sender: u64, sequence: u64, length: u64, flip in 0..8_usize) {
            let header = Header { sender, sequence, length };
            let mut bytes = header.encode();
            prop_assert_eq!(Header::decode(&bytes), Some(header));
            bytes[flip] ^= 1;
            prop_assert_eq!(Header::decode(&bytes), None);
        }
    }

    #[test]
    fn unsound_plans_are_told() {
        let good = Plan {
            run: 1,
            index: 0,
            peers: vec!["a:1".to_owned(), "b:1".to_owned()],
            destinations: vec![1],
            sources: vec![1],
            sockets: 1,
            message_bytes: 4096,
            messages: None,
            time_ms: 100,
        };
        assert_eq!(good.problem(), None);
        let bad = [
            Plan { index: 2, ..good.clone() },
            Plan { destinations: vec![0], ..good.clone() },
            Plan { sources: vec![7], ..good.clone() },
            Plan { sockets: 65, ..good.clone() },
            Plan { message_bytes: 8, ..good.clone() },
            Plan { message_bytes: 1 << 40, ..good.clone() },
            Plan { time_ms: 0, ..good.clone() },
        ];
        assert!(bad.iter().all(|plan| plan.problem().is_some()));
    }
}
