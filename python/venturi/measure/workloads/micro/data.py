"""Input of the micro workloads that the agent's `gen` does not make."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.shared import zipf


def write(
    definition: Definition, folder: Path, size: Size, seed: int, tick: Callable[[int], None]
) -> Mapping[str, Any]:
    """Writes the input into `folder`; the totals that a correct result has, entry by entry."""
    maker = zipf.write_text if definition.generator == "zipf-text" else zipf.write_pairs
    return {"totals": maker(folder / "part-00000", size.records, seed, tick).tolist()}
