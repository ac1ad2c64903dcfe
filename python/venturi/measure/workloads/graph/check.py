"""Checks the output of a graph workload against a reference that reads the same input.

The references multiply sparse matrices, which no engine's program does. They are exact if memory
allows (`WHOLE_LINES`); beyond that they compute the answers of some vertices, exactly too, from the
edges that determine them. PageRank's reads the edges in pieces and is always complete.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from venturi.measure.hosts.local import HERE
from venturi.measure.workloads.graph.definition import SAMPLED_VERTICES, WHOLE_LINES

if TYPE_CHECKING:
    from scipy.sparse import csr_array

    from venturi.measure.workloads.checking import CheckInput

# Sums of doubles in another order: each addition rounds to 1e-16, sums have millions at most.
TOLERANCE = 1e-9
UNIT = 10_000  # weights have four decimals: as whole numbers their sums are exact below 2^53
BLOCK_BYTES = 64 * 2**20
BLOCK_ENTRIES = 2**18  # rows with this number of entries are multiplied together

I64 = npt.NDArray[np.int64]
F64 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
ColumnArrays = tuple[npt.NDArray[Any], ...]


def check(checking: CheckInput) -> str | None:
    """Why the output is wrong, or None if it is right."""
    outputs = [each.path for each in checking.files.find(checking.output, "part-*")]
    if not outputs:
        return "there is no output"
    here = checking.files.here
    with here(*checking.given.files) as given, here(*outputs) as found:
        compare = _comparison(checking, given)
        try:
            return compare(found)
        except ValueError as error:
            return f"the output cannot be read: {str(error).splitlines()[0]}"


def _comparison(
    checking: CheckInput, files: Sequence[Path]
) -> Callable[[Sequence[Path]], str | None]:
    """Return a function that compares an output with the result expected for the input in
    `files`.
    """
    name, parameters = checking.definition.name, checking.size.parameters
    assert checking.given.answer is not None
    vertices = int(checking.given.answer["vertices"])
    if name == "pagerank":
        iterations, damping = int(str(parameters["iterations"])), float(str(parameters["damping"]))
        return partial(_compare_ranks, page_ranks(files, vertices, iterations, damping))
    whole = checking.size.records <= WHOLE_LINES[name]
    sources = np.ones(vertices, dtype=np.bool_) if whole else _sample(vertices)
    if name == "nweight":
        hops, limit = int(str(parameters["degree"])), int(str(parameters["max_out_edges"]))
        answers = answers_for(
            sources, files, hops, lambda edges: strongest_over(edges, hops, limit)
        )
        return partial(_compare_lists, answers, limit)
    hops = int(str(parameters["hops"]))
    answers = answers_for(sources, files, hops, lambda edges: apart(edges, hops))
    return partial(_compare_pairs, answers)


@dataclass(frozen=True)
class Answers:
    """The associations of the vertices in `sources`, a mask; those of others are incomplete.

    The associations of the vertex `ids[row]` are the pairs of `target` (identifiers) and `score`
    from `bounds[row]` to `bounds[row + 1]`.
    """

    sources: Mask
    ids: I64
    bounds: I64
    target: I64
    score: F64

    def of(self, vertex: int) -> tuple[I64, F64]:
        """Return targets and scores of one of the sources."""
        row = int(np.searchsorted(self.ids, vertex))
        if row == len(self.ids) or self.ids[row] != vertex:
            return self.target[:0], self.score[:0]
        part = slice(self.bounds[row], self.bounds[row + 1])
        return self.target[part], self.score[part]


def answers_for(
    sources: Mask,
    files: Sequence[Path],
    hops: int,
    reference: Callable[[csr_array], csr_array],
) -> Answers:
    """Apply `reference` to the edges that decide the results of `sources`."""
    source, target, weight = edges_around(files, sources, hops)
    ids = np.unique(np.concatenate([source, target]))
    rows, columns = np.searchsorted(ids, source), np.searchsorted(ids, target)
    result = reference(matrix(rows, columns, np.rint(weight * UNIT), len(ids)))
    score = result.data / float(UNIT) ** hops
    return Answers(sources, ids, result.indptr.astype(np.int64), ids[result.indices], score)


def _sample(vertices: int) -> Mask:
    sources = np.zeros(vertices, dtype=np.bool_)
    count = min(vertices, SAMPLED_VERTICES)
    sources[np.random.default_rng(vertices).choice(vertices, count, replace=False)] = True
    return sources


def read_columns(
    files: Iterable[Path], names: Sequence[str], types: Sequence[str]
) -> Iterator[ColumnArrays]:
    """The columns of lines separated by tabs, in pieces of about BLOCK_BYTES of text."""
    from pyarrow import csv  # noqa: PLC0415 - an extra

    for file in files:
        if HERE.stat(file).bytes == 0:
            continue
        reader = csv.open_csv(
            file,
            csv.ReadOptions(column_names=list(names), block_size=BLOCK_BYTES),
            csv.ParseOptions(delimiter="\t"),
            csv.ConvertOptions(
                column_types=dict(zip(names, types, strict=True)), strings_can_be_null=False
            ),
        )
        for batch in reader:
            if any(column.null_count for column in batch.columns):
                raise ValueError(f"{file.name}: a value is missing")
            yield tuple(column.to_numpy(zero_copy_only=False) for column in batch.columns)


def _weighted(files: Iterable[Path]) -> Iterator[tuple[I64, I64, F64]]:
    names, types = ("source", "target", "weight"), ("int64", "int64", "double")
    return (
        (source, target, weight) for source, target, weight in read_columns(files, names, types)
    )


def edges_around(files: Sequence[Path], sources: Mask, hops: int) -> tuple[I64, I64, F64]:
    """All edges within reach of `sources` in `hops` steps: one reading of the files for a step."""
    known = np.zeros_like(sources)
    wanted = sources.copy()
    parts: list[tuple[I64, I64, F64]] = []
    for _ in range(hops):
        known |= wanted
        found = [
            (source[kept], target[kept], weight[kept])
            for source, target, weight in _weighted(files)
            for kept in (wanted[source],)
        ]
        parts += found
        wanted = np.zeros_like(known)
        for _, target, _ in found:
            wanted[target] = True
        wanted &= ~known
        if not wanted.any():
            break
    source, target, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    return source, target, weight


def matrix(source: I64, target: I64, weight: F64, vertices: int) -> csr_array:
    """The adjacency matrix; the weights of equal edges add up."""
    from scipy.sparse import coo_array

    return coo_array((weight, (source, target)), shape=(vertices, vertices)).tocsr()


def strongest_over(adjacency: csr_array, hops: int, limit: int) -> csr_array:
    """NWeight: each row's `limit` strongest associations over `hops` hops, the strongest first."""
    from scipy.sparse import vstack

    hop = _strongest(adjacency, limit)
    for _ in range(1, hops):
        hop = vstack([_strongest(rows, limit) for _, rows in _one_hop_more(adjacency, hop)])
    return hop


