"""`/api/fleet`: the jobs of the start page, and the same answer as `venturi jobs`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

import own_samples
from command_line import venturi
from venturi.core.settings import Settings
from venturi.record.access import exclusions
from venturi.record.store.repository import TrialRepository
from venturi.web.api.jobs import fleet as route


def fleet(client: httpx.Client, **asked: object) -> Any:
    answer = client.get("/api/fleet", params=asked)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_an_empty_repository_has_no_jobs(client: httpx.Client) -> None:
    found = fleet(client)
    assert (found["jobs"], found["n"], found["sentence"]) == ([], 0, "No jobs are recorded.")


def test_a_job_has_the_finding_of_its_page(
    client: httpx.Client, repository: TrialRepository
) -> None:
    own_samples.own_trial(repository)
    (job,) = fleet(client)["jobs"]
    page = client.get(f"/api/trials/{own_samples.OWN}/job").json()
    assert (job["id"], job["name"]) == (own_samples.OWN, "terasort")
    if page["findings"]:
        assert job["finding"] == page["findings"][0]["title"]
    else:
        assert (job["finding"], job["finding_reason"]) == (None, page["silence"])


def test_the_verb_gives_the_same_answer(
    client: httpx.Client, repository: TrialRepository, repository_settings: Settings
) -> None:
    url = repository_settings.database_url
    at = {} if url is None else {"VENTURI_DATABASE_URL": url}
    for number in range(910, 913):
        own_samples.own_trial(repository, number=number)
    for asked, words in (({}, ()), ({"each": "1"}, ("--each",)), ({"limit": 1}, ("--limit", 1))):
        done = venturi("jobs", "--json", *words, home=repository_settings.home, **at)
        printed = json.loads(done.stdout)["data"]
        served = fleet(client, **asked)
        for each in (*printed["jobs"], *served["jobs"]):
            each.pop("started_at")  # two spellings of UTC
        assert served == printed


def test_prices_count_on_the_page_as_in_the_command(
    client: httpx.Client,
    repository: TrialRepository,
    repository_settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own_samples.own_trial(repository)
    url = repository_settings.database_url
    at = {} if url is None else {"VENTURI_DATABASE_URL": url}
    monkeypatch.setenv("VENTURI_PRICES", str(tmp_path / "prices.toml"))
    costs = []
    for price in ("1", "3"):
        assert venturi("prices", "set", "core-hour", price, home=tmp_path).returncode == 0
        (job,) = fleet(client)["jobs"]
        assert job["price"] == "core-hour"
        assert job["cost_basis"].startswith("core-hour price, ")
        done = venturi("jobs", "--json", home=repository_settings.home, **at)
        assert json.loads(done.stdout)["data"]["jobs"][0]["cost_usd"] == job["cost_usd"]
        page = client.get(f"/api/trials/{job['id']}").json()
        assert page["cost"]["basis"] == job["cost_basis"]
        costs.append(job["cost_usd"])
    assert costs[1] == pytest.approx(3 * costs[0])
    assert costs[0] > 0
    (tmp_path / "prices.toml").write_text("usd_per_core_hour = 'much'\n")
    refused = client.get("/api/fleet")
    assert (refused.status_code, refused.json()["code"]) == (422, "VEN-PRICE-FORMAT")


def test_where_selects_and_excluded_runs_are_counted(
    client: httpx.Client, repository: TrialRepository
) -> None:
    for number in (910, 911):
        own_samples.own_trial(repository, number=number)
    assert fleet(client)["jobs"][0]["runs"] == 2
    assert fleet(client, where=f"id={own_samples.OWN}")["runs"] == 1
    assert fleet(client, where="workload=")["jobs"] == []
    exclusions.add(repository, [f"id={own_samples.OWN}"], "Ada", "wrong clock")
    found = fleet(client)
    assert (found["runs"], found["excluded_runs"]) == (1, 1)
    assert fleet(client, excluded="1")["runs"] == 2


def test_jobs_without_a_stored_diagnosis_come_in_later_requests(
    client: httpx.Client, repository: TrialRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (910, 911, 912):
        own_samples.own_trial(repository, number=number)
    monkeypatch.setattr(route, "DIAGNOSE_S", -1.0)
    first, second, third = (fleet(client, each="1") for _ in range(3))
    assert [each["undiagnosed"] for each in (first, second, third)] == [2, 1, 0]
    assert "2 not diagnosed yet" in first["sentence"]
    assert sorted(job["diagnosed"] for job in first["jobs"]) == [False, False, True]
