"""`/api/fleet`: the jobs of the repository, those with the biggest savings first."""

from __future__ import annotations

import time
from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock
from typing import Annotated
from weakref import WeakKeyDictionary

import sqlalchemy as sa

from venturi.core.settings import load
from venturi.core.units import format_cost
from venturi.jobs.fleet import answer
from venturi.jobs.fleet.fleet import Fleet
from venturi.jobs.fleet.summaries import known_summaries
from venturi.machines.cost.job_prices import job_cost
from venturi.machines.cost.prices_file import own_job_prices
from venturi.record.account_tables import has_account
from venturi.record.cost import Cost
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import CHANGES
from venturi.record.trial import Trial
from venturi.web.api.context import SelectionDep, Services
from venturi.web.api.request_arguments import Parameter

ROWS_MAX = 1_000
DIAGNOSE_S = 0.15
"""Time per request for jobs without a stored summary, so that the page answers soon."""
_ANSWERS_KEPT = 8
_MANY_RUNS = 10_000
_USED_TIMES = 10
"""An answer about more than `_MANY_RUNS` is used for this many times as long as it took."""


@dataclass(frozen=True, slots=True)
class _KeptAnswer:
    fleet: Fleet
    change: int
    until_s: float


_KEPT: WeakKeyDictionary[TrialRepository, OrderedDict[str, _KeptAnswer]] = WeakKeyDictionary()
_ONE_AT_A_TIME = Lock()


def fleet(
    *,
    services: Services,
    selection: SelectionDep,
    each: Annotated[
        bool, Parameter(description="Every run instead of the latest run of each job.")
    ] = False,
    limit: Annotated[
        int, Parameter(description="Maximum number of rows.", ge=1, le=ROWS_MAX)
    ] = ROWS_MAX,
) -> Fleet:
    """The recorded jobs with their biggest fixes, and a sentence about all of them.

    A request diagnoses at least one of the jobs without a stored diagnosis; ask again while
    `undiagnosed` isn't 0.
    """
    found = _answer(services.repository, selection.query(), each=each)
    return replace(found, jobs=found.jobs[:limit])


def _answer(repository: TrialRepository, query: Query, *, each: bool) -> Fleet:
    """The first `ROWS_MAX` jobs; a kept answer while nothing has changed, of many runs longer."""
    prices = own_job_prices(load().job_prices)
    question = repr((query, each, prices))
    with _ONE_AT_A_TIME:
        kept = _KEPT.setdefault(repository, OrderedDict())
        with repository.reading() as connection:
            change = connection.execute(sa.select(CHANGES.c.made)).scalar_one()
        began_s = time.monotonic()
        last = kept.get(question)
        if last is not None and (last.change == change or began_s < last.until_s):
            kept.move_to_end(question)
            return last.fleet
        found = answer.fleet(
            repository,
            query,
            prices,
            each=each,
            go_on=lambda done, _: not done or time.monotonic() < began_s + DIAGNOSE_S,
        )
        found = replace(found, jobs=found.jobs[:ROWS_MAX])
        if not found.undiagnosed:
            now_s = time.monotonic()
            again_s = _USED_TIMES * (now_s - began_s) if found.runs > _MANY_RUNS else 0.0
            kept[question] = _KeptAnswer(found, change, now_s + again_s)
            kept.move_to_end(question)
            while len(kept) > _ANSWERS_KEPT:
                kept.popitem(last=False)
    return found


def priced(services: Services, trial: Trial) -> Cost | None:
    """The cost of a job's run at the user's prices; None without prices, or if it isn't a job."""
    prices = own_job_prices(load().job_prices)
    if not any(prices) or not has_account(trial):
        return None
    summary = known_summaries(services.repository, [trial.id]).get(trial.id)
    if summary is None:
        return Cost(None, "this run isn't diagnosed yet: the start page diagnoses it")
    cost = job_cost(summary.use, prices)
    return Cost(None if cost.usd is None else format_cost(cost.usd), cost.reason, cost.basis)
