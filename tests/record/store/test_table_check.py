"""Tables of others are checked by a process of its own, which may die or hang."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import polars as pl
import pytest

from venturi.core.errors import VenturiError
from venturi.core.settings import TrialLimits
from venturi.record.store import table_check
from venturi.record.store.series import SeriesWriter
from venturi.record.store.table_check import TableChecker


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
    checker.check(series, "t1", TrialLimits(), series=True)
    other = tmp_path / "other.parquet"
    other.write_bytes(b"PAR1")
    for path, limits, code in (
        (other, TrialLimits(), "VEN-RECORD-ARTIFACT"),
        (series, TrialLimits(series_rows=99), "VEN-RECORD-LIMIT"),
    ):
        with pytest.raises(VenturiError) as refusal:
            checker.check(path, "t1", limits, series=True)
        assert refusal.value.code == code
        assert refusal.value.where["trial"] == "t1"
    assert "VENTURI_MAX_SERIES_ROWS" in refusal.value.hint
    checker.check(series, "t1", TrialLimits(series_rows=100), series=True)


# Who has no memory may hang in it: only the time ends that, and here it is shorter.
@pytest.mark.parametrize("least", [{"MEMORY_BYTES": 0, "CHECK_S": 4.0}, {"CHECK_S": 0.0}])
def test_a_table_that_takes_too_much_is_refused_and_the_next_is_checked(
    checker: TableChecker, series: Path, least: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    bomb = series.with_name("bomb.parquet")
    texts = pl.repeat("x" * 300, 1_000_000, eager=True)
    pl.read_parquet(series).head(1).select(pl.exclude("metric")).join(
        pl.DataFrame({"metric": texts}), how="cross"
    ).select(pl.read_parquet_schema(series).keys()).write_parquet(bomb)
    with monkeypatch.context() as patch:
        for name, value in least.items():
            patch.setattr(table_check, name, value)
        with pytest.raises(VenturiError, match="too large a table once unpacked") as refusal:
            checker.check(bomb, "t1", TrialLimits(), series=True)
    assert refusal.value.code == "VEN-RECORD-LIMIT"
    checker.check(series, "t1", TrialLimits(), series=True)


@pytest.mark.parametrize("program", ["exit 1", "exec sleep 60"])
def test_what_the_machine_refuses_is_not_the_tables_fault(
    checker: TableChecker,
    series: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
) -> None:
    with monkeypatch.context() as patch:
        python = tmp_path / "python"
        python.write_text(f"#!/bin/sh\n{program}\n")
        python.chmod(0o755)
        patch.setattr(sys, "executable", str(python))
        patch.setattr(table_check, "BEGIN_S", 0.5)
        with pytest.raises(VenturiError) as refusal:
            checker.check(series, "t1", TrialLimits(), series=True)
    assert refusal.value.code == "VEN-SYSTEM"
    checker.check(series, "t1", TrialLimits(), series=True)


def test_what_hangs_ends_though_nobody_waits_for_it(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "table")
    asked = {"path": str(tmp_path / "table"), "trial": "t1", "limits": asdict(TrialLimits())}
    process = subprocess.Popen(
        [sys.executable, "-m", "venturi.record.store.table_check", "1000000000", "3"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
    )
    with process:
        assert process.stdin is not None
        process.stdin.write(json.dumps({**asked, "series": True}).encode() + b"\n")
        assert process.wait(60) == -signal.SIGALRM
