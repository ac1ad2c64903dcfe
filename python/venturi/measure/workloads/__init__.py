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

Generator = Literal["given", "gensort", "gensort-skewed", "zipf-text", "zipf-pairs"]
Job = Literal["sort", "wordcount", "aggregate"]
Format = Literal["fixed", "kv", "lines"]


@dataclass(frozen=True, slots=True)
class Definition:
    """A workload. Its `version` is a hash of all it is made of: other versions are not compared.

    `record_bytes` is the size of an input record, in every format (a text line counts its line
    break, a key-value pair its header).
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
)


@dataclass(frozen=True, slots=True)
class ScaleProfile:
    """A size of input. The words and sizes are those of HiBench's TeraSort profiles."""

    name: str
    input_bytes: int


SCALES = (
    ScaleProfile("tiny", 3_200_000),
    ScaleProfile("small", 320_000_000),
    ScaleProfile("large", 3_200_000_000),
    ScaleProfile("huge", 32_000_000_000),
    ScaleProfile("gigantic", 320_000_000_000),
    ScaleProfile("bigdata", 600_000_000_000),
)

_BY_NAME: Mapping[str, Definition] = MappingProxyType({w.name: w for w in WORKLOADS})
_SCALE_BY_NAME: Mapping[str, ScaleProfile] = MappingProxyType({s.name: s for s in SCALES})


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


def scale(name: str) -> ScaleProfile:
    """The scale called `name`, or VEN-MEASURE-WORKLOAD."""
    if name not in _SCALE_BY_NAME:
        raise VenturiError(
            "VEN-MEASURE-WORKLOAD",
            f"there is no scale {name!r}",
            where={"value": name},
            hint="one of: " + ", ".join(_SCALE_BY_NAME),
            exit_code=ExitCode.USAGE,
        )
    return _SCALE_BY_NAME[name]
