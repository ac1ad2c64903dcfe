"""Costs of operating a cluster for one job: start-up, failures of nodes, CPU time of a sort.

They decide how many nodes are worthwhile: every node is paid while the cluster starts. The defaults
are assumptions with a range; docs/method/advice.md has their sources.
"""

from __future__ import annotations

from dataclasses import replace

from venturi.machines.cost.job import Job

# Amazon's EMR advisor counts 210 s; Dataproc takes about 90 s, a full EMR cluster up to 10 min.
STARTUP_S, STARTUP_RANGE_S = 210.0, (90.0, 600.0)
# 8 % of a cloud's servers have a hardware incident within a year (Vishwanath, Nagappan 2010).
FAILURES_PER_NODE_HOUR = 0.08 / 8766
FILLED_SHARE = 0.9  # of local disks: file systems and stragglers need the rest
# Core-seconds for each GB sorted, both passes. Tencent's sort of 2016 needed at most 1.
SORT_CORE_S_PER_GB, CORE_S_RANGE = 4.0, (0.25, 3.0)


def operated(
    job: Job,
    *,
    startup_s: float | None = None,
    core_s_per_gb: float | None = None,
    filled_share: float = FILLED_SHARE,
) -> Job:
    """`job` with start-up, failures, CPU time and full disks; what it already states stays.

    `core_s_per_gb` counts for each GB of input, half of it in each pass. Without it, a job that
    states no CPU time is taken for a sort.
    """
    notes = list(job.notes)
    if filled_share < 1:
        notes.append(f"local disks are filled to {filled_share:.0%} at most")
    job = replace(job, filled_share=filled_share)
    if startup_s is not None:
        job = replace(job, startup_s=startup_s, startup_range_s=None)
    elif not job.startup_s:
        job = replace(job, startup_s=STARTUP_S, startup_range_s=STARTUP_RANGE_S)
        usual, low, high = (f"{each / 60:g}" for each in (STARTUP_S, *STARTUP_RANGE_S))
        notes.append(f"the cluster starts in {usual} min ({low} to {high}), paid in full")
    states_cpu = job.map_core_s_per_byte or job.reduce_core_s_per_byte
    if core_s_per_gb is not None:
        job = job.computing(core_s_per_gb * job.input_bytes / 1e9)
    elif not states_cpu and job.input_bytes == job.intermediate_bytes:
        job = job.computing(SORT_CORE_S_PER_GB * job.input_bytes / 1e9)
        job = replace(job, core_s_range=CORE_S_RANGE, cpu_is_assumed=True)
        low, high = (f"{SORT_CORE_S_PER_GB * factor:g}" for factor in CORE_S_RANGE)
        notes.append(f"sorting takes {SORT_CORE_S_PER_GB:g} core-s per GB ({low} to {high})")
    elif not states_cpu:
        notes.append("CPU time is unknown and counts as none (--core-s-per-gb)")
    if not job.failures_per_node_hour:
        job = replace(job, failures_per_node_hour=FAILURES_PER_NODE_HOUR)
        notes.append("8% of nodes fail in a year (up to six times as many); each repeats the job")
    return replace(job, notes=tuple(notes))
