"""Recorded costs of trials: their sample `cost_usd`, as stated by its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from pydantic_core import from_json

from venturi.record.cost import COST_USD
from venturi.record.query.columns import Integers
from venturi.record.query.selection import fetch
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CHANGES, RECORDS, TRIALS, moment
from venturi.record.trial import CLUSTER_HOUR

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class _Costs:
    """The costs of the trials `serials`, in order.

    `prices` has source and day of a recorded price per cluster hour, by serial number.
    """

    serials: Integers
    usd: Floats
    prices: Mapping[int, tuple[str, str]]


_KNOWN: WeakKeyDictionary[TrialRepository, tuple[int, _Costs]] = WeakKeyDictionary()


def recorded_costs(repository: TrialRepository, serials: Integers) -> Floats:
    """US dollars of each trial with these serial numbers; nan where none are recorded."""
    known = _known(repository)
    having, usd = known.serials, known.usd
    found = np.full(len(serials), np.nan)
    if len(having):
        places = np.minimum(np.searchsorted(having, serials), len(having) - 1)
        has = having[places] == serials
        found[has] = usd[places[has]]
    return found


def origins(
    repository: TrialRepository, serials: Integers
) -> tuple[tuple[str, ...], date | None, date | None]:
    """The sources of these trials' costs, and their first and last days; None where none is dated.

    A cost comes from the price of the cluster's hour, where the trial has one, else from its
    recorder.
    """
    prices = _known(repository).prices
    statement = sa.select(TRIALS.c.serial, TRIALS.c.source, TRIALS.c.started_at_us)
    with repository.reading() as connection:
        rows = fetch(connection, statement)
    sources, days = set(), set()
    wanted = set(serials.tolist())
    for serial, source, started_at_us in rows:
        if serial not in wanted:
            continue
        said, day = prices.get(serial, (source, None))
        sources.add(said)
        if day is not None:
            days.add(date.fromisoformat(day))
        elif started_at_us is not None:
            days.add(moment(started_at_us).date())
    return tuple(sorted(sources)), min(days, default=None), max(days, default=None)


def _known(repository: TrialRepository) -> _Costs:
    """Read once per state of the repository, then cached."""
    with repository.reading() as connection:
        change = connection.execute(sa.select(CHANGES.c.made)).scalar_one()
        known = _KNOWN.get(repository)
        if known is None or known[0] != change:
            known = (change, _read(connection))
            _KNOWN[repository] = known
    return known[1]


def _read(connection: sa.Connection) -> _Costs:
    """The recorded costs of the trials with a cost above 0."""
    statement = (
        sa.select(TRIALS.c.serial, RECORDS.c.record)
        .join(RECORDS, RECORDS.c.id == TRIALS.c.id)
        .where(RECORDS.c.record.contains(f'"{COST_USD}"', autoescape=True))
        .order_by(TRIALS.c.serial)
    )
    serials: list[int] = []
    costs: list[float] = []
    prices: dict[int, tuple[str, str]] = {}
    for serial, text in fetch(connection, statement):
        record = from_json(text)
        usd = _cost(record)
        if usd is None or usd <= 0:
            continue
        serials.append(serial)
        costs.append(usd)
        price = record["cluster"]["price"]
        if price is not None and price["per"] == CLUSTER_HOUR:
            prices[serial] = price["source"], price["as_of"]
    return _Costs(np.array(serials, dtype=np.int64), np.array(costs, dtype=np.float64), prices)


def _cost(record: Mapping[str, Any]) -> float | None:
    """The cost of the whole trial; None if it has several, or only one of a part."""
    costs = [
        sample["value"]
        for sample in record["samples"]
        if sample["metric"] == COST_USD
        and sample["unit"] == "USD"
        and not sample["labels"]
        and not sample["phase"]
    ]
    return costs[0] if len(costs) == 1 else None
