"""`venturi import`: trials that others measured, whatever they are in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from venturi.cli.jobs.job import Job, job_of
from venturi.cli.open_repository import counting, open_repository
from venturi.cli.options import json_option, print_json
from venturi.core.errors import ExitCode, VenturiError, unreadable
from venturi.core.units import format_duration
from venturi.core.wording import count_of, did_you_mean
from venturi.record.importing.formats import AUTO, FORMATS, Format, Kind
from venturi.record.importing.recognise import recognise
from venturi.terminal.table import plain

if TYPE_CHECKING:
    from venturi.record.importing.tally import Arrival, Imported
    from venturi.record.store.repository import Repository
    from venturi.record.trial import Trial

# The format whose tables are shipped: without a file it means them.
STARTER = "published"
_SHOWN = 10
_REFUSED_SHOWN = 5
_WORDS = (AUTO, *FORMATS)
_HELP = """Import engines' logs, archives and other people's results.

FORMAT says what the FILEs are; without it, or as `auto`, each is recognised by its beginning, and
what it was taken for is said. (A file that is called like a format is ./aloja.)

\b
{formats}

What is here already stays as it is. Rows that are no trials are refused and counted by reason; a
damaged trial of an archive is refused with its line, and the others are taken in. Of results or an
archive that are damaged as a whole nothing is kept; of a log that was cut off, what it holds. Of
several files, one that is refused does not stop the others; one that is not there is told before
any is read. The exit status is 1 if a file or a damaged trial was refused, or if a file holds no
trial.
"""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a file (None: the shipped tables): `imported`, or why it was refused.

    A text names a file that was brought here from elsewhere.
    """

    file: Path | str | None
    format: str | None
    imported: Imported | None = None
    error: VenturiError | None = None


def _what(
    context: click.Context, parameter: click.Parameter, words: tuple[str, ...]
) -> tuple[Format | None, tuple[Path, ...]]:
    """The format, if the first word names one (None: to be recognised), and the files."""
    if context.resilient_parsing:  # a shell completes
        return None, tuple(map(Path, words))
    given = words[0] in _WORDS
    format_ = FORMATS.get(words[0])
    files = tuple(map(Path, words[1:] if given else words))
    if not files and words[0] != STARTER:
        raise click.BadParameter(f"name a file to import as {words[0]}")
    hint = "" if given else did_you_mean(files[0].name, _WORDS, "formats are")
    check_there(format_, files, hint)
    return format_, files