def apart(adjacency: csr_array, hops: int) -> csr_array:
    """Return the N-hop associations: pairs with a shortest path of exactly `hops` edges."""
    from scipy.sparse import vstack

    nearer = [adjacency]
    for _ in range(1, hops):
        nearer.append(
            vstack(
                [
                    _without(rows, [each[first : first + rows.shape[0]] for each in nearer])
                    for first, rows in _one_hop_more(adjacency, nearer[-1])
                ]
            )
        )
    return nearer[-1]


def _one_hop_more(adjacency: csr_array, hop: csr_array) -> Iterator[tuple[int, csr_array]]:
    """`adjacency x hop` without its diagonal, some rows at a time, each with its first row."""
    from scipy.sparse import coo_array

    first, rows = 0, adjacency.shape[0]
    while first < rows:
        end = int(np.searchsorted(adjacency.indptr, adjacency.indptr[first] + BLOCK_ENTRIES))
        last = min(max(end, first + 1), rows)
        product = (adjacency[first:last] @ hop).tocoo()
        row, column = product.coords
        other = row + first != column
        kept = (product.data[other], (row[other], column[other]))
        yield first, coo_array(kept, shape=product.shape).tocsr()
        first = last


def _strongest(scores: csr_array, limit: int) -> csr_array:
    """The largest `limit` of each row in descending order, equal ones by column."""
    from scipy.sparse import csr_array

    lengths = np.diff(scores.indptr)
    row = np.repeat(np.arange(len(lengths)), lengths)
    order = np.lexsort((scores.indices, -scores.data, row))
    order = order[np.arange(len(row)) - scores.indptr[row] < limit]
    bounds = np.concatenate([[0], np.cumsum(np.minimum(lengths, limit))])
    return csr_array((scores.data[order], scores.indices[order], bounds), shape=scores.shape)


def _without(rows: csr_array, others: Sequence[csr_array]) -> csr_array:
    for other in others:
        rows = rows - rows.multiply(other != 0)  # exactly zero
        rows.eliminate_zeros()
    return rows


