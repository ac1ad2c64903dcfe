"""A job on interruptible machines, against one small enough to work out by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from event_log import SparkLog
from venturi.core.errors import VenturiError
from venturi.core.settings import Settings
from venturi.jobs.logs.trial import trial_of
from venturi.jobs.whatif.answer import RecordedJob, answer
from venturi.jobs.whatif.changes import JobChanges
from venturi.jobs.whatif.setup import SetupChange
from venturi.jobs.whatif.spot import SpotPrediction, all_on_spot, spot_rate
from venturi.machines.catalog import load_shipped
from venturi.machines.cost.operation import STARTUP_S
from venturi.record.job_account import attach
from venturi.record.store.repository import TrialRepository


@pytest.fixture
def job(tmp_path: Path) -> Iterator[RecordedJob]:
    """Eight tasks of 10 s on two hosts with two slots each, and four that read their shuffle."""
    log = SparkLog(**{"spark.executor.memory": "2g"})
    for executor in ("1", "2"):
        log.executor(executor, 2, 0)
    log.job(0, 5, 35, [0, 1])
    for stage, from_s, tasks in ((0, 5, 8), (1, 25, 4)):
        log.stage(stage, from_s, from_s + 10 * tasks // 4, tasks, parents=(0,) if stage else ())
        for place in range(tasks):
            began_s = from_s + 10 * (place // 4)
            log.task(stage, began_s, began_s + 10, executor=str(1 + place % 2))
    log.end(35)
    account = log.account(tmp_path)
    settings = Settings(tmp_path / "home", None, None, allow_debug=False)
    with TrialRepository.open(settings) as repository:
        trial = attach(repository, trial_of(account), account)
        repository.add_many([trial])
        yield RecordedJob(repository, trial)


def on_spot(
    job: RecordedJob, per_hour: float | None, changes: JobChanges | None = None
) -> SpotPrediction:
    targets = [changes or JobChanges()]
    (found,) = all_on_spot(job, targets, answer(job, targets), per_hour)
    return found


def test_a_loss_repeats_running_tasks_and_a_share_of_their_inputs(job: RecordedJob) -> None:
    found = on_spot(job, 3.0)
    # In the first stage half a task; in the second also half of the first, 10 s.
    redone_s = (20 * 5 + 10 * (5 + 10)) / 30
    assert found.loss_s == pytest.approx(redone_s + STARTUP_S / 2)
    per_s = 2 * 3 / 3600
    assert found.time_s is not None
    assert found.time_s.value == pytest.approx(35 / (1 - per_s * found.loss_s))
    assert found.losses == pytest.approx(per_s * found.time_s.value)
    assert found.time_s.low < found.time_s.value < found.time_s.high
    assert found.usd is None
    assert "--usd-per-node-hour" in found.unpriced


def test_rare_losses_cost_nearly_nothing_and_frequent_ones_never_end(job: RecordedJob) -> None:
    rare = on_spot(job, 1e-6)
    assert rare.time_s is not None
    assert rare.time_s.value == pytest.approx(35, rel=1e-4)
    often = on_spot(job, 60.0)
    assert (often.time_s, often.losses) == (None, None)
    assert "do not use" in often.do_not_use


def test_rate_and_price_of_the_catalog_count_with_their_source(job: RecordedJob) -> None:
    types = load_shipped("current").types
    change = JobChanges(SetupChange(type=types["i3.4xlarge"], nodes=4))
    found, dear = on_spot(job, None, change), answer(job, [change]).targets[0]
    assert found.rate.value == types["i3.4xlarge"].number("spot_loss_rate")
    assert found.rate.low < found.rate.value < found.rate.high
    assert "Spot Instance Advisor" in found.rate.source
    assert found.usd is not None
    assert dear.usd is not None
    assert found.usd.value < dear.usd.value
    priced = JobChanges(SetupChange(usd_per_host_hour=0.36))
    own = on_spot(job, 0.5, priced)
    assert own.usd is not None
    assert own.usd.value == pytest.approx(2 * 0.36 * 60 / 3600)


def test_an_unknown_rate_is_never_guessed(job: RecordedJob) -> None:
    types = load_shipped("current").types
    for change in (None, JobChanges(SetupChange(type=types["Standard_L8s_v3"], nodes=4))):
        with pytest.raises(VenturiError, match="the loss rate of") as refused:
            on_spot(job, None, change)
        assert refused.value.code == "VEN-MODEL-INPUT"
        assert "--spot 0.05/h" in refused.value.hint


@pytest.mark.parametrize("text", ["0.1", "0/h", "often", "-1/h", "1e9/h"])
def test_a_rate_needs_its_unit(text: str) -> None:
    with pytest.raises(VenturiError, match="neither `catalog` nor a rate"):
        spot_rate(text)
    assert spot_rate("0.05/h") == 0.05
    assert spot_rate("catalog") is None
