"""The table of jobs: on a terminal a line of its width for each, for a pipe all columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from venturi.core.units import format_cost, format_duration
from venturi.core.wording import count_of
from venturi.jobs.diagnosis.sentences import rounded
from venturi.jobs.fleet.fleet import Fleet, FleetJob
from venturi.record.trial import State
from venturi.terminal.table import GAP, UNKNOWN, Paragraph, Table, TableCell, shorten_to, table

_NAME_WIDTH, _NAME_WIDTH_OF_RUNS, _COSTS_WIDTH = 20, 17, 8
_FIX_WIDTH_MIN = 12
_TRENDS_SHOWN = 3
_STYLES = {State.FAILED: "red", State.INTERRUPTED: "yellow", State.INVALID: "red"}


def trend_lines(fleet: Fleet, most: int = _TRENDS_SHOWN) -> list[Paragraph]:
    """A line for each of the jobs with a proven change, the largest slowdown first."""
    changed = [(job.trend, job) for job in fleet.jobs if job.trend is not None]
    changed.sort(key=lambda each: -each[0].ratio)
    lines = [
        Paragraph(f"  {shorten_to(job.name, 40)}: {trend.text} ({count_of(job.runs, 'run')})")
        for trend, job in changed[:most]
    ]
    if len(changed) > most:
        lines.append(Paragraph(f"  and {len(changed) - most:,} more changed: --all"))
    return lines


def terminal_table(
    jobs: Sequence[FleetJob], id_length: int | None, width: int, *, each: bool
) -> Table:
    """A line of at most `width` columns for each job; savings are ranges, times local.

    A job with several runs has their number after its name. With prices each has its cost, and
    that of the saved time, where the width allows.
    """
    costs = any(job.cost_usd is not None for job in jobs)
    rows = [_cells(job, id_length, each=each, costs=costs) for job in jobs]
    names = ["id", "job", *(["started"] if each else []), "time"]
    names += ["cost", "saves", "worth"] if costs else ["saves"]
    room = width - _taken(names, rows)
    for spare in ("cost", "worth") if costs else ():
        if room < _FIX_WIDTH_MIN:
            names.remove(spare)
            room = width - _taken(names, rows)
    room = max(_FIX_WIDTH_MIN, room)
    numeric = ("time", "cost", "saves", "worth")
    made = Table((*names, "fix"), (*(name in numeric for name in names), False), frozenset(), ())
    for job, row in zip(jobs, rows, strict=True):
        fix = shorten_to(_fix(job), room)
        made.add(*(row[name] for name in names), (fix, _style(job)))
    return made


def _taken(names: Sequence[str], rows: Sequence[Mapping[str, str]]) -> int:
    """The columns of a line that these cells take."""
    return sum(max(len(name), *(len(row[name]) for row in rows)) + GAP for name in names)


def _cells(job: FleetJob, id_length: int | None, *, each: bool, costs: bool) -> dict[str, str]:
    started = UNKNOWN if job.started_at is None else f"{job.started_at.astimezone():%m-%d %H:%M}"
    times = f" ×{job.runs:,}" if job.runs > 1 else ""
    width = _NAME_WIDTH_OF_RUNS if each else _NAME_WIDTH - len(times)
    width -= _COSTS_WIDTH if costs else 0
    return {
        "id": job.id[-id_length:] if id_length else job.id,
        "job": shorten_to(job.name, width) + times,
        "started": started,
        "time": format_duration(job.elapsed_s),
        "cost": format_cost(job.cost_usd),
        "saves": _range(job),
        "worth": format_cost(job.saving_usd),
    }


def _range(job: FleetJob) -> str:
    if job.saving_low_s is None or job.saving_high_s is None:
        return UNKNOWN
    (low, high), unit = rounded(job.saving_low_s, job.saving_high_s)
    return f"{low}–{high} {unit}"


def _fix(job: FleetJob) -> str:
    """The fix, else the finding, else why it is missing; with a state other than succeeded."""
    said = job.fix or job.finding or job.finding_reason or UNKNOWN
    if job.state == State.FAILED and job.finding is not None:
        said = job.finding
    return said if job.state == State.SUCCEEDED else f"{job.state}: {said}"


def _style(job: FleetJob) -> str:
    found = next((style for state, style in _STYLES.items() if job.state == state), "")
    return found or ("" if job.fix else "dim")


def pipe_table(jobs: Sequence[FleetJob]) -> Table:
    """A row with everything for each job, for a pipe."""
    headings = (
        *("id", "application", "job", "engine", "started (UTC)", "state", "time", "runs"),
        *("median", "saves", "worth", "fix", "cost", "price", "trend"),
    )
    made = table(*headings, left=len(headings))
    for job in jobs:
        made.add(*_everything(job))
    return made


def _everything(job: FleetJob) -> Iterator[TableCell]:
    yield job.id
    yield job.application or UNKNOWN
    yield job.name
    yield job.engine
    yield _utc(job.started_at)
    yield job.state
    yield format_duration(job.elapsed_s)
    yield f"{job.runs:,}"
    yield format_duration(job.median_s)
    yield (job.saving or "").removeprefix("saves ") or UNKNOWN
    yield format_cost(job.saving_usd)
    yield _fix(job) if job.fix or job.finding else f"none: {job.finding_reason}"
    yield format_cost(job.cost_usd)
    yield job.cost_basis or f"none: {job.cost_reason}"
    yield UNKNOWN if job.trend is None else job.trend.text


def _utc(time: datetime | None) -> str:
    return UNKNOWN if time is None else f"{time:%Y-%m-%d %H:%M}"
