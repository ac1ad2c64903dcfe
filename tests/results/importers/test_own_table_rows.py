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


@pytest.mark.parametrize(
    ("text", "times_s"),
    [
        ("Platte;Laufzeit (s)\nSSD;98,50\nHDD;1.098,50\n", [98.5, 1098.5]),
        ("disk,runtime\nSSD,98.5s\nHDD,1m38.5s\nHDD,1.5 min\n", [98.5, 98.5, 90]),
        ("disk,Wall time\nSSD,1:38.5\nHDD,01:00:38\n", [98.5, 3638]),
    ],
)
def test_times_in_brackets_and_cells_have_units(text: str, times_s: list[float]) -> None:
    assert [each.elapsed_s for each in trials(read(text))] == pytest.approx(times_s)


def test_a_time_without_a_unit_among_others_is_refused() -> None:
    items = read("disk,runtime\nSSD,98s\nHDD,98\n")
    assert [each.reason for each in refused(items)] == ["a time without a unit"]
    with pytest.raises(VenturiError, match="'elapsed_s=Wall time:UNIT'"):
        read("disk,Wall time\nSSD,1:38\n")


def test_columns_with_one_name_can_be_named() -> None:
    text = "disk,time,time,disk\nSSD,5,500,a\n"
    with pytest.raises(VenturiError, match=r"'time' and 'time \(2\)' may all be the time"):
        read(text)
    (trial,) = trials(read(text, "elapsed_s=time (2):ms"))
    assert (trial.elapsed_s, trial.configuration["disk (2)"]) == (0.5, "a")


def test_rates_and_shares_of_each_row_are_no_settings() -> None:
    rows = "".join(f"5,{90 + n}.5,{n} %,{n % 2} %\n" for n in range(8))
    items = trials(read(f"time_s,read (MB/s),cpu,fill %\n{rows}"))
    assert [each.configuration for each in items] == [{"fill %": f"{n % 2} %"} for n in range(8)]
