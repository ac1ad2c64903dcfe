"""Messages of real engines: failures provoked with Spark 3.5 and 4.3, each with its meaning.

`provoked.jsonl` has what event logs recorded: the end of a task as Spark wrote it, the message of a
job, a query or an executor. Hosts and paths are renamed, and stack traces are shortened.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from venturi.jobs.failures.meanings import failure_meanings, meaning_of
from venturi.jobs.failures.messages import condensed, headline
from venturi.jobs.logs.spark_fields import reason_of

LINES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data/failures/provoked.jsonl")
    .read_text("utf-8")
    .splitlines()
]
# Engines that can't run here: messages in the engines' own words, from their sources.
QUOTED = ("Spark 2.4", "Spark 3.5", "Hadoop 3.4", "Kubernetes 1.28", "OpenJDK 17", "AWS SDK")


def _id(line: dict[str, Any]) -> str:
    return f"{line['engine'].removeprefix('Spark ')}-{line['case']}-{line['kind']}"


def _reason(line: dict[str, Any]) -> str | None:
    data = line["data"]
    return reason_of(data) if isinstance(data, dict) else condensed(data)


@pytest.mark.parametrize("line", LINES, ids=_id)
def test_provoked_message_has_its_meaning(line: dict[str, Any]) -> None:
    reason = _reason(line)
    assert reason is not None
    assert "\tat " not in reason
    found = meaning_of(reason)
    assert (None if found is None else found.id) == line["meaning"]
    said = headline(reason)
    assert said
    assert "\n" not in said


def test_forty_meanings_have_a_line_of_an_engine() -> None:
    provoked = {line["meaning"] for line in LINES} - {None}
    quoted = {each.id for each in failure_meanings() if each.source.startswith(QUOTED)}
    assert len(provoked) >= 40
    assert len(provoked | quoted) >= 75


def test_a_source_says_which_meanings_were_provoked() -> None:
    claimed = {each.id for each in failure_meanings() if "provoked" in each.source}
    assert claimed == {line["meaning"] for line in LINES} - {None}
