//! Records of the sort benchmark, bit-compatible with gensort 1.5, from any record number.
//!
//! Record n belongs to X(n+1) of a 128-bit linear congruential sequence. Skipping ahead makes any
//! range as cheap as the first, so ranges are generated in parallel. [`Generator`] is pure;
//! [`generate`] writes files.

mod error;
mod lcg;
mod output;
mod records;
mod temporary;

pub use error::{GENERATE_CODES, GenerateError};
pub use output::{GenerateReport, GenerateSpec, MOST_RECORDS, generate};
pub use records::{Generator, KEY_BYTES, Kind, RECORD_BYTES};
