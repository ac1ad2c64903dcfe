"""A repository of trials with given run times, by default on SQLite."""

from __future__ import annotations

from typing import Any

import pytest
from analysis_requests import WORK, Add, MakeTrial

from venturi.record.store.repository import TrialRepository
from venturi.record.trial import (
    Cluster,
    Failure,
    Host,
    Provenance,
    ProvenanceKind,
    State,
)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def kind_of_database(request: pytest.FixtureRequest) -> str:
    """SQLite; analyses ask both databases by queries that `tests/record` tests on both."""
    return str(request.param)


@pytest.fixture
def add(repository: TrialRepository, make_trial: MakeTrial) -> Add:
    """Stores succeeded trials with these times."""

    def store(
        times: list[float], *, hosts: int = 4, state: State = State.SUCCEEDED, **more: Any
    ) -> None:
        configuration = more.pop("configuration", {})
        cluster = Cluster(
            tuple(Host(f"h{n}") for n in range(hosts)), network=more.pop("network", None)
        )
        made = [
            make_trial(
                workload=more.get("workload", WORK),
                configuration=configuration,
                cluster=cluster,
                state=state,
                elapsed_s=None if state is State.FAILED else seconds,
                failure=Failure("error", "VEN-IMPORT-FAILED", "it did")
                if state is State.FAILED
                else None,
                warm_up=more.get("warm_up", False),
                experiment=more.get("experiment"),
                provenance=more.get("provenance", Provenance(ProvenanceKind.MEASURED, "venturi")),
            )
            for seconds in times
        ]
        repository.add_many(made)

    return store
