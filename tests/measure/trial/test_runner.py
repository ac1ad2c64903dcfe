"""The runner: every state saved before its work, every ending recorded, everything cleaned."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from venturi.core.errors import ExitCode, FailureClass, Interrupted, VenturiError
from venturi.core.settings import Settings
from venturi.measure.studies.study import failure_class
from venturi.measure.trial.job import StepContext, StepReport, TrialChoices
from venturi.measure.trial.runner import Session, already_succeeded, run_trial
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import read_series
from venturi.record.trial import (
    Cluster,
    Engine,
    Host,
    Phase,
    PriceQuote,
    Sample,
    State,
    Workload,
)

SPEC = TrialChoices(
    workload=Workload("terasort", "v1", "tiny", 1000, 10),
    engine=Engine("native", "1"),
    configuration={"memory_bytes": 5},
    disks_by_role={"input": ("/a",), "output": ("/a", "/b")},
    experiment="night",
    seed=1,
)


@dataclass
class StepwiseJob:
    """Does the given action in each step and records the trial's state in the repository."""

    session: Session
    chosen: TrialChoices = SPEC
    raises: dict[str, BaseException] = field(default_factory=dict)
    invalid: str | None = None
    pause_s: float = 0.0
    seen: list[tuple[str, State]] = field(default_factory=list)
    cleaned: int = 0

    def _step(self, name: str) -> None:
        (stored,) = whole_trials(self.session.repository)
        self.seen.append((name, stored.state))
        time.sleep(self.pause_s)
        if name in self.raises:
            raise self.raises[name]

    def prepare(self, step: StepContext) -> StepReport:
        self._step("prepare")
        return StepReport(configuration={"regime_expected": "in-memory"})

    def execute(self, step: StepContext) -> StepReport:
        self._step("execute")
        return StepReport(
            phases=(Phase("work", step.since_start_s(), 1.0),),
            samples=(Sample("records", 10, "1"),),
            elapsed_s=1.0,
        )

    def validate(self, step: StepContext) -> StepReport:
        self._step("validate")
        return StepReport(invalid=self.invalid)

    def clean(self) -> None:
        self.cleaned += 1


def test_each_state_is_stored_before_its_work(session: Session) -> None:
    job = StepwiseJob(session)
    trial = run_trial(session, job)
    assert job.seen == [
        ("prepare", State.PREPARING),
        ("execute", State.EXECUTING),
        ("validate", State.VALIDATING),
    ]
    assert trial.state is State.SUCCEEDED
    assert trial.elapsed_s == 1.0
    assert trial.configuration == {"memory_bytes": 5, "regime_expected": "in-memory"}
    assert job.cleaned == 1
    stored = session.repository.get(trial.id)
    assert stored == trial
    assert stored.owner is not None
    assert stored.owner.pid == os.getpid()
    assert stored.software.build_profile == "release"
    assert stored.cluster.hosts[0].facts["kernel_release"] == stored.software.kernel


PRICE = PriceQuote(7.2, "USD", "cluster-hour", "a bill", "2026-05-01")


@pytest.mark.parametrize(
    ("cluster", "usd", "reason"),
    [
        (Cluster((), price=PRICE), 0.002, None),
        (Cluster((), price=replace(PRICE, currency="EUR")), None, "the price is in EUR"),
        (Cluster((), price=PRICE, dilation=20.0), None, "with its rates divided by 20"),
    ],
)
def test_a_trial_has_what_it_cost_at_its_clusters_price(
    session: Session, cluster: Cluster, usd: float | None, reason: str | None
) -> None:
    priced = replace(session, cluster=cluster)
    trial = run_trial(priced, StepwiseJob(priced))
    (cost,) = (each for each in trial.samples if each.metric == "cost_usd")
    assert (cost.value, cost.unit) == (usd, "USD")
    assert (reason or "") in (cost.missing_reason or "")
    assert session.repository.get(trial.id) == trial


