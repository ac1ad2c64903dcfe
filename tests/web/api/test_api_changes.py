"""Exclusions, views and the starter data through the interface; what a page asks for."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import httpx
import pytest

from venturi.core.errors import VenturiError
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial
from venturi.web.pages import pages, requests_of


@pytest.fixture(params=["sqlite", "postgresql"])
def kind_of_database(request: pytest.FixtureRequest) -> str:
    """Both: lists, pages, downloads and changes are statements of SQL."""
    return str(request.param)


@pytest.fixture
def three(repository: TrialRepository, make_trial: Callable[..., Trial]) -> None:
    trial = make_trial(state=State.SUCCEEDED, elapsed_s=1.0)
    disks = ("SSD", "SSD", "HDD")
    repository.add_many(
        replace(trial, id=f"t{number}", configuration={"disk": disk})
        for number, disk in enumerate(disks)
    )


@pytest.mark.usefixtures("three")
def test_an_exclusion_leaves_out_and_its_revocation_brings_back(client: httpx.Client) -> None:
    new = {"conditions": ["disk=SSD"], "author": "Ada", "reason": "cold caches"}
    made = client.post("/api/exclusions", json=new)
    assert made.status_code == 201
    assert (made.json()["trials"], made.json()["revoked_at"]) == (2, None)
    assert client.get("/api/trials").json()["total"] == 1
    status = client.get("/api/status").json()
    assert (status["trials"], status["trials_excluded"]) == (1, 2)

    path = f"/api/exclusions/{made.json()['id']}/revoke"
    back = client.post(path, json={"author": "Grace"})
    assert (back.status_code, back.json()["revoked_by"]["said"]) == (200, "Grace")
    assert client.get("/api/trials").json()["total"] == 3
    assert client.get("/api/exclusions").json() == {"exclusions": [back.json()]}
    assert client.post(path, json={"author": "Grace"}).status_code == 409
    unknown = client.post("/api/exclusions/nothing/revoke", json={"author": "Grace"})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "VEN-EXCLUSION-UNKNOWN")


def test_what_says_too_little_is_refused_with_its_field(client: httpx.Client) -> None:
    good = {"conditions": ["disk=SSD"], "author": "Ada", "reason": "cold"}
    for change, field in (
        ({"author": " "}, "author"),
        ({"reason": ""}, "reason"),
        ({"reason": "two\nlines"}, "reason"),
        ({"author": "x" * 101}, "author"),
        ({"author": "\ud800"}, "author"),
        ({"conditions": []}, "conditions"),
        ({"conditions": ["a=1"] * 21}, "conditions"),
        ({"conditions": "disk=SSD"}, "conditions"),
        ({"conditions": ["elapsed_s<soon"]}, "elapsed_s"),
    ):
        content = json.dumps({**good, **change})
        answer = client.post(
            "/api/exclusions", content=content, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == 422, change
        assert field in str(answer.json()["where"]["field"]), change
    for body in (b"", b"{", b"[]", b"\xff", b"null", b"[" * 100_000):
        answer = client.post(
            "/api/exclusions", content=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code in {400, 422}, body[:10]
        assert answer.headers["content-type"] == "application/problem+json"
    assert client.get("/api/exclusions").json() == {"exclusions": []}


def test_views_are_saved_and_forgotten(client: httpx.Client) -> None:
    new = {
        "name": "SSD / HDD <b>",
        "url": "/compare?by=disk&group=%5B%22SSD%22%5D",
        "author": "Ada",
    }
    made = client.post("/api/views", json=new)
    assert made.status_code == 201
    found = client.get("/api/views").json()
    assert found["views"] == [made.json()]
    assert found["presets"] == []  # their trials are not here
    assert client.post("/api/views", json=new).status_code == 409
    for url in ("https://evil.example", "//evil.example", "/\\evil.example", "trials", "/a b", ""):
        answer = client.post("/api/views", json={**new, "name": "other", "url": url})
        assert answer.status_code == 422, url
    path = "/api/views/SSD%20%2F%20HDD%20%3Cb%3E"
    assert client.delete(path).status_code == 204
    answer = client.delete(path)
    assert (answer.status_code, answer.json()["code"]) == (404, "VEN-VIEW-UNKNOWN")


def test_an_empty_repository_takes_in_the_published_tables_once(client: httpx.Client) -> None:
    assert client.get("/api/status").json()["starter_present"] is False
    first = client.post("/api/starter").json()
    assert first["added"] > 0
    assert first["sources"]
    again = client.post("/api/starter").json()
    assert (again["added"], again["already_present"]) == (0, first["added"])
    status = client.get("/api/status").json()
    assert (status["trials"], status["starter_present"]) == (first["added"], True)
    # The others use trials that only an import of ALOJA's set adds.
    (preset,) = client.get("/api/views").json()["presets"]
    assert "starter" in preset["name"]
    printed = client.get(f"/api{preset['url']}").json()
    assert {group["best_elapsed_s"] for group in printed["groups"]} >= {207.0, 258.0, 348.0}


def test_a_page_asks_for_its_twin_with_its_own_query() -> None:
    assert requests_of("/trials?where=disk%3DSSD&log=1&sort=a+b~*") == (
        "/api/keys",
        "/api/trials?log=1&sort=a+b%7E*&where=disk%3DSSD",
    )
    assert requests_of("/compare?by=disk") == ("/api/compare?by=disk",)
    parts = ("", "/series", "/hosts", "/job", "/tasks", "/io")
    of_trial = tuple(f"/api/trials/t1{part}" for part in parts)
    assert requests_of("/trials/t1") == of_trial
    for nowhere in ("/nowhere", "/report", "https://evil.example/trials", "trials", "/trials/a/b"):
        with pytest.raises(VenturiError) as caught:
            requests_of(nowhere)
        assert caught.value.code == "VEN-API-UNKNOWN"


@pytest.mark.usefixtures("three")
def test_everything_that_pages_ask_for_is_served(client: httpx.Client) -> None:
    urls = [page.path for page in pages() if page.served and "{id}" not in page.path]
    paths = {path for url in urls for path in requests_of(url)}
    assert len(paths) > len(urls)
    for path in paths:
        answer = client.get(path)
        assert answer.status_code in {200, 422}, path
        assert answer.status_code == 200 or "VEN-API-UNKNOWN" not in answer.text
