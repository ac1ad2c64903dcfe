"""The first page's data: what is here, the answers, what is to be looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

import own_samples
import pages_samples
import report_samples
from api_client import client_of
from venturi.core.settings import ServerLimits
from venturi.record.access import exclusions
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Failure, Sample, State, Trial, TrialWarning
from venturi.web.api.results import start as first_page
from venturi.web.pages import is_page

MakeTrial = Callable[..., Trial]


def start(client: httpx.Client) -> Any:
    answer = client.get("/api/start")
    assert answer.status_code == 200, answer.text
    return answer.json()


def answer_to(told: Any, question: str) -> Any:
    (found,) = [each for each in told["answers"] if each["question"].startswith(question)]
    return found


def test_an_empty_repository_has_nothing_to_say(client: httpx.Client) -> None:
    told = start(client)
    assert told["headline"] == "Nothing is recorded here yet"
    assert [told[part] for part in ("figures", "answers", "findings", "recent")] == [[], [], [], []]


def test_it_is_given_up_when_it_takes_too_long(repository: TrialRepository) -> None:
    with (
        client_of(repository, limits=ServerLimits(compute_timeout_s=1)) as client,
        first_page._ONE_AT_A_TIME,  # as while another's is computed
    ):
        answer = client.get("/api/start")
        assert (answer.status_code, answer.json()["code"]) == (503, "VEN-API-TIME")
        assert client.get("/api/trials").status_code == 200


def test_no_workload_has_most_trials_where_all_have_as_many(
    client: httpx.Client, repository: TrialRepository
) -> None:
    def note() -> tuple[str, str]:
        (shown,) = [each for each in start(client)["figures"] if each["label"] == "Workloads"]
        return shown["note"], shown["url"]

    repository.add_many([report_samples.disk_probe(), report_samples.network_probe()])
    assert note() == ("1 trial of each", "/trials")
    repository.add(replace(report_samples.disk_probe(), id="another-probe"))
    assert note() == ("most trials: diskbench, 2", "/trials?where=workload%3Ddiskbench")


def test_probes_and_sorts_of_this_machine_answer_in_its_report_s_words(
    client: httpx.Client, repository: TrialRepository
) -> None:
    repository.add_many([report_samples.disk_probe(), report_samples.network_probe()])
    told = start(client)
    machine = answer_to(told, "What can this machine do?")
    assert machine["sentences"][0].startswith("The disk reads ")
    assert machine["known"]
    assert not any(each["question"].startswith("How long") for each in told["answers"])


def test_times_are_told_by_repeat_group_never_pooled(
    client: httpx.Client, repository: TrialRepository, make_trial: MakeTrial
) -> None:
    for memory, times in (("1 GiB", (15.0, 17.0, 16.0)), ("4 GiB", (4.0,))):
        repository.add_many(
            [
                make_trial(state=State.SUCCEEDED, configuration={"memory": memory}, elapsed_s=t)
                for t in times
            ]
        )
    *sentences, common = answer_to(start(client), "How long do workloads take here?")["sentences"]
    assert sorted(sentences) == [
        "1 GiB: 16.0 s, median of 3 trials.",
        "4 GiB: 4.0 s, one trial.",
    ]
    assert common.startswith("Same for all: terasort")


def test_the_narrowest_point_is_that_of_the_newest_trial_that_tells(
    client: httpx.Client, repository: TrialRepository
) -> None:
    own_samples.own_trial(repository)
    held = answer_to(start(client), "Where is the narrowest point of the latest ")
    assert held["url"] == f"/trials/{own_samples.OWN}"
    assert held["sentences"][0]


def test_what_failed_is_to_be_looked_at_and_what_is_excluded_is_counted(
    client: httpx.Client, repository: TrialRepository, make_trial: MakeTrial
) -> None:
    good = make_trial(state=State.SUCCEEDED, elapsed_s=5.0)
    slow = TrialWarning("VEN-SORT-SLOW", "it was slow")
    warned = make_trial(state=State.SUCCEEDED, elapsed_s=6.0, warnings=(slow,))
    failed = make_trial(
        state=State.FAILED, elapsed_s=None, failure=Failure("error", "VEN-IMPORT-FAILED", "it did")
    )
    repository.add_many([good, warned, failed])
    exclusions.add(repository, [f"id={good.id}"], "Ada", "wrong clock")
    told = start(client)
    assert [(each["text"], each["n"]) for each in told["findings"]] == [
        ("1 trial failed, without a time: no median counts them", 1),
        ("1 trial carries warnings", 1),
    ]
    assert [figure["value"] for figure in told["figures"] if figure["label"] == "Excluded"] == ["1"]
    assert {row["id"] for row in told["recent"]} == {good.id, warned.id, failed.id}
    for each in (*told["figures"], *told["answers"], *told["findings"]):
        assert is_page(urlsplit(each["url"]).path), each


def test_what_was_added_since_is_told(
    client: httpx.Client, repository: TrialRepository, make_trial: MakeTrial
) -> None:
    repository.add(make_trial())
    before = start(client)["headline"]
    repository.add(make_trial())
    assert start(client)["headline"] != before


def test_what_a_setting_brings_is_told_as_its_page_tells_it(
    client: httpx.Client, repository: TrialRepository
) -> None:
    repository.add_many(pages_samples.lab_trials())
    told = start(client)
    disk = answer_to(told, "What is the effect of SSD?")
    page = client.get("/api/effect", params={"key": "disk"}).json()
    assert disk["sentences"][0] == f"{page['verdict']}."
    assert disk["known"]
    assert disk["url"] == "/effect?key=disk"
    behind = client.get("/api" + disk["trials_url"]).json()
    assert behind["total"] == len(pages_samples.lab_trials())
    cost = answer_to(told, "Which is cheapest?")
    assert not cost["known"]
    assert cost["sentences"][0].startswith("Cannot tell: none of ")
    assert cost["sentences"][1].startswith("Next: ")
    assert [each["known"] for each in told["answers"]] == sorted(
        (each["known"] for each in told["answers"]), reverse=True
    )


def test_the_cheapest_is_told_by_the_costs_that_were_recorded(
    client: httpx.Client, repository: TrialRepository, make_trial: MakeTrial
) -> None:
    def trial(disk: str, number: int, usd: float | None) -> Trial:
        samples = () if usd is None else (Sample("cost_usd", usd + number / 1000, "USD"),)
        return make_trial(
            state=State.SUCCEEDED,
            elapsed_s=100.0 + number,
            configuration={"disk": disk},
            repetition=number,
            samples=samples,
        )

    usd = {"HDD": 1.0, "SSD": 0.5}
    repository.add_many([trial(disk, n, usd[disk]) for disk in usd for n in range(8)])
    cost = answer_to(start(client), "Which is cheapest?")
    assert cost["known"]
    assert cost["sentences"][0].startswith("By medians, SSD is cheapest")
    assert "recorded with 16 trials by venturi; of 2026-01-02" in cost["sentences"][1]
    page = client.get("/api" + cost["url"]).json()
    best = page["groups"][0]
    assert (best["key"], best["standing"]) == (["SSD"], "best")
    assert best["cost_usd"]["median"] == pytest.approx(0.5035)
    assert page["prices"]["usd_per_hour"] is None
    assert page["prices"]["source"].capitalize() + "." in cost["sentences"]
    assert page["prices"]["source"] in page["verdict"]

    repository.add(trial("SSD", 9, None))
    asked = {"by": "disk", "objective": "cost"}
    refused = client.get("/api/cost", params=asked)
    assert "1 of 17 trials has none recorded" in refused.text
    some = client.get("/api/cost", params={**asked, "prices": "recorded"}).json()
    assert [group["n"] for group in some["groups"]] == [8, 8]
    assert "1 trial without a recorded cost left out" in some["warnings"]
    given = client.get("/api/cost", params={**asked, "usd_per_hour": 3.6}).json()
    assert given["prices"]["usd_per_hour"] == 3.6
