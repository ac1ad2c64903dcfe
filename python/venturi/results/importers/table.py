"""Your own trials: any table with one trial a row; columns are guessed, or you name them.

CSV is read here, JSON and Parquet by way of CSV (`table_files.py`).

`venturi import FILE --column elapsed_s=seconds --column input_bytes=input_gb:GB`. Decisions:

- `elapsed_s` is required. `FIELDS` lists the other fields; any other name is a key of the
  configuration. Columns that aren't mapped are configuration keys by their own names.
- A column that is called like a field, or like another word for it, is guessed to be that field.
  Without one for the time, the only column with a unit of time in brackets is the time. A time or
  size without a unit, and two columns for one field, are errors that ask.
- A time may have its unit in the cell: `98.2 s`, `1m38s`, `1:38.2` or `0:01:38`.
- A unit after the column's name scales its numbers: seconds for times, bytes for sizes. Without
  one, the unit is that in the column's name, such as `time (ms)` or `input_gb`.
- A column of units, such as `unit` or `time_unit`, gives each row's unit if the name has none.
- Columns of revisions, builds and notes, such as `commit` or `comment`, are labels: they aren't
  settings.
- A row may have a median or mean of several runs, with a minimum, a maximum or a standard
  deviation: its time is the median, else the mean. Its other statistics are left out. CSV of
  hyperfine and pytest-benchmark is such a table, in seconds.
- `state` reads words such as `ok` and `failed`; `exit_code` is 0 for a success. If one of them
  says that the trial failed, it did. A failed trial may lack a time; if it has one, that is the
  sample `time_to_failure_s`.
- `started_at` is an ISO 8601 date and time. In another form, or without a time zone, it is kept as
  a warning.
- The delimiter is the comma, semicolon, tab or bar that makes a header with these columns.
- Without commas as delimiters, `1.234,5` is a number with a decimal comma; if a table has such
  numbers, `1.234` is 1,234.
- A column of rates or shares, such as `MB/s` or `cpu %`, that has another value in most rows is a
  measurement, and left out.
- Of two columns with one name, the second gets a number. Columns without a name are left out.
- A row is one trial however often it occurs: rows that repeat need a `repetition` or a date.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    CLOCK,
    FAILED,
    SOFTWARE,
    UNSTATED,
    ImportedItem,
    ImportSource,
    Spelling,
    imported_id,
    of_rows,
    unnamed_hosts,
)
from venturi.record.importing.tables import (
    STRAY,
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
    LABEL,
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
from venturi.record.vocabulary import word_of
from venturi.results.importers.column_guesses import (
    DECIMAL_COMMA,
    are_times,
    first_cells,
    label_of,
    measurements,
    numbered,
    parameter_of,
    seconds_of,
    statistics_of,
    with_point,
    with_points,
    words,
)
from venturi.results.importers.hyperfine import template
from venturi.results.importers.table_files import as_csv, header_of_parquet

FORMAT = Format(
    "table",
    "your own table: CSV, JSON or Parquet; see --column",
    pattern=r"(?i)(?:\xef\xbb\xbf)?(?:sep=[^\n]*\n)?(?:[^\n,;\t|{\[]{0,200}\n){0,3}"
    r"(?:(?=[^\n]*[,;\t|])(?:[^\n]*[,;\t|])?[\"\s]*(?:(?:median|mean|avg|average|real|wall|total"
    r"|exec|execution|run)[ _-]?)?(?:elapsed|time|duration|runtime|seconds|secs|wall[ _-]?clock)"
    r"(?![a-z])"
    r"[^\n,;\t|]*(?:[,;\t|][^\n]*)?\n[^\n]*\d"
    r"|(?=[^\n]*(?<![a-z])(?:median|mean|avg|average)(?![a-z]))"
    r"[^\n]*[,;\t|][^\n]*(?<![a-z])(?:min|max|std|stdev|stddev|sd)(?![a-z])[^\n]*\n[^\n]*\d"
    r"|(?=[^\n]*[,;\t|])[^\n]*[(\[](?:[mun]?s|secs?|seconds|min|minutes|h|hours)[)\]][^\n]*\n[^\n]*\d)"
    "|(?:\ufeff)?"
    r"\s*[\[{](?s:.{0,20000}?)\"(?:(?:median|mean|avg|average|real|wall|total|exec|execution|run)"
    r"[ _-]?)?(?:elapsed|time|duration|runtime|seconds|secs|wall[ _-]?clock)(?![a-z])"
    r"[^\"\n]{0,30}\"\s*:\s*[\d.]",
)

__all__ = ["FIELDS", "FORMAT", "header_of_parquet", "read"]

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
_ALIASES: Mapping[str, str] = {
    name: unit
    for unit, names in {
        "ns": "nsec nanoseconds",
        "us": "µs μs usec microseconds",
        "ms": "msec millis milliseconds",
        "s": "sec secs second seconds",
        "min": "m mins minute minutes",
        "h": "hr hrs hour hours",
        "d": "day days",
        "B": "byte bytes",
    }.items()
    for name in names.split()
} | {unit.lower(): unit for unit in _BYTES}
_UNIT_IN_NAME = re.compile(r"(?:.*[\s_(\[])?([A-Za-zµμ]+)\.?[)\]]?")
_LOOKED_AT = 64 << 10
_LABEL_CHARACTERS = 200
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
    file, unreadable = as_csv(file, source)
    yield from unreadable
    lines = file.read(_LOOKED_AT).decode("utf-8-sig", "replace").splitlines()[: STRAY + 1 + 100]
    file.seek(0)
    named = _mapping(columns, source)
    header, guessed = _guessed(lines[: STRAY + 1], named, source)
    given = guessed | named
    delimiter = _delimiter(lines[: STRAY + 1], [column for column, _ in given.values()])
    comma = delimiter != "," and DECIMAL_COMMA.search("\n".join(lines).replace(delimiter, " "))

    def check(header: list[str]) -> None:
        header[:] = numbered(header)
        shown = ", ".join(header)[:1000]
        if "elapsed_s" not in given:
            raise source.malformed(
                f"--column elapsed_s=COLUMN must say which column has the time: {shown}", line=1
            )
        for name, (column, _) in given.items():
            if column not in header:
                raise source.malformed(_why_no_column(name, column, header, shown), line=1)

    cells = first_cells(lines, delimiter, header)
    layout, said = _layout(header, guessed, named, source, cells)
    yield from said
    if comma:
        yield Spelling(1, "numbers", comma[0], with_point(comma[0]))
    found = named_rows(file, source, check, delimiter=delimiter, limits=TableLimits())
    if comma:
        found = (with_points(row) for row in found)
    yield from of_rows(
        found,
        lambda row: [*_contradiction(row, layout.mapping), _trial(row, layout, source)],
        source,
    )


_Mapping = dict[str, tuple[str, float]]
"""Field -> its column and the factor of its unit; 0 for a time with its unit in each cell."""
_Named = dict[str, tuple[str, float | None]]
"""Field -> its column, and the factor of its unit if that is known already."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """The columns of a table: those of fields, `unit` with the unit of each row's time, `middle`
    with a median or mean of several runs, and those that are `left_out`.
    """

    mapping: _Mapping
    unit: str | None
    middle: str | None
    left_out: frozenset[str]


def _layout(
    header: Sequence[str],
    guessed: _Named,
    named: _Named,
    source: ImportSource,
    cells: Mapping[str, Sequence[str]],
) -> tuple[_Layout, list[Spelling]]:
    """Return the layout of a table with `header`, and its guesses; `cells` are the first ones."""
    mapping: _Mapping = {}
    said: list[Spelling] = []
    found = statistics_of(header, map(_bare, header))
    taken = {column for column, _ in (guessed | named).values()}
    if found is not None and not taken & {found.middle, *found.others}:
        found = None
    by_row = found.unit if found else None
    by_row = by_row or next((each for each in header if words(each) in _UNIT_COLUMNS), None)
    for name, (column, factor) in (guessed | named).items():
        unit = _unit_in_name(name, column, source) if factor is None else ""
        in_rows = name == "elapsed_s" and factor is None and not unit and by_row is not None
        in_cell = name == "elapsed_s" and not unit and are_times(cells.get(column, ()))
        if name not in named:
            is_known = bool(unit or in_rows or in_cell or (found and found.seconds))
            if name in _UNITS and not is_known:
                raise source.malformed(_no_unit(name, column), line=1)
            if column != name:
                said.append(Spelling(1, "column", column, name))
        bare = 0.0 if in_cell else 1.0
        mapping[name] = column, factor or _UNITS.get(name, {}).get(unit, bare)
        if unit and unit not in {"s", "B"}:
            said.append(Spelling(1, name, column, unit))
        if name == "elapsed_s" and not in_rows:
            by_row = None
    others = found.others if found else frozenset()
    if by_row is not None:
        others |= {each for each in header if words(each) in _MEASURED}
    others |= measurements(cells)
    left_out = others - {column for column, _ in mapping.values()}
    if left_out:
        shown = ", ".join(each for each in header if each in left_out)
        said.append(Spelling(1, "columns", shown[:200], "measurements, left out"))
    is_middle = found is not None and mapping["elapsed_s"][0] in found.others
    middle = mapping["elapsed_s"][0] if is_middle else None
    return _Layout(mapping, by_row, middle, left_out | ({by_row} if by_row else set())), said


def _mapping(columns: Sequence[str], source: ImportSource) -> _Named:
    """The column of each field, with the factor of its unit if one is given."""
    mapping: _Named = {}
    for each in columns:
        name, equals, column = (part.strip() for part in each.partition("="))
        written, colon, unit = (part.strip() for part in column.rpartition(":"))
        units = _UNITS.get(name, {})
        factor = units.get(_unit(unit)) if colon else None
        if not (name and equals and column) or name in mapping:
            raise source.malformed(
                f"--column {each!r} is not FIELD=COLUMN[:UNIT], or its field is there twice"
            )
        mapping[name] = (column if factor is None else written, factor)
    return mapping


_UNIT_COLUMNS = ("unit", "time unit")
_MEASURED = ("cpu time", "iterations")
"""Columns of Google Benchmark, which gives the unit in a column."""
_ALSO = {
    "workload": (
        *("name", "test", "test name", "benchmark name", "query", "case", "command"),
        "tags.name",
    ),
    "elapsed_s": (
        *("real time", "wall time", "run time", "elapsed time", "execution time", "secs"),
        *("median time", "mean time", "avg time", "average time", "mean runtime"),
        *("wall clock", "wall clock time", "wallclock"),
    ),
    "started_at": ("timestamp", "start time", "datetime"),
    "nodes": ("hosts",),
    "exit_code": ("exit", "exitcode", "exit status", "return code", "returncode", "rc"),
    "state": ("success", "succeeded", "passed", "ok"),
    "repetition": ("run", "iteration", "rep"),
}
"""Further words for fields in tables."""
_SIZES = frozenset({"size", "volume", "data", "dataset", "dataset size", "input volume"})
"""Words for `input_bytes` if a unit follows."""


def _guessed(lines: Sequence[str], named: _Named, source: ImportSource) -> tuple[list[str], _Named]:
    """The header and the column of each field by its name, from the first of `lines` with a column
    of the time, by its name or because it is `named`. Fields and columns of `named` are left out.
    VEN-IMPORT-FORMAT if several may be the time.
    """
    time = named.get("elapsed_s", ("", None))[0]
    for line in lines:
        delimiter = max(_DELIMITERS, key=line.count)
        written = [each.strip() for each in next(csv.reader([line], delimiter=delimiter), [])]
        header = numbered(written)
        found: _Named = {}
        for column in header:
            name = label_of(column) or _field(column) or parameter_of(column)
            if name is not None and name not in found and written.count(column) == 1:
                found[name] = (column, None)
        summary = statistics_of(header, map(_bare, header))
        times = [
            column
            for column, own in zip(header, written, strict=True)
            if _field(own) == "elapsed_s"
        ]
        if not time and summary is None and len(times) > 1 and "elapsed_s" not in times:
            raise source.malformed(
                f"{' and '.join(map(repr, times[:3]))} may all be the time: add --column "
                "elapsed_s=COLUMN",
                line=1,
            )
        if "elapsed_s" not in found and summary is not None:
            found["elapsed_s"] = (summary.middle, None)
        timed = [each for each in header if _is_timed(each)]
        if "elapsed_s" not in found and not time and len(timed) == 1:
            found["elapsed_s"] = (timed[0], None)
        if "elapsed_s" in found or (time and time in header):
            taken = {column for column, _ in named.values()}
            return header, {
                name: each
                for name, each in found.items()
                if name not in named and each[0] not in taken
            }
    return [], {}


def _no_unit(name: str, column: str) -> str:
    units = ", ".join(_UNITS[name])
    option = quote(f"{name}={column}:UNIT")
    return f"column {column!r} has no unit: add --column {option}, one of {units}"


def _field(column: str) -> str | None:
    """The field that a column's name means; None for a key of the configuration."""
    for name in (column, _bare(column)):
        word, own_words = word_of(name), words(name)
        recorded = () if word is None else word.names
        for field in FIELDS:
            own = field in recorded or own_words == field.replace("_", " ")
            if own or own_words in _ALSO.get(field, ()):
                return field
    unit = _UNIT_IN_NAME.fullmatch(column)
    is_size = words(_bare(column)) in _SIZES and unit is not None and _unit(unit[1]) in _BYTES
    return "input_bytes" if is_size and column != _bare(column) else None


