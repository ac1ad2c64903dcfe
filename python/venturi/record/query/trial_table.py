"""Trials as tables: columns have the same order and types in every format.

`trial_table` has one row per trial: the columns of queries, then its configuration, phases and
samples, each by name. A phase or sample has its unit in its name: `phase map [s]`, `bytes_read
[B]`, `map: tasks [1]` (of a phase). Measurements with several values per trial, by device or
iteration, don't fit in one row: `sample_table` has a row for each sample.

Missing values are null; `TrialTable.parts` has the reason where one is recorded.
"""

from __future__ import annotations

import json
import zlib
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa
from pydantic_core import from_json

from venturi.core.wording import did_you_mean
from venturi.record.query.checks import require_keys
from venturi.record.query.conditions import COLUMNS, PREFIX, refused
from venturi.record.query.selection import Query, covering, rules_of, where
from venturi.record.store.repository import TrialRepository
from venturi.record.store.tables import RECORDS, TRIALS, shown_moment, text_of

if TYPE_CHECKING:
    import polars as pl

COLUMNS_MAX = 1_000
_TRIALS_A_STEP = 1_000
_EXACT = 2**53  # whole numbers up to here are exact as floating-point ones

Kind = Literal["text", "integer", "number", "flag", "moment"]
Progress = Callable[[int, int | None], None]
Reasons = Mapping[str, str]
_Slot = tuple[str, ...]
_OWN = ("excluded", "missing")  # names that are neither a column's to ask for nor a setting's


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column's name, and the kind of all its values."""

    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class TrialTable:
    """`rows` rows of `columns`. Rows are cached in compressed form, at about 100 bytes each.

    `labelled` counts the trials with samples that only `sample_table` has, `left_out` the columns
    that didn't fit. Trials that are `unreadable` have no row.
    """

    columns: tuple[TableColumn, ...]
    rows: int
    labelled: int
    left_out: int
    _read: Callable[[], Iterator[tuple[list[list[Any]], list[Reasons]]]] = field(repr=False)
    unreadable: tuple[str, ...] = ()

    @property
    def schema(self) -> Mapping[str, pl.DataType | type[pl.DataType]]:
        """The columns and their types for Polars."""
        from venturi.record.store.frames import pl

        types: Mapping[Kind, pl.DataType | type[pl.DataType]] = {
            "text": pl.String,
            "integer": pl.Int64,
            "number": pl.Float64,
            "flag": pl.Boolean,
            "moment": pl.Datetime("us", "UTC"),
        }
        return {column.name: types[column.kind] for column in self.columns}

    def parts(self) -> Iterator[tuple[pl.DataFrame, list[Reasons]]]:
        """The rows in parts, and for each row the reasons for missing values, by column."""
        from venturi.record.store.frames import pl

        schema = self.schema
        for rows, reasons in self._read():
            yield pl.DataFrame(rows, schema=schema, orient="row"), reasons


def trial_table(
    repository: TrialRepository,
    query: Query,
    *,
    columns: Sequence[str] = (),
    most: int | None = None,
    progress: Progress = lambda _done, _total: None,
) -> TrialTable:
    """The trials of `query` as they are now, newest first (undated ones last); at most `most`.

    `columns` chooses by name; one of nothing that is recorded is VEN-QUERY-VALUE, and so are more
    than 1,000. By default they are all, or of more the 1,000 that most trials have: one trial of
    odd columns must not keep the others from being tabled.
    """
    survey = _ColumnSurvey()
    pieces: list[bytes] = []
    unreadable: list[str] = []
    for trials in _read(repository, query, most, progress):
        found = []
        for columns_of, record in trials:
            try:
                found.append(survey.row(columns_of, from_json(record)))
            except _UNREADABLE:
                unreadable.append(columns_of["id"])
        pieces.append(_packed(found))
    slots = survey.slots
    named = _named(slots)
    if columns:
        chosen = {name: _slot_of(repository, name, named) for name in dict.fromkeys(columns)}
    else:
        chosen = survey.most_frequent(named)
    if len(chosen) > COLUMNS_MAX:
        raise refused(
            f"{len(chosen):,} columns; at most {COLUMNS_MAX:,} are possible",
            "columns",
            "choose some by their names, such as id and elapsed_s",
        )
    made = tuple(TableColumn(name, survey.kind(slot)) for name, slot in chosen.items())
    places = [slots.get(slot, -1) for slot in chosen.values()]
    texts = [column.kind == "text" for column in made]

    def read() -> Iterator[tuple[list[list[Any]], list[Reasons]]]:
        for piece in pieces:
            rows: list[list[Any]] = []
            reasons: list[Reasons] = []
            for values, missing in _unpacked(piece):
                found = {int(place): value for place, value in values.items()}
                rows.append(
                    [
                        _text(value) if text else value
                        for text, value in zip(texts, map(found.get, places), strict=True)
                    ]
                )
                reasons.append(
                    {
                        name: missing[str(place)]
                        for name, place in zip(chosen, places, strict=True)
                        if str(place) in missing
                    }
                )
            _as_moments(made, rows)
            yield rows, reasons

    left_out = 0 if columns else len(named) - len(chosen)
    return TrialTable(made, survey.rows, survey.labelled, left_out, read, tuple(unreadable))


