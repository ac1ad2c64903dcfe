"""C3O: Spark jobs on EC2 at many scale-outs, one trial per row; a file per job, named after it.

Decisions:

- Rows are repetitions: those that are equal in everything but `gross_runtime` are one repeat group.
  Runtimes are even seconds, so equal rows are common and are different executions. The n-th of
  several equal rows of a file always gets the same id.
- `gross_runtime` is seconds. `slots` (CPU threads) and `memory` belong to the whole cluster.
  `memory` is the GiB that EC2 states for the type x 1000 x `instance_count`, for all types in the
  data (c4.2xlarge: 15 GiB, 15000; r4.xlarge: 30.5 GiB, 30500).
- The MB of `data_size_MB` is not the same in each file. `lines` of `line_length` letters and an end
  of line fill exactly `data_size_MB` x 10^6 bytes in grep.tsv; in sort.tsv that takes 2^20
  (10,000,000 x 1001 bytes are 9546 of them, and 9530 is written); in pagerank.tsv a link is two
  page numbers with two separators, which takes 2^20 too (10^7 links among 10^6 pages: 137.8 MB or
  131.4 MiB, and 131 is written). For other jobs the unit is unknown: `input_bytes` stays None, and
  a warning says why. The figure itself is always kept in the configuration.
- Every other column is a parameter of the job, and part of the configuration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import PurePath
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import UNSTATED, ImportedItem, ImportSource, imported_id
from venturi.record.importing.tables import TableRow, UnreadableError, number, plain, text, whole
from venturi.record.trial import Engine, Scalar, Trial, TrialWarning
from venturi.results.importers.column_mapped import ColumnMapping, read_nodes

FORMAT = Format(
    "c3o",
    "C3O: Spark jobs at many scale-outs, TSV",
    columns=("machine_type", "gross_runtime"),
    delimiter="\t",
)
_RECORDS = ("lines", "observations", "links")
_BYTES_PER_MB = {"grep": 10**6, "sort": 2**20, "pagerank": 2**20}
_MOST_MB = 1 << 32
_MOST_COLUMNS = 100


def read(file: BinaryIO, source: ImportSource) -> Iterator[ImportedItem]:
    """Yield the trials of one of C3O's tables, with refused rows and interpreted spellings."""
    job = PurePath(source.file).stem.casefold()
    mapping = _mapping(job)
    equal_rows: Counter[tuple[str, ...]] = Counter()
    repetitions: Counter[str] = Counter()

    def items(row: TableRow) -> Iterator[ImportedItem]:
        if len(row.fields) > _MOST_COLUMNS or "nodes" in row.fields:
            reason = f"wrong header: more than {_MOST_COLUMNS} columns, or one named nodes"
            raise source.malformed(reason, line=1)
        *spellings, trial = mapping.items(row, source)
        assert isinstance(trial, Trial)
        yield from spellings
        fields = {**row.fields, "machine_type": str(trial.cluster.instance_type)}
        content = tuple(part for item in sorted(fields.items()) for part in item)
        group = trial.group_key
        yield replace(
            trial,
            id=imported_id("c3o", job, *content, str(equal_rows[content])),
            repetition=repetitions[group],
        )
        equal_rows[content] += 1
        repetitions[group] += 1

    return mapping.read_rows(file, source, items)


def _mapping(job: str) -> ColumnMapping:
    return ColumnMapping(
        "c3o",
        columns={
            "instance_count": {"nodes": read_nodes},
            "machine_type": {"instance_type": text},
            "slots": {
                "configuration.slots": partial(whole, least=1),
                "host.cpu_threads": _host_threads,
            },
            "memory": {"host.memory_total_bytes": _host_bytes},
            "data_size_MB": {
                "configuration.data_size_MB": _megabytes,
                "workload.input_bytes": partial(_input_bytes, job),
                "workload.input_records": _input_records,
                "warning.unit": partial(_unknown_unit, job),
            },
            "gross_runtime": {},
        },
        elapsed_s="gross_runtime",
        constants={"workload.name": job, "engine": Engine("spark", "unknown")},
        casefolded=("machine_type",),
        others=_parameter,
        delimiter="\t",
    )


def _host_threads(row: TableRow, column: str) -> int | None:
    threads, rest = divmod(whole(row, column, least=1), read_nodes(row, "instance_count"))
    return threads if rest == 0 else None  # otherwise slots don't count threads


def _host_bytes(row: TableRow, column: str) -> int:
    memory = number(row, column, above=0, most=1 << 40)
    return round(memory / 1000 / read_nodes(row, "instance_count") * 2**30)


def _megabytes(row: TableRow, column: str) -> int | float:
    return plain(number(row, column, above=0, most=_MOST_MB))


def _input_bytes(job: str, row: TableRow, column: str) -> int | None:
    return round(number(row, column) * _BYTES_PER_MB[job]) if job in _BYTES_PER_MB else None


def _input_records(row: TableRow, column: str) -> int | None:
    records = next((each for each in _RECORDS if each in row.fields), None)
    return None if records is None else whole(row, records)


def _unknown_unit(job: str, row: TableRow, column: str) -> TrialWarning | None:
    if job in _BYTES_PER_MB:
        return None
    message = (
        f"{column} is {number(row, column):g}, and it is unknown whether this job's MB is "
        "10^6 or 2^20 bytes, so the input size in bytes is missing"
    )
    return TrialWarning(UNSTATED, message)


def _parameter(row: TableRow, column: str) -> Scalar:
    """Return a parameter of the job: a number, otherwise text that doesn't read as one."""
    try:
        return plain(number(row, column))
    except UnreadableError:
        written = text(row, column)
        if written.casefold().lstrip("+-") in {"nan", "inf", "infinity"}:
            raise UnreadableError(row.refuse(column, "not a number")) from None
        return written