def _is_timed(column: str) -> bool:
    """Whether a column's name ends with a unit of time in brackets."""
    unit = _UNIT_IN_NAME.fullmatch(column) if column.endswith((")", "]")) else None
    return unit is not None and _unit(unit[1]) in _SECONDS


def _bare(column: str) -> str:
    """A column's name without its unit."""
    unit = _UNIT_IN_NAME.fullmatch(column)
    if unit is not None and _unit(unit[1]) in {*_SECONDS, *_BYTES} and unit.start(1):
        return column[: unit.start(1)].rstrip(" _([")
    return column


def _unit(written: str) -> str:
    """Return a unit as `_UNITS` has it; `Gb` is no GB, but a gigabit."""
    if written[:1].isupper() and written[1:] in {"b", "ib"}:
        return written
    return _ALIASES.get(written.lower(), written.lower())


def _why_no_column(name: str, column: str, header: Sequence[str], shown: str) -> str:
    written, colon, unit = (part.strip() for part in column.rpartition(":"))
    if not colon or written not in header:
        return f"wrong header: no column {column!r}: {shown}"
    if name not in _UNITS:
        return f"{name} takes no unit, such as {unit!r}: only {' and '.join(_UNITS)} do"
    return f"{unit!r} is not a unit of {name}: use {', '.join(_UNITS[name])}"


