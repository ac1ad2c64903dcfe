//! `src/splitters.rs` under libFuzzer.
#![no_main]

#[path = "../src/splitters.rs"]
mod splitters;

libfuzzer_sys::fuzz_target!(|input: splitters::Input| splitters::run(input));
