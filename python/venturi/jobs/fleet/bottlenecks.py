"""The bottlenecks of many jobs, cached next to the record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.jobs.diagnosis.sentences import largest_part
from venturi.jobs.stages.analysis import analyse_trial
from venturi.jobs.stages.causes import UNATTRIBUTED
from venturi.jobs.stages.timeline import timeline
from venturi.jobs.stages.verdict import in_words
from venturi.record.account_tables import has_account
from venturi.record.job_account import load
from venturi.record.store.answer_cache import cached_answer, store_answer
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

_BOTTLENECK = "bottleneck"


def job_bottlenecks(
    repository: TrialRepository,
    trials: Sequence[Trial],
    home: Path,
    go_on: Callable[[], bool] = lambda: True,
) -> dict[str, str]:
    """The parts that took most of the time of trials with an engine's account, by trial.

    Trials that can't be analyzed are left out. Answers are cached in `home`; others are computed
    while `go_on` is true.
    """
    found = {}
    for trial in filter(has_account, trials):
        if (known := cached_answer(home, trial, _BOTTLENECK)) is None:
            if not go_on():
                continue
            try:
                line = timeline(load(repository, trial))
            except VenturiError:
                continue
            name, _ = largest_part(analyse_trial(trial, line).verdict.shares)
            known = name.encode()
            store_answer(home, trial, _BOTTLENECK, known)
        if (name := known.decode()) != UNATTRIBUTED:
            found[trial.id] = in_words(name)
    return found
