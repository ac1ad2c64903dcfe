"""Files through the engine's file system, as TestDFSIO writes and reads them."""

from __future__ import annotations

from collections.abc import Mapping

from venturi.measure.workloads.definition import MIB, Definition, Size, whole_records
from venturi.record.trial import Scalar

WORKLOADS = (
    Definition(
        name="dfsio-write",
        summary="Write files through the engine's file system, one task per file (TestDFSIO)",
        job="dfsio-write",
        format="none",
        generator="none",
        record_bytes=0,
        key_bytes=0,
        validation="every file exists with its size; the engine counted as many bytes",
    ),
    Definition(
        name="dfsio-read",
        summary="Read these files again, one task per file (TestDFSIO)",
        job="dfsio-read",
        format="none",
        generator="none",
        record_bytes=0,
        key_bytes=0,
        validation="the engine's counts of files and bytes are correct",
    ),
)

# Files and bytes of each: HiBench's dfsioe.
_FILES = (
    (16, MIB),
    (32, 10 * MIB),
    (64, 10 * MIB),
    (256, 100 * MIB),
    (512, 400 * MIB),
    (2048, 1000 * MIB),
)


def size(definition: Definition, scale: int, chosen: Mapping[str, Scalar]) -> Size:
    """The size at `scale`, a place in SCALES."""
    files, each = _FILES[scale]
    return Size(files * each, files, files, definition.parameter_values(chosen))


size_of_bytes = whole_records
