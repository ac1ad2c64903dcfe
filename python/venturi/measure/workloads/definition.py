"""A workload: its definition, its parameters, and its size."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from venturi.core.errors import UsageError
from venturi.core.wording import did_you_mean
from venturi.record.trial import Scalar

RecordFormat = Literal["fixed", "kv", "lines", "parquet", "none"]
SCALES = ("tiny", "small", "large", "huge", "gigantic", "bigdata")
MB, GB = 10**6, 10**9
MIB = 2**20
TERASORT_BYTES = (3_200_000, 320 * MB, 3_200 * MB, 32 * GB, 320 * GB, 600 * GB)
"""Input of HiBench's TeraSort, scale by scale."""
STORAGE_LEVELS = ("MEMORY_AND_DISK", "MEMORY_AND_DISK_SER", "MEMORY_ONLY", "DISK_ONLY", "NONE")
"""Spark's storage levels for persisted data."""


@dataclass(frozen=True, slots=True)
class WorkloadParameter:
    """A parameter of a workload; numbers may have bounds, and words a list of valid ones."""

    name: str
    default: int | float | str
    meaning: str
    least: float | None = None
    most: float | None = None
    words: tuple[str, ...] = ()

    def value(self, given: Scalar) -> int | float | str:
        """Convert `given` (from a command line: text) to a value; ValueError names the mistake."""
        kind = type(self.default)
        try:
            value = kind(given)  # type: ignore[arg-type]  # what does not convert is refused
        except (TypeError, ValueError) as error:
            raise ValueError(f"{given!r} is not a valid {kind.__name__}") from error
        if isinstance(value, str):
            if self.words and value not in self.words:
                raise ValueError(f"{value!r} is not one of {', '.join(self.words)}")
            return value
        if self.least is not None and not value >= self.least:
            raise ValueError(f"{value} is less than {self.least:g}")
        if self.most is not None and not value <= self.most:
            raise ValueError(f"{value} is more than {self.most:g}")
        return value


@dataclass(frozen=True, slots=True)
class Definition:
    """A workload. Its `version` is a hash of everything that defines it; different versions are not
    compared.

    `job` is the work, and `generator` makes the input (`given`: the user's own files, `none`: no
    input). `record_bytes` is the size of an input record, in every format (a text line includes its
    line break, a key-value pair its header); 0 if the workload has no input or the parameters
    determine it.
    """

    name: str
    summary: str
    job: str
    format: RecordFormat
    generator: str
    record_bytes: int
    key_bytes: int
    validation: str
    parameters: tuple[WorkloadParameter, ...] = ()

    @classmethod
    def of_user_files(
        cls, job: str, format_: RecordFormat, record_bytes: int, key_bytes: int
    ) -> Definition:
        """Return the workload for a user's own files, called `sort` (or after its job)."""
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
        if not self.parameters:
            del parts["parameters"]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def seeded(self) -> bool:
        """Whether its input depends on a seed; gensort has none."""
        return self.generator not in {"given", "none"} and not self.generator.startswith("gensort")

    def parameter_values(self, chosen: Mapping[str, Scalar]) -> dict[str, Scalar]:
        """All parameters with their defaults, but as `chosen`; VEN-MEASURE-WORKLOAD otherwise."""
        known = {each.name: each for each in self.parameters}
        values: dict[str, Scalar] = {each.name: each.default for each in self.parameters}
        for name, given in chosen.items():
            if name not in known:
                problem = f"{self.name} has no parameter {name!r}"
                hint = did_you_mean(name, known, "it has")
            else:
                try:
                    values[name] = known[name].value(given)
                    continue
                except ValueError as error:
                    problem = f"{name}: {error}"
                    hint = f"{name} is: {known[name].meaning} (default {known[name].default})"
            raise UsageError(
                "VEN-MEASURE-WORKLOAD",
                problem,
                where={"workload": self.name, "parameter": name, "value": given},
                hint=hint,
            )
        return values


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a workload.

    `bytes` is the input (for TestDFSIO the files, for TeraGen the output); None without one.
    `records` are those of the input, for pi the points. `parts` is the number of files (TestDFSIO)
    or tasks (pi) if it belongs to the workload, else None. `parameters` are all of the workload's.
    """

    bytes: int | None
    records: int
    parts: int | None = None
    parameters: Mapping[str, Scalar] = field(default_factory=dict, hash=False)


def whole_records(definition: Definition, size_bytes: int, chosen: Mapping[str, Scalar]) -> Size:
    """Return the size of an input of at most `size_bytes`, for a workload with records of fixed
    length; VEN-MEASURE-WORKLOAD for one without input.
    """
    parameters = definition.parameter_values(chosen)
    if definition.record_bytes == 0:
        raise UsageError(
            "VEN-MEASURE-WORKLOAD",
            f"{definition.name} has no input with a size in bytes",
            where={"workload": definition.name},
            hint="use --scale",
        )
    records = size_bytes // definition.record_bytes
    return Size(records * definition.record_bytes, records, parameters=parameters)
