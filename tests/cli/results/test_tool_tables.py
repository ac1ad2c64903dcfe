"""Result files of other benchmark tools, from the file to the verdict in a command each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "data/results/tools"
OLD, NEW = "b28b7af69320201d1cf206ebf28373980add1451", "c2a6b03f190dfb2b4aa91f8af8d477a9bc3401dc"
Venturi = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize(
    ("file", "key", "fast", "slow", "ratio", "only"),
    [
        ("conbench.csv", "commit", OLD, NEW, 1.3, "workload=tpch"),
        ("asv", "commit", OLD, NEW, 1.3, "workload=benchmarks.TimeSuite.time_sort"),
        ("hyperfine.json", "threads", "4", "1", 2.0 / 0.9, ""),
        ("pytest-benchmark.json", "algorithm", "timsort", "heapq", 3.1 / 1.4, ""),
        ("clickbench", "engine", "DuckDB", "Slow DB", 1.6, ""),
        ("spreadsheet.csv", "disk", "SSD", "HDD", 91.5 / 61.2, ""),
    ],
)
def test_a_file_of_another_tool_gives_its_verdict(
    venturi: Venturi, file: str, key: str, fast: str, slow: str, ratio: float, only: str
) -> None:
    status, _, _ = venturi("import", TOOLS / file)
    assert status == 0
    where = ("--where", only) if only else ()
    status, stdout, _ = venturi("rank", "--by", key, *where)
    assert status == 0
    assert f"{fast} is fastest" in stdout
    status, stdout, _ = venturi("effect", key, "--baseline", fast, *where, "--json")
    assert status == 0
    (effect,) = json.loads(stdout)["data"]["effects"]
    assert effect["outcome"] == "slower"
    assert effect["ratio"] == pytest.approx(ratio, rel=0.06)
    sides = ("--baseline", f"{key}={fast}", "--candidate", f"{key}={slow}")
    status, stdout, _ = venturi("compare", *sides, *where, "--fail-if-slower", "5%")
    if file == "clickbench":  # three executions are too few to decide on a single query
        assert (status, "cannot tell" in stdout) == (3, True)
        return
    assert status == 4, stdout
    sides = ("--baseline", f"{key}={slow}", "--candidate", f"{key}={fast}")
    status, stdout, _ = venturi("compare", *sides, *where, "--fail-if-slower", "5%")
    assert status == 0, stdout


@pytest.mark.parametrize(
    ("file", "key", "time_s"),
    [("hyperfine.csv", "threads", 1.97), ("pytest-benchmark.csv", "algorithm", 0.00312)],
)
def test_a_summary_of_several_runs_is_a_trial_with_their_median(
    venturi: Venturi, file: str, key: str, time_s: float
) -> None:
    status, stdout, _ = venturi("import", TOOLS / file)
    assert status == 0
    assert "measurements, left out" in stdout
    trials = json.loads(venturi("ls", "--json")[1])["data"]
    assert max(each["elapsed_s"] for each in trials) == pytest.approx(time_s, rel=0.01)
    # One figure for each value can't be tested.
    assert "too few trials" in venturi("effect", key)[1]


def test_lines_of_clickbench(venturi: Venturi, tmp_path: Path) -> None:
    (tmp_path / "result.csv").write_text("1,1,0.35\n1,2,0.2\n1,3,null\n2,1,0.5\n2,2,0.4\n2,3,0.4\n")
    (tmp_path / "log.csv").write_text("[0.002,0.002,0.003],\n[0.151,0.013,null],\n")
    for file, counts in (("result.csv", "5 added"), ("log.csv", "5 added")):
        status, stdout, _ = venturi("import", tmp_path / file)
        assert (status, f"{counts}, 1 rejected" in stdout) == (0, True)
        assert "no result: ClickBench's mark for a query that failed" in " ".join(stdout.split())


def test_conbench_api(venturi: Venturi, tmp_path: Path) -> None:
    result = {
        "id": "06a2",
        "run_id": "66f2",
        "batch_id": "66f2-1",
        "timestamp": "2026-11-20T08:00:00Z",
        "tags": {"name": "tpch", "query_id": "TPCH-09", "cpu_count": None},
        "stats": {"data": ["1010", "1020"], "times": [], "unit": "ms", "mean": 1015},
        "commit": {"sha": OLD},
    }
    rate = result | {"stats": {"data": ["5"], "unit": "B/s"}}
    (tmp_path / "page.json").write_text(
        json.dumps({"data": [result, rate], "metadata": {"next_page_cursor": None}})
    )
    status, stdout, _ = venturi("import", tmp_path / "page.json")
    assert (status, "2 added, 1 rejected" in stdout) == (0, True), stdout
    trials = json.loads(venturi("ls", "--where", f"commit={OLD}", "--json")[1])["data"]
    assert sorted(each["elapsed_s"] for each in trials) == [1.01, 1.02]


@pytest.mark.parametrize(
    ("header", "row", "time_s"),
    [
        ("benchmark,time,unit", "sort,1500,ms", 1.5),
        ("name,iterations,real_time,cpu_time,time_unit", "BM_sort,100,1500000,1400000,us", 1.5),
        ("name,time_wall_clock_unit,time_wall_clock_median,time_wall_clock_min", "a,s,1.5,1", 1.5),
    ],
)
def test_a_column_of_units_scales_each_row(
    venturi: Venturi, tmp_path: Path, header: str, row: str, time_s: float
) -> None:
    (tmp_path / "own.csv").write_text(f"{header}\n{row}\n")
    assert venturi("import", tmp_path / "own.csv")[0] == 0
    (trial,) = json.loads(venturi("ls", "--json")[1])["data"]
    assert trial["elapsed_s"] == pytest.approx(time_s)
    assert venturi("keys", "iterations")[0] == 2  # measured, not a setting


def test_keys_that_identify_trials_are_ignored_unless_kept(
    venturi: Venturi, tmp_path: Path
) -> None:
    pids = [4711 + 37 * n * n for n in range(12)]
    disks = [(10, "SSD")] * 6 + [(13, "HDD")] * 6
    rows = [
        f"sort,{time_s + n / 10},{disk},/tmp/run-{pid}/out,{pid}"
        for n, (pid, (time_s, disk)) in enumerate(zip(pids, disks, strict=True))
    ]
    header = "workload,time (s),disk,work_dir,pid"
    (tmp_path / "own.csv").write_text("\n".join([header, *rows]) + "\n")
    assert venturi("import", tmp_path / "own.csv")[0] == 0
    note = "ignores pid, work_dir: unique per trial"
    status, stdout, stderr = venturi("rank", "--by", "disk")
    assert (status, note in stderr, "SSD is fastest; 1 is worse" in stdout) == (0, True, True)
    _, stdout, stderr = venturi("rank", "--by", "disk", "--keep", "work_dir", "--ignore", "pid")
    assert (note in stderr, "SSD is fastest" in stdout) == (False, False)
    _, stdout, stderr = venturi("effect", "disk", "--baseline", "SSD")
    assert (note in stderr, "takes" in stdout) == (True, True)
    assert "takes" not in venturi("effect", "disk", "--keep", "work_dir")[1]
    sides = ("--baseline", "disk=SSD", "--candidate", "disk=HDD", "--fail-if-slower", "5%")
    status, stdout, _ = venturi("compare", *sides)
    assert (status, note in stdout) == (4, True)
    assert "12 benchmarks" not in stdout
    assert venturi("compare", *sides, "--keep", "work_dir")[0] == 3
    listed = json.loads(venturi("ls", "--json")[1])["data"]
    ids = {each["elapsed_s"]: each["id"] for each in listed}
    status, stdout, stderr = venturi("compare", ids[10.0], ids[max(ids)])
    assert (status, note in stderr, "HDD takes 35 %" in stdout) == (0, True, True)
    assert "ignores work_dir: unique per trial" in venturi("scaling", "pid")[2]


def test_a_column_of_commits_is_a_label(venturi: Venturi, tmp_path: Path) -> None:
    rows = [f"sort,{10 + n / 10},main,{n}" for n in range(6)]
    rows += [f"sort,{13 + n / 10},4f2a91c,{n}" for n in range(6)]
    (tmp_path / "own.csv").write_text("\n".join(["workload,time (s),git_sha,run", *rows]) + "\n")
    assert venturi("import", tmp_path / "own.csv")[0] == 0
    status, stdout, stderr = venturi(
        "compare", "--baseline", "commit=main", "--fail-if-slower", "5%"
    )
    assert (status, "candidate: label.commit=4f2a91c" in stderr) == (4, True), stdout
    assert "takes 29 % more time" in venturi("effect", "commit", "--baseline", "main")[1]
