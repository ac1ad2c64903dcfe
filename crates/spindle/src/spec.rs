//! The description of a disk as JSON, checked.

use std::collections::HashSet;
use std::fmt::Display;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::error::SpindleError;
use crate::seek::SeekCurve;

/// A disk to be served.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DiskSpec {
    /// Name of the served file.
    pub name: String,
    /// The file that holds the content; made, sparse, if it is not there.
    pub image: PathBuf,
    /// Size of the disk, a multiple of 512.
    pub size_bytes: u64,
    /// The source of its delays.
    pub mechanism: Mechanism,
}

/// The source of a disk's delays.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Mechanism {
    /// Heads over turning platters.
    Hdd(Hdd),
    /// Flash with channels that work side by side.
    Ssd(Ssd),
}

/// A hard disk.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Hdd {
    /// Bytes that pass under the head in a second, at the first byte.
    pub rate_bytes_per_s: f64,
    /// The same at the last byte; as at the first if not given.
    #[serde(default)]
    pub inner_rate_bytes_per_s: Option<f64>,
    /// Mean seek between two random places.
    pub seek_average_ms: f64,
    /// Seek to the next track; a tenth of the mean if not given.
    #[serde(default)]
    pub seek_track_ms: Option<f64>,
    /// Seek over the whole disk; twice the mean if not given.
    #[serde(default)]
    pub seek_full_ms: Option<f64>,
    /// Time of a revolution: 60,000 by the revolutions in a minute.
    pub revolution_ms: f64,
    /// Requests among which the disk chooses the next.
    #[serde(default = "ncq_depth")]
    pub queue_depth: usize,
    /// Seed of the rotational latencies.
    #[serde(default)]
    pub seed: u64,
}

/// A solid-state disk.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ssd {
    /// Bytes a second over all channels.
    pub rate_bytes_per_s: f64,
    /// Operations a second when every channel is busy.
    pub iops: f64,
    /// Operations that are served side by side: one takes `channels / iops` seconds.
    #[serde(default = "flash_channels")]
    pub channels: usize,
}

/// Requests that a disk with native command queueing (SATA) takes.
fn ncq_depth() -> usize {
    32
}

fn flash_channels() -> usize {
    8
}

impl Hdd {
    /// Bytes a second under the head at the last byte.
    pub fn inner_rate(&self) -> f64 {
        self.inner_rate_bytes_per_s.unwrap_or(self.rate_bytes_per_s)
    }

    /// The three seek times in seconds: to the next track, mean, over the whole disk.
    pub fn seeks_s(&self) -> [f64; 3] {
        let average = self.seek_average_ms;
        let track = self.seek_track_ms.unwrap_or(average / 10.0);
        let full = self.seek_full_ms.unwrap_or(average * 2.0);
        [track, average, full].map(|ms| ms / 1e3)
    }

    /// Time of a revolution.
    pub fn revolution_s(&self) -> f64 {
        self.revolution_ms / 1e3
    }
}

impl DiskSpec {
    /// A disk of its JSON, with every field checked.
    pub fn from_json(text: &str) -> Result<Self, SpindleError> {
        let spec: Self = serde_json::from_str(text).map_err(|error| SpindleError::Spec {
            text: text.to_owned(),
            reason: error.to_string(),
        })?;
        spec.check()?;
        Ok(spec)
    }

    /// Refuses values with which no disk can be made.
    pub fn check(&self) -> Result<(), SpindleError> {
        let name = &self.name;
        let letters = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        let plain = !name.is_empty() && !name.starts_with('.') && name.chars().all(letters);
        self.hold(
            plain && name.len() <= 200 && !name.ends_with(STATS),
            "name",
            &name,
            "letters, digits, dots, dashes and underscores, not ending in .stats",
        )?;
        self.hold(
            self.size_bytes > 0 && self.size_bytes.is_multiple_of(512),
            "size_bytes",
            &self.size_bytes,
            "above 0 and a multiple of 512",
        )?;
        match &self.mechanism {
            Mechanism::Hdd(hdd) => self.check_hdd(hdd),
            Mechanism::Ssd(ssd) => self.check_ssd(ssd),
        }
    }

    fn check_hdd(&self, hdd: &Hdd) -> Result<(), SpindleError> {
        self.positive("rate_bytes_per_s", hdd.rate_bytes_per_s)?;
        self.positive("inner_rate_bytes_per_s", hdd.inner_rate())?;
        self.hold(
            hdd.inner_rate() <= hdd.rate_bytes_per_s,
            "inner_rate_bytes_per_s",
            &hdd.inner_rate(),
            "at most rate_bytes_per_s",
        )?;
        self.time("seek_average_ms", hdd.seek_average_ms)?;
        let [track, _, full] = hdd.seeks_s();
        self.time("seek_track_ms", track * 1e3)?;
        self.time("seek_full_ms", full * 1e3)?;
        self.positive("revolution_ms", hdd.revolution_ms)?;
        self.time("revolution_ms", hdd.revolution_ms)?;
        let [track, average, full] = hdd.seeks_s();
        self.hold(
            SeekCurve::through(track, average, full).is_some(),
            "seek_average_ms",
            &hdd.seek_average_ms,
            "so far above seek_track_ms and below seek_full_ms that a longer way never takes less",
        )?;
        let depth = hdd.queue_depth;
        self.hold((1..=1024).contains(&depth), "queue_depth", &depth, "1 to 1,024")
    }

    fn check_ssd(&self, ssd: &Ssd) -> Result<(), SpindleError> {
        self.positive("rate_bytes_per_s", ssd.rate_bytes_per_s)?;
        self.positive("iops", ssd.iops)?;
        let channels = ssd.channels;
        self.hold((1..=1024).contains(&channels), "channels", &channels, "1 to 1,024")
    }

    /// A rate below one in a second is taken for a mistake of units.
    fn positive(&self, field: &'static str, value: f64) -> Result<(), SpindleError> {
        self.hold(value.is_finite() && value > 0.0, field, &value, "a number above 0")
    }

    fn time(&self, field: &'static str, ms: f64) -> Result<(), SpindleError> {
        self.hold((0.0..=60_000.0).contains(&ms), field, &ms, "0 to 60,000 ms")
    }

    fn hold(
        &self,
        good: bool,
        field: &'static str,
        value: &dyn Display,
        must: &'static str,
    ) -> Result<(), SpindleError> {
        if good {
            return Ok(());
        }
        let disk = self.name.clone();
        Err(SpindleError::Setting { disk, field, value: value.to_string(), must })
    }
}

/// Suffix of the name of a disk's statistics.
pub const STATS: &str = ".stats";

/// Refuses disks of one name.
pub fn check_names(disks: &[DiskSpec]) -> Result<(), SpindleError> {
    let mut seen = HashSet::new();
    match disks.iter().find(|disk| !seen.insert(&disk.name)) {
        Some(disk) => Err(SpindleError::Name { name: disk.name.clone() }),
        None => Ok(()),
    }
}
