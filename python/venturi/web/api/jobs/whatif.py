"""`/api/whatif`: a recorded job on other machines, settings and data, as in `venturi whatif`."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Annotated

from venturi.core.settings import load
from venturi.core.units import parse_duration_s
from venturi.jobs.whatif.answer import (
    RecordedJob,
    WhatIfPrediction,
    answer,
    fastest,
)
from venturi.jobs.whatif.changes import JobChanges
from venturi.jobs.whatif.question import WhatIfQuestion, recorded_type, type_in
from venturi.jobs.whatif.ranking import Objective, rank
from venturi.jobs.whatif.setup import Setup
from venturi.jobs.whatif.size_curve import size_curve
from venturi.jobs.whatif.spot import all_on_spot, no_ranking, spot_rate
from venturi.machines.advice.volumes import equipped
from venturi.machines.catalog import Catalog, load_shipped, shipped
from venturi.machines.catalog.find import shipped_with
from venturi.machines.cost.prices_file import own_job_prices
from venturi.record.account_kind import ACCOUNT_KINDS
from venturi.record.job_account import has_tables
from venturi.record.query import paging
from venturi.record.query.conditions import Condition, Op
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State
from venturi.terminal.whatif import (
    CAPACITY_WORDS,
    LIMIT_WORDS,
    effect_text,
    limit_text,
    margin_text,
    ranking_sentence,
    replay_text,
    sentence,
)
from venturi.web.api.context import Services
from venturi.web.api.jobs.recorded_jobs import recorded_jobs
from venturi.web.api.jobs.whatif_shapes import (
    WhatIfCapacity,
    WhatIfData,
    WhatIfJob,
    WhatIfPage,
    WhatIfRanking,
    WhatIfSide,
)
from venturi.web.api.request_arguments import NAME_LENGTH_MAX, Parameter

SHOWN_STAGES = 200
SHOWN_JOBS = 20
LOOKED_AT = 100
_UNITS = {"cores": "CPUs", "cpu": "× recorded", "disk": "bytes/s", "network": "bytes/s"}


def whatif(
    services: Services,
    *,
    trial: Annotated[
        str | None,
        Parameter(
            description="A trial's ID; default: list jobs.",
            min_length=1,
            max_length=NAME_LENGTH_MAX,
        ),
    ] = None,
    on: Annotated[
        list[str] | None,
        Parameter(
            description="Machine type and number. The name of a catalog ranks all of its types.",
            max_length=5,
            examples=[["i4i.4xlarge:8"]],
        ),
    ] = None,
    source: Annotated[
        str | None,
        Parameter(alias="from", max_length=100, description="Machine type that the job ran on."),
    ] = None,
    executors: Annotated[
        str | None,
        Parameter(max_length=40, description="Number of executors, or a range such as 4..64."),
    ] = None,
    cores_per_executor: Annotated[
        int | None, Parameter(ge=1, le=10_000, description="Cores of each executor.")
    ] = None,
    disk: Annotated[
        str | None, Parameter(max_length=40, description="hdd, ssd, nvme, or a rate per host.")
    ] = None,
    network: Annotated[
        str | None, Parameter(max_length=40, description="Rate per host.", examples=["25Gbit"])
    ] = None,
    data: Annotated[
        str | None, Parameter(max_length=40, description="Size relative to today.", examples=["2x"])
    ] = None,
    settings: Annotated[
        list[str] | None,
        Parameter(alias="set", max_length=20, description="KEY=VALUE of Spark settings."),
    ] = None,
    usd_per_node_hour: Annotated[
        float | None,
        Parameter(ge=0, allow_inf_nan=False, description="Price of each target machine per hour."),
    ] = None,
    spot: Annotated[
        str | None,
        Parameter(max_length=40, description="Losses per machine: 0.05/h, or `catalog`."),
    ] = None,
    objective: Annotated[
        Objective, Parameter(description="How to rank the types of a catalog.")
    ] = "cost",
    deadline: Annotated[
        str | None,
        Parameter(max_length=40, description="Rank only what meets it.", examples=["30min"]),
    ] = None,
) -> WhatIfPage:
    """Time and cost of a recorded Spark job elsewhere, with intervals, baselines and origins."""
    repository = services.repository
    if trial is None:
        return WhatIfPage(None, None, _newest(repository))
    ranked = next((name for name in on or () if name in shipped()), None)
    wanted = [each for each in on or () if each != ranked], executors, cores_per_executor, disk
    question = WhatIfQuestion(*wanted, network, data, settings or (), usd_per_node_hour)
    found = repository.get(trial)
    names = question.type_names() + ([source] if source else [])
    catalogs = [_catalog(name) for name in ([ranked] if ranked else shipped_with(names))]
    ran_on = type_in(catalogs, source) if source else recorded_type(catalogs, found)
    prices = own_job_prices(load().job_prices)
    job = recorded_jobs(repository).of(repository, found, ran_on, prices)
    if ranked is not None and spot is not None:
        raise no_ranking()
    if ranked is not None:
        by = objective, parse_duration_s(deadline) if deadline else None
        return WhatIfPage(None, _ranked(job, catalogs[0], question.changes()[0], by), ())
    return WhatIfPage(_answered(job, question.targets(catalogs), spot), None, ())


@lru_cache(8)
def _catalog(name: str) -> Catalog:
    """A shipped catalog, as the verb uses it; a server uses no others."""
    return equipped(load_shipped(name))


def _answered(job: RecordedJob, targets: list[JobChanges], spot: str | None) -> WhatIfData:
    found = answer(job, targets)
    on_spot = () if spot is None else all_on_spot(job, targets, found, spot_rate(spot))
    changed = targets != [JobChanges()]
    if not changed:
        found = replace(found, targets=(replace(found.targets[0], name=job.setup.name),))
    best = fastest(found)
    setups = [job.target(each) for each in targets]
    return WhatIfData(
        found.trial,
        found.job,
        sentence(found),
        changed,
        _side(replace(found.today, stages=()), job.setup),
        tuple(_side(each, setup) for each, setup in zip(found.targets, setups, strict=True)),
        best,
        size_curve(job, targets[best], found.targets[best]),
        found.not_modeled,
        replay_text(found),
        LIMIT_WORDS,
        on_spot,
    )


def _ranked(
    job: RecordedJob, catalog: Catalog, change: JobChanges, by: tuple[Objective, float | None]
) -> WhatIfRanking:
    found = rank(job, change, [catalog], *by)
    bare = replace(
        found,
        best=tuple(replace(each, stages=()) for each in found.best),
        recommended=replace(found.recommended, stages=()),
    )
    chosen = found.recommended
    assumes = (f"assumes: {text}" for text in chosen.assumes)
    return WhatIfRanking(
        job.trial.id,
        job.line.account.application.name,
        catalog.name,
        ranking_sentence(found),
        margin_text(found),
        _side(replace(job.today(), stages=()), job.setup),
        bare,
        (*map(effect_text, chosen.rests_on), chosen.interval_from, *assumes),
        change.not_modeled,
        LIMIT_WORDS,
    )


def _side(found: WhatIfPrediction, setup: Setup) -> WhatIfSide:
    longest = sorted(found.stages, key=lambda each: -max(each.before_s, each.after_s))
    shown = {each.stage for each in longest[:SHOWN_STAGES]}
    stages = tuple(each for each in found.stages if each.stage in shown)
    return WhatIfSide(
        replace(found, stages=stages),
        limit_text(found.limit),
        setup.slots_each * setup.task_cpus,
        setup.heap_bytes,
        tuple(
            WhatIfCapacity(CAPACITY_WORDS[name], unit, getattr(setup, name))
            for name, unit in _UNITS.items()
        ),
        tuple(effect_text(each) for each in found.rests_on),
        len(found.stages) - len(stages),
    )


def _newest(repository: TrialRepository) -> tuple[WhatIfJob, ...]:
    """The newest jobs that can be asked about."""
    kinds = ACCOUNT_KINDS.items()
    engines = tuple(name for name, kind in kinds if "executors" in kind.capabilities)
    conditions = (
        Condition("engine", Op.ONE_OF, engines),
        Condition.equal("state", State.SUCCEEDED.value),
    )
    found: list[WhatIfJob] = []
    for row in paging.rows(repository, Query(conditions, limit=LOOKED_AT)).rows:
        if len(found) < SHOWN_JOBS and has_tables(repository.get(row.id)):
            found.append(WhatIfJob(row.id, row.workload, row.engine, row.started_at, row.elapsed_s))
    return tuple(found)
