"""fio: the JSON of `--output-format=json` or `json+`, and terse output; each job is a trial of a
disk probe.

Lines around the JSON (warnings, progress) are ignored, and a file may hold several runs. Decisions:

- `rw` decides the kind of a rate: sequential `read` and `write` alone, both concurrently (`rw`),
  random access. Before fio 2.3 the JSON doesn't have it. Then the job's name decides if it says
  `randread` or the like, with a warning.
- `bw` is in KiB/s in all versions, `io_bytes` before fio 3 in KiB; `bw_bytes` is used where it
  exists. Latencies are completion latencies: `clat_ns`, before fio 3 `clat` in microseconds.
- fio prints each of `numjobs` equal jobs by itself unless `group_reporting` is set. They run
  concurrently, so they are one trial with the sum of their rates. Their percentiles can't be
  combined.
- With `group_reporting`, fio adds up all jobs of a group and prints the name of the first one with
  the options of the last one. The sum of their run times shows how many processes there were. If
  they are more than `numjobs`, or data moved in a direction that `rw` excludes, the jobs were
  unlike: only options of [global] count, others are `mixed`.
- A block size that contradicts bytes / requests is unknown.
- Rates of jobs that hold back (`rate`, `thinktime`, `latency_target`) are marked as `limited`,
  those of jobs that leave gaps (`zoneskip`, `rw=read:8k`) as `skips`. Catalogs don't use them.
- Other jobs of the same group run concurrently, too: their samples have `concurrent_jobs`, and
  catalogs don't use them. If some read and the others write sequentially, they are both sides of
  DiskBench's `read_write`, which catalogs use.
- `timestamp` is the time of the output, after all jobs: a warning says so. fio 3.36 and later have
  `job_start`.
- A job with an error is a failed trial. A job that moved nothing is rejected.
- Terse output (`--minimal`) has version 3 by default. It lacks the options: the access pattern is
  in the job's name at best, and block size, depth and direct I/O are unknown, with a warning. It
  doesn't say which of several lines ran concurrently: lines with one group id count as concurrent.
  Other versions are rejected.
- In client/server mode each client's jobs are trials of its host; "All clients" is their sum, and
  is left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    UNSTATED,
    ImportedItem,
    ImportSource,
    admitted,
    imported_id,
    since_1970,
)
from venturi.record.importing.json_text import (
    JsonDocument,
    JsonLimits,
    UnusableError,
    before_the_cut,
    documents,
    is_number,
    number_in,
    object_in,
)
from venturi.record.importing.text import Refusal
from venturi.record.trial import Engine, Sample, Scalar, Trial, TrialWarning
from venturi.results.importers.probe_trials import (
    DISK,
    DiskTest,
    ProbeRun,
    access,
    access_named,
    quantile_name,
)

FORMAT = Format(
    "fio",
    "fio: JSON (--output-format=json), terse version 3 (--minimal); disk probes",
    pattern=r'(?s)(?:.{0,32768}?\{\s*"fio version"\s*:|(?:.{0,32768}?\n)?[2-5];fio-\d[^;\n]*;)',
)

_LIMITS = JsonLimits(file_bytes=256 << 20, records=10_000)
_JOBS_MOST = 10_000
_DIRECTIONS = ("read", "write", "trim", "mixed")
_PERCENTS = frozenset({50.0, 90.0, 95.0, 99.0, 99.9, 99.99})
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgtp]?)(i?)b?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
_JOBS_LIST = re.compile(r'"(?:jobs|client_stats)"\s*:\s*\[')
_WHOLE = re.compile(r"-?\d{1,15}")
# Engines without a queue: one request at a time, whatever the depth.
_SYNCHRONOUS = frozenset({"sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"})
_LIMITS_OF_RATES = ("rate", "rate_iops", "rate_process", "thinktime", "latency_target", "flow")
_MIXED = "mixed"
_STATUS_LATE_S = 2.0  # fio rounds both times to seconds
_INTERIM = "an interim report of --status-interval; the last one of the run counts"
_ROUNDED_MS = 5
_TERSE = re.compile(r"([2-5]);fio-(\d[^;]*);")
_TERSE_FIELDS = 87  # before the figures of the CPU
_TERSE_SECTIONS = (("read", 5), ("write", 46))
_BLOCK_TOLERANCE = 0.02  # the last request of a file may be shorter
_NO_DISK = frozenset({"null", "cpuio", "net", "netsplice", "rdma", "http", "dev-dax"})


@dataclass(frozen=True, slots=True)
class _Run:
    """Properties that all jobs of one run of fio share."""

    line: int
    version: str
    printed_at: datetime | None
    options: Mapping[str, str]
    devices: str
    source: ImportSource
    terse: bool = False


@dataclass(frozen=True, slots=True)
class _Job:
    """One job as fio prints it: its place in the list, its options with the global ones."""

    place: int
    fields: Mapping[str, Any]
    options: Mapping[str, str]
    unlike: tuple[str, ...] | None = None
    """If it stands for several jobs: the options in which they may differ."""

    @property
    def key(self) -> tuple[object, ...]:
        """Equal for the processes that `numjobs` makes of one job."""
        return *self.group, self.name, tuple(sorted(self.options.items()))

    @property
    def group(self) -> tuple[object, ...]:
        """Equal for jobs that run concurrently."""
        return tuple(str(self.fields.get(key)) for key in ("hostname", "port", "groupid"))

    @property
    def name(self) -> str:
        """The job's name."""
        return str(self.fields.get("jobname", ""))[:200] or f"job {self.place + 1}"

    def section(self, direction: str) -> Mapping[str, Any]:
        """The figures of one direction, empty if no data was moved."""
        found = self.fields.get(direction)
        moved = isinstance(found, dict) and (_number(found, "io_bytes") or _number(found, "bw"))
        return found if isinstance(found, dict) and moved else {}


