"""Whether one group is slower than another by more than is allowed, and the exit status."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from command_line import venturi
from model_trials import MakeTrial
from venturi.core import settings
from venturi.core.errors import ExitCode, VenturiError
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Failure, Sample, State, Trial, new_id
from venturi.results.compare.regression import Decision, Slowdown, decide
from venturi.results.compare.repeat_groups import Comparison, compare_groups

BEFORE = [10.0, 10.2, 9.9, 10.1, 10.3, 10.15]
ALIKE = [10.05, 10.21, 9.95, 10.12, 10.28, 10.16]
SLOWER = [11.0, 11.2, 10.9, 11.1, 11.3, 11.15]  # by 10 %
NOISY = [9.0, 12.4, 10.1, 11.9, 9.6, 12.0]
FASTER = [8.0, 8.2, 7.9, 8.1, 8.3, 8.15]


def group(make: MakeTrial, times: Sequence[float], name: str) -> list[Trial]:
    return [make(elapsed_s=time, configuration={"of": name}, id=new_id()) for time in times]


def of_times(make: MakeTrial, *groups: Sequence[float]) -> Comparison:
    return compare_groups([group(make, times, str(at)) for at, times in enumerate(groups)])


def of_rates(make: MakeTrial, *groups: Sequence[float], unit: str = "B/s") -> Comparison:
    return compare_groups(
        [
            [
                make(configuration={"of": at}, samples=(Sample("rate", 1000 / time, unit),))
                for time in times
            ]
            for at, times in enumerate(groups)
        ],
        "rate",
    )


def only(decisions: tuple[Decision, ...]) -> Decision:
    (decision,) = decisions
    return decision


@pytest.mark.parametrize("made", [of_times, of_rates], ids=["time", "rate"])
@pytest.mark.parametrize(
    ("after", "limit", "outcome"),
    [
        (SLOWER, 1.05, Slowdown.SLOWER),
        (SLOWER, 1.5, Slowdown.NOT_SLOWER),
        (SLOWER, 1.1, Slowdown.CANNOT_TELL),
        (ALIKE, 1.05, Slowdown.NOT_SLOWER),
        (FASTER, 1.0, Slowdown.NOT_SLOWER),
        (NOISY, 1.05, Slowdown.CANNOT_TELL),
        (SLOWER[:1], 1.05, Slowdown.CANNOT_TELL),
    ],
)
def test_only_an_interval_wholly_beyond_the_limit_is_slower(
    make_trial: MakeTrial,
    made: Callable[..., Comparison],
    after: list[float],
    limit: float,
    outcome: Slowdown,
) -> None:
    found = only(decide(made(make_trial, BEFORE, after), limit))
    assert found.outcome is outcome
    assert found.factor == pytest.approx(sum(after) / len(after) / 10.1, rel=0.06)
    if found.low is not None and found.high is not None:
        assert found.low <= found.factor <= found.high
    assert ("cannot tell" in found.sentence) == (outcome is Slowdown.CANNOT_TELL)


def test_the_decision_is_of_the_interval_that_is_shown(make_trial: MakeTrial) -> None:
    comparison = of_times(make_trial, BEFORE, SLOWER)
    shown = comparison.groups[1].against_first
    assert shown is not None
    assert shown.interval is not None
    found = only(decide(comparison, 1.05))
    ends = shown.interval.low, shown.interval.high
    assert (found.factor, found.low, found.high) == (shown.ratio, *ends)
    assert only(decide(comparison, ends[0])).outcome is Slowdown.CANNOT_TELL
    assert only(decide(comparison, ends[1])).outcome is Slowdown.NOT_SLOWER


def test_each_group_is_decided_against_the_first(make_trial: MakeTrial) -> None:
    found = decide(of_times(make_trial, BEFORE * 2, SLOWER * 2, FASTER * 2), 1.05)
    assert [each.outcome for each in found] == [Slowdown.SLOWER, Slowdown.NOT_SLOWER]


def test_what_failed_may_have_been_the_slowest(make_trial: MakeTrial) -> None:
    failed = [
        make_trial(
            configuration={"of": "1"},
            id=new_id(),
            state=State.FAILED,
            failure=Failure("timeout", "VEN-X", "late"),
        )
        for _ in range(14)
    ]
    before = group(make_trial, BEFORE, "0")
    alike = [*group(make_trial, ALIKE, "1"), *failed]
    decision = only(decide(compare_groups([before, alike]), 1.05))
    assert decision.outcome is Slowdown.CANNOT_TELL
    assert "14 failed do not count" in decision.sentence
    slower = [*group(make_trial, SLOWER, "1"), *failed]
    assert only(decide(compare_groups([before, slower]), 1.05)).outcome is Slowdown.SLOWER


def test_a_size_is_not_slower(make_trial: MakeTrial) -> None:
    with pytest.raises(VenturiError, match="neither a time nor a rate") as caught:
        decide(of_rates(make_trial, BEFORE, SLOWER, unit="B"), 1.05)
    assert caught.value.exit_code is ExitCode.USAGE


@pytest.fixture
def ids(tmp_path: Path, make_trial: MakeTrial) -> dict[str, str]:
    """A trial's id for each group in the repository of `tmp_path`."""
    named = {
        "before": BEFORE,
        "alike": ALIKE,
        "slower": SLOWER,
        "noisy": NOISY,
        "few": SLOWER[:2],
    }
    groups = {name: group(make_trial, times, name) for name, times in named.items()}
    failure = Failure("capacity", "VEN-MEASURE-SPACE", "full")
    groups["failed"] = [
        make_trial(id=new_id(), configuration={"of": "failed"}, state=State.FAILED, failure=failure)
    ]
    with TrialRepository.open(settings.load({"VENTURI_HOME": str(tmp_path)})) as repository:
        for trials in groups.values():
            for trial in trials:
                repository.add(trial)
    return {name: trials[0].id for name, trials in groups.items()}


