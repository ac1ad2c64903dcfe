"""`venturi export --format csv|parquet|ndjson`: the table of the trials chosen, as a file or on
stdout.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import command_line
from venturi.core.settings import Settings
from venturi.record.access import exclusions
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Failure, Sample, State, Trial

Export = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def export(settings: Settings) -> Export:
    def run(*words: object) -> subprocess.CompletedProcess[str]:
        return command_line.venturi("export", *words, home=settings.home)

    return run


@pytest.fixture(autouse=True)
def _trials(settings: Settings, make_trial: Callable[..., Trial]) -> None:
    """Two on disks that differ, of which one measured by device, one failure, and one under way."""
    with TrialRepository.open(settings) as repository:
        for number, disk in enumerate(("HDD", "SSD")):
            rates = [Sample("rate", 1.0, "B/s", labels={"device": d}) for d in ("sda", "sdb")]
            repository.add(
                make_trial(
                    id=f"t{number}",
                    state=State.SUCCEEDED,
                    elapsed_s=10.0 + number,
                    configuration={"disk": disk, "maps": 4},
                    samples=(Sample("bytes_read", 5e6, "B"), *rates[: 2 * number]),
                )
            )
        failure = Failure("space", "VEN-SORT-FULL", "disk ran full")
        repository.add(make_trial(id="t2", state=State.FAILED, failure=failure))
        repository.add(make_trial(id="t3", state=State.EXECUTING))


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_the_ending_says_the_format(export: Export, tmp_path: Path) -> None:
    made = {}
    for name in ("t.csv", "t.parquet", "new/t.ndjson", "t.zip"):
        done = export("--state", "succeeded", "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        assert f"2 trials in {tmp_path / name} (" in done.stderr
        made[name] = (tmp_path / name).read_bytes()
    table = pq.read_table(io.BytesIO(made["t.parquet"])).to_pylist()
    lines = [json.loads(line) for line in made["new/t.ndjson"].splitlines()]
    shown = rows(made["t.csv"].decode())
    for each in (table, lines, shown):
        assert [row["id"] for row in each] == ["t1", "t0"]
    assert [row["elapsed_s"] for row in shown] == ["11.0", "10.0"]
    assert table[0]["bytes_read [B]"] == lines[0]["bytes_read [B]"] == 5e6
    assert made["t.zip"].startswith(b"PK")


def test_every_trial_is_a_row_and_failures_are_marked(export: Export) -> None:
    done = export("--all", "--format", "csv", "-o", "-")
    assert done.returncode == 0
    assert [(row["id"], row["state"], row["elapsed_s"]) for row in rows(done.stdout)] == [
        ("t3", "executing", ""),
        ("t2", "failed", ""),
        ("t1", "succeeded", "11.0"),
        ("t0", "succeeded", "10.0"),
    ]
    assert "1 trial also measured by device, stage or iteration: --samples" in done.stderr
    told = export("--all", "--format", "ndjson", "-o", "-").stdout.splitlines()
    assert [json.loads(line)["missing"].get("elapsed_s") for line in told] == [
        "the trial is executing",
        "disk ran full",
        None,
        None,
    ]


def test_trials_are_chosen_as_by_ls(export: Export) -> None:
    def ids(*words: str) -> list[str]:
        done = export(*words, "--format", "csv", "-o", "-", "--column", "id")
        assert done.returncode == 0, done.stderr
        return [row["id"] for row in rows(done.stdout)]

    assert ids("--where", "disk=SSD") == ["t1"]
    assert ids("--where", "elapsed_s<11", "--where", "map tasks=4") == ["t0"]
    assert ids("--limit", "3") == ["t3", "t2", "t1"]
    assert ids("t2", "last") == ["t3", "t2"]
    done = export("--where", "disk=SSF", "--format", "csv", "-o", "-")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean SSD" in done.stderr
    none = export("--where", "elapsed_s>99", "--format", "csv", "-o", "-", "--column", "id")
    assert (none.returncode, none.stdout, none.stderr) == (0, "id\n", "no trials match\n")


def test_a_missing_value_of_one_column_is_a_row_and_no_empty_text(
    export: Export, settings: Settings, make_trial: Callable[..., Trial], tmp_path: Path
) -> None:
    with TrialRepository.open(settings) as repository:
        repository.add(make_trial(id="t4", state=State.PLANNED, configuration={"disk": ""}))
    table = ("--all", "--format", "csv", "-o", "-", "--column")
    assert export(*table, "disk").stdout.splitlines() == [
        "id,disk",
        't4,""',
        "t3,",
        "t2,",
        "t1,SSD",
        "t0,HDD",
    ]
    assert export(*table, "id").stdout.splitlines()[:2] == ["id", "t4"]
    done = export("--all", "--column", "disk", "-o", tmp_path / "t.ndjson")
    assert done.returncode == 0
    first = json.loads((tmp_path / "t.ndjson").read_text().splitlines()[0])
    assert first == {"disk": "", "missing": {}}


def test_exclusions_are_left_out_and_said(export: Export, settings: Settings) -> None:
    with TrialRepository.open(settings) as repository:
        rule = exclusions.add(repository, ["disk=SSD"], "Ada", "cold")
    words = (
        "--state",
        "succeeded",
        "--format",
        "csv",
        "-o",
        "-",
        "--column",
        "id",
        "--column",
        "excluded",
    )
    done = export(*words)
    assert rows(done.stdout) == [{"id": "t0", "excluded": ""}]
    assert "1 trial is left out by rules" in done.stderr
    whole = export(*words, "--with-excluded")
    assert rows(whole.stdout)[0] == {"id": "t1", "excluded": rule.id}
    assert "left out" not in whole.stderr
    named = export("t1", *words[2:])
    assert rows(named.stdout) == [{"id": "t1", "excluded": rule.id}], "it was asked for"


def test_samples_have_rows_of_their_own(export: Export, tmp_path: Path) -> None:
    done = export("--all", "--samples", "-o", tmp_path / "s.csv", "--json")
    data = json.loads(done.stdout)["data"]
    assert (data["rows"], data["columns"][:2]) == (4, ["id", "metric"])
    found = rows((tmp_path / "s.csv").read_text())
    assert [(row["id"], row["labels"]) for row in found[1:3]] == [
        ("t1", '{"device": "sda"}'),
        ("t1", '{"device": "sdb"}'),
    ]


def test_a_file_that_is_there_is_kept(export: Export, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("mine")
    assert "VEN-OUTPUT-EXISTS" in export("--all", "-o", file).stderr
    failing = export("--all", "-o", file, "--overwrite", "--column", "dsk")
    assert failing.returncode == 2
    assert "did you mean disk" in failing.stderr
    assert (file.read_text(), list(tmp_path.glob(".t*"))) == ("mine", [])
    assert export("--all", "-o", file, "--overwrite").returncode == 0
    assert file.read_text().startswith("id,workload,")


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("-o", "-"), "an archive needs a file"),
        (("-o", "x.csv", "--format", "archive", "--samples"), "an archive has whole trials"),
        (("-o", "x.zip", "--column", "id"), "an archive has whole trials"),
        (("-o", "-", "--format", "csv", "--json"), "stdout is used for the table"),
        (("-o", "x.csv", "--samples", "--column", "id"), "--samples has its own columns"),
    ],
)
def test_what_contradicts_itself_is_refused(
    export: Export, words: tuple[str, ...], why: str
) -> None:
    done = export("--all", *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert why in done.stderr


def test_an_ending_of_no_format_is_refused(export: Export, tmp_path: Path) -> None:
    done = export("--all", "-o", tmp_path / "out.tsv")
    assert done.returncode == 2
    assert ".tsv is not written; name a .csv" in done.stderr
    assert not (tmp_path / "out.tsv").exists()
