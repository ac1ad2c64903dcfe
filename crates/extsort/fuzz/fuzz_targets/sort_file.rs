//! `src/sort_file.rs` under libFuzzer.
#![no_main]

#[path = "../src/sort_file.rs"]
mod sort_file;

libfuzzer_sys::fuzz_target!(|input: sort_file::Input| sort_file::run(input));
