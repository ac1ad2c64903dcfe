"""Pairs of Zipf-distributed keys and 64-bit values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from venturi.measure.hosts.host import Files
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.shared.zipf import write_pairs


def write(
    files: Files,
    definition: Definition,
    folder: Path,
    size: Size,
    seed: int,
    *,
    tick: Callable[[int], None],
) -> Mapping[str, Any]:
    """Write the input into `folder`; return the sum of the values of each key."""
    totals = write_pairs(files, folder / "part-00000", size.records, seed, tick)
    return {"totals": totals.tolist()}
