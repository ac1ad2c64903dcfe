//! `src/framing.rs` under libFuzzer.
#![no_main]

#[path = "../src/framing.rs"]
mod framing;

libfuzzer_sys::fuzz_target!(|input: framing::Input| framing::run(input));
