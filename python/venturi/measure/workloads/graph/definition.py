"""Graphs: associations over several hops, and PageRank. The sizes are HiBench's where it has them.

Input are lines `source<TAB>target<TAB>weight` (PageRank: without weight), with identifiers of nine
digits, so that its size is known in advance. An edge may occur twice: weights add up, and a page
that links twice passes on twice as much. Each vertex has the same mean number of edges; hubs have
many more (see `data`).
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from venturi.core.errors import UsageError
from venturi.measure.workloads.definition import STORAGE_LEVELS, Definition, Size, WorkloadParameter
from venturi.record.trial import Scalar

# Up to this number of input lines a check recomputes the whole answer, beyond it that of some
# vertices.
WHOLE_LINES: Mapping[str, int] = MappingProxyType({"nweight": 2_000_000, "nhop": 200_000})
SAMPLED_VERTICES = 32
ID_DIGITS = 9
MOST_VERTICES = 10**ID_DIGITS
# Shuffled data and output over the input, as measured: associations are many more than edges.
SPACE: Mapping[str, tuple[float, float]] = MappingProxyType(
    {"nweight": (20.0, 1.5), "nhop": (20.0, 20.0)}
)
WEIGHTED_LINE_BYTES = len("000000000\t000000000\t0.0000\n")
LINE_BYTES = len("000000000\t000000000\n")
_STORED = WorkloadParameter(
    "storage_level",
    "MEMORY_AND_DISK_SER",
    "where Spark keeps edges and links, which every hop or iteration reads",
    words=STORAGE_LEVELS,
)

WORKLOADS = (
    Definition(
        name="nweight",
        summary="The strongest associations of every vertex over n hops (HiBench's NWeight)",
        job="nweight",
        format="lines",
        generator="graph",
        record_bytes=WEIGHTED_LINE_BYTES,
        key_bytes=0,
        validation=(
            "association over one hop: the weight; over n: the sum over all neighbors of the "
            "edge's weight times the neighbor's association over n - 1, never with itself; "
            "after each hop the strongest are kept (of equals the smaller identifier). The "
            "lists of all vertices (beyond 2,000,000 lines: of 32 of them) equal a reference "
            "computed from the input, in order, scores to 1e-9; no vertex twice, no list too "
            "long"
        ),
        parameters=(
            # More, and sums are not exact in doubles: which of two equals is kept would be chance.
            WorkloadParameter("degree", 3, "hops", least=1, most=3),
            WorkloadParameter("max_out_edges", 30, "associations kept for each vertex", least=1),
            _STORED,
        ),
    ),
    Definition(
        name="nhop",
        summary="All pairs of vertices that are n hops apart, with their association",
        job="nhop",
        format="lines",
        generator="graph",
        record_bytes=WEIGHTED_LINE_BYTES,
        key_bytes=0,
        validation=(
            "pairs with a shortest path of exactly n edges; association: the sum over all shortest "
            "paths of the product of their weights. The pairs of all sources (beyond 200,000 "
            "lines: of 32 of them) equal a reference computed from the input, associations to 1e-9"
        ),
        parameters=(
            WorkloadParameter("hops", 2, "edges of the shortest way", least=1, most=4),
            _STORED,
        ),
    ),
    Definition(
        name="pagerank",
        summary="PageRank of pages with 40 links each",
        job="pagerank",
        format="lines",
        generator="graph",
        record_bytes=LINE_BYTES,
        key_bytes=0,
        validation=(
            "ranks start at 1; rank =  1 - damping + damping x the sum over incoming links "
            "of rank / number of links of its source; a page without links passes nothing "
            "on. Every page occurs once; its rank equals a reference computed from the input "
            "to 1e-9"
        ),
        parameters=(
            WorkloadParameter("iterations", 3, "number of iterations (HiBench's)", least=1),
            WorkloadParameter(
                "damping", 0.85, "share of a rank that is passed on", least=0, most=1
            ),
            _STORED,
        ),
    ),
)

# Mean number of edges per vertex: HiBench's for pages, ours for the others.
_DEGREES: Mapping[str, int] = MappingProxyType({"nweight": 20, "nhop": 10, "pagerank": 40})
_PAIRS = (10**5, 10**6, 10**7, 10**8, 425 * 10**6, 4_250 * 10**6)  # HiBench's "edges"
# HiBench's except for the last: it has 30 million there, fewer than before.
_PAGES = (50, 5_000, 500_000, 5_000_000, 50_000_000, 500_000_000)
_LINES: Mapping[str, tuple[int, ...]] = MappingProxyType(
    {
        "nweight": tuple(2 * pairs for pairs in _PAIRS),  # each is written both ways
        # Ours, a tenth: lists of pairs aren't cut, and grow with the hubs.
        "nhop": tuple(2 * pairs // 10 for pairs in _PAIRS),
        "pagerank": tuple(_DEGREES["pagerank"] * pages for pages in _PAGES),
    }
)


def vertices(definition: Definition, size: Size) -> int:
    """Return the number of vertices: their identifiers are 0, 1, ..."""
    return size.records // _DEGREES[definition.name]


def size(definition: Definition, scale: int, chosen: Mapping[str, Scalar]) -> Size:
    """The size at `scale`, a place in SCALES."""
    lines = _LINES[definition.name][scale]
    return size_of_bytes(definition, lines * definition.record_bytes, chosen)


def size_of_bytes(definition: Definition, size_bytes: int, chosen: Mapping[str, Scalar]) -> Size:
    """The size of an input of (at most) `size_bytes`, in whole vertices: two at least, else 0."""
    degree = _DEGREES[definition.name]
    count = size_bytes // (definition.record_bytes * degree)
    if count > MOST_VERTICES:
        raise UsageError(
            "VEN-MEASURE-WORKLOAD",
            f"{count} vertices are more than have an identifier",
            where={"workload": definition.name},
            hint=f"at most {MOST_VERTICES * degree * definition.record_bytes} bytes",
        )
    lines = count * degree if count > 1 else 0
    parameters = definition.parameter_values(chosen)
    return Size(lines * definition.record_bytes, lines, parameters=parameters)
