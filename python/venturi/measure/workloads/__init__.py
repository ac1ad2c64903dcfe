"""What can be run: an explicit list of definitions and the scales they come in."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from venturi.errors import ExitCode, VenturiError

Generator = Literal["given", "gensort", "gensort-skewed", "zipf-text", "zipf-pairs", "none"]
Job = Literal["sort", "wordcount", "aggregate", "pi", "dfsio-write", "dfsio-read"]
Format = Literal["fixed", "kv", "lines", "none"]


@dataclass(frozen=True, slots=True)
class Definition:
    """A workload. Its `version` is a hash of all it is made of: other versions are not compared.

    `record_bytes` is the size of an input record, in every format (a text line counts its line
    break, a key-value pair its header); 0 where a workload has no input.
    """

    name: str
    summary: str
    job: Job
    format: Format
    generator: Generator
    record_bytes: int
    key_bytes: int
    validation: str

    @classmethod
    def of_user_files(
        cls, job: Job, format_: Format, record_bytes: int, key_bytes: int
    ) -> Definition:
        """The workload of files somebody brings along: called `sort` (or after its job)."""
        return cls(
            name=job,
            summary="The user's own files",
            job=job,
            format=format_,
            generator="given",
            record_bytes=record_bytes,
            key_bytes=key_bytes,
            validation="the engine's own count; with --verify its checksums, with --validate order",
        )

    @property
    def version(self) -> str:
        """Twelve hexadecimal digits of the definition's SHA-256; the summary is not part of it."""
        parts = dataclasses.asdict(self)
        del parts["summary"]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


WORKLOADS = (
    Definition(
        name="terasort",
        summary="Sort 100-byte records with uniform 10-byte keys (gensort)",
        job="sort",
        format="fixed",
        generator="gensort",
        record_bytes=100,
        key_bytes=10,
        validation="order, count and checksum of the output equal those of the input",
    ),
    Definition(
        name="terasort-skewed",
        summary="Sort 100-byte records with skewed keys (gensort -s)",
        job="sort",
        format="fixed",
        generator="gensort-skewed",
        record_bytes=100,
        key_bytes=10,
        validation="order, count and checksum of the output equal those of the input",
    ),
    Definition(
        name="wordcount",
        summary="Count the words of text lines (Zipf-distributed words), sorted by word",
        job="wordcount",
        format="lines",
        generator="zipf-text",
        record_bytes=96,
        key_bytes=0,
        validation="words in strict order; every count equals the generator's own",
    ),
    Definition(
        name="aggregate",
        summary="Sum 64-bit values by 8-byte key (Zipf-distributed keys)",
        job="aggregate",
        format="kv",
        generator="zipf-pairs",
        record_bytes=24,
        key_bytes=8,
        validation="keys in strict order; every sum equals the generator's own modulo 2^64",
    ),
    Definition(
        name="sort",
        summary="Sort text lines of 96 bytes (Zipf-distributed words)",
        job="sort",
        format="lines",
        generator="zipf-text",
        record_bytes=96,
        key_bytes=96,
        validation="order, count and checksum of the output equal those of the input",
    ),
    Definition(
        name="pi",
        summary="Estimate pi from the points of a Halton sequence: processor only",
        job="pi",
        format="none",
        generator="none",
        record_bytes=0,
        key_bytes=0,
        validation="the points inside the circle are those of the reference, but for rounding",
    ),
    Definition(
        name="dfsio-write",
        summary="Write files through the engine's file system, one task a file (TestDFSIO)",
        job="dfsio-write",
        format="none",
        generator="none",
        record_bytes=0,
        key_bytes=0,
        validation="every file is there with its size; the engine counted as many bytes",
    ),
    Definition(
        name="dfsio-read",
        summary="Read such files again, one task a file (TestDFSIO)",
        job="dfsio-read",
        format="none",
        generator="none",
        record_bytes=0,
        key_bytes=0,
        validation="the engine counted as many files and bytes as there are",
    ),
)


SCALES = ("tiny", "small", "large", "huge", "gigantic", "bigdata")


@dataclass(frozen=True, slots=True)
class Size:
    """How much a workload works on.

    `bytes` is the input (for TestDFSIO the files), None where there is none. `records` are those of
    the input, for pi the points. `parts` is the number of files (TestDFSIO) or tasks (pi) where
    that is part of the workload, else None.
    """

    bytes: int | None
    records: int
    parts: int | None = None


MB = 10**6
MIB = 2**20  # TestDFSIO's MB
GB = 10**9
_TERASORT = (3_200_000, 320 * MB, 3_200 * MB, 32 * GB, 320 * GB, 600 * GB)
# Input bytes, scale by scale, of HiBench's workload of the name; it has no aggregation without SQL
# and no skewed TeraSort, which take TeraSort's.
_BYTES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "terasort": _TERASORT,
        "terasort-skewed": _TERASORT,
        "aggregate": _TERASORT,
        "wordcount": (32_000, 320 * MB, 3_200 * MB, 32 * GB, 320 * GB, 1_600 * GB),
        "sort": (32_000, 3_200_000, 320 * MB, 3_200 * MB, 32 * GB, 300 * GB),
    }
)
# Files and bytes of each: HiBench's dfsioe.
_FILES = ((16, MIB), (32, 10 * MIB), (64, 10 * MIB),
          (256, 100 * MIB), (512, 400 * MIB), (2048, 1000 * MIB))  # fmt: skip
# Points; HiBench has no pi.
_POINTS = (10**6, 10**8, 10**9, 10**10, 10**11, 10**12)
_PI_TASKS = 16


def size_of(definition: Definition, scale: str) -> Size:
    """The size of `definition` at `scale`, or VEN-MEASURE-WORKLOAD."""
    if scale not in SCALES:
        raise VenturiError(
            "VEN-MEASURE-WORKLOAD",
            f"there is no scale {scale!r}",
            where={"value": scale},
            hint="one of: " + ", ".join(SCALES),
            exit_code=ExitCode.USAGE,
        )
    place = SCALES.index(scale)
    if definition.job == "pi":
        return Size(None, _POINTS[place], _PI_TASKS)
    if definition.job in {"dfsio-write", "dfsio-read"}:
        files, each = _FILES[place]
        return Size(files * each, files, files)
    return size_of_bytes(definition, _BYTES[definition.name][place])


def size_of_bytes(definition: Definition, size_bytes: int) -> Size:
    """The size of an input of (at most) `size_bytes`, in whole records."""
    if definition.record_bytes == 0:
        raise VenturiError(
            "VEN-MEASURE-WORKLOAD",
            f"{definition.name} has no input whose size could be given in bytes",
            where={"workload": definition.name},
            hint="use --scale",
            exit_code=ExitCode.USAGE,
        )
    records = size_bytes // definition.record_bytes
    return Size(records * definition.record_bytes, records)


_BY_NAME: Mapping[str, Definition] = MappingProxyType({w.name: w for w in WORKLOADS})


def workload(name: str) -> Definition:
    """The workload called `name`, or VEN-MEASURE-WORKLOAD."""
    if name not in _BY_NAME:
        raise VenturiError(
            "VEN-MEASURE-WORKLOAD",
            f"there is no workload {name!r}",
            where={"value": name},
            hint="one of: " + ", ".join(_BY_NAME),
            exit_code=ExitCode.USAGE,
        )
    return _BY_NAME[name]
