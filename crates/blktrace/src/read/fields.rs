//! The fields of a line, from left to right, and the letters of a request's operation.

use memchr::{memchr, memchr2};

use crate::read::event::{
    Event, FAILED, FLUSHED, FUA, Kind, METADATA, Operation, READAHEAD, SECTOR_LIMIT, SYNC,
};

const NANOSECOND_DIGITS: u32 = 9;
/// Ten to the power of each number of digits that are read together.
const POWERS: [u64; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// A byte, eight times.
const fn eight_times(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Of eight bytes, the first one lowest: digits as their values, and the highest bit of every byte that is
/// none, unless one before it is none either.
#[inline]
fn as_digits(bytes: u64) -> (u64, u64) {
    let values = bytes ^ eight_times(b'0');
    let others = (values.wrapping_add(eight_times(0x80 - 10)) | values) & eight_times(0x80);
    (values, others)
}

/// The number that eight values of digits are, the first one lowest: pairs, then pairs of pairs and all of
/// them in one step. Source: D. Lemire, Quickly parsing eight digits, 2018.
#[inline]
fn number_of(values: u64) -> u64 {
    const PAIRS: u64 = 0x0000_00ff_0000_00ff;
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8);
    let first = (pairs & PAIRS).wrapping_mul(100 + (1_000_000 << 32));
    let second = (pairs >> 16 & PAIRS).wrapping_mul(1 + (10_000 << 32));
    first.wrapping_add(second) >> 32
}

/// The number in eight bytes that are spaces, or none, and then digits.
#[inline]
fn padded(bytes: u64) -> Option<u64> {
    const SPACES: u64 = eight_times(b' ');
    let (values, others) = as_digits(bytes);
    let spaces = (others >> 7) * 0xff; // of each byte all bits or none
    let before_digits = spaces & spaces.wrapping_add(1) == 0 && spaces != u64::MAX;
    (before_digits && bytes & spaces == SPACES & spaces).then(|| number_of(values & !spaces))
}

/// The operation and flags of letters such as `WS` or `FWFSM`: a first F flushes the device's cache before it.
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
    let flushed = flushes && operation != Operation::Flush && operation != Operation::Other;
    Some((operation, flags | if flushed { FLUSHED } else { 0 }))
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

    /// Goes to the next character other than a space.
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
        // Read eight bytes together if possible: the number of digits can't be predicted.
        while let Some(bytes) = self.line.get(self.at..).and_then(<[u8]>::first_chunk) {
            let (values, others) = as_digits(u64::from_le_bytes(*bytes));
            let count = others.trailing_zeros() / 8;
            let values = values.unbounded_shl(u64::BITS - 8 * count);
            value = value.wrapping_mul(POWERS[count as usize]).wrapping_add(number_of(values));
            self.at += count as usize;
            if count < 8 {
                return value;
            }
        }
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

    /// The numbers of a device and of a processor in columns, as blkparse writes them where they are wide
    /// enough: `%3d,%-3d %2d`. Otherwise `None`, and nothing is read.
    #[inline]
    pub fn device_columns(&mut self) -> Option<(u64, u64, u64)> {
        const SPACES: u64 = eight_times(b' ');
        let columns: &[u8; 11] = self.line.get(self.at..)?.first_chunk()?;
        let head = u64::from_le_bytes(std::array::from_fn(|byte| columns[byte]));
        let major = padded(head << 40 | SPACES >> 24)?;
        let behind = head >> 32; // the second number, on the left, and a space
        let (values, others) = as_digits(behind);
        let digits = others.trailing_zeros() / 8;
        if columns[3] != b','
            || !(1..4).contains(&digits)
            || behind >> (8 * digits) != SPACES >> (32 + 8 * digits)
        {
            return None;
        }
        let minor = number_of(values << (64 - 8 * digits));
        let (tens, ones) = (columns[8], columns[9].wrapping_sub(b'0'));
        let tens = if tens == b' ' { 0 } else { tens.wrapping_sub(b'0') };
        if tens > 9 || ones > 9 || columns[10] != b' ' {
            return None;
        }
        self.at += 10;
        Some((major, minor, u64::from(tens * 10 + ones)))
    }

    /// A number and a time, behind which there is a process, in columns as blkparse writes them where they
    /// are wide enough: ` %8d %5d.%09lu %5u `. Otherwise `None`, and nothing is read.
    #[inline]
    pub fn columns(&mut self) -> Option<(u64, u64)> {
        let columns: &[u8; 32] = self.line.get(self.at..)?.first_chunk()?;
        let eight = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| columns[at + byte]));
        let three_spaces = eight_times(b' ') >> 40; // in front of columns of five
        let number = padded(eight(1))?;
        let seconds = padded(eight(10) << 24 | three_spaces)?;
        padded(eight(23) >> 24 << 24 | three_spaces)?;
        let (values, others) = as_digits(eight(16));
        let last = columns[24].wrapping_sub(b'0');
        let between = [columns[0], columns[9], columns[25], columns[31]] == [b' '; 4];
        if !between || columns[15] != b'.' || others != 0 || last > 9 {
            return None;
        }
        self.at += columns.len();
        let nanoseconds = number_of(values) * 10 + u64::from(last);
        Some((number, seconds * 1_000_000_000 + nanoseconds))
    }

    /// The word up to the next space, behind spaces.
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
