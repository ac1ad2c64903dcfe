"""`venturi repository keep`: drops the task tables of old jobs, and keeps their summaries."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from venturi.cli.login import login
from venturi.cli.open_repository import counting, open_repository
from venturi.cli.options import DURATION, QuantityType, json_option, print_json
from venturi.cli.screen import show
from venturi.core import units
from venturi.core.errors import UsageError
from venturi.core.units import format_bytes_decimal, format_duration
from venturi.core.wording import count_of

if TYPE_CHECKING:
    from venturi.jobs.fleet.retention import DroppedTables
    from venturi.record.upkeep.removal import RemovableTrials

FOREVER = "forever"
_DAY_S = 86_400.0
_SHOWN = 5


def _age_or_forever(text: str) -> float | None:
    return None if text.strip().lower() == FOREVER else units.parse_duration_s(text)


@click.command("keep")
@click.option(
    "--jobs",
    "jobs_s",
    type=DURATION,
    metavar="AGE",
    required=True,
    help="Drop the task tables of jobs that ended longer ago than this, such as 90d.",
)
@click.option(
    "--summaries",
    "summaries_s",
    type=QuantityType("age", _age_or_forever),
    metavar=f"AGE|{FOREVER}",
    default=FOREVER,
    show_default=True,
    help="Remove jobs that ended longer ago than this for good, as `venturi remove` does.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be dropped; change nothing.")
@json_option
def keep(*, jobs_s: float, summaries_s: float | None, dry_run: bool, as_json: bool) -> None:
    """Keep only the summaries of old jobs, to free space.

    A job's task tables take most of the space: its tasks, stages, operators, executors and memory.
    Its summary stays: headline, findings with their savings, cost, and where the time went. So
    `venturi jobs` and `venturi show` still have the answer. `compare --why`, `whatif` and the
    sections of `show` need the tables; importing the log again restores them.

    Only imported jobs are affected; trials that Venturi ran keep everything. You can interrupt and
    repeat this command.

    \b
    venturi repository keep --jobs 90d --dry-run
    venturi repository keep --jobs 90d --summaries 2000d
    """
    if summaries_s is not None and summaries_s < jobs_s:
        raise UsageError(
            "VEN-QUERY-VALUE",
            f"summaries can't be removed after {_age(summaries_s)}, before task tables are "
            f"dropped after {_age(jobs_s)}",
            where={"option": "--summaries"},
            hint="give --summaries the longer age, or use `venturi remove`",
        )
    now = datetime.now(UTC)
    before, removed_before = _ago(now, jobs_s, "--jobs"), None
    if summaries_s is not None:
        removed_before = _ago(now, summaries_s, "--summaries")
    from venturi.jobs.fleet.retention import drop_tables, removable_jobs, remove_jobs

    removed = None
    with open_repository() as repository, counting("keep", "jobs") as progress:
        if removed_before is not None and dry_run:
            removed = removable_jobs(repository, removed_before)
        elif removed_before is not None:
            reason = f"venturi repository keep --summaries {_age(summaries_s)}"
            removed = remove_jobs(repository, removed_before, login(), reason)
        dropped = drop_tables(
            repository, before, now, oldest=removed_before, dry_run=dry_run, progress=progress
        )
    if as_json:
        print_json(_data(dropped, removed, dry_run=dry_run))
        return
    if removed is not None:
        show(_removed(removed, summaries_s, dry_run=dry_run))
    show(*_dropped(dropped, jobs_s, dry_run=dry_run))


def _ago(now: datetime, age_s: float, option: str) -> datetime:
    try:
        return now - timedelta(seconds=age_s)
    except OverflowError as error:
        raise UsageError(
            "VEN-QUERY-VALUE",
            f"{_age(age_s)} ago is before any calendar",
            where={"option": option},
            hint="give a shorter age, such as 90d",
        ) from error


def _age(age_s: float | None) -> str:
    """An age in words: "90 days", "1 h 30 min"."""
    if age_s is None:
        return FOREVER
    days, rest = divmod(age_s, _DAY_S)
    return format_duration(age_s) if rest or not days else count_of(int(days), "day")


def _removed(found: RemovableTrials, age_s: float | None, *, dry_run: bool) -> str:
    if not found.ids:
        return f"no job is older than {_age(age_s)}, so none is removed"
    size = format_bytes_decimal(found.artifact_bytes + found.record_bytes)
    jobs = f"{count_of(len(found.ids), 'job')} older than {_age(age_s)}"
    if dry_run:
        return f"would remove {jobs} for good, with their summaries: {size}"
    return f"removed {jobs} for good: {size} freed (`venturi repository removals` lists them)"


def _dropped(found: DroppedTables, age_s: float, *, dry_run: bool) -> list[str]:
    jobs = f"{count_of(len(found.trials), 'job')} older than {_age(age_s)}"
    size = format_bytes_decimal(found.freed_bytes)
    if not found.trials:
        lines = [f"no job older than {_age(age_s)} has task tables to drop"]
    elif dry_run:
        lines = [f"would drop the task tables of {jobs}: {size}; nothing was changed"]
    else:
        lines = [f"dropped the task tables of {jobs}: {size} freed"]
    if found.leftover_bytes:
        left = format_bytes_decimal(found.leftover_bytes)
        lines.append(f"deleted tables that an interrupted command had left: {left} freed")
    if found.running:
        lines.append(f"{count_of(found.running, 'running job')} unchanged")
    if found.undated:
        lines.append(f"{count_of(found.undated, 'job')} without a date unchanged")
    if found.unsummarized:
        n = count_of(len(found.unsummarized), "job")
        lines.append(f"{n} unchanged, because a summary can't be made:")
        lines += [f"  {each.trial}: {each.reason}" for each in found.unsummarized[:_SHOWN]]
    if len(found.unsummarized) > _SHOWN:
        lines.append(f"  and {len(found.unsummarized) - _SHOWN:,} more: --json lists all")
    return lines


def _data(
    dropped: DroppedTables, removed: RemovableTrials | None, *, dry_run: bool
) -> dict[str, object]:
    return {
        "dry_run": dry_run,
        "dropped": dropped.trials,
        "freed_bytes": dropped.freed_bytes,
        "leftover_bytes": dropped.leftover_bytes,
        "running": dropped.running,
        "undated": dropped.undated,
        "unsummarized": dropped.unsummarized,
        "removed": () if removed is None else removed.ids,
        "removed_bytes": 0 if removed is None else removed.artifact_bytes + removed.record_bytes,
    }
