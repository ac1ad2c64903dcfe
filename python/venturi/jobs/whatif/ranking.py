"""All machine types of a catalog ranked for a recorded job.

Every type is tried with several numbers of machines by the rough model, which takes milliseconds;
the ones that are shown are then replayed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from venturi.core.errors import VenturiError
from venturi.jobs.whatif.answer import RecordedJob, WhatIfPrediction
from venturi.jobs.whatif.changes import JobChanges
from venturi.jobs.whatif.model import JobModel
from venturi.jobs.whatif.setup import Setup
from venturi.machines.catalog import Catalog
from venturi.machines.cost.price import metered

COUNTS = (1, 2, 4, 8, 16, 32, 64)
SHOWN = 5
_LONGER = 1.02

Objective = Literal["cost", "time"]


@dataclass(frozen=True, slots=True)
class TypeRanking:
    """The best types by `objective`, best first, each with its best number of machines.

    `ties` of the `tried` types have a cost or time within the interval of the best. `too_small` had
    no room for an executor, `unpriced` no price, and `late` no way to meet the deadline.
    """

    objective: Objective
    deadline_s: float | None
    best: tuple[WhatIfPrediction, ...]
    tried: int
    ties: int
    too_small: int
    unpriced: int
    late: int


@dataclass(frozen=True, slots=True)
class _RoughOption:
    changes: JobChanges
    setup: Setup
    time_s: float
    usd: float


def rank(
    job: RecordedJob,
    changes: JobChanges,
    catalogs: Sequence[Catalog],
    objective: Objective,
    deadline_s: float | None = None,
) -> TypeRanking:
    """Ranks the types of `catalogs`; VEN-MODEL-INPUT if none can run the job in time."""
    found: list[_RoughOption] = []
    left_out = {"too small": 0, "unpriced": 0, "late": 0}
    models: dict[int, JobModel] = {}
    for type_ in (each for catalog in catalogs for each in catalog.types.values()):
        options = []
        for nodes in COUNTS:
            wanted = replace(changes, setup=replace(changes.setup, type=type_, nodes=nodes))
            try:
                setup = job.target(wanted)
            except VenturiError:
                left_out["too small"] += 1
                break
            if setup.tariff is None:
                left_out["unpriced"] += 1
                break
            if (model := models.get(setup.slots)) is None:
                model = models[setup.slots] = job.model(wanted, setup)
            time_s = model.rough_s(setup)
            usd = metered(setup.tariff, time_s, nodes)
            options.append(_RoughOption(wanted, setup, time_s, usd))
        in_time = [o for o in options if deadline_s is None or o.time_s <= deadline_s]
        if in_time:
            found.append(_best(in_time, objective))
        elif options:
            left_out["late"] += 1
    found.sort(key=_order(objective))
    best: list[WhatIfPrediction] = []
    for each in found[: 2 * SHOWN]:
        if len(best) == SHOWN:
            break
        shown = job.predict(each.changes, each.setup, baselines=False)
        # The replay may take longer than the rough model that chose the type.
        if deadline_s is None or shown.time_s.value <= deadline_s:
            best.append(shown)
    if not best:
        left_out["late"] += len(found)
        raise VenturiError(
            "VEN-MODEL-INPUT",
            f"no machine type can run trial {job.trial.id} as asked: {_why(left_out)}",
            where={"trial": job.trial.id, "deadline_s": deadline_s},
            hint="allow a later deadline, or make executors smaller: --cores-per-executor 2",
        )
    best.sort(key=lambda each: each.time_s.value if objective == "time" else _usd(each))
    first = best[0]
    high = first.time_s.high if objective == "time" else first.usd.high if first.usd else 0.0
    own = [each.time_s if objective == "time" else each.usd for each in found]
    return TypeRanking(
        objective,
        deadline_s,
        tuple(best),
        len(found) + sum(left_out.values()),
        sum(each <= high for each in own) - 1,
        left_out["too small"],
        left_out["unpriced"],
        left_out["late"],
    )


def _best(options: Sequence[_RoughOption], objective: Objective) -> _RoughOption:
    """The best number of machines: among equals in time the cheapest, in cost the fastest."""
    if objective == "time":
        least_s = min(each.time_s for each in options)
        return min((o for o in options if o.time_s <= _LONGER * least_s), key=lambda o: o.usd)
    least = min(each.usd for each in options)
    return min((o for o in options if o.usd <= _LONGER * least), key=lambda o: o.time_s)


def _order(objective: Objective):  # type: ignore[no-untyped-def]
    return lambda each: (each.time_s, each.usd) if objective == "time" else (each.usd, each.time_s)


def _usd(each: WhatIfPrediction) -> float:
    return each.usd.value if each.usd is not None else float("inf")


def _why(left_out: Mapping[str, int]) -> str:
    return ", ".join(f"{count} are {name}" for name, count in left_out.items() if count)
