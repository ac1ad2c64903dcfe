//! Any bytes in any framing: no panic, and both readers find the same records.

use arbitrary::Arbitrary;
use extsort::Format;

/// A framing of records, as in [`Format`].
#[derive(Arbitrary, Debug)]
pub enum Framing {
    Fixed { record: u8, key: u8 },
    KeyValue,
    Lines,
}

/// A framing, the longest record, the length of pieces, and the bytes.
pub type Input<'a> = (Framing, u16, u8, &'a [u8]);

/// Reads the bytes as records, whole and in pieces.
pub fn run((framing, max_record, piece, bytes): Input) {
    let format = match framing {
        Framing::Fixed { record, key } => {
            let record = usize::from(record).max(1);
            Format::Fixed { record, key: usize::from(key).clamp(1, record) }
        }
        Framing::KeyValue => Format::KeyValue,
        Framing::Lines => Format::Lines,
    };
    let max_record = usize::from(max_record).max(256);
    let mut covered = 0;
    for record in format.records(bytes) {
        let (key, rest) = format.split(record);
        assert!(key.len() + rest.len() <= record.len());
        assert_eq!(&bytes[covered..covered + record.len()], record);
        covered += record.len();
    }
    let whole = format.whole_records(bytes, max_record);
    match &whole {
        Ok(whole) => {
            let lengths = format.records(&bytes[..*whole]).map(<[u8]>::len);
            assert_eq!(lengths.sum::<usize>(), *whole);
        }
        Err(malformed) => {
            let before = format.whole_records(&bytes[..malformed.offset], max_record);
            assert_eq!(before, Ok(malformed.offset));
        }
    }
    // The same bytes in pieces, the rest of one carried over to the next.
    let (mut carry, mut done) = (Vec::new(), 0);
    for piece in bytes.chunks(usize::from(piece).max(1)) {
        carry.extend_from_slice(piece);
        match format.whole_records(&carry, max_record) {
            Ok(found) => {
                carry.drain(..found);
                done += found;
            }
            Err(malformed) => {
                // A reader of lines only reports errors at the end of a piece.
                if format != Format::Lines {
                    assert_eq!(whole.map_err(|m| m.offset), Err(done + malformed.offset));
                }
                return;
            }
        }
    }
    if let Ok(whole) = whole {
        assert_eq!(done, whole);
    }
}
