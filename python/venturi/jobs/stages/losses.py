"""Wasted work: failed and killed attempts, lost output, lost executors.

Counts the discarded work, not its repetition, so that nothing counts twice. Where the log doesn't
identify the lost work (a stage runs again), the repetition stands for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from venturi.core.units import format_duration
from venturi.jobs.failures.endings import is_wanted
from venturi.jobs.failures.full_disks import DISK_FULL, full_disks
from venturi.jobs.failures.meanings import FailureMeaning, failure_meanings, meaning_of
from venturi.jobs.failures.messages import headline
from venturi.jobs.stages.causes import Truths
from venturi.jobs.stages.stage import Analysis, LostExecutor, NarrowestPoint, WastedTime
from venturi.jobs.stages.tasks import Tasks
from venturi.record.job_account import OUTPUT_LOST, JobAccount

_DISTINCT = 100
# Chosen by us, as shares of the task time: where the verdict mentions losses, and puts them first.
LEAST_SHARE, FIRST_SHARE = 0.01, 0.5
ERROR = "attempts with an error"
FETCH = "attempts that could not fetch shuffle data"
EXECUTOR = "attempts on lost executors"
KILLED = "killed attempts"
RACE = "attempts that lost to a faster copy"
OUTPUT = "successful attempts with lost output"
CANCELED = "the stage was canceled"
AGAIN = "tasks repeated after an earlier attempt at their stage"
FAILURES = (ERROR, FETCH, EXECUTOR)
_FAILED = {"FetchFailed": FETCH, "ExecutorLostFailure": EXECUTOR}
_FETCH_FROM = re.compile(r"^FetchFailed from (?P<host>\S+): ")
_SHOWN_HOSTS = 3
_RACE = re.compile(r"another attempt succeeded|speculat", re.IGNORECASE)
# Planned endings: they cost work, but nothing failed.
_PLANNED = re.compile(
    r"decommission|preempt|imminent node shutdown|node is shutting down|DisruptionTarget",
    re.IGNORECASE,
)
_KILLED_BY_DRIVER = re.compile(r"executor killed by driver", re.IGNORECASE)
_STAGE_CANCELED = re.compile(r"TaskKilled: Stage cancell?ed\b.*", re.IGNORECASE | re.DOTALL)
# Messages of one error differ in paths, numbers and quoted values.
_VALUES = re.compile(r"/[^\s:'\"()]+|\d+|'[^']*'|\"[^\"]*\"")
_MOSTLY = 0.8  # our judgment: a share of attempts in one place that is worth a word
_MOSTLY_OF = 5  # attempts


def explained(reason: str | None, engine: str) -> str | None:
    """Return the meaning of a message of `engine` and the remedy, None if it is unknown."""
    found = meaning_of(reason, engine)
    return None if found is None else found.text


def failure_meaning(account: JobAccount, analysis: Analysis) -> FailureMeaning | None:
    """Return the meaning of the failure of the application or its queries, or None if unknown.

    Its own message decides if its meaning is certain, else the failed attempts and lost executors:
    "could not fetch shuffle data" is explained by an executor that YARN killed.
    """
    jobs = account.jobs.filter(account.jobs["outcome"] == "failed")["reason"].to_list()
    queries = [] if account.queries is None else account.queries.rows(named=True)
    own = [*jobs, *(row["reason"] for row in queries if row["outcome"] == "failed")]
    own += [account.application.reason, *(stage.reason for stage in analysis.stages)]
    attempts = [each for each in analysis.losses if each.what not in (KILLED, RACE)]
    others = [each.meaning for each in attempts]
    others += [each.meaning for each in analysis.lost_executors]
    engine = account.application.engine
    texts = {each.text: each for each in failure_meanings(engine)}
    found = [meaning_of(each, engine) for each in own]
    found += [texts.get(each) for each in others if each]
    known = [each for each in found if each is not None]
    return next((each for each in known if each.confidence == "high"), next(iter(known), None))


@dataclass(frozen=True, slots=True)
class _WasteReason:
    what: str
    shape: str | None


def losses(tasks: Tasks, configuration: Mapping[str, str]) -> tuple[WastedTime, ...]:
    """Wasted time by outcome and message, the most first."""
    elapsed_s = np.nan_to_num(tasks.times.elapsed_s)
    found: dict[_WasteReason, list[int]] = {}
    messages: dict[_WasteReason, tuple[str | None, str | None]] = {}
    for place, what, reason in _wasted_attempts(tasks):
        said = _said(what, reason)
        # The same error of other rows differs in its numbers and quoted values.
        part, message = _WasteReason(what, said and _VALUES.sub("0", said)), (said, reason)
        if part not in found and len(found) >= _DISTINCT:
            part, message = _WasteReason(what, ""), ("something else", None)
        found.setdefault(part, []).append(place)
        messages.setdefault(part, message)
    whole = []
    for part, places in found.items():
        said, reason = messages[part]
        meaning = None if said == CANCELED else meaning_of(reason, tasks.kind.engine)
        here, disks = np.array(places, dtype=np.intp), None
        if meaning is not None and meaning.id in DISK_FULL:
            disks = full_disks(tasks.rows, here, reason or "", configuration)
        whole.append(
            WastedTime(
                part.what,
                len(places),
                float(elapsed_s[places].sum()),
                in_common(tasks, here),
                disks,
                said,
                None if meaning is None else meaning.text,
            )
        )
    return tuple(sorted(whole, key=lambda each: -each.time_s))


def in_common(tasks: Tasks, places: npt.NDArray[np.intp]) -> str | None:
    """Return where the attempts at `places` ran if that is one place of several, or None.

    "all on host2, all in stage 1", "5 of 6 on host2", "all of task 7 in stage 1". Failed fetches
    also name the hosts that they read from: "all reading from host3".
    """
    if not len(places):
        return None
    found = [_read_from(tasks.rows["reason"][places].to_list())]
    host = _one_of(tasks, places, "host", "on {}")
    found.append(host or _one_of(tasks, places, "executor_id", "on executor {}"))
    stages, index = tasks.rows["stage_id"].to_numpy()[places], tasks.index[places]
    one_stage = len(set(stages.tolist())) == 1
    if one_stage and len(places) > 1 and len(set(index.tolist())) == 1:
        found.append(f"all of task {index[0]} in stage {stages[0]}")
    elif one_stage and tasks.rows["stage_id"].n_unique() > 1:
        found.append(f"{'all ' if len(places) > 1 else ''}in stage {stages[0]}")
    return ", ".join(filter(None, found)) or None


def _read_from(said: Sequence[str | None]) -> str | None:
    """The hosts that failed fetches couldn't read from, those with the most failures first."""
    matches = (_FETCH_FROM.match(each or "") for each in said)
    hosts = Counter(each["host"] for each in matches if each is not None)
    if not hosts:
        return None
    if len(hosts) == 1 and hosts.total() == len(said):
        return f"{'all ' if len(said) > 1 else ''}reading from {next(iter(hosts))}"
    named = [f"{host} ({n:,})" for host, n in hosts.most_common(_SHOWN_HOSTS)]
    if (others := len(hosts) - len(named)) > 0:
        named.append(f"{others:,} more hosts" if others > 1 else "1 more host")
    every = hosts.total() == len(said)
    count = "all" if every else f"{hosts.total():,} of {len(said):,}"
    return f"{count} reading from {' and '.join(named)}"


