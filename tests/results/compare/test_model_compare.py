"""Groups of trials side by side, in the model and through the command."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from model_trials import MakeTrial
from venturi.cli.main import cli
from venturi.core import settings
from venturi.core.errors import VenturiError
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import (
    DISTURBED,
    Failure,
    Provenance,
    ProvenanceKind,
    Sample,
    State,
    Trial,
    TrialWarning,
    Workload,
    new_id,
)
from venturi.results.compare.repeat_groups import compare_groups, read_group

SLOW = [10.0, 10.2, 9.9, 10.1, 10.3]
FAST = [8.0, 8.1, 7.9, 8.2, 8.05]


def group(make: MakeTrial, times: list[float], threads: int, **changes: object) -> list[Trial]:
    return [
        make(elapsed_s=time, configuration={"threads": threads}, id=new_id(), **changes)
        for time in times
    ]


def failed(make: MakeTrial, threads: int) -> Trial:
    failure = Failure("space", "VEN-MEASURE-SPACE", "full")
    return make(
        state=State.FAILED, failure=failure, elapsed_s=0.1, configuration={"threads": threads}
    )


def test_the_faster_group_is_better(make_trial: MakeTrial) -> None:
    comparison = compare_groups([group(make_trial, SLOW, 1), group(make_trial, FAST, 2)])
    slow, fast = comparison.groups
    assert (comparison.unit, comparison.higher_is_better, comparison.alpha) == ("s", False, 0.05)
    assert slow.summary.median == 10.1
    assert slow.summary.interval is not None
    assert (slow.summary.interval.low, slow.summary.interval.high) == (9.9, 10.3)
    assert comparison.in_words(slow) == "the reference"
    assert comparison.in_words(fast) == "lower: better"
    assert comparison.warnings == ()


def test_of_rates_the_higher_is_better(make_trial: MakeTrial) -> None:
    def rates(values: list[float], threads: int) -> list[Trial]:
        return [
            make_trial(
                configuration={"threads": threads}, samples=(Sample("net_rate", value, "B/s"),)
            )
            for value in values
        ]

    comparison = compare_groups([rates(SLOW, 1), rates(FAST, 2)], "net_rate")
    assert comparison.higher_is_better is True
    assert comparison.in_words(comparison.groups[1]) == "lower: worse"


def test_failures_and_warm_ups_never_count_but_are_counted(make_trial: MakeTrial) -> None:
    trials = [
        *group(make_trial, FAST, 2),
        *group(make_trial, [99.0], 2, warm_up=True),
        failed(make_trial, 2),
        failed(make_trial, 2),
    ]
    reading = read_group(trials)
    assert reading.values == FAST
    assert reading.left_out == {"warm-up": 1, "failed": 2}
    only_failed = compare_groups([group(make_trial, SLOW, 1), [failed(make_trial, 2)]])
    assert only_failed.groups[1].values == ()
    assert "cannot tell" in only_failed.in_words(only_failed.groups[1])
    assert any("no counted trial" in warning for warning in only_failed.warnings)


def test_several_verdicts_share_one_alpha(make_trial: MakeTrial) -> None:
    groups = [group(make_trial, SLOW, n) for n in range(4)]
    comparison = compare_groups(groups)
    assert comparison.alpha == pytest.approx(0.05 / 3)
    for result in comparison.groups[1:]:
        assert result.against_first is not None
        assert result.against_first.alpha == comparison.alpha


def test_only_like_is_compared_with_like(make_trial: MakeTrial) -> None:
    reference = group(make_trial, SLOW, 1)
    changed = group(make_trial, FAST, 1, workload=Workload("terasort", "v2"))
    other = group(make_trial, FAST, 1, workload=Workload("wordcount", "v1"))
    mixed = [*group(make_trial, FAST, 2), *group(make_trial, FAST, 3)]
    twice = [
        make_trial(configuration={"threads": 9}, samples=(Sample("m", 1.0, "s"),) * 2)
        for _ in range(2)
    ]
    for groups, metric in (
        ([reference, changed], "elapsed_s"),
        ([reference, other], "elapsed_s"),
        ([reference, mixed], "elapsed_s"),
        ([reference, []], "elapsed_s"),
        ([reference, reference], "elapsed_s"),
        ([reference], "elapsed_s"),
        ([reference, group(make_trial, FAST, 2)], "no_such_metric"),
        ([twice, reference], "m"),
    ):
        with pytest.raises(VenturiError) as caught:
            compare_groups(groups, metric)
        assert caught.value.code == "VEN-COMPARE-GROUPS"


def test_later_runs_of_one_setting_are_told_apart_by_their_experiment(
    make_trial: MakeTrial,
) -> None:
    before, after = (group(make_trial, times, 1) for times in (FAST, SLOW))
    with pytest.raises(VenturiError, match="its trials have the same settings") as caught:
        compare_groups([before, after])
    assert "--experiment" in str(caught.value.hint)
    assert "`venturi rank --by experiment`" in str(caught.value.hint)


def test_differences_that_matter_are_said(make_trial: MakeTrial) -> None:
    imported = Provenance(ProvenanceKind.IMPORTED, "paper")
    comparison = compare_groups(
        [
            group(make_trial, SLOW, 1),
            group(
                make_trial,
                FAST,
                1,
                provenance=imported,
                workload=Workload("terasort", "v1", input_bytes=2 * 10**9),
            ),
        ]
    )
    text = "\n".join(comparison.warnings)
    assert "different provenance: imported, measured" in text
    assert "different input sizes" in text


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path))
    monkeypatch.delenv("VENTURI_DATABASE_URL", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


@pytest.mark.usefixtures("home")
def test_command_takes_group_keys_and_ids(make_trial: MakeTrial) -> None:
    slow, fast = group(make_trial, SLOW, 1), group(make_trial, FAST, 2)
    with TrialRepository.open(settings.load()) as repository:
        for trial in (*slow, *fast, failed(make_trial, 2)):
            repository.add(trial)
    names = [slow[0].group_key, fast[3].id]
    shown = CliRunner().invoke(cli, ["compare", *names], catch_exceptions=False)
    assert shown.exit_code == 0
    assert slow[0].group_key in shown.stdout
    assert "lower: better" in shown.stdout
    assert re.search(r"9\.9 to 10\.3 \(90 %\)", shown.stdout)
    assert "threads 2: not counted: 1 failed" in shown.stdout

    result = CliRunner().invoke(cli, ["compare", *names, "--json"], catch_exceptions=False)
    data = json.loads(result.stdout)["data"]
    assert [g["summary"]["n"] for g in data["groups"]] == [5, 5]
    assert data["groups"][0]["against_first"] is None
    assert data["groups"][1]["against_first"]["outcome"] == "lower"
    assert data["groups"][1]["left_out"] == {"failed": 1}
    assert data["groups"][1]["verdict"] == "lower: better"

    for wrong in (["nothing"], ["nothing", names[0]]):
        refused = CliRunner().invoke(cli, ["compare", *wrong])
        assert isinstance(refused.exception, VenturiError)
        assert refused.exception.code == "VEN-RECORD-UNKNOWN"
    single = CliRunner().invoke(cli, ["compare", names[0]])
    assert isinstance(single.exception, VenturiError)
    assert single.exception.code == "VEN-COMPARE-GROUPS"


def test_disturbed_trials_count_and_the_answer_without_them_is_told(make_trial: MakeTrial) -> None:
    """Five of ten were disturbed: with them the groups tie, without them one is faster."""
    disturbed = {
        "warnings": (TrialWarning(DISTURBED, "other programs used 61% of the CPU time"),),
        "samples": (Sample("cpu_others_share", 0.61, "fraction"),),
    }
    slow = [*group(make_trial, SLOW, 1), *group(make_trial, [7.0, 7.1], 1, **disturbed)]
    fast = [*group(make_trial, FAST, 2), *group(make_trial, [30.0, 31.0, 32.0], 2, **disturbed)]
    comparison = compare_groups([slow, fast])
    assert comparison.outcome(comparison.groups[1]) == "cannot tell"
    assert [len(found.values) for found in comparison.groups] == [7, 8], "they count"
    (said,) = [warning for warning in comparison.warnings if "disturbed" in warning]
    assert said.startswith(
        "5 of 15 trials were disturbed, with other programs using up to 61% of the CPU"
    )
    without = compare_groups([group(make_trial, SLOW, 1), group(make_trial, FAST, 2)])
    assert said.endswith(f"without them: {without.sentence(without.groups[1])}")
    (alone,) = [
        warning
        for warning in compare_groups([slow[:5], fast[5:]]).warnings
        if "disturbed" in warning
    ]
    assert alone.endswith("without them, a group has none")


def test_printed_figures_in_one_group_are_no_repeats(make_trial: MakeTrial) -> None:
    """Two groups of five; measured trials with these times would be distinguishable."""

    def printed(times: list[float], threads: int, kind: str) -> list[Trial]:
        setup = {"threads": threads, "published_statistic": kind}
        return [make_trial(elapsed_s=time, configuration=setup, id=new_id()) for time in times]

    for kind in ("not stated", "mean of 5"):
        found = compare_groups([printed(SLOW, 1, kind), printed(FAST, 2, kind)])
        verdict = found.groups[1].against_first
        assert verdict is not None
        assert (str(verdict.outcome), verdict.interval, verdict.p_value) == (
            "cannot tell",
            None,
            None,
        )
        why = f"printed figures ({kind}) are not repeats of each other"
        assert verdict.reason == found.groups[0].summary.reasons["interval"] == why
        assert found.groups[0].summary.interval is None
    of_one = compare_groups([printed(SLOW, 1, "single"), printed(FAST, 2, "single")])
    assert str(of_one.groups[1].against_first.outcome) == "lower"  # type: ignore[union-attr]
    alone = compare_groups([printed(SLOW[:1], 1, "best"), printed(FAST[:1], 2, "best")])
    assert "no repeats" not in str(alone.groups[1].against_first)