@pytest.mark.parametrize(
    ("cluster", "invalid"), [(Cluster(()), None), (Cluster((), price=PRICE), "out of order")]
)
def test_what_has_no_price_or_is_invalid_has_no_cost(
    session: Session, cluster: Cluster, invalid: str | None
) -> None:
    priced = replace(session, cluster=cluster)
    trial = run_trial(priced, StepwiseJob(priced, invalid=invalid))
    assert (trial.state is State.INVALID) == (invalid is not None)
    assert "cost_usd" not in {each.metric for each in trial.samples}


@pytest.mark.slow
def test_the_series_shares_the_trials_clock(session: Session) -> None:
    trial = run_trial(session, StepwiseJob(session, pause_s=0.7))
    (artifact,) = trial.artifacts
    series = read_series(session.repository.artifact_path(artifact))
    host = {"cpu_user", "cpu_nice", "cpu_system", "cpu_steal", "disk_read_bytes_per_s"}
    assert set(series["metric"]) == {*host, "own_cpu"}
    times_s = series["t_s"].to_list()
    assert times_s == sorted(times_s)
    assert 0 <= times_s[0] < times_s[-1]
    assert times_s[-1] - times_s[0] > 0.2
    assert times_s[-1] < 5
    assert trial.warnings == ()


def test_one_moment_is_no_series(session: Session) -> None:
    hourly = replace(session, sample_interval_ms=3_600_000)
    trial = run_trial(hourly, StepwiseJob(hourly, pause_s=0.3))
    assert trial.state is State.SUCCEEDED
    assert trial.artifacts == ()


@pytest.mark.parametrize("name", ["sampler-dies", "sampler-nonsense"])
def test_a_broken_sampler_is_a_warning_not_a_failure(
    session: Session, fault: Callable[[str], None], name: str
) -> None:
    fault(name)
    trial = run_trial(session, StepwiseJob(session, pause_s=0.2))
    assert trial.state is State.SUCCEEDED
    assert [warning.code for warning in trial.warnings] == ["VEN-MEASURE-SERIES"]


def test_without_series_there_is_no_artifact(session: Session) -> None:
    job = StepwiseJob(session, chosen=replace(SPEC, series=False))
    assert run_trial(session, job).artifacts == ()


LOST = VenturiError("VEN-X-LOST", "lost", exit_code=ExitCode.INVALID)


@pytest.mark.parametrize(
    ("step", "error", "state", "kind"),
    [
        ("prepare", VenturiError("VEN-MEASURE-SPACE", "full"), State.FAILED, "capacity"),
        ("prepare", KeyboardInterrupt(), State.INTERRUPTED, "interrupted"),
        ("execute", LOST, State.INVALID, "wrong output"),
        ("execute", Interrupted(), State.INTERRUPTED, "interrupted"),
        ("execute", ZeroDivisionError("a fault of ours"), State.FAILED, "bug"),
        ("validate", VenturiError("VEN-MEASURE-SPACE", "full"), State.FAILED, "capacity"),
        ("validate", KeyboardInterrupt(), State.INTERRUPTED, "interrupted"),
    ],
)
def test_every_bad_ending_is_recorded_and_cleaned(
    session: Session, step: str, error: BaseException, state: State, kind: str
) -> None:
    job = StepwiseJob(session, raises={step: error})
    expected = Interrupted if state is State.INTERRUPTED else type(error)
    with pytest.raises(expected):
        run_trial(session, job)
    (stored,) = whole_trials(session.repository)
    assert stored.state is state
    assert stored.failure is not None
    assert stored.failure.kind == kind
    assert job.cleaned == 1


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (OSError(errno.ENOSPC, "No space"), "VEN-MEASURE-SPACE", FailureClass.CAPACITY),
        (OSError(errno.EDQUOT, "Over quota", "/d/f"), "VEN-MEASURE-SPACE", FailureClass.CAPACITY),
        (PermissionError(errno.EACCES, "No", "/d/f"), "VEN-MEASURE-DIR", FailureClass.ENVIRONMENT),
        (OSError(errno.EIO, "Input/output error"), "VEN-SYSTEM", FailureClass.ENVIRONMENT),
        (OSError(errno.EMFILE, "Too many", "/d/f"), "VEN-SYSTEM", FailureClass.ENVIRONMENT),
        (OSError("said without a number"), "VEN-MEASURE-DIR", FailureClass.ENVIRONMENT),
    ],
)
@pytest.mark.parametrize("step", ["prepare", "execute", "validate"])
def test_what_the_system_refuses_is_no_bug(
    session: Session, step: str, error: OSError, code: str, kind: FailureClass
) -> None:
    with pytest.raises(VenturiError) as caught:
        run_trial(session, StepwiseJob(session, raises={step: error}))
    assert caught.value.code == code
    assert caught.value.where.get("file") == error.filename
    assert caught.value.hint
    assert caught.value.__cause__ is error
    (stored,) = whole_trials(session.repository)
    assert failure_class(stored) is kind
    assert stored.failure is not None
    assert stored.failure.code == code


