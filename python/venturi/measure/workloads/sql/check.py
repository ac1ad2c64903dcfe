"""Whether the result of an SQL workload is right: Polars computes it again from the same files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from venturi.measure.workloads.sql import definition as sql
from venturi.record.store.frames import pl  # noqa: TID253 - loaded only to check

if TYPE_CHECKING:
    from venturi.measure.workloads.checking import CheckInput

REVENUE = pl.col("ad_revenue_cents").sum()


def check(checking: CheckInput) -> str | None:
    """Why the output is wrong, or None if it is right."""
    name = checking.definition.name
    outputs = [each.path for each in checking.files.find(checking.output, "part-*")]
    if not outputs:
        return "there is no output"
    with ExitStack() as stack:

        def scanned(paths: Iterable[Path]) -> pl.LazyFrame:
            return pl.scan_parquet(list(stack.enter_context(checking.files.here(*paths))))

        tables = {
            table: scanned(file for file in checking.given.files if file.parent.name == table)
            for table in sql.tables(checking.definition)
        }
        found = scanned(outputs)
        try:
            if name == "sql-scan":
                return _difference_of_sums(found, tables["visits"])
            return _difference(found.collect(), REFERENCES[name](**tables), ordered=name in ORDERED)
        except pl.exceptions.PolarsError as error:
            return f"the output cannot be read: {str(error).splitlines()[0]}"


def aggregation(visits: pl.LazyFrame) -> pl.DataFrame:
    """Revenue by source."""
    revenue = REVENUE.alias("total_revenue_cents")
    return visits.group_by("source_ip").agg(revenue).collect(engine="streaming")


def join(visits: pl.LazyFrame, pages: pl.LazyFrame) -> pl.DataFrame:
    """Rank of the pages seen and revenue, by source, the largest revenue first."""
    of_the_year = pl.col("visit_date").is_between(date(1999, 1, 1), date(2000, 1, 1))
    return (
        visits.filter(of_the_year)
        .join(pages, left_on="dest_url", right_on="page_url")
        .group_by("source_ip")
        .agg(
            pl.col("page_rank").mean().alias("average_page_rank"),
            REVENUE.alias("total_revenue_cents"),
        )
        .sort("total_revenue_cents", "source_ip", descending=[True, False])
        .collect(engine="streaming")
    )


def analysis(
    visits: pl.LazyFrame,
    pages: pl.LazyFrame,
    agents: pl.LazyFrame,
    countries: pl.LazyFrame,
    words: pl.LazyFrame,
) -> pl.DataFrame:
    """Return three groupings of the visits joined with the small tables."""
    regions = visits.join(countries, on="country_code", how="left")
    market = _part("market", regions.join(agents, on="user_agent", how="left"), "region", "device")
    year = pl.col("visit_date").dt.year().alias("year")
    interest = visits.join(words, on="search_word", how="left").with_columns(year)
    seen = regions.join(pages, left_on="dest_url", right_on="page_url", how="left")
    parts = [market, _part("interest", interest, "category", "year")]
    return pl.concat([*parts, _part("page", seen, "page_rank", "region")])


def _part(name: str, visits: pl.LazyFrame, first: str, second: str) -> pl.DataFrame:
    grouped = visits.group_by(first, second).agg(
        pl.len().cast(pl.Int64).alias("visits"),
        pl.col("source_ip").n_unique().cast(pl.Int64).alias("sources"),
        REVENUE.alias("revenue_cents"),
    )
    keys = (
        pl.col(first).cast(pl.String).alias("first"),
        pl.col(second).cast(pl.String).alias("second"),
    )
    return grouped.select(
        pl.lit(name).alias("part"), *keys, "visits", "sources", "revenue_cents"
    ).collect(engine="streaming")


REFERENCES: Mapping[str, Callable[..., pl.DataFrame]] = {
    "sql-aggregation": aggregation,
    "sql-join": join,
    "sql-analysis": analysis,
}
ORDERED = frozenset({"sql-join"})


def _difference(found: pl.DataFrame, expected: pl.DataFrame, *, ordered: bool) -> str | None:
    if found.schema != expected.schema:
        return f"the columns are {dict(found.schema)}, not {dict(expected.schema)}"
    if found.height != expected.height:
        return f"there are {found.height} rows, not {expected.height}"
    if ordered and found.equals(expected):
        return None
    columns = expected.columns
    if found.sort(columns).equals(expected.sort(columns)):
        return "the rows are not in the order of the query" if ordered else None
    missing = expected.join(found, on=columns, how="anti", nulls_equal=True)
    first = f", such as {missing.row(0)}" if missing.height else ""
    return f"{missing.height} rows are missing or wrong{first}"


def _difference_of_sums(found: pl.LazyFrame, expected: pl.LazyFrame) -> str | None:
    schema = expected.collect_schema()
    if (other := found.collect_schema()) != schema:
        return f"the columns are {dict(other)}, not {dict(schema)}"
    # Sums modulo 2^64 replace a comparison row by row, in any order and in constant memory.
    sums = [
        each.select(pl.len(), pl.struct(pl.all()).hash().sum().alias("sum"))
        .collect(engine="streaming")
        .row(0)
        for each in (found, expected)
    ]
    if sums[0][0] != sums[1][0]:
        return f"there are {sums[0][0]} rows, not {sums[1][0]}"
    return None if sums[0] == sums[1] else "the rows are not those of the input"
