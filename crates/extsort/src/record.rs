//! Records: how they are framed in a byte stream, and how they are ordered.
//!
//! The order is by key, bytewise, and where keys are equal by the rest of the record. It is total up
//! to identical records, so equal input gives equal output whatever the threads did.

use std::cmp::Ordering;

/// How records follow each other in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Records of `record` bytes that begin with a key of `key` bytes.
    Fixed {
        /// Bytes in a record.
        record: usize,
        /// Bytes in its key.
        key: usize,
    },
    /// Two little-endian `u32` (key length, value length), then the key, then the value.
    KeyValue,
    /// Lines of text that end in a newline (the last one may lack it). For mappers only.
    Lines,
}

/// Bytes of the header of a key/value record.
pub const HEADER_BYTES: usize = 8;

/// Why bytes are not a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Offset from the start of the bytes looked at.
    pub offset: usize,
    /// The problem.
    pub reason: String,
}

impl Format {
    /// Length of the longest prefix of `bytes` (which start at a record's start) that is made of
    /// whole records of at most `max_record` bytes.
    pub fn whole_records(self, bytes: &[u8], max_record: usize) -> Result<usize, Malformed> {
        match self {
            Self::Fixed { record, .. } => Ok(bytes.len() / record * record),
            Self::Lines => {
                let end = memchr::memrchr(b'\n', bytes).map_or(0, |last| last + 1);
                let mut at = 0;
                for line in self.records(bytes) {
                    if line.len() > max_record {
                        let reason =
                            format!("a line is longer than the {max_record} bytes allowed");
                        return Err(Malformed { offset: at, reason });
                    }
                    at += line.len();
                }
                Ok(end)
            }
            Self::KeyValue => {
                let mut at = 0;
                while let Some(length) = key_value_length(&bytes[at..]) {
                    if length > max_record as u64 {
                        return Err(Malformed {
                            offset: at,
                            reason: format!(
                                "a record of {length} bytes is longer than the {max_record} allowed"
                            ),
                        });
                    }
                    if length > (bytes.len() - at) as u64 {
                        break;
                    }
                    at += length as usize;
                }
                Ok(at)
            }
        }
    }

    /// The whole records in `bytes`, one after the other.
    pub fn records(self, bytes: &[u8]) -> Records<'_> {
        Records { format: self, rest: bytes }
    }

    /// Key and rest of a record.
    pub fn split(self, record: &[u8]) -> (&[u8], &[u8]) {
        match self {
            Self::Fixed { key, .. } => record.split_at(key),
            Self::KeyValue => {
                let key = u32_at(record, 0) as usize;
                record[HEADER_BYTES..].split_at(key)
            }
            Self::Lines => (record, &[]),
        }
    }
}

/// Length of the key/value record at the start of `bytes`, if its header is whole.
fn key_value_length(bytes: &[u8]) -> Option<u64> {
    (bytes.len() >= HEADER_BYTES)
        .then(|| HEADER_BYTES as u64 + u64::from(u32_at(bytes, 0)) + u64::from(u32_at(bytes, 4)))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

/// Appends a key/value record to `out`.
pub fn push_key_value(out: &mut Vec<u8>, key: &[u8], value: &[u8]) {
    out.extend_from_slice(&(key.len() as u32).to_le_bytes());
    out.extend_from_slice(&(value.len() as u32).to_le_bytes());
    out.extend_from_slice(key);
    out.extend_from_slice(value);
}

/// Iterator over the whole records of a byte slice; what is cut off at the end is not returned.
#[derive(Clone, Debug)]
pub struct Records<'a> {
    format: Format,
    rest: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let length = match self.format {
            Format::Fixed { record, .. } => record,
            Format::KeyValue => usize::try_from(key_value_length(self.rest)?).ok()?,
            Format::Lines if self.rest.is_empty() => return None,
            Format::Lines => memchr::memchr(b'\n', self.rest).map_or(self.rest.len(), |n| n + 1),
        };
        let (record, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(record)
    }
}

/// The order of records: by key, then (unless records are grouped by key) by the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The rest of the record orders records with equal keys, so the output is deterministic.
    KeyThenRest,
    /// Records with equal keys are equal: they must reach the same reducer.
    KeyOnly,
}

impl Order {
    /// Compares two records given as key and rest.
    pub fn compare(self, a: (&[u8], &[u8]), b: (&[u8], &[u8])) -> Ordering {
        match self {
            Self::KeyThenRest => a.0.cmp(b.0).then_with(|| a.1.cmp(b.1)),
            Self::KeyOnly => a.0.cmp(b.0),
        }
    }
}

/// The first eight bytes of `bytes` from `skip` on as a big-endian number, missing ones as zero:
/// numbers compare as the bytes do, except that equal numbers say nothing.
#[inline]
pub fn prefix(bytes: &[u8], skip: usize) -> u64 {
    if let Some(word) = bytes.get(skip..).and_then(|rest| rest.first_chunk::<8>()) {
        return u64::from_be_bytes(*word);
    }
    let mut word = [0; 8];
    let rest = bytes.get(skip..).unwrap_or(&[]);
    word[..rest.len()].copy_from_slice(rest);
    u64::from_be_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn framing_finds_whole_records_only() {
        let fixed = Format::Fixed { record: 10, key: 4 };
        assert_eq!(fixed.whole_records(&[0; 25], 10), Ok(20));
        assert_eq!(fixed.records(&[0; 25]).count(), 2);
        let mut bytes = Vec::new();
        push_key_value(&mut bytes, b"key", b"value");
        push_key_value(&mut bytes, b"", b"");
        let whole = bytes.len();
        bytes.extend_from_slice(&[1, 0, 0, 0, 9]);
        assert_eq!(Format::KeyValue.whole_records(&bytes, 100), Ok(whole));
        let records: Vec<_> =
            Format::KeyValue.records(&bytes).map(|r| Format::KeyValue.split(r)).collect();
        assert_eq!(records, [(&b"key"[..], &b"value"[..]), (&b""[..], &b""[..])]);
        assert_eq!(Format::Lines.whole_records(b"a\nbc\nd", 100), Ok(5));
        assert_eq!(Format::Lines.records(b"a\nbc\nd").count(), 3);
    }

    #[test]
    fn a_record_longer_than_allowed_is_refused_where_it_begins() {
        let mut bytes = Vec::new();
        push_key_value(&mut bytes, b"k", b"v");
        bytes.extend_from_slice(&u32::MAX.to_le_bytes());
        bytes.extend_from_slice(&u32::MAX.to_le_bytes());
        let error = Format::KeyValue.whole_records(&bytes, 1000).unwrap_err();
        assert_eq!(error.offset, 10);
        assert!(Format::Lines.whole_records(&[b'x'; 50], 49).is_err());
    }

    #[test]
    fn prefixes_order_as_bytes() {
        assert_eq!(prefix(b"abcdefgh", 0), 0x6162_6364_6566_6768);
        assert_eq!(prefix(b"ab", 1), 0x6200_0000_0000_0000);
        assert_eq!(prefix(b"ab", 5), 0);
    }
}