def read(file: BinaryIO, source: ImportSource) -> Iterator[ImportedItem]:
    """Yield the trials of the jobs in `file`, with the jobs that were rejected."""
    if terse := list(_terse_lines(file)):
        yield from _terse(terse, source)
        return
    last: tuple[_Run, list[Any]] | None = None
    problem = ""
    for document in documents(file, source, _LIMITS):
        value, jobs, problem = _with_jobs(document)
        if value is None:
            yield Refusal(document.line, "", document.text[:100], problem or "not a run of fio")
            continue
        run = _run(document.line, value, source)
        if last is not None:
            if _continues(last, (run, jobs)):
                yield Refusal(last[0].line, "jobs", "", _INTERIM)
            else:
                yield from _trials(*last)
        last = run, jobs
        if problem:
            yield Refusal(document.line, "jobs", f"after {len(jobs)} jobs", problem)
    if last is not None:
        yield from _trials(*last)
    else:
        why = 'no JSON of fio: an object with "fio version" and "jobs"'
        raise source.malformed(f"no whole job of fio: {problem}" if problem else why)


def _terse_lines(file: BinaryIO) -> Iterator[tuple[int, list[str]]]:
    """Yield the numbers and fields of the terse lines in `file`; none if it has JSON."""
    found: list[tuple[int, list[str]]] = []
    for number, raw in enumerate(file, 1):
        text = raw.decode("utf-8", "replace").strip()
        if '"fio version"' in text:
            found = []
            break
        if _TERSE.match(text):
            found.append((number, text.split(";")))
    file.seek(0)
    yield from found[:_JOBS_MOST]


def _terse(lines: Sequence[tuple[int, list[str]]], source: ImportSource) -> Iterator[ImportedItem]:
    runs: list[tuple[_Run, list[dict[str, Any]]]] = []
    for line, fields in lines:
        if fields[0] != "3":
            why = "terse output of a version other than 3: use --output-format=json"
            yield Refusal(line, "terse version", fields[0], why)
        elif len(fields) < _TERSE_FIELDS or (job := _terse_job(fields)) is None:
            yield Refusal(line, "", ";".join(fields)[:100], "not a whole line of terse output")
        else:
            version = fields[1].removeprefix("fio-")[:100]
            last = runs[-1] if runs else None
            if last is None or last[1][-1]["groupid"] > job["groupid"]:
                runs.append((_Run(line, version, None, {}, "", source, terse=True), [job]))
            else:
                last[1].append(job)
    for run in runs:
        yield from _trials(*run)


def _terse_job(fields: Sequence[str]) -> dict[str, Any] | None:
    """Return a line of terse output as fio's JSON has it; None if it isn't one.

    Source: fio's HOWTO, "Terse output". Bytes are KiB, run times ms, latencies µs.
    """
    try:
        job: dict[str, Any] = {
            "jobname": fields[2],
            "groupid": int(fields[3]),
            "error": int(fields[4]),
        }
        for direction, at in _TERSE_SECTIONS:
            kib, bandwidth, iops, runtime_ms = map(float, fields[at : at + 4])
            pairs = (each.split("%=") for each in fields[at + 12 : at + 32])
            job[direction] = {
                "io_bytes": kib,
                "bw": bandwidth,
                "iops": iops,
                "runtime": runtime_ms,
                "clat": {
                    "max": float(fields[at + 9]),
                    "mean": float(fields[at + 10]),
                    "percentile": {name: float(value) for name, value in pairs},
                },
            }
    except ValueError:
        return None
    return job


