"""C3O: Spark jobs on EC2 at many scale-outs, one trial a row; a file a job, named after it.

Decisions:

- Rows are repetitions: what equals in everything but `gross_runtime` is one repeat group, and as
  the runtimes are even seconds, equal rows are common and are different executions. The n-th of
  some equal rows of a file has the id of the n-th whenever it is read.
- `gross_runtime` is seconds. `slots` (processor threads) and `memory` belong to the whole cluster.
  `memory` is the GiB that EC2 states for the type x 1000 x `instance_count`, for all types there
  are (c4.2xlarge: 15 GiB, 15000; r4.xlarge: 30.5 GiB, 30500).
- The MB of `data_size_MB` is not the same in each file. `lines` of `line_length` letters and an end
  of line fill exactly `data_size_MB` x 10^6 bytes in grep.tsv; in sort.tsv that takes 2^20
  (10,000,000 x 1001 bytes are 9546 of them, and 9530 is written); in pagerank.tsv a link is two
  page numbers with two separators, which takes 2^20 too (10^7 links among 10^6 pages: 137.8 MB or
  131.4 MiB, and 131 is written). For other jobs nothing decides it: `input_bytes` stays None, and
  a warning says why. The figure itself is always kept in the configuration.
- Every further column is a parameter of the job, and part of the configuration.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    SOFTWARE,
    Item,
    Source,
    Spelling,
    imported_id,
    of_rows,
    unnamed_hosts,
)
from venturi.record.importing.tables import Row, UnreadableError, number, rows, text, whole
from venturi.record.trial import Cluster, Engine, Scalar, State, Trial, TrialWarning, Workload

FORMAT = Format(
    "c3o",
    "C3O: Spark jobs at many scale-outs, TSV",
    columns=("machine_type", "gross_runtime"),
    delimiter="\t",
)

_COLUMNS = (
    "instance_count",
    "machine_type",
    "slots",
    "memory",
    "data_size_MB",
    "gross_runtime",
)
_RECORDS = ("lines", "observations", "links")
_BYTES_PER_MB = {"grep": 10**6, "sort": 2**20, "pagerank": 2**20}
_MOST_MB = 1 << 32
_MOST_COLUMNS = 100


def read(file: BinaryIO, source: Source) -> Iterator[Item]:
    """The trials of one of C3O's tables, with what was refused and interpreted."""
    job = PurePath(source.file).stem.casefold()
    equal_rows: Counter[tuple[str, ...]] = Counter()
    repetitions: Counter[str] = Counter()

    def items(row: Row) -> Iterator[Item]:
        if len(row.fields) > _MOST_COLUMNS or "nodes" in row.fields:
            reason = f"wrong header: more than {_MOST_COLUMNS} columns, or one named nodes"
            raise source.malformed(reason, line=1)
        trial = _trial(row, source, job)
        written, machine = row.fields["machine_type"], str(trial.cluster.instance_type)
        if written != machine:
            yield Spelling(row.line, "machine_type", written, machine)
        fields = {**row.fields, "machine_type": machine}
        content = tuple(part for item in sorted(fields.items()) for part in item)
        group = trial.group_key
        yield replace(
            trial,
            id=imported_id("c3o", job, *content, str(equal_rows[content])),
            repetition=repetitions[group],
        )
        equal_rows[content] += 1
        repetitions[group] += 1

    return of_rows(rows(file, source, _COLUMNS, None, delimiter="\t"), items, source)


def _trial(row: Row, source: Source, job: str) -> Trial:
    """The trial of one row alone: without its id, and which repetition it is."""
    nodes = whole(row, "instance_count", least=1, most=10_000)
    machine = text(row, "machine_type").casefold()
    slots = whole(row, "slots", least=1)
    memory_gib = number(row, "memory", above=0, most=1 << 40) / 1000 / nodes
    facts: dict[str, Scalar] = {"memory_total_bytes": round(memory_gib * 2**30)}
    if slots % nodes == 0:  # else the slots are no count of one machine's threads
        facts["cpu_threads"] = slots // nodes
    size_mb = number(row, "data_size_MB", above=0, most=_MOST_MB)
    records = next((column for column in _RECORDS if column in row.fields), None)
    return Trial(
        id="c3o",
        workload=Workload(
            name=job,
            version="c3o",
            input_bytes=_input_bytes(job, size_mb),
            input_records=whole(row, records) if records else None,
        ),
        engine=Engine("spark", "unknown"),
        cluster=Cluster(unnamed_hosts(f"c3o-{machine}", nodes, facts), instance_type=machine),
        configuration={
            "nodes": nodes,
            "slots": slots,
            "data_size_MB": _plain(size_mb),
            **_parameters(row),
        },
        software=SOFTWARE,
        provenance=source.provenance("c3o"),
        started_at=None,
        state=State.SUCCEEDED,
        elapsed_s=number(row, "gross_runtime", above=0),
        warnings=_unknown_unit(job, size_mb),
    )


def _input_bytes(job: str, size_mb: float) -> int | None:
    return round(size_mb * _BYTES_PER_MB[job]) if job in _BYTES_PER_MB else None


def _unknown_unit(job: str, size_mb: float) -> tuple[TrialWarning, ...]:
    if job in _BYTES_PER_MB:
        return ()
    message = (
        f"data_size_MB is {size_mb:g}, and whether an MB is 10^6 or 2^20 bytes is not known for "
        "this job: the input's size in bytes is left out"
    )
    return (TrialWarning("VEN-IMPORT-UNSTATED", message),)


def _parameters(row: Row) -> Mapping[str, Scalar]:
    """The columns that are parameters of the job: a number where one stands, otherwise text."""
    found: dict[str, Scalar] = {}
    for column in row.fields:
        if column not in _COLUMNS:
            try:
                found[column] = _plain(number(row, column))
            except UnreadableError:
                found[column] = _not_a_nan(row, column)
    return found


def _not_a_nan(row: Row, column: str) -> str:
    written = text(row, column)
    if written.casefold().lstrip("+-") in {"nan", "inf", "infinity"}:
        raise UnreadableError(row.refuse(column, "not a number"))
    return written


def _plain(value: float) -> int | float:
    return int(value) if value.is_integer() and abs(value) < 1 << 53 else value