def _one_of(tasks: Tasks, places: npt.NDArray[np.intp], name: str, text: str) -> str | None:
    column = tasks.rows[name]
    here = column[places].drop_nulls()
    if column.drop_nulls().n_unique() < 2 or here.is_empty():
        return None
    value, n = Counter(here.to_list()).most_common(1)[0]
    if len(places) == 1:
        return text.format(value)
    if n == len(places):
        return f"all {text.format(value)}"
    if len(places) >= _MOSTLY_OF and n >= _MOSTLY * len(places):
        return f"{n:,} of {len(places):,} {text.format(value)}"
    return None


def wasted_attempts(tasks: Tasks, what: Sequence[str]) -> npt.NDArray[np.intp]:
    """The places of the attempts wasted for one of the reasons `what`."""
    found = [place for place, kind, _ in _wasted_attempts(tasks) if kind in what]
    return np.array(found, dtype=np.intp)


def reasons(tasks: Tasks, what: str) -> Iterator[tuple[int, str | None]]:
    """Yield the places and messages of the attempts that were wasted for the reason `what`."""
    yield from ((place, said) for place, kind, said in _wasted_attempts(tasks) if kind == what)


def _wasted_attempts(tasks: Tasks) -> Iterator[tuple[int, str, str | None]]:
    """Yield the places of all wasted attempts, why they were wasted, and their messages."""
    concerned = tasks.rows["outcome"].is_in(["failed", "killed"]).fill_null(value=False).to_numpy()
    places = np.flatnonzero(concerned | tasks.output_lost | _run_again(tasks))
    said = tasks.rows.select("outcome", "reason")[places].rows() if len(places) else []
    for place, (outcome, reason) in zip(places.tolist(), said, strict=True):
        yield place, _what(outcome, reason), reason


