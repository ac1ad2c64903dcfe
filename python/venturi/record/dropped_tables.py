"""Imported jobs without task tables: `venturi repository keep` dropped them, and kept a summary.

Such a trial has its record, the facts of its account and the file `SUMMARY_NAME`. A warning
(`DROPPED`) says when the tables were dropped and how to restore them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from venturi.core.errors import VenturiError
from venturi.record.account_tables import ACCOUNT_TABLES
from venturi.record.trial import Artifact, Trial, TrialWarning

DROPPED = "VEN-RECORD-DROPPED"
"""The code of the warning, and of the error where a command needs the tables."""
SUMMARY_NAME = "job-summary.json"
"""The artifact with the summary of the job."""
RESTORED = "its task tables had been dropped"
"""Why an import updated such a trial."""
REMEDY = "venturi import LOG"


def tables_dropped(trial: Trial) -> str | None:
    """When the task tables of `trial` were dropped, and the remedy; None if they were not."""
    return next((each.message for each in trial.warnings if each.code == DROPPED), None)


def require_tables(trial: Trial) -> None:
    """Raise VEN-RECORD-DROPPED if the task tables of `trial` were dropped."""
    if (message := tables_dropped(trial)) is not None:
        raise VenturiError(
            DROPPED,
            f"trial {trial.id} can't be analyzed again: {message}",
            where={"trial": trial.id},
            hint=f"import its log again: `{REMEDY}`; the kept summary: `venturi show {trial.id}`",
        )


def table_artifacts(trial: Trial) -> tuple[Artifact, ...]:
    """The task tables among the artifacts of `trial`."""
    return tuple(each for each in trial.artifacts if each.name in ACCOUNT_TABLES)


def table_files(folder: Path) -> list[Path]:
    """The files of task tables in the folder of a trial."""
    try:
        return [each for each in folder.iterdir() if each.name in ACCOUNT_TABLES]
    except (FileNotFoundError, NotADirectoryError):
        return []


def remove_tables(folder: Path) -> int:
    """Delete the files of task tables in the folder of a trial without them; the bytes freed."""
    freed = 0
    for path in table_files(folder):
        freed += path.lstat().st_size
        path.unlink(missing_ok=True)
    return freed


def without_tables(trial: Trial, on: datetime, warnings_max: int) -> Trial:
    """Return `trial` without its task tables, and with the warning that they were dropped."""
    message = (
        f"its task tables were dropped on {on:%Y-%m-%d} by `venturi repository keep`; importing "
        "its log again restores them"
    )
    return replace(
        trial,
        artifacts=_others(trial.artifacts, ACCOUNT_TABLES),
        warnings=(*trial.warnings[: warnings_max - 1], TrialWarning(DROPPED, message)),
    )


def differ_in_tables_only(one: Trial, other: Trial) -> bool:
    """Whether two records are of the same trial, with its task tables or without them."""
    return _apart_from_tables(one) == _apart_from_tables(other)


def _apart_from_tables(trial: Trial) -> Trial:
    return replace(
        trial,
        artifacts=_others(trial.artifacts, ACCOUNT_TABLES | {SUMMARY_NAME}),
        warnings=tuple(each for each in trial.warnings if each.code != DROPPED),
    )


def _others(artifacts: Iterable[Artifact], names: frozenset[str]) -> tuple[Artifact, ...]:
    return tuple(each for each in artifacts if each.name not in names)
