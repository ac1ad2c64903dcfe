"""Your own table as JSON, NDJSON and Parquet: the same trials as from CSV."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from venturi.core.errors import VenturiError
from venturi.record.importing.importer import import_file
from venturi.record.importing.recognise import formats_of
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State

ROWS = [
    {"name": "sort", "time_s": 90.5, "disk": "SSD", "nodes": 4, "status": "ok"},
    {"name": "scan", "time_s": 12, "disk": "HDD", "nodes": 8, "status": "failed"},
]


def as_csv(path: Path) -> None:
    lines = [",".join(ROWS[0]), *(",".join(map(str, row.values())) for row in ROWS)]
    path.write_text("\n".join(lines) + "\n")


def as_list(path: Path) -> None:
    path.write_text("\ufeff" + json.dumps(ROWS, indent=1))


def as_lines(path: Path) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))


def as_nested(path: Path) -> None:
    path.write_text(json.dumps({"machine": {"cpu": "x"}, "results": ROWS}))


def as_parquet(path: Path) -> None:
    # In CSV and JSON whole and fractional times mix.
    pl.DataFrame(ROWS, strict=False).write_parquet(path)


@pytest.mark.parametrize("write", [as_list, as_lines, as_nested, as_parquet])
def test_every_form_gives_the_trials_of_the_csv(
    write: Callable[[Path], None], repository: TrialRepository, tmp_path: Path
) -> None:
    as_csv(tmp_path / "own.csv")
    import_file(repository, "table", tmp_path / "own.csv")
    write(tmp_path / "own")
    assert [each.name for each in formats_of(tmp_path / "own")] == ["table"]
    report = import_file(repository, "table", tmp_path / "own")
    new = 1 if write is as_parquet else 0  # the time of the second row is 12.0 there
    assert (report.added, report.already_present) == (new, 2 - new)
    trials = {each.workload.name: each for each in whole_trials(repository)}
    assert (trials["sort"].elapsed_s, trials["sort"].configuration) == (
        90.5,
        {"disk": "SSD", "nodes": 4},
    )
    assert trials["scan"].state is State.FAILED


def test_nested_objects_are_columns_and_lists_are_left_out(
    repository: TrialRepository, tmp_path: Path
) -> None:
    row = {"name": "sort", "stats": {"mean time": 0.5, "data": [1, 2]}, "warm": True, "x": None}
    (tmp_path / "own.json").write_text(json.dumps([row]))
    with pytest.raises(VenturiError, match=r"elapsed_s=COLUMN.*name, stats.mean time, warm, x"):
        import_file(repository, "table", tmp_path / "own.json")
    assert whole_trials(repository) == []


def test_parquet_types(repository: TrialRepository, tmp_path: Path) -> None:
    pl.DataFrame(
        {
            "query": ["q1"],
            "duration": [timedelta(seconds=90)],
            "started_at": [datetime(2026, 3, 1, tzinfo=UTC)],
            "stats": [{"rows": 5}],
            "samples": [[1, 2]],
        }
    ).write_parquet(tmp_path / "own.parquet")
    import_file(repository, "table", tmp_path / "own.parquet")
    (trial,) = whole_trials(repository)
    assert trial.elapsed_s == 90
    assert trial.started_at == datetime(2026, 3, 1, tzinfo=UTC)
    assert trial.configuration == {"stats.rows": 5}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"PAR1" + b"\0" * 40, "damaged Parquet"),
        (b'[{"time_s": 1}, {"time_s": ', "added"),
        (b"[1, 2]", "no JSON object"),
        (b"{}", "no row has a column"),
    ],
)
def test_damaged_files(
    content: bytes, says: str, repository: TrialRepository, tmp_path: Path
) -> None:
    (tmp_path / "own").write_bytes(content)
    if says == "added":  # the records before the damage count
        report = import_file(repository, "table", tmp_path / "own")
        assert (report.added, report.refused_count) == (1, 1)
        return
    with pytest.raises(VenturiError, match=says):
        import_file(repository, "table", tmp_path / "own")
    assert whole_trials(repository) == []


@pytest.mark.parametrize(
    ("content", "reasons", "times"),
    [
        ('{"time_s": 5}\n{"time_s": 6, "time_s": 600}\n', ["the key occurs twice"], {5.0}),
        ('{"time_s": 5, "of": {"a": 1, "a": 2}}\n{"time_s": 6}\n', ["the key occurs twice"], {6.0}),
        (
            '{"rows": [{"time_s": 5, "b": 1, "b": 2}, {"time_s": 6}]}',
            ["the key occurs twice"],
            {6.0},
        ),
        ('[{"time_s": 5}] and more', ["text that isn't JSON"], {5.0}),
        ('{"time_s": 5} x {"time_s": 6}\n{"time_s": 7}\n', ["text that isn't JSON"], {5.0, 7.0}),
        ('[{"time_s": 5},\n {"time_s": 6}]\n', [], {5.0, 6.0}),
    ],
)
def test_ambiguous_json_is_refused(
    content: str,
    reasons: list[str],
    times: set[float],
    repository: TrialRepository,
    tmp_path: Path,
) -> None:
    path = tmp_path / "own.json"
    path.write_text(content)
    report = import_file(repository, "table", path)
    assert [each.reason for each in report.refused] == reasons
    assert {each.elapsed_s for each in whole_trials(repository)} == times
