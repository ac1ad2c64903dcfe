"""Venturi as a library: the answers of the verbs, in any form, read only."""

from __future__ import annotations

import csv
import io
import json
import math
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path

import pytest

import command_line
import venturi
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.access import exclusions
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import SeriesWriter
from venturi.record.trial import Failure, Sample, State, Trial

Make = Callable[..., Trial]


@pytest.fixture
def trials(make_trial: Make) -> list[Trial]:
    """Six on each of two disks, with a sample, and one that failed and lacks a setting."""
    made = [
        make_trial(
            id=f"t{disk}{number}",
            state=State.SUCCEEDED,
            repetition=number,
            elapsed_s=(100.0 if disk == "HDD" else 50.0) + number,
            configuration={"disk": disk, "maps": 4},
            samples=(Sample("bytes_read", 5e6 + number, "B"),),
        )
        for disk in ("HDD", "SSD")
        for number in range(6)
    ]
    failure = Failure("space", "VEN-SORT-FULL", "disk ran full")
    return [*made, make_trial(id="u", state=State.FAILED, failure=failure, configuration={})]


@pytest.fixture
def lab(
    repository: TrialRepository, repository_settings: Settings, trials: list[Trial]
) -> Iterator[venturi.Repository]:
    """The library on them, on SQLite and on PostgreSQL."""
    repository.add_many(trials)
    with venturi.open(repository_settings.database_url or repository_settings.home) as opened:
        yield opened


@pytest.fixture
def home(settings: Settings, trials: list[Trial]) -> Path:
    """A folder with the same trials, for the command line."""
    with TrialRepository.open(settings) as repository:
        repository.add_many(trials)
    return settings.home


def test_importing_it_loads_nothing() -> None:
    program = "import sys, venturi; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "venturi" in loaded
    assert not loaded & {"click", "numpy", "polars", "pydantic", "sqlalchemy", "json"}
    assert "venturi." not in done.stdout
    assert venturi.__version__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        venturi.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_trials_are_records_and_a_table(lab: venturi.Repository, trials: list[Trial]) -> None:
    found = lab.trials(where="disk=SSD")
    assert (len(found), repr(found)) == (6, "<6 trials>")
    assert list(found) == trials[11:5:-1]
    assert [trial.id for trial in lab.trials(limit=2)] == ["u", "tSSD5"]
    assert len(lab.trials(["disk=SSD", "disk=HDD"])) == 12, "values of one key are alternatives"
    frame = lab.trials().polars()
    assert frame["id"].to_list() == [trial.id for trial in reversed(trials)]
    assert frame["bytes_read [B]"].to_list()[:2] == [None, 5e6 + 5]
    assert lab.trial("last") == trials[-1]
    known = lab.keys()
    assert {key.key for key in known} >= {"id", "elapsed_s", "disk", "maps"}


def test_the_forms_hold_the_same(lab: venturi.Repository) -> None:
    import pandas as pd

    found = lab.trials(columns=["id", "maps", "elapsed_s", "warm_up", "started_at", "disk"])
    rows = found.polars().to_dicts()
    assert found.arrow().to_pylist() == rows
    table = found.pandas()
    assert list(map(str, table.dtypes))[1:5] == [
        "Int64",
        "float64",
        "boolean",
        "datetime64[us, UTC]",
    ]
    shown = [
        {name: None if pd.isna(value) else value for name, value in row.items()}
        for row in table.to_dict("records")
    ]
    assert shown == rows


def test_the_table_is_that_of_export(home: Path) -> None:
    with venturi.open(home) as lab:
        table = lab.trials(where="state=succeeded").polars()
        samples = lab.trials().samples().polars()
    words = ("--where", "state=succeeded", "--format", "csv", "-o", "-")
    lines = csv.reader(io.StringIO(command_line.venturi("export", *words, home=home).stdout))
    assert next(lines) == table.columns
    assert [line[0] for line in lines] == table["id"].to_list()
    assert samples.columns[:3] == ["id", "metric", "phase"]
    assert len(samples) == 12


