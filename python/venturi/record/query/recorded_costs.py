"""What trials cost by their own records: their sample `cost_usd`, as whoever measured them said."""

from __future__ import annotations

from datetime import date
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import sqlalchemy as sa
from pydantic_core import from_json

from venturi.record.query.columns import Integers
from venturi.record.query.selection import fetch
from venturi.record.repository import Repository
from venturi.record.tables import CHANGES, RECORDS, TRIALS, moment

METRIC = "cost_usd"
Floats = npt.NDArray[np.float64]

_KNOWN: WeakKeyDictionary[Repository, tuple[int, Integers, Floats]] = WeakKeyDictionary()


def recorded_costs(repository: Repository, serials: Integers) -> Floats:
    """US dollars of each trial with these serial numbers; nan where none are recorded.

    Read once for each state of the repository and kept.
    """
    with repository.reading() as connection:
        change = connection.execute(sa.select(CHANGES.c.made)).scalar_one()
        known = _KNOWN.get(repository)
        if known is None or known[0] != change:
            known = (change, *_read(connection))
            _KNOWN[repository] = known
    _, having, usd = known
    found = np.full(len(serials), np.nan)
    if len(having):
        places = np.minimum(np.searchsorted(having, serials), len(having) - 1)
        has = having[places] == serials
        found[has] = usd[places[has]]
    return found


def origins(
    repository: Repository, serials: Integers
) -> tuple[tuple[str, ...], date | None, date | None]:
    """The sources of these trials, and their first and last days; None where none is dated."""
    statement = sa.select(TRIALS.c.serial, TRIALS.c.source, TRIALS.c.started_at_us)
    with repository.reading() as connection:
        rows = fetch(connection, statement)
    wanted = set(serials.tolist())
    of_these = [(source, us) for serial, source, us in rows if serial in wanted]
    days = sorted({moment(us).date() for _, us in of_these if us is not None})
    ends = (days[0], days[-1]) if days else (None, None)
    return tuple(sorted({source for source, _ in of_these})), *ends


def _read(connection: sa.Connection) -> tuple[Integers, Floats]:
    """The serial numbers, in order, of the trials with a cost above 0, and their costs."""
    statement = (
        sa.select(TRIALS.c.serial, RECORDS.c.record)
        .join(RECORDS, RECORDS.c.id == TRIALS.c.id)
        .where(RECORDS.c.record.contains(f'"{METRIC}"', autoescape=True))
        .order_by(TRIALS.c.serial)
    )
    found = [(serial, _cost(record)) for serial, record in fetch(connection, statement)]
    having = [(serial, usd) for serial, usd in found if usd is not None and usd > 0]
    return (
        np.array([serial for serial, _ in having], dtype=np.int64),
        np.array([usd for _, usd in having], dtype=np.float64),
    )


def _cost(record: str) -> float | None:
    """That of the whole trial; None where it has several, or one only of a part."""
    costs = [
        sample["value"]
        for sample in from_json(record)["samples"]
        if sample["metric"] == METRIC
        and sample["unit"] == "USD"
        and not sample["labels"]
        and not sample["phase"]
    ]
    return costs[0] if len(costs) == 1 else None
