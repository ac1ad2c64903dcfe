"""Users' own tables: columns are guessed by name and unit, shown, and never guessed silently."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from venturi.core.errors import VenturiError
from venturi.record.importing.importer import import_file
from venturi.record.importing.recognise import formats_of
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

Take = Callable[[str], Trial]


@pytest.fixture
def take(repository: TrialRepository, tmp_path: Path) -> Take:
    def first(text: str) -> Trial:
        file = tmp_path / "own.csv"
        file.write_text(text)
        assert [each.name for each in formats_of(file)] == ["table"]
        import_file(repository, "table", file)
        return whole_trials(repository)[0]

    return first


@pytest.mark.parametrize(
    ("text", "elapsed_s"),
    [
        ("workload,elapsed_s,disk\nsort,90,SSD\n", 90),
        ("Benchmark,Time (ms),disk\nsort,90000,SSD\n", 90),
        ("name;duration (min);disk\nsort;1,5;SSD\n", 90),
        ("bench\tSeconds\tdisk\nsort\t90\tSSD\n", 90),
        ('"test name","run time [h]","disk"\n"sort","0.025","SSD"\n', 90),
        ("workload,time (\N{GREEK SMALL LETTER MU}s),disk\nsort,90000000,SSD\n", 90),
        ("workload,Duration [sec.],disk\nsort,90,SSD\n", 90),
        ("workload,wall clock (s),disk\nsort,90,SSD\n", 90),
    ],
)
def test_names_and_units_of_columns_are_understood(take: Take, text: str, elapsed_s: float) -> None:
    trial = take(text)
    assert trial.workload.name == "sort"
    assert trial.elapsed_s == pytest.approx(elapsed_s)
    assert trial.configuration == {"disk": "SSD"}


def test_further_fields_are_understood(take: Take) -> None:
    trial = take(
        "query,wall_time_s,timestamp,machine type,input (GB),exit status\n"
        "q1,3.5,2026-03-01T00:00:00Z,i4i.4xlarge,2,0\n"
    )
    assert trial.cluster.instance_type == "i4i.4xlarge"
    assert trial.workload.input_bytes == 2_000_000_000
    assert trial.started_at is not None
    assert trial.configuration == {}


@pytest.mark.parametrize("column", ["time", "Duration", "elapsed"])
def test_a_time_without_a_unit_is_asked_for(take: Take, column: str) -> None:
    with pytest.raises(VenturiError, match=f"column '{column}' has no unit: add --column"):
        take(f"workload,{column}\nsort,90\n")


def test_a_table_without_a_time_is_no_own_table(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(VenturiError, match="unknown format"):
        formats_of(file)
