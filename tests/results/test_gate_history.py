"""The regression gate against history: one alarm for a change of level, few false ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from venturi.record.trial import State, Trial, Workload
from venturi.results.compare.gate import Gate, gate
from venturi.results.compare.regression import Slowdown
from venturi.terminal.gate import markdown

MakeTrial = Callable[..., Trial]
Series = Callable[..., list[Trial]]


@pytest.fixture
def series(make_trial: MakeTrial) -> Series:
    """Trials of a benchmark, the newest first: one for each time, of a commit each."""

    def trials(times_s: Sequence[float], name: str = "sort", first: int = 0) -> list[Trial]:
        return [
            replace(
                make_trial(workload=Workload(name, "1"), state=State.SUCCEEDED, elapsed_s=time_s),
                labels={"commit": f"c{number}"},
            )
            for number, time_s in enumerate(times_s, first)
        ][::-1]

    return trials


def noisy(n: int, seed: int, level: float = 10.0) -> list[float]:
    chance = random.Random(seed)
    return [level * chance.lognormvariate(0, 0.03) for _ in range(n)]


def against(old: list[Trial], new: list[Trial], limit: float = 1.05) -> Gate:
    return gate(old, new, limit, history=True)


def test_a_slowdown_over_several_commits_is_found_with_its_first_commit(series: Series) -> None:
    old = series([*noisy(20, 1), *noisy(2, 2, 13.0)])
    found = against(old, series(noisy(2, 3, 13.0), first=22))
    (only,) = found.benchmarks
    assert (only.outcome, only.since) == (Slowdown.SLOWER, "commit c20")
    assert (only.baseline_trials, only.candidate_trials) == (20, 4)
    assert "since commit c20" in found.sentence
    assert "since commit c20" in markdown(found)


def test_a_slowdown_that_the_history_has_already_is_no_further_alarm(series: Series) -> None:
    old = series([*noisy(20, 1), *noisy(12, 2, 13.0)])
    found = against(old, series(noisy(6, 3, 13.0), first=32))
    assert found.outcome is not Slowdown.SLOWER


def test_a_faster_commit_and_an_equal_one_pass(series: Series) -> None:
    old = series(noisy(20, 1))
    assert against(old, series(noisy(6, 2, 7.0), first=20)).outcome is Slowdown.NOT_SLOWER
    assert against(old, series(noisy(6, 4), first=20)).outcome is Slowdown.NOT_SLOWER


def test_too_few_trials_are_undecided(series: Series) -> None:
    (only,) = against(series(noisy(3, 1)), series(noisy(2, 2, 20.0), first=3)).benchmarks
    assert only.outcome is Slowdown.CANNOT_TELL
    assert only.reason == "5 trials are too few for a change: at least 8"
    (one,) = against(series(noisy(20, 1)), series([13.0], first=20)).benchmarks
    assert one.reason == "no change is proven in 21 trials"


def test_a_benchmark_without_a_result_never_passes(series: Series) -> None:
    old = [*series(noisy(20, 1)), *series(noisy(20, 1), "join")]
    found = against(old, series(noisy(6, 2), first=20))
    assert found.outcome is Slowdown.NO_RESULT


def test_equal_code_raises_few_false_alarms(series: Series) -> None:
    """20 benchmarks, 40 commits with three trials each, a limit of 1x: the strictest."""
    chance = random.Random(3)
    times = {f"b{n}": [chance.lognormvariate(2, 0.05) for _ in range(60)] for n in range(20)}
    alarms = 0
    for _ in range(40):
        new = {name: [chance.lognormvariate(2, 0.05) for _ in range(3)] for name in times}
        old = [trial for name, each in times.items() for trial in series(each, name)]
        fresh = [trial for name, each in new.items() for trial in series(each, name, 60)]
        alarms += against(old, fresh, 1.0).outcome is Slowdown.SLOWER
        times = {name: [*each, *new[name]][-60:] for name, each in times.items()}
    assert alarms <= 4  # 2 are expected at most
