"""The owners of the requests in a trace of block I/O, as text: by file, stage, disk or host."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from venturi.core.units import binary_size, format_bytes_decimal, format_duration, format_latency
from venturi.core.wording import count_of, percent
from venturi.measure.hosts.trace_results import (
    IoTrace,
    RequestTimes,
    TracedInStage,
    TracedPattern,
    TracedRequests,
    TraceOwners,
    TraceShare,
)
from venturi.terminal.table import UNKNOWN, Paragraph, Table, table, table_of

FILES = {
    "unknown": "no known file",
    "unnamed": "files without a name",
    "rdd_block": "RDD blocks",
    "shuffle_data": "shuffle data",
    "shuffle_index": "shuffle indexes",
    "shuffle_checksum": "shuffle checksums",
    "spill": "spills",
    "broadcast": "broadcasts",
    "map_output": "map outputs",
    "merge": "merged map outputs",
    "hdfs_block": "HDFS blocks",
    "input": "input",
    "output": "output",
    "scratch": "scratch",
    "recording": "this recording",
    "file_system": "the file system's own",
    "other": "other files",
}
"""Purposes of files, by the agent's name for each."""

NOT_ATTRIBUTED = frozenset({"unknown", "unnamed"})
"""Requests to an unknown or unnamed file."""


NOT_THE_JOBS = frozenset({"recording", "file_system", "other"})
"""Requests to files that no job has: this recording, the file system's own, and all others."""

NO_TASKS = "no thread said which task it runs: in Spark they do with spark.venturi.trace.tasks=true"
NO_STAGES = (
    "no request is known to be of a stage: stages are known of a trial (venturi run --trace on an "
    "engine that has stages, venturi trace show TRIAL), not of a recording by itself"
)
NO_OWNERS = "unknown which processes made these requests: only venturi trace record records that"


@dataclass(frozen=True)
class RequestSum:
    """Requests of one kind."""

    reads: int = 0
    read_bytes: int = 0
    writes: int = 0
    written_bytes: int = 0
    served_s: float | None = None

    def with_share(self, share: TraceShare) -> RequestSum:
        """The sum with one more share; discards count as neither."""
        reads, writes = share.operation == "read", share.operation == "write"
        return RequestSum(
            self.reads + reads * share.requests,
            self.read_bytes + reads * share.bytes,
            self.writes + writes * share.requests,
            self.written_bytes + writes * share.bytes,
            _added(self.served_s, share.served_s),
        )

    @property
    def bytes(self) -> int:
        """Read and written."""
        return self.read_bytes + self.written_bytes


def _added(one: float | None, other: float | None) -> float | None:
    return one if other is None else other if one is None else one + other


def share_tables(trace: IoTrace, by: str) -> Iterator[Table | Paragraph]:
    """The share that could not be attributed, then the sums of requests.

    `by` is class, stage, task, process, device or host.
    """
    owners = trace.whose
    if owners is None:
        yield Paragraph(NO_OWNERS)
        if by in {"device", "host"}:
            yield _summed(_of_disks(trace), by, _of(by, trace))
        return
    yield Paragraph(not_attributed(owners))
    if by == "class" and (others := of_others(owners)) is not None:
        yield Paragraph(others)
    if by == "task":
        yield from _tasks(owners)
        return
    if by == "stage":
        if not any(share.stage for share in owners.shares):
            yield Paragraph(NO_STAGES)
            return
        if owners.task_count:
            yield Paragraph(_task_coverage(owners))
    yield _summed(owners.shares, by, _of(by, trace))
    if by == "stage":
        yield _in_stages(owners.staged)
    if by == "class":
        yield _patterns(owners.patterns)
        yield from map(Paragraph, limits_of(trace))


def not_attributed(owners: TraceOwners) -> str:
    """The share of the bytes that belong to no named file."""
    all_of_it = _sum(owners.shares)
    lost = _sum(each for each in owners.shares if each.file_class in NOT_ATTRIBUTED)
    share = percent_of(lost.bytes, all_of_it.bytes)
    of_count = count_of(lost.reads + lost.writes, "request")
    text = f"not attributed: {share} of the bytes ({format_bytes_decimal(lost.bytes)}, {of_count})"
    left_out = owners.ranges_refused + owners.names_left_out
    more = f"; {left_out:,} names or places of files had no room" if left_out else ""
    return text + more


def of_others(owners: TraceOwners) -> str | None:
    """The share of the bytes in files that are not the job's; None if no file is known as its."""
    classes = {share.file_class for share in owners.shares}
    if not classes - NOT_THE_JOBS - NOT_ATTRIBUTED:
        return None
    whole = _sum(owners.shares).bytes
    others = _sum([each for each in owners.shares if each.file_class in NOT_THE_JOBS])
    share, size = percent_of(others.bytes, whole), format_bytes_decimal(others.bytes)
    count = count_of(others.reads + others.writes, "request")
    return f"not the job's: {share} of the bytes ({size}, {count})"


def _of(by: str, trace: IoTrace) -> Callable[[TraceShare], str]:
    """The name of a share, by which shares are added up."""
    names = disk_names(trace)
    host = trace.host or UNKNOWN
    return {
        "class": lambda share: FILES.get(share.file_class, share.file_class),
        "stage": lambda share: share.stage or "no known stage",
        "process": lambda share: share.process or UNKNOWN,
        "device": lambda share: names.get(share.device, share.device),
        "host": lambda _: host,
    }[by]


def disk_names(trace: IoTrace) -> dict[str, str]:
    """The name of each device, by its numbers; empty for a trace without names."""
    return {disk.device: f"{disk.name} ({disk.device})" for disk in trace.disks}


