//! Text, a line an event: what its lines are, and where they end.

use memchr::memchr;

use super::{blkparse, tracepoints};
use crate::read::event::Event;
use crate::read::tally::Tally;

/// A longer line is no event.
const LINE_BYTES: usize = 64 << 10;
/// So many lines at the beginning of a file are looked at for one that is an event.
const LINES_LOOKED_AT: usize = 100;

/// Who wrote a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// blkparse in its default format.
    Blkparse,
    /// ftrace or perf, with so many digits behind the point of a time.
    Tracepoints {
        /// 6 or 9.
        digits: usize,
    },
}

impl Dialect {
    /// Who wrote the text that begins with `head`; `None` if it has no events.
    fn of(head: &[u8]) -> Option<Self> {
        let (mut tally, mut events) = (Tally::default(), Vec::new());
        let whole =
            head.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n"));
        whole.take(LINES_LOOKED_AT).find_map(|line| {
            let (tally, events) = (&mut tally, &mut events);
            if blkparse::event(line, tally, events).is_some() {
                return Some(Self::Blkparse);
            }
            tracepoints::event(line, tally, events)?;
            Some(Self::Tracepoints { digits: tracepoints::digits(line)? })
        })
    }
}

/// Reads lines.
#[derive(Debug)]
pub struct Decoder {
    dialect: Dialect,
    lines: u64,
    /// Whether what follows is the rest of a line that is too long.
    in_long_line: bool,
    /// Whether blkparse's summary has begun, which stands behind the events.
    in_summary: bool,
}

impl Decoder {
    /// A reader of text that begins with `head`; `None` if that has no events.
    pub fn of(head: &[u8]) -> Option<Self> {
        let dialect = Dialect::of(head)?;
        Some(Self { dialect, lines: 0, in_long_line: false, in_summary: false })
    }

