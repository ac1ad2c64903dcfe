"""A process that writes to a repository until it is killed; see test_crash.py.

For every line of seeds on stdin it forks one child a seed, which marches trials through their
lives, and waits for them. A child prints one JSON line for each step after the repository accepted
it, so the test knows what must be there whenever it kills the child.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

# Imports of a repository and a series, so that a child spends its short life on writing.
import alembic.command  # noqa: F401
import polars  # noqa: F401
import psycopg  # noqa: F401

from venturi.core.settings import Settings
from venturi.record.access.owner import current_owner
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import SeriesWriter
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Host,
    Provenance,
    ProvenanceKind,
    Software,
    State,
    Trial,
    Workload,
    new_id,
    now,
)

LIFE = (State.PREPARING, State.EXECUTING, State.VALIDATING)


def say(**what: object) -> None:
    os.write(1, (json.dumps(what) + "\n").encode())


def planned(seed: int) -> Trial:
    return Trial(
        id=new_id(),
        workload=Workload("writing", "v1"),
        engine=Engine("native", "0"),
        cluster=Cluster((Host("here"),)),
        configuration={"seed": seed},
        software=Software("0", None, "release"),
        provenance=Provenance(ProvenanceKind.MEASURED, "test"),
        started_at=now(),
        owner=current_owner(),
    )


def march(repository: TrialRepository, home: Path, seed: int, number: int) -> None:
    """One trial from its plan to its end, with an artifact and a series on the way."""
    trial = planned(seed)
    repository.add(trial)
    say(id=trial.id, state=trial.state)
    for state in LIFE:
        trial = trial.advance(state)
        repository.save(trial)
        say(id=trial.id, state=trial.state)
    content = trial.id.encode() * 2_000
    trial = repository.attach(trial, "log", "log.txt", content)
    series = home / f"{trial.id}.parquet"
    with SeriesWriter(series) as writer:
        for t_s in range(50):
            writer.append(float(t_s), "cpu_user", None, 0.5, "fraction")
    trial = repository.attach(trial, "series", "host.parquet", series)
    if number % 2:
        trial = trial.advance(State.SUCCEEDED, elapsed_s=1.0)
    else:
        trial = trial.advance(State.FAILED, failure=Failure("test", "VEN-TEST", "as planned"))
    repository.save(trial)
    say(id=trial.id, state=trial.state, artifacts=len(trial.artifacts))


def main() -> None:
    home, database_url, limit = Path(sys.argv[1]), sys.argv[2] or None, int(sys.argv[3])
    for line in sys.stdin:
        children = [start(home, database_url, int(seed), limit) for seed in line.split()]
        for child in children:
            os.waitpid(child, 0)


def start(home: Path, database_url: str | None, seed: int, limit: int) -> int:
    """Forks a child that writes `limit` trials; its process id."""
    child = os.fork()
    if child == 0:
        say(pid=os.getpid())
        with TrialRepository.open(
            Settings(home, database_url, None, allow_debug=False)
        ) as repository:
            for number in range(limit):
                march(repository, home, seed, number)
        say(done=True)
        os._exit(0)
    return child


main()
