//! The fuzz targets' bodies for a second each, on a fixed seed and on one of today's.
//!
//! A failure says its seed and round; `FUZZ_SEED` repeats it.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use arbitrary::{Arbitrary, Unstructured};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

#[path = "../fuzz/src/framing.rs"]
mod framing;
#[path = "../fuzz/src/sort_file.rs"]
mod sort_file;
#[path = "../fuzz/src/splitters.rs"]
mod splitters;

const ROUNDS: u32 = 200;
const TIME: Duration = Duration::from_secs(1);

/// Calls `body` with `ROUNDS` random inputs of a fixed seed, and for `TIME` with those of another.
fn fuzz(body: impl Fn(&mut Unstructured<'_>) -> arbitrary::Result<()>) {
    let given = std::env::var("FUZZ_SEED").ok().map(|text| text.parse().unwrap());
    let seeds = given.map_or_else(|| vec![1, todays_seed()], |seed| vec![seed]);
    for seed in seeds {
        let (mut random, begun) = (StdRng::seed_from_u64(seed), Instant::now());
        for round in 0.. {
            if round >= ROUNDS && (seed == 1 || begun.elapsed() >= TIME) {
                break;
            }
            let bytes = bytes(&mut random);
            let call = AssertUnwindSafe(|| body(&mut Unstructured::new(&bytes)));
            // Too few bytes for an input are skipped.
            if let Err(panic) = catch_unwind(call) {
                eprintln!("FUZZ_SEED={seed}, round {round}");
                resume_unwind(panic);
            }
        }
    }
}

fn todays_seed() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    since.as_nanos() as u64
}

/// Mostly small numbers, as lengths are, and sometimes anything.
fn bytes(random: &mut StdRng) -> Vec<u8> {
    let mut bytes = vec![0; random.random_range(0..2000)];
    random.fill_bytes(&mut bytes);
    let plain = random.random_range(0..4_u8);
    for byte in &mut bytes {
        if random.random_range(0..4_u8) < plain {
            *byte = if random.random() { 0 } else { *byte % 16 };
        }
    }
    bytes
}

#[test]
fn framing() {
    fuzz(|input| framing::Input::arbitrary(input).map(framing::run));
}

#[test]
fn splitters() {
    fuzz(|input| splitters::Input::arbitrary(input).map(splitters::run));
}

#[test]
fn sort_file() {
    fuzz(|input| <sort_file::Input as Arbitrary>::arbitrary(input).map(sort_file::run));
}
