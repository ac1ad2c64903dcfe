//! Tracepoints of the block layer as ftrace and `perf script` print them:
//!
//! ```text
//!  Executor task l-1310    [001] .....  1324.788895: block_rq_issue: 7,4 RA 131072 () 295424 + 256 be,0,4 [Executor task l]
//!  fio  4711 [001]   746.975878705:     block:block_rq_complete: 7,1 RS () 0 + 128 none,0,0 [0]
//! ```
//!
//! A process name may contain anything, so the reader searches for the event's name with a time
//! before it. It skips the text between the sectors and the last bracket, which differs between
//! kernels. Source: Linux, `include/trace/events/block.h`.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

use crate::read::event::{Device, Event, Kind, TIME_LIMIT_NS};
use crate::read::fields::{Fields, what};
use crate::read::tally::Tally;

static NAMES: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(b"block_"));

/// Counts the event on a line, which ends with a line feed; `None` if there is none on it.
pub fn event(line: &[u8], tally: &mut Tally, events: &mut Vec<Event>) -> Option<()> {
    let (at, time_ns) = begun(line)?;
    let mut fields = Fields::of(line, at);
    let (action, kind) = action(fields.word().strip_suffix(b":")?);
    let Some(kind) = kind else {
        tally.record(action, time_ns);
        return Some(());
    };
    let major = fields.number()?;
    fields.expect(b',')?;
    let device = Device::of(major, fields.number()?)?;
    let (operation, flags) = what(fields.word())?;
    let event = Event::new(time_ns, kind, device, operation).with(flags);
    // A request begins with its bytes and, in brackets, the command that is passed through, if
    // there is one: `131072 ()`, `(12 00 ...)`.
    fields.spaces();
    let mut request = fields.clone();
    if request.here() != b'(' {
        request.number()?;
        request.spaces();
    }
    let passed = if request.here() == b'(' {
        fields = request;
        fields.expect(b'(')?;
        let empty = fields.here() == b')';
        fields.skip_brackets()?;
        !empty
    } else {
        false
    };
    let event = fields.request(kind, event)?;
    events.push(if passed { event.passed_through() } else { event });
    tally.record(action, time_ns);
    Some(())
}

/// Whether a line is not an event of the block layer, and no damage either: what ftrace and perf say
/// themselves, and other tracepoints. What was lost is counted.
pub fn is_talk(line: &[u8], tally: &mut Tally) -> bool {
    let after = |words: &[u8]| {
        let at = memmem::find(line, words)? + words.len();
        Some(Fields::of(line, at))
    };
    // ftrace: `CPU:1 [LOST 63 EVENTS]`; perf: `x 1 [000] 1.5: PERF_RECORD_LOST lost 63`
    let lost = after(b"[LOST ").or_else(|| after(b"PERF_RECORD_LOST lost "));
    if let Some(lost) = lost.and_then(|mut fields| fields.number()) {
        tally.sequences.lose(lost);
        return true;
    }
    // `# entries-in-buffer/entries-written: 799998/800000   #P:2`
    if let Some(mut fields) = after(b"entries-written:") {
        let kept = fields.number();
        let written = fields.expect(b'/').and_then(|()| fields.number());
        let lost = written.zip(kept).map_or(0, |(written, kept)| written.saturating_sub(kept));
        tally.sequences.lose(lost);
        return true;
    }
    let text = line.trim_ascii();
    let others = || memmem::find_iter(line, b": ").any(|at| time_before(line, at + 2).is_some());
    text.is_empty() || text.starts_with(b"#") || begun(line).is_none() && others()
}

/// Where on a line the name of an event of the block layer begins, and its time.
fn begun(line: &[u8]) -> Option<(usize, u64)> {
    NAMES.find_iter(line).find_map(|at| Some((at, time_before(line, at)?)))
}

/// How many digits the times of `head` have behind the point; `None` if there is no event in it.
pub fn digits(head: &[u8]) -> Option<usize> {
    let (at, _) = begun(head)?;
    let time = time_token(&head[..at])?;
    Some(time.len() - 1 - time.iter().position(|byte| *byte == b'.')?)
}

/// The time that stands before the event's name, which begins at `at`.
fn time_before(line: &[u8], at: usize) -> Option<u64> {
    let token = time_token(&line[..at])?;
    Fields::of(token, 0).time_ns().filter(|time_ns| *time_ns < TIME_LIMIT_NS)
}

fn time_token(before: &[u8]) -> Option<&[u8]> {
    let before = before.strip_suffix(b"block:").unwrap_or(before);
    let before = before.trim_ascii_end().strip_suffix(b":")?;
    let other = |byte: &u8| !byte.is_ascii_digit() && *byte != b'.';
    let start = before.iter().rposition(other).map_or(0, |at| at + 1);
    Some(&before[start..])
}

