"""The messages of `venturi import` about each file: as text, or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.jobs.job import AnalyzedJob, cost_of_job, job_of
from venturi.cli.screen import is_first_screen, next_step, show
from venturi.core.errors import VenturiError
from venturi.core.units import format_duration
from venturi.core.wording import count_of
from venturi.record.importing.tally import ArrivalKind
from venturi.terminal.table import SCREEN_WIDTH, Paragraph, plain, shorten_to

if TYPE_CHECKING:
    from venturi.record.importing.tally import Arrival, ImportReport
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial

_SHOWN = 10
_PLURALS = {"columns", "numbers"}  # fields of spellings
_SKIPPED_SHOWN = 3
_NOT_IMPORTED = {
    ArrivalKind.OLDER: "the stored log of this application has more",
    ArrivalKind.CONTRADICTING: "it contradicts the stored log of this application",
}


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The result of importing a file: `imported`, or the `error` that refused it.

    `file` is None for the shipped tables, and a text for a file from a server or store. A file in a
    folder is `skipped` if it has no known format. `lines` are its applications in a line each, if
    they are known already.
    """

    file: Path | str | None
    format: str | None
    imported: ImportReport | None = None
    error: VenturiError | None = None
    skipped: bool = False
    lines: tuple[str, ...] | None = None


def fields_of(outcome: FileOutcome) -> dict[str, Any]:
    """Return an outcome as `--json` prints it."""
    file = None if outcome.file is None else str(outcome.file)
    fields: dict[str, Any] = {"file": file, "format": outcome.format}
    if outcome.skipped:
        return fields | {"skipped": True}
    if outcome.imported is None:
        assert outcome.error is not None
        return fields | {"error": outcome.error.as_dict()}
    trials = [
        {
            "trial": each.trial,
            "added": each.added,
            "outcome": each.kind.value,
            "note": each.note or None,
            **each.account,
        }
        for each in outcome.imported.trials
    ]
    return fields | asdict(outcome.imported) | {"trials": trials}


def say(line: str) -> None:
    """Print a line on stderr."""
    click.echo(line, err=True)


def answer(*lines: str | Paragraph) -> None:
    """Print findings on stdout; on stderr if stdout gets JSON."""
    context = click.get_current_context(silent=True)
    if context is None or not context.params.get("as_json"):
        show(*lines)
        return
    for line in lines:
        say(plain(line if isinstance(line, str) else line.text))


def say_imported(
    repository: TrialRepository, outcome: FileOutcome, imported: ImportReport, *, brief: bool
) -> None:
    """Print the result of a file; `brief` prints a line for each application of a log."""
    if imported.trials and imported.trials[0].account:
        if brief:
            lines = outcome.lines
            if lines is None:
                lines = application_lines(repository, outcome, first_screen=is_first_screen())
            answer(*lines)
        else:
            for arrival in imported.trials:
                _say_application(repository, outcome, arrival)
        return
    if imported.waiting and not imported.kept:
        answer(
            f"{outcome.file} ({outcome.format}): its application has just begun; import it later"
        )
        return
    counts = [(imported.added, "added"), (imported.updated, "updated")]
    counts += [(imported.already_present, "already here")]
    counts += [(imported.repeated, "repeated"), (imported.refused_count, "rejected")]
    told = ", ".join(f"{n:,} {word}" for n, word in counts if n or word == "added")
    answer(f"{outcome.file or 'tables of publications'} ({outcome.format}): {told}")
    _say_changed(imported)
    if imported.removed:
        answer(
            f"  {imported.removed:,} were removed here for good and are not imported again: "
            "`venturi repository removals` lists why, `readmit` lets them"
        )
    if imported.failed:
        answer(f"  {imported.failed:,} of them failed where they ran, and are recorded as failed")
    if imported.alike:
        answer(
            f"  {imported.alike:,} of them equal an earlier row in everything but its number; "
            "they are kept and marked"
        )
    # Text from a file is shown with !r: it may contain control characters for the terminal.
    for variant in imported.spellings[:_SHOWN]:
        answer(
            f"  {variant.field} {variant.written!r} "
            f"{'were' if variant.field in _PLURALS else 'was'} read as {variant.taken_as!r}"
            + (f" {variant.count:,} times" if variant.count > 1 else "")
        )
    _say_refused(imported)
    for what, shown in (
        ("spellings", imported.spellings),
        ("reasons", imported.reasons),
        ("rejected rows", imported.refused),
    ):
        if len(shown) > _SHOWN:
            answer(f"  the first {_SHOWN} {what} are shown; --json has more")


