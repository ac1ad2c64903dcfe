"""Shared by the measuring verbs: the agent, the repository, the session, predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack

import click

from venturi.cli.open_repository import open_measuring, open_repository
from venturi.cli.progress import progress_bars, step
from venturi.core import settings
from venturi.core.units import format_duration
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.local import LocalHost
from venturi.record.store.trial_store import NullRepository, TrialStore
from venturi.record.trial import Sample, Scalar, Trial, TrialWarning

if TYPE_CHECKING:
    from venturi.machines.cost.predict import Prediction
    from venturi.machines.cost.rehearsal import Rehearsal
    from venturi.measure.engines.native.engine import Prospect
    from venturi.measure.hosts.agent import Agent
    from venturi.measure.hosts.agent_results import SortResult
    from venturi.measure.trial.runner import Session

Open = Callable[..., "Session"]
"""Opens a session: takes a keeper, and the keywords of `open_session`."""
LONG_PROBE_S = 30.0
NO_RECORD_HELP = "Do not keep the trial in the repository."


def this_host() -> LiveHost:
    """The host that is measured: this machine."""
    return LocalHost()


def find_agent() -> Agent:
    """The agent of the settings in force."""
    from venturi.measure.hosts.agent import Agent

    return Agent.find(settings.load(), this_host())


@dataclass(frozen=True)
class MeasuringCommand:
    """A command that may measure now, and the store of its trials.

    With `predict`, each trial stores a prediction of its time before it starts.
    """

    keeper: TrialStore
    more: Mapping[str, Any]
    alone_as: str | None = None
    wait: bool = False
    predict: bool = False

    def alone_on(self, hosts: Mapping[str, LiveHost]) -> AbstractContextManager[None]:
        """While it is open nothing else measures on `hosts`, if nothing else does here."""
        if self.alone_as is None:
            return nullcontext()
        return _alone_on(hosts, self.alone_as, wait=self.wait)

    def session(self, opened: Open | None = None) -> Session:
        """A session as `opened` opens it; without it one on this machine."""
        from venturi.measure.trial.runner import open_session

        opened = opened or partial(open_session, find_agent())
        session = opened(self.keeper, **self.more)
        return predicting(session) if self.predict else session


@contextmanager
def measuring_now(
    *,
    show_progress: bool,
    record: bool = True,
    sample_interval_ms: int = 1000,
    alone_as: str | None = None,
    wait: bool = False,
    hosts: Mapping[str, LiveHost] | None = None,
) -> Iterator[MeasuringCommand]:
    """The parts that sessions need. With `record` False, trials and their series are not kept.

    With `alone_as`, under that name, nothing else measures here or on `hosts`: if another command
    does, this waits for it, or VEN-MEASURE-BUSY names it. Without `alone_as`, the command is the
    user's own work and doesn't wait; if another command measures, the trials have a warning that
    names it.
    """
    from venturi.measure.hosts.lock import measuring

    lock = settings.load().lock
    warnings: tuple[TrialWarning, ...] = ()
    with ExitStack() as stack:
        if alone_as is None:
            if who := measuring(lock):
                warnings = (_disturbing(who),)
        else:
            stack.enter_context(measuring_alone(alone_as, hosts or {}, wait=wait))
        keeper: TrialStore = stack.enter_context(open_measuring()) if record else NullRepository()
        on_progress = stack.enter_context(progress_bars(enabled=show_progress))
        yield MeasuringCommand(
            keeper,
            {
                "on_progress": on_progress,
                "sample_interval_ms": sample_interval_ms if record else None,
                "warnings": warnings,
            },
            alone_as,
            wait,
        )


class MeasuringOptions(TypedDict, total=False):
    """The arguments of `measuring_now`."""

    show_progress: Required[bool]
    record: bool
    sample_interval_ms: int
    alone_as: str | None
    wait: bool
    hosts: Mapping[str, LiveHost] | None


@contextmanager
def measuring_session(
    *, opened: Open | None = None, **how: Unpack[MeasuringOptions]
) -> Iterator[Session]:
    """A session for trials, as `MeasuringCommand.session`; the rest is for `measuring_now`."""
    with measuring_now(**how) as measuring:
        yield measuring.session(opened)


@contextmanager
def measuring_alone(what: str, hosts: Mapping[str, LiveHost], *, wait: bool) -> Iterator[None]:
    """Keep all other measurements off this machine and `hosts` while `what` measures.

    If another one runs, VEN-MEASURE-BUSY names it; with `wait`, this waits for it.
    """
    from venturi.measure.hosts.lock import alone

    lock = settings.load().lock
    with alone(lock, what, wait=wait, on_wait=_waiting), _alone_on(hosts, what, wait=wait):
        yield


def _alone_on(
    hosts: Mapping[str, LiveHost], what: str, *, wait: bool
) -> AbstractContextManager[None]:
    from venturi.measure.hosts.lock import alone_on

    return alone_on(hosts, what, wait=wait, on_wait=_waiting)


def _waiting(who: str) -> None:
    say(f"waiting for {who}")


def _disturbing(who: str) -> TrialWarning:
    text = f"at the start {who} was measuring on this host: each disturbs the other's times"
    say(f"warning: {text}")
    return TrialWarning("VEN-MEASURE-BUSY", text)


def predicting(session: Session) -> Session:
    """`session`, with a prediction from the record in each trial before it starts."""
    talk = session.on_progress is not None
    return replace(session, predict=partial(_predicted, talk=talk))


def _predicted(planned: Trial, *, talk: bool) -> tuple[Sample, ...]:
    """The samples of the prediction for `planned` from the record, which is printed to `talk`."""
    from venturi.jobs.whatif.next_run import predict_from_job
    from venturi.record.query.conditions import Condition
    from venturi.record.query.predicted import predicted_trials
    from venturi.results.predictions.calibrated import calibrated
    from venturi.results.predictions.errors import prediction_errors
    from venturi.results.predictions.next_run import NOTHING, PROPORTIONAL, predict_run
    from venturi.results.predictions.past_runs import past_runs
    from venturi.terminal.predictions import prediction_text

    with open_repository() as repository:
        past = past_runs(repository, planned)
        found = predict_run(planned, past)
        if found.basis in {NOTHING, PROPORTIONAL}:
            found = predict_from_job(repository, planned, past) or found
        same_engine = Condition.equal("engine", planned.engine.name)
        known = prediction_errors(predicted_trials(repository, same_engine)).runs
    found = calibrated(found, planned.workload.name, planned.engine.name, known)
    if talk:
        step(prediction_text(found))
    return found.samples()


@dataclass
class Predictor:
    """Predicts native sorts from rehearsals, without them from a DiskBench trial; has the last."""

    disk: Trial
    last: Prediction | None = None

    def __call__(self, prospect: Prospect) -> Sequence[Sample]:
        """Implements the interface of `NativeJob.predict`."""
        self.last = prediction = self._predict(prospect)
        if prospect.rehearsed:
            labels: dict[str, Scalar] = {"basis": "rehearsal"}
        else:
            labels = {"basis": "disk probe", "disk_trial": self.disk.id}
        reason = prediction.missing_reason
        whole = [
            Sample(metric, value, "s", labels=labels, missing_reason=reason)
            for metric, value in (
                ("predicted_elapsed_s", prediction.elapsed_s),
                ("predicted_low_s", prediction.low_s),
                ("predicted_high_s", prediction.high_s),
            )
        ]
        phases = [
            Sample(
                "predicted_phase_s",
                phase.elapsed_s,
                "s",
                phase=phase.phase,
                labels={**labels, "formula": phase.formula},
                missing_reason=phase.missing_reason,
            )
            for phase in prediction.phases
        ]
        return (*whole, *phases)

    def _predict(self, prospect: Prospect) -> Prediction:
        from venturi.machines.cost.predict import (
            NativeSortPlan,
            disk_rates_from_trial,
            predict_native_sort,
        )
        from venturi.machines.cost.rehearsal import predict_from_rehearsals

        plan = prospect.plan
        planned = NativeSortPlan(
            input_bytes=plan.input_bytes,
            spilled_bytes=min(plan.expected_spilled_bytes, plan.input_bytes),
            memory_bytes=plan.memory_bytes,
        )
        if prospect.rehearsed:
            rehearsals = [rehearsal_of(done) for done in prospect.rehearsed]
            return predict_from_rehearsals(planned, rehearsals)
        prediction = predict_native_sort(
            planned,
            disk_rates_from_trial(self.disk),
            memory_bytes_per_s=prospect.memory_bytes_per_s,
        )
        why = f"from the disk's rates alone: {prospect.unrehearsed}"
        return replace(prediction, assumptions=(why, *prediction.assumptions))


def rehearsal_of(done: SortResult) -> Rehearsal:
    """The model's input from a rehearsal."""
    from venturi.machines.cost.rehearsal import Rehearsal, RehearsedPhase

    computing = {"map+shuffle": ("distribute",), "sort+reduce": ("sort", "reduce")}

    def phase(name: str) -> RehearsedPhase:
        elapsed_s = next((each.elapsed_s for each in done.phases if each.name == name), 0.0)
        useful_s = sum(
            stage.useful_s / stage.workers
            for stage in done.stages
            if stage.phase == name and stage.stage in computing.get(name, ())
        )
        return RehearsedPhase(elapsed_s, useful_s / elapsed_s if elapsed_s else 0.0)

    return Rehearsal(
        input_bytes=done.input.bytes,
        spilled_bytes=min(done.spilled_bytes, done.input.bytes),
        sample=phase("sample"),
        map_shuffle=phase("map+shuffle"),
        sort_reduce=phase("sort+reduce"),
    )


def say(text: str) -> None:
    """Talk, on stderr."""
    click.echo(text, err=True)


def say_longest(longest_s: float) -> None:
    """Say how long a probe takes at most, if that is long."""
    if longest_s >= LONG_PROBE_S:
        say(f"this takes at most about {format_duration(longest_s)}")


def record_of(trial: Trial) -> dict[str, object]:
    """The trial as `--json` prints it: its whole record."""
    from venturi.record.trial_json import ADAPTER

    record: dict[str, object] = ADAPTER.dump_python(trial, mode="json")
    return record


def records(trials: Sequence[Trial]) -> list[dict[str, object]]:
    """The trials as `--json` prints them: whole records."""
    return [record_of(trial) for trial in trials]
