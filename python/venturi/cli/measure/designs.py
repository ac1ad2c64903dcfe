"""The power of a study before it is measured, by the spread of recorded trials."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from venturi.record.trial import State, Trial
from venturi.results.effects.design import Design, spread_of

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository

MOST_TRIALS = 500  # the newest, of a workload on an engine


def design_of(
    repository: TrialRepository,
    workload: str,
    engine: str,
    hosts: Iterable[str],
    *,
    counted: int,
    groups: int,
) -> Design:
    """The power of `groups` of `counted` repetitions of `workload` on `engine` and `hosts`."""
    from venturi.record.query.conditions import Condition
    from venturi.record.query.paging import whole_trials

    times: dict[str, list[float]] = {}
    wanted = sorted(hosts)
    for trial in whole_trials(
        repository,
        Condition.equal("workload", workload),
        Condition.equal("engine", engine),
        Condition.equal("state", State.SUCCEEDED.value),
        Condition.equal("warm_up", False),
        most=MOST_TRIALS,
    ):
        if trial.elapsed_s is not None and _hosts(trial) == wanted:
            times.setdefault(trial.group_key, []).append(trial.elapsed_s)
    return Design(counted, groups, spread_of(times.values()))


def _hosts(trial: Trial) -> list[str]:
    return sorted(each.name for each in trial.cluster.hosts)
