"""scout: Spark and Hadoop jobs of HiBench on 69 clusters of AWS machines, one trial a row.

`completed` False is a failed trial; its `t` is the time until then, never a time of success. An
`input_size` of -1 means unknown. `timestamp` has no time zone, so that `started_at` stays None; a
warning keeps the text. Prices are not in the file.
"""

from __future__ import annotations

import re

from venturi.record.importing.formats import Format
from venturi.record.importing.items import CLOCK, FAILED, Spelling
from venturi.record.importing.tables import TableRow, UnreadableError, text, whole
from venturi.record.trial import Engine, Failure, TrialWarning
from venturi.results.importers.column_mapped import ColumnMapping, read_nodes

FORMAT = Format(
    "scout",
    "scout: Spark and Hadoop on AWS, one CSV",
    columns=("framework", "datasize", "completed"),
)
_FRAMEWORK = re.compile(r"(hadoop|spark)([0-9.]*)")
_ENGINES = {"hadoop": "mapreduce", "spark": "spark"}


def _engine(row: TableRow, column: str) -> Engine:
    match = _FRAMEWORK.fullmatch(row.fields[column])
    if match is None:
        raise UnreadableError(row.refuse(column, "neither hadoop nor spark"))
    return Engine(_ENGINES[match[1]], match[2] or "unknown")


def _engine_spelling(row: TableRow, column: str) -> Spelling | None:
    written, name = row.fields[column], _engine(row, column).name
    return None if written.startswith(name) else Spelling(row.line, column, written, name)


def _input_bytes(row: TableRow, column: str) -> int | None:
    size = whole(row, column, least=-1)
    return size if size > 0 else None


def _clock(row: TableRow, column: str) -> TrialWarning | None:
    written = row.fields[column]
    message = f"dated {written}, in a time zone that the source doesn't state"
    return TrialWarning(CLOCK, message) if written else None


def _failure(row: TableRow) -> Failure | None:
    completed = row.fields["completed"].casefold()
    if completed not in ("true", "false"):
        raise UnreadableError(row.refuse("completed", "neither True nor False"))
    if completed == "true":
        return None
    return Failure("workload", FAILED, "the source: not completed")


read = ColumnMapping(
    "scout",
    columns={
        "run": {},
        "n": {"nodes": read_nodes},
        "vm": {"instance_type": text},
        "workload": {"workload.name": text},
        "framework": {"engine": _engine, "spelling.engine": _engine_spelling},
        "datasize": {"workload.scale": text},
        "completed": {},
        "t": {},
        "input_size": {"workload.input_bytes": _input_bytes},
        "timestamp": {"warning.clock": _clock},
    },
    elapsed_s="t",
    failure=_failure,
).read
