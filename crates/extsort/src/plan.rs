//! How a memory budget is divided, worked out before anything is allocated. Pure arithmetic.

use serde::Serialize;

use crate::error::SortError;
use crate::record::HEADER_BYTES;

const KIB: usize = 1 << 10;
const MIB: usize = 1 << 20;

/// The input of the plan.
#[derive(Clone, Debug)]
pub struct PlanInput {
    /// Bytes of input (for the sort job: also of intermediate data and output).
    pub input_bytes: u64,
    /// The budget.
    pub memory_bytes: u64,
    /// Workers that distribute and sort.
    pub threads: usize,
    /// Disks with input.
    pub readers: usize,
    /// Scratch directories.
    pub scratch_dirs: usize,
    /// Output directories plus replica directories.
    pub output_dirs: usize,
    /// Bytes of a fixed record, or none for records of various lengths.
    pub fixed_record_bytes: Option<usize>,
    /// The longest record allowed.
    pub max_record_bytes: usize,
    /// Size of a partition to aim at; none: 1/64 of the input, at least 8 MiB.
    pub partition_bytes: Option<u64>,
}

/// How the memory is divided; all sizes in bytes.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub struct Plan {
    /// `in-memory` if nothing will be spilled, else `hybrid`.
    pub regime: &'static str,
    /// Partitions that the distribution aims at.
    pub partitions: usize,
    /// Size of the blocks that partitions are made of.
    pub block_bytes: usize,
    /// Blocks that hold records: partitions in memory, spills on their way, partitions being sorted.
    pub blocks: usize,
    /// Size of a read or an output write.
    pub io_bytes: usize,
    /// Room before the data of a read buffer for a record that began in the buffer before.
    pub headroom_bytes: usize,
    /// Read buffers, in the first phase.
    pub read_blocks: usize,
    /// Output buffers, in the second phase.
    pub output_blocks: usize,
    /// A partition above this is split again before it is sorted.
    pub max_partition_bytes: u64,
    /// Reads of input and writes of output in flight for each disk.
    pub queue_depth: usize,
    /// Blocks in flight for each scratch disk.
    pub scratch_depth: usize,
    /// Estimate of the bytes spilled.
    pub expected_spilled_bytes: u64,
    /// Estimate of the bytes that stay in memory between the phases.
    pub expected_retained_bytes: u64,
}

/// Requests in flight for each disk: enough that one is always being served while others are
/// prepared, few enough that their buffers cost little.
const QUEUE_DEPTH: usize = 4;

/// The most threads and directories that a plan is made for: arithmetic stays far from its limits.
pub(crate) const MOST_WORKERS: usize = 4096;

/// Sizes to try, from the fastest to the most frugal: (I/O size, least block size).
const LADDER: [(usize, usize); 7] = [
    (4 * MIB, 256 * KIB),
    (2 * MIB, 128 * KIB),
    (MIB, 64 * KIB),
    (512 * KIB, 64 * KIB),
    (256 * KIB, 32 * KIB),
    (64 * KIB, 16 * KIB),
    (32 * KIB, 8 * KIB),
];

/// Divides the budget, or says how large it would have to be.
pub fn plan(input: &PlanInput) -> Result<Plan, SortError> {
    if let Some(plan) = try_plan(input, input.memory_bytes) {
        return Ok(plan);
    }
    let (mut low, mut high) = (input.memory_bytes, 1 << 50);
    while high - low > 64 * KIB as u64 {
        let middle = low + (high - low) / 2;
        if try_plan(input, middle).is_some() {
            high = middle;
        } else {
            low = middle;
        }
    }
    Err(SortError::Memory {
        budget_bytes: input.memory_bytes,
        minimum_bytes: high.next_multiple_of(MIB as u64),
    })
}

fn try_plan(input: &PlanInput, memory_bytes: u64) -> Option<Plan> {
    // More than this cannot be put to use, and mapping it might be refused.
    let useful = input.input_bytes.saturating_mul(2).saturating_add(4 << 30);
    let memory = usize::try_from(memory_bytes.min(useful)).ok()?;
    // Prefer large requests while their buffers take at most an eighth of the memory.
    let frugal = LADDER.len() - 1;
    LADDER.iter().enumerate().find_map(|(step, &(io_bytes, least_block))| {
        let share = if step == frugal { memory / 2 } else { memory / 8 };
        with_sizes(input, memory, share, io_bytes, least_block)
    })
}