def _sum(shares: Iterator[TraceShare] | Sequence[TraceShare]) -> RequestSum:
    total = RequestSum()
    for share in shares:
        total = total.with_share(share)
    return total


def _of_disks(trace: IoTrace) -> list[TraceShare]:
    """The operations on each disk, from a trace that has no owners of requests."""
    return [
        TraceShare(
            device.device,
            each.operation,
            "unknown",
            None,
            None,
            None,
            each.issued.count,
            each.issued.bytes,
            _served_s(each.issued_to_done),
        )
        for device in trace.devices
        for each in device.operations
    ]


def _served_s(times: RequestTimes | None) -> float | None:
    """The total service time of all completed requests; None if unknown."""
    return None if times is None else times.count * times.mean_ns / 1e9


def _summed(shares: Sequence[TraceShare], by: str, called: Callable[[TraceShare], str]) -> Table:
    sums: dict[str, RequestSum] = {}
    for share in shares:
        name = called(share)
        sums[name] = sums.get(name, RequestSum()).with_share(share)
    all_bytes = sum(each.bytes for each in sums.values())
    rows = (
        {
            "files" if by == "class" else by: name,
            "read": format_bytes_decimal(each.read_bytes),
            "reads": f"{each.reads:,}",
            "written": format_bytes_decimal(each.written_bytes),
            "writes": f"{each.writes:,}",
            "share of bytes": percent_of(each.bytes, all_bytes),
            "time at the disks": format_duration(each.served_s),
        }
        for name, each in sorted(sums.items(), key=lambda item: (-item[1].bytes, item[0]))
    )
    return table_of(rows, spare=("writes", "reads"))


def _tasks(owners: TraceOwners) -> Iterator[Table | Paragraph]:
    """The tasks with the threads that read and wrote most."""
    if not owners.task_count:
        yield Paragraph(NO_TASKS)
        return
    yield Paragraph(_task_coverage(owners))
    rows = (
        {
            "task": f"{each.task}",
            "stage": each.stage or UNKNOWN,
            "read": format_bytes_decimal(each.read.bytes),
            "reads": f"{each.read.count:,}",
            "written": format_bytes_decimal(each.written.bytes),
            "writes": f"{each.written.count:,}",
        }
        for each in owners.tasks
    )
    yield table_of(rows, left=0)


def _task_coverage(owners: TraceOwners) -> str:
    """The share of threads that reported their task."""
    all_bytes = _sum(owners.shares).bytes
    share = percent_of(owners.task_bytes, all_bytes)
    count = count_of(owners.task_count, "task")
    return f"attributed to tasks by the threads of {count}: {share} of the bytes"


def pattern_name(pattern: TracedPattern | TracedInStage) -> str:
    """For example `shuffle data read in reduce`."""
    return kind_name(pattern.operation, pattern.file_class, pattern.phase)


def kind_name(operation: str, file_class: str | None, phase: str | None) -> str:
    """The name of a kind of requests: by file class, else by operation."""
    done = "written" if operation == "write" else operation
    side = f" in {phase}" if phase else ""
    return f"{FILES.get(file_class, file_class)} {done}{side}" if file_class else done


_FIGURES = (
    "bytes",
    "median size",
    "without a seek",
    "of 16 streams",
    "mean run",
    "served: median",
    "99 %",
    "verdict",
)
_SPARE = ("99 %", "of 16 streams", "median size")


def _patterns(patterns: Sequence[TracedPattern]) -> Table:
    made = table("pattern", *_FIGURES, left=1, prose=("verdict",), spare=_SPARE)
    for each in patterns:
        if each.verdict is not None:
            made.add(pattern_name(each), *_figures(each), each.verdict.text)
    return made


def _in_stages(staged: Sequence[TracedInStage]) -> Table:
    """The patterns of each stage, grouped by stage."""
    made = table("stage", "pattern", *_FIGURES, left=2, prose=("verdict",), spare=_SPARE)
    for each in sorted(staged, key=lambda one: (one.stage, -one.issued.bytes)):
        if each.verdict is not None:
            made.add(each.stage, pattern_name(each), *_figures(each), each.verdict.text)
    return made


def _figures(of: TracedRequests) -> tuple[str, ...]:
    times, size = of.issued_to_done, of.size_median_bytes
    p50, p99 = (None, None) if times is None else (times.p50_ns, times.p99_ns)
    return (
        format_bytes_decimal(of.issued.bytes),
        UNKNOWN if size is None else binary_size(size),
        percent_of(of.seek_plain.zero, of.seek_plain.count),
        percent_of(of.seek_streams.zero, of.seek_streams.count),
        format_bytes_decimal(of.runs.mean_bytes),
        *(format_latency(None if ns is None else ns / 1e9) for ns in (p50, p99)),
    )


def limits_of(trace: IoTrace) -> Iterator[str]:
    """The settings of each disk that limit the sizes of requests."""
    for disk in trace.disks:
        told = [
            f"{name} {disk.settings[path]}"
            for name, path in (
                ("read_ahead_kb", "queue/read_ahead_kb"),
                ("max_sectors_kb", "queue/max_sectors_kb"),
                ("scheduler", "queue/scheduler"),
            )
            if path in disk.settings
        ]
        yield f"{disk.name} ({disk.device}): {', '.join(told) or 'no limits are known'}"


def percent_of(part: float, whole: float | None) -> str:
    """Return `part` as a percentage of `whole`."""
    return percent(part / whole) if whole else UNKNOWN
