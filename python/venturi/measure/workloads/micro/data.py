"""Lines of Zipf-distributed words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from venturi.measure.hosts.host import Files
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.shared.zipf import write_text


def write(
    files: Files,
    definition: Definition,
    folder: Path,
    size: Size,
    seed: int,
    *,
    tick: Callable[[int], None],
) -> Mapping[str, Any]:
    """Write the input into `folder`; return the count of each word."""
    totals = write_text(files, folder / "part-00000", size.records, seed, tick)
    return {"totals": totals.tolist()}
