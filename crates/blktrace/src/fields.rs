//! The fields of a line, from left to right, and what the letters say that a request does.

use memchr::{memchr, memchr2};

use crate::event::{Event, FAILED, FUA, Kind, METADATA, Operation, READAHEAD, SECTOR_LIMIT, SYNC};

const NANOSECOND_DIGITS: u32 = 9;

/// What a request does, from letters such as `WS` or `FWFSM`: a first F is a flush before it.
#[inline]
pub fn what(word: &[u8]) -> Option<(Operation, u8)> {
    let (flushes, rest) = match word {
        [b'F', rest @ ..] if matches!(rest, [b'R' | b'W' | b'D' | b'Z' | b'N' | b'F', ..]) => {
            (true, rest)
        }
        _ => (false, word),
    };
    let (operation, rest) = match rest {
        [b'W', b'Z', rest @ ..] => (Operation::Other, rest),
        [b'R', rest @ ..] => (Operation::Read, rest),
        [b'Z', b'A', rest @ ..] | [b'W', rest @ ..] => (Operation::Write, rest),
        [b'D', b'E', rest @ ..] | [b'D', rest @ ..] => (Operation::Discard, rest),
        [b'F', rest @ ..] => (Operation::Flush, rest),
        [b'N', rest @ ..] if flushes => (Operation::Flush, rest),
        [b'Z' | b'N', rest @ ..] => (Operation::Other, rest),
        _ => return None,
    };
    let flags = rest.iter().fold(0, |flags, letter| {
        flags
            | match letter {
                b'A' => READAHEAD,
                b'M' => METADATA,
                b'S' => SYNC,
                b'F' => FUA,
                _ => 0,
            }
    });
    Some((operation, flags))
}

/// A line that is read from left to right. It ends with a line feed, which is no part of any field.
#[derive(Clone)]
pub struct Fields<'a> {
    line: &'a [u8],
    at: usize,
}

impl<'a> Fields<'a> {
    /// The fields of `line` from byte `at` on.
    #[inline]
    pub fn of(line: &'a [u8], at: usize) -> Self {
        Self { line, at }
    }

    /// The next byte; at the end a line feed.
    #[inline]
    pub fn here(&self) -> u8 {
        self.line.get(self.at).copied().unwrap_or(b'\n')
    }

    /// Goes to what is no space.
    #[inline]
    pub fn spaces(&mut self) {
        while matches!(self.here(), b' ' | b'\t') {
            self.at += 1;
        }
    }

    /// Goes behind `byte`, if it is next.
    #[inline]
    pub fn expect(&mut self, byte: u8) -> Option<()> {
        (self.here() == byte).then(|| self.at += 1)
    }

    /// A whole number behind spaces.
    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        const DIGITS: usize = 20; // those of 2^64; what is greater is not, and is no sector either
        self.spaces();
        let start = self.at;
        let value = self.digits(0);
        (1..=DIGITS).contains(&(self.at - start)).then_some(value)
    }

    #[inline]
    fn digits(&mut self, mut value: u64) -> u64 {
        loop {
            let digit = self.here().wrapping_sub(b'0');
            if digit > 9 {
                return value;
            }
            value = value.wrapping_mul(10).wrapping_add(digit.into());
            self.at += 1;
        }
    }

    /// Seconds with a fraction, behind spaces.
    #[inline]
    pub fn time_ns(&mut self) -> Option<u64> {
        let seconds = self.number()?;
        self.expect(b'.')?;
        let start = self.at;
        let fraction = self.digits(0);
        let digits = (self.at - start) as u32;
        let scale = 10_u64.pow(NANOSECOND_DIGITS.checked_sub(digits).filter(|_| digits > 0)?);
        seconds.checked_mul(1_000_000_000)?.checked_add(fraction * scale)
    }

    /// What stands up to the next space, behind spaces.
    #[inline]
    pub fn word(&mut self) -> &'a [u8] {
        self.spaces();
        let start = self.at;
        while !matches!(self.here(), b' ' | b'\t' | b'\n') {
            self.at += 1;
        }
        &self.line[start..self.at]
    }

    /// Goes behind the bracket that closes the one that is next; `None` if none does.
    pub fn skip_brackets(&mut self) -> Option<()> {
        let length = memchr(b')', &self.line[self.at..])?;
        self.at += length + 1;
        Some(())
    }

    /// `event` of the sectors that follow: `8 + 16`, of a split request `8 / 24`, or only `8`, behind
    /// which there is the process, an error, or the bytes of a command that is passed through.
    #[inline]
    pub fn request(mut self, kind: Kind, event: Event) -> Option<Event> {
        let sector = self.number()?;
        self.spaces();
        let event = match self.here() {
            b'+' => {
                self.at += 1;
                let sectors = u32::try_from(self.number()?).ok()?;
                if sectors > 0 && sector >= SECTOR_LIMIT {
                    return None;
                }
                event.at(sector, sectors)
            }
            b'/' if kind == Kind::Split => {
                self.at += 1;
                let second = self.number()?;
                event.at(sector, u32::try_from(second.saturating_sub(sector)).unwrap_or(0))
            }
            b'(' => event.passed_through(),
            b'[' => event,
            _ => return None,
        };
        let failed = kind == Kind::Complete && self.error();
        Some(event.with(event.flags | if failed { FAILED } else { 0 }))
    }

    /// Whether the number in the brackets that follow is not 0.
    #[inline]
    fn error(&mut self) -> bool {
        let rest = &self.line[self.at..];
        memchr2(b'[', b'\n', rest).is_some_and(|open| {
            let inside = rest[open..].strip_prefix(b"[").unwrap_or_default();
            !matches!(inside, [b'0', b']', ..] | [])
        })
    }
}
