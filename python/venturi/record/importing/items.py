"""Importers: other people's results enter by the same door, marked by provenance.

One module a format, all declared in `IMPORTERS`. A reader is a stream: it yields for each row of
its file a trial or the reason why it is none, and beside them the spellings it had to interpret.
What a file does not say stays None; nothing is looked up elsewhere and nothing is guessed. A file
that is malformed as a whole (wrong header, cut off, not text, beyond the limits) raises
VEN-IMPORT-FORMAT, and then nothing of it may be kept.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, BinaryIO

from venturi import __version__
from venturi.errors import VenturiError
from venturi.record.trial import Host, Provenance, ProvenanceKind, Software, Trial

FAILED = "VEN-IMPORT-FAILED"
"""The code of the failure of a trial that its source says has failed."""
ALIKE = "VEN-IMPORT-ALIKE"
"""The code of the warning that a row equals an earlier one of its file in all but its number."""
CLOCK = "VEN-IMPORT-CLOCK"
"""The code of the warning that keeps a moment whose time zone the source does not name."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A row that is no trial: its line (from 1), the field and its text, and why."""

    line: int
    field: str
    value: str
    reason: str


@dataclass(frozen=True, slots=True)
class Spelling:
    """A text that was taken as another: `written` stands in the file, `taken_as` in the trial."""

    line: int
    field: str
    written: str
    taken_as: str


Item = Trial | Refusal | Spelling


@dataclass(frozen=True, slots=True)
class Source:
    """The file that is read: its name, and the SHA-256 of its whole content."""

    file: str
    sha256: str

    def provenance(self, dataset: str) -> Provenance:
        """Where a trial of `dataset` comes from: its name, and the digest of this file."""
        return Provenance(ProvenanceKind.IMPORTED, dataset, self.sha256)

    def malformed(
        self,
        message: str,
        *,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
    ) -> VenturiError:
        """The error of a file that cannot be read as a whole; to be raised by a reader."""
        where = {"file": self.file, "line": line, "field": field, "value": value}
        return VenturiError(
            "VEN-IMPORT-FORMAT",
            message,
            where={key: value for key, value in where.items() if value is not None},
            hint="nothing of this file was imported; fetch it again, or name its real format",
        )


Reader = Callable[[BinaryIO, Source], Iterator[Item]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format that can be imported: its name, what it is, and its reader."""

    name: str
    title: str
    read: Reader


def imported_id(format: str, *parts: str) -> str:
    """An id made of what a row says: equal `parts` give equal ids, whenever they are read.

    `<format>-<40 hexadecimal digits of the SHA-256 of the parts>`; at most 64 plain characters.
    """
    text = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    return f"{format}-{hashlib.sha256(text.encode()).hexdigest()[:40]}"


def unnamed_hosts(cluster: str, count: int, facts: Mapping[str, Any]) -> tuple[Host, ...]:
    """`count` equal machines whose names the source does not tell: `<cluster>/1` and so on."""
    return tuple(Host(f"{cluster}/{number}", facts) for number in range(1, count + 1))


# What produced the numbers is not known; what read them is. No build profile: nothing was built.
SOFTWARE = Software(venturi_version=__version__, git_sha=None, build_profile=None)


def _reader(module: str) -> Reader:
    """The `read` of a module of `record.importers`, which is imported when it is used."""

    def read(file: BinaryIO, source: Source) -> Iterator[Item]:
        items: Iterator[Item] = importlib.import_module(f"venturi.record.importers.{module}").read(
            file, source
        )
        return items

    return read


IMPORTERS: Mapping[str, Format] = MappingProxyType(
    {
        each.name: each
        for each in (
            Format("aloja", "ALOJA: Hadoop trials, the four public CSV sets", _reader("aloja")),
            Format("scout", "scout: Spark and Hadoop on AWS, one CSV", _reader("scout")),
            Format("ibm", "IBM multi-cloud: Dask on three anonymous clouds", _reader("ibm")),
            Format("cherrypick", "CherryPick: five applications on EC2", _reader("cherrypick")),
            Format("c3o", "C3O: Spark jobs at many scale-outs, TSV", _reader("c3o")),
            Format("hibench", "HiBench: a hibench.report", _reader("hibench")),
            Format("spark-perf", "spark-perf: a test's JSON results", _reader("spark_perf")),
            Format("pkb", "PerfKitBenchmarker: NDJSON samples", _reader("pkb")),
            Format("published", "Figures of publications, a tidy CSV", _reader("published")),
        )
    }
)  # fmt: skip
