"""All machine types of a catalog ranked for a recorded job.

Every type is tried with several numbers of machines by the rough model, which takes milliseconds;
the ones that are shown are then replayed. A job keeps the options that were tried, so that another
objective or deadline is answered soon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from venturi.core.errors import VenturiError
from venturi.jobs.whatif.answer import RecordedJob, WhatIfPrediction, cost_of, distances_of
from venturi.jobs.whatif.changes import JobChanges
from venturi.jobs.whatif.model import JobModel
from venturi.jobs.whatif.setup import Setup
from venturi.jobs.whatif.uncertainty import interval
from venturi.machines.catalog import Catalog, InstanceType
from venturi.machines.cost.dataflow import Bounds
from venturi.machines.cost.price import metered

COUNTS = (1, 2, 4, 8, 16, 32, 64)
SHOWN = 5
_LONGER = 1.02
_AS_LONG = 0.999
_MOST_KEPT = 64

MOST_EXECUTORS = 10**9

Objective = Literal["cost", "time"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RankedOption:
    """A type and a number of machines, by the rough model in proportion to the best's replay.

    `tied`: it meets the deadline and isn't distinguishable from the best.
    """

    name: str
    hosts: int
    slots: int
    time_s: Bounds
    usd: Bounds | None
    tied: bool


@dataclass(frozen=True, slots=True)
class TypeRanking:
    """The best types by `objective`, best first, each with its best number of machines.

    `ties` of the `tried` types have a cost or time within the interval of the best. `too_small` had
    no room for an executor, `unpriced` no price, and `late` no way to meet the deadline.
    `recommended` is the best one; if its interval exceeds the deadline, the best of those that meet
    it with their interval, if any does (`in_time`). No option is both faster and cheaper than one
    of the `frontier`, the fastest first. `options` has each other type at its best.
    """

    objective: Objective
    deadline_s: float | None
    best: tuple[WhatIfPrediction, ...]
    recommended: WhatIfPrediction
    in_time: bool
    tried: int
    ties: int
    too_small: int
    unpriced: int
    late: int
    frontier: tuple[RankedOption, ...]
    options: tuple[RankedOption, ...]


@dataclass(frozen=True, slots=True)
class _RoughOption:
    changes: JobChanges
    setup: Setup
    time_s: float
    usd: float

    def by(self, objective: Objective) -> tuple[float, float]:
        return (self.time_s, self.usd) if objective == "time" else (self.usd, self.time_s)


@dataclass(frozen=True, slots=True)
class _TriedTypes:
    """The options of each type, and how many types have none."""

    options: tuple[tuple[_RoughOption, ...], ...]
    too_small: int
    unpriced: int


def rank(
    job: RecordedJob,
    changes: JobChanges,
    catalogs: Sequence[Catalog],
    objective: Objective,
    deadline_s: float | None = None,
) -> TypeRanking:
    """Ranks the types of `catalogs`; VEN-MODEL-INPUT if none can run the job in time."""
    question = _key(job, changes, catalogs)
    tried: _TriedTypes = _kept(job, question, lambda: _tried(job, changes, catalogs))
    in_time = [
        options
        for all_ in tried.options
        if (options := [o for o in all_ if deadline_s is None or o.time_s <= deadline_s])
    ]
    found = sorted(
        (_best(options, objective) for options in in_time), key=lambda each: each.by(objective)
    )
    late = len(tried.options) - len(found)
    predicted = _Predicted(job, question)
    best: list[tuple[WhatIfPrediction, _RoughOption]] = []
    for each in found[: 2 * SHOWN]:
        if len(best) == SHOWN:
            break
        shown = predicted.of(each)
        # The replay may take longer than the rough model that chose the type.
        if deadline_s is None or shown.time_s.value <= deadline_s:
            best.append((shown, each))
    if not best:
        left_out = {
            "too small": tried.too_small,
            "unpriced": tried.unpriced,
            "late": late + len(found),
        }
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"no machine type can run trial {job.trial.id} as asked: {_why(left_out)}",
            where={"trial": job.trial.id, "deadline_s": deadline_s},
            hint="allow a later deadline, or make executors smaller: --cores-per-executor 2",
        )
    best.sort(key=lambda each: each[0].time_s.value if objective == "time" else _usd(each[0]))
    first, chosen = best[0]
    high = first.time_s.high if objective == "time" else first.usd.high if first.usd else 0.0
    every = [option for options in in_time for option in options]
    recommended, with_margin = _recommended(predicted, every, objective, deadline_s, best[0])

    def ranked(option: _RoughOption) -> RankedOption:
        return _ranked(job, option, (first, chosen), option.by(objective)[0] <= high)

    frontier = _frontier(every)
    kept = {id(each) for each in frontier}
    return TypeRanking(
        objective,
        deadline_s,
        tuple(each for each, _ in best),
        recommended,
        with_margin,
        len(tried.options) + tried.too_small + tried.unpriced,
        sum(each.by(objective)[0] <= high for each in found) - 1,
        tried.too_small,
        tried.unpriced,
        late,
        tuple(map(ranked, frontier)),
        tuple(ranked(each) for each in found if id(each) not in kept),
    )


def _tried(job: RecordedJob, changes: JobChanges, catalogs: Sequence[Catalog]) -> _TriedTypes:
    """Every type with every number of machines."""
    found: list[tuple[_RoughOption, ...]] = []
    too_small = unpriced = 0
    models: dict[int, JobModel] = {}
    for type_ in (each for catalog in catalogs for each in catalog.types.values()):
        try:
            one = job.target(_on(changes, type_, 1))
        except VenturiError:
            too_small += 1
            continue
        if one.tariff is None:
            unpriced += 1
            continue
        options = []
        for nodes in COUNTS:
            executors = min(nodes * one.executors, changes.setup.executors or MOST_EXECUTORS)
            name = f"{type_.name} × {nodes}"
            setup = replace(one, name=name, hosts=nodes, executors=executors)
            wanted = _on(changes, type_, nodes)
            if (model := models.get(setup.slots)) is None:
                model = models[setup.slots] = job.model(wanted, setup)
            time_s = model.rough_s(setup)
            paid_s = time_s if one.tariff.granularity_s is None else one.tariff.minimum_s
            usd = metered(one.tariff, max(time_s, paid_s), nodes)
            options.append(_RoughOption(wanted, setup, time_s, usd))
            if len(options) > 1 and time_s > _AS_LONG * options[-2].time_s:
                break  # more machines only cost more
        found.append(tuple(options))
    return _TriedTypes(tuple(found), too_small, unpriced)


def _on(changes: JobChanges, type_: InstanceType, nodes: int) -> JobChanges:
    return replace(changes, setup=replace(changes.setup, type=type_, nodes=nodes))


class _Predicted:
    """Replayed options, which the job keeps."""

    def __init__(self, job: RecordedJob, question: tuple[object, ...]) -> None:
        self._job, self._question = job, question

    def of(self, option: _RoughOption) -> WhatIfPrediction:
        def make() -> WhatIfPrediction:
            return self._job.predict(option.changes, option.setup, baselines=False)

        return _kept(self._job, (*self._question, option.setup.name), make)


def _recommended(
    predicted: _Predicted,
    options: Iterable[_RoughOption],
    objective: Objective,
    deadline_s: float | None,
    best: tuple[WhatIfPrediction, _RoughOption],
) -> tuple[WhatIfPrediction, bool]:
    """The best option that meets the deadline with its interval, and whether any does."""
    first, rough = best
    if deadline_s is None or first.time_s.high <= deadline_s:
        return first, True
    longer = first.time_s.high / rough.time_s
    safe = [each for each in options if each.time_s * longer <= deadline_s]
    for each in sorted(safe, key=lambda each: each.by(objective))[:SHOWN]:
        found = predicted.of(each)
        if found.time_s.high <= deadline_s:
            return found, True
    return first, False


def _ranked(
    job: RecordedJob,
    option: _RoughOption,
    best: tuple[WhatIfPrediction, _RoughOption],
    tied: bool,
) -> RankedOption:
    first, rough = best
    time_s = option.time_s / rough.time_s * first.time_s.value
    distances = distances_of(job.setup, option.setup, option.changes)
    bounds = interval(time_s, distances, first.rests_on, rough.time_s)
    usd, _ = cost_of(option.setup, bounds)
    setup = option.setup
    return RankedOption(setup.name, setup.hosts, setup.slots, bounds, usd, tied)


def _frontier(options: Iterable[_RoughOption]) -> list[_RoughOption]:
    """Options that no other one beats in both time and cost, the fastest first."""
    found: list[_RoughOption] = []
    for each in sorted(options, key=lambda each: (each.time_s, each.usd)):
        if not found or each.usd < found[-1].usd:
            found.append(each)
    return found


def _key(job: RecordedJob, changes: JobChanges, catalogs: Sequence[Catalog]) -> tuple[object, ...]:
    return (
        *(job.setup, changes.setup, changes.data, tuple(sorted(changes.settings.items()))),
        job.ran_on.name if job.ran_on else None,
        tuple(job.prices),
        tuple(sorted(job.cpu_factors)),
        tuple(job.cpu_factors.values()),
        *(catalog.name for catalog in catalogs),
    )


def _kept(job: RecordedJob, key: tuple[object, ...], make: Callable[[], T]) -> T:
    """The answer that the job keeps for `key`, else the result of `make`."""
    if key not in job.kept:
        if len(job.kept) >= _MOST_KEPT:
            job.kept.clear()
        made = make()
        job.kept[key] = made
        return made
    found: T = job.kept[key]
    return found


def _best(options: Sequence[_RoughOption], objective: Objective) -> _RoughOption:
    """The best number of machines: among equals in time the cheapest, in cost the fastest."""
    if objective == "time":
        least_s = min(each.time_s for each in options)
        return min((o for o in options if o.time_s <= _LONGER * least_s), key=lambda o: o.usd)
    least = min(each.usd for each in options)
    return min((o for o in options if o.usd <= _LONGER * least), key=lambda o: o.time_s)


def _usd(each: WhatIfPrediction) -> float:
    return each.usd.value if each.usd is not None else float("inf")


def _why(left_out: Mapping[str, int]) -> str:
    return ", ".join(f"{count} are {name}" for name, count in left_out.items() if count)
