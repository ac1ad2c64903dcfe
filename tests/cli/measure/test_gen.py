"""`venturi gen` and `venturi validate` (on a stand-in agent): options, output, exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import venturi


def test_a_size_is_a_number_of_records(tmp_path: Path) -> None:
    done = venturi("gen", tmp_path / "x", "--bytes", "10kB", "--checksum", home=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "x").stat().st_size == 10_000
    assert "100 records, 10.0 kB" in done.stdout
    assert "checksum " in done.stdout
    assert not (tmp_path / "venturi.sqlite").exists()  # gen does not record


def test_json_is_the_agents_result(tmp_path: Path) -> None:
    done = venturi("gen", tmp_path / "x", "--count", 7, "--json", home=tmp_path)
    assert json.loads(done.stdout)["data"]["records"] == 7
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "either --count or --bytes"),
        (("--count", "1", "--bytes", "100"), "either --count or --bytes"),
        (("--bytes", "101"), "is not a multiple of 100"),
        (("--count", "-1"), "--count"),
        (("--count", str(2**64 + 1)), "--count"),
    ],
)
def test_bad_sizes(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = venturi("gen", tmp_path / "x", *arguments, home=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert not (tmp_path / "x").exists()


def test_validate_exits_3_for_records_out_of_order(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"b" * 100 + b"a" * 100)
    done = venturi("validate", tmp_path / "x", home=tmp_path)
    assert done.returncode == 3
    assert "NOT IN ORDER: 1 records, first 1" in done.stdout
    done = venturi("validate", tmp_path / "x", "--json", home=tmp_path)
    assert done.returncode == 3
    assert json.loads(done.stdout)["data"]["ordered"] is False


def test_validate_reads_files_as_one_sequence(tmp_path: Path) -> None:
    for name, letter in (("1", b"a"), ("2", b"b")):
        (tmp_path / name).write_bytes(letter * 100)
    done = venturi("validate", tmp_path / "1", tmp_path / "2", home=tmp_path)
    assert done.returncode == 0
    assert "all records are in order" in done.stdout
    assert venturi("validate", tmp_path / "2", tmp_path / "1", home=tmp_path).returncode == 3
