"""Tables of others are checked by a process of its own, which may die or hang."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from venturi.errors import VenturiError
from venturi.record import table_check
from venturi.record.series import SeriesWriter
from venturi.record.table_check import TableChecker
from venturi.settings import Limits


@pytest.fixture
def checker() -> Iterator[TableChecker]:
    with TableChecker() as made:
        yield made


@pytest.fixture
def series(tmp_path: Path) -> Path:
    with SeriesWriter(tmp_path / "host.parquet") as writer:
        for second in range(100):
            writer.append(float(second), "cpu_user", None, 0.5, "fraction")
    return tmp_path / "host.parquet"


def test_one_process_checks_all_and_its_refusals_are_those_of_the_check(
    checker: TableChecker, series: Path, tmp_path: Path
) -> None:
    checker.check(series, "t1", Limits(), series=True)
    other = tmp_path / "other.parquet"
    other.write_bytes(b"PAR1")
    for path, limits, code in (
        (other, Limits(), "VEN-RECORD-ARTIFACT"),
        (series, Limits(series_rows=99), "VEN-RECORD-LIMIT"),
    ):
        with pytest.raises(VenturiError) as refusal:
            checker.check(path, "t1", limits, series=True)
        assert refusal.value.code == code
        assert refusal.value.where["trial"] == "t1"
    assert "VENTURI_MAX_SERIES_ROWS" in refusal.value.hint
    checker.check(series, "t1", Limits(series_rows=100), series=True)


# Who has no memory may hang in it: only the time ends that, and here it is shorter.
@pytest.mark.parametrize("least", [{"MEMORY_BYTES": 0, "CHECK_S": 4.0}, {"CHECK_S": 0.0}])
def test_a_table_that_takes_too_much_is_refused_and_the_next_is_checked(
    checker: TableChecker, series: Path, least: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        for name, value in least.items():
            patch.setattr(table_check, name, value)
        with pytest.raises(VenturiError, match="too large a table once unpacked") as refusal:
            checker.check(series, "t1", Limits(), series=True)
    assert refusal.value.code == "VEN-RECORD-LIMIT"
    checker.check(series, "t1", Limits(), series=True)
