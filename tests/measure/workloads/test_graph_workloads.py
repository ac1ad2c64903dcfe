"""Graphs: inputs, references against literal definitions, Spark's programs against references."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from this_host import FILES, STEP
from venturi.core.errors import VenturiError
from venturi.measure.workloads.checking import CheckInput
from venturi.measure.workloads.definition import Definition, Size
from venturi.measure.workloads.graph import check as graph_check
from venturi.measure.workloads.graph import data as graph_data
from venturi.measure.workloads.graph import definition as graph
from venturi.measure.workloads.graph import on_spark as programs
from venturi.measure.workloads.inputs import InputData

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DEFINITIONS = {each.name: each for each in graph.WORKLOADS}
# Small enough for a second, large enough that lists are cut and vertices are three hops apart.
LINES = {"nweight": 1_600, "nhop": 800, "pagerank": 2_000}
PARAMETERS = {"nweight": {"max_out_edges": 5}, "nhop": {}, "pagerank": {}}
Edge = tuple[int, int, int]


def made(name: str, folder: Path, seed: int) -> tuple[Definition, Size, InputData]:
    definition = DEFINITIONS[name]
    size_bytes = LINES[name] * definition.record_bytes
    size = graph.size_of_bytes(definition, size_bytes, PARAMETERS[name])
    folder.mkdir()
    answer = graph_data.write(FILES, definition, folder, size, seed, tick=lambda _: None)
    files = tuple(sorted(folder.iterdir()))
    return definition, size, InputData(files, size_bytes, size.records, answer=answer)


def checking(
    definition: Definition, size: Size, data: InputData, output: Path
) -> Callable[[], str | None]:
    return lambda: graph_check.check(CheckInput(STEP, definition, size, data, output, {}))


@pytest.mark.parametrize("name", DEFINITIONS)
def test_the_input_is_of_the_stated_size_and_only_the_seed_changes_it(
    name: str, tmp_path: Path
) -> None:
    told: list[int] = []
    definition, size, data = made(name, tmp_path / "one", 1)
    (tmp_path / "same").mkdir()
    graph_data.write(FILES, definition, tmp_path / "same", size, 1, tick=told.append)
    _, _, other = made(name, tmp_path / "other", 2)
    text = b"".join(file.read_bytes() for file in data.files)
    assert len(data.files) == 4
    assert len(text) == size.bytes == told[-1]
    assert text.count(b"\n") == size.records
    assert text == b"".join(file.read_bytes() for file in sorted((tmp_path / "same").iterdir()))
    assert text != b"".join(file.read_bytes() for file in other.files)


def test_edges_go_both_ways_and_some_vertices_have_many(tmp_path: Path) -> None:
    definition = DEFINITIONS["nweight"]
    size = graph.size(definition, 0, {})
    answer = graph_data.write(FILES, definition, tmp_path, size, 3, tick=lambda _: None)
    columns = [
        *graph_check.read_columns(sorted(tmp_path.iterdir()), "stw", ("int64",) * 2 + ("double",))
    ]
    source, target, weight = (np.concatenate(column) for column in zip(*columns, strict=True))
    assert (source[::2] == target[1::2]).all()
    assert (target[::2] == source[1::2]).all()
    assert (weight[::2] == weight[1::2]).all()
    assert (source != target).all()
    assert 0.01 <= weight.min() < weight.max() <= 1
    assert answer["vertices"] == 10_000
    assert 0 <= source.min() < source.max() < 10_000
    degrees = np.bincount(source)
    assert degrees.max() > 50 * degrees.mean()


def test_sizes_are_those_of_hibench() -> None:
    def records(name: str, scale: int) -> int:
        return graph.size(DEFINITIONS[name], scale, {}).records

    assert [records("nweight", scale) // 2 for scale in (0, 3, 5)] == [10**5, 10**8, 4_250 * 10**6]
    assert [records("pagerank", scale) // 40 for scale in (0, 1, 4)] == [50, 5_000, 50_000_000]
    assert graph.size_of_bytes(DEFINITIONS["nweight"], 100, {}).bytes == 0  # no graph at all
    with pytest.raises(VenturiError) as caught:  # identifiers have nine digits
        graph.size_of_bytes(DEFINITIONS["nweight"], 10**12, {})
    assert caught.value.code == "VEN-MEASURE-WORKLOAD"


def literal_sums(edges: list[Edge]) -> dict[int, dict[int, int]]:
    out: dict[int, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for source, target, weight in edges:
        out[source][target] += weight
    return out


def literal_nweight(edges: list[Edge], hops: int, limit: int) -> dict[int, list[tuple[int, int]]]:
    def strongest(scores: dict[int, int]) -> list[tuple[int, int]]:
        return sorted(scores.items(), key=lambda each: (-each[1], each[0]))[:limit]

    out = literal_sums(edges)
    lists = {vertex: strongest(scores) for vertex, scores in out.items()}
    for _ in range(1, hops):
        lists = {
            vertex: strongest(
                literal_sums(
                    [
                        (vertex, target, weight * score)
                        for via, weight in neighbours.items()
                        for target, score in lists.get(via, [])
                        if target != vertex
                    ]
                )[vertex]
            )
            for vertex, neighbours in out.items()
        }
    return {vertex: pairs for vertex, pairs in lists.items() if pairs}


def literal_nhop(edges: list[Edge], hops: int) -> dict[tuple[int, int], int]:
    out = literal_sums(edges)
    found: dict[tuple[int, int], int] = {}
    for start in list(out):
        reached, ways = {start}, {start: 1}
        for _ in range(hops):
            onward: dict[int, int] = defaultdict(int)
            for vertex, score in ways.items():
                for target, weight in out.get(vertex, {}).items():
                    if target not in reached:
                        onward[target] += score * weight
            ways = onward
            reached |= set(onward)
        found |= {(start, target): score for target, score in ways.items()}
    return found


GRAPHS = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 8), st.integers(1, 3)).filter(
        lambda edge: edge[0] != edge[1]
    ),
    min_size=1,
    max_size=40,
)


def matrix(edges: list[Edge]) -> Any:
    source, target, weight = (np.array(column) for column in zip(*edges, strict=True))
    return graph_check.matrix(source, target, weight.astype(np.float64), 9)


@settings(deadline=None)  # the first example imports scipy
@given(edges=GRAPHS, hops=st.integers(1, 4), limit=st.integers(1, 4))
def test_the_reference_of_nweight_is_its_definition(
    edges: list[Edge], hops: int, limit: int
) -> None:
    found = graph_check.strongest_over(matrix(edges), hops, limit)
    pairs = list(zip(found.indices.tolist(), found.data.tolist(), strict=True))
    lists = {row: pairs[found.indptr[row] : found.indptr[row + 1]] for row in range(9)}
    expected = literal_nweight(edges, hops, limit)
    assert {vertex: pairs for vertex, pairs in lists.items() if pairs} == expected


@settings(deadline=None)
@given(edges=GRAPHS, hops=st.integers(1, 4))
def test_the_reference_of_nhop_is_its_definition(edges: list[Edge], hops: int) -> None:
    found = graph_check.apart(matrix(edges), hops).tocoo()
    row, column = found.coords
    pairs = zip(row.tolist(), column.tolist(), found.data.tolist(), strict=True)
    assert {(one, other): score for one, other, score in pairs} == literal_nhop(edges, hops)


@settings(max_examples=30, deadline=None)
@given(edges=GRAPHS, iterations=st.integers(1, 5), damping=st.floats(0, 1))
def test_the_reference_of_pagerank_is_its_definition(
    tmp_path_factory: pytest.TempPathFactory, edges: list[Edge], iterations: int, damping: float
) -> None:
    file = tmp_path_factory.getbasetemp() / "links"
    file.write_text("".join(f"{source}\t{target}\n" for source, target, _ in edges))
    ranks = [1.0] * 9
    for _ in range(iterations):
        received = [0.0] * 9
        for source, target, _ in edges:
            received[target] += ranks[source] / sum(edge[0] == source for edge in edges)
        ranks = [1 - damping + damping * each for each in received]
    assert graph_check.page_ranks([file], 9, iterations, damping) == pytest.approx(ranks)


def test_an_empty_answer_is_right_where_there_is_nothing_to_find(tmp_path: Path) -> None:
    definition = DEFINITIONS["nhop"]
    size = graph.size_of_bytes(definition, 2_700, {"hops": 3})
    (tmp_path / "in").mkdir()
    answer = graph_data.write(FILES, definition, tmp_path / "in", size, 0, tick=lambda _: None)
    files = tuple(sorted((tmp_path / "in").iterdir()))
    data = InputData(files, 2_700, size.records, answer=answer)
    output = tmp_path / "out"
    problem = checking(definition, size, data, output)
    assert problem() == "there is no output"
    output.mkdir()
    assert problem() == "there is no output"
    (output / "part-00000").touch()
    assert problem() is None
    (output / "part-00000").write_text("1\t2\t0.5\n")
    assert problem() == "1 pairs in the output, 0 in the reference"


@pytest.mark.parametrize("name", DEFINITIONS)
def test_an_empty_answer_is_wrong_where_there_is_something(name: str, tmp_path: Path) -> None:
    definition, size, data = made(name, tmp_path / "in", 1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-00000").touch()
    assert checking(definition, size, data, tmp_path / "out")() is not None


@pytest.mark.engines
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", DEFINITIONS)
def test_spark_agrees_with_the_reference_and_a_changed_output_does_not(
    name: str,
    seed: int,
    spark_session: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    definition, size, data = made(name, tmp_path / "in", seed)
    output = tmp_path / "out"
    task = {"input": str(tmp_path / "in"), "output": str(output)}
    programs.PROGRAMS[name](spark_session, {**task, "parameters": dict(size.parameters)})
    spark_session.catalog.clearCache()
    problem = checking(definition, size, data, output)
    assert problem() is None
    monkeypatch.setattr(graph_check, "WHOLE_LINES", {"nweight": 0, "nhop": 0})
    assert problem() is None  # by a sample, as of a large graph
    monkeypatch.undo()

    file = max(output.glob("part-*"), key=lambda path: path.stat().st_size)
    lines = file.read_text().splitlines(keepends=True)
    other = lines[1].replace("0.", "1.", 1) if "0." in lines[1] else lines[1].replace(".", "1.", 1)
    for changed in (
        [lines[0], other, *lines[2:]],
        lines[1:],
        [lines[0], *lines],
        ["999999999" + lines[0][lines[0].index("\t") :], *lines[1:]],
        ["nonsense\n", *lines[1:]],
        ["\t\n", *lines[1:]],
    ):
        file.write_text("".join(changed))
        assert problem() is not None, changed[:2]
    for path in output.glob("part-*"):
        path.unlink()
    assert problem() == "there is no output"


@pytest.mark.engines
@pytest.mark.parametrize(
    ("name", "lines"),
    [
        # All weights are equal: the smaller identifiers are kept.
        ("nweight", [f"{a}\t{b}\t0.5000" for a in range(12) for b in range(12) if a != b]),
        # 0 has no links, nothing links to the others, 1 links twice.
        ("pagerank", ["1\t0", "1\t0", "2\t0", "3\t0"]),
    ],
)
def test_equals_and_ends(
    name: str, lines: list[str], spark_session: SparkSession, tmp_path: Path
) -> None:
    definition = DEFINITIONS[name]
    parameters = definition.parameter_values(PARAMETERS[name])
    file = tmp_path / "part-00000"
    file.write_text("\n".join(lines))
    size = Size(file.stat().st_size, len(lines), parameters=parameters)
    vertices = 12 if name == "nweight" else 4
    data = InputData((file,), file.stat().st_size, len(lines), answer={"vertices": vertices})
    output = tmp_path / "out"
    task = {"input": str(tmp_path), "output": str(output), "parameters": parameters}
    programs.PROGRAMS[name](spark_session, task)
    spark_session.catalog.clearCache()
    assert checking(definition, size, data, output)() is None
