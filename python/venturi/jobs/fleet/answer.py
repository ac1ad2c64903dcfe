"""Reads the fleet of a repository, and diagnoses the jobs that have no stored summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from venturi.jobs.fleet.fleet import Fleet, fleet_of, latest_runs
from venturi.jobs.fleet.runs import job_runs
from venturi.jobs.fleet.summaries import known_summaries, summarise
from venturi.machines.cost.job_prices import JobPrices
from venturi.record.query.selection import Query, rules_for
from venturi.record.store.repository import TrialRepository


def fleet(
    repository: TrialRepository,
    query: Query,
    prices: JobPrices,
    *,
    each: bool = False,
    go_on: Callable[[int, int], bool] = lambda _done, _total: True,
) -> Fleet:
    """The jobs of the trials that meet the conditions of `query`, at the user's `prices`.

    Jobs without a stored summary are diagnosed, the newest first, as long as `go_on` says so when
    it is called with the numbers of diagnosed and missing jobs.
    """
    runs = job_runs(repository, query)
    with repository.reading() as connection:
        rules = rules_for(connection, query)
    every = job_runs(repository, replace(query, with_excluded=True)) if rules else runs
    jobs = latest_runs(runs, each=each)
    ids = [runs[0].id for runs in jobs]
    summaries = known_summaries(repository, ids)
    missing = [id_ for id_ in ids if id_ not in summaries]
    for done, id_ in enumerate(missing):
        if not go_on(done, len(missing)):
            break
        summaries[id_] = summarise(repository, id_)
    return fleet_of(jobs, summaries, prices, each=each, excluded_runs=len(every) - len(runs))
