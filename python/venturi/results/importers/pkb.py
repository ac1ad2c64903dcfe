"""PerfKitBenchmarker: its samples as NDJSON or a list; the samples of a run are one trial.

Samples with one `run_uri`, `test` and (if it is a label) `run_number` belong together, wherever in
the file they are. Decisions:

- The trial's time is the run's sample with the first name in `RUN_TIMES` that occurs exactly once.
  `End to End Runtime` doesn't count: it includes creating and removing the machines. Without such a
  sample the run is refused, unless it is a probe.
- Runs of fio, iperf and netperf are probes of a disk or network. Their rates are also kept in the
  metrics of Venturi's own probes (`pkb_probes.py`), and their time may be unknown.
- A line that is damaged or truncated is refused, and the others are kept.
- All samples are kept with their units; a value that is NaN or infinite becomes a missing one.
- The labels of the time's sample are the configuration, except for those that name one run (ids,
  folders, host names); a sample keeps the labels in which it differs from it.
- `timestamp` is when a sample was made, in seconds since 1970 (UTC), and PerfKitBenchmarker makes
  them when the run has ended. `started_at` is the sample `Benchmark Run Start Timestamp` where
  there is one; otherwise it is the first timestamp, and a warning says so.
- A sample `Run Failed` makes the trial a failed one, of its `failed_substatus`.
- `owner` is the name of a person, and is not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    FAILED,
    SOFTWARE,
    UNSTATED,
    ImportedItem,
    ImportSource,
    admitted,
    imported_id,
    since_1970,
    unnamed_hosts,
)
from venturi.record.importing.json_text import (
    JsonLimits,
    UnusableError,
    check,
    documents,
    is_finite,
    parse,
    parsed_lines,
    shown,
    text,
)
from venturi.record.importing.text import Refusal
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Sample,
    Scalar,
    State,
    Trial,
    TrialWarning,
    Workload,
)
from venturi.results.importers.pkb_probes import probe_of

FORMAT = Format(
    "pkb",
    "PerfKitBenchmarker: NDJSON samples",
    pattern=(
        r'\s*(?:\{(?=[^\n]*"metric"\s*:)(?=[^\n]*"run_uri"\s*:)'
        r'|\[\s*\{(?s:(?=.{0,8000}?"metric"\s*:)(?=.{0,8000}?"run_uri"\s*:)))'
    ),
    has_run_ids=True,
)

RUN_TIMES = (
    "terasort_run_time",
    "terasort_wall_time",
    "Terasort Total Time",
    "sparksql_cumulative_run_time",
    "sparksql_total_run_time",
    "sparksql_total_wall_time",
    "sparksql_run_time",
    "run_time",
    "runtime",
    "wall_time",
    "jar_time",
    "Benchmark Run Runtime",
)
"""The samples that are the time of a run, best first."""

_RUN_FAILED, _STARTED = "Run Failed", "Benchmark Run Start Timestamp"
_SECONDS = {
    "seconds": 1.0,
    "second": 1.0,
    "sec": 1.0,
    "s": 1.0,
    "milliseconds": 1e-3,
    "ms": 1e-3,
    "microseconds": 1e-6,
    "us": 1e-6,
    "minutes": 60.0,
    "min": 60.0,
    "hours": 3600.0,
    "h": 3600.0,
}
_ENGINES = {
    "dpb_terasort_benchmark": "mapreduce",
    "dpb_sparksql_benchmark": "spark",
    "dpb_spark_pi_benchmark": "spark",
    "dpb_spark_io_benchmark": "spark",
    "spark": "spark",
}
_VERSION = "perfkitbenchmarker_version"
_RUN_NUMBER = "run_number"
_OF_ONE_RUN = frozenset(
    {
        _VERSION,
        _RUN_NUMBER,
        "hostnames",
        "base_dir",
        "dpb_cluster_id",
        "dpb_batch_id",
        "dpb_job_id",
        "error_message",
        "flags",
        "run_stage",
        "failed_substatus",
    }
)
_TYPES = ("machine_type", "dpb_cluster_shape", "sending_machine_type")
_COUNTS = ("vm_count", "dpb_cluster_size")
_TERASORT_RECORDS, _TERASORT_RECORD_BYTES = "terasort_num_record", 100

_LIMITS = JsonLimits(file_bytes=256 << 20, text_characters=256 << 10, depth=3)
_MOST_LABELS = 500
_MOST_LABEL_CHARACTERS = 8 << 10
_MOST_NODES = 10_000
_MOST_SAMPLES = 10_000  # of one trial


@dataclass(frozen=True, slots=True)
class _SampleLine:
    """One sample of the file; `missing` says why it has no value."""

    line: int
    metric: str
    value: float | None
    unit: str
    labels: Mapping[str, Scalar]
    made_at: datetime
    product: str
    missing: str | None = None


_Run = tuple[str, str, int]


def read(file: BinaryIO, source: ImportSource) -> Iterator[ImportedItem]:
    """Yield the trials of the runs in `file`, and the refused lines."""
    runs: dict[_Run, list[_SampleLine]] = {}
    seen: set[str] = set()
    for line, content in _records(file, source):
        if isinstance(content, Refusal):
            yield content
            continue
        try:
            run, sample = _sample(content, line, seen)
        except UnusableError as error:
            yield error.refusal(line)
        else:
            runs.setdefault(run, []).append(sample)
    for run, samples in runs.items():
        try:
            yield from admitted([_trial(run, samples, source)], samples[0].line, source)
        except UnusableError as error:
            yield error.refusal(samples[0].line)


def _records(file: BinaryIO, source: ImportSource) -> Iterator[tuple[int, Any]]:
    """The samples with their lines: one per line, or a list of them."""
    listed = file.read(64).removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
    file.seek(0)
    if not listed:
        yield from parsed_lines(file, source, _LIMITS)
        return
    for document in documents(file, source, _LIMITS):
        content: Any = document.value
        if document.problem:
            content = Refusal(document.line, "", shown(document.text), document.problem)
        else:
            try:
                parse(document.text)
            except UnusableError as error:  # a key occurs twice
                content = error.refusal(document.line)
            except ValueError:  # a NaN that was repaired
                pass
        yield document.line, content


def _sample(record: Any, line: int, seen: set[str]) -> tuple[_Run, _SampleLine]:
    if not isinstance(record, dict):
        raise UnusableError("", record, "no object")
    check({key: value for key, value in record.items() if key != "value"}, _LIMITS)
    labels = _labels(record)
    run = (text(record, "run_uri"), text(record, "test"), _run_number(labels))
    value, missing = _value(record)
    sample = _SampleLine(
        line=line,
        metric=text(record, "metric"),
        value=value,
        unit=text(record, "unit") if record.get("unit") else "unknown",
        labels=labels,
        made_at=_moment(record.get("timestamp"), "timestamp"),
        product=text(record, "product_name") if record.get("product_name") else "unknown",
        missing=missing,
    )
    if record.get("sample_uri") is not None:
        uri = text(record, "sample_uri")
        if uri in seen:
            raise UnusableError("sample_uri", uri, "this sample occurs twice")
        seen.add(uri)
    return run, sample


def _value(record: Mapping[str, Any]) -> tuple[float | None, str | None]:
    value = record.get("value")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise UnusableError("value", value, "not a number")
    if not is_finite(value):
        return None, f"PerfKitBenchmarker reports {shown(value)}"
    return float(value), None


def _moment(seconds: Any, field: str) -> datetime:
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise UnusableError(field, seconds, "not a number")
    if (found := since_1970(seconds)) is None:
        raise UnusableError(field, seconds, "not a time in seconds since 1970")
    return found


def _labels(record: Mapping[str, Any]) -> dict[str, Scalar]:
    """The labels, from `|key:value|,|key:value|` or, if they were not collapsed, an object."""
    field = "labels" if "labels" in record else "metadata"
    written = record.get(field) or {}
    found: dict[str, Scalar] = {}
    if isinstance(written, str):
        if len(written) < 3 or written[0] != "|" or written[-1] != "|":
            raise UnusableError(field, written, "not like |key:value|,|key:value|")
        for part in written[1:-1].split("|,|"):
            key, colon, value_text = part.partition(":")
            if not (key and colon) or key in found:
                raise UnusableError(field, part, "not like key:value, or the key occurs twice")
            found[key] = _typed(value_text)
    elif isinstance(written, dict):
        found = written
    else:
        raise UnusableError(field, written, "neither a text nor an object")
    if len(found) > _MOST_LABELS:
        raise UnusableError(field, len(found), f"more than {_MOST_LABELS} labels")
    for key, value in found.items():
        if isinstance(value, dict | list):
            raise UnusableError(f"{field}.{key}", value, "no plain value")
        if len(key) + len(str(value)) > _MOST_LABEL_CHARACTERS:
            reason = f"a label longer than {_MOST_LABEL_CHARACTERS} characters"
            raise UnusableError(f"{field}.{key}", value, reason)
    return found


def _typed(written: str) -> Scalar:
    """`written` as Python printed it: a number only if it reads back the same, so that the version
    `2.10` stays a text."""
    if written in {"True", "False", "None"}:
        return {"True": True, "False": False}.get(written)
    if re.fullmatch(r"-?[0-9]{1,18}", written) and str(int(written)) == written:
        return int(written)
    if re.fullmatch(r"-?[0-9]{1,18}\.[0-9]{1,18}", written) and str(float(written)) == written:
        return float(written)
    return written


def _run_number(labels: Mapping[str, Scalar]) -> int:
    number = labels.get(_RUN_NUMBER, 0)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < 1 << 31:
        raise UnusableError(_RUN_NUMBER, number, "not a whole number")
    return number


def _trial(run: _Run, lines: Sequence[_SampleLine], source: ImportSource) -> Trial:
    run_uri, test, run_number = run
    if len(lines) > _MOST_SAMPLES:
        raise UnusableError("run_uri", run_uri, f"more than {_MOST_SAMPLES} samples in one run")
    failed = next((line for line in lines if line.metric == _RUN_FAILED), None)
    probe = None if failed else probe_of(test, lines)
    timed = None if failed or probe else _run_time(run, lines)
    told = (timed or failed or lines[0]).labels
    if probe is not None:
        told = _common(lines)
    count = next((told[key] for key in _COUNTS if _is_count(told.get(key))), 0)
    chosen: dict[str, Scalar] = {
        key: value for key, value in told.items() if key not in _OF_ONE_RUN
    }
    if count:
        chosen["nodes"] = count
    machine = next((str(told[key]) for key in _TYPES if told.get(key)), None)
    others = {"product_name": lines[0].product}
    others |= {_VERSION: str(told[_VERSION])} if told.get(_VERSION) else {}
    started_at, warnings = _started(lines)
    records = told.get(_TERASORT_RECORDS)
    records = records if isinstance(records, int) and 0 < records < 1 << 53 else None
    return Trial(
        id=imported_id("pkb", run_uri, test, str(run_number)),
        workload=Workload(
            probe.kind if probe else test,
            "pkb",
            input_bytes=records * _TERASORT_RECORD_BYTES if records else None,
            input_records=records,
        ),
        engine=Engine(test if probe else _ENGINES.get(test, "unknown"), "unknown"),
        cluster=Cluster(
            unnamed_hosts(f"pkb-{machine or 'unknown'}", int(count or 0), {}), instance_type=machine
        ),
        configuration=chosen,
        software=replace(SOFTWARE, others=others),
        provenance=source.provenance("pkb"),
        started_at=started_at,
        state=State.FAILED if failed else State.SUCCEEDED,
        repetition=run_number,
        elapsed_s=_elapsed_s(timed) if timed else probe.elapsed_s if probe else None,
        samples=(
            *(probe.samples if probe else ()),
            *(_kept(line, chosen) for line in lines),
        ),
        warnings=warnings,
        failure=_failure(failed) if failed else None,
    )


def _common(lines: Sequence[_SampleLine]) -> dict[str, Scalar]:
    """Return the labels that all samples share: those of a probe's tests differ."""
    common = dict(lines[0].labels)
    for line in lines[1:]:
        labels = line.labels
        common = {k: v for k, v in common.items() if k in labels and labels[k] == v}
    return common


