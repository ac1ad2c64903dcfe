"""Predictions of planned Spark runs from a recorded one with other settings or data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import on_terminal
from venturi.core.settings import Settings
from venturi.jobs.whatif.next_run import WHAT_IF, predict_from_job
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Trial

LOG = Path(__file__).parents[2] / "data/spark/4.3.0/faults/skewed-join-faulty.zstd"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    settings = Settings(tmp_path_factory.mktemp("next") / "home", None, None, allow_debug=False)
    on_terminal(settings, "import", str(LOG))
    return settings


def planned(trial: Trial, *, data: float = 1.0, **configuration: Any) -> Trial:
    size = int(data * (trial.workload.input_bytes or 0))
    chosen = {key.replace("_", "."): value for key, value in configuration.items()}
    return replace(
        trial,
        workload=replace(trial.workload, input_bytes=size),
        configuration={**trial.configuration, **chosen},
    )


def test_more_data_and_fewer_slots_take_longer(home: Settings) -> None:
    with TrialRepository.open(home) as repository:
        trial = repository.get("last")
        trial = replace(trial, workload=replace(trial.workload, input_bytes=10**9))
        assert trial.configuration["spark.master"] == "local[2,4]"
        more = predict_from_job(repository, planned(trial, data=2.0), [trial])
        one = predict_from_job(repository, planned(trial, spark_master="local[1,4]"), [trial])
    assert more is not None
    assert one is not None
    for found, distance in ((more, 2.0), (one, 2.0)):
        assert found.basis == WHAT_IF
        assert found.distance == pytest.approx(distance)
        assert found.elapsed_s is not None
        assert found.low_s is not None
        assert found.high_s is not None
        assert found.low_s < found.elapsed_s < found.high_s
        assert trial.elapsed_s is not None
        assert found.elapsed_s > trial.elapsed_s


def test_changes_beyond_the_model_are_not_predicted(home: Settings) -> None:
    with TrialRepository.open(home) as repository:
        trial = repository.get("last")
        trial = replace(trial, workload=replace(trial.workload, input_bytes=10**9))
        for other in (
            planned(trial, spark_foo="1"),
            planned(trial, spark_master="spark://here:7077"),
            planned(trial, data=0.0),
            replace(trial, workload=replace(trial.workload, version="other")),
        ):
            assert predict_from_job(repository, other, [trial]) is None
        assert predict_from_job(repository, planned(trial), []) is None
        assert predict_from_job(repository, planned(trial), [replace(trial, artifacts=())]) is None


def test_the_run_with_the_smallest_change_counts(home: Settings) -> None:
    with TrialRepository.open(home) as repository:
        trial = repository.get("last")
        far = replace(trial, workload=replace(trial.workload, input_bytes=10**8))
        near = replace(trial, workload=replace(trial.workload, input_bytes=10**9))
        wanted = planned(near, data=1.5)
        found = predict_from_job(repository, wanted, [far, near])
    assert found is not None
    assert found.distance == pytest.approx(1.5)