    /// The name of the format.
    pub fn name(&self) -> &'static str {
        match self.dialect {
            Dialect::Blkparse => "blkparse text",
            Dialect::Tracepoints { digits: ..9 } => "tracepoints as text, times to the microsecond",
            Dialect::Tracepoints { .. } => "tracepoints as text",
        }
    }

    /// Appends the events of all whole lines in `bytes`; how many bytes are done with. At the
    /// file's end a line need not be whole.
    pub fn decode(
        &mut self,
        bytes: &[u8],
        at_end: bool,
        tally: &mut Tally,
        events: &mut Vec<Event>,
    ) -> usize {
        let mut at = 0;
        while let Some(length) = memchr(b'\n', &bytes[at..]) {
            let line = &bytes[at..=at + length];
            at += length + 1;
            if self.in_long_line {
                self.in_long_line = false;
            } else {
                self.take(line, tally, events);
            }
        }
        let rest = &bytes[at..];
        if at_end && !rest.is_empty() && !self.in_long_line {
            self.take(&[rest, b"\n"].concat(), tally, events);
        } else if rest.len() >= LINE_BYTES && !self.in_long_line {
            self.in_long_line = true;
            self.lines += 1;
            self.unread(tally);
        }
        if at_end || self.in_long_line { bytes.len() } else { at }
    }

    fn take(&mut self, line: &[u8], tally: &mut Tally, events: &mut Vec<Event>) {
        self.lines += 1;
        let found = match self.dialect {
            Dialect::Blkparse => blkparse::event(line, tally, events),
            Dialect::Tracepoints { .. } => tracepoints::event(line, tally, events),
        };
        if found.is_none() && !self.is_talk(line, tally) {
            self.unread(tally);
        }
    }

    /// Whether a line without an event is no damage.
    #[cold]
    fn is_talk(&mut self, line: &[u8], tally: &mut Tally) -> bool {
        if self.dialect != Dialect::Blkparse {
            return tracepoints::is_talk(line, tally);
        }
        let words = line.trim_ascii();
        self.in_summary |= blkparse::begins_summary(words);
        self.in_summary || words.is_empty() || blkparse::is_talk(words)
    }

    #[cold]
    fn unread(&self, tally: &mut Tally) {
        tally.unread_lines += 1;
        tally.first_unread_line.get_or_insert(self.lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::event::{
        Device, FAILED, FLUSHED, FUA, Kind, METADATA, Operation, READAHEAD, SYNC,
    };
    use crate::read::tally::NOTE;

    fn blkparse() -> Decoder {
        let dialect = Dialect::Blkparse;
        Decoder { dialect, lines: 0, in_long_line: false, in_summary: false }
    }

    fn read(text: &str) -> (Tally, Vec<Event>) {
        let (mut tally, mut events) = (Tally::default(), Vec::new());
        let done = blkparse().decode(text.as_bytes(), true, &mut tally, &mut events);
        assert_eq!(done, text.len());
        (tally, events)
    }

    fn one(line: &str) -> Event {
        let (tally, events) = read(line);
        assert_eq!((tally.records(), tally.unread_lines, events.len()), (1, 0, 1), "{line}");
        events[0]
    }

    #[test]
    fn the_fields_of_an_event_are_read_as_blkparse_writes_them() {
        let line = "  8,32   5    13561    43.740003038 13615  D   W 52090704 + 560 [java]\n";
        let device = Device::of(8, 32).unwrap();
        let event = Event::new(43_740_003_038, Kind::Issue, device, Operation::Write);
        assert_eq!(one(line), event.at(52_090_704, 560));
        assert_eq!(one(&line.replace(' ', "\t")), event.at(52_090_704, 560));
        assert_eq!(one(line.trim_end()), event.at(52_090_704, 560)); // the file's last line
        assert_eq!(device.to_string(), "8,32");
    }

    #[test]
    fn columns_may_be_too_narrow_for_what_is_in_them() {
        let device = Device::of(8, 32).unwrap();
        let expected = |ns| Event::new(ns, Kind::Complete, device, Operation::Read).at(1 << 40, 8);
        for (columns, ns) in [
            ("    1361    43.740003038  1361 ", 43_740_003_038),
            ("12345678 12345.000000001 12345 ", 12_345_000_000_001),
            ("123456789 12345.000000001 12345 ", 12_345_000_000_001),
            ("12345678 123456.000000001 12345 ", 123_456_000_000_001),
            ("12345678 12345.000000001 123456 ", 12_345_000_000_001),
            ("    1361    43.74 1361 ", 43_740_000_000),
            ("    1361    43.740003038 1 ", 43_740_003_038),
        ] {
            let line = format!("  8,32   5 {columns} C   R 1099511627776 + 8 [0]\n");
            assert_eq!(one(&line), expected(ns), "{line}");
        }
        for (head, number) in [
            ("  8,32   5", (8, 32)),
            (" 18,3    5", (18, 3)),
            ("259,1    5", (259, 1)),
            ("259,128  5", (259, 128)),
            ("259,1024 5", (259, 1024)),
            ("1259,1   5", (1259, 1)),
            ("  8,32  15", (8, 32)),
            ("  8,32   115", (8, 32)),
            ("8,32 5", (8, 32)),
        ] {
            let event = one(&format!("{head}     1361    43.740003038  1361 C   R 8 + 8 [0]\n"));
            assert_eq!(event.device, Device::of(number.0, number.1).unwrap(), "{head}");
        }
        for head in
            ["  8,x2   5", "  8;32   5", "  8,32  x5", "  8,3 2  5", " x8,32   5", "  8,     5"]
        {
            let (tally, _) =
                read(&format!("{head}     1361    43.740003038  1361 C   R 8 + 8 [0]\n"));
            assert_eq!(tally.unread_lines, 1, "{head}");
        }
        for columns in ["    13x1    43.740003038  1361 ", "    1361    43.74000303x  1361 "] {
            let (tally, _) = read(&format!("  8,32   5 {columns} C   R 8 + 8 [0]\n"));
            assert_eq!(tally.unread_lines, 1, "{columns}");
        }
    }

    #[test]
    fn letters_are_read_by_their_place() {
        let of = |letters: &str| {
            let event = one(&format!("8,0 0 1 0.000000001 1 D {letters} 8 + 8 [x]\n"));
            (event.operation, event.flags)
        };
        assert_eq!(of("R"), (Operation::Read, 0));
        assert_eq!(of("RA"), (Operation::Read, READAHEAD));
        assert_eq!(of("RSM"), (Operation::Read, SYNC | METADATA));
        assert_eq!(of("WFS"), (Operation::Write, FUA | SYNC));
        assert_eq!(of("FWFSM"), (Operation::Write, FLUSHED | FUA | SYNC | METADATA));
        assert_eq!(of("DE"), (Operation::Discard, 0));
        assert_eq!(of("ZA"), (Operation::Write, 0));
        assert_eq!(of("ZRA"), (Operation::Other, READAHEAD));
        assert_eq!(of("WZ"), (Operation::Other, 0));
        assert_eq!(of("FN"), (Operation::Flush, 0));
        assert_eq!(of("FS"), (Operation::Flush, SYNC));
        assert_eq!(of("N"), (Operation::Other, 0));
        assert_eq!(of("WSU"), (Operation::Write, SYNC));
    }

    #[test]
    fn every_kind_of_tail_is_read() {
        let at = |tail: &str| {
            let event = one(&format!("259,1 3 1 0.000000001 1 {tail}\n"));
            (event.kind(), event.sector, event.sectors, event.operation, event.flags & FAILED != 0)
        };
        let (read, write, flush) = (Operation::Read, Operation::Write, Operation::Flush);
        let other = Operation::Other;
        assert_eq!(at("Q R 8 + 16 [a + 3 [b]]"), (Kind::Queue, 8, 16, read, false));
        assert_eq!(at("C R 8 + 16 [0]"), (Kind::Complete, 8, 16, read, false));
        assert_eq!(at("C R 8 + 16 (    1234) [0]"), (Kind::Complete, 8, 16, read, false));
        assert_eq!(at("C W 8 + 16 [65531]"), (Kind::Complete, 8, 16, write, true));
        assert_eq!(at("C W 8 + 16 [-5]"), (Kind::Complete, 8, 16, write, true));
        assert_eq!(
            at("C WS 18446744073709551615 + 0 [0]"),
            (Kind::Complete, u64::MAX, 0, write, false)
        );
        assert_eq!(at("C FN 0 [0]"), (Kind::Complete, 0, 0, flush, false));
        assert_eq!(at("D FN [jbd2/sda1-8]"), (Kind::Issue, 0, 0, flush, false));
        assert_eq!(at("X R 8 / 24 [dd]"), (Kind::Split, 8, 16, read, false));
        assert_eq!(
            at("D R 36 (12 00 00 00 24 00 ..) [smartctl]"),
            (Kind::Issue, 0, 0, other, false)
        );
        assert_eq!(at("C R (12 00 00 00 24 00 ..) [0]"), (Kind::Complete, 0, 0, other, false));
        assert_eq!(at("F W 8 + 8 [(null)]"), (Kind::FrontMerge, 8, 8, write, false));
    }

    #[test]
    fn what_the_analysis_does_not_need_is_counted() {
        let text = "8,0 0 1 0.1 1 P N [dd]\n8,0 0 2 0.2 1 U N [dd] 1\n\
                    8,0 0 3 0.3 1 A R 8 + 8 <- (8,1) 0\n8,0 0 4 0.4 1 G R 8 + 8 [dd]\n\
                    8,0 0 0 0.5 0 m N cfq1234 insert_request\n8,0 0 7 0.6 1 I R 8 + 8 [dd]\n";
        let (tally, events) = read(text);
        assert_eq!((tally.records(), events.len(), tally.unread_lines), (6, 0, 0));
        assert_eq!(tally.actions[NOTE], 1);
        assert_eq!((tally.first_ns, tally.last_ns), (100_000_000, 600_000_000));
        assert_eq!((tally.sequences.gaps, tally.sequences.missing), (1, 2));
    }

    #[test]
    fn blkparses_summary_is_no_damage_and_other_lines_are() {
        let event = "8,0 0 1 0.1 1 D R 8 + 8 [dd]\n";
        let summary = "CPU0 (sda):\n Reads Queued: 1, 4KiB\n\nThroughput (R/W): 1KiB/s\n";
        let (tally, events) = read(&format!("Input file sda.blktrace.0 added\n{event}\n{summary}"));
        assert_eq!((tally.records(), events.len(), tally.unread_lines), (1, 1, 0));
        let bad = [
            "hello",
            "8,0 0 1 0.1",
            "8,0 9999 1 0.1 1 D R 8 + 8 [dd]",
            "8,0 0 1 0.1 1 D R 8 - 8 [dd]",
            "8,0 0 1 0.1 1 D Y 8 + 8 [dd]",
            "8,0 0 1 0.1 1 D R 99999999999999999999999 + 8 [dd]",
            "8,0 0 1 0.1 1 D R 18446744073709551615 + 8 [dd]",
            "8,0 0 1 0.1234567890 1 D R 8 + 8 [dd]",
            "9999,0 0 1 0.1 1 D R 8 + 8 [dd]",
            "8,0 0 1 99999999999999.0 1 D R 8 + 8 [dd]",
            "\u{0}\u{1}",
        ];
        for line in bad {
            let (tally, events) = read(&format!("{event}{line}\n{event}"));
            assert_eq!((tally.unread_lines, tally.first_unread_line), (1, Some(2)), "{line}");
            assert_eq!(events.len(), 2, "{line}");
        }
    }

    #[test]
    fn a_line_without_end_is_left_out_in_bounded_memory() {
        let (mut tally, mut events) = (Tally::default(), Vec::new());
        let mut decoder = blkparse();
        let part = vec![b'x'; LINE_BYTES];
        for _ in 0..3 {
            assert_eq!(decoder.decode(&part, false, &mut tally, &mut events), part.len());
        }
        let end = b"x\n8,0 0 1 0.1 1 D R 8 + 8 [dd]\n";
        assert_eq!(decoder.decode(end, true, &mut tally, &mut events), end.len());
        assert_eq!((tally.unread_lines, tally.first_unread_line, events.len()), (1, Some(1), 1));
    }
}
