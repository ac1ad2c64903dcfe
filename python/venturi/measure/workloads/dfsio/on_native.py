"""TestDFSIO by the agent: `files write` and `files read`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean, pstdev

from venturi.measure.hosts.agent import AgentResult, repeated
from venturi.measure.hosts.agent_results import FilesResult
from venturi.measure.trial.usage import usage_samples
from venturi.measure.workloads.programs import AgentProgram, AgentTask, Findings
from venturi.record.trial import Sample


def _files(operation: str) -> Callable[[AgentTask], Sequence[object]]:
    def arguments(task: AgentTask) -> Sequence[object]:
        files = task.size.parts or 1
        each = ("--count", files, "--bytes", (task.size.bytes or 0) // files)
        return operation, *repeated("--dir", task.outputs), *each, *task.threads_option

    return arguments


def _moved(task: AgentTask, result: AgentResult) -> Findings:
    moved = result.read(FilesResult)
    stored = [
        each.bytes for folder in task.outputs for each in task.files.find(folder, "test_io_*")
    ]
    answer = {
        "files": len(moved.files),
        "bytes": moved.bytes,
        "stored_files": len(stored),
        "stored_bytes": sum(stored),
    }
    return Findings(answer, _samples(moved))


def _samples(moved: FilesResult) -> tuple[Sample, ...]:
    """Return TestDFSIO's figures by its definitions, and the rate of all files together by the
    clock.

    Its throughput divides by the sum of the tasks' times, however many tasks ran concurrently; its
    deviation is that of the population.
    """
    rates = [file.bytes / file.elapsed_s for file in moved.files]
    busy_s = sum(file.elapsed_s for file in moved.files)
    counter = "bytes_read" if moved.operation == "read" else "bytes_written"
    return (
        Sample("dfsio_throughput_bytes_per_s", moved.bytes / busy_s, "B/s"),
        Sample("dfsio_average_io_rate_bytes_per_s", fmean(rates), "B/s"),
        Sample("dfsio_io_rate_stdev_bytes_per_s", pstdev(rates), "B/s"),
        Sample("dfsio_aggregate_bytes_per_s", moved.bytes / moved.elapsed_s, "B/s"),
        Sample(counter, moved.bytes, "B"),
        *usage_samples(moved.used.cpu, moved.used.peak_rss_bytes),
        Sample("threads", moved.threads, "1"),
    )


_WRITE = AgentProgram("files", _files("write"), _moved)
PROGRAMS = {
    "dfsio-write": _WRITE,
    "dfsio-read": AgentProgram("files", _files("read"), _moved, before=_WRITE),
}
