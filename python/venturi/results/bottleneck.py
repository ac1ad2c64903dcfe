"""Finds the narrowest point of each phase, a stage, by the method of Themis.

Observed rate = bytes / (last stop - first start); ideal rate = observed rate / useful fraction, the
rate of the stage if nothing held it up. Source: the run-time analysis of Themis (Conley, Vahdat and
Porter, SoCC 2015, and its published program). Stages process different amounts (only data that does
not fit is spilled), so they are ranked by their busy share of the phase: with equal bytes, that is
the order of their ideal rates. Busy time is wall-clock time. The kernel's accounts show the
activities of a stage's threads in it (compute, wait for a core, stall on page faults), and so the
limit of the stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from venturi.record.trial import CPU_OTHERS, Phase, Sample, Trial

# Our own choice, not measured. Below BUSY no stage limits the phase; one trial can't distinguish
# two stages within MARGIN of each other.
BUSY = 0.5
MARGIN = 0.05

# Stages in the direction of the data; what precedes is upstream.
FLOW: dict[str, tuple[str, ...]] = {
    "sample": ("sample",),
    "map+shuffle": ("read", "distribute", "write_partitions"),
    "sort+reduce": ("read_partition", "sort", "reduce", "write_output", "write_replica"),
}

COMPUTING = frozenset({"distribute", "sort", "reduce"})
"""Stages that compute. The others wait for a disk."""

COMPUTES, NO_CORE, STANDS = "computing", "waiting for a core", "stalled"
_OTHERS_LEAST = 0.1  # of the processor time, from where on a trial is disturbed by others

_REQUIRED = ("useful_s", "workers")


@dataclass(frozen=True, slots=True)
class StageUse:
    """How one stage (on one device) spent a phase; times are sums over its workers.

    `utilisation` = useful / (phase elapsed × workers). The other fractions have the same divisor:
    `cpu_fraction` is CPU time, `system_fraction` its share in the kernel, `core_wait_fraction`
    waiting for a core. Rates are in bytes per second. None where the trial does not record it.
    """

    stage: str
    device: str | None
    utilisation: float
    workers: float
    useful_s: float
    idle_fraction: float | None
    blocked_fraction: float | None
    memory_wait_fraction: float | None
    observed_bytes_per_s: float | None
    ideal_bytes_per_s: float | None
    cpu_fraction: float | None = None
    system_fraction: float | None = None
    core_wait_fraction: float | None = None
    page_faults: float | None = None

    @property
    def standing_fraction(self) -> float | None:
        """The part of the busy time neither on a core nor waiting for one, such as page faults."""
        if self.cpu_fraction is None or self.core_wait_fraction is None:
            return None
        return max(0.0, self.utilisation - self.cpu_fraction - self.core_wait_fraction)

    @property
    def cause(self) -> str | None:
        """The activity that took most of the stage's busy time; None if unknown."""
        if self.stage not in COMPUTING or self.standing_fraction is None:
            return None
        parts = {
            COMPUTES: self.cpu_fraction or 0.0,
            NO_CORE: self.core_wait_fraction or 0.0,
            STANDS: self.standing_fraction,
        }
        return max(parts, key=lambda part: parts[part])

    @property
    def at_work(self) -> str:
        """`at work for 97% of the phase: processor 5%, waiting for a core 62%, ...`."""
        said = f"busy for {self.utilisation:.0%} of the phase"
        if self.stage not in COMPUTING:
            return said
        if self.cpu_fraction is None:
            return f"{said} (its CPU time was not recorded)"
        parts = [f"CPU {self.cpu_fraction:.0%}"]
        if self.system_fraction is not None and self.system_fraction >= _TOLD:
            parts[0] += f" ({self.system_fraction:.0%} in the kernel)"
        if self.core_wait_fraction is not None and self.core_wait_fraction >= _TOLD:
            parts.append(f"waiting for a core {self.core_wait_fraction:.0%}")
        if self.standing_fraction is not None and self.standing_fraction >= _TOLD:
            parts.append(f"stalled {self.standing_fraction:.0%}")
        if self.page_faults:
            parts.append(f"{self.page_faults:,.0f} page faults")
        return f"{said}: {', '.join(parts)}"

    @property
    def name(self) -> str:
        """`stage` or `stage on device`."""
        return f"{self.stage} on {self.device}" if self.device else self.stage


_TOLD = 0.05  # of a phase; what is less is not worth a word


@dataclass(frozen=True, slots=True)
class PhaseFinding:
    """The narrowest point of one phase, or "cannot tell" with a reason.

    `cause` states in words the main activity of a computing stage's threads while busy; None for a
    stage that waits for a disk, and where the kernel's accounts are missing.
    """

    phase: str
    verdict: Literal["narrowest", "cannot tell"]
    stage: str | None
    device: str | None
    utilisation: float | None
    evidence: tuple[str, ...]
    runner_up: StageUse | None
    stages: tuple[StageUse, ...]  # busiest first
    reason: str | None = None  # of "cannot tell"
    cause: str | None = None

    @property
    def sentence(self) -> str:
        """The finding in words: `sort, waiting for a core: ...`, or why it can't be determined."""
        if self.reason or self.stage is None:
            return f"cannot tell: {self.reason}"
        place = f"{self.stage} on {self.device}" if self.device else self.stage
        return f"{place}, {self.cause}" if self.cause else place


def narrowest_points(trial: Trial) -> tuple[PhaseFinding, ...]:
    """The narrowest point of every phase of `trial` that has stages, or should have them."""
    staged = {s.phase for s in trial.samples if s.metric.startswith("stage_")}
    return tuple(
        _finding(trial, phase)
        for phase in trial.phases
        if phase.name in staged or phase.name in FLOW
    )