fn with_sizes(
    input: &PlanInput,
    memory: usize,
    share: usize,
    io_bytes: usize,
    least_block: usize,
) -> Option<Plan> {
    let threads = input.threads;
    // A record that began in an earlier buffer must fit before the data of this one.
    let headroom_bytes = rawio::align_up(input.max_record_bytes);
    let read_blocks = input.readers * (QUEUE_DEPTH + 1) + threads;
    let output_blocks = threads + input.output_dirs * (QUEUE_DEPTH + 1);
    let read_bytes = read_blocks * (io_bytes + headroom_bytes);
    let output_bytes = output_blocks * io_bytes;
    if read_bytes.max(output_bytes) > share {
        return None;
    }
    let least_block = least_block.max(rawio::align_up(input.max_record_bytes));
    let rest = memory - read_bytes.max(output_bytes);
    let (pool, max_partition) = divide(input, rest, least_block)?;
    if max_partition < 2 * least_block {
        return None;
    }
    // Aim well below the limit: sampling is not exact. Small inputs still give every worker some.
    let usual = (input.input_bytes / 64).max(8 * MIB as u64);
    let aim = (max_partition as u64 * 2 / 3).min(input.partition_bytes.unwrap_or(usual)).max(1);
    let wanted = input.input_bytes.div_ceil(aim).max(1) as usize;
    // Every worker fills one block for each partition: at most a quarter of the pool.
    let reserve = input.scratch_dirs * QUEUE_DEPTH;
    let affordable = ((pool / least_block).checked_sub(reserve)? / 4 / threads).max(2);
    let partitions = wanted.min(affordable);
    // Heavy values can double the partitions. Open blocks of all workers, blocks that cannot be
    // spilled while a partition is being split, and room for the rest: no one may wait for ever.
    let least_blocks = 4 * threads * partitions.max(3) + reserve;
    let mut block_bytes = 4 * MIB;
    let wide = pool / 8 / threads / partitions;
    while block_bytes > least_block && (block_bytes > wide || pool / block_bytes < least_blocks) {
        block_bytes /= 2;
    }
    let block_bytes = block_bytes.max(least_block);
    let blocks = pool / block_bytes;
    if blocks < least_blocks {
        return None;
    }
    // As many bytes in flight as for input and output, while that takes little of the memory.
    let spare = (blocks / 32).min(blocks - least_blocks) / input.scratch_dirs;
    let scratch_depth = (QUEUE_DEPTH * io_bytes / block_bytes).min(spare).clamp(QUEUE_DEPTH, 32);
    let reserve = input.scratch_dirs * scratch_depth;
    let retained = if input.input_bytes.div_ceil(partitions as u64) <= max_partition as u64 {
        retained_bytes(input, blocks - reserve, block_bytes, partitions)
    } else {
        // Too few partitions for so small a memory: each is split again, through the scratch disks.
        0
    };
    let fits = retained == input.input_bytes;
    Some(Plan {
        regime: if fits { "in-memory" } else { "hybrid" },
        partitions,
        block_bytes,
        blocks,
        io_bytes,
        headroom_bytes,
        read_blocks,
        output_blocks,
        max_partition_bytes: max_partition as u64,
        queue_depth: QUEUE_DEPTH,
        scratch_depth,
        expected_spilled_bytes: input.input_bytes - retained,
        expected_retained_bytes: retained,
    })
}

/// Bytes for records, of `rest` that is left for them and for the arrays they are sorted with; and
/// the largest partition that both allow.
fn divide(input: &PlanInput, rest: usize, least_block: usize) -> Option<(usize, usize)> {
    // Sorting takes two arrays of 8 bytes for each record, or one of 16 where lengths vary.
    const ENTRY_BYTES: usize = 16;
    let shortest = input.fixed_record_bytes.unwrap_or(HEADER_BYTES);
    // Each sorter works on one partition while another is being loaded for it, and one more is to
    // come. Records do not straddle blocks: at worst half of each is padding.
    let filled = (least_block - input.max_record_bytes).max(least_block / 2);
    let blocks_per_byte = (2 * input.threads + 1) as f64 / filled as f64;
    let record_weight = blocks_per_byte * least_block as f64;
    let array_weight = (input.threads * ENTRY_BYTES) as f64 / shortest as f64;
    let share = record_weight / (record_weight + array_weight);
    let rounding = 4 * input.threads * ENTRY_BYTES;
    let pool = ((rest as f64 * share) as usize).checked_sub(rounding)?;
    Some((pool, (pool as f64 / record_weight) as usize))
}

