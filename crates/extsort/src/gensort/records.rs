//! Binary, ASCII and skewed records.

use super::lcg;

/// Bytes in a record.
pub const RECORD_BYTES: usize = 100;
/// Bytes in its key, which comes first.
pub const KEY_BYTES: usize = 10;

/// Content of the records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kind {
    /// Random bytes.
    #[default]
    Binary,
    /// Printable characters; each record is a line that ends in CR LF.
    Ascii,
}

/// Makes consecutive records.
#[derive(Clone, Debug)]
pub struct Generator {
    body: Body,
    skew: Option<Skew>,
}

#[derive(Clone, Debug)]
enum Body {
    Binary(Box<Binary>),
    Ascii(Ascii),
}

impl Generator {
    /// A generator that starts with record number `start`.
    pub fn new(start: u128, kind: Kind, skewed: bool) -> Self {
        let mut generator = Self {
            body: match kind {
                Kind::Binary => Body::Binary(Box::new(Binary::new())),
                Kind::Ascii => Body::Ascii(Ascii::default()),
            },
            skew: skewed.then(|| Skew::new(kind)),
        };
        generator.seek(start);
        generator
    }

    /// Makes `record` the next record.
    pub fn seek(&mut self, record: u128) {
        match &mut self.body {
            Body::Binary(binary) => binary.seek(record),
            Body::Ascii(ascii) => ascii.seek(record),
        }
        if let Some(skew) = &mut self.skew {
            skew.seek(record);
        }
    }

    /// Fills `out` with the next records. After record 2^128 - 1 comes record 0.
    ///
    /// # Panics
    /// If `out` does not hold whole records: an error of the caller.
    pub fn fill(&mut self, out: &mut [u8]) {
        let (records, rest) = out.as_chunks_mut::<RECORD_BYTES>();
        assert!(rest.is_empty(), "a buffer of whole records");
        // Small steps, so that each pass finds in the nearest cache what the pass before wrote.
        for step in records.chunks_mut(STEP) {
            match &mut self.body {
                Body::Binary(binary) => binary.fill(step),
                Body::Ascii(ascii) => ascii.fill(step),
            }
            if let Some(skew) = &mut self.skew {
                skew.apply(step);
            }
        }
    }
}

const STEP: usize = 128;
/// Bytes of X that a piece of a record is made of.
const PIECE: usize = 10;
/// X has 16 bytes and is stored whole; the 6 too many are overwritten by the next.
const SPILL: usize = 6;
const CARRIED: usize = RECORD_BYTES - PIECE;

/// The ten pieces of a record, 10 bytes each, are the leading bytes of ten successive X, and the next
/// record begins one X later. So records are a window of 100 bytes that moves by 10 over the string
/// of all pieces, with [`MASK`] added bit by bit.
#[derive(Clone, Debug)]
struct Binary {
    /// The X of the piece after those in `pieces`.
    x: u128,
    /// The first `CARRIED` bytes are the pieces that the next record shares with the last.
    pieces: [u8; CARRIED + STEP * PIECE + SPILL],
}

#[rustfmt::skip]
const MASK: [u8; RECORD_BYTES] = [
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
    0xF0, 0xE8, 0xE4, 0xE2, 0xE1, 0xD8, 0xD4, 0xD2, 0xD1, 0xCC,
    0xCA, 0xC9, 0xC6, 0xC5, 0xC3, 0xB8, 0xB4, 0xB2, 0xB1, 0xAC,
    0xAA, 0xA9, 0xA6, 0xA5, 0xA3, 0x9C, 0x9A, 0x99, 0x96, 0x95,
    0x93, 0x8E, 0x8D, 0x8B, 0x87, 0x78, 0x74, 0x72, 0x71, 0x6C,
    0x6A, 0x69, 0x66, 0x65, 0x63, 0x5C, 0x5A, 0x59, 0x56, 0x55,
    0x53, 0x4E, 0x4D, 0x4B, 0x47, 0x3C, 0x3A, 0x39, 0x36, 0x35,
    0x33, 0x2E, 0x2D, 0x2B, 0x27, 0x1E, 0x1D, 0x1B, 0x17, 0x0F,
    0xC8, 0xC4, 0xC2, 0xC1, 0x98, 0x94, 0x92, 0x91, 0x8C, 0xE0,
    0x17, 0x0F, 0x33, 0x2E, 0x2D, 0x2B, 0x27, 0x1E, 0x1D, 0x1B,
];

impl Binary {
    fn new() -> Self {
        Self { x: 0, pieces: [0; _] }
    }

    fn seek(&mut self, record: u128) {
        self.x = lcg::element(record.wrapping_add(1));
        self.make_pieces(0, CARRIED / PIECE);
    }

    fn make_pieces(&mut self, at: usize, count: usize) {
        let mut x = self.x;
        for piece in 0..count {
            let start = at + piece * PIECE;
            self.pieces[start..start + PIECE + SPILL].copy_from_slice(&x.to_be_bytes());
            x = lcg::next(x);
        }
        self.x = x;
    }

