"""SQL: the tables, the references against plain Python, Spark's queries against the references."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from pyarrow import parquet

from this_host import FILES, STEP
from venturi.measure.workloads.checking import CheckInput
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.inputs import InputData
from venturi.measure.workloads.sql import check as sql_check
from venturi.measure.workloads.sql import data as sql_data
from venturi.measure.workloads.sql import definition as sql
from venturi.measure.workloads.sql import on_spark as programs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFINITIONS = {each.name: each for each in sql.WORKLOADS}
Row = dict[str, Any]


def made(name: str, folder: Path, seed: int, rows: int) -> tuple[Definition, Size, InputData]:
    definition = DEFINITIONS[name]
    size = sql.size_of_bytes(definition, rows * sql.ROW_BYTES, {})
    folder.mkdir()
    answer = sql_data.write(FILES, definition, folder, size, seed, tick=lambda _: None)
    files = tuple(sorted(path for path in folder.rglob("*") if path.is_file()))
    return definition, size, InputData(files, size.bytes or 0, rows, answer=answer, folder=folder)


def tables(data: InputData) -> dict[str, pl.LazyFrame]:
    assert data.folder is not None
    return {
        folder.name: pl.scan_parquet(folder / "*.parquet")
        for folder in sorted(data.folder.iterdir())
    }


def test_the_tables_have_the_stated_rows_and_only_the_seed_changes_them(tmp_path: Path) -> None:
    _, size, data = made("sql-analysis", tmp_path / "one", 1, 2_000)
    _, _, same = made("sql-analysis", tmp_path / "same", 1, 2_000)
    _, _, other = made("sql-analysis", tmp_path / "other", 2, 2_000)
    rows = {name: table.select(pl.len()).collect().item() for name, table in tables(data).items()}
    assert rows == {"visits": 2_000, "pages": 240, "agents": 43, "countries": 180, "words": 1_800}
    assert rows == (data.answer or {})["rows"]
    assert size.records == 2_000
    assert len([file for file in data.files if file.parent.name == "visits"]) == 4
    texts = [[file.read_bytes() for file in each.files] for each in (data, same, other)]
    assert texts[0] == texts[1]
    assert texts[0] != texts[2]
    assert parquet.read_schema(data.files[-1]).names == ["search_word", "category"]


def test_a_row_has_the_stated_width_at_most(tmp_path: Path) -> None:
    _, _, data = made("sql-scan", tmp_path / "in", 1, 20_000)
    (visits,) = (table.collect() for table in tables(data).values())
    assert data.files[0].parent.name == "visits"
    widths = {"visit_date": 4, "ad_revenue_cents": 8, "duration_s": 4}
    for column in visits.columns:
        if column not in widths:
            widths[column] = int(str(visits[column].str.len_bytes().max()))
    assert sum(widths.values()) == sql.ROW_BYTES


def test_small_tables_do_not_know_everything(tmp_path: Path) -> None:
    _, _, data = made("sql-analysis", tmp_path / "in", 1, 20_000)
    found = sql_check.analysis(**tables(data))
    shares = {}
    for part, column in (
        ("market", "first"),
        ("market", "second"),
        ("interest", "first"),
        ("page", "first"),
    ):
        of_part = found.filter(pl.col("part") == part)
        assert of_part["visits"].sum() == 20_000  # outer joins: no visit is lost
        shares[part, column] = of_part.filter(pl.col(column).is_null())["visits"].sum() / 20_000
    assert all(0.02 < share < 0.2 for share in shares.values()), shares


def test_sizes_are_those_of_hibench() -> None:
    def records(name: str) -> list[int]:
        return [sql.size(DEFINITIONS[name], scale, {}).records for scale in range(6)]

    assert records("sql-scan") == [1_000, 10**5, 10**6, 10**7, 10**8, 2 * 10**9]
    assert records("sql-join")[-1] == 5 * 10**9
    assert [sql.pages(rows) for rows in (1_000, 10**8, 5 * 10**9)] == [120, 12 * 10**6, 120 * 10**6]


def test_the_references_are_what_plain_python_finds(tmp_path: Path) -> None:
    _, _, data = made("sql-analysis", tmp_path / "in", 5, 3_000)
    given = tables(data)
    visits: list[Row] = given["visits"].collect().to_dicts()
    known = {
        name: {row[0]: row[1] for row in given[name].collect().rows()}
        for name in ("pages", "agents", "countries", "words")
    }

    revenue: Counter[str] = Counter()
    of_the_year: dict[str, list[Row]] = defaultdict(list)
    groups: dict[tuple[str, str | None, str | None], list[Row]] = defaultdict(list)
    for visit in visits:
        revenue[visit["source_ip"]] += visit["ad_revenue_cents"]
        rank = known["pages"].get(visit["dest_url"])
        if rank is not None and date(1999, 1, 1) <= visit["visit_date"] <= date(2000, 1, 1):
            of_the_year[visit["source_ip"]].append(visit)
        region = known["countries"].get(visit["country_code"])
        category = known["words"].get(visit["search_word"])
        groups["market", region, known["agents"].get(visit["user_agent"])].append(visit)
        groups["interest", category, str(visit["visit_date"].year)].append(visit)
        groups["page", None if rank is None else str(rank), region].append(visit)

    assert dict(sql_check.aggregation(given["visits"]).iter_rows()) == revenue
    joined = [
        (
            source,
            sum(known["pages"][visit["dest_url"]] for visit in each) / len(each),
            sum(visit["ad_revenue_cents"] for visit in each),
        )
        for source, each in of_the_year.items()
    ]
    assert len(joined) > 20
    joined.sort(key=lambda row: (-row[2], row[0]))
    assert sql_check.join(given["visits"], given["pages"]).rows() == joined
    analysed = {
        (
            *key,
            len(each),
            len({v["source_ip"] for v in each}),
            sum(v["ad_revenue_cents"] for v in each),
        )
        for key, each in groups.items()
    }
    found = sql_check.analysis(**given).rows()
    assert len(found) == len(analysed)
    assert set(found) == analysed


def first_but(column: str, value: object) -> Callable[[pl.DataFrame], pl.DataFrame]:
    first = pl.int_range(pl.len()) == 0
    return lambda rows: rows.with_columns(
        pl.when(first).then(pl.lit(value, rows.schema[column])).otherwise(column).alias(column)
    )


MUTATIONS: dict[str, Callable[[pl.DataFrame], pl.DataFrame]] = {
    "a lost row": lambda rows: rows[1:],
    "a row twice": lambda rows: pl.concat([rows[:1], rows]),
    "another row twice instead": lambda rows: pl.concat([rows[1:2], rows[1:]]),
    "another name": lambda rows: rows.rename({rows.columns[-1]: "other"}),
}


@pytest.mark.engines
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", DEFINITIONS)
def test_spark_agrees_with_the_reference_and_a_changed_output_does_not(
    name: str, seed: int, spark_session: SparkSession, tmp_path: Path
) -> None:
    definition, size, data = made(name, tmp_path / "in", seed, 1_500)
    output = tmp_path / "out"
    programs.PROGRAMS[name](spark_session, {"input": str(tmp_path / "in"), "output": str(output)})

    def problem() -> str | None:
        return sql_check.check(CheckInput(STEP, definition, size, data, output, {}))

    assert problem() is None
    file = max(output.glob("part-*"), key=lambda path: path.stat().st_size)
    right = pl.read_parquet(file)
    money = next(column for column in right.columns if column.endswith("_cents"))
    mutations = {
        **MUTATIONS,
        "other revenue": first_but(money, right[money][0] + 1),
        "another text": first_but(right.columns[0], "0.0.0.0"),
    }
    if name == "sql-join":
        mutations["another order"] = lambda rows: rows.reverse()
    for what, mutate in mutations.items():
        mutate(right).write_parquet(file)
        assert problem() is not None, what
    file.write_bytes(b"PAR1 and no more")
    assert "cannot be read" in (problem() or "")
    right.write_parquet(file)
    assert problem() is None
    for path in output.glob("part-*"):
        path.unlink()
    assert problem() == "there is no output"
