"""A page in one file: nothing breaks out of it, nothing is asked, and it has the API's answers."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from html.parser import HTMLParser
from http import HTTPStatus
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api_client import client_of
from venturi.core.errors import CODES, VenturiError
from venturi.core.settings import Settings
from venturi.core.statistics.stats import Missing
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Provenance, ProvenanceKind, State, Trial
from venturi.web import document
from venturi.web.api.context import Services
from venturi.web.api.endpoints import answer
from venturi.web.export import export_page
from venturi.web.pages import pages, requests_of

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><!--{{7*7}}&amp;\u2028\u2029"
STORABLE = HOSTILE.rstrip("\u2028\u2029")  # the part that a record may hold
SIZE_MAX_BYTES = 3_000_000
AT = datetime(2026, 7, 14, 9, 30, tzinfo=UTC)


class Page(HTMLParser):
    """A document as a browser takes it apart: its tags and the text of scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, str] = {}
        self.title = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        tag, attributes = self.tags[-1] if self.tags else ("", {})
        if tag in {"script", "style"} and data.strip():
            name = attributes.get("id") or tag
            assert name not in self.inside, name
            self.inside[name] = data
        elif tag == "title" and not self.title:
            self.title = data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for each, attributes in self.tags if each == tag]

    @property
    def twins(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.inside["twins"])
        return found

    @property
    def policy(self) -> str:
        (policy,) = [m["content"] for m in self.all("meta") if "http-equiv" in m]
        assert policy is not None
        return policy


