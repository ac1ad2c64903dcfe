"""One trial: planned, preparing, executing, validating, and how it ended.

Every state is in the repository before the work of that state begins, with the process that owns
the trial. Killing Venturi at any instant therefore loses at most the step in progress, and the next
start can find it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from venturi.core.errors import ExitCode, FailureClass, Interrupted, VenturiError, refused
from venturi.measure.hosts.agent import Agent, AgentResult, OnProgress
from venturi.measure.hosts.concurrent_commands import on_all
from venturi.measure.hosts.local import HERE
from venturi.measure.hosts.owned_folders import COPY_PREFIX, SERIES_PREFIX, sweep, temporary
from venturi.measure.trial.disturbance import (
    NOT_WATCHED,
    disturbance,
    disturbance_of_one_machine,
    unknown,
)
from venturi.measure.trial.job import (
    Attachment,
    JobFailed,
    StepContext,
    StepReport,
    TrialChoices,
    TrialJob,
)
from venturi.measure.trial.sampling import Sampler
from venturi.measure.trial.tracing import TracedStage, Tracer, stages_of
from venturi.record.access.owner import current_owner
from venturi.record.account_tables import has_account
from venturi.record.cost import cost_of
from venturi.record.job_account import load
from venturi.record.one_host import HOST
from venturi.record.store.series import series_name
from venturi.record.trial import (
    Cluster,
    Failure,
    Host,
    Provenance,
    ProvenanceKind,
    Sample,
    Software,
    State,
    Trial,
    TrialWarning,
    new_id,
    now,
)

if TYPE_CHECKING:
    from venturi.record.store.trial_store import TrialStore

_NETWORK_FILES = ("nfs", "cifs", "smb", "ceph", "lustre", "gluster", "9p", "fuse.")

SHARED = "some hosts of the trial share a machine, so each sees the others' load"

FOUND = frozenset({"regime_expected"})
"""Configuration that a job adds after its start: observed, not chosen."""


@dataclass(frozen=True)
class SessionMember:
    """One of several hosts of a session, and its record."""

    agent: Agent
    host: Host


@dataclass(frozen=True)
class Session:
    """The common part of a command's trials; without an interval no series is sampled.

    `warnings` concern the time before the trials; every trial gets them. `members` are all hosts if
    there are several, the first also as `agent` and `host`; `cluster` describes them together. With
    `traced`, requests to the disks of the trials' data are recorded. `predict` gets each planned
    trial and returns the samples of its prediction, which are stored before anything starts.
    """

    agent: Agent
    repository: TrialStore
    host: Host
    software: Software
    on_progress: OnProgress | None = None
    sample_interval_ms: int | None = 1000
    warnings: tuple[TrialWarning, ...] = ()
    members: tuple[SessionMember, ...] = ()
    cluster: Cluster = field(default_factory=lambda: Cluster(()))
    traced: bool = False
    predict: Callable[[Trial], tuple[Sample, ...]] | None = None

    @property
    def hosts(self) -> tuple[SessionMember, ...]:
        """All hosts that a trial records and watches."""
        return self.members or (SessionMember(self.agent, self.host),)


def open_session(
    agent: Agent,
    repository: TrialStore,
    *,
    on_progress: OnProgress | None = None,
    sample_interval_ms: int | None = 1000,
    warnings: tuple[TrialWarning, ...] = (),
) -> Session:
    """Read the host's facts and the agent's identity once, for all trials of the session."""
    _sweep()
    result = agent.run("facts")
    return Session(
        agent=agent,
        repository=repository,
        host=Host(name=agent.host.name, facts=dict(result.data)),
        software=_software(result),
        on_progress=on_progress,
        sample_interval_ms=sample_interval_ms,
        warnings=warnings,
    )


def _sweep() -> None:
    """Remove the temporary folders of killed processes."""
    for prefix in (SERIES_PREFIX, COPY_PREFIX):
        sweep(HERE, HERE.temporaries, prefix=prefix)


def _software(facts: AgentResult) -> Software:
    from venturi import __version__  # noqa: PLC0415 - read only for a trial

    kernel, identity = facts.data.get("kernel_release"), facts.identity
    return Software(
        venturi_version=__version__,
        git_sha=identity.git_sha if identity.git_sha != "unknown" else None,
        build_profile=identity.build_profile,
        kernel=None if kernel is None else str(kernel),
        others={"agent": identity.version},
    )


def open_cluster_session(
    agents: Mapping[str, Agent],
    repository: TrialStore,
    *,
    on_progress: OnProgress | None = None,
    sample_interval_ms: int | None = 1000,
    warnings: tuple[TrialWarning, ...] = (),
) -> tuple[Session, Mapping[str, VenturiError]]:
    """A session on several hosts, by the names that trials give them, and the errors of those left
    out, which did not report their facts. If none did, raises the error of the first.
    """
    _sweep()
    told = on_all(agents, "facts")
    lost = {name: each for name, each in told.items() if isinstance(each, VenturiError)}
    if len(lost) == len(told):
        raise next(iter(lost.values()))
    results = {name: each for name, each in told.items() if isinstance(each, AgentResult)}
    members = tuple(
        SessionMember(agents[name], Host(name, dict(each.data))) for name, each in results.items()
    )
    session = Session(
        members[0].agent,
        repository,
        members[0].host,
        _software(next(iter(results.values()))),
        on_progress,
        sample_interval_ms,
        warnings,
        members,
    )
    return session, lost


def run_trial(session: Session, job: TrialJob) -> Trial:
    """Run `job` as one recorded trial.

    Returns it succeeded or invalid. A failed trial is recorded and its error raised; after Ctrl-C
    it is recorded as interrupted, cleaned up, and Interrupted raised.
    """
    planned = _planned(session, job.chosen)
    if session.predict is not None and not planned.warm_up:
        planned = replace(planned, samples=session.predict(planned), started_at=now())
    origin_s = time.monotonic()
    trial = session.repository.add(planned)
    step = StepContext(session.agent, origin_s, session.on_progress)
    with temporary(HERE, SERIES_PREFIX) as folder:
        samplers: tuple[Sampler | None, ...] = (None,) * len(session.hosts)
        if job.chosen.series and session.sample_interval_ms is not None:
            most = session.repository.limits
            limits = replace(most, series_rows=most.series_rows // len(session.hosts))
            samplers = tuple(
                Sampler(
                    member.agent,
                    folder / series_name(member.host.name if session.members else None),
                    origin_s=origin_s,
                    interval_ms=session.sample_interval_ms,
                    limits=limits,
                    clock=member.host.clock,
                )
                for member in session.hosts
            )
        dirs = [each for role in job.chosen.disks_by_role.values() for each in role]
        tracer = Tracer(session.agent, dirs, folder) if session.traced else None
        life = _TrialRun(session, trial, samplers, job.chosen, origin_s, tracer=tracer)
        try:
            with _translated():
                life.through(job, step)
        except (Interrupted, KeyboardInterrupt):
            life.fail(
                State.INTERRUPTED,
                FailureClass.INTERRUPTED,
                "VEN-INTERRUPTED",
                "interrupted by user",
            )
            raise Interrupted from None
        except VenturiError as error:
            if isinstance(error, JobFailed):
                life.warn(error.warnings)
                life.attach(error.attachments)
            state = State.INVALID if error.exit_code is ExitCode.INVALID else State.FAILED
            life.fail(state, error.failure_class, error.code, error.message)
            error.where.setdefault("trial", trial.id)
            raise
        except Exception as error:
            life.fail(State.FAILED, "bug", type(error).__name__, str(error))
            raise
        finally:
            life.end_sampling()  # only still running if saving itself failed
            job.clean()
    return life.trial


@contextmanager
def _translated() -> Iterator[None]:
    """Turn refusals by the operating system into errors that users can act on."""
    try:
        yield
    except OSError as error:
        raise refused(error) from error


def _planned(session: Session, chosen: TrialChoices) -> Trial:
    return Trial(
        id=new_id(),
        workload=chosen.workload,
        engine=chosen.engine,
        cluster=replace(
            session.cluster,
            hosts=tuple(member.host for member in session.hosts),
            disks_by_role=dict(chosen.disks_by_role),
            network=chosen.network or session.cluster.network,
        ),
        configuration=dict(chosen.configuration),
        software=session.software,
        provenance=Provenance(ProvenanceKind.MEASURED, "venturi"),
        started_at=now(),
        experiment=chosen.experiment,
        repetition=chosen.repetition,
        warm_up=chosen.warm_up,
        seed=chosen.seed,
        owner=current_owner(),
        warnings=session.warnings,
    )


class _TrialRun:
    """A trial on its way through the states; every change is stored before work continues."""

    def __init__(
        self,
        session: Session,
        trial: Trial,
        samplers: tuple[Sampler | None, ...],
        chosen: TrialChoices,
        origin_s: float,
        *,
        tracer: Tracer | None,
    ) -> None:
        self.repository = session.repository
        self._tracer = tracer
        self._files = session.agent.host.files
        self.trial = trial
        self._watched = tuple(zip(session.hosts, samplers, strict=True))
        self._of_several = bool(session.members)
        machines = {member.host.facts.get("boot_id") for member in session.members}
        self._shared = SHARED if len(machines) < len(session.members) else None
        self._chosen = chosen
        self._origin_s = origin_s
        self._executed: tuple[float, float] | None = None

    def through(self, job: TrialJob, step: StepContext) -> None:
        self._advance(State.PREPARING)
        for _, sampler in self._watched:
            if sampler is not None:
                sampler.start()
        self._take(job.prepare(step))
        self._advance(State.EXECUTING)
        if self._tracer is not None:
            self._tracer.start()
        began_s = time.monotonic()
        try:
            self._take(job.execute(step))
        finally:
            self._executed = began_s, time.monotonic()
            if self._tracer is not None:
                self._tracer.stop()
        self._advance(State.VALIDATING)
        verdict = job.validate(step)
        self._take(verdict)
        self.end_sampling()
        self._keep_trace()
        if verdict.invalid is not None:
            failure = Failure(FailureClass.WRONG.value, "VEN-MEASURE-INVALID", verdict.invalid)
            self._advance(State.INVALID, failure=failure)
        else:
            if (cost := cost_of(self.trial)) is not None:
                self.trial = replace(self.trial, samples=(*self.trial.samples, cost))
            self._advance(State.SUCCEEDED)

    def fail(self, state: State, kind: str, code: str, message: str) -> None:
        self.end_sampling()
        if state is not State.INTERRUPTED:
            self._keep_trace()
        self._advance(state, failure=Failure(str(kind), code, message))

    def _keep_trace(self) -> None:
        """Store the trace's analysis once, by the stages in the engine's account."""
        tracer, self._tracer = self._tracer, None
        if tracer is None:
            return
        stages: tuple[TracedStage, ...] = ()
        if has_account(self.trial):
            try:
                stages = stages_of(load(self.repository, self.trial))
            except VenturiError as error:
                self.warn((TrialWarning(error.code, error.message),))
        self.attach(
            tuple(Attachment("other", name, path, HERE) for name, path in tracer.files(stages))
        )
        self.warn(tuple(tracer.warnings))

    def attach(self, attachments: tuple[Attachment, ...]) -> None:
        for each in attachments:
            try:
                with (each.files or self._files).here(each.path) as (path,):
                    self.trial = self.repository.attach(self.trial, each.kind, each.name, path)
            except VenturiError as error:
                # Keep the measurements even if a log can't be stored.
                self.warn((TrialWarning(error.code, error.message),))
            except OSError as error:  # it cannot be fetched
                said = f"{each.name} cannot be stored: {error.strerror}"
                self.warn((TrialWarning("VEN-RECORD-ARTIFACT", said),))

    def warn(self, warnings: tuple[TrialWarning, ...]) -> None:
        self.trial = replace(self.trial, warnings=(*self.trial.warnings, *warnings))

    def end_sampling(self) -> None:
        """Once, for every host."""
        watched, self._watched = self._watched, ()
        executed, self._executed = self._executed, None
        for member, sampler in watched:
            path, warning = (None, None) if sampler is None else sampler.stop()
            if executed is not None and not self.trial.cluster.one_machine:
                self._judge(member, sampler, executed)
            if warning is not None:
                self._warn_of(member, (warning,))
            if path is not None:
                try:
                    self.trial = self.repository.attach(self.trial, "series", path.name, path)
                except VenturiError as error:
                    self.warn((TrialWarning(error.code, error.message),))
        if executed is not None and watched and self.trial.cluster.one_machine:
            self._judge_machine([sampler for _, sampler in watched], executed)

    def _warn_of(self, member: SessionMember, warnings: tuple[TrialWarning, ...]) -> None:
        """Add one host's warnings, with its name if there are several."""
        name = f"{member.host.name}: " if self._of_several else ""
        self.warn(tuple(TrialWarning(each.code, name + each.message) for each in warnings))

    def _judge(
        self, member: SessionMember, sampler: Sampler | None, executed: tuple[float, float]
    ) -> None:
        """Record the concurrent load on a host while the trial executed."""
        if sampler is None:
            found = unknown(NOT_WATCHED)
        else:
            found = disturbance(
                sampler.ticks,
                *self._span_s(executed),
                elsewhere=self._chosen.elsewhere or self._shared,
                network=_no_own_traffic(self._chosen, member.host.facts),
            )
        labels = {HOST: member.host.name} if self._of_several else {}
        samples = (replace(each, labels={**each.labels, **labels}) for each in found.samples)
        self.trial = replace(self.trial, samples=(*self.trial.samples, *samples))
        self._warn_of(member, found.warnings)

    def _judge_machine(
        self, samplers: Sequence[Sampler | None], executed: tuple[float, float]
    ) -> None:
        """Record the concurrent load on the one machine that emulates all hosts."""
        ticks = [sampler.ticks for sampler in samplers if sampler is not None]
        found = unknown(NOT_WATCHED)
        if ticks:
            found = disturbance_of_one_machine(
                ticks, *self._span_s(executed), elsewhere=self._chosen.elsewhere
            )
        self.trial = replace(self.trial, samples=(*self.trial.samples, *found.samples))
        self.warn(found.warnings)

    def _span_s(self, executed: tuple[float, float]) -> tuple[float, float]:
        """From when to when it executed, in seconds of the trial."""
        began_s, ended_s = executed
        return began_s - self._origin_s, ended_s - self._origin_s

    def _advance(self, state: State, **changes: Any) -> None:
        self.trial = self.repository.save(self.trial.advance(state, **changes))

    def _take(self, report: StepReport) -> None:
        trial = self.trial
        cluster = trial.cluster
        if report.network is not None:
            cluster = replace(cluster, network=report.network)
        self.trial = replace(
            trial,
            phases=(*trial.phases, *report.phases),
            samples=(*trial.samples, *report.samples),
            warnings=(*trial.warnings, *report.warnings),
            configuration={**trial.configuration, **report.configuration},
            elapsed_s=trial.elapsed_s if report.elapsed_s is None else report.elapsed_s,
            workload=report.workload or trial.workload,
            cluster=cluster,
        )
        self.attach(report.attachments)


