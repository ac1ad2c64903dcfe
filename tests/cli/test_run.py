"""`venturi run`: the protocol, resuming, bad input, exit statuses (on a stand-in agent)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_main import venturi


def states(text: str) -> list[tuple[int, bool, str]]:
    return [(t["repetition"], t["warm_up"], t["state"]) for t in json.loads(text)["data"]]


def test_the_first_repetition_warms_up(tmp_path: Path) -> None:
    done = venturi(
        "run", "terasort", "--bytes", "20kB", "--repeat", 2, "--dir", tmp_path, "--json",
        home=tmp_path / "home",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert states(done.stdout) == [(0, True, "succeeded"), (1, False, "succeeded")]


def test_resume_does_not_repeat_what_succeeded(tmp_path: Path) -> None:
    arguments = ("run", "terasort", "--bytes", "20kB", "--experiment", "e", "--dir", tmp_path,
                 "--warm-up", 0)  # fmt: skip
    home = tmp_path / "home"
    first = venturi(*arguments, "--repeat", 1, "--json", home=home)
    second = venturi(*arguments, "--repeat", 2, "--resume", "--json", home=home)
    before = [trial["id"] for trial in json.loads(first.stdout)["data"]]
    after = [trial["id"] for trial in json.loads(second.stdout)["data"]]
    assert after[:1] == before
    assert len(after) == 2


def test_a_wrong_result_exits_3(tmp_path: Path) -> None:
    done = venturi(
        "run", "terasort", "--bytes", "20kB", "--repeat", 2, "--dir", tmp_path,
        home=tmp_path / "home", FAKE_FAULT="unsorted",
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert "invalid: " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("nosort",), 2, "terasort, terasort-skewed, wordcount, aggregate"),
        (("terasort", "--scale", "huger"), 2, "tiny, small"),
        (("aggregate", "--engine", "spark"), 2, "spark has no program for aggregate"),
        (("dfsio-write", "--engine", "spark"), 2, "spark has no program for dfsio-write"),
        (("pi", "--engine", "spark", "--bytes", "1MB"), 2, "no input"),
        (("terasort", "--set", "spark.executor.cores=2"), 2, "VEN-ENGINE-SETTING"),
        (("terasort", "--engine", "spark", "--set", "spark.executor.cores"), 2, "no value"),
        (("terasort", "--engine", "abacus"), 2, "one of: native"),
        (("terasort", "--scale", "tiny", "--bytes", "1MB"), 2, "either --scale or --bytes"),
        (("terasort", "--repeat", "1"), 2, "--warm-up 1 leaves nothing"),
        (("terasort", "--resume"), 2, "--experiment"),
        (("terasort", "--bytes", "10"), 1, "no record"),
        (("terasort", "--scale", "bigdata"), 1, "VEN-MEASURE-SPACE"),
        (("terasort", "--bytes", "1MB", "--dir", "/proc/nowhere"), 1, "dir: /proc"),
    ],
)
def test_bad_input(tmp_path: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    done = venturi("run", *arguments, home=tmp_path / "home")
    assert done.returncode == code, done.stderr
    assert says in done.stderr
    assert "Traceback" not in done.stderr
