"""A recorded job as the job that sizing takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from venturi.cli.main import cli
from venturi.core.errors import VenturiError

LOGS = Path(__file__).parents[1] / "data" / "own"


def run(*args: object) -> str:
    done = CliRunner().invoke(cli, [str(each) for each in args])
    if isinstance(done.exception, VenturiError):
        raise done.exception
    assert done.exit_code == 0, done.output
    return done.stdout


def test_a_trial_gives_bytes_and_cpu_time_that_scale_with_its_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VENTURI_HOME", str(tmp_path))
    run("import", LOGS / "eventlog.json")
    tasks = [
        event["Task Metrics"]
        for line in (LOGS / "eventlog.json").read_text().splitlines()
        if (event := json.loads(line))["Event"] == "SparkListenerTaskEnd"
    ]
    # This engine recorded no input; a sort reads what it shuffles.
    assert sum(each["Input Metrics"]["Bytes Read"] for each in tasks) == 0
    shuffles = [each["Shuffle Read Metrics"] for each in tasks]
    read = sum(each["Remote Bytes Read"] + each["Local Bytes Read"] for each in shuffles)
    cpu_s = sum(each["Executor CPU Time"] for each in tasks) / 1e9
    on = ("predict", "last", "--on", "i4i.2xlarge:2", "--explain", "--json")
    (as_it_was,) = json.loads(run(*on))["data"]["explanations"]
    assert as_it_was["job"]["input_bytes"] == read
    (larger,) = json.loads(run(*on, "--data", "1TB"))["data"]["explanations"]
    assert larger["job"]["input_bytes"] == pytest.approx(1e12)
    job = larger["job"]
    computing = job["map_core_s_per_byte"] * 1e12
    computing += job["reduce_core_s_per_byte"] * job["intermediate_bytes"]
    assert computing == pytest.approx(cpu_s * 1e12 / read)
