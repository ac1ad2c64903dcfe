//! When requests were made, where on the device, and how long they took, in finer cells than a report has
//! and in coarser ones: for a chart that is zoomed into.
//!
//! The file is a line of JSON with the places of the others, then a line for the cells of each
//! chart at each width. A part of a chart takes one line to read, however long the trace was.

use std::io::{self, Write};

use serde::Serialize;

use crate::attribute::classes::{Class, Phase};
use crate::attribute::files::Files;
use crate::attribute::whose::TimesReport;
use crate::read::event::{Device, Event, Operation};
use crate::summary::histogram::place;
use crate::summary::raster::{ROW_BITS, Raster};
use crate::summary::requests::PositionReport;

/// The finest cells along time, at most.
const FINEST: usize = 4096;
/// How many widths there are, and the logarithm of how much wider each is than the one before.
const WIDTHS: usize = 3;
const STEP: u32 = 2;
/// So many kinds of requests have charts, those that were seen first: of each at most 8 MB.
const KINDS: usize = 16;

/// Requests that have charts of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct What {
    /// The disk.
    pub device: Device,
    /// Their operation.
    pub operation: Operation,
    /// The class of their files and the side of a shuffle; `None` if the trace does not show them.
    pub files: Option<(Class, Option<Phase>)>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Heat {
    /// Names of files, if the trace has them.
    pub files: Option<Files>,
    kinds: Vec<(What, Charts)>,
}

#[derive(Clone, Debug, Default)]
struct Charts {
    places: Raster<FINEST>,
    times: Raster<FINEST>,
}

/// The entry of the first line for each of the others.
#[derive(Serialize)]
struct Line {
    device: String,
    operation: &'static str,
    file_class: Option<Class>,
    phase: Option<Phase>,
    /// `places` or `times`.
    chart: &'static str,
    column_s: f64,
    /// Where it begins, from the end of the first line on.
    offset: usize,
    bytes: usize,
}

impl Heat {
    /// A request for the file with a number was issued, `since_start_ns` after the trace began.
    pub fn issue(&mut self, what: What, event: &Event, file: u32, since_start_ns: u64) {
        if let Some(charts) = self.charts(what) {
            charts.places.take(since_start_ns, event.sector, event.sectors, file);
        }
    }

    /// A request for the file with a number was done, `since_start_ns` after the trace began, and so long
    /// after it was issued.
    pub fn complete(&mut self, what: What, issued_ns: u64, file: u32, since_start_ns: u64) {
        if let Some(charts) = self.charts(what) {
            charts.times.take(since_start_ns, place(issued_ns) << ROW_BITS, 0, file);
        }
    }

    fn charts(&mut self, what: What) -> Option<&mut Charts> {
        let known = self.kinds.iter().position(|(known, _)| *known == what);
        if known.is_none() && self.kinds.len() < KINDS {
            self.kinds.push((what, Charts::default()));
        }
        let last = self.kinds.len() - 1;
        let (found, charts) = &mut self.kinds[known.unwrap_or(last)];
        (*found == what).then_some(charts)
    }

    /// Writes all of it, as the module says.
    pub fn write(mut self, to: &mut impl Write) -> io::Result<()> {
        let (mut index, mut lines) = (Vec::new(), Vec::new());
        for _ in 0..WIDTHS {
            for (what, charts) in &mut self.kinds {
                let Charts { places, times } = charts;
                let names = self.files.as_ref();
                let place = PositionReport::of(places, names);
                let time = TimesReport::of(times, names);
                for (chart, column_s, text) in [
                    ("places", place.column_s, serde_json::to_string(&place)?),
                    ("times", time.column_s, serde_json::to_string(&time)?),
                ] {
                    index.push(Line {
                        device: what.device.to_string(),
                        operation: what.operation.name(),
                        file_class: what.files.map(|(class, _)| class),
                        phase: what.files.and_then(|(_, phase)| phase),
                        chart,
                        column_s,
                        offset: lines.len(),
                        bytes: text.len(),
                    });
                    lines.extend_from_slice(text.as_bytes());
                    lines.push(b'\n');
                }
                for _ in 0..STEP {
                    places.widen();
                    times.widen();
                }
            }
        }
        serde_json::to_writer(&mut *to, &index)?;
        to.write_all(b"\n")?;
        to.write_all(&lines)
    }
}
