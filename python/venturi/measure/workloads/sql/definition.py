"""SQL over a log of visits and small tables: HiBench's scan, join and aggregation, and an analysis
typical of shops, with left outer joins of the large table with the small ones, groups and a union.

Input are Parquet files, one folder per table (`sql_data.COLUMNS`). A record is a visit. Its bytes
are nominal, because Parquet's size is known only afterwards: the width of its values, strings at
their longest. The small tables and the savings of Parquet's encodings are not counted. Money is in
whole cents, so that sums are exact.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from venturi.measure.workloads.definition import Definition, Size
from venturi.record.trial import Scalar

ROW_BYTES = 128


def _definition(name: str, summary: str, validation: str) -> Definition:
    return Definition(
        name=name,
        summary=summary,
        job=name,
        format="parquet",
        generator="sql",
        record_bytes=ROW_BYTES,
        key_bytes=0,
        validation=validation,
    )


_EXACT = "the rows, each once, equal those that another engine (Polars) computes from the input"
WORKLOADS = (
    _definition(
        "sql-scan",
        "Read all columns of a table and write them (HiBench's scan)",
        "number of rows, and the sum of a 64-bit hash of each, equal those of the input",
    ),
    _definition(
        "sql-join",
        "Visits of a year joined with their pages, by source, in descending order of revenue "
        "(HiBench's join)",
        _EXACT + ", in the order of the query",
    ),
    _definition(
        "sql-aggregation",
        "Revenue by source address (HiBench's aggregation)",
        _EXACT,
    ),
    _definition(
        "sql-analysis",
        "Left outer joins of visits with small tables, grouped, the union of three of these",
        _EXACT,
    ),
)

_TABLES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "sql-scan": ("visits",),
        "sql-join": ("visits", "pages"),
        "sql-aggregation": ("visits",),
        "sql-analysis": ("visits", "pages", "agents", "countries", "words"),
    }
)
# Rows of HiBench's uservisits; it has no analysis, which takes those of its join.
_ROWS = (1_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
_BIGDATA: Mapping[str, int] = MappingProxyType(
    {
        "sql-scan": 2 * 10**9,
        "sql-join": 5 * 10**9,
        "sql-aggregation": 10**9,
        "sql-analysis": 5 * 10**9,
    }
)
_MOST_PAGES = 120_000_000  # of HiBench's rankings, which has 12 pages for 100 visits


def tables(definition: Definition) -> tuple[str, ...]:
    """The tables it reads."""
    return _TABLES[definition.name]


def pages(visits: int) -> int:
    """Return the number of pages for this number of visits."""
    return max(1, min(visits * 12 // 100, _MOST_PAGES))


def size(definition: Definition, scale: int, chosen: Mapping[str, Scalar]) -> Size:
    """The size at `scale`, a place in SCALES."""
    rows = (*_ROWS, _BIGDATA[definition.name])[scale]
    return size_of_bytes(definition, rows * ROW_BYTES, chosen)


def size_of_bytes(definition: Definition, size_bytes: int, chosen: Mapping[str, Scalar]) -> Size:
    """The size of an input of (at most) `size_bytes` of visits, in whole rows."""
    rows = size_bytes // ROW_BYTES
    return Size(rows * ROW_BYTES, rows, parameters=definition.parameter_values(chosen))
