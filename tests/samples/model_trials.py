"""Trials made by hand, for the models to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from venturi.record.trial import (
    Cluster,
    Engine,
    Host,
    Provenance,
    ProvenanceKind,
    Software,
    State,
    Trial,
    Workload,
    new_id,
)

MakeTrial = Callable[..., Trial]


def succeeded(**changes: Any) -> Trial:
    """A succeeded trial; keyword arguments replace its fields."""
    trial = Trial(
        id=new_id(),
        workload=Workload("terasort", "v1", input_bytes=10**9),
        engine=Engine("native", "0.1.0"),
        cluster=Cluster((Host("here"),)),
        configuration={},
        software=Software("0.1.0", None, "release"),
        provenance=Provenance(ProvenanceKind.MEASURED, "venturi"),
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        state=State.SUCCEEDED,
        elapsed_s=1.0,
    )
    return replace(trial, **changes)


@pytest.fixture
def make_trial() -> MakeTrial:
    """Makes succeeded trials; keyword arguments replace fields of the record."""
    return succeeded