def _say_changed(imported: ImportReport) -> None:
    """Print which trials were updated, and which contradict the stored ones."""
    for arrival in imported.trials[:_SHOWN]:
        if arrival.note:
            contradicting = arrival.kind is ArrivalKind.CONTRADICTING
            said = "not imported, contradicts the stored trial" if contradicting else "updated"
            answer(f"  {arrival.trial}: {said} ({plain(arrival.note)})")


def goes_on(imported: ImportReport) -> bool:
    """Whether a file only has the progress of applications that were running before."""
    return bool(imported.trials) and all(
        each.kind is ArrivalKind.UPDATED and each.account.get("state") == "running"
        for each in imported.trials
    )


def say_skipped(outcomes: Sequence[FileOutcome]) -> None:
    """Print which files were skipped, if any, in a line."""
    names = [plain(Path(each.file or "").name) for each in outcomes if each.skipped]
    if names:
        more = f" and {len(names) - _SKIPPED_SHOWN:,} more" if len(names) > _SKIPPED_SHOWN else ""
        shown = ", ".join(names[:_SKIPPED_SHOWN]) + more
        say(f"skipped {count_of(len(names), 'file')} of no known format: {shown}")


def _short_id(repository: TrialRepository, id_: str) -> str:
    from venturi.record.query.counting import short_id

    return short_id(repository, id_)


def suggest_next(
    repository: TrialRepository, outcomes: Sequence[FileOutcome], *, brief: bool
) -> None:
    """Print the command that most users want after an import."""
    imported = [each for each in outcomes if each.imported is not None]
    arrived = [each.trial for one in imported if one.imported for each in one.imported.trials]
    trials = sum(each.imported.kept for each in imported if each.imported)
    if not trials or not is_first_screen():
        return
    last = imported[-1]
    assert last.imported is not None
    is_log = any(each.account for each in last.imported.trials)
    id_ = _short_id(repository, (arrived or [last.imported.example])[-1])
    if last.imported.workload in {"diskbench", "netbench"}:
        next_step(
            "venturi catalog overlay --from-trials --type NAME --onto current -o measured.csv "
            "(rates for `venturi predict`)"
        )
    elif trials == 1:
        words = "the reasons, and where the time went: " if is_log and not brief else ""
        next_step(f"{words}venturi show {id_}")
    elif is_log and len(arrived) == 2:
        ids = " ".join(_short_id(repository, each) for each in arrived)
        next_step(f"venturi compare {ids} --why")
    elif last.imported.differing:
        workload = last.imported.workload
        where = "" if workload == "unknown" else f" --where {quote(f'workload={workload}')}"
        next_step(f"venturi effect {quote(last.imported.differing[0])}{where}")
    elif is_log:
        next_step("the job to fix first", "venturi jobs")
    else:
        next_step("venturi ls")


def _say_refused(imported: ImportReport) -> None:
    damaged = any(refusal.code for refusal in imported.refused)
    for reason in () if damaged else imported.reasons[:_SHOWN]:
        answer(f"  rejected, {reason.count:,} times: {reason.field or 'row'}: {reason.reason}")
    for refusal in imported.refused[:_SHOWN]:
        if refusal.code:
            where = f"line {refusal.line} ({refusal.field} {refusal.value!r})"
            answer(f"  {where}: [{refusal.code}] {refusal.reason}")
        else:
            answer(f"    line {refusal.line}: {refusal.field or 'row'} {refusal.value!r}")


def _outcome(arrival: Arrival) -> str:
    """The outcome of importing an application, in a word or two."""
    return "not imported" if arrival.kind in _NOT_IMPORTED else arrival.kind.value


def _why(arrival: Arrival) -> str:
    """The reason for that outcome as a clause; empty if there is nothing to say."""
    note = plain(arrival.note)
    why = _NOT_IMPORTED.get(arrival.kind, "")
    return f"{why} ({note})" if why and note else why or note


def application_lines(
    repository: TrialRepository, outcome: FileOutcome, *, first_screen: bool
) -> tuple[str, ...]:
    """Each application of a log with its failure or its costliest finding, in a line."""
    arrivals = () if outcome.imported is None else outcome.imported.trials
    return tuple(
        _line(repository, outcome.file, each, first_screen=first_screen)
        for each in arrivals
        if each.account
    )