@pytest.mark.parametrize(
    ("after", "options", "status", "says"),
    [
        ("slower", ["--fail-if-slower", "5%"], 4, "is slower than"),
        ("slower", ["--fail-if-slower", "1.05x"], 4, "by more than 5%"),
        ("slower", ["--fail-if-slower", "20%"], 0, "is not slower than"),
        ("slower", [], 0, "higher: worse"),
        ("alike", ["--fail-if-slower", "5%", "--fail-if-unsure"], 0, "is not slower than"),
        ("noisy", ["--fail-if-slower", "5%"], 0, "cannot tell whether"),
        ("noisy", ["--fail-if-slower", "5%", "--fail-if-unsure"], 3, "cannot tell whether"),
        ("few", ["--fail-if-slower", "5%"], 0, "2 trials are too few"),
        ("few", ["--fail-if-slower", "5%", "--fail-if-unsure"], 3, "2 trials are too few"),
    ],
)
def test_the_exit_status_is_the_decision(
    tmp_path: Path, ids: dict[str, str], after: str, options: list[str], status: int, says: str
) -> None:
    done = venturi("compare", ids["before"], ids[after], *options, home=tmp_path)
    assert done.returncode == status
    assert says in done.stdout
    assert done.stderr == ""
    as_json = venturi("compare", ids["before"], ids[after], *options, "--json", home=tmp_path)
    assert as_json.returncode == status
    data = json.loads(as_json.stdout)["data"]
    if options:
        (decision,) = data["slower"]["decisions"]
        assert decision["sentence"] in done.stdout
        assert decision["outcome"] in {"slower", "not slower", "cannot tell"}
        assert data["slower"]["limit"] == pytest.approx(1.2 if "20%" in options else 1.05)
    else:
        assert "slower" not in data


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["failed", "--fail-if-slower", "5%"], 1, "has no counted trial"),
        (["nothing", "--fail-if-slower", "5%"], 1, "VEN-RECORD-UNKNOWN"),
        (["alike", "--fail-if-slower", "5"], 2, "did you mean 5% or 5x?"),
        (["alike", "--fail-if-slower", "0.9x"], 2, "is less than 1"),
        (["alike", "--fail-if-slower", "much"], 2, "write it like 5% or 1.05x"),
        (["alike", "--fail-if-slower", "-5%"], 2, "neither a percentage nor a factor"),
        (["alike", "--fail-if-unsure"], 2, "needs --fail-if-slower"),
    ],
)
def test_what_ends_a_comparison_is_no_regression(
    tmp_path: Path, ids: dict[str, str], arguments: list[str], status: int, says: str
) -> None:
    after, *options = arguments
    done = venturi("compare", ids["before"], ids.get(after, after), *options, home=tmp_path)
    assert done.returncode == status
    assert says in done.stderr
    assert done.stdout == ""
