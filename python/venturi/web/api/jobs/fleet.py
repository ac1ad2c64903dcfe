"""`/api/fleet`: the jobs of the repository, those with the biggest savings first."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Annotated

from venturi.jobs.fleet import answer
from venturi.jobs.fleet.fleet import Fleet
from venturi.web.api.context import SelectionDep, Services
from venturi.web.api.request_arguments import Parameter

ROWS_MAX = 1_000
DIAGNOSE_S = 0.15
"""Time per request for jobs without a stored summary, so that the page answers soon."""


def fleet(
    *,
    services: Services,
    selection: SelectionDep,
    each: Annotated[
        bool, Parameter(description="Every run instead of the latest run of each job.")
    ] = False,
    limit: Annotated[
        int, Parameter(description="Maximum number of rows.", ge=1, le=ROWS_MAX)
    ] = ROWS_MAX,
) -> Fleet:
    """The recorded jobs with their biggest fixes, and a sentence about all of them.

    A request diagnoses at least one of the jobs without a stored diagnosis; ask again while
    `undiagnosed` isn't 0.
    """
    until_s = time.monotonic() + DIAGNOSE_S
    found = answer.fleet(
        services.repository,
        selection.query(),
        each=each,
        go_on=lambda done, _: not done or time.monotonic() < until_s,
    )
    return replace(found, jobs=found.jobs[:limit])
