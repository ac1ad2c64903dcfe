"""`/api/fleet`: the jobs of the repository, those with the biggest savings first."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated

from venturi.core.settings import load
from venturi.core.units import format_cost
from venturi.jobs.fleet import answer
from venturi.jobs.fleet.fleet import Fleet
from venturi.jobs.fleet.summaries import known_summaries
from venturi.machines.cost.job_prices import job_cost
from venturi.machines.cost.prices_file import own_job_prices
from venturi.record.cost import Cost
from venturi.record.job_account import has_account
from venturi.record.trial import Trial
from venturi.web.api.context import SelectionDep, Services
from venturi.web.api.request_arguments import Parameter

ROWS_MAX = 1_000
DIAGNOSE_S = 0.15
"""Time per request for jobs without a stored summary, so that the page answers soon."""


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
    until_s = time.monotonic() + DIAGNOSE_S
    found = answer.fleet(
        services.repository,
        selection.query(),
        own_job_prices(load().job_prices),
        each=each,
        go_on=lambda done, _: not done or time.monotonic() < until_s,
    )
    return replace(found, jobs=found.jobs[:limit])


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