def _no_own_traffic(chosen: TrialChoices, facts: Mapping[str, Any]) -> str | None:
    """Return why the trial's traffic can't be separated from that of others; None if it has
    none.
    """
    if chosen.uses_network or chosen.elsewhere is not None:
        return "the kernel doesn't count network traffic per process"
    mounted = facts.get("file_systems")
    kinds = [str(each.get("kind")) for each in mounted] if isinstance(mounted, list) else []
    if any(kind.startswith(_NETWORK_FILES) for kind in kinds):
        return "a network file system is mounted, and its traffic may belong to the trial"
    return None


def already_succeeded(session: Session, chosen: TrialChoices) -> Trial | None:
    """Return a succeeded trial with the same experiment, repetition and choices on the session's
    host; None without one.
    """
    if chosen.experiment is None:
        return None
    wanted = _chosen(_planned(session, chosen))
    for trial in session.repository.trials_of(chosen.experiment):
        if trial.state is State.SUCCEEDED and _chosen(trial) == wanted:
            return trial
    return None


def _chosen(trial: Trial) -> tuple[object, ...]:
    """Return all choices for `trial`, as before its start."""
    workload = trial.workload
    return (
        (workload.name, workload.version, workload.scale, workload.input_bytes),
        trial.engine,
        {key: value for key, value in trial.configuration.items() if key not in FOUND},
        {role: tuple(dirs) for role, dirs in trial.cluster.disks_by_role.items()},
        [host.name for host in trial.cluster.hosts],
        (trial.repetition, trial.warm_up, trial.seed),
    )
