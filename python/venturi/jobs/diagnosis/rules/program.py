"""Rules about the program's own code: time on the driver outside its queries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from venturi.core.units import format_duration
from venturi.jobs.diagnosis.case import Case, Confidence, FindingScope, Hit
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.diagnosis.rules.repeated import driver_loop
from venturi.jobs.stages.elapsed import BETWEEN

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


@rule("driver-gap")
def driver_gap(case: Case) -> Iterator[Hit]:
    """One long pause of a program between two queries.

    Ignores the time before the first query. It includes the start of Spark, which can take 45 s on
    a busy machine, and the log can't separate it.
    """
    elapsed_s = case.line.elapsed_s or 0.0
    share = case.analysis.verdict.shares.get(BETWEEN, 0.0)
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
    yield Hit(
        "between its queries and jobs the program took "
        f"{format_duration(share * elapsed_s)}, {format_duration(longest.lasted_s)} of it "
        f"between {longest.before} and {longest.after}",
        (longest.before.where, longest.after.where),
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
    """An interval without a request to Spark, between two requests."""

    before: _SparkRequest
    after: _SparkRequest

    @property
    def lasted_s(self) -> float:
        return self.after.from_s - self.before.to_s


def _pauses(case: Case) -> Iterator[_Pause]:
    """The times between what is asked."""
    last: _SparkRequest | None = None
    # A query goes before the jobs that are its own.
    for asked in sorted(_asked(case), key=lambda each: (each.from_s, -each.to_s)):
        if last is not None and asked.from_s > last.to_s:
            yield _Pause(last, asked)
        if last is None or asked.to_s > last.to_s:
            last = asked


def _asked(case: Case) -> Iterator[_SparkRequest]:
    """Queries and jobs; what has no end was worked on to the end of the application."""
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