def digest(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


@given(st.text() | st.just(HOSTILE))
def test_no_text_gets_out_of_its_place(text: str) -> None:
    twins = {f"/api/trials?where={text}": {"name": text, text: [text]}}
    found = Page(document.page(f"/trials?{text}", text, twins))
    assert [tag for tag, _ in found.tags if tag in {"script", "img"}] == ["script", "script"]
    assert found.twins == twins
    assert [each.get("data-page") for each in found.all("div")] == [f"/trials?{text}"] or (
        "\r" in text or "\0" in text  # characters that HTML itself does not keep
    )


def test_the_policy_admits_the_page_s_own_script_and_style_only() -> None:
    found = Page(document.page("/cost", "costs", {}))
    script, style = digest(found.inside["script"]), digest(found.inside["style"])
    assert found.policy == (
        f"default-src 'none'; script-src {script}; style-src {style}; "
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )
    assert [a for _, a in found.tags if {"src", "href", "srcset", "data", "action"} & set(a)] == []
    assert "@import" not in found.inside["style"]
    assert "url(" not in found.inside["style"]


@dataclass(frozen=True)
class _Each:
    known: float
    unknown: float | Missing
    nothing: None
    at: datetime
    several: tuple[tuple[str, float | Missing], ...]


def test_what_is_missing_keeps_its_reason() -> None:
    each = _Each(0.1, Missing(HOSTILE), None, AT, (("p50", 1 / 3), ("p99", Missing("lost"))))
    assert json.loads(document.island({"x": document.encode(each)})) == {
        "x": {
            "known": 0.1,
            "unknown": {"reason": HOSTILE},
            "nothing": None,
            "at": "2026-07-14T09:30:00+00:00",
            "several": [["p50", 0.333333333], ["p99", {"reason": "lost"}]],
        }
    }


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_what_json_has_no_number_for_is_refused(bad: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        document.island({"x": document.encode(bad)})


@pytest.fixture(scope="module")
def services(
    tmp_path_factory: pytest.TempPathFactory, make_trial: Callable[..., Trial]
) -> Iterator[Services]:
    """600 trials in four groups, which tests only read; a disk has a hostile name."""
    settings = Settings(tmp_path_factory.mktemp("home"), None, None, allow_debug=False)
    imported = Provenance(ProvenanceKind.IMPORTED, "aloja")
    with TrialRepository.open(settings) as repository:
        repository.add_many(
            make_trial(
                id=f"t{number:04}",
                configuration={
                    "net": ("IB", "ETH")[number % 2],
                    "disk": ("SSD", STORABLE)[number // 2 % 2],
                },
                elapsed_s=100.0 + number % 7 + 50 * (number % 4),
                provenance=imported,
                state=State.SUCCEEDED,
            )
            for number in range(600)
        )
        yield Services(repository)


COMPARE = "/compare?by=configuration.net&by=configuration.disk&where=workload%3Dterasort"


def test_a_comparison_has_its_answers_and_is_small(services: Services) -> None:
    text = export_page(services, COMPARE, AT)
    assert len(text.encode()) < SIZE_MAX_BYTES
    found = Page(text)
    assert [each["data-page"] for each in found.all("div")] == [COMPARE]
    (compared,) = [twin for url, twin in found.twins.items() if url.startswith("/api/compare?")]
    assert compared["by"] == ["net", "disk"]
    assert sum(group["n"] for group in compared["groups"]) == 300  # the two largest groups
    assert len(found.all("script")) == 2


@pytest.mark.parametrize("url", ["/nowhere", "http://example.org/cost", "trials", "//x/cost"])
def test_what_is_no_page_is_refused(services: Services, url: str) -> None:
    with pytest.raises(VenturiError) as refused:
        export_page(services, url, AT)
    assert refused.value.code == "VEN-API-UNKNOWN"


@pytest.mark.parametrize(
    "url", ["/trials/nothing", "/compare?where=nonsense", "/cost?usd_per_hour=-1&by=net"]
)
def test_what_the_api_refuses_is_an_error(services: Services, url: str) -> None:
    with pytest.raises(VenturiError) as refused:
        export_page(services, url, AT)
    assert refused.value.code in CODES
    assert refused.value.message


QUERIES = {
    "/trials": "?where=disk%3DSSD&sort=elapsed_s&desc=false&limit=7&excluded=true",
    "/cost": "?by=disk&by=net&usd_per_hour=3.5&price_as_of=2026-07-01",
    "/compare": "?by=net",
    "/effect": "?key=net",
    "/scaling": "?x=nodes",
    "/whatif": "?trial=t0001&executors=4",
    "/advice": "?sort=1TB&durability=2-io&deadline=1h&explain=i2.8xlarge:20",
    "/catalog": "?catalog=ec2-2014&type=i2.8xlarge",
}


SERVED = [page.path.replace("{id}", "t0001") for page in pages() if page.served]


@pytest.mark.parametrize("page", SERVED)
def test_a_page_says_what_the_server_says(services: Services, page: str) -> None:
    with client_of(services.repository) as server:
        for url in requests_of(page + QUERIES.get(page, "")):
            response = server.get(url)
            if url == "/api/status":  # this server may be written to
                continue
            if response.status_code != HTTPStatus.OK:
                with pytest.raises(VenturiError) as refused:
                    answer(services, url)
                assert refused.value.message == response.json()["detail"], url
                continue
            said = answer(services, url)
            text = json.dumps(said, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            assert response.content == text.encode(), url


@pytest.mark.parametrize(
    "url",
    [
        "/api/trials?limit=0",
        "/api/trials?limit=many",
        "/api/trials?excluded=perhaps",
        "/api/trials?where=disk",
        "/api/facets?key=",
        "/api/groups",
        "/api/groups?" + "&".join(f"by=key{number}" for number in range(9)),
        "/api/trials/nothing",
        "/api/advice?objective=best",
        "/api/advice?budget=inf",
        "/api/catalog?type=" + "x" * 201,
    ],
)
def test_a_page_is_refused_what_the_server_refuses(services: Services, url: str) -> None:
    with client_of(services.repository) as server:
        problem = server.get(url).json()
    with pytest.raises(VenturiError) as refused:
        answer(services, url)
    assert (refused.value.code, refused.value.message) == (problem["code"], problem["detail"])
