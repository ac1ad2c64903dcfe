"""Killing Venturi at any instant loses at most the step in progress; writers do not lose any."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO

import pytest

from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.record.access.owner import current_owner
from venturi.record.query.paging import whole_trials
from venturi.record.store.files import TEMPORARY_SUFFIX
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import read_series
from venturi.record.trial import SUCCESSORS, TERMINAL, Failure, State, Trial

KILLS = 12
WRITER = Path(__file__).with_name("writer.py")


@contextmanager
def writer(settings: Settings, trials: int) -> Iterator[tuple[IO[str], IO[str]]]:
    """A process of writer.py: its stdin and stdout."""
    arguments = [str(settings.home), settings.database_url or "", str(trials)]
    with subprocess.Popen(
        [sys.executable, WRITER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process.stdin, process.stdout
        finally:
            process.stdin.close()
            try:
                process.wait(200)
            except subprocess.TimeoutExpired:
                process.kill()
                raise


def kill_after(pid: int, delay_s: float) -> None:
    time.sleep(delay_s)
    os.kill(pid, signal.SIGKILL)


def reached(acknowledged: State, stored: State) -> bool:
    """Whether `stored` is `acknowledged` or lies after it."""
    return stored is acknowledged or any(reached(s, stored) for s in SUCCESSORS[acknowledged])


@pytest.mark.slow
def test_killed_writers_lose_at_most_the_step_in_progress(bare_settings: Settings) -> None:
    settings = bare_settings
    settings.home.mkdir(parents=True)
    chance = random.Random(20260102)
    accepted: dict[str, State] = {}
    interrupted = 0
    with writer(settings, trials=1000) as (stdin, stdout):
        for seed in range(KILLS):
            stdin.write(f"{seed}\n")
            stdin.flush()
            pid = json.loads(stdout.readline())["pid"]
            # From before the database exists to the middle of some trial.
            steps = chance.randrange(12)
            for _ in range(steps):
                step = json.loads(stdout.readline())
                accepted[step["id"]] = State(step["state"])
            kill_after(pid, chance.uniform(0, 0.02 if steps else 0.3))
            stdin.write(f"{KILLS + seed}\n")  # its pid line marks the end of the killed one's
            stdin.flush()
            while "pid" not in (step := json.loads(stdout.readline())):
                accepted[step["id"]] = State(step["state"])
            kill_after(step["pid"], 0.0)
            with TrialRepository.open(settings) as repository:
                found = repository.recover()
                interrupted += len(found)
                assert len(found) <= 1
                for trial in found:
                    assert trial.state is State.INTERRUPTED
                    assert trial.failure is not None
                    assert trial.failure.code == "VEN-RECORD-ABANDONED"
                    assert repository.get(trial.id) == trial
                assert repository.recover() == []
                stored = {trial.id: trial for trial in whole_trials(repository)}
                assert accepted.keys() <= stored.keys()
                for id_, state in accepted.items():
                    assert reached(state, stored[id_].state)
    assert accepted, "no writer lived long enough to write anything"
    assert interrupted >= KILLS // 3, "too few writers were killed at work"
    check_artifacts(settings)


def check_artifacts(settings: Settings) -> None:
    """Every artifact of every record is whole, and no half file looks like a whole one."""
    with TrialRepository.open(settings) as repository:
        whole = 0
        for trial in whole_trials(repository):
            assert trial.state in TERMINAL
            for artifact in trial.artifacts:
                path = repository.artifact_path(artifact)
                assert path.stat().st_size == artifact.size_bytes
                if artifact.kind == "log":
                    assert path.read_bytes() == trial.id.encode() * 2_000
                else:
                    assert read_series(path)["t_s"].to_list() == list(range(50))
                whole += 1
        assert whole
        assert not list(repository.artifacts_dir.rglob(f"*{TEMPORARY_SUFFIX}"))


@pytest.mark.slow
def test_concurrent_writers_and_readers(bare_settings: Settings) -> None:
    """Four processes open one new repository concurrently and write to it while it is read."""
    settings, writers, each = bare_settings, 4, 4
    settings.home.mkdir(parents=True)
    with writer(settings, each) as (stdin, stdout):
        stdin.write(" ".join(map(str, range(writers))) + "\n")
        stdin.flush()
        seen: dict[str, Trial] = {}
        looks = 0
        with TrialRepository.open(settings) as repository:
            while len([t for t in seen.values() if t.state in TERMINAL]) < writers * each:
                for trial in whole_trials(repository):
                    earlier = seen.get(trial.id, trial)
                    assert reached(earlier.state, trial.state), "a trial went back in time"
                    seen[trial.id] = trial
                assert repository.recover() == [], "the owner is alive"
                looks += 1
                assert looks < 20_000
        said = [json.loads(stdout.readline()) for _ in range(writers * (each * 5 + 2))]
    assert sum("done" in line for line in said) == writers
    assert len({line["id"] for line in said if "id" in line}) == writers * each
    assert looks > 3
    check_artifacts(settings)


def race(settings: Settings, wishes: list[Trial]) -> list[str]:
    """Saves all `wishes` concurrently, each through its own repository; the outcome of each."""
    barrier = threading.Barrier(len(wishes))
    outcomes = [""] * len(wishes)

    def save(number: int) -> None:
        with TrialRepository.open(settings) as repository:
            barrier.wait(30)
            try:
                repository.save(wishes[number])
                outcomes[number] = "won"
            except VenturiError as error:
                outcomes[number] = error.code

    threads = [threading.Thread(target=save, args=(n,)) for n in range(len(wishes))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def test_of_writers_with_different_endings_one_wins(
    repository: TrialRepository, repository_settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    for _ in range(5):
        trial = make_trial(state=State.EXECUTING, owner=current_owner())
        repository.add(trial)
        endings = [
            trial.advance(
                (State.FAILED, State.INVALID, State.INTERRUPTED)[number % 3],
                failure=Failure(str(number), "VEN-TEST", ""),
            )
            for number in range(6)
        ]
        # Equal endings may follow each other: they are one state. Different ones may not.
        outcomes = race(repository_settings, endings)
        stored = repository.get(trial.id)
        won = [end for end, how in zip(endings, outcomes, strict=True) if how == "won"]
        assert set(outcomes) == {"won", "VEN-RECORD-STATE"}
        assert {end.state for end in won} == {stored.state}
        assert stored in won


def test_of_processes_that_claim_a_trial_one_wins(
    repository: TrialRepository, repository_settings: Settings, make_trial: Callable[..., Trial]
) -> None:
    for _ in range(5):
        trial = make_trial()
        repository.add(trial)
        claims = [
            trial.advance(State.PREPARING, owner=replace(current_owner(), pid=1000 + number))
            for number in range(4)
        ]
        outcomes = race(repository_settings, claims)
        assert sorted(outcomes) == ["VEN-RECORD-STATE"] * 3 + ["won"]
        assert repository.get(trial.id) == claims[outcomes.index("won")]
