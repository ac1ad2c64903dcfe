"""The whole interface against its own OpenAPI document: no server error, and valid answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
import requests
from hypothesis import HealthCheck, assume, settings

from api_client import UPLOAD_BYTES_MAX, WRITE_TOKEN, client_of
from benchmarks.repository import synthetic_trials
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial
from venturi.web.api.app import create_app
from venturi.web.api.context import Services
from venturi.web.api.security import Access

ROOT = Path(__file__).parents[3]
COMMITTED = json.loads((ROOT / "schema/openapi.json").read_text())
OPERATIONS = [
    f"{method.upper()} {path}" for path, methods in COMMITTED["paths"].items() for method in methods
]


@cache
def document() -> dict[str, object]:
    return create_app(Services(None)).openapi()  # type: ignore[arg-type]


# Schemathesis makes hundreds of cases of each operation. It does so when a test begins, not while
# tests are collected: every worker would, for any test.
if TYPE_CHECKING:
    from schemathesis import Case
    from schemathesis.schemas import BaseSchema


@pytest.fixture(scope="module")
def described() -> BaseSchema:
    """The interface as its own document describes it."""
    import schemathesis
    from schemathesis.checks import load_all_checks

    load_all_checks()
    schemathesis.serializer.alias("application/zip", "application/octet-stream")
    return schemathesis.openapi.from_dict(document())


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A server with some trials, asked by one who may write."""
    home = Settings(tmp_path_factory.mktemp("home"), None, None, allow_debug=False)
    access = Access(write_token=WRITE_TOKEN, upload_bytes_max=UPLOAD_BYTES_MAX)
    with TrialRepository.open(home) as repository, client_of(repository, access) as client:
        repository.add_many(_trials())
        client.headers["Authorization"] = f"Bearer {WRITE_TOKEN}"
        yield client


def _trials() -> Iterator[Trial]:
    for number, trial in enumerate(synthetic_trials(60)):
        yield replace(trial, id=f"t{number}") if trial.state is State.SUCCEEDED else trial


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def answer_is_as_described(case: Case, server: httpx.Client) -> None:
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    asked = requests.Request(**case.as_transport_kwargs(base_url="http://localhost")).prepare()
    assume(len(str(asked.url)) < 60_000)  # the client's limit; the server's is far lower
    answer = server.request(
        asked.method or "GET", str(asked.url), content=asked.body, headers=dict(asked.headers)
    )
    server.cookies.clear()
    case.validate_response(
        answer,
        checks=[
            not_a_server_error,
            checks.status_code_conformance,
            checks.content_type_conformance,
            checks.response_headers_conformance,
            checks.response_schema_conformance,
        ],
    )


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_answer_is_as_the_document_says(
    operation: str, described: BaseSchema, server: httpx.Client
) -> None:
    from schemathesis.generation.feedback import FeedbackSources
    from schemathesis.pytest._test_builder import build_operation_test

    method, _, path = operation.partition(" ")
    test = build_operation_test(
        config=described.config,
        operation=described[path][method],
        test_func=answer_is_as_described,
        given_kwargs={},
        feedback=FeedbackSources(),
    )
    test(server=server)


def test_every_parameter_and_body_has_words_or_an_example() -> None:
    """Names that don't explain themselves are described."""
    silent = []
    found = json.loads(json.dumps(document()))
    for path, operations in found["paths"].items():
        for method, operation in operations.items():
            assert operation["description"], (method, path)
            for parameter in operation.get("parameters", ()):
                told = {"description", "examples", "example"} & {*parameter, *parameter["schema"]}
                if not told and not {"minimum", "enum"} & set(parameter["schema"]):
                    silent.append(f"{method} {path} {parameter['name']}")
    assert silent == []


def test_errors_are_documented_as_problems() -> None:
    found = json.loads(json.dumps(document()))
    for operations in found["paths"].values():
        for operation in operations.values():
            assert {"4XX", "5XX"} <= set(operation["responses"])
            assert "422" not in operation["responses"]
    assert "HTTPValidationError" not in found["components"]["schemas"]


def test_the_committed_document_is_this_one() -> None:
    assert json.loads(json.dumps(document())) == COMMITTED
