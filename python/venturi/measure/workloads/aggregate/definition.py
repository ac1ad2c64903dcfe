"""Sums by key: no other engine reads the agent's length-prefixed pairs."""

from __future__ import annotations

from collections.abc import Mapping

from venturi.measure.workloads.definition import TERASORT_BYTES, Definition, Size, whole_records
from venturi.record.trial import Scalar

WORKLOADS = (
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


def size(definition: Definition, scale: int, chosen: Mapping[str, Scalar]) -> Size:
    """The size at `scale`, a place in SCALES: TeraSort's, for HiBench has none without SQL."""
    return size_of_bytes(definition, TERASORT_BYTES[scale], chosen)


size_of_bytes = whole_records
