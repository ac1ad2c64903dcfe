"""TestDFSIO itself."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from venturi.core.errors import VenturiError
from venturi.measure.workloads.definition import MIB
from venturi.measure.workloads.programs import Findings, HadoopProgram, HadoopRun, HadoopTask
from venturi.record.trial import Sample

_DFSIO = re.compile(r"^\s*([A-Za-z][\w /]+):\s+([\d.]+)\s*$", re.MULTILINE)
_DFSIO_RATES: Mapping[str, str] = {
    "Throughput mb/sec": "dfsio_throughput_bytes_per_s",
    "Average IO rate mb/sec": "dfsio_average_io_rate_bytes_per_s",
    "IO rate std deviation": "dfsio_io_rate_stdev_bytes_per_s",
}


def read_dfsio(text: str) -> dict[str, float]:
    """TestDFSIO's figures by its own names, as far as they are numbers; its MB are MiB."""
    figures = {name.strip(): float(value) for name, value in _DFSIO.findall(text)}
    for needed in ("Number of files", "Total MBytes processed"):
        if needed not in figures:
            raise VenturiError("VEN-ENGINE-FAILED", f"TestDFSIO gave no {needed!r}")
    return figures


def rates(figures: Mapping[str, float]) -> Iterator[Sample]:
    """Yield TestDFSIO's rates, or the reason for a missing one: it divides by a time that may be 0
    ms.
    """
    for said, name in _DFSIO_RATES.items():
        rate = figures.get(said)
        if rate is None or not math.isfinite(rate):
            reason = (
                f"TestDFSIO printed no number for {said!r}: a file took less than a millisecond"
            )
            yield Sample(name, None, "B/s", missing_reason=reason)
        else:
            yield Sample(name, rate * MIB, "B/s")


def _arguments(mode: str) -> Callable[[HadoopTask], Sequence[str]]:
    def arguments(where: HadoopTask) -> Sequence[str]:
        files = where.task.size.parts or 1
        size_mib = (where.task.size.bytes or 0) // files // MIB
        return (
            mode,
            "-nrFiles",
            str(files),
            "-size",
            f"{size_mib}MB",
            "-resFile",
            str(where.results),
        )

    return arguments


def _settings(where: HadoopTask) -> Mapping[str, str]:
    return {"test.build.data": where.output}


def _counted(run: HadoopRun) -> Findings:
    said = read_dfsio(run.results)
    answer = {
        "files": int(said["Number of files"]),
        "bytes": int(said["Total MBytes processed"]) * MIB,
    }
    return Findings(answer, tuple(rates(said)))


def _program(mode: str, before: HadoopProgram | None = None) -> HadoopProgram:
    return HadoopProgram(
        "org.apache.hadoop.fs.TestDFSIO",
        _arguments(mode),
        _settings,
        findings=_counted,
        before=before,
        stored="io_data",
    )


_WRITE = _program("-write")
PROGRAMS = {"dfsio-write": _WRITE, "dfsio-read": _program("-read", _WRITE)}
