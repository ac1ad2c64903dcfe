"""The regression gate: equal settings, other labels, many benchmarks, few false alarms."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from venturi.core.errors import VenturiError
from venturi.core.statistics.two_groups import p_value
from venturi.record.trial import Failure, Sample, State, Trial, Workload
from venturi.results.compare.gate import Gate, gate
from venturi.results.compare.regression import Slowdown
from venturi.terminal.gate import junit, markdown, notes

MakeTrial = Callable[..., Trial]
Timed = Callable[..., list[Trial]]


@pytest.fixture
def timed(make_trial: MakeTrial) -> Timed:
    def trials(name: str, times_s: Sequence[float], **changes: Any) -> list[Trial]:
        return [
            replace(
                make_trial(workload=Workload(name, "1"), state=State.SUCCEEDED, elapsed_s=time_s),
                **changes,
            )
            for time_s in times_s
        ]

    return trials


BASE_S = (10.0, 10.1, 9.9, 10.2, 9.8, 10.05)


def outcomes(found: Gate) -> dict[str, Slowdown]:
    return {each.name: each.outcome for each in found.benchmarks}


def test_a_clear_slowdown_fails_and_small_ones_within_the_limit_pass(timed: Timed) -> None:
    old = [*timed("sort", BASE_S), *timed("join", BASE_S)]
    new = [*timed("sort", [t * 1.3 for t in BASE_S]), *timed("join", [t * 1.01 for t in BASE_S])]
    found = gate(old, new, 1.05)
    assert outcomes(found) == {"join": Slowdown.NOT_SLOWER, "sort": Slowdown.SLOWER}
    assert found.outcome is Slowdown.SLOWER
    assert "1 of 2 benchmarks slower by more than 5%, most sort: +30%" in found.sentence


def test_too_few_trials_are_undecided_and_the_needed_repeats_decide(timed: Timed) -> None:
    few = gate(timed("sort", BASE_S[:2]), timed("sort", [t * 1.3 for t in BASE_S[:2]]), 1.05)
    (only,) = few.benchmarks
    assert only.outcome is Slowdown.CANNOT_TELL
    assert only.repeats is not None
    again = (BASE_S * 3)[: only.repeats]
    more = gate(timed("sort", again), timed("sort", [t * 1.3 for t in again]), 1.05)
    assert more.outcome is Slowdown.SLOWER


def test_a_benchmark_without_a_result_never_passes(timed: Timed) -> None:
    old = [*timed("sort", BASE_S), *timed("join", BASE_S)]
    failed = Failure("wrong", "VEN-X", "wrong output")
    broken = timed("join", BASE_S, state=State.FAILED, failure=failed, elapsed_s=None)
    for new in (timed("sort", BASE_S), [*timed("sort", BASE_S), *broken]):
        found = gate(old, new, 1.05)
        assert outcomes(found)["join"] is Slowdown.NO_RESULT
        assert found.outcome is Slowdown.NO_RESULT


def test_failed_trials_next_to_fast_ones_are_no_pass(timed: Timed) -> None:
    failed = Failure("wrong", "VEN-X", "wrong output")
    new = timed("sort", BASE_S)
    new += timed("sort", (1.0,), state=State.FAILED, failure=failed, elapsed_s=None)
    (only,) = gate(timed("sort", BASE_S), new, 1.05).benchmarks
    assert only.outcome is Slowdown.CANNOT_TELL
    assert "1 failed" in (only.reason or "")


def test_a_lower_rate_is_a_slowdown(timed: Timed) -> None:
    def with_rate(rates: Sequence[float]) -> list[Trial]:
        return [
            replace(trial, samples=(Sample("read_bytes_per_s", rate, "B/s"),))
            for trial, rate in zip(timed("disk", BASE_S), rates, strict=True)
        ]

    rates = [100 * t for t in BASE_S]
    slower = with_rate([rate / 1.5 for rate in rates])
    found = gate(with_rate(rates), slower, 1.05, "read_bytes_per_s")
    assert found.outcome is Slowdown.SLOWER
    sizes = [replace(t, samples=(Sample("size", 1.0, "B"),)) for t in timed("disk", BASE_S)]
    with pytest.raises(VenturiError, match="neither a time nor a rate"):
        gate(sizes, sizes, 1.05, "size")


def test_only_the_latest_trials_of_the_baseline_count(timed: Timed) -> None:
    recent, old = timed("sort", BASE_S), timed("sort", [t * 2 for t in BASE_S])
    new = timed("sort", [t * 1.3 for t in BASE_S])
    assert gate([*recent, *old], new, 1.05, last=6).outcome is Slowdown.SLOWER
    assert gate([*recent, *old], new, 1.05).outcome is not Slowdown.SLOWER


def test_other_settings_are_not_compared(timed: Timed) -> None:
    new = [*timed("sort", BASE_S), *timed("scan", BASE_S)]
    found = gate(timed("sort", BASE_S), new, 1.05)
    assert found.new == ("scan",)
    assert any("Not compared: 1 benchmark" in note for note in notes(found))


def test_the_baseline_must_have_trials(timed: Timed) -> None:
    with pytest.raises(VenturiError) as raised:
        gate([], timed("sort", BASE_S), 1.05)
    assert raised.value.code == "VEN-COMPARE-GROUPS"


def test_equal_code_raises_few_false_alarms(timed: Timed) -> None:
    """20 benchmarks, 60 commits, a limit of 1x: the strictest; the seed makes it repeatable."""
    chance = random.Random(3)
    names = [f"b{number}" for number in range(20)]

    def draw() -> list[float]:
        return [chance.lognormvariate(2, 0.05) for _ in range(8)]

    alarms = 0
    for _ in range(60):
        old = [trial for name in names for trial in timed(name, draw())]
        new = [trial for name in names for trial in timed(name, draw())]
        alarms += gate(old, new, 1.0).outcome is Slowdown.SLOWER
    assert alarms <= 6  # 3 are expected at most


def test_60_trials_against_3_keep_their_part_of_the_level() -> None:
    """All orders of 63 values in which the 3 new ones are higher, at the level of 20 benchmarks."""
    orders = list(itertools.combinations(range(63), 3))
    higher = [places for places in orders if sum(places) > 3 * 31]
    alarms = 0
    for places in higher:
        old = [1.0 + place for place in range(63) if place not in places]
        alarms += p_value(old, [1.0 + place for place in places]) <= 2 * 0.05 / 20
    assert 0.9 * 0.05 / 20 <= alarms / len(orders) <= 0.05 / 20


def test_junit_and_markdown_hold_each_outcome(timed: Timed) -> None:
    name = 'a<b>|"c"\x00'
    old = [*timed(name, BASE_S), *timed("join", BASE_S), *timed("scan", BASE_S[:2])]
    new = [*timed(name, [t * 2 for t in BASE_S]), *timed("scan", BASE_S[:2])]
    found = gate(old, new, 1.05)
    suite = ET.fromstring(junit(found))
    counts = {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    assert counts == {"tests": "3", "failures": "1", "errors": "1", "skipped": "1"}
    text = markdown(found)
    assert "a&lt;b>\\|" in text
    assert all(line.count(" | ") == 4 for line in text.splitlines() if line.startswith("| "))


def test_settings_that_are_ignored_may_differ(timed: Timed) -> None:
    old = timed("sort", BASE_S, configuration={"disk": "SSD"})
    new = timed("sort", [t * 1.3 for t in BASE_S], configuration={"disk": "HDD"})
    assert gate(old, new, 1.05).outcome is Slowdown.NO_RESULT
    found = gate(old, new, 1.05, ignored=("disk",))
    assert outcomes(found) == {"sort": Slowdown.SLOWER}
