//! Figures of a trace: sizes, latencies, locality, depth, and the report.

pub mod analysis;
pub mod depth;
pub mod group;
pub mod heat;
pub mod histogram;
pub mod locality;
pub mod overlap;
pub mod pairing;
pub mod raster;
pub mod report;
pub mod requests;
pub mod table;
pub mod verdict;
