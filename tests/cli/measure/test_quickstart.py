"""`venturi quickstart` (on a stand-in agent): every step, every way of leaving one out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import venturi
from venturi.web import document

SMALL = {"FAKE_SLOWER": "150"}  # slow disks: little data fits the time


@pytest.mark.slow
def test_the_whole_job(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    done = venturi(
        "quickstart",
        "--time-budget",
        "30s",
        "--dir",
        disk,
        "--report",
        tmp_path / "r.html",
        "--json",
        home=tmp_path / "home",
        **SMALL,
    )
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)["data"]
    trials = data["trials"]
    assert [t["workload"]["name"] for t in trials] == [
        "diskbench",
        "netbench",
        "terasort",
        "terasort",
    ]
    assert {t["state"] for t in trials} == {"succeeded"}
    memory, passes = trials[2:]
    assert memory["configuration"]["regime_expected"] == "in-memory"
    assert passes["configuration"]["regime_expected"] == "hybrid"
    assert memory["workload"] == passes["workload"]
    for trial in (memory, passes):
        metrics = {sample["metric"] for sample in trial["samples"]}
        assert {"predicted_elapsed_s", "predicted_phase_s", "stage_useful_s"} <= metrics
        low, predicted, high = (
            next(s for s in trial["samples"] if s["metric"] == f"predicted_{name}_s")
            for name in ("low", "elapsed", "high")
        )
        assert predicted["labels"]["basis"] == "rehearsal"
        assert low["value"] < predicted["value"] < high["value"]
        assert [a["kind"] for a in trial["artifacts"]] == ["series"]
    # The input of the first is the input of the second.
    assert memory["phases"][0]["name"] == "generate"
    assert "generate" not in [p["name"] for p in passes["phases"]]
    assert data["skipped"] == []
    assert data["doctor"].startswith("doctor: ")
    assert data["prices"]["ranked"][0]["metered_usd"]["value"] > 0
    page = (tmp_path / "r.html").read_text()
    assert memory["id"] in page
    assert list(disk.iterdir()) == []


@pytest.mark.slow
def test_what_does_not_fit_is_left_out_with_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "report.html").write_text("of the last time")
    done = venturi(
        "quickstart",
        "--time-budget",
        "5s",
        "--dir",
        tmp_path,
        home=tmp_path / "home",
        FAKE_SLOWER="1000",
    )
    assert done.returncode == 0, done.stderr
    assert "Not done" in done.stdout
    assert "probe net" in done.stdout
    assert "time budget allows" in done.stdout
    assert (tmp_path / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.slow
def test_a_failing_step_is_reported_and_the_rest_is_kept(tmp_path: Path) -> None:
    done = venturi(
        "quickstart",
        "--time-budget",
        "30s",
        "--dir",
        tmp_path,
        "--report",
        tmp_path / "r.html",
        "--json",
        home=tmp_path / "home",
        FAKE_FAULT="fail-in-sort",
        **SMALL,
    )
    assert done.returncode == 1
    data = json.loads(done.stdout)["data"]
    assert [step["step"] for step in data["skipped"]] == ["sort in memory", "sort in two passes"]
    assert "VEN-EXTSORT-SPACE" in data["skipped"][0]["reason"]
    assert [t["workload"]["name"] for t in data["trials"]] == ["diskbench", "netbench"]
    assert (tmp_path / "r.html").is_file()
    assert not list(tmp_path.glob("venturi-data-*"))


@pytest.mark.parametrize(
    ("option", "value", "code", "says"),
    [
        ("--time-budget", "1s", 1, "VEN-MEASURE-BUDGET"),
        ("--time-budget", "soon", 2, "VEN-UNIT-SYNTAX"),
        ("--dir", "/nowhere", 2, "/nowhere"),
        ("--report", "/proc/nowhere/r.html", 1, "/proc/nowhere"),
    ],
)
def test_bad_input_is_refused_before_anything_is_measured(
    tmp_path: Path, option: str, value: str, code: int, says: str
) -> None:
    done = venturi("quickstart", option, value, home=tmp_path / "home")
    assert done.returncode == code
    assert says in done.stderr
    assert not (tmp_path / "home").exists()


def test_without_the_pages_nothing_is_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(document, "files", lambda _: tmp_path)
    done = venturi("quickstart", "--dir", tmp_path, home=tmp_path / "home")
    assert done.returncode == 1
    assert "VEN-REPORT-ASSET" in done.stderr
    assert "install Venturi's wheel again" in done.stderr
    assert not (tmp_path / "home").exists()
