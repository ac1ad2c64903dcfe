"""The tasks of a job over time, the plans of its queries, and two jobs, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import job_samples
from api_client import client_of
from venturi.cli.results.import_ import import_all
from venturi.core.settings import Settings
from venturi.jobs.logs.trial import trial_of
from venturi.jobs.stages.caches import CacheUse
from venturi.jobs.stages.queries import QueryWork
from venturi.record.importing.formats import FORMATS
from venturi.record.importing.importer import import_file
from venturi.record.job_account import attach, load
from venturi.record.store import answer_cache as answers_module
from venturi.record.store.answer_cache import forget_answers
from venturi.record.store.repository import TrialRepository
from venturi.web.api.jobs import cached_answers
from venturi.web.api.jobs.jobs import job_of

FAULTS = Path(__file__).parents[2] / "data" / "spark" / "4.3.0" / "faults"


@pytest.fixture
def answers(settings: Settings) -> Iterator[Any]:
    """The answers at a path about the jobs with a missed broadcast, and without the fault."""
    with TrialRepository.open(settings) as repository:
        ids = {
            kind: import_file(
                repository, "spark-eventlog", FAULTS / f"missed-broadcast-{kind}.zstd"
            )
            .trials[0]
            .trial
            for kind in ("faulty", "sound")
        }
        with client_of(repository) as client:

            def get(path: str) -> Any:
                answer = client.get(path.format_map(ids))
                assert answer.status_code == 200, answer.text
                return answer.json()

            yield get


def test_the_lanes_hold_the_time_of_all_tasks(answers: Any) -> None:
    found = answers("/api/trials/{faulty}/tasks")
    stages = answers("/api/trials/{faulty}/job")["stages"]
    piece_s = (found["to_s"] - found["from_s"]) / len(found["lanes"][0]["busy"])
    shown_s = sum(sum(lane["busy"]) * piece_s for lane in found["lanes"])
    assert shown_s == pytest.approx(sum(stage["task_s"] for stage in stages), rel=0.02)
    assert found["tasks"] == sum(stage["tasks"] for stage in stages)
    assert sum(dot["n"] for dot in found["dots"]) <= found["tasks"]
    times_s = [task["elapsed_s"] for task in found["slowest"]]
    assert times_s == sorted(times_s, reverse=True)


def test_a_stage_and_a_part_of_the_time_can_be_chosen(answers: Any) -> None:
    stages = answers("/api/trials/{faulty}/job")["stages"]
    stage = max(stages, key=lambda each: each["tasks"])
    own = answers(f"/api/trials/{{faulty}}/tasks?stage={stage['label']}")
    assert own["tasks"] == stage["tasks"]
    assert own["from_s"] == pytest.approx(stage["started_s"])
    time, read = own["spreads"]
    assert (time["what"], time["n"], time["reason"]) == ("task time", stage["tasks"], None)
    assert time["most"] == pytest.approx(max(task["elapsed_s"] for task in own["slowest"]))
    assert time["most"] / time["median"] == pytest.approx(stage["skew"])
    assert read["least"] <= read["quarter"] <= read["median"] <= read["most"]
    half_s = (own["from_s"] + own["to_s"]) / 2
    half = answers(f"/api/trials/{{faulty}}/tasks?stage={stage['label']}&to_s={half_s}")
    assert half["to_s"] == pytest.approx(half_s)
    assert half["spreads"] == own["spreads"]
    assert answers("/api/trials/{faulty}/tasks")["spreads"] == []
    part = answers("/api/trials/{faulty}/tasks?from_s=1&to_s=2")
    assert (part["from_s"], part["to_s"]) == (1, 2)
    nothing = answers("/api/trials/{faulty}/tasks?from_s=5&to_s=4")
    assert (nothing["lanes"], nothing["missing_reason"] is None) == ([], False)


def test_plans_stand_with_what_their_operators_counted(answers: Any) -> None:
    (query,) = answers("/api/trials/{faulty}/job")["queries"]
    names = [each["name"] for each in query["operators"]]
    assert "SortMergeJoin" in names
    join = query["operators"][names.index("SortMergeJoin")]
    sides = [each for each in query["operators"] if each["parent"] == names.index("SortMergeJoin")]
    assert join["rows"] == 8_000_000
    assert len(sides) == 2
    assert not any(name.startswith("WholeStageCodegen") for name in names)


def test_queries_have_their_work_and_caches_are_told(tmp_path: Path, settings: Settings) -> None:
    with TrialRepository.open(settings) as repository:
        trial = job_samples.planned(repository, tmp_path)
        job = job_of(repository, trial)
    (query,) = job.queries
    assert query.work == QueryWork((0,), 0, ("0", "1"), 0)
    assert query.adaptive is not None
    assert query.adaptive.startswith("removed: Scan; new: HashAggregate(keys=[k])")
    level = "Disk Memory Serialized 1x Replicated"
    assert job.caches == (CacheUse(3, "returns", level, 4, None, None, None),)


def test_accounts_that_earlier_versions_kept_are_read(tmp_path: Path, settings: Settings) -> None:
    account = job_samples.planned_log().account(tmp_path)
    old = replace(account, jobs=account.jobs.drop("query_id"), plan_changes=None, caches=None)
    with TrialRepository.open(settings) as repository:
        trial = attach(repository, trial_of(old), old)
        repository.add(trial)
        assert load(repository, trial).jobs["query_id"].to_list() == [None, None]
        job = job_of(repository, trial)
    assert job.missing_reason is None
    assert [(query.work, query.adaptive) for query in job.queries] == [(None, None)]
    assert job.caches == ()


def test_executors_have_the_time_of_all_tasks(answers: Any) -> None:
    job = answers("/api/trials/{faulty}/job")
    task_s = sum(stage["task_s"] for stage in job["stages"])
    assert sum(each["task_s"] for each in job["executors"]) == pytest.approx(task_s)
    assert job["executors_left_out"] == 0


def test_two_jobs_say_what_differs_and_without_two_what_is_lacking(answers: Any) -> None:
    found = answers("/api/jobs?before={sound}&after={faulty}")
    assert "spark.sql.autoBroadcastJoinThreshold was -1" in found["difference"]["sentence"]
    assert found["after"]["findings"][0]["rule"] == "broadcast-missed"
    assert found["after"]["findings"][0]["settings"] == {
        "spark.sql.autoBroadcastJoinThreshold": "10m"
    }
    assert "two trials" in answers("/api/jobs?before={sound}")["missing_reason"]


def test_memory_stands_over_time_beside_what_there_is(tmp_path: Path, settings: Settings) -> None:
    with TrialRepository.open(settings) as repository:
        trial = job_samples.planned(repository, tmp_path)
        first, second = job_of(repository, trial).memory
    assert (first.executor_id, first.heap_bytes, first.region_bytes) == ("1", 4 << 30, 2 << 30)
    told = {line.what: line.bytes for line in second.lines}
    assert told["heap"] == (4 << 30,)
    assert told["execution"] == (2 << 30,)
    assert second.t_s == (pytest.approx(20, abs=1),)


def test_batches_of_a_stream_stand_over_time(tmp_path: Path, settings: Settings) -> None:
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        trial = job_samples.planned(repository, tmp_path)
        job = client.get(f"/api/trials/{trial.id}/job").json()
    (stream,), (batches,) = job["streams"], job["batches"]
    assert batches["stream"] == stream["stream"]
    assert max(batches["took_s"]) == stream["slowest_s"]
    assert [part["what"] for part in batches["parts"]][:1] == ["its jobs"]
    assert batches["late_s"] == [None, *[30] * 5]


def test_answers_about_a_large_job_are_kept_until_program_or_trial_change(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cached_answers, "LARGE_BYTES", 1)
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))
    log = FAULTS / "missed-broadcast-faulty.zstd"
    (outcome,), _ = import_all(FORMATS["spark-eventlog"], [log])
    assert outcome.imported is not None
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        trial = repository.get(outcome.imported.trials[0].trial)
        table = settings.home / "artifacts" / trial.id / "tasks.parquet"
        aside = settings.home / "aside"

        def told() -> list[Any]:
            """The pages' first answers, and their reasons for missing data."""
            paths = (f"/api/trials/{trial.id}/{part}" for part in ("job", "tasks"))
            answers = [client.get(path).json() for path in paths]
            return [*answers, *(each["missing_reason"] for each in answers)]

        table.rename(aside)
        first = told()
        assert first[2:] == [None, None]
        assert "not in this repository" in str(job_of(repository, replace(trial, samples=())))
        monkeypatch.setattr(answers_module, "program_digest", lambda: "another")
        assert all("not in this repository" in missing for missing in told()[2:])
        aside.rename(table)
        assert told() == first  # computed again, and kept
        table.rename(aside)
        assert told() == first
        (settings.home / "answers" / f"{trial.id}.tasks.json").write_bytes(b"damaged")
        aside.rename(table)
        assert told() == first
        forget_answers(settings.home, trial.id)
        assert list((settings.home / "answers").iterdir()) == []
