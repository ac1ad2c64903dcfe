"""The micro workloads of the field: sorts, counts, sums, pi and files."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from venturi.errors import ExitCode, VenturiError
from venturi.measure.workloads.definition import GB, MB, MIB, Definition, Size
from venturi.record.trial import Scalar

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

TERASORT_BYTES = (3_200_000, 320 * MB, 3_200 * MB, 32 * GB, 320 * GB, 600 * GB)
# Input bytes, scale by scale, of HiBench's workload of the name; it has no aggregation without SQL
# and no skewed TeraSort, which take TeraSort's.
_BYTES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "terasort": TERASORT_BYTES,
        "terasort-skewed": TERASORT_BYTES,
        "aggregate": TERASORT_BYTES,
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


def size(definition: Definition, scale: int, chosen: Mapping[str, Scalar]) -> Size:
    """The size at `scale`, a place in SCALES."""
    parameters = definition.parameter_values(chosen)
    if definition.job == "pi":
        return Size(None, _POINTS[scale], _PI_TASKS, parameters)
    if definition.job in {"dfsio-write", "dfsio-read"}:
        files, each = _FILES[scale]
        return Size(files * each, files, files, parameters)
    return size_of_bytes(definition, _BYTES[definition.name][scale], chosen)


def size_of_bytes(definition: Definition, size_bytes: int, chosen: Mapping[str, Scalar]) -> Size:
    """The size of an input of (at most) `size_bytes`, in whole records."""
    parameters = definition.parameter_values(chosen)
    if definition.record_bytes == 0:
        raise VenturiError(
            "VEN-MEASURE-WORKLOAD",
            f"{definition.name} has no input whose size could be given in bytes",
            where={"workload": definition.name},
            hint="use --scale",
            exit_code=ExitCode.USAGE,
        )
    records = size_bytes // definition.record_bytes
    return Size(records * definition.record_bytes, records, parameters=parameters)
