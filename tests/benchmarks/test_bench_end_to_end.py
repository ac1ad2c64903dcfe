"""`python -m benchmarks` as its user starts it, with a stand-in agent and tiny sizes."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks.bench import REPOSITORY

COMMAND = [sys.executable, "-m", "benchmarks", "--scale", "0.0005", "--pairs", "1", "--no-cgroup"]


def start(tmp_path: Path, agent: Path, only: str, **env: str) -> subprocess.Popen[str]:
    folders = ["--dir", str(tmp_path / "work"), "--results", str(tmp_path / "results")]
    return subprocess.Popen(
        [*COMMAND, "--only", only, *folders],
        cwd=REPOSITORY,
        env={**os.environ, "VENTURI_AGENT": str(agent), **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], tmp_path: Path) -> tuple[int, str, dict, dict]:
    out, err = process.communicate(timeout=120)
    results = sorted((tmp_path / "results").glob("*.json"))
    assert len(results) == 1, err
    whole = json.loads(results[0].read_text())
    assert results[0].with_suffix(".md").read_text().endswith(out)
    assert list((tmp_path / "work").iterdir()) == [], "something was left behind"
    figures = {figure["row"]["key"]: figure for figure in whole["figures"]}
    return process.returncode, err, whole, figures


@pytest.mark.slow
def test_sorts_are_measured_checked_and_kept(tmp_path: Path, bench_agent: Path) -> None:
    process = start(tmp_path, bench_agent, "sort,cpu")
    code, err, whole, figures = finish(process, tmp_path)
    assert code == 0, err
    sorts = [
        i for i in whole["iterations"] if (i["case"], i["contender"]) == ("two-pass", "venturi")
    ]
    (done,) = sorts  # the cpu suite takes the same one
    floor_s = (done["data"]["bytes_read"] + done["data"]["bytes_written"]) / (6e8 + 7e8)
    over = figures["sort.two_pass.over_floor"]
    assert over["value"] == pytest.approx(done["time_s"] / floor_s)
    assert over["verdict"] == "not judged (scale 0.0005)"
    per_record = done["cpu_s"] * 1e9 / done["data"]["output"]["records"]
    assert figures["cpu.two_pass"]["value"] == pytest.approx(per_record)
    assert whole["versions"]["venturi-agent"] == "0 none release x"
    assert str(tmp_path / "work") not in json.dumps(whole["iterations"])


@pytest.mark.slow
@pytest.mark.long
def test_peers_sort_rightly_beside_us(tmp_path: Path, bench_agent: Path) -> None:
    pytest.importorskip("polars")
    code, err, whole, figures = finish(start(tmp_path, bench_agent, "peers"), tmp_path)
    assert code == 0, err
    headline = figures["peers.2 GB in 1 GB.time"]
    assert headline["value"] is not None, headline["missing_reason"]
    assert "--no-cgroup" in whole["memory_limit_not_enforced_because"]
    timed = {i["contender"] for i in whole["iterations"] if i["case"] == "2 GB in 1 GB"}
    assert {"venturi", "GNU sort", "Polars"} <= timed
    assert "DuckDB" in timed or "DuckDB not timed: " in headline["note"]


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["swap", "change"])
def test_a_wrong_output_is_no_figure(tmp_path: Path, bench_agent: Path, fault: str) -> None:
    process = start(tmp_path, bench_agent, "sort", FAKE_AGENT_FAULT=fault)
    _, _, whole, figures = finish(process, tmp_path)
    assert figures["sort.two_pass.over_floor"]["value"] is None
    assert "the output is wrong" in figures["sort.two_pass.over_floor"]["missing_reason"]
    assert any(i["problem"] for i in whole["iterations"])


@pytest.mark.slow
def test_the_agents_error_is_the_reason(tmp_path: Path, bench_agent: Path) -> None:
    process = start(tmp_path, bench_agent, "cpu", FAKE_AGENT_FAULT="die-in-sort")
    _, _, _, figures = finish(process, tmp_path)
    assert "VEN-SORT-SPACE" in figures["cpu.two_pass"]["missing_reason"]


def test_without_an_agent_every_row_says_so(tmp_path: Path) -> None:
    process = start(tmp_path, tmp_path / "nowhere", "disk,net,sort,cpu,peers,gen,predict,sampler")
    code, _, _, figures = finish(process, tmp_path)
    assert code == 0
    assert all("no file" in figure["missing_reason"] for figure in figures.values())
    assert len(figures) > 15


@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured_and_leaves_nothing(
    tmp_path: Path, bench_agent: Path
) -> None:
    process = start(tmp_path, bench_agent, "cpu,sampler")
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("work/*/cpu/input")) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    code, err, whole, figures = finish(process, tmp_path)
    assert code == 130, err
    assert whole["interrupted"] is True
    assert figures["sampler.cpu"]["value"] is not None
    assert figures["cpu.two_pass"]["missing_reason"] == "interrupted"


def test_an_unknown_suite_is_a_usage_error() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--only", "sorts"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "sorts: suites are" in done.stderr
