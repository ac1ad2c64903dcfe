"""Shared by the verbs that open the repository: opening it, choosing trials, showing progress."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.options import F, labels_given
from venturi.cli.progress import progress_bars
from venturi.cli.screen import is_first_screen
from venturi.core import settings, units
from venturi.core.errors import VenturiError
from venturi.core.retry import is_passing
from venturi.core.wording import count_of
from venturi.record.store.files import is_open_to_others
from venturi.record.trial import State

if TYPE_CHECKING:
    from venturi.record.query.selection import Query
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial
    from venturi.record.upkeep.unsaved import MeasuringStore

_IDS_SHOWN = 5
_NOTICEABLE = 0.01  # of the trials: fewer disturbed ones aren't on a first screen


def open_repository(patience_s: float | None = None) -> TrialRepository:
    """Open the repository, and list on stderr the trials that were found interrupted.

    A writer waits for others for at most `patience_s`, as in `Database`. Trials that it adds get
    the labels of `label_option`.
    """
    from venturi.record.store.repository import TrialRepository
    from venturi.record.upkeep.unsaved import store_unsaved

    repository = TrialRepository.open(settings.load(), patience_s=patience_s, labels=labels_given())
    try:
        if kept := _unless_passing(partial(store_unsaved, repository)):
            click.echo(
                f"stored {count_of(len(kept), 'trial')} that an earlier command could not store: "
                f"{', '.join(trial.id for trial in kept[:_IDS_SHOWN])}",
                err=True,
            )
        for trial in repository.recover():
            assert trial.failure is not None
            click.echo(
                f"found interrupted: trial {trial.id} ({trial.workload.name} on "
                f"{trial.engine.name}): {trial.failure.message}",
                err=True,
            )
    except BaseException:
        repository.close()
        raise
    return repository


def _unless_passing(store: Callable[[], list[Trial]]) -> list[Trial]:
    """Return the result of `store`; nothing while the database is still at fault."""
    try:
        return store()
    except VenturiError as error:
        if not is_passing(error):
            raise
        return []


def open_measuring() -> MeasuringStore:
    """Open the repository for a command that measures: see `MeasuringStore`."""
    from venturi.record.upkeep.unsaved import MeasuringStore

    return MeasuringStore(open_repository(), lambda line: click.echo(line, err=True))


def open_to_others(home: Path) -> str | None:
    """Warning that every user of this machine can read the repository in `home`; None if they can't
    or if it doesn't exist."""
    if not is_open_to_others(home):
        return None
    return (
        f"every user of this machine can read the repository in {home} without a token. Run "
        "`venturi repository check --mend` to restrict access."
    )


class MomentType(click.ParamType[datetime]):
    """A time: `2026-01-31`, `2026-01-31T12:00` (UTC), or a duration from now: `7d`, `12h`.

    `direction` is -1 for past durations, 1 for future ones; `hint` says how to write one.
    """

    name = "when"

    def __init__(self, direction: int, hint: str) -> None:
        self._direction = direction
        self._hint = hint

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        try:
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        except (ValueError, OverflowError):
            pass
        try:
            away = timedelta(seconds=units.parse_duration_s(value))
            return datetime.now(UTC) + self._direction * away
        except (VenturiError, OverflowError) as error:
            problem = "is neither a date nor a duration"
            raise units.unit_error(value, problem, self._hint) from error


SINCE = MomentType(-1, "write it like 2026-01-31, 2026-01-31T12:00 or 7d")


def say_none_match(repository: TrialRepository) -> None:
    """Print that no trials match; for an empty repository, how to add some."""
    try:
        repository.get("last")
    except VenturiError:
        click.echo(
            "no trials are recorded yet: `venturi quickstart` records some, `venturi import "
            "published` imports published ones",
            err=True,
        )
        return
    click.echo("no trials match", err=True)


def say_left_out(repository: TrialRepository, query: Query) -> None:
    """Print how many trials of `query` exclusions leave out, and how many of the others were
    disturbed (on a first screen only if those are 1% or more).
    """
    from venturi.record.query.conditions import Condition
    from venturi.record.query.counting import count as count_trials
    from venturi.record.query.counting import excluded_count, undated

    if ids := undated(repository):
        say_unreadable(ids)
    count = 0 if query.with_excluded else excluded_count(repository, query)
    if count:
        trials = f"{count_of(count, 'trial')} {'is' if count == 1 else 'are'}"
        click.echo(f"{trials} left out by rules (`venturi exclude ls` lists them)", err=True)
    if any(condition.key == "disturbed" for condition in query.conditions):
        return
    # Warm-ups count for nothing anyway.
    asked = (*query.conditions, Condition.equal("warm_up", False))
    of_them = replace(query, conditions=(*asked, Condition.equal("disturbed", True)))
    if disturbed := count_trials(repository, of_them):
        count = count_trials(repository, replace(query, conditions=asked))
        if is_first_screen() and disturbed < _NOTICEABLE * count:
            return
        every = f"{count_of(count, 'trial')} (warm-ups not counted)"
        # Not disturbed=false, which would leave out those too of which nothing is known.
        click.echo(
            f"{disturbed:,} of {every} {'was' if disturbed == 1 else 'were'} disturbed by others "
            "on the host; `venturi exclude add --where disturbed=true --reason TEXT` leaves them "
            "out",
            err=True,
        )


def say_unreadable(ids: Sequence[str]) -> None:
    """List the trials that cannot be read, with a command to run."""
    from venturi.record.trial_json import MEND

    click.echo(
        f"{count_of(len(ids), 'trial')} cannot be read: {', '.join(ids[:_IDS_SHOWN])}"
        f"{' and others' if len(ids) > _IDS_SHOWN else ''}; {MEND}",
        err=True,
    )


def filter_options(default_limit: int | None) -> Callable[[F], F]:
    """The options that choose trials; see `conditions_in`."""
    shown = "" if default_limit is None else f" (default {default_limit}; 0: no limit)"
    options = (
        click.option("--workload", metavar="NAME", help="Only trials of this workload."),
        click.option("--engine", metavar="NAME", help="Only trials on this engine."),
        click.option(
            "--state",
            type=click.Choice([state.value for state in State]),
            help="Only trials in this state.",
        ),
        click.option("--group", metavar="KEY", help="Only trials of this repeat group."),
        click.option("--experiment", metavar="NAME", help="Only trials of this experiment."),
        click.option(
            "--since",
            type=SINCE,
            help="Only trials started since this date (UTC) or for this duration, such as 7d.",
        ),
        click.option(
            "--limit",
            type=click.IntRange(min=0),
            default=default_limit,
            help=f"Show at most this many, newest first{shown}.",
        ),
    )

    def decorate(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


def conditions_in(options: Mapping[str, Any]) -> tuple[str, ...]:
    """The conditions of the options of `filter_options`, and of --where if the verb has it."""
    conditions = list(options.get("where", ()))
    for key in ("workload", "engine", "state", "group", "experiment"):
        if (value := options[key]) is not None:
            conditions.append(f"{key}={value}")
    if (since := options["since"]) is not None:
        conditions.append(f"started_at>={since.isoformat()}")
    return tuple(conditions)


@contextmanager
def counting(what: str, unit: str = "trials") -> Iterator[Callable[[int, int | None], None]]:
    """Show how many of how many (None: unknown) are done, if a user may be looking."""
    with progress_bars() as show:
        if show is None:
            yield lambda done, total: None
            return
        from venturi.measure.hosts.agent import AgentProgress

        start_s = time.monotonic()
        yield lambda done, total: show(
            AgentProgress(what, done, total, unit, time.monotonic() - start_s)
        )