/// Estimate of the bytes of records that stay between the phases in `blocks` blocks of memory that
/// the writers leave: all, if they fit.
fn retained_bytes(input: &PlanInput, blocks: usize, block_bytes: usize, partitions: usize) -> u64 {
    let padded = input.fixed_record_bytes.map_or(block_bytes, |r| block_bytes / r * r);
    let open = input.threads * partitions;
    if input.input_bytes <= ((blocks - open) * padded) as u64 {
        return input.input_bytes;
    }
    // The last block of each worker for each partition is half full. Partitions are spilled whole:
    // on average half of one more than needed.
    let holds = ((blocks - open / 2 - 1) * padded) as u64;
    let partition = input.input_bytes / partitions as u64;
    holds.saturating_sub(partition / 2).min(input.input_bytes - 1)
}

impl Plan {
    /// Bytes of all pools and arrays of the phase that needs more.
    pub fn memory_bytes(&self, threads: usize, shortest_record: usize) -> u64 {
        let read = self.read_blocks * (self.io_bytes + self.headroom_bytes);
        let output = self.output_blocks * self.io_bytes;
        let arrays = threads * (self.max_partition_bytes as usize / shortest_record + 1) * 16;
        (self.blocks * self.block_bytes + arrays + read.max(output)) as u64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn input(input_bytes: u64, memory_bytes: u64) -> PlanInput {
        PlanInput {
            input_bytes,
            memory_bytes,
            threads: 2,
            readers: 1,
            scratch_dirs: 1,
            output_dirs: 1,
            fixed_record_bytes: Some(100),
            max_record_bytes: 100,
            partition_bytes: None,
        }
    }

    #[test]
    fn what_fits_is_not_spilled() {
        let plan = plan(&input(4 << 30, 10 << 30)).unwrap();
        assert_eq!((plan.regime, plan.expected_spilled_bytes), ("in-memory", 0));
        let plan = super::plan(&input(4 << 30, 1 << 30)).unwrap();
        assert_eq!(plan.regime, "hybrid");
        assert!(plan.expected_retained_bytes > 512 << 20, "{plan:?}");
        assert_eq!(plan.expected_retained_bytes + plan.expected_spilled_bytes, 4 << 30);
    }

    #[test]
    fn a_budget_too_small_says_what_would_do() {
        let tiny = input(1 << 30, 64 << 10);
        let Err(SortError::Memory { minimum_bytes, .. }) = plan(&tiny) else { panic!("planned") };
        assert!(minimum_bytes <= 8 << 20, "{minimum_bytes}");
        assert!(plan(&PlanInput { memory_bytes: minimum_bytes, ..tiny }).is_ok());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, rng_seed: proptest::test_runner::RngSeed::Fixed(2), ..ProptestConfig::default() })]

        #[test]
        fn a_plan_never_exceeds_its_budget(
            input_bytes in 0_u64..1 << 42,
            memory_mib in 1_u64..40_000,
            threads in 1_usize..64,
            disks in 1_usize..24,
            record in 1_usize..5000,
            fixed in any::<bool>(),
        ) {
            let input = PlanInput {
                input_bytes,
                memory_bytes: memory_mib << 20,
                threads,
                readers: disks,
                scratch_dirs: disks,
                output_dirs: disks,
                fixed_record_bytes: fixed.then_some(record),
                max_record_bytes: record,
                partition_bytes: None,
            };
            if let Ok(plan) = plan(&input) {
                for more in [1, 3, 50, 700] {
                    let memory_bytes = (memory_mib << 20) + (more << 18);
                    let wider = super::plan(&PlanInput { memory_bytes, ..input.clone() });
                    prop_assert!(wider.is_ok(), "{memory_bytes}");
                }
                let shortest = if fixed { record } else { HEADER_BYTES };
                prop_assert!(plan.memory_bytes(threads, shortest) <= memory_mib << 20, "{plan:?}");
                prop_assert!(plan.block_bytes >= record);
                prop_assert!(plan.block_bytes.is_multiple_of(rawio::ALIGN));
                prop_assert!(plan.max_partition_bytes >= 2 * plan.block_bytes as u64 || plan.partitions > 1);
            }
        }
    }
}
