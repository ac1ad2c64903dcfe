"""`/api/predictions`: errors of stored predictions, and the same answer as `venturi predict`."""

from __future__ import annotations

import json
from typing import Any

import httpx

import pages_samples
from command_line import venturi
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial


def predictions(client: httpx.Client, query: str = "") -> Any:
    answer = client.get(f"/api/predictions?{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_repository_without_predictions_says_so(client: httpx.Client) -> None:
    found = predictions(client)
    assert found["verdict"] == "No run has a stored prediction yet."
    assert (found["found"]["runs"], found["found"]["groups"]) == ([], [])


def test_answer_is_that_of_the_verb(
    client: httpx.Client, repository: TrialRepository, repository_settings: Settings
) -> None:
    repository.add_many(pages_samples.lab_trials())
    found = predictions(client)
    url = repository_settings.database_url
    at = {} if url is None else {"VENTURI_DATABASE_URL": url}
    done = venturi("predict", "--errors", "--json", home=repository_settings.home, **at)
    printed = json.loads(done.stdout)["data"]
    assert found["verdict"] == printed.pop("sentence")
    assert found["found"] == printed
    assert found["runs_left_out"] == found["unanalyzed"] == 0


def test_groups_follow_the_question(client: httpx.Client, repository: TrialRepository) -> None:
    trials = pages_samples.lab_trials()
    repository.add_many(trials)
    counted = [each for each in trials if not each.warm_up]
    (group,) = predictions(client, "by=basis")["found"]["groups"]
    assert group["key"] == ["same settings"]
    assert group["errors"]["runs"] == len(counted)
    assert 0 < group["errors"]["median_error"] < group["errors"]["p90_error"] < 0.07
    some = predictions(client, "where=disk%3DSSD&by=workload")["found"]
    assert len(some["runs"]) == sum(each.configuration["disk"] == "SSD" for each in counted)
    refused = client.get("/api/predictions?by=weather")
    assert refused.json()["code"] == "VEN-API-REQUEST"


def test_a_trial_has_its_prediction_in_words(
    client: httpx.Client, repository: TrialRepository
) -> None:
    first: Trial = pages_samples.lab_trials()[1]
    repository.add_many([first])
    said = client.get(f"/api/trials/{first.id}").json()["prediction"]
    assert said.startswith("predicted 13 min 20 s (12 min 40 s–14 min 00 s), took")
