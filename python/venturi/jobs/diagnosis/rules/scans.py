"""Scans of files that read far more rows than a query needs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from venturi.core.units import format_bytes
from venturi.jobs.diagnosis.case import Case, Confidence, FindingScope, Hit
from venturi.jobs.diagnosis.registry import rule
from venturi.jobs.diagnosis.rules.partitions import of_causes
from venturi.jobs.stages.causes import READING, TO_COMPUTE
from venturi.jobs.stages.plans import ROWS, SCAN
from venturi.record.plan_texts import without_numbers

_TO_SCAN = (READING, "cpu", TO_COMPUTE)
_MULTIPLIES = re.compile("Join|Generate|Expand|CartesianProduct")
_NO_PARTITIONS = re.compile(r"PartitionFilters: \[\]")
# "FileScan parquet [at#0,day#2] Batched: …, ReadSchema: struct<at:timestamp>"
_FILE_SCAN = re.compile(
    r"FileScan [^\[]*\[(?P<columns>[^\]]*)\] "
    r".*?\bReadSchema: struct<(?P<read>.*?)>(?:$|, [A-Z]\w+: )",
    re.DOTALL,
)
_CUT = "..."  # Spark writes at most 25 columns, and 100 characters of a schema
_NESTED = re.compile(r"[(<][^()<>]*[)>]")
_METADATA = re.compile(r"_metadata|_tmp_metadata_row_index|row_index|file_\w+")
_NOT_NULL = re.compile(
    r"\bisnotnull\([^()]*\) AND | AND isnotnull\([^()]*\)|\(isnotnull\([^()]*\)\) AND "
)
_FUNCTION = re.compile(r"\b(?!AND\b|OR\b|NOT\b|IN\b)\w+\(")


@rule("full-scan")
def full_scan(case: Case) -> Iterator[Hit]:
    """Full scans of files with a filter that keeps few rows."""
    for scan in case.plans.operators.values():
        size, rows = (scan.counted.get(name) for name in ("size of files read", ROWS))
        if not SCAN.match(scan.text) or not _NO_PARTITIONS.search(scan.text) or not size:
            continue
        above = case.plans.above(scan, ("Filter",))
        kept = None if above is None else above.counted.get(ROWS)
        if above is None or not rows or kept is None:
            continue
        share = kept / rows
        few = share < case.limit("full-scan", "kept")
        if not few or size < case.limit("full-scan", "size_bytes"):
            continue
        stages = [stage for stage in case.stages if stage.key in scan.stages]
        saved_s = 0.0
        for stage in stages:
            times = case.ran(stage.key)[1]
            # Without a join, all operators work in proportion to the rows that were read or kept.
            joins = any(_MULTIPLIES.search(each.name) for each in case.plans.of_stage(stage.key))
            spent_s = times.causes.get(READING) if joins else of_causes(times, _TO_SCAN)
            if spent_s is not None:
                saved_s += case.saved_s(stage.key, spent_s * (1 - share))
        condition = filter_condition(above.text)
        partitions = partition_columns(scan.text)
        yield Hit(
            f"query {scan.query_id} read {format_bytes(size)}, {rows:,} rows, and kept {share:.1%} "
            f"of them: {condition}",
            (
                FindingScope(query=scan.query_id, operator=scan.text),
                *(FindingScope(stage=stage.label) for stage in stages),
            ),
            saved_s,
            Confidence.LOW,
            _remedy(partitions, condition),
            {
                "columns": " or ".join(partitions or ()),
                "s": "s" if len(partitions or ()) > 1 else "",
            },
        )


def _remedy(partitions: tuple[str, ...] | None, condition: str) -> str:
    """Return the variant of the advice: by the table's partitions, and by the filter.

    A function of a column can express a partition, such as the day of a time.
    """
    if partitions is None:
        return "unknown"
    if not partitions:
        return "any"
    return "partitioned" if _FUNCTION.search(condition) else "sorted"


def partition_columns(text: str) -> tuple[str, ...] | None:
    """Return the partition columns of a table, by the text of its scan; None if that is cut, or
    isn't of files.

    A scan gives all partition columns of its table, and its read schema has the columns in the
    files. Source: FileSourceStrategy.scala.
    """
    found = _FILE_SCAN.match(text)
    if found is None or _CUT in found["columns"] + found["read"]:
        return None
    read = found["read"]
    if read.count("<") != read.count(">"):  # cut
        return None
    while (flat := _NESTED.sub("", read)) != read:
        read = flat
    in_files = {each.partition(":")[0] for each in read.split(",")}
    given = [each.strip() for each in without_numbers(found["columns"]).split(",")]
    return tuple(
        each for each in given if each and each not in in_files and not _METADATA.fullmatch(each)
    )


def filter_condition(text: str) -> str:
    """Return the condition of a filter without its checks for null, which Spark adds."""
    condition = without_numbers(text).removeprefix("Filter").strip()
    while (bare := _NOT_NULL.sub("", condition)) != condition:
        condition = bare
    while condition.startswith("(") and _closes_last(condition):
        condition = condition[1:-1]
    return condition


def _closes_last(text: str) -> bool:
    """Whether the bracket that opens `text` is closed by its last character."""
    depth = 0
    for place, each in enumerate(text):
        depth += (each == "(") - (each == ")")
        if depth == 0:
            return place == len(text) - 1
    return False
