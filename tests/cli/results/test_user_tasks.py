"""The tasks of the README's questions: at most two commands, import included, to the answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

DATA = Path(__file__).parents[2] / "data"
ALOJA = DATA / "results/aloja-minerva/trials.csv"
FAULTS = DATA / "spark/4.3.0/faults"
SORT = ("--where", "workload=terasort")
Venturi = Callable[..., tuple[int, str, str]]
# Seconds with the old and with the new version, the slower one.
OLD = (80.2, 79.1, 81.6, 80.9, 78.8, 81.1, 79.6, 80.4)
NEW = (99.3, 101.2, 100.4, 98.9, 102.0, 100.9, 99.7, 101.5)


def test_the_slow_job_among_27(venturi: Venturi, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for log in sorted(FAULTS.iterdir())[:27]:
        (folder / log.name).symlink_to(log)
    assert venturi("import", folder)[0] == 0
    status, stdout, _ = venturi("jobs")
    said = " ".join(stdout.split())
    assert (status, said[:9]) == (0, "27 jobs, "), said[:200]
    assert "start with needless-repartition, faulty." in said


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (("rank", "--by", "net", *SORT), "IB is fastest; ETH takes 1.2 times as long"),
        (("effect", "disk", *SORT), "SS2 takes 8.8 % less time than SSD"),
        (("effect", "maps", *SORT), "No single best maps; 12 to 24 tie."),
        (
            ("rank", "--by", "disk", "--objective", "cost", "--usd-per-node-hour", "0.5", *SORT),
            "SS2 is cheapest; SSD costs 1.1 times as much",
        ),
    ],
)
def test_a_question_about_settings(venturi: Venturi, words: tuple[str, ...], answer: str) -> None:
    assert venturi("import", ALOJA)[0] == 0
    status, stdout, _ = venturi(*words)
    assert (status, " ".join(stdout.split())[: len(answer)]) == (0, answer)


def table(header: str, row: str, separator: str = ",") -> str:
    """A table of both versions; `row` has the places `{v}`, `{t}` (seconds) and `{n}`."""
    rows = [(version, t) for version, times in (("old", OLD), ("new", NEW)) for t in times]
    made = [row.format(v=version, t=t, n=n) for n, (version, t) in enumerate(rows, start=1)]
    lines = [header, *(each.replace(".", ",") if separator == ";" else each for each in made)]
    return "".join(line + "\n" for line in lines)


UGLY = {
    "plain": table("query,version,time_s", "q1,{v},{t}"),
    "decimal commas": table("Platte;version;Laufzeit (s);Rate (MB/s)", "SSD;{v};{t};{n}.5", ";"),
    "units in cells": table("name,version,runtime", "x,{v},{t} s"),
    "unit in header": table("name,version,elapsed time [ms],size (GB)", "x,{v},{t}e3,10"),
    "dates": table("date,name,version,time (s)", "2026-11-{n:02}T10:00:00Z,x,{v},{t}"),
    "German dates": table("Datum,name,version,time (s)", "{n:02}.11.2026 10:00,x,{v},{t}"),
    "empty columns": table("name,,version,note,time_s,", "x,,{v},,{t},"),
    "two of one name": table("name,disk,version,disk,time_s", "x,SSD,{v},SSD,{t}"),
    "percent signs": table("name,version,cpu %,hits,time_s", "x,{v},{n}1,{n} %,{t}"),
    "100 columns": table(
        "name,version,time_s," + ",".join(f"option {n}" for n in range(97)),
        "x,{v},{t}," + ",".join(map(str, range(97))),
    ),
    "blanks and a title": "Our results\n" + table(" name , version , time_s ", " x , {v} , {t} "),
}


@pytest.mark.parametrize("shape", UGLY)
def test_an_own_table_to_a_verdict(venturi: Venturi, tmp_path: Path, shape: str) -> None:
    file = tmp_path / "own.csv"
    file.write_text(UGLY[shape], encoding="utf-8")
    assert venturi("import", file)[0] == 0
    status, stdout, _ = venturi("effect", "version", "--baseline", "old")
    assert status == 0
    assert " ".join(stdout.split()).startswith("new takes 25 % more time than old"), stdout


def test_whether_the_new_commit_is_slower(venturi: Venturi, tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text(table("benchmark,commit,time_s", "q1,{v},{t}"), encoding="utf-8")
    assert venturi("import", file)[0] == 0
    gate = ("compare", "--baseline", "commit=old", "--fail-if-slower", "5%")
    status, stdout, _ = venturi(*gate)
    assert (status, "q1: slower: +25" in stdout) == (4, True), stdout
