"""Cores of the hosts that trials ran on, as recorded with each host."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from pydantic_core import from_json

from venturi.record.query.columns import Integers
from venturi.record.query.selection import fetch
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CHANGES, RECORDS, TRIALS

Floats = npt.NDArray[np.float64]
_FACTS = ("cpu_threads_allowed", "cpu_threads", "cpu_cores")
_KNOWN: WeakKeyDictionary[TrialRepository, tuple[int, Mapping[int, int]]] = WeakKeyDictionary()


def recorded_cores(repository: TrialRepository, serials: Integers) -> Floats:
    """The cores of all hosts of each trial with these serial numbers.

    nan where they are unknown for a host, and for emulated hosts.
    """
    with repository.reading() as connection:
        change = connection.execute(sa.select(CHANGES.c.made)).scalar_one()
        known = _KNOWN.get(repository)
        if known is None or known[0] != change:  # read once per state of the repository
            _KNOWN[repository] = known = (change, _read(connection))
    cores = known[1]
    return np.array([cores.get(serial, np.nan) for serial in serials.tolist()], dtype=np.float64)


def _read(connection: sa.Connection) -> dict[int, int]:
    statement = (
        sa.select(TRIALS.c.serial, RECORDS.c.record)
        .join(RECORDS, RECORDS.c.id == TRIALS.c.id)
        .where(
            sa.or_(*(RECORDS.c.record.contains(f'"{fact}"', autoescape=True) for fact in _FACTS))
        )
    )
    found = {}
    for serial, text in fetch(connection, statement):
        cluster = from_json(text)["cluster"]
        cores = [_cores(host["facts"]) for host in cluster["hosts"]]
        if cores and all(cores) and cluster["dilation"] is None:
            found[serial] = sum(cores)
    return found


def _cores(facts: Mapping[str, Any]) -> int:
    """Cores that programs may use, counted as threads where these are known; 0 if unknown."""
    known = (facts.get(name) for name in _FACTS)
    return next((n for n in known if isinstance(n, int) and n > 0), 0)
