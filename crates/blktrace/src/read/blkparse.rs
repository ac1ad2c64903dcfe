//! blkparse's text in its default format, a line an event:
//!
//! ```text
//!   8,32   5    13561    43.740003038 13615  D   W 52090704 + 560 [java]
//! ```
//!
//! device, processor, number, seconds, process, action, what the request does, then by the action.
//! Source: blktrace 1.3, `blkparse_fmt.c`, `process_default`; Linux, `blk_fill_rwbs`.

use crate::read::event::{Device, Event, Kind, TIME_LIMIT_NS};
use crate::read::fields::{Fields, what};
use crate::read::tally::{CPUS, NOTE, Tally};

/// Counts the event on a line, which ends with a line feed; `None` if there is none on it.
pub fn event(line: &[u8], tally: &mut Tally, events: &mut Vec<Event>) -> Option<()> {
    let mut fields = Fields::of(line, 0);
    let (major, minor, cpu) = match fields.device_columns() {
        Some(columns) => columns,
        None => numbered(&mut fields)?,
    };
    let cpu = Some(cpu).filter(|cpu| *cpu < u64::from(CPUS))? as u32;
    let (number, time_ns) = match fields.columns() {
        Some(columns) => columns,
        None => (fields.number()?, timed(&mut fields)?),
    };
    let device = Device::of(major, minor)?;
    let word = fields.word();
    let (action, kind) = action(word)?;
    let Some(kind) = kind else {
        tally.record(action, time_ns);
        if action != NOTE {
            tally.sequences.take(device, cpu, number as u32);
        }
        return Some(());
    };
    let (operation, flags) = what(fields.word())?;
    let event = Event::new(time_ns, kind, device, operation).with(flags);
    fields.spaces();
    let event = match fields.here() {
        b'0'..=b'9' => fields.request(kind, event)?,
        // `(40 00 ...)`: a command that was passed through and is done.
        b'(' => event.passed_through(),
        // `[process]`: it has no data.
        _ => event,
    };
    tally.record(action, time_ns);
    tally.sequences.take(device, cpu, number as u32);
    events.push(event);
    Some(())
}

/// The numbers of a device and of a processor.
fn numbered(fields: &mut Fields) -> Option<(u64, u64, u64)> {
    let major = fields.number()?;
    fields.expect(b',')?;
    Some((major, fields.number()?, fields.number()?))
}

/// The time, and a process behind it.
fn timed(fields: &mut Fields) -> Option<u64> {
    let time_ns = fields.time_ns().filter(|time| *time < TIME_LIMIT_NS)?;
    fields.number()?;
    Some(time_ns)
}

/// The number of an action in blktrace's format, and which kind of event it is.
#[inline]
fn action(word: &[u8]) -> Option<(usize, Option<Kind>)> {
    Some(match *word {
        [b'Q'] => (1, Some(Kind::Queue)),
        [b'M'] => (2, Some(Kind::BackMerge)),
        [b'F'] => (3, Some(Kind::FrontMerge)),
        [b'G'] => (4, None),
        [b'S'] => (5, None),
        [b'R'] => (6, Some(Kind::Requeue)),
        [b'D'] => (7, Some(Kind::Issue)),
        [b'C'] => (8, Some(Kind::Complete)),
        [b'P'] => (9, None),
        [b'U'] => (10, None),
        [b'T'] | [b'U', b'T'] => (11, None),
        [b'I'] => (12, None),
        [b'X'] => (13, Some(Kind::Split)),
        [b'B'] => (14, None),
        [b'A'] => (15, None),
        [b'm'] => (NOTE, None),
        _ => return None,
    })
}

/// Whether what was written around events has begun: the summary behind them.
pub fn begins_summary(words: &[u8]) -> bool {
    // `CPU0 (sda):`, or `Total (sda):` where there was one processor.
    words.ends_with(b":") && (words.starts_with(b"CPU") || words.starts_with(b"Total"))
}

/// Whether a line is blkparse's own words before the events.
pub fn is_talk(words: &[u8]) -> bool {
    words.starts_with(b"Input file")
}
