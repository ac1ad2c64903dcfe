"""The other two of the TeraSort suite: making its records, and checking that they are sorted."""

from __future__ import annotations

from collections.abc import Mapping

from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.micro.definition import TERASORT_BYTES, size_of_bytes
from venturi.record.trial import Scalar

__all__ = ["WORKLOADS", "size", "size_of_bytes"]

WORKLOADS = (
    Definition(
        name="teragen",
        summary="Write 100-byte records with uniform 10-byte keys",
        job="teragen",
        format="fixed",
        generator="none",
        record_bytes=100,
        key_bytes=10,
        validation=(
            "as many records as asked for are on disk; their checksum is the one that the engine "
            "counted while it made them, else that of gensort's records of the same numbers"
        ),
    ),
    Definition(
        name="teravalidate",
        summary="Read sorted 100-byte records and see that they are in order",
        job="teravalidate",
        format="fixed",
        generator="gensort-sorted",
        record_bytes=100,
        key_bytes=10,
        validation="the engine found no record out of order, and the input's checksum",
    ),
)


def size(definition: Definition, scale: int, chosen: Mapping[str, Scalar]) -> Size:
    """TeraSort's size at `scale`, a place in SCALES."""
    return size_of_bytes(definition, TERASORT_BYTES[scale], chosen)
