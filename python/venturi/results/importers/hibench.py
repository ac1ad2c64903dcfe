"""HiBench: the lines of a `hibench.report`, one trial per line.

HiBench appends a line of seven fields, separated by blanks, after each workload. The header stands
at the top, again further down where reports were joined, or nowhere. Decisions:

- `Date` and `Time` are the end of the workload in the machine's local time, without a time zone:
  `started_at` stays None, and a warning keeps the text.
- An `Input_data_size` of 0 (sleeping and streaming workloads) means unknown to HiBench, so the
  throughputs in the same line, which are 0 too, are also unknown.
- HiBench divides in whole numbers: throughput = size / duration, and per node = throughput /
  nodes. Where exactly one number of nodes fits, that many machines ran the workload; otherwise
  their number is unknown. HiBench also assumes one node when it finds no list of nodes, so one node
  means unknown, too.
- The first part of `Type` is the engine (`Hadoop` is MapReduce or Hive on it) and the language. A
  type without one is Spark's where HiBench has it for Spark alone.
- A last line without a line end may lack digits of its last field: its trial is kept without that
  field if the others agree, with a warning; otherwise only this line is refused.
- A line with a throughput that contradicts size / duration is refused: one of them is wrong.
- Other lines, such as a shell's message at the beginning, are refused, and nothing else.
- A report has no exit status. HiBench has written lines for jobs that failed, and such a line
  looks like a good one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    CLOCK,
    CUT,
    SOFTWARE,
    ImportedItem,
    ImportSource,
    Spelling,
    admitted,
    imported_id,
    unnamed_hosts,
)
from venturi.record.importing.json_text import JsonLimits, lines
from venturi.record.importing.tables import TableRow, UnreadableError, number, text, whole
from venturi.record.importing.text import Refusal
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
    "hibench",
    "HiBench: a hibench.report",
    pattern=(
        r"\s*+(?:[^\n{]{0,4000}+\n\s*+){0,3}?(?:Type\s+Date\s+Time\s+Input"
        r"|\S+\s+\d{4}[-/]\d\d?[-/]\d\d?\s+\d\d?:\d\d:\d\d\s+\d+\s+[\d.]+\s)"
    ),
)

COLUMNS = (
    "Type",
    "Date",
    "Time",
    "Input_data_size",
    "Duration(s)",
    "Throughput(bytes/s)",
    "Throughput/node",
)
_TYPE, _DATE, _TIME, _SIZE, _DURATION, _THROUGHPUT, _PER_NODE = COLUMNS
_LIMITS = JsonLimits(line_bytes=4 << 10, records=1_000_000)
_MOST_NODES = 10_000

_PREFIXES = (
    ("ScalaSpark", "spark", "scala"),
    ("JavaSpark", "spark", "java"),
    ("PythonSpark", "spark", "python"),
    ("Hadoop", "mapreduce", None),
    ("Spark", "spark", None),
    ("Flink", "flink", None),
    ("Storm", "storm", None),
    ("Gearpump", "gearpump", None),
)
# Types without an engine: those that HiBench runs on Spark alone.
_SPARK_ONLY = frozenset(
    {
        "als",
        "correlation",
        "densekmeans",
        "gaussianmixturemodel",
        "gmm",
        "gradientboostedtree",
        "gradientboostingtree",
        "lda",
        "linear",
        "linearregression",
        "logisticregression",
        "lr",
        "pca",
        "randomforest",
        "rf",
        "summarizer",
        "svd",
        "svm",
        "xgboost",
    }
)
# Workloads under the names they had in earlier versions of HiBench.
_FORMER = {"hiveaggr": "aggregation", "hivejoin": "join", "nutch": "nutchindexing"}
_DATES = (re.compile(r"\d{4}-\d{1,2}-\d{1,2}"), re.compile(r"\d{4}/\d{1,2}/\d{1,2}"))


def read(file: BinaryIO, source: ImportSource) -> Iterator[ImportedItem]:
    """Yield the trials of a report, the refused lines and the interpreted values."""
    sound = False
    cut = _is_cut(file)
    for line, content, is_last in _with_last(lines(file, source, _LIMITS)):
        fields = content.split()
        if fields[0] == _TYPE:
            if tuple(fields) != COLUMNS:
                raise source.malformed("not the header of a hibench.report", line=line)
            sound = True
            continue
        sound = sound or (len(fields) == len(COLUMNS) and _is_date(fields[1]))
        if len(fields) != len(COLUMNS):
            reason = f"{len(fields)} fields, but a line of a report has {len(COLUMNS)}"
            yield Refusal(line, "", content[:100], reason)
            continue
        try:
            row = TableRow(line, dict(zip(COLUMNS, fields, strict=True)))
            items = _items(row, source)
            if is_last and cut:
                items = [_last_of_a_cut_file(row, each) for each in items]
            yield from admitted(items, line, source)
        except UnreadableError as error:
            yield error.refusal
    if not sound:
        raise source.malformed("neither a header nor a line of a hibench.report", field=_TYPE)


def _is_cut(file: BinaryIO) -> bool:
    """Whether the last line has no end."""
    here = file.tell()
    size = file.seek(0, 2)
    file.seek(max(0, size - 1))
    last = file.read(1)
    file.seek(here)
    return last != b"\n"


def _with_last(found: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str, bool]]:
    """Add to each line whether it is the last one."""
    before = next(found, None)
    for each in found:
        assert before is not None
        yield *before, False
        before = each
    if before is not None:
        yield *before, True


def _last_of_a_cut_file(row: TableRow, item: ImportedItem) -> ImportedItem:
    """Return the trial of a last line without an end, if its other fields agree; its last field
    may lack digits. UnreadableError if they don't."""
    if not isinstance(item, Trial):
        return item
    why = "the file ends in this field, without a line end"
    per_node = "throughput_per_node_bytes_per_s"
    return replace(
        item,
        samples=tuple(
            Sample(each.metric, None, each.unit, missing_reason=why)
            if each.metric == per_node
            else each
            for each in item.samples
        ),
        configuration={key: value for key, value in item.configuration.items() if key != "nodes"},
        cluster=Cluster(unnamed_hosts("hibench", 0, {})),
        warnings=(*item.warnings, TrialWarning(CUT, f"{why}: {_PER_NODE} is unknown")),
    )