def _line(
    repository: TrialRepository, file: Path | str | None, arrival: Arrival, *, first_screen: bool
) -> str:
    from venturi.jobs.failures.messages import headline as cause_line
    from venturi.jobs.stages.queries import failed_queries

    account = arrival.account
    job = _job_of(repository, arrival)
    found = "nothing known"
    failed = [] if job is None else failed_queries(job.account)
    if failed:
        found = f"{count_of(len(failed), 'query', 'queries')} failed: {cause_line(failed[0])}"
    elif account["failure"] is not None:
        found = repr(account["failure"])
    elif job is not None:
        found = job.diagnosis.sentence
    time = "" if account["elapsed_s"] is None else f", {format_duration(account['elapsed_s'])}"
    state = "" if account["state"] == "succeeded" else f", {account['state']}"
    name, found = plain(account["name"]), plain(found)
    if first_screen:
        why = _why(arrival) if arrival.kind in _NOT_IMPORTED else ""
        here = "" if arrival.added else f", {_outcome(arrival)}" + (f": {why}" if why else "")
        line = f"{_short_id(repository, arrival.trial)} {name}{time}{state}{here}: {found}"
        return shorten_to(line, SCREEN_WIDTH)
    here = ": ".join(filter(None, (_outcome(arrival), _why(arrival))))
    line = f"{file}: {here}: trial {arrival.trial}, {name}{state}{time}: {found}"
    if account["warnings"]:
        line += f"; {count_of(len(account['warnings']), 'warning')}"
    return line


def _job_of(repository: TrialRepository, arrival: Arrival) -> AnalyzedJob | None:
    try:
        trial = repository.get(arrival.trial)
        job = job_of(repository, trial)
    except VenturiError:  # it was imported; `show` says what is wrong with it
        return None
    if job is not None:
        _keep_answers(repository, trial, job)
    return job


def _keep_answers(repository: TrialRepository, trial: Trial, job: AnalyzedJob) -> None:
    """Cache the answers that pages need first."""
    from venturi.jobs.fleet.summaries import store_summary
    from venturi.web.api.jobs import job_tasks, jobs
    from venturi.web.api.jobs.cached_answers import is_large

    store_summary(repository, trial, job.line, job.analysis, job.diagnosis)
    if is_large(trial):
        jobs.JOB.of(
            repository,
            trial,
            lambda: jobs.data_of(job.line, job.analysis, job.host, job.diagnosis),
        )
        job_tasks.TASKS.of(repository, trial, lambda: job_tasks.all_tasks(job.line))


def _say_application(repository: TrialRepository, outcome: FileOutcome, arrival: Arrival) -> None:
    """Print how an application was imported and its first finding; on a pipe, its first screen."""
    account, file, format_ = arrival.account, outcome.file, outcome.format
    counts = [(account["stages"], "stages"), (account["task_attempts"], "task attempts")]
    counts += [(account["events"], "events"), (sum(account["skipped"].values()), "ignored")]
    counts += [(sum(account["unknown"].values()), "of unknown type")]
    told = ", ".join(f"{n:,} {word}" for n, word in counts if n or word == "stages")
    here = _outcome(arrival)
    first = is_first_screen()
    if first:
        tail = f" ({format_}): {here}, trial {_short_id(repository, arrival.trial)}"
        name = shorten_to(plain(Path(file or "").name), SCREEN_WIDTH - len(tail))
        answer(Paragraph(f"{name}{tail}", "dim"))
    else:
        # Text from a log is shown with !r: it may contain control characters for the terminal.
        name = f"{account['name']!r}, {account['state']}"
        answer(f"{file}: {here}: trial {arrival.trial}, {name}; {told}")
    if why := _why(arrival):
        answer(
            Paragraph(f"  {why[0].upper()}{why[1:]}", "yellow" if here == "not imported" else "")
        )
    for message in account["warnings"][: 2 if first else _SHOWN]:
        answer(Paragraph(f"  Warning: {plain(message)}", "yellow"))
    if len(account["warnings"]) > _SHOWN:
        answer(f"  and {len(account['warnings']) - _SHOWN} more warnings; --json has all")
    job = _job_of(repository, arrival)
    if job is None:
        if account["failure"] is not None:
            answer(f"  {account['failure_kind']}: {account['failure']!r}")
        return
    from venturi.terminal.job_screen import job_screen, job_summary

    trial = repository.get(arrival.trial)
    shown = (trial, job.account, job.analysis, job.diagnosis, cost_of_job(trial, job))
    answer(*(job_summary(*shown) if first else ("", *job_screen(*shown))))