def page_ranks(files: Sequence[Path], pages: int, iterations: int, damping: float) -> F64:
    """The rank of every page."""

    def links() -> Iterator[ColumnArrays]:
        return read_columns(files, ("source", "target"), ("int64", "int64"))

    out = np.zeros(pages)
    for source, _ in links():
        out += np.bincount(source, minlength=pages)
    rank = np.ones(pages)
    for _ in range(iterations):
        share = rank / np.maximum(out, 1)
        received = np.zeros(pages)
        for source, target in links():
            received += np.bincount(target, weights=share[source], minlength=pages)
        rank = 1 - damping + damping * received
    return rank


def _compare_ranks(expected: F64, outputs: Sequence[Path]) -> str | None:
    columns = list(read_columns(outputs, ("page", "rank"), ("int64", "double")))
    if not columns:  # every page has a rank
        return "the output is empty"
    page, rank = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.argsort(page)
    if len(page) != len(expected) or (page[order] != np.arange(len(expected))).any():
        return f"{len(page)} ranks in the output, {len(expected)} pages in the input, or other ones"
    wrong = ~np.isclose(rank[order], expected, rtol=TOLERANCE, atol=0)
    if wrong.any():
        first = int(np.argmax(wrong))
        return f"page {first} has rank {rank[order][first]:.12g}, not {expected[first]:.12g}"
    return None


def _compare_lists(answers: Answers, limit: int, outputs: Sequence[Path]) -> str | None:
    seen = np.zeros_like(answers.sources)
    for path in outputs:
        with TextIOWrapper(HERE.open(path), "utf-8") as file:
            for number, line in enumerate(file, start=1):
                vertex, _, pairs = line.rstrip("\n").partition("\t")
                problem = _wrong_line(answers, limit, seen, int(vertex), pairs)
                if problem:
                    return f"{path.name}: line {number}: vertex {vertex} {problem}"
    expected = answers.ids[np.diff(answers.bounds) > 0]
    missing = expected[answers.sources[expected] & ~seen[expected]]
    if len(missing):
        return f"{len(missing)} vertices are not in the output, such as {missing[0]}"
    return None


def _wrong_line(answers: Answers, limit: int, seen: Mask, vertex: int, pairs: str) -> str | None:
    """Return the mistake in a line, or None; mark the line's vertex in `seen`."""
    if not 0 <= vertex < len(seen) or seen[vertex]:
        return "is not in the input, or occurs twice"
    seen[vertex] = True
    if pairs.count(":") > limit:
        return f"has more than {limit} associations"
    if not answers.sources[vertex]:
        return None
    target, score = answers.of(vertex)
    split = [pair.split(":") for pair in pairs.split(" ")]
    if [int(pair[0]) for pair in split] != target.tolist():
        return f"has other associations than {target[:3].tolist()}, ..., or in another order"
    if not np.allclose([float(pair[1]) for pair in split], score, rtol=TOLERANCE, atol=0):
        return "has an association of another strength"
    return None


def _compare_pairs(answers: Answers, outputs: Sequence[Path]) -> str | None:
    none = np.zeros(0, dtype=np.int64)
    found: list[tuple[I64, I64, F64]] = [(none, none, np.zeros(0))]
    for source, target, score in _weighted(outputs):
        if source.min() < 0 or source.max() >= len(answers.sources):
            return "there is a source that is not in the input"
        kept = answers.sources[source]
        found.append((source[kept], target[kept], score[kept]))
    source, target, score = _sorted(*map(np.concatenate, zip(*found, strict=True)))
    row = np.repeat(answers.ids, np.diff(answers.bounds))
    kept = answers.sources[row]
    expected = _sorted(row[kept], answers.target[kept], answers.score[kept])
    if len(source) != len(expected[0]):
        return f"{len(source)} pairs in the output, {len(expected[0])} in the reference"
    same = (source == expected[0]) & (target == expected[1])
    if not same.all():
        first = int(np.argmin(same))
        return f"there is a pair {source[first]}, {target[first]}, or another one is missing"
    close = np.isclose(score, expected[2], rtol=TOLERANCE, atol=0)
    if not close.all():
        first = int(np.argmin(close))
        return (
            f"{source[first]}, {target[first]}: {score[first]:.12g}, not {expected[2][first]:.12g}"
        )
    return None


def _sorted(source: I64, target: I64, score: F64) -> tuple[I64, I64, F64]:
    order = np.lexsort((target, source))
    return source[order], target[order], score[order]
