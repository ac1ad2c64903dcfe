"""The block I/O trace that is kept with a trial."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from venturi.core.errors import VenturiError

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial

TRACE_NAME = "io-trace.json"
"""The analyzed trace, as `venturi-agent trace analyze` writes it."""
HEAT_NAME = "io-heat.jsonl"
"""Its cells of time, place and duration in several widths, as `--heat` of the agent writes them."""
RECORDING_NAME = "io-recording.tar.gz"
"""The recording itself: the folder `trace`, which `venturi trace show` reads."""


def has_trace(trial: Trial) -> bool:
    """Whether `trial` has a trace of its block I/O."""
    return any(artifact.name == TRACE_NAME for artifact in trial.artifacts)


def load(repository: TrialRepository, trial: Trial) -> dict[str, Any]:
    """Load the analyzed trace of `trial`; VEN-RECORD-ARTIFACT if it is missing or damaged."""
    found = next((each for each in trial.artifacts if each.name == TRACE_NAME), None)
    if found is None:
        raise VenturiError(
            "VEN-RECORD-ARTIFACT",
            f"trial {trial.id} has no trace of its block I/O",
            where={"trial": trial.id},
            hint="trials of venturi run --trace have one",
        )
    try:
        data = json.loads(repository.artifact_path(found).read_bytes())
    except ValueError as error:
        data = error
    if not isinstance(data, dict):
        raise VenturiError(
            "VEN-RECORD-ARTIFACT",
            f"the trace of trial {trial.id} is damaged",
            where={"trial": trial.id, "artifact": found.path},
            hint="run `venturi repository check`, which checks all artifacts",
        )
    return data
