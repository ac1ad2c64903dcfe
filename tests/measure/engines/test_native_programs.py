"""Pi and files on the native engine: its figures, its checks, and that it counts every point."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from command_line import venturi
from this_host import HOST
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.measure.engines.native.engine import Native
from venturi.measure.engines.protocol import TrialSpec
from venturi.measure.hosts.agent import Agent, AgentResult
from venturi.measure.trial.folders import DataFolders, parse_roles
from venturi.measure.trial.job import TrialJob
from venturi.measure.trial.runner import Session, open_session, run_trial
from venturi.measure.workloads.inputs import inputs_of
from venturi.measure.workloads.registry import size_of, workload
from venturi.measure.workloads.shared import halton
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

FILES, EACH_BYTES = 16, 2**20  # dfsio at scale tiny
FIGURES = ("throughput", "average_io_rate", "io_rate_stdev", "aggregate")

MakeJob = Callable[[str], TrialJob]


@pytest.fixture
def real(settings: Settings, agent_binary: Path) -> Iterator[Session]:
    """A session on the real agent."""
    chosen = replace(settings, agent=agent_binary)
    with TrialRepository.open(chosen) as repository:
        yield open_session(Agent.find(chosen), repository)


@pytest.fixture
def job(tmp_path: Path) -> Iterator[MakeJob]:
    """Make native jobs at scale tiny with files on two disks."""
    disks = [tmp_path / name for name in ("a", "b")]
    for disk in disks:
        disk.mkdir()
    with DataFolders(
        HOST.files, parse_roles([str(disk) for disk in disks], tmp_path), keep=True
    ) as folders:

        def make(name: str) -> TrialJob:
            definition = workload(name)
            size = size_of(definition, "tiny")
            inputs = inputs_of(folders, definition, size)
            spec = TrialSpec(
                definition, size, inputs, folders, "1", "tiny", threads=2, series=False
            )
            return Native(HOST, environ={}).job(spec)

        yield make


def value(trial: Trial, metric: str) -> float:
    (found,) = trial.values(metric)
    assert found is not None
    return found


class _Overheard(Agent):
    """An agent with results that a test can see and change on their way."""

    hear: Callable[[dict[str, Any]], None]

    def run(self, command: str, *args: object, **options: Any) -> AgentResult:
        result = super().run(command, *args, **options)
        data = dict(result.data)
        self.hear(data)
        return replace(result, data=data)


def overheard(session: Session, hear: Callable[[dict[str, Any]], None]) -> Session:
    agent = _Overheard(session.agent.path, session.agent.host)
    agent.hear = hear
    return replace(session, agent=agent)


# --- the sequence --------------------------------------------------------------------------------


def inside_exactly(number: int) -> bool:
    """Whether a point is in the circle, in fractions."""
    squares = Fraction(0)
    for base in halton.BASES:
        place, weight, rest = Fraction(0), Fraction(1, base), number
        while rest:
            place += weight * (rest % base)
            rest, weight = rest // base, weight / base
        squares += (place - Fraction(1, 2)) ** 2
    return squares <= Fraction(1, 4)


@example(count=300, first=0)
@example(count=20, first=2**16 * 3**10 - 10)
@example(count=40, first=3**20 - 20)
@hypothesis.settings(max_examples=30, deadline=None)
@given(count=st.integers(0, 30), first=st.integers(0, 2**52))
def test_points_are_looked_at_one_by_one(count: int, first: int) -> None:
    expected = sum(inside_exactly(number) for number in range(first + 1, first + count + 1))
    assert halton.points_inside(count, first) == expected


@hypothesis.settings(max_examples=50, deadline=None)
@given(count=st.one_of(st.integers(1, 3000), st.integers(1, 300_000)))
def test_the_reference_agrees_by_another_way(count: int) -> None:
    assert halton.reference(count) == halton.points_inside(count)


def test_the_reference_is_pi_where_nobody_could_look_at_every_point() -> None:
    count = 10**10
    assert 4 * halton.reference(count) / count == pytest.approx(np.pi, abs=1e-7)


# --- the programs --------------------------------------------------------------------------------


def test_every_program_through_the_command_line(tmp_path: Path, agent_binary: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    for name in ("pi", "dfsio-write", "dfsio-read", "teragen", "teravalidate"):
        done = venturi(
            "run",
            name,
            "--engine",
            "native",
            "--scale",
            "tiny",
            "--repeat",
            1,
            "--warm-up",
            0,
            "--no-series",
            "--dir",
            disk,
            "--json",
            home=tmp_path / "home",
            VENTURI_AGENT=str(agent_binary),
        )
        assert done.returncode == 0, done.stderr
        trials = json.loads(done.stdout)["data"]
        assert [trial["state"] for trial in trials] == ["succeeded"]
        assert list(disk.iterdir()) == []


def test_pi_is_recorded(real: Session, job: MakeJob) -> None:
    trial = run_trial(real, job("pi"))
    assert trial.state is State.SUCCEEDED, trial.failure
    assert [phase.name for phase in trial.phases] == ["pi", "validate"]
    assert (trial.workload.input_bytes, trial.workload.input_records) == (None, 10**6)
    assert trial.elapsed_s is not None
    assert value(trial, "points_per_s") == pytest.approx(10**6 / trial.elapsed_s)
    assert trial.cluster.disks_by_role == {}


@pytest.mark.parametrize(
    ("name", "phases", "counter"),
    [
        ("dfsio-write", ["write", "validate"], "bytes_written"),
        ("dfsio-read", ["generate", "read", "validate"], "bytes_read"),
    ],
)
def test_files_have_the_figures_of_testdfsio(
    real: Session, job: MakeJob, tmp_path: Path, name: str, phases: list[str], counter: str
) -> None:
    said: list[dict[str, Any]] = []
    trial = run_trial(overheard(real, said.append), job(name))
    assert trial.state is State.SUCCEEDED, trial.failure
    assert [phase.name for phase in trial.phases] == phases
    assert value(trial, counter) == FILES * EACH_BYTES
    times_s = [file["elapsed_s"] for file in said[-1]["files"]]
    rates = [EACH_BYTES / time_s for time_s in times_s]
    mean = statistics.fmean(rates)
    deviation = statistics.fmean((rate - mean) ** 2 for rate in rates) ** 0.5
    assert trial.elapsed_s is not None
    throughput, aggregate = (FILES * EACH_BYTES / s for s in (sum(times_s), trial.elapsed_s))
    found = [value(trial, f"dfsio_{figure}_bytes_per_s") for figure in FIGURES]
    assert found == pytest.approx([throughput, mean, deviation, aggregate])
    on_disks = {place: len(list((tmp_path / place).rglob("test_io_*"))) for place in ("a", "b")}
    assert on_disks == {"a": FILES // 2, "b": FILES // 2}
    again = run_trial(real, job(name))  # files that were kept are no obstacle
    assert again.state is State.SUCCEEDED, again.failure


def test_records_are_made_and_looked_at(real: Session, job: MakeJob) -> None:
    for name in ("teragen", "teravalidate"):
        again = job(name)
        for _ in range(2):
            trial = run_trial(real, again)
            assert trial.state is State.SUCCEEDED, trial.failure
        counter = "bytes_written" if name == "teragen" else "bytes_read"
        assert value(trial, counter) == 3_200_000


# --- wrong results -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pi", "785390 of 1000000 points are inside, the reference has 785388"),
        ("dfsio-write", "15 files of"),
        ("teragen", "records to be made"),
        ("teravalidate", "found out of order"),
    ],
)
def test_a_wrong_result_is_invalid(real: Session, job: MakeJob, name: str, says: str) -> None:
    def meddle(data: dict[str, Any]) -> None:
        if "inside" in data:
            data["inside"] += 2
        elif name == "teragen":  # of the generated records, not of those on disk
            data["checksum"] = data["checksum"] if "ordered" in data else "1"
        elif name == "teravalidate":
            data["unordered_records"] = 1
        else:
            Path(data["files"][3]["path"]).unlink()

    trial = run_trial(overheard(real, meddle), job(name))
    assert trial.state is State.INVALID
    assert trial.failure is not None
    assert says in trial.failure.message


def test_files_that_are_not_as_they_were_written_are_invalid(real: Session, job: MakeJob) -> None:
    def meddle(data: dict[str, Any]) -> None:
        with Path(data["files"][3]["path"]).open("r+b") as file:
            file.write(b"spoilt")

    with pytest.raises(VenturiError, match="does not have the bytes") as caught:
        run_trial(overheard(real, meddle), job("dfsio-read"))
    assert caught.value.code == "VEN-DISK-CONTENT"
    (stored,) = whole_trials(real.repository)
    assert stored.state is State.INVALID
