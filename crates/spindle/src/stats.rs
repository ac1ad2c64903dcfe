//! The counters of a disk.

use serde::Serialize;

/// Counters of one disk since it was served.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stats {
    /// Reads that have ended.
    pub reads: u64,
    /// Writes that have ended.
    pub writes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Flushes that have ended.
    pub flushes: u64,
    /// Ranges that were given back.
    pub discards: u64,
    /// Bytes of these.
    pub discarded_bytes: u64,
    /// Requests before which the arm had to move or the platter to turn.
    pub seeks: u64,
    /// Requests that the image failed.
    pub failed: u64,
    /// Seconds of service, summed over requests: above the time that passed only for several channels.
    pub busy_s: f64,
    /// Seconds from arrival to the beginning of service, summed over requests.
    pub waited_s: f64,
    /// Requests that wait or are being served.
    pub queued: usize,
    /// The most that there were.
    pub queued_most: usize,
    /// Seconds by which answers came later than the model says, summed over requests.
    pub late_s: f64,
    /// The most for one request.
    pub late_most_s: f64,
}
