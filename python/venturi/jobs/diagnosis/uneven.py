"""Which attempts of a stage have far more data than the others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from venturi.core.units import format_bytes
from venturi.jobs.diagnosis.case import Case, Places
from venturi.jobs.stages.causes import Floats, Truths


@dataclass(frozen=True, slots=True)
class AttemptData:
    """The amount that each attempt `read` in `unit`: B, or 1 for records if no bytes are recorded.

    `usual` is the median of succeeded attempts, 0 if unknown; `much` marks attempts that read far
    more.
    """

    read: Floats
    unit: str
    usual: float
    much: Truths

    def amount(self, n: int) -> str:
        """The amount that the n-th attempt read, in words."""
        read = int(self.read[n])
        return format_bytes(read) if self.unit == "B" else f"{read:,} records"

    def ratio(self, n: int) -> float:
        """The same in medians."""
        return float(self.read[n]) / self.usual


def data_of(case: Case, places: Places) -> AttemptData:
    """Input of the attempts at `places`, which are all attempts of a stage."""
    done = case.line.tasks.succeeded[places]
    read = case.line.tasks.bytes_read[places]
    unit = "B"
    if not np.nansum(read) > 0:
        read, unit = records_of(case, places), "1"
    known = read[done & ~np.isnan(read)]
    usual = float(np.median(known)) if len(known) else 0.0
    much = done & (read >= case.limit("skew", "bytes_ratio") * usual) & (usual > 0)
    return AttemptData(read, unit, usual, much)


def records_of(case: Case, places: Places) -> Floats:
    """The records that the attempts at `places` read; NaN where nothing is recorded."""
    names = case.line.tasks.kind.records
    if not names:
        return np.full(len(places), np.nan)
    parts = np.array([case.column(name)[places] for name in names])
    return np.where(np.isnan(parts).all(axis=0), np.nan, np.nansum(parts, axis=0))
