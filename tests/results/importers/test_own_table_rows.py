"""Rows of users' own tables that contradict themselves, or can't be."""

from __future__ import annotations

import hashlib
import io

import pytest

from venturi.core.errors import VenturiError
from venturi.record.importing.formats import FORMATS
from venturi.record.importing.items import ImportedItem, ImportSource, Spelling
from venturi.record.importing.text import Refusal
from venturi.record.trial import Trial


def read(text: str, *columns: str) -> list[ImportedItem]:
    content = text.encode()
    source = ImportSource("own", hashlib.sha256(content).hexdigest())
    return list(FORMATS["table"].reader.read(io.BytesIO(content), source, columns))


def trials(items: list[ImportedItem]) -> list[Trial]:
    return [each for each in items if isinstance(each, Trial)]


def refused(items: list[ImportedItem]) -> list[Refusal]:
    return [each for each in items if isinstance(each, Refusal)]


def test_an_exit_code_that_contradicts_the_state_is_said() -> None:
    text = "time_s,state,exit_code\n5,success,1\n6,failed,0\n7,ok,0\n"
    items = read(text)
    assert [each.failure and each.failure.message for each in trials(items)] == [
        "exit code 1, although the table says success",
        "the table says failed, although the exit code is 0",
        None,
    ]
    said = [each.taken_as for each in items if isinstance(each, Spelling) and each.line > 1]
    assert said == [f"failed: it contradicts the exit code {code}" for code in (1, 0)]


def test_zero_nodes_are_refused() -> None:
    items = read("time_s,nodes\n5,0\n6,-1\n7,2\n")
    assert [each.reason for each in refused(items)] == ["below 1", "below 1"]


def test_a_size_with_a_unit_is_the_input() -> None:
    (trial,) = trials(read("time_min\tsize_TiB\n10.5\t1.5\n", "elapsed_s=time_min:min"))
    assert trial.workload.input_bytes == 3 << 39


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": [{"time_s": 5}], "b": [{"time_s": 9}]}', "several lists of rows: a, b"),
        ('{"time_s": 5, "time_s": 6}', "no row is usable: the key occurs twice"),
    ],
)
def test_json_without_usable_rows_says_why(text: str, why: str) -> None:
    with pytest.raises(VenturiError, match=why):
        read(text)


def test_two_columns_for_the_time_are_asked_for() -> None:
    with pytest.raises(VenturiError, match="'seconds' and 'Seconds' may all be the time"):
        read("workload,seconds,Seconds\na,5,500\n")
    (trial,) = trials(read("workload,elapsed_s,time_s\na,5,500\n"))
    assert trial.elapsed_s == 5
