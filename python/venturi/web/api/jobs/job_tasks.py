"""The tasks of a job over time, by executor: aggregated here, so that any number can be drawn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import numpy as np
import numpy.typing as npt

from venturi.core.errors import VenturiError
from venturi.jobs.stages.causes import UNATTRIBUTED, Floats, TaskTimes
from venturi.jobs.stages.elapsed import Pieces, WorkByCause
from venturi.jobs.stages.spread import spreads_of
from venturi.jobs.stages.timeline import Key, Timeline
from venturi.web.api.context import Id, Services, trial_of
from venturi.web.api.jobs.cached_answers import CachedAnswer
from venturi.web.api.jobs.job_shapes import JobTasks, TaskDot, TaskLane, TaskSeen
from venturi.web.api.jobs.jobs import line_of
from venturi.web.api.request_arguments import Parameter

TASKS = CachedAnswer("tasks.json", JobTasks)
COLUMNS, LANES, DOTS, SLOWEST = 240, 40, 1_200, 20
_BINS = 40
_LEAST_FILLED = 0.005
Places = npt.NDArray[np.intp]


def tasks(
    services: Services,
    id: Id,
    from_s: Annotated[
        float | None,
        Parameter(description="Start, in seconds since the application started.", ge=0),
    ] = None,
    to_s: Annotated[
        float | None, Parameter(description="End, in seconds since the application started.", gt=0)
    ] = None,
    stage: Annotated[
        str | None,
        Parameter(
            description="Only tasks of this stage, by its label.", pattern=r"^\d{1,9}(\.\d{1,9})?$"
        ),
    ] = None,
) -> JobTasks:
    """The tasks of each executor over time, their duration by size, and the slowest tasks."""
    repository, trial = services.repository, trial_of(services, id)
    try:
        if from_s is None and to_s is None and stage is None:
            return TASKS.of(repository, trial, lambda: all_tasks(line_of(repository, trial)))
        return _between(line_of(repository, trial), from_s, to_s, stage)
    except VenturiError as error:
        return _nothing(error.message)


def all_tasks(line: Timeline) -> JobTasks:
    """The answer about all tasks of a job, from its beginning to its end."""
    return _between(line, None, None, None)


def _between(
    line: Timeline, from_s: float | None, to_s: float | None, stage: str | None
) -> JobTasks:
    if not line.elapsed_s:
        return _nothing("the application's start or end is unknown")
    span = None if stage is None else line.spans.get(_key(stage))
    begin_s = max(from_s if from_s is not None else span.from_s if span else 0.0, 0.0)
    end_s = min(to_s if to_s is not None else span.to_s if span else line.elapsed_s, line.elapsed_s)
    if not begin_s < end_s:
        return _nothing("the time range is empty")
    return _tasks(line, None if stage is None else _key(stage), begin_s, end_s)


def _key(label: str) -> Key:
    stage, _, attempt = label.partition(".")
    return int(stage), int(attempt or 0)


def _nothing(reason: str) -> JobTasks:
    return JobTasks(None, None, (), (), 0, (), (), (), 0, reason)


def _tasks(line: Timeline, stage: Key | None, begin_s: float, end_s: float) -> JobTasks:
    times = line.tasks.times
    there = (times.finished_s > begin_s) & (times.launched_s < end_s)  # NaN is not
    if stage is not None:
        own = np.zeros_like(there)
        own[line.tasks.of(stage)] = True
        there &= own
    places = np.flatnonzero(there)
    lanes, left_out = _lanes(line, places, begin_s, end_s)
    causes = [*times.causes, UNATTRIBUTED]
    return JobTasks(
        begin_s,
        end_s,
        tuple(causes),
        lanes,
        left_out,
        _dots(line, places),
        tuple(_slowest(line, places)),
        () if stage is None else spreads_of(line.tasks, stage),
        len(places),
        None,
    )


def _lanes(
    line: Timeline, places: Places, begin_s: float, end_s: float
) -> tuple[tuple[TaskLane, ...], int]:
    """A lane for each executor, of very many those with the most task time, by their names."""
    _, firsts, which = np.unique(
        line.tasks.alike("executor_id")[places], return_index=True, return_inverse=True
    )
    ran = [line.tasks.who(int(place)) for place in places[firsts]]
    names = [who.executor_id or "unknown" for who in ran]
    whole_s = np.bincount(which, line.tasks.times.elapsed_s[places], len(names))
    shown = sorted(np.argsort(-whole_s)[:LANES].tolist(), key=lambda n: _order(names[n]))
    pieces = Pieces(np.linspace(begin_s, end_s, COLUMNS + 1))
    found = []
    for number in shown:
        main, busy = _cells(line.tasks.times.at(places[which == number]), pieces)
        found.append(TaskLane(names[number], ran[number].host, main, busy))
    return tuple(found), len(names) - len(found)


def _order(name: str) -> tuple[bool, int, str]:
    return (not name.isdecimal(), int(name) if name.isdecimal() else 0, name)


def _cells(times: TaskTimes, pieces: Pieces) -> tuple[tuple[int, ...], tuple[float, ...]]:
    """For each piece the cause with the most time (-1 if no task ran), and the concurrent tasks."""
    spent_s = WorkByCause(times).within(pieces, slice(0, len(pieces.length_s)))
    busy = spent_s.sum(axis=1) / pieces.length_s
    main = np.where(busy > _LEAST_FILLED, spent_s.argmax(axis=1), -1)
    return tuple(main.tolist()), tuple(busy.round(2).tolist())


def _main(times: TaskTimes) -> Places:
    """The cause that took the most of each task."""
    parts: Places = np.array([*times.causes.values(), times.unattributed_s]).argmax(axis=0)
    return parts


def _dots(line: Timeline, places: Places) -> tuple[TaskDot, ...]:
    """Time against bytes: one dot per task; if there are very many, one dot for similar tasks."""
    read, elapsed_s = line.tasks.bytes_read[places], line.tasks.times.elapsed_s[places]
    known = ~np.isnan(read) & ~np.isnan(elapsed_s)
    read, elapsed_s = read[known], elapsed_s[known]
    main = _main(line.tasks.times.at(places[known]))
    if len(read) <= DOTS:
        return tuple(
            TaskDot(b, s, 1, m)
            for b, s, m in zip(read.tolist(), elapsed_s.tolist(), main.tolist(), strict=True)
        )
    n_causes = len(line.tasks.times.causes) + 1
    cells = (_binned(read) * _BINS + _binned(elapsed_s)) * n_causes + main
    counts = np.bincount(cells)
    there = np.flatnonzero(counts)
    means = [np.bincount(cells, values)[there] / counts[there] for values in (read, elapsed_s)]
    columns = (*means, counts[there], there % n_causes)
    return tuple(
        TaskDot(b, s, n, m) for b, s, n, m in zip(*(c.tolist() for c in columns), strict=True)
    )


def _binned(values: Floats) -> Places:
    edges = np.linspace(float(values.min()), float(values.max()), _BINS + 1)[1:-1]
    found: Places = np.digitize(values, edges)
    return found


def _slowest(line: Timeline, places: Places) -> Iterator[TaskSeen]:
    elapsed_s, read = line.tasks.times.elapsed_s, line.tasks.bytes_read
    longest = places[np.argsort(-elapsed_s[places], kind="stable")[:SLOWEST]]
    main = _main(line.tasks.times.at(longest))
    for place, cause in zip(longest.tolist(), main.tolist(), strict=True):
        who = line.tasks.who(place)
        yield TaskSeen(
            who.task_id,
            who.stage,
            who.index,
            who.executor_id,
            who.host,
            who.outcome,
            float(line.tasks.times.launched_s[place]),
            float(elapsed_s[place]),
            None if np.isnan(read[place]) else int(read[place]),
            cause,
        )
