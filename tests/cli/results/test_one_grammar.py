"""`--where` means the same in every verb, in the API and in the Python API."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

import venturi as package
from api_client import client_of
from command_line import printed
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.store.repository import TrialRepository

ALOJA = Path(__file__).parents[2] / "data/results/aloja-minerva/trials.csv"
CONDITIONS = [
    ["disk=SSD", "disk=SS2"],
    ["disk!=SSD", "disk!=SS2"],
    ["elapsed_s>3min", "elapsed_s<=600"],
    ["maps>=1e1", "maps!=24"],
    ["block_bytes>=64MiB", "net!="],
    ["started>=2026-11-01"],
    ["scale="],
    ["source=aloja", "hosts>8", "workload=terasort", "workload=wordcount"],
    ["disk=' OR 1=1 --"],
    ["disk=\U0001f4be"],
    ["disk"],
    ["=SSD"],
    ["workload==terasort"],
    ["elapsed_s>nan"],
    ["elapsed_s>1e999"],
    ["maps>10GB"],
    ["started>=2026-13-45"],
    ["nope=1"],
    ["x" * 5_000 + "=1"],
    ["disk=a\0b"],
]
Venturi = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("where", CONDITIONS, ids=lambda each: each[0][:20])
def test_a_condition_means_the_same_everywhere(
    venturi: Venturi, settings: Settings, where: Sequence[str]
) -> None:
    assert venturi("import", ALOJA)[0] == 0
    options = [word for text in where for word in ("--where", text)]

    def verb(*words: str) -> Any:
        return json.loads(printed(*words, *options, "--json"))["data"]

    with TrialRepository.open(settings) as repository, client_of(repository) as client:

        def page(path: str, **more: str) -> Any:
            asked = [*(("where", text) for text in where), *more.items()]
            answer = client.get(f"/api/{path}?{urlencode(asked)}")
            if answer.status_code != 200:
                problem = answer.json()
                raise VenturiError(problem["code"], problem["detail"])
            return answer.json()

        with package.open() as lab:
            counts = {
                "ls": said(lambda: len(verb("ls", "--limit", "1000"))),
                "export": said(lambda: exported(options)),
                "trials": said(lambda: page("trials", limit="1000")["total"]),
                "cost": said(lambda: sum(g["n"] for g in page("cost", by="net")["groups"])),
                "python": said(lambda: len(lab.trials(where=where))),
            }
        verdicts = {
            "effect": said(lambda: verb("effect", "net")["verdict"]),
            "page of effect": said(lambda: page("effect", key="net")["verdict"]),
        }
        curves = {
            "scaling": said(lambda: verb("scaling", "maps")["verdict"]),
            "page of scaling": said(lambda: page("scaling", x="maps")["verdict"]),
        }
        jobs = said(lambda: len(verb("jobs")["jobs"]))
    for answers in (counts, verdicts, curves):
        assert len(set(answers.values())) == 1, answers
    if isinstance(counts["ls"], str):
        assert counts["ls"] == jobs == verdicts["effect"] == curves["scaling"]


def said(call: Callable[[], Any]) -> Any:
    """Return the result of `call`, or the code and message of its error."""
    try:
        return call()
    except VenturiError as error:
        return f"{error.code}: {error.message}"


def exported(options: Sequence[str]) -> int:
    return printed("export", "--format", "ndjson", "--output", "-", *options).count("\n")