def _continues(earlier: tuple[_Run, list[Any]], later: tuple[_Run, list[Any]]) -> bool:
    """Whether a report of `--status-interval` is followed by a later one of the same run."""

    def named(jobs: Sequence[Any]) -> list[tuple[object, ...]]:
        own = [each for each in jobs if isinstance(each, dict)]
        return [(each.get("jobname"), str(each.get("job options"))) for each in own]

    def elapsed_s(jobs: Sequence[Any]) -> float:
        own = [each for each in jobs if isinstance(each, dict)]
        return max((_number(each, "elapsed") or 0.0 for each in own), default=0.0)

    (run, jobs), (next_run, next_jobs) = earlier, later
    if (run.version, run.options) != (next_run.version, next_run.options):
        return False
    if not jobs or named(jobs) != named(next_jobs):
        return False
    if run.printed_at is None or next_run.printed_at is None:
        return False
    passed_s = (next_run.printed_at - run.printed_at).total_seconds()
    grown_s = elapsed_s(next_jobs) - elapsed_s(jobs)
    return grown_s > 0 and abs(passed_s - grown_s) <= _STATUS_LATE_S


def _with_jobs(document: JsonDocument) -> tuple[dict[str, Any] | None, list[Any], str]:
    """Return the run and its jobs; of a truncated one those before the cut, and the problem."""
    value, problem = document.value, document.problem
    jobs: list[Any] = []
    if problem:
        listed = _JOBS_LIST.search(document.text)
        value, jobs = before_the_cut(document.text, 0, listed) if listed else ({}, [])
    for key in ("jobs", "client_stats"):
        listed = value.get(key)
        jobs += listed if isinstance(listed, list) else []
    known = "fio version" in value and (jobs or "jobs" in value or "client_stats" in value)
    return (value if known or jobs else None), jobs[:_JOBS_MOST], problem


def _run(line: int, value: Mapping[str, Any], source: ImportSource) -> _Run:
    util = value.get("disk_util")
    devices = [each.get("name") for each in util if isinstance(each, dict)] if util else []
    return _Run(
        line,
        str(value.get("fio version", "")).removeprefix("fio-")[:100] or "unknown",
        _timestamp(value.get("timestamp_ms"), 1000) or _timestamp(value.get("timestamp"), 1),
        _options(value.get("global options")),
        ", ".join(str(each)[:100] for each in devices[:20]),
        source,
    )


def _options(found: object) -> dict[str, str]:
    if not isinstance(found, dict):
        return {}
    return {
        str(key)[:100]: str(value)[:1000]
        for key, value in found.items()
        if not isinstance(value, dict | list)
    }


def _timestamp(value: object, per_s: int) -> datetime | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return since_1970(value / per_s)


def _trials(run: _Run, listed: Sequence[Any]) -> Iterator[ImportedItem]:
    groups: dict[tuple[object, ...], list[_Job]] = {}
    concurrent: dict[tuple[object, ...], list[_Job]] = {}
    for place, fields in enumerate(listed):
        if not isinstance(fields, dict):
            yield Refusal(run.line, f"jobs[{place}]", "", "not an object")
            continue
        own = _options(fields.get("job options"))
        job = _Job(place, fields, {**run.options, **own})
        if _is_group(job):
            shared = {key: value for key, value in run.options.items() if key not in own}
            job = replace(job, options=shared, unlike=tuple(own))
        if job.name == "All clients":
            continue
        several = _count(job.options.get("numjobs")) > 1
        key = job.key if several else (place,)
        groups.setdefault(key, []).append(job)
        if any(job.section(direction) for direction in _DIRECTIONS):
            concurrent.setdefault(job.group, []).append(job)
    for jobs in groups.values():
        others = [each for each in concurrent.get(jobs[0].group, ()) if each not in jobs]
        try:
            yield from admitted([_trial(run, jobs, others)], run.line, run.source)
        except UnusableError as error:
            yield error.refusal(run.line)


def _is_group(job: _Job) -> bool:
    """Return whether fio printed unlike jobs as one, with the options of the last one."""
    if "verify" in job.options:  # its jobs read what they wrote
        return False
    moved = [each for each in _DIRECTIONS[:3] if job.section(each)]
    rw = access(job.options.get("rw") or job.options.get("readwrite"))
    if rw and any(DiskTest(rw, {}).mode(each) == "unknown" for each in moved):
        return True
    longest = max((_number(job.section(each), "runtime") or 0 for each in moved), default=0)
    total = _number(job.fields, "job_runtime")
    processes = _count(job.options.get("numjobs"))
    return bool(longest and total and total > 1.01 * processes * (longest + _ROUNDED_MS))


