"""`venturi jobs`: the fleet on one screen, for a pipe, as JSON."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import own_samples
from command_line import into_pipe, on_terminal, venturi
from event_log import put
from venturi.core.settings import Settings
from venturi.jobs.fleet import answer
from venturi.record.access import exclusions
from venturi.record.store.repository import TrialRepository

DATA = Path(__file__).parents[2] / "data/spark/4.3.0"
LOGS = [*sorted((DATA / "faults").glob("*.zstd")), DATA / "failedjob.log"]
KILLED = "killed.log.inprogress"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A repository with a fleet of planted faults, some of them fixed."""
    settings = Settings(tmp_path_factory.mktemp("fleet") / "home", None, None, allow_debug=False)
    # A log that was written just now would be of a running application.
    killed = put(settings.home.parent / KILLED, (DATA / KILLED).read_bytes(), ago_s=86_400)
    done = venturi("import", *LOGS, killed, home=settings.home)
    assert done.returncode == 0, done.stderr
    return settings


def data(settings: Settings, *arguments: str) -> Any:
    done = venturi("jobs", "--json", *arguments, home=settings.home)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["data"]


def test_the_first_screen_has_a_sentence_a_table_and_the_next_command(fleet: Settings) -> None:
    shown = on_terminal(fleet, "jobs")
    assert len(shown) <= 24
    assert max(map(len, shown)) <= 80
    listed = data(fleet)
    assert " ".join(shown[:2]).strip() == listed["sentence"]
    first = listed["jobs"][0]
    assert f"start with {first['name']}." in listed["sentence"]
    assert shown[4].split()[1].startswith(first["name"].split(",")[0][:10])
    assert shown[-1] == f"Next: venturi show {shown[4].split()[0]}"
    assert first["id"].endswith(shown[4].split()[0])
    assert "more with smaller savings or none: --all" in shown[-2]
    assert len(on_terminal(fleet, "jobs", "--all")) > 24


def test_jobs_are_sorted_by_what_can_be_saved(fleet: Settings) -> None:
    listed = data(fleet)
    savings = [job["saving_s"] or 0.0 for job in listed["jobs"]]
    assert savings == sorted(savings, reverse=True)
    assert listed["saving_low_s"] < listed["saving_s"] < listed["saving_high_s"]
    assert listed["saving_s"] == pytest.approx(sum(savings))
    for job in listed["jobs"]:
        assert (job["finding"] is None) == (job["finding_reason"] is not None)
        assert (job["saving_s"] is None) == (job["saving_reason"] is not None)
        assert job["cost_reason"] == "no price is recorded with this run, and none is set"
        assert job["application"]
        assert job["elapsed_s"] > 0


def test_the_saving_of_a_row_is_that_of_show(fleet: Settings) -> None:
    first = data(fleet)["jobs"][0]
    done = venturi("show", first["id"], "--json", home=fleet.home)
    finding = json.loads(done.stdout)["data"]["job"]["diagnosis"]["findings"][0]
    keys = ("fix", "saving", "saving_s", "saving_low_s", "saving_high_s")
    assert [first[key] for key in keys] == [finding[key] for key in keys]


def test_a_failed_job_says_why_and_an_unfinished_one_what_is_missing(fleet: Settings) -> None:
    jobs = {job["name"]: job for job in data(fleet)["jobs"]}
    failed = jobs["venturi-fixture-failedjob"]
    assert failed["state"] == "failed"
    assert "the input is bad" in failed["finding"]
    assert failed["saving_reason"] == "the job failed"
    killed = jobs["venturi-fixture-killed"]
    assert killed["state"] == "interrupted"
    assert "the log ends before the application does" in killed["finding_reason"]


def test_a_pipe_gets_all_columns_and_rows(fleet: Settings) -> None:
    lines = into_pipe(fleet, "jobs")
    listed = data(fleet)
    assert lines[0] == listed["sentence"]
    assert lines[1].split()[:4] == ["id", "application", "job", "engine"]
    assert len(lines) == 2 + len(listed["jobs"])
    assert [line.split()[0] for line in lines[2:]] == [job["id"] for job in listed["jobs"]]


def test_where_limit_and_each_choose_the_rows(fleet: Settings) -> None:
    assert len(data(fleet, "--limit", "3")["jobs"]) == 3
    chosen = data(fleet, "--where", "workload=spill, faulty")
    assert [job["name"] for job in chosen["jobs"]] == ["spill, faulty"]
    assert all(job["runs"] == 1 for job in data(fleet, "--each")["jobs"])
    assert {job["state"] for job in data(fleet, "--where", "state=failed")["jobs"]} == {"failed"}
    bad = venturi("jobs", "--where", "workload=spil, faulty", home=fleet.home)
    assert bad.returncode == 2
    assert "did you mean spill, faulty" in bad.stderr


def test_an_import_stores_the_summaries(fleet: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a stored summary was computed again")

    monkeypatch.setattr(answer, "summarise", never)
    assert data(fleet)["undiagnosed"] == 0


def test_recurring_runs_are_one_row_with_a_proven_slowdown(settings: Settings) -> None:
    with TrialRepository.open(settings) as repository:
        own_samples.own_trial(repository)
        first = repository.get(own_samples.OWN)
        assert first.started_at is not None
        for day in range(1, 18):
            noise = (day * 7 % 5 - 2) / 100
            repository.add(
                replace(
                    first,
                    id=f"{day:026}",
                    started_at=first.started_at + timedelta(days=day),
                    elapsed_s=(50.0 if day < 11 else 90.0) * (1 + noise),
                )
            )
    shown = on_terminal(settings, "jobs")
    assert shown[0].startswith("1 job (18 runs); the latest runs took ")
    assert any("terasort ×18" in line for line in shown)
    (line,) = (line for line in shown if "slower since" in line)
    assert line.startswith("  terasort: 1.8x slower since ")
    assert len(data(settings, "--each")["jobs"]) == 18
    assert all(job["trend"] is None for job in data(settings, "--each")["jobs"])


def test_an_empty_repository_gets_three_ways_to_begin(tmp_path: Path) -> None:
    done = venturi("jobs", home=tmp_path / "home")
    assert (done.returncode, done.stdout) == (0, "")
    for verb in ("venturi quickstart", "venturi import /var", "venturi import published"):
        assert verb in done.stderr
    assert data(Settings(tmp_path / "home", None, None, allow_debug=False))["jobs"] == []


def test_studies_without_jobs_are_pointed_to_ls(tmp_path: Path) -> None:
    home = tmp_path / "home"
    venturi("import", "published", home=home)
    done = venturi("jobs", home=home)
    assert (done.returncode, done.stdout) == (0, "")
    assert "is a job with an engine's log" in done.stderr
    assert "venturi ls" in done.stderr


def test_excluded_runs_are_left_out_and_counted(settings: Settings) -> None:
    with TrialRepository.open(settings) as repository:
        own_samples.own_trial(repository)
        own_samples.own_trial(repository, number=911)
        exclusions.add(repository, [f"id={own_samples.OWN}"], "Ada", "wrong clock")
    done = venturi("jobs", home=settings.home)
    assert "1 run left out by rules" in done.stderr
    assert data(settings)["runs"] == 1
