"""MapReduce job histories (.jhist) of Hadoop 2 and 3, in Avro's JSON and in its binary form.

Sources: EventWriter and EventReader of hadoop-mapreduce-client-core, and its Events.avpr. A file is
a line with the format, a line with the schema, and events. The job's configuration lies next to it
(`..._conf.xml`). The map tasks are stage 0 and the reduce tasks stage 1.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from venturi.core.errors import VenturiError, unreadable
from venturi.jobs.failures.messages import condensed
from venturi.jobs.logs import avro
from venturi.jobs.logs.columnar import TableBuilder, amount, moment, word
from venturi.jobs.logs.configuration import hadoop_chosen, masked
from venturi.jobs.logs.find import HISTORY_HINT, histories
from venturi.jobs.logs.hadoop_xml import read_properties
from venturi.jobs.logs.trial import take_in  # noqa: F401 - part of a reader
from venturi.record.account_kind import MAPREDUCE
from venturi.record.importing.formats import Format, FormatKind, Log
from venturi.record.importing.streams import LIMITS, LogLimits, LogText, OversizedLine
from venturi.record.job_account import (
    AccountReading,
    Application,
    JobAccount,
    Outcome,
)

FORMAT = Format(
    "mapreduce-history",
    "MapReduce job histories, Hadoop 2 and 3: .jhist files, folders",
    pattern=r"Avro-(Json|Binary)\s*\n",
)

Event = Mapping[str, Any]
Progress = Callable[[int], None]

find = histories
_JSON, _BINARY = b"Avro-Json", b"Avro-Binary"
_SCHEMA_BYTES = 1 << 20
_BINARY_BYTES = 4 << 30
_STEP = 500
_TASK = re.compile(r"task_\d+_\d+_([mr])_(\d+)")
# A table holds no number of more digits.
_ATTEMPT = re.compile(r"attempt_\d+_\d+_([mr])_(\d{1,18})_(\d{1,18})")
_MOMENTS = ("mapFinishTime", "shuffleFinishTime", "sortFinishTime")
_COUNTERS = tuple(each.name for each in MAPREDUCE.metrics[len(_MOMENTS) :])
_OF_PROCESSES = ("CPU_MILLISECONDS", "PHYSICAL_MEMORY_BYTES")
# Also the groups of file systems and formats, which have unique counter names too.
_GROUPS = re.compile(
    r"org\.apache\.hadoop\.mapreduce\.(TaskCounter|FileSystemCounter"
    r"|lib\.(input|output)\.File(In|Out)putFormatCounter)"
)


def configuration_of(history: Path) -> Path | None:
    """The configuration that Hadoop wrote next to `history`: `JOBID_conf.xml`."""
    match = re.match(r"job_\d+_\d+", history.name)
    if match is None:
        return None
    path = history.with_name(f"{match[0]}_conf.xml")
    return path if path.is_file() else None


def accounts(log: Log, progress: Progress | None = None) -> list[JobAccount]:
    """That of the one job in the history `log`."""
    return [read(log, progress=progress)]


def read(
    log: Log,
    limits: LogLimits = LIMITS,
    progress: Progress | None = None,
    conf: Path | None = None,
) -> JobAccount:
    """The account in the history `log`, with the configuration in `conf`, by default the file next
    to it.

    VEN-INGEST-FORMAT if it isn't a job history. A truncated one gives its content, and an outcome
    that is not success.
    """
    history = log.path
    events = _Events(history, limits, progress)
    job = _JobHistory()
    for kind, event in events:
        job.take(kind, event)
    if not job.events:
        raise _no_history(history, events.truncated or "it holds no event")
    conf = conf or configuration_of(history)
    properties, sources = ({}, {}) if conf is None else read_properties(conf)
    configuration = masked(properties)
    return JobAccount(
        application=job.application(history),
        reading=AccountReading(
            files=(history.name, *(() if conf is None else (conf.name,))),
            sha256=events.sha256,
            text_bytes=events.text_bytes,
            compression=events.compression,
            events=job.events,
            skipped=dict(job.skipped),
            damaged=dict(job.damaged),
            malformed=events.malformed,
            oversized=events.oversized,
            truncated=events.truncated,
        ),
        **job.tables(),
        configuration=configuration,
        chosen=hadoop_chosen(configuration, sources),
    )


class _Events:
    """The events of a history as (type, record), in either form."""

    def __init__(self, path: Path, limits: LogLimits, progress: Progress | None) -> None:
        self._path, self._limits = path, limits
        self._progress = progress or (lambda _: None)
        self.sha256 = ""
        self.text_bytes = 0
        self.compression: str | None = None
        self.malformed = self.oversized = 0
        self.truncated: str | None = None

    def __iter__(self) -> Iterator[tuple[str, Event]]:
        try:
            with self._path.open("rb") as file:
                binary = file.readline(len(_BINARY) + 1).rstrip(b"\n") == _BINARY
        except OSError as error:
            raise unreadable(self._path, error, FormatKind.LOG.value) from error
        yield from self._binary() if binary else self._json()

    def _json(self) -> Iterator[tuple[str, Event]]:
        text = LogText([self._path], self._limits)
        for number, line in enumerate(text.lines()):
            if number == 0 and line.rstrip() != _JSON:
                raise _no_history(self._path, "its first line does not name its format")
            if number % _STEP == 0:
                self._progress(text.text_bytes)
            if number < 2:  # the format and the schema, which JSON does not need
                continue
            if isinstance(line, OversizedLine):
                self.oversized += 1
                continue
            try:
                event = from_json(line)
                ((_, record),) = event["event"].items()
                kind, record = str(event["type"]), _plain(record)
            except (ValueError, KeyError, TypeError, AttributeError):
                self.malformed += 1
                continue
            yield kind, record
        self.sha256, self.text_bytes = text.sha256, text.text_bytes
        self.compression, self.truncated = text.compression, text.truncated

    def _binary(self) -> Iterator[tuple[str, Event]]:
        try:
            with self._path.open("rb") as file:
                self.sha256 = hashlib.file_digest(file, "sha256").hexdigest()
                self.text_bytes = file.tell()
                if self.text_bytes > _BINARY_BYTES:
                    raise VenturiError(
                        "VEN-INGEST-LIMIT",
                        f"{self._path} is larger than {_BINARY_BYTES:,} bytes",
                        where={"file": str(self._path)},
                    )
                file.seek(len(_BINARY) + 1)
                yield from self._values(file, file.readline(_SCHEMA_BYTES))
        except OSError as error:
            raise unreadable(self._path, error, FormatKind.LOG.value) from error

    def _values(self, file: BufferedReader, schema: bytes) -> Iterator[tuple[str, Event]]:
        try:
            read_event = avro.compiled(from_json(schema))
        except (ValueError, RecursionError) as error:
            raise _no_history(self._path, f"its schema cannot be read: {error}") from error
        number = 0
        while file.peek(1):
            try:
                event = read_event(file)
                kind, record = str(event["type"]), event["event"]
            except (avro.DamagedError, KeyError, TypeError) as error:
                # Without frames nothing after a damaged place can be found again.
                self.truncated = f"{self._path.name}: {error}"
                return
            number += 1
            if number % _STEP == 0:
                self._progress(file.tell())
            if isinstance(record, dict):
                yield kind, record
            else:
                self.malformed += 1


def _no_history(path: Path, why: str) -> VenturiError:
    return VenturiError(
        "VEN-INGEST-FORMAT",
        f"{path} is not a MapReduce job history: {why}",
        where={"file": str(path)},
        hint=HISTORY_HINT,
    )


def _plain(record: Event) -> Event:
    """`record` with the branches of unions ({"string": "x"}) replaced by their values."""
    return {
        key: next(iter(value.values()))
        if isinstance(value, dict) and len(value) == 1 and key != "acls"
        else value
        for key, value in record.items()
    }


@dataclass(slots=True)
class _JobHistory:
    """The content of a history, read so far."""

    events: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    damaged: Counter[str] = field(default_factory=Counter)
    facts: dict[str, Any] = field(default_factory=dict)
    end: tuple[str, Event] | None = None
    attempts: dict[str, dict[str, Any]] = field(default_factory=dict)
    done: Counter[int] = field(default_factory=Counter)
    last_ms: int | None = None

    def take(self, kind: str, event: Event) -> None:
        """Takes in an event of the type `kind`."""
        self.events += 1
        kind = word(kind, 100) or "unnamed"
        try:
            if kind in ("JOB_SUBMITTED", "JOB_INITED", "JOB_INFO_CHANGED"):
                self.facts |= event
            elif kind in ("JOB_FINISHED", "JOB_FAILED", "JOB_KILLED", "JOB_ERROR"):
                self.end = (kind, event)
                self._saw(event["finishTime"])
            elif kind.startswith(("MAP_ATTEMPT_", "REDUCE_ATTEMPT_")):
                self._attempt(kind.rpartition("_")[2], event)
            elif kind == "TASK_FINISHED":
                match = _TASK.fullmatch(event["taskid"])
                self.done["mr".index(match[1]) if match else 2] += 1
            else:
                self.skipped[kind] += 1
        except (KeyError, TypeError, ValueError):
            self.damaged[kind] += 1

    def _attempt(self, what: str, event: Event) -> None:
        name = event["attemptId"]
        if not _ATTEMPT.fullmatch(name):
            raise ValueError(name)
        attempt = self.attempts.setdefault(name, {})
        if what == "STARTED":
            attempt["launched_ms"] = moment(event["startTime"])
            attempt["host"] = word(event.get("trackerName"))
            attempt["locality"] = word(event.get("locality"))
            attempt["speculative"] = event.get("avataar") == "SPECULATIVE"
            self._saw(event["startTime"])
            return
        attempt["finished_ms"] = moment(event["finishTime"])
        host = word(event.get("hostname"))
        attempt["host"] = attempt.get("host") if host in (None, "UNKNOWN") else host
        attempt["outcome"] = {"FINISHED": "succeeded", "KILLED": "killed"}.get(what, "failed")
        attempt["reason"] = word(condensed(event.get("error")))
        attempt |= {key: moment(event.get(key)) for key in _MOMENTS}
        counters = _counters(event.get("counters"))
        if what == "FINISHED" or counters.get("CPU_MILLISECONDS"):
            attempt |= counters  # of an attempt that never reported, Hadoop writes zeros
        self._saw(event["finishTime"])

    def _saw(self, value: object) -> None:
        seen = moment(value)
        if seen is not None and (self.last_ms is None or seen > self.last_ms):
            self.last_ms = seen

    def application(self, history: Path) -> Application:
        """The job as an application; its start is its submission."""
        outcome, reason = self._outcome()
        return Application(
            id=word(self.facts.get("jobid")) or history.name,
            id_recorded="jobid" in self.facts,
            name=word(self.facts.get("jobName")) or "unnamed",
            engine=MAPREDUCE.engine,
            engine_version="unknown",  # a history does not say which Hadoop wrote it
            user=word(self.facts.get("userName")),
            started_ms=moment(self.facts.get("submitTime")),
            ended_ms=self.last_ms if self.end is None else moment(self.end[1].get("finishTime")),
            outcome=outcome,
            reason=reason,
        )

    def _outcome(self) -> tuple[Outcome, str | None]:
        if self.end is None:
            return "unfinished", "the history ends before the job does"
        kind, event = self.end
        if kind == "JOB_FINISHED":
            return "succeeded", None
        said = word(condensed(event.get("diagnostics"))) or self._error() or "no reason is recorded"
        return "failed", f"{word(event.get('jobStatus')) or kind}: {' '.join(said.split())}"

    def _error(self) -> str | None:
        """The message of the last failed attempt."""
        failed = [
            (attempt.get("finished_ms") or 0, name, attempt["reason"])
            for name, attempt in self.attempts.items()
            if attempt.get("outcome") == "failed" and attempt.get("reason")
        ]
        if not failed:
            return None
        _, name, reason = max(failed)
        return f"{name}: {reason}"

    def tables(self) -> dict[str, Any]:
        """The tables, by name."""
        tasks = TableBuilder("tasks", MAPREDUCE)
        spans: dict[int, list[int]] = {}
        nodes: dict[str, tuple[int | None, int | None]] = {}
        for name, attempt in self.attempts.items():
            match = _ATTEMPT.fullmatch(name)
            assert match is not None
            stage = "mr".index(match[1])
            launched_ms, finished_ms = attempt.get("launched_ms"), attempt.get("finished_ms")
            spans.setdefault(stage, []).extend(m for m in (launched_ms, finished_ms) if m)
            host = attempt.get("host")
            if host is not None:
                nodes.setdefault(host, (None, None))
            tasks.append(
                (
                    stage,
                    0,
                    name,
                    int(match[2]),
                    int(match[3]),
                    host,
                    host,
                    attempt.get("locality"),
                    attempt.get("speculative", False),
                    attempt.get("outcome", "unfinished"),
                    attempt.get("reason"),
                    launched_ms,
                    finished_ms,
                    *(attempt.get(each) for each in (*_MOMENTS, *_COUNTERS)),
                )
            )
        executors = TableBuilder("executors", MAPREDUCE)
        for host in nodes:
            executors.append((host, host, None, None, None, None))
        return {
            "jobs": self._jobs(spans),
            "stages": self._stages(spans),
            "tasks": tasks.finish(),
            "executors": executors.finish(),
        }

    def _jobs(self, spans: Mapping[int, list[int]]) -> Any:
        jobs = TableBuilder("jobs", MAPREDUCE)
        outcome, reason = self._outcome()
        ended_ms = None if self.end is None else moment(self.end[1].get("finishTime"))
        submitted_ms = moment(self.facts.get("submitTime"))
        name = word(self.facts.get("jobName"))
        jobs.append((0, name, submitted_ms, ended_ms, outcome, reason, sorted(spans), None))
        return jobs.finish()

    def _stages(self, spans: Mapping[int, list[int]]) -> Any:
        """Stages last from the first start of an attempt to the last end of one."""
        stages = TableBuilder("stages", MAPREDUCE)
        totals = {0: self.facts.get("totalMaps"), 1: self.facts.get("totalReduces")}
        for stage, moments in sorted(spans.items()):
            n_tasks = amount(totals[stage])
            complete = n_tasks is not None and self.done[stage] >= n_tasks
            outcome, reason = "succeeded", None
            if not complete:
                outcome = "failed" if self.end is not None else "unfinished"
                reason = f"{self.done[stage]} of its tasks succeeded"
            ended_ms = max(moments, default=None) if self.end is not None or complete else None
            parents = [0] if stage == 1 and 0 in spans else []
            name = ("map", "reduce")[stage]
            submitted_ms = min(moments, default=None)
            known = (stage, 0, name, 0, parents, n_tasks, submitted_ms, ended_ms, outcome, reason)
            stages.append((*known, None, None))
        return stages.finish()


def _counters(counters: object) -> dict[str, int | None]:
    """The counters that the task table has, by name; empty if the attempt has none."""
    found: dict[str, int | None] = {}
    groups = counters.get("groups") if isinstance(counters, dict) else None
    for group in groups or ():
        if _GROUPS.fullmatch(group["name"]):
            for each in group["counts"]:
                if each["name"] in _COUNTERS:
                    found[each["name"]] = amount(each["value"])
    if not any(map(found.get, _OF_PROCESSES)):  # its processes were not looked at
        for name in _OF_PROCESSES:
            found.pop(name, None)
    return found
