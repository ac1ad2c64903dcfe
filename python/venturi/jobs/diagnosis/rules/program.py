"""Rules about the program's own code: time on the driver outside its queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from venturi.core.units import format_bytes, format_duration
from venturi.jobs.diagnosis.case import Case, Confidence, FindingScope, Hit
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.diagnosis.rules.repeated import driver_loop
from venturi.jobs.stages.causes import SENDING, total
from venturi.jobs.stages.elapsed import AFTER, BETWEEN
from venturi.jobs.stages.stage import Stage
from venturi.jobs.stages.timeline import Key

# Application names of shells and notebooks, call sites in typed code, and Spark's settings for
# shells. A Jupyter cell is a file with a number as its name.
_SHELLS = (
    "PySparkShell",
    "Spark shell",
    "SparkR",
    "SparkSQL::",
    "Thrift JDBC/ODBC Server",
    "livy-session",
    "Zeppelin",
    "Databricks Shell",
)
_TYPED = re.compile(r" at (?:<(?:console|stdin|ipython-input|command)\b|\d+\.py:)")
_REPL = ("spark.repl.class.uri", "spark.repl.class.outputDir")


@rule("driver-collect")
def driver_collect(case: Case) -> Iterator[Hit]:
    """Find stages that send much to the driver, and the program's work on it afterwards."""
    after = _after(case)
    for stage in case.stages:
        if case.plans.broadcast_by(stage.key) is not None:
            continue  # Spark collects these rows, not the program
        places, times = case.ran(stage.key)
        sent = total(case.column("resultSize")[places])
        pause = after.get(stage.key)
        # Below a limit results matter only if the program then works on them alone.
        least = "bytes" if pause is None else "worked_bytes"
        if sent < case.limit("driver-collect", least):
            continue
        sending_s = [times.causes[each] for each in SENDING if each in times.causes]
        # After its last task, a stage waits while the driver receives the results.
        span = case.line.spans[stage.key]
        tail_s = max(span.to_s - float(np.nanmax(times.finished_s)), 0.0)
        saved_s = case.saved_s(stage.key, np.sum(sending_s, axis=0)) if sending_s else 0.0
        worked_s = 0.0 if pause is None else pause.lasted_s
        works = f". The program then ran for {format_duration(worked_s)} without a query"
        yield Hit(
            f"{stage.title} sent {format_bytes(int(sent))} to the driver, which took the tasks "
            f"{format_duration(sum(map(total, sending_s)))}, and the driver "
            f"{format_duration(tail_s)} after them{works if worked_s else ''}",
            (FindingScope(stage=stage.label),),
            case.at_most_s(stage.key, saved_s + tail_s) + worked_s,
            Confidence.LOW if worked_s else Confidence.MEDIUM,
            "works" if worked_s else "any",
            {"size": format_bytes(int(sent))},
        )


def _after(case: Case) -> dict[Key, _Pause]:
    """Return the long pause right after the query or job of a stage, where it sent results."""
    if case.line.account.batches is not None or case.line.gaps.spans or _by_hand(case):
        return {}
    least_s = case.limit("driver-collect", "work_share") * (case.line.elapsed_s or 0.0)
    found: dict[Key, _Pause] = {}
    for pause in _pauses(case):
        if pause.lasted_s < least_s:
            continue
        stages = [s for s in case.stages if _ended_s(case, s) <= pause.before.to_s]
        last = max(stages, key=lambda s: _ended_s(case, s), default=None)
        if last is not None and _ended_s(case, last) >= pause.before.from_s:
            found[last.key] = pause
    return found


def _ended_s(case: Case, stage: Stage) -> float:
    return case.line.spans[stage.key].to_s


