"""Values of benchmark tools that are no times, and fio's terse output."""

from __future__ import annotations

import hashlib
import io
import json
from collections import Counter

import pytest

from venturi.record.importing.formats import FORMATS
from venturi.record.importing.items import ImportedItem, ImportSource
from venturi.record.importing.text import Refusal
from venturi.record.trial import State, Trial


def read(format: str, text: str) -> list[ImportedItem]:
    source = ImportSource("file", hashlib.sha256(text.encode()).hexdigest())
    return list(FORMATS[format].reader.read(io.BytesIO(text.encode()), source))


def trials(items: list[ImportedItem]) -> list[Trial]:
    return [item for item in items if isinstance(item, Trial)]


def refused(items: list[ImportedItem]) -> list[Refusal]:
    return [item for item in items if isinstance(item, Refusal)]


def reasons(items: list[ImportedItem]) -> Counter[str]:
    return Counter(each.reason.partition(":")[0] for each in refused(items))


def test_missing_numbers_of_clickbench_are_counted_and_no_failed_runs() -> None:
    result = [[2.5, 0.1, None], [None, None, None], [-1, -1, 0], [1.5, 0.5, 0.25]]
    items = read("bench-tools", json.dumps({"system": "S", "machine": "m", "result": result}))
    assert [each.elapsed_s for each in trials(items)] == [2.5, 0.1, 1.5, 0.5, 0.25]
    assert {each.state for each in trials(items)} == {State.SUCCEEDED}
    assert reasons(items) == {"no result": 6, "not a time above 0": 1}
    assert Counter(each.value for each in refused(items)) == {"None": 4, "-1": 2, "0": 1}
    lines = "1,1,2.5\n1,2,0.1\n1,3,null\n2,1,-1\n2,2,\n2,3,null\n"
    assert len(trials(found := read("bench-tools", lines))) == 2
    assert reasons(found) == {"no result": 4}


def test_values_of_asv_that_are_no_times_are_counted() -> None:
    results = {
        "b.Suite.time_sort": [[1.0, None, float("nan")], [["1", "2", "3"]]],
        "b.Suite.time_failed": None,
        "b.Suite.peakmem_sort": [[1_000], []],
        "b.Suite.track_rows": [[7], []],
        "b.Suite.track_size": [[8], []],
    }
    file = {
        "commit_hash": "ab12",
        "env_name": "e",
        "result_columns": ["result", "params"],
        "results": results,
    }
    items = read("bench-tools", json.dumps(file))
    assert [each.elapsed_s for each in trials(items)] == [1.0]
    assert reasons(items) == {"no result": 3, "not a time": 3}
    kinds = Counter(each.field for each in refused(items))
    assert kinds == {"time benchmark": 3, "track benchmark": 2, "peakmem benchmark": 1}


def test_values_of_pytest_benchmark_and_conbench_that_are_no_times_are_counted() -> None:
    rounds = {"name": "test_a", "stats": {"data": [0.5, 0, None, 0.25], "median": 0.3}}
    without = {"name": "test_b", "stats": {}}
    last = {"name": "test_c", "stats": {"data": [1.0]}}
    items = read(
        "bench-tools", json.dumps({"machine_info": {}, "benchmarks": [rounds, without, last]})
    )
    assert [each.elapsed_s for each in trials(items)] == [0.5, 0.25, 1.0]
    assert reasons(items) == {"not a time above 0": 2, "no name, or no time": 1}
    rows = [
        {"batch_id": "b", "stats": {"unit": unit, "data": data}, "tags": {"name": unit}}
        for unit, data in (("B/s", [1e9]), ("s", [2.0, None, -1.0]), ("s", []), ("ms", ["500"]))
    ]
    items = read("bench-tools", json.dumps({"data": rows}))
    assert [each.elapsed_s for each in trials(items)] == [2.0, 0.5]
    assert reasons(items) == {"not a unit of time": 1, "not a time above 0": 2, "no result": 1}


def terse(name: str, group: int, read_figures: str, write_figures: str = "0;0;0;0") -> str:
    """A line of fio 3.33's terse output, version 3."""
    percentiles = "50.000000%=444;99.000000%=5013;99.990000%=15532;" + "0%=0;" * 17
    side = f";0;0;0.0;0.0;44;15500;1291.5;1518.7;{percentiles}45;15500;1.5;1.5;0;0;0%;0.0;0.0"
    idle = ";0;0;0.0;0.0;0;0;0.0;0.0;" + "0%=0;" * 20 + "0;0;0.0;0.0;0;0;0%;0.0;0.0"
    head = f"3;fio-3.33;{name};{group};0;{read_figures}{side}"
    return f"{head};{write_figures}{side if write_figures[0] != '0' else idle};0.0%;3.0%;1;0;1\n"


def test_terse_output_of_fio_is_imported_as_far_as_it_says() -> None:
    text = "some warning\n" + terse("4k-randread", 0, "6184;3090;772;2001")
    assert FORMATS["fio"].begins(text.encode(), "out.txt")
    (trial,) = trials(read("fio", text))
    assert (trial.engine.version, trial.elapsed_s) == ("3.33", 2.001)
    assert trial.values("disk_random_read_bytes_per_s") == [3090 * 1024]
    assert trial.values("disk_random_read_iops") == [772]
    assert trial.values("disk_latency_s", quantile="p99") == [pytest.approx(5.013e-3)]
    assert trial.values("disk_latency_s", quantile="max") == [pytest.approx(15.5e-3)]
    assert "block size, depth and direct I/O are unknown" in trial.warnings[-1].message
    both = trials(read("fio", terse("x", 0, "64;32;8;2000", "128;64;16;2000")))
    assert both[0].values("disk_unknown_write_iops") == [16]


def test_terse_lines_of_one_group_count_as_concurrent() -> None:
    lines = [terse("read", group, "1000;500;5;2000") for group in (0, 0, 1, 0)]
    found = trials(read("fio", "".join(lines)))
    labels = [each.samples[0].labels.get("concurrent_jobs") for each in found]
    assert labels == [1, 1, None, None]
    assert "assumed" in found[0].warnings[-1].message


def test_other_or_truncated_terse_output_is_rejected_with_the_option() -> None:
    line = terse("read", 0, "1000;500;5;2000")
    items = read("fio", line + f"5{line[1:]}" + line[:200] + "\n")
    assert len(trials(items)) == 1
    versions, cut = refused(items)
    assert (versions.line, versions.value) == (2, "5")
    assert "--output-format=json" in versions.reason
    assert (cut.line, cut.reason) == (3, "not a whole line of terse output")