def _complete(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:

    first = not any(context.params.get("what") or ())
    names = [name for name in _WORDS if first and name.startswith(incomplete)]
    return [*map(CompletionItem, names), CompletionItem(incomplete, type="file")]


@click.command(
    help=_HELP.format(formats="\n".join(f"{f.name:18}{f.title}" for f in FORMATS.values()))
)
@click.argument(
    "what",
    nargs=-1,
    required=True,
    metavar="[FORMAT|auto] [FILE]...",
    callback=_what,
    shell_complete=_complete,
)
@json_option
def command(what: tuple[Format | None, tuple[Path, ...]], as_json: bool) -> int:
    outcomes, status = import_all(*what)
    if as_json:
        print_json([_fields(each) for each in outcomes])
    return status


def check_there(format_: Format | None, files: Sequence[Path], hint: str = "") -> None:
    """An error if one of `files` is not there, before anything is done."""
    for file in files:
        try:
            file.stat()
        except OSError as error:
            code = (format_.kind if format_ else Kind.RESULTS).value
            raise unreadable(file, error, code, hint) from error


def import_all(
    format_: Format | None, files: Sequence[Path], named: str | None = None
) -> tuple[list[Outcome], ExitCode]:
    """Takes in `files`, telling of each; without any, the shipped tables. The exit status, too.

    The only one that there is raises its error. One of many that are given one by one is `named`:
    in a line for each of its applications, or for why it was refused.
    """
    outcomes: list[Outcome] = []
    refused = 0
    with open_repository() as repository:
        for found in _outcomes(repository, format_, files):
            outcome = found if named is None else replace(found, file=named)
            outcomes.append(outcome)
            if outcome.imported is not None:
                brief = outcome.file not in files  # found in a folder
                _tell_imported(repository, outcome, outcome.imported, brief=brief)
                continue
            assert outcome.error is not None
            if len(files) == 1 and outcome.file == files[0]:
                raise outcome.error
            refused += 1
            if refused <= _REFUSED_SHOWN:
                _tell(f"{outcome.file}: refused: [{outcome.error.code}] {outcome.error.message}")
    if refused > _REFUSED_SHOWN:
        _tell(f"and {refused - _REFUSED_SHOWN:,} more refused; --json has all")
    if refused == len(outcomes) and named is None:
        _tell(f"no trial found in {', '.join(map(str, files))}")
    sound = all(each.imported is not None and each.imported.sound for each in outcomes)
    return outcomes, ExitCode.OK if sound else ExitCode.USER


def _outcomes(
    repository: Repository, format_: Format | None, files: Sequence[Path]
) -> Iterator[Outcome]:
    from venturi.record.importing.take_in import found

    if not files:
        from venturi.record.starter import import_starter

        yield Outcome(None, STARTER, import_starter(repository))
    for given in files:
        chosen, file = format_, given
        try:
            chosen = format_ or _recognised(given)
            unit = "trials" if chosen.kind is Kind.ARCHIVE else "bytes"
            for file, take in found(chosen, given):
                try:
                    with counting(f"import {file.name}", unit) as progress:
                        imported = take(repository, progress)
                except VenturiError as error:
                    yield Outcome(file, chosen.name, error=error)
                else:
                    yield Outcome(file, chosen.name, imported)
        except VenturiError as error:
            yield Outcome(given, chosen.name if chosen else None, error=error)


def _recognised(file: Path) -> Format:

    format_ = recognise(file)
    _tell(f"{file}: taken for {format_.name}: {format_.title}")
    return format_


def _fields(outcome: Outcome) -> dict[str, Any]:
    file = None if outcome.file is None else str(outcome.file)
    told: dict[str, Any] = {"file": file, "format": outcome.format}
    if outcome.imported is None:
        assert outcome.error is not None
        return told | {"error": outcome.error.as_dict()}
    return (
        told | asdict(outcome.imported) | {"trials": [*map(trial_fields, outcome.imported.trials)]}
    )


def trial_fields(arrival: Arrival) -> dict[str, Any]:
    """A trial of an archive or a log as `--json` prints it, with what the log told."""
    return {"trial": arrival.trial, "added": arrival.added, **arrival.account}


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _tell_imported(
    repository: Repository, outcome: Outcome, imported: Imported, *, brief: bool
) -> None:
    """What became of a file; of a log that is one of many (`brief`) a line for each application."""
    if imported.trials and imported.trials[0].account:
        for arrival in imported.trials:
            if brief:
                _tell_line(repository, outcome.file, arrival)
            else:
                _tell_account(outcome.file, arrival)
                _tell_job(repository, arrival)
        return
    _tell(
        f"{outcome.file or 'tables of publications'} ({outcome.format}): {imported.added:,} added, "
        f"{imported.already_present:,} already here, {imported.repeated:,} over again, "
        f"{imported.refused_count:,} refused"
    )
    if imported.removed:
        _tell(
            f"  {imported.removed:,} were removed here for good and are not taken in again: "
            "`venturi repository removals` lists why, `readmit` lets them"
        )
    if imported.failed:
        _tell(f"  {imported.failed:,} of them failed where they ran, and are kept as failed")
    if imported.alike:
        _tell(
            f"  {imported.alike:,} of them equal an earlier row in all but its number; "
            "they are kept and marked"
        )
    # What a file says is shown with !r: it may hold what a terminal would obey.
    for variant in imported.spellings[:_SHOWN]:
        _tell(
            f"  {variant.field} {variant.written!r} was taken as {variant.taken_as!r} "
            f"{variant.count:,} times"
        )
    _tell_refused(imported)
    for what, shown in (
        ("spellings", imported.spellings),
        ("reasons", imported.reasons),
        ("refused rows", imported.refused),
    ):
        if len(shown) > _SHOWN:
            _tell(f"  the first {_SHOWN} {what} are shown; --json has more")


def _tell_refused(imported: Imported) -> None:
    damaged = any(refusal.code for refusal in imported.refused)
    for reason in () if damaged else imported.reasons[:_SHOWN]:
        _tell(f"  refused, {reason.count:,} times: {reason.field or 'row'}: {reason.reason}")
    for refusal in imported.refused[:_SHOWN]:
        if refusal.code:
            where = f"line {refusal.line} ({refusal.field} {refusal.value!r})"
            _tell(f"  {where}: [{refusal.code}] {refusal.reason}")
        else:
            _tell(f"    line {refusal.line}: {refusal.field or 'row'} {refusal.value!r}")


def _tell_line(repository: Repository, file: Path | str | None, arrival: Arrival) -> None:
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
    _tell(
        f"{_arrived(file, arrival)}{took}: {plain(said)}"
        + (f"; {count_of(len(told['warnings']), 'warning')}" if told["warnings"] else "")
    )


def _arrived(file: Path | str | None, arrival: Arrival) -> str:
    """Which application of which file it is, and how it ended."""
    told = arrival.account
    here = "added" if arrival.added else "already here"
    # What a log says is shown with !r: it may hold what a terminal would obey.
    return f"{file}: {here}: trial {arrival.trial}, {told['name']!r}, {told['state']}"


def _job_of(repository: Repository, arrival: Arrival) -> Job | None:
    try:
        trial = repository.get(arrival.trial)
        job = job_of(repository, trial)
    except VenturiError:  # it was taken in; `show` says what is wrong with it
        return None
    if job is not None:
        _keep_answers(repository, trial, job)
    return job


def _keep_answers(repository: Repository, trial: Trial, job: Job) -> None:
    """Keeps what the pages of a large job say first."""
    from venturi.web.api.jobs import job_tasks, jobs
    from venturi.web.api.jobs.kept import is_large

    if is_large(trial):
        jobs.JOB.of(
            repository,
            trial,
            lambda: jobs.data_of(job.line, job.analysis, job.host, job.diagnosis),
        )
        job_tasks.TASKS.of(repository, trial, lambda: job_tasks.all_tasks(job.line))


def _tell_job(repository: Repository, arrival: Arrival) -> None:
    """What took the time, and what to do."""
    from venturi.terminal.findings import SHOWN, as_options, bound, headline

    job = _job_of(repository, arrival)
    if job is None:
        return
    _tell(f"  {plain(headline(job.analysis, job.diagnosis))}")
    for n, finding in enumerate(job.diagnosis.findings[:SHOWN], 1):
        _tell(f"  {n}. {plain(f'{bound(finding)}: {finding.says}')}")
        _tell(f"     do: {plain(finding.do)}")
        if finding.settings:
            _tell(f"     set: {plain(as_options(finding))}")
    if job.diagnosis.silence is not None:
        _tell(f"  {job.diagnosis.silence}")


def _tell_account(file: Path | str | None, arrival: Arrival) -> None:
    told = arrival.account
    _tell(
        f"{_arrived(file, arrival)}; {told['stages']:,} stages, "
        f"{told['task_attempts']:,} attempts at tasks, {told['events']:,} events, of them "
        f"{sum(told['skipped'].values()):,} of no use, {sum(told['unknown'].values()):,} unknown"
    )
    if told["failure"] is not None:
        _tell(f"  {told['failure_kind']}: {told['failure']!r}")
    for message in told["warnings"][:_SHOWN]:
        _tell(f"  {message!r}")
    if len(told["warnings"]) > _SHOWN:
        _tell(f"  and {len(told['warnings']) - _SHOWN} more warnings; --json has all")
