"""Output on a terminal of 80 columns, and in a pipe."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from command_line import into_pipe, on_terminal, venturi
from venturi.core.settings import Settings
from venturi.machines.catalog import load_shipped
from venturi.machines.catalog.write import render
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Failure, State, Trial

MakeTrial = Callable[..., Trial]


@pytest.fixture
def groups(settings: Settings, make_trial: MakeTrial) -> list[str]:
    """The keys of two groups of three trials that cannot be compared."""
    keys = []
    with TrialRepository.open(settings) as repository:
        for threads in (1, 2):
            for repetition in range(3):
                trial = make_trial(repetition=repetition, experiment="a night on the big host")
                trial = replace(trial, configuration={"threads": threads})
                for state in (State.PREPARING, State.EXECUTING, State.VALIDATING):
                    trial = trial.advance(state)
                trial = replace(trial, elapsed_s=61.0 + repetition).advance(State.SUCCEEDED)
                repository.add(trial)
            keys.append(trial.group_key)
    return keys


def test_ls_fits_a_first_screen(settings: Settings, groups: list[str]) -> None:
    shown = on_terminal(settings, "ls")
    assert max(map(len, shown)) <= 80
    assert shown[0].split() == ["id", "started", "workload", "engine", "input", "time"]
    assert len(shown) == 1 + 6 + 1  # header, a line a trial, the next command
    assert shown[-1] == f"Next: venturi show {shown[1].split()[0]}"


def test_ls_has_a_line_for_each_imported_trial(settings: Settings, make_trial: MakeTrial) -> None:
    ids = [f"aloja-{hashlib.sha1(str(n).encode()).hexdigest()}" for n in range(30)]
    workloads = ("dfsioe_write", "terasort", "a_workload_whose_name_is_very_long_indeed", "sort")
    with TrialRepository.open(settings) as repository:
        for n, id_ in enumerate(ids):
            trial = make_trial(id=id_, state=State.SUCCEEDED, elapsed_s=4380.0)
            if n == 3:
                failure = Failure("test", "VEN-TEST", "")
                trial = make_trial(id=id_, state=State.FAILED, failure=failure)
            name = workloads[n % 4]
            repository.add(replace(trial, workload=replace(trial.workload, name=name)))
    shown = on_terminal(settings, "ls")
    assert len(shown) <= 24
    assert max(map(len, shown)) <= 80
    rows = on_terminal(settings, "ls", "--all")[1:]
    assert sorted(row.split()[0] for row in rows) == sorted(id_[-7:] for id_ in ids)
    assert [row.split()[0] for row in rows if row.endswith("failed")] == [ids[3][-7:]]
    assert ids[3] in venturi("show", ids[3][-7:], home=settings.home).stdout
    assert set(ids) == {line.split()[0] for line in into_pipe(settings, "ls")[1:]}
    narrow = on_terminal(settings, "ls", columns=66)
    assert max(map(len, narrow)) <= 66


def test_a_column_that_is_not_shown_is_not_explained(settings: Settings) -> None:
    advise = ("advise", "hardware", "--sort", "10TB", "--limit", "3", "--all")
    shown = " ".join(on_terminal(settings, *advise))
    assert 'columns left out at this width: "limited by", known, ties, "price of"' in shown
    assert "the ranges allow both" not in shown
    assert "older than a year" not in shown
    assert "the ranges allow both" in " ".join(on_terminal(settings, *advise, columns=140))
    assert "  limited by: where most of the time goes; `or`: the ranges allow both" in "\n".join(
        into_pipe(settings, *advise)
    )


def test_a_pipe_gets_a_line_a_trial_with_everything(settings: Settings, groups: list[str]) -> None:
    lines = into_pipe(settings, "ls")
    assert len(lines) == 1 + 6
    for line in lines[1:]:
        cells = re.split(" {2,}", line)
        assert len(cells) == len(re.split(" {2,}", lines[0]))
        assert cells[-1] == "a night on the big host"


@pytest.mark.slow
def test_compare_says_a_reason_once_and_breaks_no_word(
    settings: Settings, groups: list[str]
) -> None:
    shown = on_terminal(settings, "compare", *groups)
    assert max(map(len, shown)) <= 80
    assert shown[0].startswith("Can't tell B from A")
    assert any(line.startswith("  A ") and line.endswith("threads 1") for line in shown)
    assert any(line.startswith("  B ") and line.endswith("threads 2") for line in shown)
    assert sum("too few for a" in line for line in shown) == 1
    table = on_terminal(settings, "compare", *groups, "--all")
    assert any({"group", "ratio", "verdict"} <= set(line.split()) for line in table)
    lines = into_pipe(settings, "compare", *groups)
    assert sum(line.endswith(tuple(groups)) for line in lines) == 2
    assert any("cannot tell" in line for line in lines)


@pytest.mark.parametrize(
    "words",
    [
        ("rank", "--by", "threads", "--by", "engine"),
        ("catalog", "show", "ec2-2014"),
        ("workloads",),
        ("engines",),
        ("advise", "hardware", "--sort", "100TB", "--deadline", "30min"),
        ("advise", "hardware", "--sort", "100TB", "--catalog", "ec2-2014"),
    ],
)
def test_listings_fit_a_terminal(
    settings: Settings, groups: list[str], words: tuple[str, ...]
) -> None:
    shown = on_terminal(settings, *words)
    assert shown
    assert max(map(len, shown)) <= 80
    assert not [line for line in shown if re.fullmatch(r"\s*\w\s*", line)]  # no column of letters


def test_the_ranking_of_several_catalogues_keeps_the_limit(
    settings: Settings, tmp_path: Path
) -> None:
    own = tmp_path / "own.csv"
    own.write_text(render(load_shipped("ec2-2014")))
    shown = on_terminal(
        settings,
        "advise",
        "hardware",
        "--sort",
        "100TB",
        "--catalog",
        "ec2-2014",
        "--catalog",
        str(own),
        "--all",
    )
    header = next(line for line in shown if line.lstrip().startswith("#"))
    assert header.split() == ["#", "type", "nodes", "time", "cost", "limited", "by"]
    assert any("(ec2-2014)" in line for line in shown)


def test_an_empty_repository_says_how_it_gets_trials(settings: Settings) -> None:
    done = venturi("ls", home=settings.home)
    assert (done.returncode, done.stdout) == (0, "")
    assert "no trials are recorded yet: `venturi quickstart`" in done.stderr
