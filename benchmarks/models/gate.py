"""`python -m benchmarks.models.gate`: false alarms and power of the regression gate.

Each simulated commit runs 20 benchmarks of equal code, or with one that is slower. The noise of
each benchmark is log-normal. `docs/method/statistics.md` has the figures.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import click
import numpy as np
import numpy.typing as npt

from venturi.record.trial import (
    Cluster,
    Engine,
    Provenance,
    ProvenanceKind,
    Software,
    State,
    Trial,
    Workload,
)
from venturi.results.compare.gate import gate
from venturi.results.compare.history import HISTORY_MOST
from venturi.results.compare.regression import Slowdown

BENCHMARKS = 20
SLOWDOWNS = (1.05, 1.1, 1.15, 1.2, 1.3)
_IDS = itertools.count()


@dataclass(frozen=True, slots=True)
class GateSetting:
    """A baseline of `history` trials and `repeats` new ones, with this `spread` of logarithms."""

    spread: float
    history: int
    repeats: int
    by_history: bool


SETTINGS = (
    GateSetting(0.03, 10, 10, by_history=False),
    GateSetting(0.05, 10, 10, by_history=False),
    GateSetting(0.1, 10, 10, by_history=False),
    GateSetting(0.05, 60, 3, by_history=False),
    GateSetting(0.05, HISTORY_MOST, 6, by_history=True),
    GateSetting(0.05, HISTORY_MOST, 10, by_history=True),
)


def _trials(number: int, times_s: Sequence[float]) -> list[Trial]:
    return [
        Trial(
            id=f"t{next(_IDS)}",
            workload=Workload(f"benchmark {number}", "1"),
            engine=Engine("simulated", "1"),
            cluster=Cluster(()),
            configuration={},
            software=Software("0", None, None),
            provenance=Provenance(ProvenanceKind.IMPORTED, "simulated", None),
            started_at=datetime(2026, 1, 1, tzinfo=UTC),
            state=State.SUCCEEDED,
            elapsed_s=float(each),
        )
        for each in times_s
    ]


def alarms(setting: GateSetting, slower: float, limit: float, commits: int) -> float:
    """The share of commits with an alarm; the first benchmark takes `slower` times as long.

    Without a slower one, each commit's trials join the history of the next commit.
    """
    rng = np.random.default_rng([36, setting.repeats, setting.by_history])

    def draw(count: int) -> npt.NDArray[np.float64]:
        return rng.lognormal(2, setting.spread, (BENCHMARKS, count))

    past, found = draw(setting.history), 0
    for _ in range(commits):
        new = draw(setting.repeats)
        new[0] *= slower
        old = [each for n in range(BENCHMARKS) for each in _trials(n, past[n, ::-1].tolist())]
        fresh = [each for n in range(BENCHMARKS) for each in _trials(n, new[n, ::-1].tolist())]
        result = gate(old, fresh, limit, history=setting.by_history)
        wrong = result.benchmarks if slower == 1 else result.benchmarks[:1]
        found += any(each.outcome is Slowdown.SLOWER for each in wrong)
        if slower == 1:
            past = np.concatenate([past, new], axis=1)[:, -setting.history :]
        else:
            past = draw(setting.history)
    return found / commits


@click.command()
@click.option("--commits", default=200, show_default=True)
def main(commits: int) -> None:
    """Print the share of commits with a false alarm, and the share of slowdowns that are found."""
    for setting in SETTINGS:
        kind = "history" if setting.by_history else "two groups"
        click.echo(
            f"{kind}, spread {setting.spread:g}, {setting.history} trials against {setting.repeats}"
        )
        for limit in (1.0, 1.05):
            share = alarms(setting, 1.0, limit, commits)
            click.echo(f"  limit {limit:g}: false alarms {100 * share:.1f} % of {commits} commits")
        for slower in SLOWDOWNS:
            share = alarms(setting, slower, 1.0, max(commits // 4, 1))
            click.echo(f"  slower by {slower:g}: found in {100 * share:.0f} %")


if __name__ == "__main__":
    main()
