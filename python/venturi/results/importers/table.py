"""Your own trials: any table with one trial a row; you say which column is which field.

`venturi import table FILE --column elapsed_s=seconds --column input_bytes=input_gb:GB`. Decisions:

- `elapsed_s` is required. `FIELDS` lists the other fields; any other name is a key of the
  configuration. Columns that aren't mapped are configuration keys by their own names.
- A unit after the column's name scales its numbers: seconds for times, bytes for sizes.
- `state` reads words such as `ok` and `failed`; `exit_code` is 0 for a success. A failed trial may
  lack a time; if it has one, that is the sample `time_to_failure_s`.
- `started_at` is an ISO 8601 date and time. Without a time zone it is kept as a warning.
- The delimiter is the comma, semicolon, tab or bar that the header has most often.
- A row is one trial however often it occurs: rows that repeat need a `repetition` or a date.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    CLOCK,
    FAILED,
    SOFTWARE,
    ImportedItem,
    ImportSource,
    imported_id,
    of_rows,
    unnamed_hosts,
)
from venturi.record.importing.tables import (
    TableLimits,
    TableRow,
    UnreadableError,
    named_rows,
    number,
    plain,
    text,
    whole,
)
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

FORMAT = Format("table", "your own table: CSV with --column FIELD=COLUMN for each field")

FIELDS = (
    "elapsed_s",
    "workload",
    "engine",
    "engine_version",
    "nodes",
    "instance_type",
    "input_bytes",
    "input_records",
    "repetition",
    "started_at",
    "state",
    "exit_code",
)
"""Fields of a trial that a column can give."""
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}
_BYTES = {"B": 1} | {
    f"{letter}{i}B": (1024 if i else 1000) ** power
    for power, letter in enumerate("KMGTP", start=1)
    for i in ("", "i")
}
_UNITS: Mapping[str, Mapping[str, float]] = {"elapsed_s": _SECONDS, "input_bytes": _BYTES}
_DELIMITERS = ",;\t|"
_SUCCEEDED = frozenset(
    {"ok", "success", "successful", "succeeded", "passed", "pass", "done", "completed", "finished"}
    | {"true", "yes"}
)
_FAILED = frozenset(
    {"failed", "fail", "failure", "error", "killed", "timeout", "timed out", "oom", "aborted"}
    | {"crashed", "cancelled", "canceled", "lost", "false", "no"}
)


def read(
    file: BinaryIO, source: ImportSource, columns: Sequence[str] = ()
) -> Iterator[ImportedItem]:
    """Yield the trials of a table, with refused rows; `columns` are texts FIELD=COLUMN[:UNIT]."""
    first = file.readline(TableLimits().line_bytes).decode("utf-8", "replace")
    file.seek(0)
    delimiter = max(_DELIMITERS, key=first.count)
    mapping = _mapping(columns, source)

    def check(header: list[str]) -> None:
        shown = ", ".join(header)[:1000]
        missing = [name for name, _ in mapping.values() if name not in header]
        if "elapsed_s" not in mapping:
            raise source.malformed(
                f"--column elapsed_s=COLUMN must say which column has the time: {shown}", line=1
            )
        if missing or len(set(header)) < len(header) or not all(header):
            why = f"no column {missing[0]!r}" if missing else "a column is twice or has no name"
            raise source.malformed(f"wrong header: {why}: {shown}", line=1)

    found = named_rows(file, source, check, delimiter=delimiter, limits=TableLimits())
    return of_rows(found, lambda row: [_trial(row, mapping, source)], source)


_Mapping = dict[str, tuple[str, float]]
"""Field -> its column and the factor of its unit."""


def _mapping(columns: Sequence[str], source: ImportSource) -> _Mapping:
    mapping: _Mapping = {}
    for each in columns:
        name, equals, column = (part.strip() for part in each.partition("="))
        units = _UNITS.get(name, {})
        written, colon, unit = column.rpartition(":")
        factor = 1.0
        if colon and unit.strip() in units:
            column, factor = written.strip(), units[unit.strip()]
        if not (name and equals and column) or name in mapping:
            raise source.malformed(
                f"--column {each!r} is not FIELD=COLUMN[:UNIT], or its field is there twice"
            )
        mapping[name] = (column, factor)
    return mapping


def _trial(row: TableRow, mapping: _Mapping, source: ImportSource) -> Trial:
    def named(name: str) -> str | None:
        column = mapping.get(name, ("", 1.0))[0]
        return row.fields.get(column) or None

    column, factor = mapping["elapsed_s"]
    failure = _failure(row, mapping)
    given = bool(row.fields[column])
    elapsed_s = number(row, column, above=0) * factor if given or failure is None else None
    nodes = _whole(row, mapping, "nodes")
    started_at, warnings = _started_at(row, mapping)
    mapped = {each for each, _ in mapping.values()}
    chosen: dict[str, Scalar] = {
        name: _value(row, name) for name in row.fields if name not in mapped
    }
    chosen |= {
        name: _value(row, column) for name, (column, _) in mapping.items() if name not in FIELDS
    }
    if nodes is not None:
        chosen["nodes"] = nodes
    machine = named("instance_type")
    ended: tuple[Sample, ...] = ()
    if failure is not None and elapsed_s is not None:
        ended = (Sample("time_to_failure_s", elapsed_s, "s"),)
    return Trial(
        id=imported_id("table", *sorted(mapping), *(f"{k}={v}" for k, v in row.fields.items())),
        workload=Workload(
            named("workload") or "unknown",
            "table",
            input_bytes=_whole(row, mapping, "input_bytes"),
            input_records=_whole(row, mapping, "input_records"),
        ),
        engine=Engine(named("engine") or "unknown", named("engine_version") or "unknown"),
        cluster=Cluster(
            unnamed_hosts(f"table-{machine or 'unknown'}", nodes or 0, {}), instance_type=machine
        ),
        configuration=chosen,
        software=SOFTWARE,
        provenance=source.provenance("table"),
        started_at=started_at,
        state=State.SUCCEEDED if failure is None else State.FAILED,
        repetition=_whole(row, mapping, "repetition") or 0,
        elapsed_s=elapsed_s if failure is None else None,
        samples=ended,
        warnings=warnings,
        failure=failure,
    )


def _whole(row: TableRow, mapping: _Mapping, name: str) -> int | None:
    if name not in mapping or not row.fields[mapping[name][0]]:
        return None
    column, factor = mapping[name]
    if name in {"nodes", "repetition"}:
        return whole(row, column, most=10_000 if name == "nodes" else 1 << 31)
    return round(number(row, column, least=0, most=float(1 << 53) / factor) * factor)


def _failure(row: TableRow, mapping: _Mapping) -> Failure | None:
    """Return how the trial failed, None for a success; UnreadableError if neither is clear."""
    if "exit_code" in mapping:
        code = whole(row, mapping["exit_code"][0], least=-(1 << 31))
        if code != 0:
            return Failure("workload", FAILED, f"exit code {code}")
    if "state" not in mapping:
        return None
    column = mapping["state"][0]
    written = text(row, column)
    if written.casefold() in _SUCCEEDED:
        return None
    if written.casefold() not in _FAILED:
        raise UnreadableError(row.refuse(column, "neither a success nor a failure"))
    return Failure("workload", FAILED, f"the table says {written}")


def _started_at(
    row: TableRow, mapping: _Mapping
) -> tuple[datetime | None, tuple[TrialWarning, ...]]:
    column = mapping.get("started_at", ("", 1.0))[0]
    written = row.fields.get(column)
    if not written:
        return None, ()
    try:
        found = datetime.fromisoformat(written)
    except ValueError as error:
        raise UnreadableError(row.refuse(column, "not an ISO 8601 date")) from error
    if found.tzinfo is not None:
        return found, ()
    message = f"it began at {written}, in a time zone that the source doesn't state"
    return None, (TrialWarning(CLOCK, message),)


def _value(row: TableRow, column: str) -> Scalar:
    """Return a cell of the configuration: a number where it is one and reads back the same."""
    written = row.fields[column]
    if not written:
        return None
    try:
        value = plain(number(row, column))
    except UnreadableError:
        return written
    return value if str(value) == written else written
