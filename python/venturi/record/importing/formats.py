"""The formats that can be imported: one list, which loads no reader.

A format is a file that reads it and a line in `FORMATS`. The line says how the beginning of such a
file looks, so that `venturi import FILE` can tell; the word `auto` asks for that.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any

AUTO = "auto"


Sign = Callable[[bytes, str], bool]
"""Whether a file that begins with these bytes (unpacked), and has this name, is of the format."""


class Kind(Enum):
    """What a reader's module has; the value is the code of a file that is not of its format."""

    RESULTS = "VEN-IMPORT-FORMAT"
    """`read(file, source)`: trials, refusals and spellings, stored together or not at all."""
    LOG = "VEN-INGEST-FORMAT"
    """`find(path)`, which also looks into folders, `accounts(log, progress=...)` in one, and
    `take_in(repository, accounts)`."""
    ARCHIVE = "VEN-EXCHANGE-FORMAT"
    """Trials with their files, each taken in by itself."""


@dataclass(frozen=True, slots=True)
class Log:
    """The files of one application's log in their order.

    `missing` says what is not there, `compacted` whether Spark left out events of finished jobs.
    """

    path: Path
    files: tuple[Path, ...]
    missing: str | None = None
    compacted: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """A format: its name, what it is, the module that reads it, how one tells it."""

    name: str
    title: str
    module: str
    begins: Sign
    kind: Kind = Kind.RESULTS

    @property
    def reader(self) -> Any:
        """The module, loaded when it is used; `Kind` says what it has."""
        return importlib.import_module(f"venturi.{self.module}")


def _with(pattern: str) -> Sign:
    """The text begins with `pattern`."""
    return lambda data, name: re.match(pattern.encode(), data) is not None


def _columns(*names: str, delimiter: str = ",") -> Sign:
    """The first line is a header that has `names`."""

    def sign(data: bytes, name: str) -> bool:
        line = data.partition(b"\n")[0].decode("utf-8-sig", "replace")
        fields = {field.strip().strip('"') for field in line.split(delimiter)}
        return "\0" not in line and fields.issuperset(names)

    return sign


def _archive(data: bytes, name: str) -> bool:
    return data.startswith((b"PK\3\4", b"PK\5\6")) or name.endswith(".zip")


_ALL = (
    Format(
        "archive",
        "trials that `venturi export` wrote",
        "record.exchange",
        _archive,
        Kind.ARCHIVE,
    ),
    Format(
        "spark-eventlog",
        "Spark event logs, 2 to 4: files, also compressed, rolling, folders",
        "jobs.logs.spark",
        _with(r'\{\s*"Event"\s*:\s*"'),
        Kind.LOG,
    ),
    Format(
        "mapreduce-history",
        "MapReduce job histories, Hadoop 2 and 3: .jhist files, folders",
        "jobs.logs.mapreduce",
        _with(r"Avro-(Json|Binary)\s*\n"),
        Kind.LOG,
    ),
    Format(
        "aloja",
        "ALOJA: Hadoop trials, the four public CSV sets",
        "results.importers.aloja",
        _columns("ID", "Benchmark", "Exe.Time"),
    ),
    Format(
        "scout",
        "scout: Spark and Hadoop on AWS, one CSV",
        "results.importers.scout",
        _columns("framework", "datasize", "completed"),
    ),
    Format(
        "ibm",
        "IBM multi-cloud: Dask on three anonymous clouds",
        "results.importers.ibm",
        _columns("A_family", "target_runtime"),
    ),
    Format(
        "cherrypick",
        "CherryPick: five applications on EC2",
        "results.importers.cherrypick",
        _columns("exp_name", "vm_name", "disk_name"),
    ),
    Format(
        "c3o",
        "C3O: Spark jobs at many scale-outs, TSV",
        "results.importers.c3o",
        _columns("machine_type", "gross_runtime", delimiter="\t"),
    ),
    Format(
        "hibench",
        "HiBench: a hibench.report",
        "results.importers.hibench",
        _with(r"\s*(Type\s+Date\s+Time\s+Input|\S+\s+\d{4}[-/]\d\d?[-/]\d\d?\s+\d\d?:\d\d:\d\d\s)"),
    ),
    Format(
        "spark-perf",
        "spark-perf: a test's JSON results",
        "results.importers.spark_perf",
        _with(r'(?s)\s*(?:results:\s*)?[\[{].{,4096}?"testName"\s*:'),
    ),
    Format(
        "pkb",
        "PerfKitBenchmarker: NDJSON samples",
        "results.importers.pkb",
        _with(r'\s*\{(?=[^\n]*"metric"\s*:)(?=[^\n]*"run_uri"\s*:)'),
    ),
    Format(
        "published",
        "figures of publications, a tidy CSV; without a FILE those that come along",
        "results.importers.published",
        _columns("source", "place", "statistic"),
    ),
)

FORMATS: Mapping[str, Format] = MappingProxyType({each.name: each for each in _ALL})
