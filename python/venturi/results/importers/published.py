"""Figures printed in publications, one trial a row: Venturi's own format, and its shipped tables.

A tidy CSV. A row is one printed figure, so one trial, also where it stands for several executions:
`statistic` says which figure it is (`single`, `best`, `mean of 5`, `not stated`, `advertised` by a
data sheet, or `sum of stages` where only the parts are printed). It is in the configuration, and in
a warning of each trial.
`source` (authors and year) and `place` (table, figure or section) together are the provenance.

Columns that begin with `configuration.` are settings, `host.` are facts of each machine,
`software.` are versions, and `sample.METRIC.UNIT`, `sample.METRIC.UNIT.STAGE` or
`sample.METRIC.UNIT.LABEL=VALUE` are other figures. An empty field is a value that the publication
does not state; without a time, a row needs another figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    SOFTWARE,
    ImportedItem,
    ImportSource,
    imported_id,
    of_rows,
    unnamed_hosts,
)
from venturi.record.importing.tables import (
    TableRow,
    UnreadableError,
    number,
    plain,
    rows,
    text,
    whole,
)
from venturi.record.store.tables import number_of
from venturi.record.trial import (
    Cluster,
    Engine,
    Sample,
    Scalar,
    State,
    Trial,
    TrialWarning,
    Workload,
)

FORMAT = Format(
    "published",
    "figures from publications, a tidy CSV; without FILE, the shipped ones",
    columns=("source", "place", "statistic"),
)

PUBLISHED = "VEN-IMPORT-PUBLISHED"
"""The code of the warnings that explain a printed figure."""

_COLUMNS = (
    "source",
    "place",
    "workload",
    "input_bytes",
    "input_records",
    "engine",
    "engine_version",
    "cluster",
    "hosts",
    "instance_type",
    "network",
    "elapsed_s",
    "cost_usd",
    "statistic",
    "note",
)
_GROUPS = ("configuration.", "host.", "software.", "sample.")
_STATISTIC = re.compile(r"single|best|not stated|advertised|sum of stages|mean of ([1-9][0-9]?)")
_STANDS_FOR = {
    "single": "the figure of one execution",
    "best": "the best of several executions; their spread is not printed",
    "not stated": "the number of executions is not stated",
    "advertised": "a figure of a data sheet, not measured",
    "sum of stages": "the sum of the durations of its stages; the total time is not printed",
}


def read(file: BinaryIO, source: ImportSource) -> Iterator[ImportedItem]:
    """Yield the trials of a table of published figures, and the refused rows."""
    return of_rows(rows(file, source, _COLUMNS, None), lambda row: [_trial(row, source)], source)


def _check_columns(row: TableRow, source: ImportSource) -> None:
    for name in row.fields:
        if name in _COLUMNS:
            continue
        parts = _parts(name)
        sound = name.startswith(_GROUPS) and all(parts) and len(parts) <= 4
        if not sound or (parts[0] == "sample") != (len(parts) > 2):
            message = f"wrong header: unknown: {name[:80]!r}"
            raise source.malformed(message, line=1, field=name[:80])


def _parts(name: str) -> list[str]:
    """The parts of a column's name; a label may have dots."""
    labeled = name.startswith("sample.") and "=" in name
    return name.split(".", 3) if labeled else name.split(".")


def _trial(row: TableRow, source: ImportSource) -> Trial:
    _check_columns(row, source)
    publication, place = text(row, "source"), text(row, "place")
    identity = (f"{name}={value}" for name, value in sorted(row.fields.items()) if name != "note")
    provenance = source.provenance(f"{publication}, {place}")
    samples, timed = _samples(row), bool(row.fields["elapsed_s"])
    return Trial(
        id=imported_id("published", *identity),
        workload=Workload(
            name=text(row, "workload"),
            version=f"published: {publication}",
            input_bytes=_whole_or_none(row, "input_bytes"),
            input_records=_whole_or_none(row, "input_records"),
        ),
        engine=Engine(text(row, "engine"), row.fields["engine_version"] or "unknown"),
        cluster=Cluster(
            unnamed_hosts(
                text(row, "cluster"),
                whole(row, "hosts", least=1, most=10_000),
                _values(row, "host."),
            ),
            instance_type=row.fields["instance_type"] or None,
            network=row.fields["network"] or None,
        ),
        configuration={
            **_values(row, "configuration."),
            "published_statistic": text(row, "statistic"),
        },
        software=replace(SOFTWARE, others=_texts(row, "software.")),
        provenance=provenance,
        started_at=None,
        state=State.SUCCEEDED,
        elapsed_s=number(row, "elapsed_s", above=0) if timed or not samples else None,
        samples=samples,
        warnings=_warnings(row),
    )


def _whole_or_none(row: TableRow, column: str) -> int | None:
    return whole(row, column, least=1) if row.fields[column] else None


def _texts(row: TableRow, group: str) -> dict[str, str]:
    return {
        name.removeprefix(group): value
        for name, value in row.fields.items()
        if name.startswith(group) and value
    }


def _values(row: TableRow, group: str) -> Mapping[str, Scalar]:
    """The columns of `group`: true or false, a number where one stands, otherwise text."""
    return {name: _value(written) for name, written in _texts(row, group).items()}


def _value(written: str) -> Scalar:
    if written in {"true", "false"}:
        return written == "true"
    value = number_of(written)
    return written if value is None else plain(value)


def _samples(row: TableRow) -> tuple[Sample, ...]:
    found = []
    if row.fields["cost_usd"]:
        found.append(Sample("cost_usd", number(row, "cost_usd", above=0), "USD"))
    for name in row.fields:
        if name.startswith("sample.") and row.fields[name]:
            _, metric, unit, *of = _parts(name)
            key, equals, value = of[0].partition("=") if of else ("", "", "")
            labels: Mapping[str, Scalar] = {key: value} if equals else {"stage": key} if key else {}
            found.append(Sample(metric, number(row, name), unit, labels=labels))
    return tuple(found)


def _warnings(row: TableRow) -> tuple[TrialWarning, ...]:
    statistic = text(row, "statistic")
    match = _STATISTIC.fullmatch(statistic)
    if match is None:
        raise UnreadableError(row.refuse("statistic", "not a known statistic"))
    stands_for = _STANDS_FOR.get(statistic) or (
        f"the mean of {match[1]} executions; their spread is not printed"
    )
    said = [f"published: {stands_for}", *filter(None, [row.fields["note"]])]
    return tuple(TrialWarning(PUBLISHED, message) for message in said)