def _unit_in_name(name: str, column: str, source: ImportSource) -> str:
    """Return the unit that a column's name ends with; "" if it has none."""
    found = _UNIT_IN_NAME.fullmatch(column)
    unit = "" if found is None else _unit(found[1])
    if unit == "min" and column.casefold().endswith(("_min", "_m")):
        raise source.malformed(
            f"{column!r} may be minutes or a minimum: add the unit, as {name}={column}:min or "
            f"{name}={column}:s"
        )
    return unit if unit in _UNITS.get(name, {}) else ""


def _delimiter(lines: Sequence[str], columns: Sequence[str]) -> str:
    """Return the delimiter that makes one of `lines` a header with `columns`."""
    for line in lines:
        for each in _DELIMITERS:
            fields = {field.strip().strip('"') for field in line.split(each)}
            if len(fields) > 1 and fields.issuperset(columns):
                return each
    return max(_DELIMITERS, key="".join(lines[:1]).count)


def _trial(row: TableRow, layout: _Layout, source: ImportSource) -> Trial:
    mapping = layout.mapping

    def named(name: str) -> str | None:
        column = mapping.get(name, ("", 1.0))[0]
        return row.fields.get(column) or None

    column, factor = mapping["elapsed_s"]
    failure = _failure(row, mapping)
    given = bool(row.fields[column])
    elapsed_s = _time(row, column, factor) if given or failure is None else None
    if elapsed_s is not None and layout.unit is not None:
        elapsed_s *= _seconds(row, layout.unit)
    nodes = _whole(row, mapping, "nodes")
    started_at, warnings = _started_at(row, mapping)
    if layout.middle is not None:
        message = f"its time is the {layout.middle} of several runs; the table lacks their times"
        warnings = (*warnings, TrialWarning(UNSTATED, message))
    chosen, labels = _others(row, layout)
    if nodes is not None:
        chosen["nodes"] = nodes
    machine = named("instance_type")
    ended: tuple[Sample, ...] = ()
    if failure is not None and elapsed_s is not None:
        ended = (Sample("time_to_failure_s", elapsed_s, "s"),)
    return Trial(
        id=imported_id("table", *sorted(mapping), *(f"{k}={v}" for k, v in row.fields.items())),
        workload=Workload(
            template(named("workload") or "unknown", _parameters(row, mapping)),
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
        labels=labels,
    )


def _time(row: TableRow, column: str, factor: float) -> float:
    found = seconds_of(row.fields[column])
    if found is None and not factor:
        raise UnreadableError(row.refuse(column, "a time without a unit"))
    return found or number(row, column, above=0) * factor


def _others(row: TableRow, layout: _Layout) -> tuple[dict[str, Scalar], dict[str, str]]:
    """The configuration and the labels that a row gives."""
    mapped = {column for column, _ in layout.mapping.values()} | layout.left_out
    others = {name: column for name, (column, _) in layout.mapping.items() if name not in FIELDS}
    chosen = {name: _value(row, name) for name in row.fields if name and name not in mapped}
    chosen |= {
        name: _value(row, column) for name, column in others.items() if not name.startswith(LABEL)
    }
    labels = {
        name.removeprefix(LABEL): row.fields[column][:_LABEL_CHARACTERS]
        for name, column in others.items()
        if name.startswith(LABEL) and row.fields[column]
    }
    return chosen, labels


def _parameters(row: TableRow, mapping: _Mapping) -> dict[str, Scalar]:
    return {
        name: row.fields[column]
        for name, (column, _) in mapping.items()
        if parameter_of(column) == name
    }


def _seconds(row: TableRow, column: str) -> float:
    """The seconds in the unit that `column` names; UnreadableError if it isn't a unit of time."""
    factor = _SECONDS.get(_unit(row.fields[column]))
    if factor is None:
        raise UnreadableError(row.refuse(column, "not a unit of time"))
    return factor


def _whole(row: TableRow, mapping: _Mapping, name: str) -> int | None:
    if name not in mapping or not row.fields[mapping[name][0]]:
        return None
    column, factor = mapping[name]
    if name == "nodes":
        return whole(row, column, least=1, most=10_000)
    if name == "repetition":
        return whole(row, column, most=1 << 31)
    return round(number(row, column, least=0, most=float(1 << 53) / factor) * factor)


def _failure(row: TableRow, mapping: _Mapping) -> Failure | None:
    """Return how the trial failed, None for a success; UnreadableError if neither is clear.

    If the state and the exit code contradict each other, it failed, and the message says so.
    """
    code, state = _exit_code(row, mapping), _state(row, mapping)
    written = "" if state is None else row.fields[mapping["state"][0]]
    if code:
        although = f", although the table says {written}" if state is True else ""
        return Failure("workload", FAILED, f"exit code {code}{although}")
    if state is False:
        although = "" if code is None else ", although the exit code is 0"
        return Failure("workload", FAILED, f"the table says {written}{although}")
    return None


def _exit_code(row: TableRow, mapping: _Mapping) -> int | None:
    if "exit_code" not in mapping:
        return None
    return whole(row, mapping["exit_code"][0], least=-(1 << 31))


def _state(row: TableRow, mapping: _Mapping) -> bool | None:
    """Whether the state is a success; None without a state."""
    if "state" not in mapping:
        return None
    column = mapping["state"][0]
    written = text(row, column).casefold()
    if written not in _SUCCEEDED | _FAILED:
        raise UnreadableError(row.refuse(column, "neither a success nor a failure"))
    return written in _SUCCEEDED


def _contradiction(row: TableRow, mapping: _Mapping) -> Iterator[Spelling]:
    """The state that the exit code contradicts, as it is taken."""
    code, state = _exit_code(row, mapping), _state(row, mapping)
    if code is not None and state is not None and (code == 0) != state:
        column = mapping["state"][0]
        said = f"failed: it contradicts the exit code {code}"
        yield Spelling(row.line, column, row.fields[column], said)


def _started_at(
    row: TableRow, mapping: _Mapping
) -> tuple[datetime | None, tuple[TrialWarning, ...]]:
    column = mapping.get("started_at", ("", 1.0))[0]
    written = row.fields.get(column)
    if not written:
        return None, ()
    try:
        found = datetime.fromisoformat(written)
    except ValueError:
        found = None
    if found is not None and found.tzinfo is not None:
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