def _is_count(value: Scalar) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _MOST_NODES


def _run_time(run: _Run, lines: Sequence[_SampleLine]) -> _SampleLine:
    """The one sample that is the time of the run; UnusableError if there isn't exactly one."""
    several = False
    for metric in RUN_TIMES:
        found = [line for line in lines if line.metric == metric]
        if len(found) == 1:
            return found[0]
        several = several or len(found) > 1
    reason = (
        "several samples could be the run time, and it is unknown which one is"
        if several
        else "this run has no sample of its run time"
    )
    raise UnusableError("metric", f"{run[1]} {run[0]}", reason)


def _elapsed_s(timed: _SampleLine) -> float:
    scale = _SECONDS.get(timed.unit.casefold())
    if scale is None:
        raise UnusableError(f"{timed.metric}.unit", timed.unit, "not a unit of time")
    if timed.value is None or timed.value <= 0:
        raise UnusableError(timed.metric, timed.value, "the run's time is not above 0")
    return timed.value * scale


def _started(lines: Sequence[_SampleLine]) -> tuple[datetime, tuple[TrialWarning, ...]]:
    stamps = [line.value for line in lines if line.metric == _STARTED]
    if len(stamps) == 1 and stamps[0] is not None:
        return _moment(stamps[0], _STARTED), ()
    message = (
        "started_at is the time of the first sample, which PerfKitBenchmarker records after "
        "the run; the real start is unknown"
    )
    return min(line.made_at for line in lines), (TrialWarning(UNSTATED, message),)


def _kept(line: _SampleLine, chosen: Mapping[str, Scalar]) -> Sample:
    own = {
        key: value
        for key, value in line.labels.items()
        if key != _VERSION and not (key in chosen and chosen[key] == value)
    }
    return Sample(line.metric, line.value, line.unit, labels=own, missing_reason=line.missing)


def _failure(failed: _SampleLine) -> Failure:
    told = failed.labels
    stage, message = told.get("run_stage") or "run", told.get("error_message") or "no message"
    kind = told.get("failed_substatus") or "workload"
    return Failure(str(kind)[:80], FAILED, f"{stage}: {message}"[:2000])