/// The number of an event in blktrace's format, and which kind it is.
/// 0 is that of all others.
#[inline]
pub fn action(name: &[u8]) -> (usize, Option<Kind>) {
    match name {
        b"block_bio_queue" => (1, Some(Kind::Queue)),
        b"block_bio_backmerge" | b"block_rq_merge" => (2, Some(Kind::BackMerge)),
        b"block_bio_frontmerge" => (3, Some(Kind::FrontMerge)),
        b"block_getrq" => (4, None),
        b"block_rq_requeue" => (6, Some(Kind::Requeue)),
        b"block_rq_issue" => (7, Some(Kind::Issue)),
        b"block_rq_complete" | b"block_bio_complete" => (8, Some(Kind::Complete)),
        b"block_plug" => (9, None),
        b"block_unplug" => (10, None),
        b"block_rq_insert" => (12, None),
        b"block_split" => (13, Some(Kind::Split)),
        b"block_bio_bounce" => (14, None),
        b"block_bio_remap" | b"block_rq_remap" => (15, None),
        _ => (0, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::event::{FAILED, METADATA, Operation, READAHEAD, SYNC};

    fn one(line: &str) -> Event {
        let (mut tally, mut events) = (Tally::default(), Vec::new());
        let found = event(format!("{line}\n").as_bytes(), &mut tally, &mut events);
        assert_eq!((found, tally.records(), events.len()), (Some(()), 1, 1), "{line}");
        events[0]
    }

    #[test]
    fn lines_of_every_kernel_and_of_both_programs_are_read() {
        let device = Device::of(7, 4).unwrap();
        let issue = Event::new(1_324_788_895_000, Kind::Issue, device, Operation::Read)
            .at(295_424, 256)
            .with(READAHEAD);
        let head =
            " Executor task l-1310    [001] .....  1324.788895: block_rq_issue: 7,4 RA 131072 ()";
        assert_eq!(one(&format!("{head} 295424 + 256 be,0,4 [Executor task l]")), issue);
        assert_eq!(one(&format!("{head} 295424 + 256 [Executor task l]")), issue);
        assert_eq!(one(&format!("{head} 295424 + 256 rt,4 |0| [a] b]")), issue);
        let perf = "fio  4711 [001]  1324.788895000:       block:block_rq_issue: 7,4 RA 131072 ()";
        assert_eq!(one(&format!("{perf} 295424 + 256 0x2,0,4 [fio]")), issue);
        let odd = "a: block_b: 1-1 [000] d..1. 1324.788895: block_rq_issue: 7,4 RA 131072 () 295424 + 256 [x]";
        assert_eq!(one(odd), issue);
    }

    #[test]
    fn every_event_has_its_kind() {
        let of = |tail: &str| {
            let event = one(&format!("x-1 [000] ..... 1.5: {tail}"));
            (event.kind(), event.operation, event.sector, event.sectors, event.flags)
        };
        let (read, write) = (Operation::Read, Operation::Write);
        assert_eq!(of("block_bio_queue: 7,4 R 8 + 16 [x]"), (Kind::Queue, read, 8, 16, 0));
        assert_eq!(
            of("block_bio_backmerge: 7,4 WM 8 + 16 [x]"),
            (Kind::BackMerge, write, 8, 16, METADATA)
        );
        assert_eq!(of("block_split: 7,4 R 8 / 24 [x]"), (Kind::Split, read, 8, 16, 0));
        assert_eq!(
            of("block_rq_complete: 7,4 WS () 8 + 16 [0]"),
            (Kind::Complete, write, 8, 16, SYNC)
        );
        let failed = (Kind::Complete, write, 8, 16, FAILED);
        assert_eq!(of("block_rq_complete: 7,4 W () 8 + 16 none,0,0 [-5]"), failed);
        assert_eq!(of("block_rq_requeue: 7,4 R () 8 + 16 [0]"), (Kind::Requeue, read, 8, 16, 0));
        let passed = (Kind::Issue, Operation::Other, 0, 0, 0);
        assert_eq!(of("block_rq_issue: 7,4 N 36 (12 00 00) 0 + 0 [x]"), passed);
        let flush = (Kind::Issue, Operation::Flush, 0, 0, 0);
        assert_eq!(of("block_rq_issue: 7,4 FF 0 () 0 + 0 [x]"), flush);
    }

    #[test]
    fn other_lines_are_no_damage_and_what_was_lost_is_counted() {
        let mut tally = Tally::default();
        for line in [
            "# tracer: nop",
            "",
            "CPU:1 [LOST 63 EVENTS]",
            "fio 4711 [001] 1.500000000: PERF_RECORD_LOST lost 5",
            "# entries-in-buffer/entries-written: 7/10   #P:2",
            "x-1 [000] ..... 1.5: sched_switch: prev_comm=x",
            "x-1 [000] ..... 1.5: ext4_es_insert_extent: dev 7,4 ino 12",
        ] {
            assert!(is_talk(format!("{line}\n").as_bytes(), &mut tally), "{line}");
        }
        assert_eq!((tally.sequences.missing, tally.sequences.gaps), (71, 3));
        for line in [
            "hello: you",
            "x-1 [000] ..... 1.5: block_rq_issue: 7,4 Y 131072 () 8 + 16 [x]",
            "x-1 [000] ..... 1.5: block_rq_issue: 7,4 R 131072 () 8 +",
        ] {
            assert!(!is_talk(format!("{line}\n").as_bytes(), &mut tally), "{line}");
        }
    }

    #[test]
    fn digits_behind_the_point_are_counted() {
        assert_eq!(digits(b"# x\n x-1 [000] ..... 1.123456: block_plug: [x]\n"), Some(6));
        assert_eq!(digits(b"x 1 [000] 1.123456789: block:block_plug: [x]\n"), Some(9));
        assert_eq!(digits(b"8,0 0 1 0.1 1 D R 8 + 8 [block_x]\n"), None);
    }
}
