"""Disk space: an experiment's needs at its peak, against the usable space."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.core.units import format_bytes_decimal
from venturi.measure.hosts.host import FileInfo, Files

SHARE_OF_FREE = 0.5  # the other half stays free for other users of the disk


def existing_parent(files: Files, path: Path) -> FileInfo:
    """`path`, or the nearest folder above it that exists."""
    path = path.absolute()
    while (found := files.info(path)) is None:
        path = path.parent
    return found


def usable_bytes(files: Files, path: Path) -> int:
    """Return how many bytes Venturi may use on the file system of `path`: half of the free
    space.
    """
    return int(files.free_bytes(existing_parent(files, path).path) * SHARE_OF_FREE)


def spread(needs: Mapping[str, int], folders: Mapping[str, Iterable[Path]]) -> dict[Path, int]:
    """Bytes needed by folder, each role's need shared evenly by the role's folders."""
    by_folder: dict[Path, int] = {}
    for role, need_bytes in needs.items():
        paths = list(folders.get(role, ()))
        for path in paths:
            by_folder[path] = by_folder.get(path, 0) + -(-need_bytes // len(paths))
    return by_folder


def require(files: Files, needs_by_folder: Mapping[Path, int]) -> None:
    """Raise VEN-MEASURE-SPACE unless each file system has twice the total needs of its folders."""
    by_device: dict[int, tuple[Path, int]] = {}
    for folder, need_bytes in needs_by_folder.items():
        real = existing_parent(files, folder)
        first, total_bytes = by_device.get(real.device, (real.path, 0))
        by_device[real.device] = (first, total_bytes + need_bytes)
    for folder, need_bytes in by_device.values():
        free = files.free_bytes(folder)
        if need_bytes > free * SHARE_OF_FREE:
            raise VenturiError(
                "VEN-MEASURE-SPACE",
                f"{format_bytes_decimal(need_bytes)} of disk space are needed, but only half "
                f"of the free {format_bytes_decimal(free)} may be used",
                where={"dir": str(folder), "needed_bytes": need_bytes, "free_bytes": free},
                hint="use less data, or choose another disk with --dir",
            )
