"""`venturi sort` (on a stand-in agent): what is recorded, said, planned and refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from command_line import venturi
from venturi.measure.hosts.lock import alone


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A hundred records, and a directory for the output."""
    (tmp_path / "out").mkdir()
    venturi("gen", tmp_path / "x", "--count", 100, home=tmp_path)
    return tmp_path / "x"


@pytest.mark.slow
def test_a_sort_is_recorded_and_described(tmp_path: Path, data: Path) -> None:
    home = tmp_path / "home"
    done = venturi("sort", data, "-o", tmp_path / "out", "--memory", "5kB", home=home)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "part-00000").stat().st_size == 10_000
    for text in ("in two passes", "100 records", "narrowest point of map+shuffle", "2.1 s"):
        assert text in done.stdout
    (trial,) = json.loads(venturi("ls", "--json", home=home).stdout)["data"]
    assert trial["id"] in done.stdout


def test_no_record_leaves_the_repository_alone(tmp_path: Path, data: Path) -> None:
    home = tmp_path / "home"
    nobody = "postgresql://nobody@127.0.0.1:1/none"  # no database is asked
    done = venturi(
        "sort",
        data,
        "-o",
        tmp_path / "out",
        "--no-record",
        "--json",
        home=home,
        VENTURI_DATABASE_URL=nobody,
    )
    trial = json.loads(done.stdout)["data"]
    assert trial["state"] == "succeeded"
    assert trial["artifacts"] == []
    assert not home.exists()


@pytest.mark.slow
def test_validate_reads_the_output_again(tmp_path: Path, data: Path) -> None:
    arguments = ("sort", data, "-o", tmp_path / "out")
    home = tmp_path / "home"
    assert venturi(*arguments, home=home, FAKE_FAULT="unsorted").returncode == 0
    done = venturi(*arguments, "--validate", home=home, FAKE_FAULT="unsorted")
    assert done.returncode == 3
    assert "out of order" in done.stdout


def test_how_long_a_sort_may_stand_still_is_a_setting(
    tmp_path: Path, data: Path, agent_binary: Path
) -> None:
    """The agent that is called notes how it is called, and is the real one."""
    noting, notes = tmp_path / "agent", tmp_path / "notes"
    noting.write_text(f'#!/bin/sh\necho "$@" >> {notes}\nexec {agent_binary} "$@"\n')
    noting.chmod(0o755)
    sort = ("sort", data, "-o", tmp_path / "out", "--no-record", "--memory", "16MiB", "--overwrite")
    run = ("run", "terasort", "--bytes", "20kB", "--warm-up", 0, "--repeat", 1, "--dir", tmp_path)
    for command in (sort, run):
        for value, expected in (("2.5", "--stall-seconds 2.5"), ("0", "--stall-seconds 0.0")):
            notes.unlink(missing_ok=True)
            here = {"home": tmp_path / value, "VENTURI_AGENT": str(noting)}
            done = venturi(*command, VENTURI_STALL_SECONDS=value, **here)
            assert done.returncode == 0, done.stderr
            sorts = [line for line in notes.read_text().splitlines() if " sort " in f" {line} "]
            assert sorts
            assert all(expected in line for line in sorts)
    notes.unlink()
    assert venturi(*sort, **here).returncode == 0
    assert "--stall-seconds" not in notes.read_text()
    wrong = venturi(*sort, VENTURI_STALL_SECONDS="soon", **here)
    assert wrong.returncode == 1
    assert "VENTURI_STALL_SECONDS is 'soon'" in wrong.stderr


def test_plan_only_sorts_nothing(tmp_path: Path, data: Path) -> None:
    done = venturi("sort", data, "-o", tmp_path / "out", "--plan-only", "--json", home=tmp_path)
    assert json.loads(done.stdout)["data"]["regime"] == "in-memory"
    assert list((tmp_path / "out").iterdir()) == []


def test_missing_input_is_an_error_before_anything_starts(tmp_path: Path) -> None:
    done = venturi("sort", tmp_path / "no", "-o", tmp_path, home=tmp_path / "home")
    assert done.returncode == 1
    assert "VEN-MEASURE-INPUT" in done.stderr
    assert str(tmp_path / "no") in done.stderr
    assert not (tmp_path / "home").exists()


def test_a_sort_beside_a_measurement_is_done_and_says_so(tmp_path: Path, data: Path) -> None:
    arguments = ("sort", data, "-o", tmp_path / "out", "--no-record", "--json")
    with alone(Path(os.environ["VENTURI_LOCK"]), "quickstart"):
        done = venturi(*arguments, home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    trial = json.loads(done.stdout)["data"]
    assert trial["state"] == "succeeded"
    (warning,) = (each for each in trial["warnings"] if each["code"] == "VEN-MEASURE-BUSY")
    assert "quickstart" in warning["message"]
    assert warning["message"] in done.stderr
    alone_again = venturi(*arguments, home=tmp_path / "home")
    assert "VEN-MEASURE-BUSY" not in alone_again.stdout
    assert "warning" not in alone_again.stderr


def test_folders_that_a_failed_sort_made_go_again(tmp_path: Path, data: Path) -> None:
    (tmp_path / "mine").mkdir()
    done = venturi(
        "sort",
        data,
        "-o",
        tmp_path / "new" / "out",
        "--scratch",
        tmp_path / "mine",
        home=tmp_path / "home",
        FAKE_FAULT="error",
    )
    assert done.returncode == 1
    assert not (tmp_path / "new").exists()
    assert (tmp_path / "mine").is_dir()