def _trial(run: _Run, jobs: Sequence[_Job], others: Sequence[_Job]) -> Trial:
    """Return the trial of a job, or of the processes of one job."""
    first = jobs[0]
    error = next((code for each in jobs if (code := _number(each.fields, "error"))), None)
    test, warnings = _test(first, others)
    if run.terse:
        text = "fio's terse output lacks the options: block size, depth and direct I/O are unknown"
        if len(jobs) + len(others) > 1:
            text += "; it doesn't say if its jobs of one group ran concurrently: assumed"
        warnings.append(TrialWarning(UNSTATED, f"{text}; --output-format=json has them"))
    samples = _samples(jobs, test, failed=error is not None)
    started_at = _timestamp(first.fields.get("job_start"), 1000)
    if started_at is None and run.printed_at is not None:
        started_at = run.printed_at
        text = "started_at is the time of fio's output, after all jobs; the real start is unknown"
        warnings.append(TrialWarning(UNSTATED, text))
    host = first.fields.get("hostname")
    folder = first.options.get("directory") or first.options.get("filename")
    configuration: dict[str, Scalar] = {"job": first.name}
    configuration |= {key: _typed(value) for key, value in first.options.items()}
    configuration |= dict.fromkeys(first.unlike or (), _MIXED)
    if run.devices:
        configuration["devices"] = run.devices
    figures = [(each.metric, each.value) for each in samples]
    return ProbeRun(
        id=imported_id("fio", str(run.printed_at), str(first.key), str(first.place), str(figures)),
        dataset="fio",
        kind=DISK,
        engine=Engine("fio", run.version),
        samples=samples,
        configuration=configuration,
        started_at=started_at,
        elapsed_s=_elapsed_s(jobs),
        hosts=(str(host)[:200],) if host else (),
        folders=(folder,) if folder else (),
        warnings=tuple(warnings),
        failure=None if error is None else _error(int(error)),
    ).trial(run.source)


def _error(code: int) -> str:
    return f"fio reports error {code}: {os.strerror(abs(code)) if abs(code) < 1 << 31 else ''}"


def _test(job: _Job, others: Sequence[_Job]) -> tuple[DiskTest, list[TrialWarning]]:
    """Return the job's test, with warnings about limits to its use."""
    warnings = []
    options = job.options
    written = options.get("rw") or options.get("readwrite")
    rw = access(written) if written else None
    if job.unlike is not None:
        text = (
            "fio printed unlike jobs as one (group_reporting): only options that they share are "
            f"known, not {', '.join(job.unlike) or 'their number'}"
        )
        warnings.append(TrialWarning(UNSTATED, text[:1000]))
    elif written is None and isinstance(job.fields.get("job options"), dict):
        rw = "read"  # fio's default
    elif written is None and (rw := access_named(job.name)):
        text = f"fio's output doesn't state the access pattern; the job's name says {rw}"
        warnings.append(TrialWarning(UNSTATED, text))
    engine = options.get("ioengine", "psync")
    unlike = job.unlike or ()
    if (
        options
        and options.get("direct", "0") != "1"
        and "direct" not in unlike
        and engine not in _NO_DISK
    ):
        text = "the job used the page cache (direct=0): its rates may be those of memory"
        warnings.append(TrialWarning("VEN-IMPORT-CACHED", text))
    depth = _count(options.get("iodepth")) if options else None
    if "latency_target" in options or (job.unlike is not None and "iodepth" not in options):
        depth = None
    labels: dict[str, Scalar] = {
        "dir": options.get("directory") or options.get("filename"),
        "block_bytes": _block_bytes(job, rw),
        "queue_depth": 1 if depth and engine in _SYNCHRONOUS else depth,
    }
    jobs = _count(options.get("numjobs"))
    if jobs > 1:
        labels["jobs"] = jobs
    if {rw, *(access(each.options.get("rw")) for each in others)} == {"read", "write"}:
        rw = "rw"
    elif others:
        labels["concurrent_jobs"] = len(others)
    if limits := [f"{key}={options[key]}" for key in _LIMITS_OF_RATES if key in options]:
        labels["limited"] = ", ".join(limits)
    if "zoneskip" in options or ":" in (written or ""):
        labels["skips"] = options.get("zoneskip") or written
    if engine in _NO_DISK:
        labels["no_disk"] = engine
    return DiskTest(rw, labels), warnings


