"""Accounts of an engine without a log reader: kept with their capabilities, and analyzed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest

from venturi.core.errors import VenturiError
from venturi.jobs.diagnosis.find import Diagnosis, diagnose
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.timeline import timeline
from venturi.jobs.tiers.local_bytes import job_load
from venturi.jobs.tiers.measured import MeasuredJob
from venturi.record.account_kind import (
    ACCOUNT_KINDS,
    SPARK,
    AccountKind,
    Capability,
    TimedCause,
)
from venturi.record.account_tables import ACCOUNT_NAME, metric
from venturi.record.importing.formats import FORMATS
from venturi.record.job_account import AccountReading, Application, JobAccount, attach, load
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

START_MS = 1_800_000_000_000
BARE = AccountKind("abacus")
BEADS = AccountKind(
    "abacus",
    metrics=(metric("moved_ms", "ms", "time to move beads"), metric("beads", "B", "beads moved")),
    within=(TimedCause("cpu", "moved_ms"),),
    input_bytes=("beads",),
)


def account(kind: AccountKind, **metrics: list[int]) -> JobAccount:
    """Five tasks in one stage of 12 s on two slots; the last one takes six times as long."""
    ends_s = [2, 2, 4, 4, 12]
    tasks = [
        {
            "stage_id": 0,
            "stage_attempt": 0,
            "task_id": f"row {n}",
            "index": n,
            "attempt": 0,
            "executor_id": "frame",
            "host": "desk",
            "outcome": "succeeded",
            "launched_ms": START_MS + 1_000 * (end_s - (8 if n == 4 else 2)),
            "finished_ms": START_MS + 1_000 * end_s,
            **{name: values[n] for name, values in metrics.items()},
        }
        for n, end_s in enumerate(ends_s)
    ]
    span = {"submitted_ms": START_MS, "ended_ms": START_MS + 12_000, "outcome": "succeeded"}
    return JobAccount(
        application=Application(
            "1",
            "count",
            kind.engine,
            "3",
            started_ms=START_MS,
            ended_ms=START_MS + 13_000,
            outcome="succeeded",
        ),
        reading=AccountReading(("log",), "0", 0, None, 1),
        jobs=kind.table("jobs", [{"job_id": 0, "stage_ids": [0], **span}]),
        stages=kind.table(
            "stages",
            [{"stage_id": 0, "attempt": 0, "name": "rows", "n_tasks": 5, "parent_ids": [], **span}],
        ),
        tasks=kind.table("tasks", tasks),
        executors=kind.table("executors", [{"executor_id": "frame", "host": "desk", "cores": 2}]),
        configuration={},
        chosen=(),
        described=kind,
    )


def diagnosed(found: JobAccount) -> Diagnosis:
    line = timeline(found)
    return diagnose(line, analyse(found, line=line))


def test_tasks_alone_give_stages_and_say_what_is_not_recorded() -> None:
    found = account(BARE)
    analysis = analyse(found)
    (stage,) = analysis.stages
    assert (stage.task_s, stage.unattributed_s, stage.n_without_metrics) == (16.0, 16.0, 0)
    assert stage.causes == ()
    assert analysis.verdict.narrowest is None
    assert BARE.silence in analysis.verdict.sentence
    said = diagnosed(found)
    assert said.findings == ()
    assert any("about its tasks" in each for each in said.unseen)


def test_a_metric_is_a_cause_and_bytes_show_skew() -> None:
    found = account(BEADS, moved_ms=[1_500] * 4 + [7_900], beads=[10] * 4 + [100])
    (stage,) = analyse(found).stages
    assert {each.cause: each.time_s for each in stage.causes} == {"cpu": pytest.approx(13.9)}
    (finding,) = diagnosed(found).findings
    assert finding.rule == "skew"
    assert "10.0 times the median" in finding.says


@pytest.mark.parametrize("capability", get_args(Capability))
def test_rules_accept_an_account_without_the_metrics_of_others(capability: Capability) -> None:
    kind = replace(BARE, capabilities=(capability,))
    diagnosed(account(kind))


def test_an_account_does_not_say_what_it_cannot(make_trial: Callable[..., Trial]) -> None:
    found = account(BARE)
    with pytest.raises(VenturiError) as raised:
        job_load(MeasuredJob(make_trial(), found, analyse(found), 13.0, (), (), {}))
    assert raised.value.code == "VEN-MODEL-INPUT"


@pytest.fixture
def kept(repository: TrialRepository, make_trial: Callable[..., Trial]) -> Callable[..., Trial]:
    """A trial with an account."""

    def keep(found: JobAccount) -> Trial:
        trial = attach(repository, make_trial(), found)
        repository.add(trial)
        return trial

    return keep


def test_an_account_comes_back_with_its_description(
    repository: TrialRepository, kept: Callable[..., Trial]
) -> None:
    found = account(BEADS, moved_ms=[1, 2, 3, 4, 5], beads=[0] * 5)
    again = load(repository, kept(found))
    assert again.kind == BEADS
    assert again.tasks.equals(found.tasks)


def test_accounts_from_logs_are_kept_without_one(
    repository: TrialRepository, kept: Callable[..., Trial]
) -> None:
    trial = kept(replace(account(SPARK), described=None))
    assert load(repository, trial).kind is SPARK
    facts = next(each for each in trial.artifacts if each.name == ACCOUNT_NAME)
    assert "kind" not in json.loads(repository.artifact_path(facts).read_bytes())


@pytest.mark.parametrize(
    "change",
    [
        None,
        {"engine": "spark"},
        {"capabilities": ["flying"]},
        {"within": [{"cause": "boredom", "metric": "moved_ms"}]},
        {"within": [{"cause": "cpu", "metric": "beads"}]},
        {"within": [{"cause": "scheduler delay", "metric": "moved_ms"}]},
        {"input_bytes": ["pearls"]},
        {"metrics": [{"name": "task_id", "kind": "int", "unit": "ms", "meaning": ""}]},
    ],
)
def test_a_wrong_description_is_a_damaged_account(
    repository: TrialRepository, kept: Callable[..., Trial], change: dict[str, Any] | None
) -> None:
    trial = kept(account(BEADS))
    facts = next(each for each in trial.artifacts if each.name == ACCOUNT_NAME)
    path = repository.artifact_path(facts)
    data = json.loads(path.read_bytes())
    if change is None:
        del data["kind"]
    else:
        data["kind"] |= change
    path.chmod(0o644)
    path.write_text(json.dumps(data))
    with pytest.raises(VenturiError) as raised:
        load(repository, trial)
    assert raised.value.code == "VEN-RECORD-ARTIFACT"


def test_kinds_from_logs_have_their_formats() -> None:
    assert {kind.source for kind in ACCOUNT_KINDS.values()} <= FORMATS.keys()