def test_a_wrong_result_is_never_a_success(session: Session) -> None:
    job = StepwiseJob(session, invalid="two records are missing")
    trial = run_trial(session, job)
    assert trial.state is State.INVALID
    assert trial.failure is not None
    assert trial.failure.message == "two records are missing"
    assert session.repository.get(trial.id).state is State.INVALID


def test_only_the_same_choices_count_as_done(session: Session) -> None:
    trial = run_trial(session, StepwiseJob(session))
    assert already_succeeded(session, SPEC) == trial
    elsewhere = replace(session, host=Host("another"))
    assert already_succeeded(elsewhere, SPEC) is None
    for other in (
        replace(SPEC, repetition=1),
        replace(SPEC, experiment="day"),
        replace(SPEC, experiment=None),
        replace(SPEC, warm_up=True),
        replace(SPEC, seed=2),
        replace(SPEC, disks_by_role={"input": ("/a",), "output": ("/a",)}),
        replace(SPEC, configuration={"memory_bytes": 6}),
        replace(SPEC, configuration={"memory_bytes": 5, "instances": 8}),
        replace(SPEC, configuration={}),
        replace(SPEC, engine=Engine("native", "2")),
        replace(SPEC, workload=replace(SPEC.workload, version="v2")),
        replace(SPEC, workload=replace(SPEC.workload, input_bytes=2000)),
    ):
        assert already_succeeded(session, other) is None


def test_an_invalid_trial_does_not_count_as_done(session: Session) -> None:
    run_trial(session, StepwiseJob(session, invalid="wrong"))
    assert already_succeeded(session, SPEC) is None


@pytest.mark.slow
def test_a_killed_trial_is_found_at_the_next_start(fake_settings: Settings, tmp_path: Path) -> None:
    marker = tmp_path / "temporary"
    environment = {
        **os.environ,
        "VENTURI_HOME": str(fake_settings.home),
        "VENTURI_AGENT": str(fake_settings.agent),
        "FAKE_FAULT": "hang-in-sort",
        "FAKE_MARKER": str(marker),
    }
    command = [sys.executable, "-m", "venturi.cli.main"]
    arguments = ["run", "terasort", "--bytes", "10kB", "--repeat", "2", "--dir", str(tmp_path)]
    process = subprocess.Popen(
        [*command, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while not marker.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    process.communicate()
    for child in children:  # a fake agent has no parent-death signal
        os.kill(int(child), signal.SIGKILL)
    assert list(tmp_path.glob("venturi-data-*"))
    del environment["FAKE_FAULT"]
    again = subprocess.run(
        [*command, *arguments, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "found interrupted: trial" in again.stderr
    assert "left behind by a killed process" in again.stderr
    assert not list(tmp_path.glob("venturi-data-*"))
    assert [t["state"] for t in json.loads(again.stdout)["data"]] == ["succeeded"] * 2
    with TrialRepository.open(fake_settings) as repository:
        (lost,) = whole_trials(repository, Condition.equal("state", State.INTERRUPTED))
        assert lost.failure is not None
        assert "executing" in lost.failure.message
