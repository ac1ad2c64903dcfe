"""The TeraSort suite: making records, sorting them, and checking that they are sorted."""

from __future__ import annotations

from collections.abc import Mapping

from venturi.measure.workloads.definition import TERASORT_BYTES, Definition, Size, whole_records
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
        name="teragen",
        summary="Write 100-byte records with uniform 10-byte keys",
        job="teragen",
        format="fixed",
        generator="none",
        record_bytes=100,
        key_bytes=10,
        validation=(
            "the requested number of records is on disk;  their checksum is the one that the "
            "engine counted while it made them, else that of gensort's records of the same "
            "numbers"
        ),
    ),
    Definition(
        name="teravalidate",
        summary="Read sorted 100-byte records and check their order",
        job="teravalidate",
        format="fixed",
        generator="gensort-sorted",
        record_bytes=100,
        key_bytes=10,
        validation="the engine found no record out of order, and computed the input's checksum",
    ),
)


def size(definition: Definition, scale: int, chosen: Mapping[str, Scalar]) -> Size:
    """TeraSort's size at `scale`, a place in SCALES."""
    return size_of_bytes(definition, TERASORT_BYTES[scale], chosen)


size_of_bytes = whole_records
