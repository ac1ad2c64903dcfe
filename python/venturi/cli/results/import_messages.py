"""What `venturi import` prints of each file: as text on stderr, or as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.jobs.job import AnalyzedJob, job_of
from venturi.core.errors import VenturiError
from venturi.core.units import format_duration
from venturi.core.wording import count_of
from venturi.terminal.table import plain

if TYPE_CHECKING:
    from venturi.record.importing.tally import Arrival, ImportReport
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial

_SHOWN = 10


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The result of importing a file: `imported`, or the `error` that refused it.

    `file` is None for the shipped tables, and a text for a file from a server or store.
    """

    file: Path | str | None
    format: str | None
    imported: ImportReport | None = None
    error: VenturiError | None = None


def fields_of(outcome: FileOutcome) -> dict[str, Any]:
    """Return an outcome as `--json` prints it."""
    file = None if outcome.file is None else str(outcome.file)
    told: dict[str, Any] = {"file": file, "format": outcome.format}
    if outcome.imported is None:
        assert outcome.error is not None
        return told | {"error": outcome.error.as_dict()}
    trials = [
        {"trial": each.trial, "added": each.added, **each.account}
        for each in outcome.imported.trials
    ]
    return told | asdict(outcome.imported) | {"trials": trials}


def say(line: str) -> None:
    """Print a line on stderr."""
    click.echo(line, err=True)


def say_imported(
    repository: TrialRepository, outcome: FileOutcome, imported: ImportReport, *, brief: bool
) -> None:
    """Print the result of a file; `brief` prints a line for each application of a log."""
    if imported.trials and imported.trials[0].account:
        for arrival in imported.trials:
            if brief:
                _say_line(repository, outcome.file, arrival)
            else:
                _say_account(outcome.file, arrival)
                _say_job(repository, arrival)
        return
    say(
        f"{outcome.file or 'tables of publications'} ({outcome.format}): {imported.added:,} added, "
        f"{imported.already_present:,} already here, {imported.repeated:,} over again, "
        f"{imported.refused_count:,} refused"
    )
    if imported.removed:
        say(
            f"  {imported.removed:,} were removed here for good and are not taken in again: "
            "`venturi repository removals` lists why, `readmit` lets them"
        )
    if imported.failed:
        say(f"  {imported.failed:,} of them failed where they ran, and are kept as failed")
    if imported.alike:
        say(
            f"  {imported.alike:,} of them equal an earlier row in all but its number; "
            "they are kept and marked"
        )
    # What a file says is shown with !r: it may hold what a terminal would obey.
    for variant in imported.spellings[:_SHOWN]:
        say(
            f"  {variant.field} {variant.written!r} was taken as {variant.taken_as!r} "
            f"{variant.count:,} times"
        )
    _say_refused(imported)
    for what, shown in (
        ("spellings", imported.spellings),
        ("reasons", imported.reasons),
        ("refused rows", imported.refused),
    ):
        if len(shown) > _SHOWN:
            say(f"  the first {_SHOWN} {what} are shown; --json has more")


def _say_refused(imported: ImportReport) -> None:
    damaged = any(refusal.code for refusal in imported.refused)
    for reason in () if damaged else imported.reasons[:_SHOWN]:
        say(f"  refused, {reason.count:,} times: {reason.field or 'row'}: {reason.reason}")
    for refusal in imported.refused[:_SHOWN]:
        if refusal.code:
            where = f"line {refusal.line} ({refusal.field} {refusal.value!r})"
            say(f"  {where}: [{refusal.code}] {refusal.reason}")
        else:
            say(f"    line {refusal.line}: {refusal.field or 'row'} {refusal.value!r}")


def _say_line(repository: TrialRepository, file: Path | str | None, arrival: Arrival) -> None:
    """An application with what to do about it, in a line."""
    from venturi.terminal.findings import bound

    told = arrival.account
    took = "" if told["elapsed_s"] is None else f", {format_duration(told['elapsed_s'])}"
    job = _job_of(repository, arrival)
    said = "cannot tell what took the time"
    if told["failure"] is not None:
        said = repr(told["failure"])
    elif job is not None:
        first = next(iter(job.diagnosis.findings), None)
        said = job.diagnosis.silence or said if first is None else bound(first)
    say(
        f"{_arrived(file, arrival)}{took}: {plain(said)}"
        + (f"; {count_of(len(told['warnings']), 'warning')}" if told["warnings"] else "")
    )


def _arrived(file: Path | str | None, arrival: Arrival) -> str:
    """Which application of which file it is, and how it ended."""
    told = arrival.account
    here = "added" if arrival.added else "already here"
    # What a log says is shown with !r: it may hold what a terminal would obey.
    return f"{file}: {here}: trial {arrival.trial}, {told['name']!r}, {told['state']}"


def _job_of(repository: TrialRepository, arrival: Arrival) -> AnalyzedJob | None:
    try:
        trial = repository.get(arrival.trial)
        job = job_of(repository, trial)
    except VenturiError:  # it was taken in; `show` says what is wrong with it
        return None
    if job is not None:
        _keep_answers(repository, trial, job)
    return job


def _keep_answers(repository: TrialRepository, trial: Trial, job: AnalyzedJob) -> None:
    """Keeps what the pages of a large job say first."""
    from venturi.web.api.jobs import job_tasks, jobs
    from venturi.web.api.jobs.cached_answers import is_large

    if is_large(trial):
        jobs.JOB.of(
            repository,
            trial,
            lambda: jobs.data_of(job.line, job.analysis, job.host, job.diagnosis),
        )
        job_tasks.TASKS.of(repository, trial, lambda: job_tasks.all_tasks(job.line))


def _say_job(repository: TrialRepository, arrival: Arrival) -> None:
    """What took the time, and what to do."""
    from venturi.terminal.findings import SHOWN, as_options, bound, headline

    job = _job_of(repository, arrival)
    if job is None:
        return
    say(f"  {plain(headline(job.analysis, job.diagnosis))}")
    for n, finding in enumerate(job.diagnosis.findings[:SHOWN], 1):
        say(f"  {n}. {plain(f'{bound(finding)}: {finding.says}')}")
        say(f"     do: {plain(finding.do)}")
        if finding.settings:
            say(f"     set: {plain(as_options(finding))}")
    if job.diagnosis.silence is not None:
        say(f"  {job.diagnosis.silence}")


def _say_account(file: Path | str | None, arrival: Arrival) -> None:
    told = arrival.account
    say(
        f"{_arrived(file, arrival)}; {told['stages']:,} stages, "
        f"{told['task_attempts']:,} attempts at tasks, {told['events']:,} events, of them "
        f"{sum(told['skipped'].values()):,} of no use, {sum(told['unknown'].values()):,} unknown"
    )
    if told["failure"] is not None:
        say(f"  {told['failure_kind']}: {told['failure']!r}")
    for message in told["warnings"][:_SHOWN]:
        say(f"  {message!r}")
    if len(told["warnings"]) > _SHOWN:
        say(f"  and {len(told['warnings']) - _SHOWN} more warnings; --json has all")