@rule("driver-gap")
def driver_gap(case: Case) -> Iterator[Hit]:
    """Find one long pause of a program between two queries, or after the last one.

    Ignores the time before the first query. It includes the start of Spark, which can take 45 s on
    a busy machine, and the log can't separate it.
    """
    elapsed_s = case.line.elapsed_s or 0.0
    shares = case.analysis.verdict.shares
    share = shares.get(BETWEEN, 0.0) + shares.get(AFTER, 0.0)
    if share < case.limit("driver-gap", "share"):
        return
    if share * elapsed_s < case.limit("driver-gap", "program_s"):
        return
    # A stream waits for input, and missing jobs may have run in a pause.
    if case.line.account.batches is not None or case.line.gaps.spans or _by_hand(case):
        return
    long_s = case.limit("driver-loop", "gap_s")
    pauses = [each for each in _pauses(case) if each.lasted_s > long_s]
    if not 0 < len(pauses) <= case.limit("driver-gap", "pauses"):
        return
    if any(True for _ in driver_loop(case)):
        return
    longest = max(pauses, key=lambda each: each.lasted_s)
    if any(hit.variant == "works" for hit in driver_collect(case)):
        return  # the same pause, with its cause
    yield Hit(
        f"outside its queries and jobs the program took {format_duration(share * elapsed_s)}, "
        f"{format_duration(longest.lasted_s)} of it {longest}",
        longest.where,
        longest.lasted_s,
        Confidence.LOW,
    )


@dataclass(frozen=True, slots=True)
class _SparkRequest:
    """A query or job that the program submitted to Spark, and its span."""

    from_s: float
    to_s: float
    kind: str
    id_: int
    name: str | None

    def __str__(self) -> str:
        return f"{self.kind} {self.id_}" + (f" ({self.name})" if self.name else "")

    @property
    def where(self) -> FindingScope:
        """The query; a job has only its line of the program."""
        if self.kind == "query":
            return FindingScope(query=self.id_, operator=self.name)
        return FindingScope(operator=str(self))


@dataclass(frozen=True, slots=True)
class _Pause:
    """A time without a request to Spark: the requests around it; after the last one, None."""

    before: _SparkRequest
    after: _SparkRequest | None
    lasted_s: float

    def __str__(self) -> str:
        if self.after is None:
            return f"after the last one, {self.before}"
        return f"between {self.before} and {self.after}"

    @property
    def where(self) -> tuple[FindingScope, ...]:
        """The requests around it."""
        return tuple(each.where for each in (self.before, self.after) if each is not None)


def _pauses(case: Case) -> Iterator[_Pause]:
    """Yield the times between requests, and the time after the last one."""
    last: _SparkRequest | None = None
    # A query goes before the jobs that are its own.
    for asked in sorted(_asked(case), key=lambda each: (each.from_s, -each.to_s)):
        if last is not None and asked.from_s > last.to_s:
            yield _Pause(last, asked, asked.from_s - last.to_s)
        if last is None or asked.to_s > last.to_s:
            last = asked
    if last is not None and case.line.elapsed_s is not None:
        yield _Pause(last, None, case.line.elapsed_s - last.to_s)


def _asked(case: Case) -> Iterator[_SparkRequest]:
    """Queries and jobs; those without an end ran to the end of the application."""
    account, origin_ms = case.line.account, case.line.tasks.origin_ms
    for kind, table in (("query", account.queries), ("job", account.jobs)):
        if table is None:
            continue
        rows = table.select(f"{kind}_id", "name", "submitted_ms", "ended_ms").rows()
        for id_, name, start_ms, end_ms in rows:
            if start_ms is not None:
                end_s = case.line.elapsed_s if end_ms is None else (end_ms - origin_ms) / 1e3
                yield _SparkRequest((start_ms - origin_ms) / 1e3, end_s or 0.0, kind, id_, name)


def _by_hand(case: Case) -> bool:
    """True if the program was typed interactively: a pause may be the user's."""
    account = case.line.account
    if account.application.name.startswith(_SHELLS) or any(map(case.setting, _REPL)):
        return True
    tables = [account.jobs, account.stages, account.queries]
    names = (name for table in tables if table is not None for name in table["name"].to_list())
    return any(_TYPED.search(name) for name in names if name is not None)
