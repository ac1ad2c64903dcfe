"""`/api/predictions`: stored predictions against measured times, as `predict --errors` has them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Annotated, Literal

from venturi.jobs.fleet.bottlenecks import job_bottlenecks
from venturi.record.query.predicted import predicted_trials
from venturi.results.predictions import errors
from venturi.web.api.context import SelectionDep, Services
from venturi.web.api.request_arguments import Parameter

RUNS_MAX = 1_000
ANALYZE_S = 1.0
"""Time per request for jobs without a stored bottleneck, so that the page answers soon."""


@dataclass(frozen=True, slots=True)
class PredictionsPage:
    """Errors of predictions, in one `verdict` and by group; `found` has the newest runs.

    `runs_left_out` are older. The bottlenecks of `unanalyzed` jobs aren't known yet: ask again.
    """

    verdict: str
    found: errors.PredictionErrors
    runs_left_out: int
    unanalyzed: int


def prediction_errors(
    *,
    services: Services,
    selection: SelectionDep,
    by: Annotated[
        list[Literal["workload", "engine", "bottleneck", "data", "basis"]] | None,
        Parameter(
            description="Keys of the groups; default: all but `basis`. `data` is the distance of "
            "the data from those that a prediction rests on, `basis` its method.",
            max_length=5,
        ),
    ] = None,
) -> PredictionsPage:
    """How far the predictions that `venturi run --predict` stored were from the measured times."""
    repository = services.repository
    trials = predicted_trials(
        repository, *selection.conditions, with_excluded=selection.with_excluded
    )
    until_s = time.monotonic() + ANALYZE_S
    skipped = 0

    def in_time() -> bool:
        nonlocal skipped
        late = time.monotonic() >= until_s
        skipped += late
        return not late

    home = repository.artifacts_dir.parent
    bottlenecks = job_bottlenecks(repository, trials, home, in_time)
    keys = tuple(dict.fromkeys(by or errors.GROUPED_BY))
    found = errors.prediction_errors(trials, bottlenecks, keys)
    shown = replace(found, runs=found.runs[:RUNS_MAX])
    return PredictionsPage(
        found.sentence, shown, len(found.runs) - len(shown.runs), unanalyzed=skipped
    )
