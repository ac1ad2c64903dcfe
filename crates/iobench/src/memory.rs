//! Measures the rate at which memory becomes usable.
//!
//! The first touch of a page makes the kernel clear it. In a virtual machine, the host may have to
//! find a page for it first, which can be slower than any disk. Recently touched memory is already
//! mapped. A process that starts after this probe gets memory at the rate of the second touch.

use std::io;
use std::time::Instant;

use rawio::Pool;
use serde::Serialize;

/// Bytes per block: as large as the kernel's huge pages.
const BLOCK_BYTES: usize = 2 << 20;

/// Rates of the first and the second touch of as much memory.
#[derive(Clone, Debug, Serialize)]
pub struct MemoryReport {
    /// Bytes touched each time.
    pub bytes: u64,
    /// Rate of the first touch, with the requested number of threads.
    pub first_touch_bytes_per_s: f64,
    /// Rate when memory that was just given back is touched.
    pub second_touch_bytes_per_s: f64,
    /// Threads.
    pub threads: usize,
}

/// The resource that the system refused.
#[derive(Debug)]
pub enum Refusal {
    /// The memory.
    Memory(io::Error),
    /// A thread.
    Thread(io::Error),
}

/// Touches `bytes` of fresh memory twice, giving it back in between.
pub fn touch(bytes: u64, threads: usize) -> Result<MemoryReport, Refusal> {
    let blocks = (bytes as usize).div_ceil(BLOCK_BYTES).max(threads);
    let mut rates = [0.0; 2];
    for rate in &mut rates {
        let pool = Pool::new(blocks, BLOCK_BYTES).map_err(Refusal::Memory)?;
        let start = Instant::now();
        let job = || {
            let mut taken = Vec::new();
            while let Some(mut block) = pool.try_take() {
                for page in block.chunks_mut(rawio::ALIGN) {
                    page[0] = 1;
                }
                taken.push(block);
            }
        };
        rawio::side_by_side("touch", (0..threads).map(|_| job), || ()).map_err(Refusal::Thread)?;
        *rate = (blocks * BLOCK_BYTES) as f64 / start.elapsed().as_secs_f64();
    }
    Ok(MemoryReport {
        bytes: (blocks * BLOCK_BYTES) as u64,
        first_touch_bytes_per_s: rates[0],
        second_touch_bytes_per_s: rates[1],
        threads,
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn all_memory_is_touched_and_given_back() {
        let report = super::touch(5 << 20, 2).unwrap();
        assert_eq!(report.bytes, 6 << 20);
        assert!(report.first_touch_bytes_per_s > 0.0 && report.second_touch_bytes_per_s > 0.0);
    }
}