# Exceptions from an invalid record: not JSON, or not of a record's shape.
_UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)

SAMPLE_COLUMNS = tuple(
    TableColumn(name, "number" if name == "value" else "text")
    for name in ("id", "metric", "phase", "labels", "value", "unit", "missing_reason")
)


def sample_table(
    repository: TrialRepository,
    query: Query,
    *,
    most: int | None = None,
    progress: Progress = lambda _done, _total: None,
) -> TrialTable:
    """The samples of the trials of `query`, a row each, under the trial's `id`.

    `labels`, which distinguish samples of one metric, are a JSON object.
    """
    pieces, rows = [], 0
    unreadable: list[str] = []
    for trials in _read(repository, query, most, progress):
        found: list[Any] = []
        for columns, record in trials:
            try:
                found += [_sample(columns["id"], each) for each in from_json(record)["samples"]]
            except _UNREADABLE:
                unreadable.append(columns["id"])
        rows += len(found)
        pieces.append(_packed(found))

    def read() -> Iterator[tuple[list[list[Any]], list[Reasons]]]:
        for piece in pieces:
            rows = _unpacked(piece)
            yield rows, [{"value": row[-1]} if row[-1] else {} for row in rows]

    return TrialTable(SAMPLE_COLUMNS, rows, 0, 0, read, tuple(unreadable))


def _sample(id_: str, sample: Mapping[str, Any]) -> list[Any]:
    labels = json.dumps(sample["labels"], ensure_ascii=False, sort_keys=True)
    texts = [sample["metric"], sample["phase"], labels, sample["unit"], sample["missing_reason"]]
    metric, phase, plain, unit, reason = map(_text, texts)
    return [id_, metric, phase, plain, sample["value"], unit, reason]


def _read(
    repository: TrialRepository, query: Query, most: int | None, progress: Progress
) -> Iterator[Iterable[tuple[dict[str, Any], str]]]:
    """The trials' columns and stored records in parts, all from one state of the repository."""
    newest_first = (TRIALS.c.started_at_us.desc().nulls_last(), TRIALS.c.id.desc())
    with repository.reading() as connection:
        rules = rules_of(connection)
        heeded = () if query.with_excluded else rules
        chosen = sa.select(TRIALS.c.serial).where(*where(query.conditions, heeded))
        ordered = connection.execute(chosen.order_by(*newest_first).limit(most)).scalars()
        serials = array("q", ordered)
        remaining = iter(serials)
        done = 0
        while step := list(islice(remaining, _TRIALS_A_STEP)):
            progress(done, len(serials))
            statement = (
                sa.select(TRIALS.c.serial, RECORDS.c.record, *COLUMNS.values())
                .join(RECORDS, RECORDS.c.id == TRIALS.c.id)
                .where(TRIALS.c.serial.in_(step))
            )
            found = {serial: row for serial, *row in connection.execute(statement)}
            step = [serial for serial in step if serial in found]
            ids = [found[serial][1] for serial in step]
            excluded = covering(connection, rules, ids) if query.with_excluded else {}
            trials = []
            for serial, id_ in zip(step, ids, strict=True):
                record, *values = found[serial]
                columns = dict(zip(COLUMNS, values, strict=True))
                columns["excluded"] = next(iter(excluded.get(id_, ())), None)
                trials.append((columns, record))
            yield trials
            done += len(step)
        progress(done, len(serials))


def _packed(rows: list[Any]) -> bytes:
    return zlib.compress(json.dumps(rows).encode(), 1)


def _unpacked(piece: bytes) -> Any:
    return json.loads(zlib.decompress(piece))


class _ColumnSurvey:
    """The columns that trials have and their kinds, updated trial by trial."""

    def __init__(self) -> None:
        self.slots: dict[_Slot, int] = {
            ("column", str(name)): place for place, name in enumerate((*COLUMNS, "excluded"))
        }
        self.rows = self.labelled = 0
        self._kinds: dict[_Slot, set[str]] = {}
        self._trials: Counter[int] = Counter()

    def most_frequent(self, named: Mapping[str, _Slot]) -> dict[str, _Slot]:
        """At most 1,000 of `named`, in its order: those that most trials have."""
        places = {name: self.slots[slot] for name, slot in named.items()}
        own = len(COLUMNS) + 1
        kept = sorted(named, key=lambda name: (places[name] >= own, -self._trials[places[name]]))
        some = set(kept[:COLUMNS_MAX])
        return {name: slot for name, slot in named.items() if name in some}

    def row(
        self, columns: Mapping[str, Any], record: Mapping[str, Any]
    ) -> tuple[dict[int, Any], dict[int, str]]:
        """The values of a trial, and the reasons for missing ones, by the places of their slots."""
        measured_of = _measured(record)
        values = {place: value for place, value in enumerate(columns.values()) if value is not None}
        reasons = {
            self.slots["column", name]: reason
            for name, reason in _why_missing(columns, record.get("failure"))
        }
        for key, value in record["configuration"].items():
            if value is not None:
                slot = "configuration", key
                self._kinds.setdefault(slot, set()).add(_kind(value))
                values[self._place(slot)] = value
        for measured, found in measured_of.items():
            place = self._place(measured)
            if len(found) > 1:
                reasons[place] = f"{len(found)} were recorded"
            elif found[0][0] is None:
                reasons[place] = str(found[0][1])
            else:
                values[place] = float(found[0][0])
        self.labelled += any(sample["labels"] for sample in record["samples"])
        self.rows += 1
        self._trials.update(values.keys())
        self._trials.update(reasons.keys())
        return values, reasons

    def _place(self, slot: _Slot) -> int:
        return self.slots.setdefault(slot, len(self.slots))

    def kind(self, slot: _Slot) -> Kind:
        """The kind of all values of `slot`."""
        if slot[0] == "column":
            column = COLUMNS.get(slot[1])
            if column is TRIALS.c.started_at_us:
                return "moment"
            kinds: Mapping[type, Kind] = {int: "integer", float: "number", bool: "flag"}
            return "text" if column is None else kinds.get(column.type.python_type, "text")
        if slot[0] != "configuration":
            return "number"
        found = self._kinds.get(slot, {"text"})
        if found <= {"exact", "integer"}:
            return "integer"
        if found <= {"exact", "number"}:
            return "number"
        return "flag" if found == {"flag"} else "text"