def _samples(jobs: Sequence[_Job], test: DiskTest, *, failed: bool) -> tuple[Sample, ...]:
    samples: list[Sample] = []
    for direction in _DIRECTIONS:
        sections = [found for each in jobs if (found := each.section(direction))]
        if not sections:
            continue
        labels = dict(test.labels)
        if direction != "read":
            labels["block_bytes"] = _block_bytes(jobs[0], direction)
        of, named = replace(test, labels=labels), direction
        if direction == "mixed" and test.rw in {"read", "randread", "write", "randwrite"}:
            named = test.rw.removeprefix("rand")
        timed = [each for each in sections if _number(each, "runtime") != 0]
        if len(timed) < len(sections) and not failed:
            raise UnusableError(f"{jobs[0].name}.{direction}", "runtime 0", "no rate: no time")
        rates = [_bytes_per_s(each) for each in timed]
        iops = [_number(each, "iops") for each in timed]
        samples += of.rates(named, _sum(rates), _sum(iops))
        if len(sections) == 1:
            samples += of.latencies(named, _latencies(sections[0]))
        else:
            why = f"each of {len(sections)} processes has percentiles of its own"
            samples += of.latencies(named, {}, missing=why)
    if not samples and not failed:
        raise UnusableError(f"{jobs[0].name}.runtime", 0, "the job moved no data")
    return tuple(samples)


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _bytes_per_s(section: Mapping[str, Any]) -> float | None:
    exact, kib = _number(section, "bw_bytes"), _number(section, "bw")
    return exact if exact is not None else None if kib is None else kib * 1024


def _latencies(section: Mapping[str, Any]) -> dict[str, float]:
    """Return the completion latencies in seconds by quantile."""
    units = {"clat_ns": 1e9, "clat": 1e6, "lat_ns": 1e9, "lat": 1e6}
    key = next((each for each in units if _number(object_in(section, each), "max")), None)
    if key is None:
        return {}
    seconds: dict[str, float] = {}
    found, per_s = object_in(section, key), units[key]
    percentiles = found.get("percentile")
    for percent, value in percentiles.items() if isinstance(percentiles, dict) else ():
        try:
            at = float(percent)
        except ValueError:
            continue
        if at in _PERCENTS and is_number(value):
            seconds[quantile_name(at)] = value / per_s
    for name in ("mean", "max"):
        if (value := _number(found, name)) is not None:
            seconds[name] = value / per_s
    return seconds


def _elapsed_s(jobs: Sequence[_Job]) -> float | None:
    """Return how long the longest process moved data, or how long the job ran; None: unknown."""
    found = [
        value / 1000
        for each in jobs
        for direction in _DIRECTIONS
        if (value := _number(each.section(direction), "runtime"))
    ]
    elapsed = [value for each in jobs if (value := _number(each.fields, "elapsed"))]
    return max(found or elapsed, default=None)


def _block_bytes(job: _Job, direction: str | None) -> int | None:
    """Return the block size of a job's requests; None if it varies or isn't known."""
    options = job.options
    if not options or (job.unlike is not None and not {"bs", "blocksize"} & set(options)):
        return None
    size = block_bytes(options, direction)
    found = job.section((direction or "").removeprefix("rand"))
    requests, moved = _number(found, "total_ios"), _number(found, "io_bytes")
    if size and requests and moved and "bw_bytes" in found:  # fio 3, which counts bytes
        return size if abs(moved / requests / size - 1) < _BLOCK_TOLERANCE else None
    return size


def block_bytes(options: Mapping[str, str], direction: str | None) -> int | None:
    """Return the block size in one direction; None if it varies or can't be read."""
    if options.get("bssplit") or options.get("bsrange"):
        return None
    parts = (options.get("bs") or options.get("blocksize") or "4k").split(",")
    place = {"write": 1, "trim": 2}.get((direction or "").removeprefix("rand"), 0)
    written = parts[min(place, len(parts) - 1)].strip() or "4k"
    found = _SIZE.fullmatch(written)
    if found is None:
        return None
    # By fio's default k is 1024 and ki 1000; kb_base=1000 reverses this.
    binary = (options.get("kb_base", "1024") == "1024") != bool(found[3])
    size = float(found[1]) * (1024 if binary else 1000) ** _POWERS[found[2].lower()]
    return int(size) if 0 < size < 1 << 53 else None


def _count(written: str | None) -> int:
    return int(written) if written and _WHOLE.fullmatch(written.strip()) else 1


def _typed(written: str) -> Scalar:
    return int(written) if _WHOLE.fullmatch(written) and str(int(written)) == written else written


def _number(fields: Mapping[str, Any], key: str) -> float | None:
    value = number_in(fields, key)
    return None if value is None else float(value)