def _what(outcome: str, reason: str | None) -> str:
    if outcome == "succeeded":
        return OUTPUT if reason == OUTPUT_LOST else AGAIN
    if outcome == "killed":
        return RACE if reason is not None and _RACE.search(reason) else KILLED
    return _FAILED.get(_FETCH_FROM.sub("FetchFailed: ", reason or "").partition(":")[0], ERROR)


@lru_cache(maxsize=1_000)
def _said(what: str, reason: str | None) -> str | None:
    if what in (OUTPUT, AGAIN, RACE):
        return None
    if what == KILLED:
        # The message of the failure that canceled the stage is shown with that failure.
        canceled = reason is not None and _STAGE_CANCELED.match(reason)
        return CANCELED if canceled else headline(reason)
    return headline(_FETCH_FROM.sub("FetchFailed: ", reason or "")) or "no reason is recorded"


def _run_again(tasks: Tasks) -> Truths:
    """Which attempts succeeded at a task that had succeeded in an earlier attempt at its stage."""
    again = np.zeros(len(tasks.index), bool)
    if not (tasks.rows["stage_attempt"] > 0).any():
        return again
    done: set[tuple[int, int]] = set()
    # Sorted by stage and attempt: those of one attempt count only for the next ones.
    for key in sorted(tasks.places):
        here = tasks.places[key]
        own = [place for place in range(here.start, here.stop) if tasks.succeeded[place]]
        again[[place for place in own if (key[0], tasks.index[place]) in done]] = True
        done |= {(key[0], tasks.index[place]) for place in own}
    return again


def lost_executors(account: JobAccount, origin_ms: float) -> tuple[LostExecutor, ...]:
    """The executors that were removed unexpectedly, in time order."""
    return tuple(
        each
        for each in _removed(account, origin_ms)
        if not is_wanted(each.reason) and not _PLANNED.search(each.reason)
    )


def planned_endings(account: JobAccount, tasks: Tasks) -> tuple[LostExecutor, ...]:
    """The executors that were decommissioned, preempted, or removed by the driver while they had
    tasks, in time order."""
    places = [place for place, _ in reasons(tasks, EXECUTOR)]
    busy = set(tasks.rows["executor_id"][places].to_list())
    return tuple(
        each
        for each in _removed(account, tasks.origin_ms)
        if _PLANNED.search(each.reason)
        or (_KILLED_BY_DRIVER.search(each.reason) and each.executor_id in busy)
    )


def _removed(account: JobAccount, origin_ms: float) -> tuple[LostExecutor, ...]:
    rows = account.executors.select("executor_id", "host", "removed_ms", "reason").rows()
    engine = account.application.engine
    return tuple(
        LostExecutor(
            executor, host, (removed_ms - origin_ms) / 1e3, reason, explained(reason, engine)
        )
        for executor, host, removed_ms, reason in sorted(
            (row for row in rows if row[2] is not None), key=lambda row: row[2]
        )
        if reason is not None
    )


def with_losses(
    verdict: NarrowestPoint,
    found: Sequence[WastedTime],
    executors: Sequence[LostExecutor],
    task_s: float,
    *,
    whole: bool = True,
) -> NarrowestPoint:
    """Adds the wasted share of `task_s` to `verdict`: first if it is most, not if it is little.

    Unless the log is `whole`, these are lower bounds, and have no ratio.
    """
    lost_s = sum(loss.time_s for loss in found)
    sentence = verdict.sentence
    if lost_s > 0 and lost_s >= LEAST_SHARE * task_s:
        most = found[0]
        why = f" ({most.n:,} x {most.said})" if most.said else f" ({most.n:,})"
        said = f"{lost_s / task_s:.0%} of the task time ({format_duration(lost_s)}) was wasted, "
        if not whole:
            said = f"at least {format_duration(lost_s)} of the task time was wasted, "
            why = why.replace("(", "(at least ", 1)
        said += f"most of it by {most.what}{why}"
        first = lost_s >= FIRST_SHARE * task_s
        sentence = f"{said}; {sentence}" if first else f"{sentence}; {said}"
    if (lost := lost_executors_sentence(executors)) is not None:
        sentence += f"; {lost}"
    return replace(verdict, sentence=sentence)


def lost_executors_sentence(executors: Sequence[LostExecutor]) -> str | None:
    """`1 executor was lost: the container used more memory ...`; None if none was."""
    if not executors:
        return None
    gone = executors[0]
    meaning = f": {gone.meaning}" if gone.meaning else f" ({gone.reason})"
    lost = "1 executor was lost"
    if len(executors) > 1:
        lost = f"{len(executors):,} executors were lost, the first one"
    return f"{lost}{meaning}"
