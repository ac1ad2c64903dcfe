//! `venturi-agent errors`: every error code with its meaning, for the reference pages.

use serde_json::{Value, json};

use crate::events::{EXIT_OK, Events};

/// Codes of the agent itself.
const CODES: &[(&str, &str)] = &[
    ("VEN-AGENT-SIGNAL", "The agent cannot watch for signals."),
    ("VEN-AGENT-MEMORY", "There was no more memory; partial results were removed."),
    ("VEN-SORT-SLOW-IO", "Not every disk takes direct io_uring requests (a warning)."),
];

/// Lists the codes of all crates.
pub fn run(events: &Events) -> u8 {
    let codes: Vec<Value> = [
        CODES,
        extsort::CODES,
        extsort::gensort::GENERATE_CODES,
        extsort::validate::VALIDATE_CODES,
        iobench::CODES,
        hostmon::CODES,
        spindle::CODES,
        blktrace::CODES,
    ]
    .concat()
    .iter()
    .map(|(code, meaning)| json!({"code": code, "meaning": meaning}))
    .collect();
    events.result(&codes);
    EXIT_OK
}
