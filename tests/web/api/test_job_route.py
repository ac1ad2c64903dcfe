"""The engine's account of an imported job, over HTTP and as a file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import own_samples
from api_client import client_of
from venturi.cli.main import cli
from venturi.core.settings import Settings
from venturi.jobs.fleet.retention import drop_tables
from venturi.record.account_tables import ACCOUNT_NAME
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

FAULTS = Path(__file__).parents[2] / "data" / "spark" / "4.3.0" / "faults"
LOG = Path(__file__).parents[2] / "data" / "spark" / "4.3.0" / "join.log"


def _imported(settings: Settings, monkeypatch: pytest.MonkeyPatch, log: Path = LOG) -> Trial:
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))
    done = CliRunner().invoke(cli, ["import", "spark-eventlog", str(log)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    with TrialRepository.open(settings) as repository:
        (trial,) = whole_trials(repository)
    return trial


def test_the_parts_of_every_stage_add_up(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = _imported(settings, monkeypatch)
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        detail = client.get(f"/api/trials/{trial.id}").json()
        job: dict[str, Any] = client.get(f"/api/trials/{trial.id}/job").json()
    assert detail["has_job"]
    assert job["missing_reason"] is None
    assert job["verdict"]
    assert len(job["stages"]) == 4
    for stage in job["stages"]:
        parts_s = [cause["time_s"] or 0.0 for cause in stage["causes"]]
        assert sum(parts_s) + stage["unattributed_s"] == pytest.approx(stage["task_s"], rel=0.01)
    assert sum(part["share"] for part in job["parts"]) == pytest.approx(1.0)
    assert sum(p["time_s"] for p in job["parts"]) == pytest.approx(job["elapsed_s"], rel=0.01)
    assert any(stage["on_critical_path"] for stage in job["stages"])
    assert job["began_s"] is None
    assert job["began_reason"] == "an imported log has only its own clock"
    assert {stage["host"] for stage in job["stages"]} == {None}


def test_figures_of_an_incomplete_stage_are_marked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = FAULTS.parents[2] / "cases/dropped-events/ends-and-stage.log"
    trial = _imported(settings, monkeypatch, log)
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        job: dict[str, Any] = client.get(f"/api/trials/{trial.id}/job").json()
    assert job["lacks_tasks"]
    marks = [(stage["partial"], stage["time_bound"]) for stage in job["stages"]]
    assert marks == [(True, "≤"), (False, "")]


def test_findings_come_with_where_they_were_seen_and_cores_add_up(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = _imported(settings, monkeypatch, FAULTS / "executor-killed-faulty.zstd")
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        job: dict[str, Any] = client.get(f"/api/trials/{trial.id}/job").json()
    first = job["findings"][0]
    assert (first["rule"], first["confidence"]) == ("executor-lost", "medium")
    assert first["saving_s"] == pytest.approx(first["share"] * job["elapsed_s"])
    assert first["where"][0]["executor"] == "0"
    assert (job["silence"], job["unseen"]) == (None, [])
    assert (job["queries_left_out"], job["jobs_left_out"]) == (0, 0)
    assert job["sentence"] == f"{first['fix']}: {first['saving']}."
    assert first["saving_low_s"] <= first["saving_s"] <= first["saving_high_s"]
    assert (job["overlap"] is None) == (sum(e["saving_s"] > 0 for e in job["findings"]) < 2)
    assert {each["what"] for each in job["losses"]} == {
        "successful attempts with lost output",
        "attempts on lost executors",
    }
    (gone,) = job["lost_executors"]
    assert "signal 9" in gone["meaning"]
    used_s, unused_s = (
        sum(each["time_s"] for each in job["cores"][part]) for part in ("used", "unused")
    )
    assert 0 < used_s < used_s + unused_s == pytest.approx(job["cores"]["offered_s"])
    now = next(each for each in job["outlook"]["found"] if each["slots"] == 2)
    assert now["time_s"] == job["outlook"]["replayed_s"]
    assert (now["executors"], now["time_s"] > now["bound_s"]) == (2, True)
    needs = [each["ideal"] for each in job["jobs"] if each["ideal"]]
    assert needs
    for each in needs:
        assert 1 <= each["slots"] <= each["useful_slots"]
        assert each["least_s"] <= each["time_s"] <= 1.1 * each["least_s"] + 1e-6
        assert each["executors"] == each["slots"]  # of one core each


def test_a_trial_without_an_account_says_so(
    settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        repository.add(trial := make_trial())
        job = client.get(f"/api/trials/{trial.id}/job").json()
        assert client.get(f"/api/trials/{trial.id}").json()["has_job"] is False
    assert (job["verdict"], job["stages"]) == (None, [])
    assert "no job log" in job["missing_reason"]


def test_show_writes_the_page_of_the_trial(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trial = _imported(settings, monkeypatch)
    page = tmp_path / "trial.html"
    shown = CliRunner().invoke(cli, ["show", trial.id, "--html", str(page)], catch_exceptions=False)
    assert shown.exit_code == 0
    twins = re.search(r'id="twins">(.*?)</script>', page.read_text("utf-8"))
    assert twins
    job = json.loads(twins[1])[f"/api/trials/{trial.id}/job"]
    assert job["verdict"] in " ".join(shown.stdout.split())


def test_a_job_that_venturi_ran_stands_on_the_clock_of_its_trial(settings: Settings) -> None:
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        trial = own_samples.own_trial(repository)
        job: dict[str, Any] = client.get(f"/api/trials/{trial.id}/job").json()
    assert job["began_s"] == pytest.approx(2.8215, abs=1e-3)
    assert (job["began_reason"], job["failure"], job["applications"]) == (None, None, 1)
    sort = next(phase for phase in trial.phases if phase.name == "sort")
    for stage in job["stages"]:
        began_s = job["began_s"] + stage["started_s"]
        assert sort.started_s < began_s < sort.started_s + sort.elapsed_s
        assert stage["host"]["disk"] == "vda"
        assert "processor" in stage["meanwhile"]
    running = job["running"]
    step_s = running["t_s"][1] - running["t_s"][0]
    task_s = sum(stage["task_s"] for stage in job["stages"])
    assert sum(running["tasks"]) * step_s == pytest.approx(task_s, rel=1e-3)
    assert step_s * len(running["t_s"]) == pytest.approx(job["elapsed_s"])


def test_a_job_that_failed_says_why_and_in_which_stage(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = _imported(settings, monkeypatch, LOG.with_name("failedjob.log"))
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        job = client.get(f"/api/trials/{trial.id}/job").json()
    assert job["failure"].startswith("failed: job ")
    (failed,) = [stage for stage in job["stages"] if stage["outcome"] == "failed"]
    assert "the input is bad" in failed["reason"]
    shown = CliRunner().invoke(cli, ["show", trial.id], catch_exceptions=False)
    assert f"stage {failed['label']} " in shown.stdout
    assert "Failures" in shown.stdout


def test_show_names_the_narrowest_device_beside_the_narrowest_point(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENTURI_HOME", str(settings.home))
    with TrialRepository.open(settings) as repository:
        trial = own_samples.own_trial(repository)
    shown = CliRunner().invoke(cli, ["show", trial.id], catch_exceptions=False)
    said = " ".join(shown.stdout.split())
    assert "Load of the host in the longest stages 3 (4.2 s)" in said
    assert "% busy" in said
    assert "began 2.8 s after the trial" in said
    told = CliRunner().invoke(cli, ["show", trial.id, "--json"], catch_exceptions=False)
    host = json.loads(told.stdout)["data"]["job"]["host"]
    assert host["missing_reason"] is None
    assert set(host["stages"]) == {"0", "1", "3"}


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("application", "started_ms", "x"),
        ("application", "ended_ms", [1]),
        ("application", "ended_ms", None),
        ("reading", "files", 5),
    ],
)
def test_an_account_of_other_types_is_missing_with_a_reason(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, part: str, field: str, value: object
) -> None:
    trial = _imported(settings, monkeypatch)
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        kept = next(each for each in trial.artifacts if each.name == ACCOUNT_NAME)
        path = repository.artifact_path(kept)
        facts = json.loads(path.read_bytes())
        facts[part][field] = value
        path.write_text(json.dumps(facts))
        answer = client.get(f"/api/trials/{trial.id}/job")
    assert answer.status_code == 200
    assert "cannot be read" in answer.json()["missing_reason"]


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("tasks", "stage_id"),
        ("tasks", "task_id"),
        ("stages", "attempt"),
        ("executors", "executor_id"),
    ],
)
def test_an_account_whose_rows_refer_to_nothing_is_missing_with_a_reason(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, table: str, key: str
) -> None:
    trial = _imported(settings, monkeypatch)
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        kept = next(each for each in trial.artifacts if each.name == f"{table}.parquet")
        path = repository.artifact_path(kept)
        rows = pl.read_parquet(path)
        rows.with_columns(pl.lit(None, rows.schema[key]).alias(key)).write_parquet(path)
        answer = client.get(f"/api/trials/{trial.id}/job")
    assert answer.status_code == 200
    assert f"{table} has rows without {key}" in answer.json()["missing_reason"]


def test_of_many_queries_and_jobs_it_is_told_how_many_are_not_shown(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = _imported(settings, monkeypatch, FAULTS / "driver-loop-faulty.zstd")
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        job: dict[str, Any] = client.get(f"/api/trials/{trial.id}/job").json()
    assert len(job["queries"]) + job["queries_left_out"] == 60
    assert job["queries_left_out"] > 0
    assert len(job["jobs"]) + job["jobs_left_out"] == 120


def test_a_job_without_task_tables_has_its_summary_and_the_reason(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = _imported(settings, monkeypatch, FAULTS / "skewed-join-faulty.zstd")
    path = f"/api/trials/{trial.id}"
    with TrialRepository.open(settings) as repository, client_of(repository) as client:
        before: dict[str, Any] = client.get(f"{path}/job").json()
        rows = client.get("/api/fleet").json()
        later = datetime(2030, 1, 1, tzinfo=UTC)
        assert drop_tables(repository, later, later).trials == (trial.id,)
        detail, after = client.get(path).json(), client.get(f"{path}/job").json()
        assert (detail["has_job"], after["missing_reason"], before["dropped"]) == (True, None, None)
        assert "were dropped on 2030-01-01" in after["dropped"]
        kept = ("sentence", "verdict", "findings", "silence", "parts", "elapsed_s", "failure")
        assert {key: after[key] for key in kept} == {key: before[key] for key in kept}
        assert (after["stages"], after["jobs"], after["executors"]) == ([], [], [])
        assert client.get("/api/fleet").json() == rows
        tasks = client.get(f"{path}/tasks").json()
        assert "can't be analyzed again" in tasks["missing_reason"]
        two = client.get("/api/jobs", params={"before": trial.id, "after": trial.id}).json()
        assert "importing its log again restores them" in two["missing_reason"]
        asked = client.get("/api/whatif", params={"trial": trial.id})
        assert asked.status_code in {200, 400, 404, 409, 422}
        assert "can't be analyzed again" in asked.text
        assert client.get("/api/whatif").json()["jobs"] == []