def _tolerance(elapsed_s: float, rate: float) -> float:
    """How far rounding takes a throughput from size / duration, which has 3 decimals."""
    return 1 + rate * 0.0005 / max(elapsed_s, 0.001)


def _is_date(written: str) -> bool:
    return any(pattern.fullmatch(written) for pattern in _DATES)


def _items(row: TableRow, source: ImportSource) -> list[ImportedItem]:
    spellings: list[ImportedItem] = []
    name, engine, language = _named(row, spellings)
    ended = _ended(row, spellings)
    size_bytes, nodes = whole(row, _SIZE), _nodes(row)
    elapsed_s, rate = number(row, _DURATION, above=0), number(row, _THROUGHPUT, least=0)
    if size_bytes and abs(size_bytes / elapsed_s - rate) > _tolerance(elapsed_s, rate):
        raise UnreadableError(row.refuse(_THROUGHPUT, "contradicts size / duration"))
    chosen: dict[str, Scalar] = {"language": language} if language else {}
    if nodes is not None:
        chosen["nodes"] = nodes
    trial = Trial(
        id=imported_id("hibench", *(row.fields[column] for column in COLUMNS)),
        workload=Workload(name, "hibench", input_bytes=size_bytes or None),
        engine=Engine(engine, "unknown"),
        cluster=Cluster(unnamed_hosts("hibench", nodes or 0, {})),
        configuration=chosen,
        software=SOFTWARE,
        provenance=source.provenance("hibench"),
        started_at=None,
        state=State.SUCCEEDED,
        elapsed_s=elapsed_s,
        samples=tuple(
            Sample(metric, number(row, column, least=0), "B/s")
            if size_bytes
            else Sample(metric, None, "B/s", missing_reason="HiBench doesn't report an input size")
            for metric, column in (
                ("throughput_bytes_per_s", _THROUGHPUT),
                ("throughput_per_node_bytes_per_s", _PER_NODE),
            )
        ),
        warnings=(
            TrialWarning(
                CLOCK, f"it ended at {ended}, in a time zone that the source doesn't state"
            ),
        ),
    )
    return [*spellings, trial]


def _named(row: TableRow, spellings: list[ImportedItem]) -> tuple[str, str, str | None]:
    """The workload, its engine and its language, as far as the type says them."""
    written = text(row, _TYPE)
    lower = written.casefold()
    for prefix, engine, language in _PREFIXES:
        if lower.startswith(prefix.casefold()) and len(lower) > len(prefix):
            if not written.startswith(prefix):  # another case
                taken_as = f"{engine} {lower[len(prefix) :]}"
                spellings.append(Spelling(row.line, _TYPE, written, taken_as))
            return lower[len(prefix) :], engine, language
    if lower in _FORMER:
        spellings.append(Spelling(row.line, _TYPE, written, _FORMER[lower]))
        return _FORMER[lower], "unknown", None
    return lower, "spark" if lower in _SPARK_ONLY else "unknown", None


def _ended(row: TableRow, spellings: list[ImportedItem]) -> str:
    """When the workload ended, as `2020-04-01 13:32:13`; there is no zone."""
    written = row.fields[_DATE]
    try:
        if not _is_date(written):
            raise ValueError(written)
        day = datetime.strptime(written.replace("/", "-"), "%Y-%m-%d").date()
    except ValueError as error:
        raise UnreadableError(row.refuse(_DATE, "not a date")) from error
    try:
        moment = datetime.strptime(row.fields[_TIME], "%H:%M:%S").time()
    except ValueError as error:
        raise UnreadableError(row.refuse(_TIME, "not a time of day")) from error
    if written != day.isoformat():
        spellings.append(Spelling(row.line, _DATE, written, day.isoformat()))
    return f"{day.isoformat()} {moment.isoformat()}"


def _nodes(row: TableRow) -> int | None:
    """The one number of nodes, above 1, with which the two throughputs agree, if there is one."""
    throughput, per_node = number(row, _THROUGHPUT, least=0), number(row, _PER_NODE, least=0)
    if per_node < 1 or not (throughput.is_integer() and per_node.is_integer()):
        return None
    most, beyond = throughput // per_node, throughput // (per_node + 1)
    return int(most) if most - beyond == 1 and 1 < most <= _MOST_NODES else None
