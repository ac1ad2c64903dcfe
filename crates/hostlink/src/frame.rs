//! The link protocol: frames of a kind and a channel.
//!
//! A frame is one byte of kind, the channel and the payload's length (both four bytes, little end
//! first), then the payload. A call is a channel: the near end assigns its number and sends the
//! request, and an answer ends it. Until then both ends send data on it within their credit, so
//! neither has to buffer more than that.

use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

/// Version of the frames and calls; other versions are not understood.
pub const PROTOCOL: u32 = 1;
/// Bytes of data in a frame at most.
pub const PIECE_BYTES: usize = 256 << 10;
/// Bytes that may be under way on a channel, each way, before any is confirmed.
pub const WINDOW_BYTES: u64 = 4 << 20;
/// Bytes of a frame that no reader has to take.
const MAX_BYTES: usize = 64 << 20;
const HEAD_BYTES: usize = 9;

/// The kind of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Who speaks: the first frame of each end, JSON.
    Hello,
    /// The request, JSON; opens a channel.
    Call,
    /// Bytes of a file or of an output.
    Data,
    /// There is no more data.
    End,
    /// So many more bytes (four bytes, little end first) may be sent.
    Credit,
    /// Something about a call under way, JSON.
    Note,
    /// How a call ended, JSON; closes the channel.
    Answer,
    /// Empty: a sign of life.
    Ping,
}

const KINDS: [Kind; 8] = [
    Kind::Hello,
    Kind::Call,
    Kind::Data,
    Kind::End,
    Kind::Credit,
    Kind::Note,
    Kind::Answer,
    Kind::Ping,
];

/// One frame.
#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    /// Its kind.
    pub kind: Kind,
    /// The channel of its call; 0 if it belongs to none.
    pub channel: u32,
    /// Its content.
    pub payload: Vec<u8>,
}

impl Frame {
    /// The first frame in `bytes`, and its length; `None` if it is incomplete.
    pub fn parse(bytes: &[u8]) -> io::Result<Option<(Self, usize)>> {
        let Some((head, rest)) = bytes.split_at_checked(HEAD_BYTES) else { return Ok(None) };
        let number =
            |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let kind = *KINDS
            .get(usize::from(head[0]))
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no such kind of frame"))?;
        let length = number(5) as usize;
        if length > MAX_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame is too long"));
        }
        Ok(rest.get(..length).map(|payload| {
            (Self { kind, channel: number(1), payload: payload.to_vec() }, HEAD_BYTES + length)
        }))
    }
}

/// Where frames are written, by all threads.
pub struct Output(Mutex<Box<dyn Write + Send>>);

impl Output {
    /// To be written to `to`.
    pub fn new(to: impl Write + Send + 'static) -> Self {
        Self(Mutex::new(Box::new(to)))
    }

    /// Writes one frame.
    pub fn send(&self, kind: Kind, channel: u32, payload: &[u8]) -> io::Result<()> {
        let mut whole = Vec::with_capacity(HEAD_BYTES + payload.len());
        whole.push(kind as u8);
        whole.extend(channel.to_le_bytes());
        whole.extend((payload.len() as u32).to_le_bytes());
        whole.extend(payload);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write_all(&whole)
    }
}

/// Where frames are read, by one thread.
pub struct Input {
    from: OwnedFd,
    piece: Vec<u8>,
    buffer: Vec<u8>,
    taken: usize,
    heard: Instant,
}

/// Why there is no frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Silence {
    /// The other end is gone, or sent invalid data.
    Ended,
    /// Nothing came for so long that it must be gone.
    TooLong,
    /// `wake` had something.
    Woken,
}

impl Input {
    /// To be read from `from`.
    pub fn new(from: OwnedFd) -> Self {
        Self {
            from,
            piece: vec![0; PIECE_BYTES],
            buffer: Vec::new(),
            taken: 0,
            heard: Instant::now(),
        }
    }

    /// The next frame; why there is none if the other end is gone or silent for `patience`, or if
    /// something can be read from `wake`.
    pub fn next(&mut self, patience: Duration, wake: &OwnedFd) -> Result<Frame, Silence> {
        loop {
            match Frame::parse(&self.buffer[self.taken..]) {
                Ok(Some((frame, bytes))) => {
                    self.taken += bytes;
                    return Ok(frame);
                }
                Ok(None) => self.more(patience, wake)?,
                Err(_) => return Err(Silence::Ended),
            }
        }
    }

    fn more(&mut self, patience: Duration, wake: &OwnedFd) -> Result<(), Silence> {
        self.buffer.drain(..self.taken);
        self.taken = 0;
        let left = (self.heard + patience).saturating_duration_since(Instant::now());
        let mut fds = [PollFd::new(&self.from, PollFlags::IN), PollFd::new(wake, PollFlags::IN)];
        match poll(&mut fds, Timespec::try_from(left).ok().as_ref()) {
            Ok(0) => return Err(Silence::TooLong),
            Err(Errno::INTR) => return Ok(()),
            Err(_) => return Err(Silence::Ended),
            Ok(_) => {}
        }
        if !fds[1].revents().is_empty() {
            return Err(Silence::Woken);
        }
        match rustix::io::read(&self.from, &mut self.piece) {
            Ok(0) => Err(Silence::Ended),
            Ok(bytes) => {
                self.buffer.extend_from_slice(&self.piece[..bytes]);
                self.heard = Instant::now();
                Ok(())
            }
            Err(Errno::INTR | Errno::AGAIN) => Ok(()),
            Err(_) => Err(Silence::Ended),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use proptest::prelude::*;

    use super::*;

    struct Sent(mpsc::Sender<Vec<u8>>);

    impl Write for Sent {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn what_is_sent_is_what_is_parsed(kind in 0_usize..8, channel: u32, payload: Vec<u8>) {
            let (sender, sent) = mpsc::channel();
            Output::new(Sent(sender)).send(KINDS[kind], channel, &payload).unwrap();
            let bytes: Vec<u8> = sent.iter().flatten().collect();
            for short in 0..bytes.len() {
                prop_assert_eq!(Frame::parse(&bytes[..short]).unwrap(), None);
            }
            let frame = Frame { kind: KINDS[kind], channel, payload };
            prop_assert_eq!(Frame::parse(&bytes).unwrap(), Some((frame, bytes.len())));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(Frame::parse(&[8, 0, 0, 0, 0, 0, 0, 0, 0]).is_err());
        assert!(Frame::parse(&[2, 0, 0, 0, 0, 255, 255, 255, 255]).is_err());
    }
}
