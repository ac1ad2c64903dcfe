"""Read a table with one trial a row, by a mapping of its columns to fields of a trial.

The mapping names all columns in order, each with the fields that it gives and how to read them. A
field is named by its path: `workload.*`, `engine`, `nodes` (how many hosts), `instance_type`,
`host.*` (facts of each host), `price`, `configuration.*`, `sample.*`, `warning.*`, `spelling.*`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, BinaryIO

from venturi.record.importing.items import (
    SOFTWARE,
    ImportedItem,
    ImportSource,
    Spelling,
    imported_id,
    of_rows,
    unnamed_hosts,
)
from venturi.record.importing.tables import TableRow, number, positive_or_none, rows, whole
from venturi.record.trial import Cluster, Engine, Failure, Sample, State, Trial, Workload

Read = Callable[[TableRow, str], Any]
"""Returns the value in a column of a row, or None for no value; raises UnreadableError."""
Values = dict[str, Any]
"""Values by the path of their field."""
read_nodes = partial(whole, least=1, most=10_000)


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """How the columns of a data set's table become a trial.

    `elapsed_s` is the column of the elapsed seconds. If `failure` finds one, these seconds are the
    sample `time_to_failure_s` instead. Hosts are named after the field `hosts`. The columns
    `casefolded` are read in lower case. `others` reads all other columns into the configuration;
    without it the table may only have `unused` ones.
    """

    dataset: str
    columns: Mapping[str, Mapping[str, Read]]
    elapsed_s: str
    constants: Mapping[str, Any] = field(default_factory=dict)
    failure: Callable[[TableRow], Failure | None] = lambda row: None
    hosts: str = "instance_type"
    casefolded: tuple[str, ...] = ()
    others: Read | None = None
    unused: tuple[str, ...] = ()
    delimiter: str = ","

    def read(self, file: BinaryIO, source: ImportSource) -> Iterator[ImportedItem]:
        """Yield the trials of a table, with refused rows and interpreted spellings."""
        return self.read_rows(file, source, lambda row: self.items(row, source))

    def read_rows(
        self,
        file: BinaryIO,
        source: ImportSource,
        of_row: Callable[[TableRow], Iterator[ImportedItem]],
    ) -> Iterator[ImportedItem]:
        """Yield the items that `of_row` makes of each row, with refused rows."""
        unused = self.unused if self.others is None else None
        found = rows(file, source, self.columns, unused, delimiter=self.delimiter)
        return of_rows(found, of_row, source)

    def items(self, row: TableRow, source: ImportSource) -> Iterator[ImportedItem]:
        """Yield the spellings that were interpreted in a row, and last its trial."""
        lower = {column: row.fields[column].casefold() for column in self.casefolded}
        for column, taken_as in lower.items():
            if taken_as != row.fields[column]:
                yield Spelling(row.line, column, row.fields[column], taken_as)
        row = TableRow(row.line, {**row.fields, **lower})
        failure = self.failure(row)
        values = self._values(row)
        yield from _below("spelling.", values).values()
        yield self._trial(row, source, values, failure)

    def _values(self, row: TableRow) -> Values:
        values = dict(self.constants)
        for column, fields in self.columns.items():
            found = {path: read(row, column) for path, read in fields.items()}
            values |= {path: value for path, value in found.items() if value is not None}
        for column in row.fields:
            if column not in self.columns and self.others is not None:
                values[f"configuration.{column}"] = self.others(row, column)
        return values

    def _trial(
        self, row: TableRow, source: ImportSource, values: Values, failure: Failure | None
    ) -> Trial:
        elapsed_s = number(row, self.elapsed_s, above=0) if failure is None else None
        ended = () if failure is None else (_time_to_failure(row, self.elapsed_s),)
        hosts = f"{self.dataset}-{values.get(self.hosts, 'unknown')}"
        return Trial(
            id=imported_id(self.dataset, *(row.fields[column] for column in self.columns)),
            workload=Workload(**{"version": self.dataset, **_below("workload.", values)}),
            engine=values.get("engine", Engine("unknown", "unknown")),
            cluster=Cluster(
                unnamed_hosts(hosts, values["nodes"], _below("host.", values)),
                instance_type=values.get("instance_type"),
                price=values.get("price"),
            ),
            configuration={"nodes": values["nodes"], **_below("configuration.", values)},
            software=SOFTWARE,
            provenance=source.provenance(self.dataset),
            started_at=None,
            state=State.SUCCEEDED if failure is None else State.FAILED,
            elapsed_s=elapsed_s,
            samples=(*_below("sample.", values).values(), *ended),
            warnings=tuple(_below("warning.", values).values()),
            failure=failure,
        )


def _below(start: str, values: Values) -> Values:
    return {path[len(start) :]: value for path, value in values.items() if path.startswith(start)}


def _time_to_failure(row: TableRow, column: str) -> Sample:
    seconds = positive_or_none(row, column)
    reason = "not stated" if seconds is None else None
    return Sample("time_to_failure_s", seconds, "s", missing_reason=reason)
