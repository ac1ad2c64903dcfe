"""`venturi compare --baseline`: labels, the default candidate, formats and exit status."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import click
import pytest
from click.testing import CliRunner, Result

from venturi.cli.main import cli
from venturi.core.errors import VenturiError

BASE_S = (10.0, 10.1, 9.9, 10.2, 9.8, 10.05)


def venturi(*words: str) -> Result:
    """The verb's result with the exit status that the program has."""
    done = CliRunner().invoke(cli, list(words), standalone_mode=False)
    if isinstance(done.exception, click.ClickException):
        done.exit_code = done.exception.exit_code
    elif done.exception is None and isinstance(done.return_value, int):
        done.exit_code = done.return_value
    return done


@pytest.fixture(autouse=True)
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two benchmarks of two commits, of which one made the sort slower."""
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path / "home"))
    for commit, factor in (("main", 1.0), ("slow", 1.4)):
        text = ["name,seconds,run"]
        for name in ("sort", "join"):
            scale = factor if name == "sort" else 1.0
            text += [f"{name},{t * scale},{n}" for n, t in enumerate(BASE_S)]
        file = tmp_path / f"{commit}.csv"
        file.write_text("\n".join(text) + "\n")
        fields = ("elapsed_s=seconds", "workload=name", "repetition=run")
        columns = [word for each in fields for word in ("--column", each)]
        done = venturi("import", "table", str(file), *columns, "--label", f"commit={commit}")
        assert done.exit_code == 0, done.output
    return tmp_path


def test_the_newest_other_label_is_the_candidate_and_slower_is_status_4() -> None:
    done = venturi("compare", "--baseline", "commit=main", "--fail-if-slower", "5%")
    assert done.exit_code == 4
    assert "candidate: label.commit=slow" in done.stderr
    assert done.stdout.startswith("1 of 2 benchmarks slower by more than 5%, most sort: +40%")


def test_an_equal_candidate_passes() -> None:
    same = ("--candidate", "commit=slow", "--where", "workload=join", "--fail-if-slower", "5%")
    done = venturi("compare", "--baseline", "commit=main", *same)
    assert done.exit_code == 0, done.output
    assert "not slower" in done.stdout


@pytest.mark.parametrize("format_", ["json", "junit", "markdown"])
def test_other_programs_read_the_result(format_: str) -> None:
    words = ["--json"] if format_ == "json" else ["--format", format_]
    done = venturi("compare", "--baseline", "commit=main", "--fail-if-slower", "5%", *words)
    assert done.exit_code == 4
    if format_ == "json":
        result = json.loads(done.stdout)["data"]
        assert {each["name"]: each["outcome"] for each in result["benchmarks"]} == {
            "join": "not slower",
            "sort": "slower",
        }
    elif format_ == "junit":
        assert ET.fromstring(done.stdout.encode()).get("failures") == "1"
    else:
        assert done.stdout.startswith("**1 of 2 benchmarks slower")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--baseline", "commit=main"], "--fail-if-slower"),
        (["--candidate", "commit=slow"], "--baseline"),
        ([], "--baseline"),
        (["--baseline", "workload=sort", "--fail-if-slower", "5%"], "--candidate"),
        (["--baseline", "commit!=slow", "--fail-if-slower", "5%"], "--candidate"),
    ],
)
def test_missing_parts_are_usage_errors(words: list[str], message: str) -> None:
    done = venturi("compare", *words)
    assert done.exit_code == 2
    assert message in str(done.exception)


def test_a_mistyped_label_value_is_an_error_with_the_right_one() -> None:
    done = venturi("compare", "--baseline", "commit=mian", "--fail-if-slower", "5%")
    assert done.exit_code != 0
    assert isinstance(done.exception, VenturiError)
    assert "main" in done.exception.hint


def test_labels_are_no_settings(imported: Path) -> None:
    """Both commits form one repeat group; an effect doesn't match by label; a list shows it."""
    groups = {row["group"] for row in json.loads(venturi("ls", "--json").stdout)["data"]}
    assert len(groups) == 2
    ranked = venturi("rank", "--by", "commit", "--where", "workload=sort")
    assert ranked.exit_code == 0, ranked.output
    assert "main" in ranked.stdout
    assert "slow" in ranked.stdout


@pytest.mark.parametrize("label", ["commit", "=x", "1a=x", "a=", "a=x\ny"])
def test_a_label_that_makes_no_sense_is_refused(imported: Path, label: str) -> None:
    done = venturi("import", "table", str(imported / "main.csv"), "--label", label)
    assert done.exit_code == 2


def test_the_history_shows_since_when_a_benchmark_is_slower(tmp_path: Path) -> None:
    steps = [1.0, 1.01, 0.99, 1.02, 0.98] * 4 + [1.3, 1.31, 1.29]
    rows = ["name,seconds,commit,branch,started_at"]
    for day, factor in enumerate(steps, 1):
        branch = "main" if day < len(steps) else "change"
        rows.append(f"scan,{10 * factor},c{day},{branch},2026-11-{day:02d}T08:00:00Z")
    file = tmp_path / "history.csv"
    file.write_text("\n".join(rows) + "\n")
    assert venturi("import", str(file)).exit_code == 0
    done = venturi("compare", "--baseline", "branch=main", "--history", "--fail-if-slower", "5%")
    assert done.exit_code == 4, done.output
    assert "slower: +30" in done.stdout
    assert "since commit c21" in done.stdout
    # The new trial may also meet the condition of the baseline.
    both = ("--baseline", "workload=scan", "--candidate", "commit=c23")
    done = venturi("compare", *both, "--history", "--fail-if-slower", "5%", "--json")
    (found,) = json.loads(done.stdout)["data"]["benchmarks"]
    assert (done.exit_code, found["since"]) == (4, "commit c21")
