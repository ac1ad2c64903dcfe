"""`venturi jobs`: the recorded jobs by the time that fixes would save."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from shutil import get_terminal_size
from typing import TYPE_CHECKING

import click

from venturi.cli.jobs.job import own_prices
from venturi.cli.open_repository import counting, open_repository
from venturi.cli.options import json_option, print_json, where_option, with_excluded_option
from venturi.cli.screen import LINES_MAX, details_option, is_first_screen, next_step, show
from venturi.core.wording import count_of
from venturi.terminal.table import SCREEN_WIDTH

if TYPE_CHECKING:
    from venturi.jobs.fleet.fleet import Fleet, FleetJob
    from venturi.record.query.selection import Query
    from venturi.record.store.repository import TrialRepository

_OTHER_LINES = 7  # sentence, its wrapped rest, blank, header, blank, next step, how to get the rest
BEGIN = (
    ("venturi quickstart", "measure this machine: disk, sort, price"),
    ("venturi import /var/spark/history", "import event logs of Spark or MapReduce jobs"),
    ("venturi import published", "load the published studies"),
)
"""Three ways to begin with an empty repository."""


@click.command()
@where_option("Only jobs with this value of a column or configuration key.")
@with_excluded_option
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=0,
    help="Show at most this many jobs, the biggest savings first (default: all).",
)
@click.option("--each", is_flag=True, help="Show every run, not only the latest run of each job.")
@details_option
@json_option
def command(
    *, where: tuple[str, ...], with_excluded: bool, limit: int, each: bool, as_json: bool
) -> None:
    """List jobs by the time that can be saved, each with its biggest fix.

    A job is one or several recorded runs with a log of Spark or MapReduce. Runs with the same name
    count as one job, shown by its latest run, with the number of runs and their median. The saving
    is that of the biggest fix. A change in the time of a job is shown only if it is statistically
    proven. Costs are shown if a price is recorded, or set by `venturi prices`.
    """
    from venturi.record.query.checks import conditions_for
    from venturi.record.query.counting import id_length
    from venturi.record.query.selection import Query

    with open_repository() as repository:
        query = Query(conditions_for(repository, where), with_excluded=with_excluded)
        found = _diagnosed(repository, query, each=each)
        if not found.jobs and not as_json:
            _say_none(repository, any_excluded=bool(found.excluded_runs), conditions=bool(where))
            return
        length = id_length(repository) if sys.stdout.isatty() else None
    jobs = found.jobs[:limit] if limit else found.jobs
    if as_json:
        from dataclasses import replace

        print_json(replace(found, jobs=jobs))
        return
    if found.excluded_runs:
        n = count_of(found.excluded_runs, "run")
        click.echo(f"{n} left out by rules (`venturi exclude ls` lists them)", err=True)
    _show(found, jobs, length, each=each)


def _diagnosed(repository: TrialRepository, query: Query, *, each: bool) -> Fleet:
    from venturi.jobs.fleet.answer import fleet

    prices = own_prices()
    with counting("diagnosing", "jobs") as progress:
        return fleet(repository, query, prices, each=each, go_on=_going_on(progress))


def _going_on(progress: Callable[[int, int | None], None]) -> Callable[[int, int], bool]:
    def go_on(done: int, total: int) -> bool:
        progress(done, total)
        return True

    return go_on


def _show(found: Fleet, jobs: Sequence[FleetJob], length: int | None, *, each: bool) -> None:
    from venturi.terminal.fleet import pipe_table, terminal_table, trend_lines

    if not sys.stdout.isatty():
        show(found.sentence, pipe_table(jobs))
        return
    trends = trend_lines(found) if is_first_screen() else trend_lines(found, len(found.jobs))
    room = LINES_MAX - _OTHER_LINES - len(trends)
    shown = jobs[:room] if is_first_screen() else jobs
    width = max(SCREEN_WIDTH, get_terminal_size().columns)
    show(found.sentence, "", terminal_table(shown, length, width, each=each), *trends)
    if len(shown) < len(jobs):
        show(f"{len(jobs) - len(shown):,} more with smaller savings or none: --all")
    next_step(f"venturi show {jobs[0].id[-length:] if length else jobs[0].id}")


def _say_none(repository: TrialRepository, *, any_excluded: bool, conditions: bool) -> None:
    """Print on stderr that no jobs match; without any, how to begin."""
    from venturi.record.query.counting import count
    from venturi.record.query.selection import Query

    trials = count(repository, Query(with_excluded=True))
    if conditions or any_excluded:
        click.echo("no jobs match", err=True)
        return
    if trials:
        click.echo(
            f"none of {count_of(trials, 'trial')} is a job with an engine's log; `venturi ls` "
            f"lists them. Import event logs: {BEGIN[1][0]}",
            err=True,
        )
        return
    click.echo("No jobs are recorded yet. Three ways to begin:", err=True)
    width = max(len(verb) for verb, _ in BEGIN)
    for verb, aim in BEGIN:
        click.echo(f"  {verb:{width}}  {aim}", err=True)
