"""Deterministic graphs with a power law of degrees, like those of friends and of web pages.

The rank of a vertex is drawn as `vertices x u^2`, u uniform: the r-th most popular has a share of
about 1 / (2 sqrt(r x vertices)), which makes degrees a power law of exponent 3. Edges of NWeight
and n-hop go both ways; as in HiBench, their weight is the product of a factor of each end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from venturi.measure.hosts.host import Files
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.graph.definition import ID_DIGITS
from venturi.measure.workloads.graph.definition import vertices as vertices_of

FILES = 4  # at least: a graph comes from several tasks
FILE_BYTES = 128 * 2**20
CHUNK_LINES = 2**18
WEIGHT_DIGITS = 4
# Coprime to any number of vertices that is no multiple of it: popular vertices lie scattered.
_SCATTER = 2_654_435_761

I64 = npt.NDArray[np.int64]
Text = npt.NDArray[np.uint8]


def write(
    files: Files,
    definition: Definition,
    folder: Path,
    size: Size,
    seed: int,
    *,
    tick: Callable[[int], None],
) -> Mapping[str, Any]:
    """Write files `part-00000`, ... of edges into `folder`; return the number of vertices."""
    count = vertices_of(definition, size)
    rng = np.random.Generator(np.random.PCG64(seed))
    if definition.name == "pagerank":
        lines_each, degree = 1, size.records // count

        def chunk(first: int, last: int) -> Text:
            return _links(rng, count, degree, first, last)
    else:
        lines_each = 2

        def chunk(first: int, last: int) -> Text:
            return _both_ways(rng, count, last - first)

    edges = size.records // lines_each
    parts = max(FILES, -(-(size.records * definition.record_bytes) // FILE_BYTES))
    done_bytes = 0
    for number, (begin, end) in enumerate(
        pairwise(edges * part // parts for part in range(parts + 1))
    ):
        with files.create(folder / f"part-{number:05d}") as file:
            for first in range(begin, end, CHUNK_LINES):
                done_bytes += file.write(chunk(first, min(first + CHUNK_LINES, end)).tobytes())
                tick(done_bytes)
    return {"vertices": count}


def popular(rng: np.random.Generator, limit: int, count: int) -> I64:
    """`count` numbers below `limit`, the small ones more often: see above."""
    share = rng.random(count)
    rank: I64 = (limit * share * share).astype(np.int64)
    return rank


def _vertex(rng: np.random.Generator, vertices: int, count: int) -> I64:
    return popular(rng, vertices, count) * _SCATTER % vertices


def _both_ways(rng: np.random.Generator, vertices: int, pairs: int) -> Text:
    one = _vertex(rng, vertices, pairs)
    other = _vertex(rng, vertices, pairs)
    other = np.where(other == one, (other + 1) % vertices, other)
    unit = 10**WEIGHT_DIGITS
    weight = (_factor(one) * _factor(other) + unit // 2) // unit
    text = np.empty((2 * pairs, 2 * (ID_DIGITS + 1) + 2 + WEIGHT_DIGITS + 1), dtype=np.uint8)
    for place, (source, target) in enumerate(((one, other), (other, one))):
        lines = text[place::2]
        _ends(lines, source, target)
        lines[:, 2 * ID_DIGITS + 2 : 2 * ID_DIGITS + 4] = np.frombuffer(b"0.", np.uint8)
        _digits(lines[:, -1 - WEIGHT_DIGITS : -1], weight)
    text[:, 2 * ID_DIGITS + 1] = ord("\t")
    text[:, -1] = ord("\n")
    return text


def _factor(vertex: I64) -> I64:
    """0.1 to 1, in units of 1e-4."""
    return 1_000 + vertex * 7_919 % 9_000


def _links(rng: np.random.Generator, pages: int, degree: int, first: int, last: int) -> Text:
    text = np.empty((last - first, 2 * (ID_DIGITS + 1)), dtype=np.uint8)
    source = np.arange(first, last, dtype=np.int64) // degree
    _ends(text, source, _vertex(rng, pages, last - first))
    text[:, -1] = ord("\n")
    return text


def _ends(lines: Text, source: I64, target: I64) -> None:
    _digits(lines[:, :ID_DIGITS], source)
    lines[:, ID_DIGITS] = ord("\t")
    _digits(lines[:, ID_DIGITS + 1 : 2 * ID_DIGITS + 1], target)


def _digits(into: Text, values: I64) -> None:
    for column in range(into.shape[1] - 1, -1, -1):
        into[:, column] = values % 10 + ord("0")
        values = values // 10