def _why_missing(
    columns: Mapping[str, Any], failure: Mapping[str, Any] | None
) -> Iterator[tuple[str, str]]:
    if columns["elapsed_s"] is None:
        yield "elapsed_s", failure["message"] if failure else f"the trial is {columns['state']}"
    if columns["started_at"] is None:
        yield "started_at", "its source doesn't state it"


def _measured(record: Mapping[str, Any]) -> dict[_Slot, list[tuple[float | None, str | None]]]:
    """Values and reasons that were measured for the trial, or for a phase, as a whole."""
    found: dict[_Slot, list[tuple[float | None, str | None]]] = {}
    for phase in record["phases"]:
        found.setdefault(("phase", phase["name"]), []).append((phase["elapsed_s"], None))
    for sample in record["samples"]:
        if not sample["labels"]:
            slot = ("sample", sample["phase"] or "", sample["metric"], sample["unit"])
            found.setdefault(slot, []).append((sample["value"], sample["missing_reason"]))
    return found


def _kind(value: object) -> str:
    if isinstance(value, bool):
        return "flag"
    if isinstance(value, int):
        if abs(value) <= _EXACT:
            return "exact"
        return "integer" if -(2**63) <= value < 2**63 else "text"
    return "number" if isinstance(value, float) else "text"


def _text(value: object) -> str | None:
    """A value as text: a configuration's numbers as they are searched for, no NUL."""
    if value is None:
        return None
    return text_of(value) if isinstance(value, bool | float) else str(value).replace("\0", "\u2400")


def _as_moments(columns: Sequence[TableColumn], rows: list[list[Any]]) -> None:
    for place, column in enumerate(columns):
        if column.kind == "moment":
            for row in rows:
                row[place] = shown_moment(row[place])


def _named(slots: Iterable[_Slot]) -> dict[str, _Slot]:
    """A name for each slot, in the order of columns: no two have one, whatever they are called."""
    named: dict[str, _Slot] = {}
    order = ("column", "configuration", "phase", "sample")
    for slot in sorted(slots, key=lambda each: (order.index(each[0]), each[1:])):
        if slot[0] != "column":
            number, name = 1, _name(slot)
            while name in named:
                number += 1
                name = _name(slot, f" #{number}")
            named[name] = slot
    # Columns as the record has them.
    return {str(name): ("column", str(name)) for name in (*COLUMNS, "excluded")} | named


def _name(slot: _Slot, mark: str = "") -> str:
    """Mark a duplicate name with `mark`, before the unit if it has one."""
    kind, *parts = (str(_text(part)) for part in slot)
    if kind == "configuration":
        (key,) = parts
        taken = key in (*COLUMNS, *_OWN) or key.startswith(PREFIX) or key.endswith("]")
        return (PREFIX + key if taken else key) + mark
    if kind == "phase":
        return f"phase {parts[0]}{mark} [s]"
    phase, metric, unit = parts
    return f"{phase}: {metric}{mark} [{unit}]" if phase else f"{metric}{mark} [{unit}]"


def _slot_of(repository: TrialRepository, name: str, named: Mapping[str, _Slot]) -> _Slot:
    """Return the slot of the column with a user-given name."""
    found = named.get(name)
    if found is None and name.endswith("]"):
        hint = did_you_mean(name, [each for each in named if each.endswith("]")])
        raise refused(f"no selected trial has {name!r}", name, hint)
    if found is None:
        (key,) = require_keys(repository, (name,))
        if key in COLUMNS:
            return ("column", key)
        key = key.removeprefix(PREFIX)
        # A long key has the name by which it is searched.
        keys = (slot for slot in named.values() if slot[0] == "configuration")
        found = next((slot for slot in keys if text_of(slot[1]) == text_of(key)), None)
        return found or ("configuration", key)
    return found
