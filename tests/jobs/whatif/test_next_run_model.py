"""Predictions of planned Spark runs from a recorded one with other settings or data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import on_terminal
from event_log import SparkLog
from venturi.core.settings import Settings
from venturi.jobs.logs.trial import trial_of
from venturi.jobs.whatif.next_run import WHAT_IF, predict_from_job
from venturi.record.job_account import attach
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import Cluster, Host, Trial

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


@pytest.fixture
def cluster_run(tmp_path: Path) -> Iterator[tuple[TrialRepository, Trial]]:
    """A run on two executors with two cores each, on two hosts."""
    sizes = {
        "spark.executor.instances": "2",
        "spark.executor.cores": "2",
        "spark.executor.memory": "2g",
    }
    log = SparkLog(**sizes)
    for executor in ("1", "2"):
        log.executor(executor, 2, 0)
    log.job(0, 5, 45, [0])
    log.stage(0, 5, 45, 16)
    for place in range(16):
        began_s = 5 + 10 * (place // 4)
        log.task(0, began_s, began_s + 10, executor=str(1 + place % 2))
    log.end(45)
    account = log.account(tmp_path)
    settings = Settings(tmp_path / "home", None, None, allow_debug=False)
    with TrialRepository.open(settings) as repository:
        trial = attach(repository, trial_of(account), account)
        trial = replace(
            trial,
            workload=replace(trial.workload, input_bytes=10**9),
            configuration={**trial.configuration, **sizes},
            cluster=Cluster(tuple(Host(name, {"cpu_threads": 8}) for name in ("h1", "h2"))),
            elapsed_s=50.0,
        )
        repository.add_many([trial])
        yield repository, trial


@pytest.mark.parametrize(
    ("changed", "time_s"),
    [
        ({"spark_executor_instances": "4"}, 5 + 5 + 20),
        ({"spark_executor_cores": "4"}, 5 + 5 + 20),
        ({"spark_executor_instances": "1"}, 5 + 5 + 80),
        ({"spark_cores_max": "4", "spark_executor_instances": None}, 5 + 5 + 40),
    ],
)
def test_a_cluster_run_is_predicted_with_other_executors(
    cluster_run: tuple[TrialRepository, Trial], changed: dict[str, Any], time_s: float
) -> None:
    repository, trial = cluster_run
    found = predict_from_job(repository, planned(trial, **changed), [trial])
    assert found is not None
    assert found.basis == WHAT_IF
    # The rest of the run takes 5 s, the driver 5 s more, and tasks 10 s in each wave.
    assert found.elapsed_s == pytest.approx(time_s, rel=0.02)


def test_a_cluster_run_says_nothing_about_local_mode(
    cluster_run: tuple[TrialRepository, Trial],
) -> None:
    repository, trial = cluster_run
    for other in (
        planned(trial, spark_master="local[4]"),
        planned(trial, deployment="yarn"),
        planned(trial, spark_executor_cores=None),
    ):
        assert predict_from_job(repository, other, [trial]) is None