def test_what_exclusions_leave_out_is_counted(
    repository: TrialRepository, lab: venturi.Repository
) -> None:
    exclusions.add(repository, ["disk=HDD"], "Ada", "cold")
    assert repr(lab.trials()) == "<7 trials, 6 left out by exclusions>"
    assert (lab.trials().excluded, len(lab.trials(with_excluded=True))) == (6, 13)
    with pytest.raises(VenturiError, match="exclusions cover all of"):
        lab.compare("tHDD0", "tSSD0")


def test_comparisons_and_effects_are_those_of_the_verbs(home: Path) -> None:
    with venturi.open(home) as lab:
        compared = lab.compare("tHDD0", lab.trial("tSSD0"))
        effect = lab.effect("disk", where="workload=terasort", baseline="HDD")
        both = lab.effect("disk", "maps", baseline=["HDD", 4])
    assert compared.sentence(compared.groups[1]).startswith("SSD takes 49 %")
    told = command_line.venturi("compare", "tHDD0", "tSSD0", "--json", home=home).stdout
    groups = json.loads(told)["data"]["groups"]
    assert [group["values"] for group in groups] == [list(each.values) for each in compared.groups]
    assert groups[1]["sentence"] == compared.sentence(compared.groups[1])
    words = ("effect", "disk", "--where", "workload=terasort", "--baseline", "HDD", "--json")
    said = json.loads(command_line.venturi(*words, home=home).stdout)["data"]
    assert said == json.loads(json.dumps(asdict(effect)))
    assert effect.effects[0].ratio == pytest.approx(0.51, abs=0.01)
    assert both.effects[0].baseline == ("HDD", "4")


def test_ranks_are_those_of_the_verb(home: Path) -> None:
    with venturi.open(home) as lab:
        found = lab.rank("disk", where="workload=terasort")
        with pytest.raises(VenturiError, match="a cost needs a price"):
            lab.rank("disk", objective="cost")
    told = command_line.venturi("rank", "--by", "disk", "--json", home=home).stdout
    groups = json.loads(told)["data"]["groups"]
    assert found.ranking is not None
    assert [one.key for one in found.ranking.groups] == [("SSD",), ("HDD",)]
    assert [one.standing.value for one in found.ranking.groups] == [g["standing"] for g in groups]


def test_series_are_whole(settings: Settings, make_trial: Make, tmp_path: Path) -> None:
    file = tmp_path / "host.parquet"
    with SeriesWriter(file) as writer:
        for second in range(3):
            writer.append(float(second), "free", None, None if second else 7.0, "B")
    with TrialRepository.open(settings) as repository:
        trial = repository.attach(make_trial(id="with"), "series", "host.parquet", file)
        repository.add_many([trial, make_trial(id="without")])
    with venturi.open(settings.home) as lab:
        frame = lab.series("with").polars()
        assert frame["value"].to_list() == [7.0, None, None]
        assert set(frame["host"]) == {"here"}
        with pytest.raises(VenturiError, match="no host series was recorded") as caught:
            lab.series("without")
        assert caught.value.code == "VEN-RECORD-ARTIFACT"


def test_nothing_is_made_where_nothing_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for given in (tmp_path / "none", str(tmp_path)):
        with pytest.raises(VenturiError, match="there is no repository in") as caught:
            venturi.open(given)
        assert caught.value.code == "VEN-RECORD-DATABASE"
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(VenturiError, match="is a server"):
        venturi.open("http://127.0.0.1:8000")
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path / "of-the-settings"))
    with pytest.raises(VenturiError, match="of-the-settings"):
        venturi.open()


def test_wrong_questions_are_answered_with_what_may_be_meant(lab: venturi.Repository) -> None:
    for ask, meant in (
        (lambda: lab.trials(where="disk=SSDD"), "SSD"),
        (lambda: lab.trials(columns=["dsk"]).polars(), "disk"),
        (lambda: lab.effect("dsk"), "disk"),
        (lambda: lab.effect("disk", level=2), "0.5 to 0.999"),
        (lambda: lab.effect("disk", level=math.nan), "0.5 to 0.999"),
        (lambda: lab.effect("disk", ignore=["host_nmes"]), "host_names"),
    ):
        with pytest.raises(VenturiError) as caught:
            ask()
        assert caught.value.code == "VEN-QUERY-VALUE"
        assert meant in caught.value.hint


