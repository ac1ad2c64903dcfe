"""Everything uses the host: trials, inputs and checks on one with different paths."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rooted_host import ELSEWHERE, RootedHost
from venturi.core.settings import Settings
from venturi.measure.engines.protocol import Resources, TrialSpec
from venturi.measure.engines.registry import engine
from venturi.measure.hosts.agent import Agent
from venturi.measure.probes.probes import DiskOptions, probe_disk
from venturi.measure.trial.folders import DataFolders, parse_roles
from venturi.measure.trial.job import StepContext
from venturi.measure.trial.runner import Session, open_session, run_trial
from venturi.measure.workloads import outputs
from venturi.measure.workloads.checking import CheckInput
from venturi.measure.workloads.inputs import inputs_of
from venturi.measure.workloads.registry import size_of, size_of_bytes, workload
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

DISK = ELSEWHERE / "disk"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Where ELSEWHERE really is."""
    (tmp_path / "root" / "disk").mkdir(parents=True)
    return tmp_path / "root"


@pytest.fixture
def elsewhere(root: Path, settings: Settings, agent_binary: Path) -> Iterator[Session]:
    """A session of the real agent on the other host."""
    chosen = replace(settings, agent=agent_binary, allow_debug=True)
    with TrialRepository.open(chosen) as repository:
        yield open_session(Agent.find(chosen, RootedHost(root)), repository)


@pytest.fixture(autouse=True)
def _nothing_is_here() -> Iterator[None]:
    yield
    assert not ELSEWHERE.exists()


def trial_of(session: Session, name: str, on: str = "native", *, keep_input: bool = False) -> Trial:
    host, definition = session.agent.host, workload(name)
    size = size_of(definition, "tiny")
    found = engine(on, host, home=_home(), environ=os.environ)
    with DataFolders(host.files, parse_roles((), DISK)) as folders:
        inputs = inputs_of(folders, definition, size, keep=keep_input)
        order = TrialSpec(definition, size, inputs, folders, "1", "tiny", threads=2, series=False)
        found.start(Resources(dict.fromkeys(("input", "scratch", "output"), (DISK,))))
        try:
            return run_trial(session, found.job(order))
        finally:
            found.stop()


def _home() -> Path:
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "venturi-tests"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["terasort", "wordcount", "sort", "dfsio-read", "teravalidate"])
def test_a_trial(elsewhere: Session, root: Path, name: str) -> None:
    trial = trial_of(elsewhere, name)
    assert trial.state is State.SUCCEEDED, trial.failure
    assert not trial.warnings
    named = {dir_ for dirs in trial.cluster.disks_by_role.values() for dir_ in dirs}
    assert named == {str(DISK)}
    assert str(root) not in str(trial)
    assert list((root / "disk").iterdir()) == []


def test_input_that_is_kept_is_found_again(elsewhere: Session, root: Path) -> None:
    first, second = (trial_of(elsewhere, "aggregate", keep_input=True) for _ in range(2))
    assert first.state is second.state is State.SUCCEEDED, (first.failure, second.failure)
    assert "generate" in {phase.name for phase in first.phases}
    assert "generate" not in {phase.name for phase in second.phases}
    assert [path.name for path in (root / "disk").iterdir()] == ["venturi-inputs"]


@pytest.mark.engines
def test_a_job_of_hadoop(elsewhere: Session, engines_home: Path, root: Path) -> None:
    trial = trial_of(elsewhere, "wordcount", "mapreduce")
    assert trial.state is State.SUCCEEDED, trial.failure
    assert {"engine.log", "counters.json"} <= {each.name for each in trial.artifacts}
    assert list((root / "disk").iterdir()) == []


@pytest.mark.slow
def test_a_probe(elsewhere: Session) -> None:
    trial = probe_disk(
        elsewhere, DiskOptions(dirs=(DISK,), modes=("write",), bytes=16 << 20, iterations=1)
    )
    assert trial.state is State.SUCCEEDED, trial.failure


@pytest.mark.parametrize(
    ("name", "size_bytes", "says"),
    [
        ("sql-scan", 128_000, None),
        ("pagerank", 60_000, "3000 ranks in the output, 75 pages"),
        ("nhop", 60_000, "pairs in the output"),
        ("kmeans", 500_000, "0 examples were loaded"),
    ],
)
def test_tables_graphs_and_examples(
    elsewhere: Session, name: str, size_bytes: int, says: str | None
) -> None:
    """They are written, and read for the check, which sees the input in the place of an output."""
    files, definition = elsewhere.agent.host.files, workload(name)
    size = size_of_bytes(definition, size_bytes)
    step = StepContext(elsewhere.agent, 0.0, None)
    with DataFolders(files, parse_roles((), DISK)) as folders:
        given, _ = inputs_of(folders, definition, size).provide(step)
        assert given.files
        assert all(file.is_relative_to(DISK) for file in given.files)
        answer = {"records": size.records if says is None else 0}
        output = given.files[0].parent
        verdict = outputs.check(CheckInput(step, definition, size, given, output, answer))
    if says is None:
        assert verdict.invalid is None
    else:
        assert verdict.invalid is not None
        assert says in verdict.invalid