    fn fill(&mut self, out: &mut [[u8; RECORD_BYTES]]) {
        self.make_pieces(CARRIED, out.len());
        for (record, pieces) in out.iter_mut().zip(self.pieces.windows(RECORD_BYTES).step_by(PIECE))
        {
            for ((to, piece), mask) in record.iter_mut().zip(pieces).zip(&MASK) {
                *to = piece ^ mask;
            }
        }
        let used = out.len() * PIECE;
        self.pieces.copy_within(used..used + CARRIED, 0);
    }
}

/// A key of 10 printable characters, the record number in hexadecimal, a filler.
#[derive(Clone, Debug, Default)]
struct Ascii {
    record: u128,
    x: u128,
}

const HEX: &[u8; 16] = b"0123456789ABCDEF";
/// The two digits of every byte.
const HEX_PAIRS: [[u8; 2]; 256] = {
    let mut pairs = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        pairs[byte] = [HEX[byte >> 4], HEX[byte & 15]];
        byte += 1;
    }
    pairs
};
const NUMBER: usize = KEY_BYTES + 2;
const FILLER: usize = NUMBER + 32 + 2;
const END: usize = RECORD_BYTES - 2;

impl Ascii {
    fn seek(&mut self, record: u128) {
        self.record = record;
        self.x = lcg::element(record.wrapping_add(1));
    }

    fn fill(&mut self, out: &mut [[u8; RECORD_BYTES]]) {
        for record in out {
            self.put(record);
            self.record = self.record.wrapping_add(1);
            self.x = lcg::next(self.x);
        }
    }

    fn put(&self, record: &mut [u8; RECORD_BYTES]) {
        let (mut high, mut low) = ((self.x >> 64) as u64, self.x as u64);
        for character in &mut record[..8] {
            *character = b' ' + (high % 95) as u8;
            high /= 95;
        }
        for character in &mut record[8..KEY_BYTES] {
            *character = b' ' + (low % 95) as u8;
            low /= 95;
        }
        record[KEY_BYTES..NUMBER].copy_from_slice(b"  ");
        let digits = record[NUMBER..].chunks_exact_mut(2);
        for (pair, byte) in digits.zip(self.record.to_be_bytes()) {
            pair.copy_from_slice(&HEX_PAIRS[usize::from(byte)]);
        }
        record[FILLER - 2..FILLER].copy_from_slice(b"  ");
        let low = self.x as u64;
        for (at, four) in record[FILLER..END].as_chunks_mut().0.iter_mut().enumerate() {
            *four = [HEX[(low >> (48 - 4 * at)) as usize & 15]; 4];
        }
        record[END..].copy_from_slice(b"\r\n");
    }
}

/// Replaces the beginning of most keys by that of an earlier record, so that few beginnings are very
/// frequent: the 129 donors are the records 0 to 128, and record n takes the one of its bit length.
#[derive(Clone, Debug)]
struct Skew {
    kind: Kind,
    record: u128,
    x: u128,
    /// The first 48 bits of the donors' keys.
    donors: Box<[u64]>,
}

const DONORS: usize = 129;
const PREFIX: usize = 6;
const PREFIX_BITS: u64 = 48;

impl Skew {
    fn new(kind: Kind) -> Self {
        let mut records = [0; DONORS * RECORD_BYTES];
        Generator::new(0, kind, false).fill(&mut records);
        let donors = records.as_chunks::<RECORD_BYTES>().0.iter().map(prefix);
        Self { kind, record: 0, x: 0, donors: donors.collect() }
    }

    fn seek(&mut self, record: u128) {
        self.record = record;
        self.x = lcg::element(record.wrapping_add(1));
    }

    fn apply(&mut self, records: &mut [[u8; RECORD_BYTES]]) {
        for record in records {
            let random = (self.x as u64) >> 32;
            // Binary keys take some leading bits, printable ones some leading characters.
            let bits = match self.kind {
                Kind::Binary => random & 0x3F,
                Kind::Ascii => 8 * (random & 7),
            };
            let bits = if bits > PREFIX_BITS { 0 } else { bits };
            let own = (1 << (PREFIX_BITS - bits)) - 1;
            let donor = self.donors[(u128::BITS - self.record.leading_zeros()) as usize];
            let mixed = (donor & !own) | (prefix(record) & own);
            record[..PREFIX].copy_from_slice(&mixed.to_be_bytes()[2..]);
            self.record = self.record.wrapping_add(1);
            self.x = lcg::next(self.x);
        }
    }
}

/// The first 48 bits of a record.
fn prefix(record: &[u8; RECORD_BYTES]) -> u64 {
    let [a, b, c, d, e, f, ..] = *record;
    u64::from_be_bytes([0, 0, a, b, c, d, e, f])
}