@pytest.mark.parametrize("content", [b"", b"of another program"])
def test_what_is_no_repository_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "venturi.sqlite"
    file.write_bytes(content)
    with pytest.raises(VenturiError) as caught:
        venturi.open(tmp_path)
    assert caught.value.code == "VEN-RECORD-DATABASE"
    assert file.read_bytes() == content
    with pytest.raises(VenturiError, match="there is no database") as caught:
        venturi.open(f"sqlite:///{tmp_path / 'none.db'}")
    assert caught.value.code == "VEN-RECORD-DATABASE"
    assert [each.name for each in tmp_path.iterdir()] == ["venturi.sqlite"]


def test_tables_of_another_program_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "venturi.sqlite"
    with closing(sqlite3.connect(file)) as other:
        other.executescript(
            "CREATE TABLE alembic_version (version_num); CREATE TABLE mine (a);"
            "INSERT INTO alembic_version VALUES ('ae1027')"
        )
    before = file.read_bytes()
    with pytest.raises(VenturiError, match="not a Venturi repository"):
        venturi.open(tmp_path)
    assert file.read_bytes() == before


@pytest.mark.parametrize(("revision", "hint"), [("0005", "venturi ls"), ("9000", "update Venturi")])
def test_a_repository_of_another_revision_is_left_as_it_is(
    home: Path, revision: str, hint: str
) -> None:
    with closing(sqlite3.connect(home / "venturi.sqlite")) as database:
        database.execute("UPDATE alembic_version SET version_num = ?", (revision,))
        database.commit()
    with pytest.raises(VenturiError, match=revision) as caught:
        venturi.open(home)
    assert caught.value.code == "VEN-RECORD-DATABASE"
    assert hint in caught.value.hint
    with closing(sqlite3.connect(home / "venturi.sqlite")) as database:
        assert database.execute("SELECT * FROM alembic_version").fetchall() == [(revision,)]


def test_what_is_open_to_be_read_only_cannot_be_written(
    lab: venturi.Repository, repository_settings: Settings, make_trial: Make
) -> None:
    with (
        TrialRepository.open(repository_settings, read_only=True) as opened,
        pytest.raises(VenturiError, match=r"read.?only"),
    ):
        opened.add(make_trial(id="more"))
    assert len(lab.trials(with_excluded=True)) == 13


def test_a_folder_of_any_name_can_be_read(
    tmp_path: Path, settings: Settings, trials: list[Trial]
) -> None:
    folder = tmp_path / "50% of #1"
    with TrialRepository.open(replace(settings, home=folder)) as repository:
        repository.add_many(trials)
    with venturi.open(folder) as lab:
        assert len(lab.trials()) == 13


@pytest.mark.parametrize("price", [0, -1, float("nan"), float("inf"), 1e308, "1", True])
def test_a_price_is_a_number_above_0(lab: venturi.Repository, price: float) -> None:
    for objective in ("time", "cost", "cost x time", "time and cost"):
        with pytest.raises(VenturiError) as caught:
            lab.rank("disk", objective=objective, usd_per_node_hour=price)
        assert caught.value.code == "VEN-QUERY-VALUE"


def test_an_objective_or_a_limit_that_is_none_is_refused(lab: venturi.Repository) -> None:
    with pytest.raises(VenturiError, match="'foo' is not an objective") as caught:
        lab.rank("disk", objective="foo")
    assert caught.value.code == "VEN-QUERY-VALUE"
    assert "time and cost" in caught.value.hint
    for limit in (-1, 0, 1.5):
        with pytest.raises(VenturiError, match="not a number of trials"):
            lab.trials(limit=limit)  # type: ignore[arg-type]


@pytest.mark.parametrize(("package", "form"), [("pyarrow", "arrow"), ("pandas", "pandas")])
def test_a_package_that_is_not_there_is_named(
    lab: venturi.Repository, package: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = lab.trials()
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not installed
    with pytest.raises(VenturiError) as caught:
        getattr(found, form)()
    assert caught.value.code == "VEN-PACKAGE-MISSING"
    assert f"venturi[{form}]" in caught.value.hint
