"""Deterministic tables in Parquet: a log of visits, and facts about pages, agents, ...

Popular pages and frequent sources follow a power law. The small tables are incomplete, so that
outer joins matter: about one visit in twenty goes to an unknown page, and one in ten agents,
countries and words is unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from venturi.measure.hosts.host import Files
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.graph.data import popular
from venturi.measure.workloads.shared.zipf import WORDS as VOCABULARY
from venturi.measure.workloads.shared.zipf import vocabulary
from venturi.measure.workloads.sql.definition import ROW_BYTES, pages, tables

FILES = 4  # at least: a table comes from several tasks
FILE_ROWS = 4_000_000
CHUNK_ROWS = 2**17
DAYS = 15_461  # 1970-01-01 to 2012-04-30, as HiBench's
AGENTS, COUNTRIES, LANGUAGES, WORDS = 48, 200, 24, 2_000
DEVICES, REGIONS, CATEGORIES = 5, 8, 40
KNOWN = 0.9
UNKNOWN_PAGES = 1.1
# Coprime to 2^32: different numbers of sources are different addresses.
_SCATTER = 2_654_435_761

I64 = npt.NDArray[np.int64]

COLUMNS: Mapping[str, pa.Schema] = {
    "visits": pa.schema(
        {
            "source_ip": pa.string(),
            "dest_url": pa.string(),
            "visit_date": pa.date32(),
            "ad_revenue_cents": pa.int64(),
            "user_agent": pa.string(),
            "country_code": pa.string(),
            "language_code": pa.string(),
            "search_word": pa.string(),
            "duration_s": pa.int32(),
        }
    ),
    "pages": pa.schema(
        {"page_url": pa.string(), "page_rank": pa.int32(), "average_duration_s": pa.int32()}
    ),
    "agents": pa.schema({"user_agent": pa.string(), "device": pa.string()}),
    "countries": pa.schema({"country_code": pa.string(), "region": pa.string()}),
    "words": pa.schema({"search_word": pa.string(), "category": pa.string()}),
}


Chunk = Callable[[int, int], list[pa.Array]]


def write(
    files: Files,
    definition: Definition,
    folder: Path,
    size: Size,
    seed: int,
    *,
    tick: Callable[[int], None],
) -> Mapping[str, Any]:
    """Write a folder of Parquet files into `folder` for each table; return the numbers of rows."""
    rng = np.random.Generator(np.random.PCG64(seed))
    rows: dict[str, int] = {}
    for table in tables(definition):
        files.mkdir(folder / table)
        rows[table], chunk = _table(table, size.records, rng)
        for done in _write(files, folder / table, COLUMNS[table], rows[table], chunk):
            if table == "visits":
                tick(done * ROW_BYTES)
    return {"rows": rows}


def _table(table: str, visits: int, rng: np.random.Generator) -> tuple[int, Chunk]:
    """Return the number of rows of `table`, and a function that makes its columns for a range of
    rows.
    """
    if table == "visits":
        return visits, lambda first, last: _visits(rng, visits, last - first)
    if table == "pages":
        return pages(visits), _pages
    keys, values = _small(table)
    return round(len(keys) * KNOWN), lambda first, last: [keys[first:last], values[first:last]]


def _write(files: Files, folder: Path, schema: pa.Schema, rows: int, chunk: Chunk) -> Iterator[int]:
    """Write the rows, and yield the number written so far after each chunk."""
    parts = max(min(FILES, rows), -(-rows // FILE_ROWS))
    bounds = pairwise(rows * part // parts for part in range(parts + 1))
    for number, (begin, end) in enumerate(bounds):
        path = folder / f"part-{number:05d}.parquet"
        with files.create(path) as target, parquet.ParquetWriter(target, schema) as file:
            for first in range(begin, end, CHUNK_ROWS):
                last = min(first + CHUNK_ROWS, end)
                file.write_batch(pa.record_batch(chunk(first, last), schema=schema))
                yield last


def _visits(rng: np.random.Generator, visits: int, count: int) -> list[pa.Array]:
    source = popular(rng, visits // 4 + 1, count) * _SCATTER % 2**32
    page = popular(rng, round(pages(visits) * UNKNOWN_PAGES), count)
    return [
        _addresses(source),
        _urls(page),
        pa.array(rng.integers(0, DAYS, count, dtype=np.int32), pa.date32()),
        pa.array(rng.integers(1, 10_001, count)),
        _small("agents")[0].take(rng.integers(0, AGENTS, count)),
        _small("countries")[0].take(popular(rng, COUNTRIES, count)),
        _languages().take(popular(rng, LANGUAGES, count)),
        _small("words")[0].take(popular(rng, WORDS, count)),
        pa.array(rng.integers(1, 11, count, dtype=np.int32)),
    ]


def _pages(first: int, last: int) -> list[pa.Array]:
    """The first are the most popular, and have the highest rank."""
    page = np.arange(first, last)
    rank = (10_000 / np.sqrt(page + 1)).astype(np.int32)
    return [_urls(page), pa.array(rank), pa.array((page % 97 + 1).astype(np.int32))]


def _addresses(numbers: I64) -> pa.Array:
    names = pa.array([str(octet) for octet in range(256)])
    octets = [names.take(pa.array(numbers >> shift & 255)) for shift in (24, 16, 8, 0)]
    return pc.binary_join_element_wise(*octets, ".")


def _urls(page: I64) -> pa.Array:
    def digits(values: I64, width: int) -> pa.Array:
        return pc.utf8_lpad(pa.array(values).cast(pa.string()), width, "0")

    return pc.binary_join_element_wise(
        "http://site-", digits(page % 1_000, 4), ".example/page-", digits(page, 9), ""
    )


def _languages() -> pa.Array:
    letters = [chr(ord("a") + number) for number in range(LANGUAGES)]
    return pa.array([f"{each}{each}-{each.upper()}{each.upper()}" for each in letters])


@cache
def _small(table: str) -> tuple[pa.Array, pa.Array]:
    """Return all keys of a small table, and the value of each."""
    if table == "agents":
        keys = [
            f"Browser/{each:02d}.0 (System-{each % 7}; Device-{each % DEVICES}) "
            f"Engine/{each % 13:02d}"
            for each in range(AGENTS)
        ]
        return pa.array(keys), pa.array([f"device-{each % DEVICES}" for each in range(AGENTS)])
    if table == "countries":
        a = ord("A")
        keys = [chr(a + each // 26) + chr(a + each % 26) + "X" for each in range(COUNTRIES)]
        return pa.array(keys), pa.array([f"region-{each % REGIONS}" for each in range(COUNTRIES)])
    spread = vocabulary()[:: VOCABULARY // WORDS]
    keys = [word.tobytes().decode() for word in spread]
    return pa.array(keys), pa.array([f"category-{each % CATEGORIES:02d}" for each in range(WORDS)])
