"""`venturi run --predict`: the prediction is stored before the run, and shown next to its time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import venturi


def ran(folder: Path, *more: object, **environment: str) -> Any:
    """The trials of a run on the stand-in agent, which always takes 2.1 s."""
    return venturi(
        *("run", "terasort", "--bytes", "20kB", "--warm-up", 0, "--dir", folder, "--json", *more),
        home=folder / "home",
        **environment,
    )


@pytest.mark.slow
def test_prediction_is_stored_and_compared(tmp_path: Path) -> None:
    done = ran(tmp_path, "--repeat", 3, "--predict")
    assert done.returncode == 0, done.stderr
    first, second, third = json.loads(done.stdout)["data"]
    shown = [
        json.loads(venturi("show", each["id"], "--json", home=tmp_path / "home").stdout)["data"]
        for each in (first, second, third)
    ]
    nothing, alone, whole = (each["prediction"] for each in shown)
    assert nothing["predicted"]["elapsed_s"] is None
    assert "no counted run of terasort" in nothing["predicted"]["missing_reason"]
    assert alone["predicted"]["elapsed_s"] == alone["measured_s"] == 2.1
    assert alone["predicted"]["range_reason"] == "one earlier run shows no spread"
    assert whole["inside"] is True
    text = venturi("show", third["id"], home=tmp_path / "home").stdout
    assert "predicted 2.1 s (2.1–2.1 s), took 2.1 s: inside the range" in text


@pytest.mark.slow
def test_a_failed_run_keeps_its_prediction(tmp_path: Path) -> None:
    assert ran(tmp_path, "--repeat", 1).returncode == 0
    failed = ran(tmp_path, "--repeat", 1, "--predict", FAKE_FAULT="fail-in-sort")
    assert failed.returncode == 1
    data = json.loads(venturi("show", "last", "--json", home=tmp_path / "home").stdout)["data"]
    assert data["state"] == "failed"
    assert data["prediction"]["predicted"]["elapsed_s"] == 2.1
    assert data["prediction"]["unmeasured"] == "the trial is failed"


@pytest.mark.slow
def test_without_the_option_nothing_is_predicted(tmp_path: Path) -> None:
    assert ran(tmp_path, "--repeat", 1).returncode == 0
    data = json.loads(venturi("show", "last", "--json", home=tmp_path / "home").stdout)["data"]
    assert "prediction" not in data


@pytest.mark.slow
def test_errors_of_predictions(tmp_path: Path) -> None:
    home = tmp_path / "home"
    nothing = venturi("predict", "--errors", home=home)
    assert nothing.returncode == 0, nothing.stderr
    assert nothing.stdout == "No run has a stored prediction yet.\n"
    assert ran(tmp_path, "--repeat", 3, "--predict").returncode == 0
    first, *_ = venturi("predict", "--errors", home=home).stdout.splitlines()
    assert first == "Median error 0% over 2 runs; 1 of 1 range held the time (90% should)."
    data = json.loads(venturi("predict", "--errors", "--json", home=home).stdout)["data"]
    assert (data["sentence"], len(data["runs"])) == (first, 2)
    assert sum(data["not_compared"].values()) == 1


def test_errors_take_no_job(tmp_path: Path) -> None:
    wrong = venturi("predict", "--errors", "--sort", "1TB", home=tmp_path / "home")
    assert wrong.returncode == 2
    assert "without a job" in wrong.stderr
    assert venturi("predict", "--sort", "1TB", home=tmp_path / "home").returncode == 2


@pytest.mark.slow
def test_ten_own_runs_set_the_range(tmp_path: Path) -> None:
    assert ran(tmp_path, "--repeat", 12, "--predict").returncode == 0
    home = tmp_path / "home"
    data = json.loads(venturi("show", "last", "--json", home=home).stdout)["data"]
    assert data["prediction"]["predicted"]["own_runs"] == 10
    text = venturi("show", "last", home=home).stdout
    assert "predicted 2.1 s (2.1–2.1 s, from 10 own runs), took 2.1 s: inside the range" in text


@pytest.mark.slow
def test_a_plan_predicts_its_trials(tmp_path: Path, agent_binary: Path) -> None:
    file = tmp_path / "study.toml"
    (tmp_path / "data").mkdir()
    file.write_text(
        "repeats = 3\nwarm_ups = 1\n[factors]\nworkload = ['terasort']\nbytes = ['96kB']\n"
        "disk = ['here']\n[disks.here]\ninput = ['data']\nscratch = ['data']\noutput = ['data']\n"
    )
    real = {"VENTURI_AGENT": str(agent_binary), "VENTURI_ALLOW_DEBUG": "1"}
    home = tmp_path / "home"
    done = venturi("plan", "start", file, "--predict", home=home, **real)
    assert done.returncode == 0, done.stderr
    data = json.loads(venturi("predict", "--errors", "--json", home=home).stdout)["data"]
    assert len(data["runs"]) == 1  # the warm-up isn't predicted, the first has no evidence
    assert data["runs"][0]["basis"] == "same settings"
    assert sum(data["not_compared"].values()) == 1