def _finding(trial: Trial, phase: Phase) -> PhaseFinding:
    stages: list[StageUse] = []
    silent: list[str] = []
    for (stage, device), metrics in _by_stage(trial, phase.name).items():
        lacking = [name for name in _REQUIRED if metrics.get(name) is None]
        if lacking or phase.elapsed_s <= 0:
            silent.append(f"{stage} has no {' and no '.join(lacking) or 'phase duration'}")
        elif metrics["workers"]:  # a stage without workers took no part
            stages.append(_use(stage, device, metrics, phase.elapsed_s))
    stages.sort(key=lambda use: (-use.utilisation, use.name))
    reason = _doubt(stages, silent)
    top = stages[0] if stages else None
    return PhaseFinding(
        phase=phase.name,
        verdict="cannot tell" if reason else "narrowest",
        stage=top.stage if top and not reason else None,
        device=top.device if top and not reason else None,
        utilisation=top.utilisation if top else None,
        evidence=_evidence(phase.name, stages),
        runner_up=stages[1] if len(stages) > 1 else None,
        stages=tuple(stages),
        reason=reason,
        cause=_cause(trial, top) if top and not reason else None,
    )


def _cause(trial: Trial, use: StageUse) -> str | None:
    """Return the limit of `use`; it is computing only if CPU time is most of its busy time."""
    if use.cause == NO_CORE:
        others = next(iter(trial.values(CPU_OTHERS)), None)
        if others is None:
            return NO_CORE
        if others >= _OTHERS_LEAST:
            return f"{NO_CORE}: other programs used {others:.0%} of the CPU time"
        return f"{NO_CORE}: its own threads need more cores than there are"
    if use.cause == STANDS and use.page_faults:
        return f"{STANDS} on page faults, mostly of newly touched memory"
    return use.cause


def _by_stage(trial: Trial, phase: str) -> dict[tuple[str, str | None], dict[str, float | None]]:
    found: dict[tuple[str, str | None], dict[str, float | None]] = {}
    for sample in trial.samples:
        if sample.phase == phase and sample.metric.startswith("stage_"):
            metrics = found.setdefault(_key(sample), {})
            metrics[sample.metric.removeprefix("stage_")] = sample.value
    return found


def _key(sample: Sample) -> tuple[str, str | None]:
    device = sample.labels.get("device")
    return str(sample.labels.get("stage")), None if device is None else str(device)


def _use(
    stage: str, device: str | None, metrics: dict[str, float | None], phase_s: float
) -> StageUse:
    useful_s, workers = metrics["useful_s"] or 0.0, metrics["workers"] or 0.0

    def fraction(name: str) -> float | None:
        value = metrics.get(name)
        return None if value is None else value / (phase_s * workers)

    started_s, ended_s, size = (metrics.get(n) for n in ("started_s", "ended_s", "bytes"))
    observed = ideal = None
    if size is not None and started_s is not None and ended_s is not None and ended_s > started_s:
        observed = size / (ended_s - started_s)
        if useful_s > 0:
            ideal = observed / (useful_s / ((ended_s - started_s) * workers))
    return StageUse(
        stage,
        device,
        useful_s / (phase_s * workers),
        workers,
        useful_s,
        fraction("idle_s"),
        fraction("blocked_s"),
        fraction("waiting_for_memory_s"),
        observed,
        ideal,
        fraction("cpu_s"),
        fraction("system_s"),
        fraction("core_wait_s"),
        metrics.get("page_faults"),
    )


def _doubt(stages: list[StageUse], silent: list[str]) -> str | None:
    """Why the narrowest point cannot be named, or None if it can."""
    if silent:
        return "the trial lacks data: " + "; ".join(silent)
    if not stages:
        return "the trial has no stage times for this phase"
    top = stages[0]
    if top.utilisation < BUSY:
        return (
            f"no stage was busy for half of the phase (the busiest, {top.name}, for "
            f"{top.utilisation:.0%}), so the cause is outside the stages"
        )
    if len(stages) > 1 and top.utilisation - stages[1].utilisation < MARGIN:
        return (
            f"{top.name} ({top.utilisation:.0%}) and {stages[1].name} "
            f"({stages[1].utilisation:.0%}) are about equal"
        )
    return None


def _evidence(phase: str, stages: list[StageUse]) -> tuple[str, ...]:
    if not stages:
        return ()
    top = stages[0]
    lines = [f"{top.name} was {top.at_work}"]
    if top.observed_bytes_per_s is not None and top.ideal_bytes_per_s is not None:
        lines.append(
            f"it moved {top.observed_bytes_per_s / 1000000.0:,.0f} MB/s of a possible "
            f"{top.ideal_bytes_per_s / 1000000.0:,.0f} MB/s"
        )
    flow = FLOW.get(phase, ())
    place = flow.index(top.stage) if top.stage in flow else None
    for use in stages[1:]:
        if place is None or use.stage not in flow:
            continue
        upstream = flow.index(use.stage) < place
        waited = use.blocked_fraction if upstream else use.idle_fraction
        if use.stage != top.stage and waited is not None and waited >= 0.1:
            waiting = "was blocked by the next stage" if upstream else "waited for input"
            lines.append(f"{use.name} {waiting} for {waited:.0%}")
    lines += [
        f"{use.name} waited for a core for {use.core_wait_fraction:.0%}"
        for use in stages[1:]
        if use.stage in COMPUTING and (use.core_wait_fraction or 0.0) >= 0.1
    ]
    lines += [
        f"{use.name} waited for memory for {use.memory_wait_fraction:.0%}"
        for use in stages
        if use.memory_wait_fraction is not None and use.memory_wait_fraction >= 0.1
    ]
    return tuple(lines)
