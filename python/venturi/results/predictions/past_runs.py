"""The recorded runs that a prediction may rest on."""

from __future__ import annotations

from itertools import islice

from venturi.record.query.conditions import Condition
from venturi.record.query.paging import stored_trials
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import State, Trial

_MOST = 1_000


def past_runs(repository: TrialRepository, planned: Trial) -> list[Trial]:
    """The newest successful trials of the workload and engine of `planned`, newest first.

    Excluded trials are left out.
    """
    query = Query(
        (
            Condition.equal("workload", planned.workload.name),
            Condition.equal("workload_version", planned.workload.version),
            Condition.equal("engine", planned.engine.name),
            Condition.equal("state", State.SUCCEEDED.value),
        )
    )
    return list(islice(stored_trials(repository, query), _MOST))
