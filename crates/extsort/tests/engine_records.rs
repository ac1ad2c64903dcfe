//! The record readers on untrusted bytes. `fuzz/` holds the same checks as fuzz targets.
#![allow(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod common;

use std::cmp::Ordering;

use extsort::{Format, HEADER_BYTES, prefix, push_key_value};
use proptest::prelude::*;

fn formats() -> impl Strategy<Value = Format> {
    prop_oneof![
        (1_usize..20, 1_usize..20)
            .prop_map(|(record, key)| Format::Fixed { record, key: key.min(record) }),
        Just(Format::KeyValue),
        Just(Format::Lines),
    ]
}

/// Bytes in which lengths and newlines are likely.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![6 => Just(0_u8), 3 => 0_u8..12, 1 => any::<u8>(), 1 => Just(b'\n')];
    prop::collection::vec(byte, 0..400)
}

proptest! {
    #![proptest_config(common::config(4000, 31))]

    #[test]
    fn whole_records_are_what_the_iterator_yields(format in formats(), bytes in bytes(), max_record in 20_usize..300) {
        let records: Vec<&[u8]> = format.records(&bytes).collect();
        for &record in &records {
            let (key, rest) = format.split(record);
            let header = if format == Format::KeyValue { HEADER_BYTES } else { 0 };
            prop_assert_eq!(key.len() + rest.len() + header, record.len());
        }
        let mut start = 0;
        for &record in &records {
            prop_assert_eq!(&bytes[start..start + record.len()], record);
            start += record.len();
        }
        match format.whole_records(&bytes, max_record) {
            Ok(whole) => {
                let all: usize = format.records(&bytes[..whole]).map(<[u8]>::len).sum();
                prop_assert_eq!(all, whole);
                prop_assert!(format.records(&bytes[..whole]).all(|r| r.len() <= max_record || format == Format::Lines));
                // The remainder is less than a record.
                if format != Format::Lines {
                    prop_assert_eq!(format.records(&bytes[whole..]).count(), 0);
                }
            }
            Err(malformed) => {
                prop_assert!(malformed.offset <= bytes.len());
                // Everything before the fault is fine.
                prop_assert_eq!(format.whole_records(&bytes[..malformed.offset], max_record), Ok(malformed.offset));
            }
        }
    }

    /// A reader that gets its bytes in pieces and carries the rest over finds the same records.
    #[test]
    fn pieces_make_no_difference(format in formats(), bytes in bytes(), pieces in prop::collection::vec(1_usize..90, 1..40)) {
        const MOST: usize = 1000;
        let (mut carry, mut found, mut at) = (Vec::new(), Vec::new(), 0);
        let mut fault = None;
        for piece in pieces.iter().cycle() {
            if at == bytes.len() || fault.is_some() { break }
            let end = bytes.len().min(at + piece);
            carry.extend_from_slice(&bytes[at..end]);
            at = end;
            match format.whole_records(&carry, MOST) {
                Ok(whole) => { found.extend(format.records(&carry[..whole]).map(<[u8]>::to_vec)); carry.drain(..whole); }
                Err(malformed) => fault = Some(at - carry.len() + malformed.offset),
            }
        }
        let expected = format.whole_records(&bytes, MOST);
        match (fault, expected) {
            (None, Ok(whole)) => {
                let all: Vec<_> = format.records(&bytes[..whole]).map(<[u8]>::to_vec).collect();
                prop_assert_eq!(found, all);
                prop_assert_eq!(&bytes[whole..], &carry[..]);
            }
            (Some(offset), Err(malformed)) => prop_assert_eq!(offset, malformed.offset),
            (fault, expected) => prop_assert!(false, "{fault:?} in pieces, {expected:?} as a whole"),
        }
    }

    #[test]
    fn pairs_come_back_as_they_were(pairs in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..9), prop::collection::vec(any::<u8>(), 0..9)), 0..40)) {
        let mut bytes = Vec::new();
        for (key, value) in &pairs { push_key_value(&mut bytes, key, value); }
        let found: Vec<_> = Format::KeyValue.records(&bytes).map(|r| { let (k, v) = Format::KeyValue.split(r); (k.to_vec(), v.to_vec()) }).collect();
        prop_assert_eq!(found, pairs);
    }

    #[test]
    fn prefixes_never_contradict_the_order(a in prop::collection::vec(0_u8..3, 0..20), b in prop::collection::vec(0_u8..3, 0..20), skip in 0_usize..22) {
        let (x, y) = (prefix(&a, skip), prefix(&b, skip));
        let tail = |bytes: &[u8]| bytes.get(skip..).unwrap_or_default().to_vec();
        if x != y {
            prop_assert_eq!(x.cmp(&y), tail(&a).cmp(&tail(&b)));
        }
        if tail(&a).cmp(&tail(&b)) == Ordering::Less { prop_assert!(x <= y); }
    }
}
