"""A recorded job as the two-pass job that sizing takes: its bytes and CPU time.

All stages count as one pass that reads all input and writes all shuffled data, and one that reads
these and writes all output. `venturi whatif` replays the stages one by one instead.
"""

from __future__ import annotations

from dataclasses import replace

from venturi.core.errors import VenturiError
from venturi.core.units import decimal_size
from venturi.machines.cost.job import Job
from venturi.record.job_account import JobAccount

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
# A vCPU of today's types relative to a recorded core: clouds' CoreMark per vCPU differ by as much.
CPU_RANGE = (0.7, 1.4)


def recorded_job(name: str, account: JobAccount, data_bytes: float | None = None) -> Job:
    """The bytes and CPU time of all attempts of all tasks; `data_bytes` of input scales them.

    Without recorded input, the shuffled bytes count as the input. Raises VEN-MODEL-INPUT without
    either.
    """
    kind, tasks = account.kind, account.tasks

    def total(names: tuple[str, ...]) -> float | None:
        sums = [tasks[each].sum() for each in names if tasks[each].count()]
        return float(sum(sums)) if sums else None

    units = {each.name: each.unit for each in kind.metrics}
    recorded, shuffled = total(kind.input_bytes), total(kind.shuffle_bytes)
    input_bytes = recorded or shuffled
    if not input_bytes:
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"{name} recorded neither input nor shuffled bytes: its size is unknown",
            where={"trial": name},
            hint="describe it with --data, --shuffle, --output and --core-s-per-gb",
        )
    written = total((kind.output_bytes,) if kind.output_bytes else ())
    cpu = next((each.metric for each in kind.within if each.cause == "cpu"), None)
    cpu_time = None if cpu is None else total((cpu,))
    notes = [f"bytes{'' if cpu_time is None else ' and CPU time'} as recorded in {name}"]
    if not recorded:
        notes.append("no input was recorded: it counts as much as was shuffled")
    if shuffled is None:
        notes.append("shuffled bytes were not recorded and count as none")
    if written is None:
        notes.append("output bytes were not recorded and count as none")
    scale = 1.0
    if data_bytes is not None:
        scale = data_bytes / input_bytes
        notes.append(f"scaled in proportion from {decimal_size(input_bytes)} of input")
    job = Job(
        name,
        input_bytes * scale,
        (shuffled or 0.0) * scale,
        (written or 0.0) * scale,
        notes=tuple(notes),
    )
    if cpu is None or cpu_time is None:
        return job
    job = job.computing(cpu_time * SECONDS[units[cpu] or "s"] * scale)
    note = "a vCPU is as fast as a core of the trial (70 to 140% of its CPU time)"
    return replace(job, core_s_range=CPU_RANGE, notes=(*job.notes, note))
