"""The micro workloads of the field: counting words, sorting lines, and pi."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from venturi.measure.workloads.definition import GB, MB, Definition, Size, whole_records
from venturi.record.trial import Scalar

WORKLOADS = (
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
        summary="Estimate pi from the points of a Halton sequence: CPU only",
        job="pi",
        format="none",
        generator="none",
        record_bytes=0,
        key_bytes=0,
        validation="the points inside the circle are those of the reference, but for rounding",
    ),
)

# Input bytes, scale by scale, of HiBench's workload of the name.
_BYTES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "wordcount": (32_000, 320 * MB, 3_200 * MB, 32 * GB, 320 * GB, 1_600 * GB),
        "sort": (32_000, 3_200_000, 320 * MB, 3_200 * MB, 32 * GB, 300 * GB),
    }
)
# Points; HiBench has no pi.
_POINTS = (10**6, 10**8, 10**9, 10**10, 10**11, 10**12)
_PI_TASKS = 16


def size(definition: Definition, scale: int, chosen: Mapping[str, Scalar]) -> Size:
    """The size at `scale`, a place in SCALES."""
    if definition.job == "pi":
        return Size(None, _POINTS[scale], _PI_TASKS, definition.parameter_values(chosen))
    return size_of_bytes(definition, _BYTES[definition.name][scale], chosen)


size_of_bytes = whole_records
