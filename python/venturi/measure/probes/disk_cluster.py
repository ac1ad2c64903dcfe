"""DiskBench on the hosts of a cluster, as one trial: on each alone, then on all concurrently.

Hosts that slow one another share something; comparing disks of one class shows the slow ones. A
host that fails is named; the others' results are kept, and the trial is invalid.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from statistics import median

from venturi.core.errors import VenturiError
from venturi.core.units import format_rate
from venturi.measure.hosts.agent import AgentResult
from venturi.measure.hosts.agent_results import DiskMeasurement, DiskReport
from venturi.measure.hosts.concurrent_commands import on_all
from venturi.measure.probes.members import LostHost, ProbedHost
from venturi.measure.probes.probes import DISK_MODES, DiskOptions, disk_samples, unsteady
from venturi.measure.probes.slow import SLOW_FACTOR, Standing, standings
from venturi.measure.trial.job import JobFailed, StepContext, StepReport, TrialChoices
from venturi.record.one_host import AT_ONCE, HOST
from venturi.record.trial import Engine, Phase, Sample, Scalar, TrialWarning, Workload

ALONE_MOST = 8
"""Up to this number of hosts, each is also measured alone by default: one after the other takes
time.
"""
USUAL_BYTES, FREE_OF = 1 << 30, 4
"""Bytes written into each folder by default, and the divisor of the free space that limits them."""
_WHOLE_BYTES = 4 << 20
_Rates = dict[tuple[str, str, str | None, str, str], list[float]]
"""Host, alone or concurrent, folder (None: all), mode, role -> the rates of all iterations."""
_IN_REQUESTS = "random_read"
"""The mode with rates in requests per second, over all sizes and depths of requests together."""


@dataclass(frozen=True)
class ClusterDiskOptions:
    """Options of DiskBench on each host. Each place has its own folders instead of the `dirs` of
    `each`; `alone` None: with at most ALONE_MOST hosts.
    """

    each: DiskOptions = field(default_factory=lambda: DiskOptions((), ("read", "write")))
    alone: bool | None = None
    slow_factor: float = SLOW_FACTOR

    def rounds(self, hosts: int) -> int:
        """How often each mode is measured on so many hosts: on all, and on each alone."""
        alone = hosts <= ALONE_MOST if self.alone is None else self.alone
        return 1 + (hosts if hosts > 1 and alone else 0)


class ClusterDiskJob:
    """DiskBench on `places`; `lost` are hosts that could not even be reached."""

    def __init__(
        self,
        places: Sequence[ProbedHost],
        options: ClusterDiskOptions,
        *,
        engine_version: str,
        experiment: str | None = None,
        lost: Sequence[LostHost] = (),
    ) -> None:
        empty = [place.name for place in places if not place.folders]
        if empty:
            raise VenturiError(
                "VEN-MEASURE-INPUT",
                f"no folder is given on {', '.join(empty)}",
                where={"hosts": ", ".join(empty)},
                hint="give the disks of every host in the cluster file",
            )
        self._places = list(places)
        self._count = len(places)
        self._options = options
        self._engine_version = engine_version
        self._experiment = experiment
        self._lost = list(lost)
        self._rates: _Rates = {}
        self._methods: set[str] = set()
        self._unsteady: list[TrialWarning] = []
        self._alone = options.rounds(len(places)) > 1

    @property
    def chosen(self) -> TrialChoices:
        """The choices of this trial. The folders of all hosts are `HOST:FOLDER`."""
        dirs = tuple(f"{place.name}:{folder}" for place in self._places for folder in place.folders)
        configuration: dict[str, Scalar] = {
            "alone": self._alone,
            "modes": ",".join(self._options.each.modes),
            "bytes": self._options.each.bytes,
            "block_bytes": self._options.each.block_bytes,
            "queue_depth": self._options.each.queue_depth,
            "iterations": self._options.each.iterations,
            "max_seconds": self._options.each.max_seconds,
            "slow_factor": self._options.slow_factor,
        }
        version = hashlib.sha256(json.dumps(["diskbench", "many hosts", *DISK_MODES]).encode())
        return TrialChoices(
            workload=Workload("diskbench", version.hexdigest()[:12]),
            engine=Engine("diskbench", self._engine_version),
            configuration=configuration,
            disks_by_role={"input": dirs, "output": dirs},
            experiment=self._experiment,
        )

    def prepare(self, step: StepContext) -> StepReport:
        """Choose the number of bytes, the same on all hosts: limited by the host with the least
        space.
        """
        if self._options.each.bytes is not None:
            return StepReport()
        free = []
        for place in self._places:
            # A folder that is not there is the agent's to tell.
            with suppress(VenturiError, OSError):
                free += [place.agent.host.files.free_bytes(each) for each in place.folders]
        least = min(free, default=USUAL_BYTES) // (FREE_OF * _WHOLE_BYTES) * _WHOLE_BYTES
        chosen = replace(self._options.each, bytes=max(_WHOLE_BYTES, min(USUAL_BYTES, least)))
        self._options = replace(self._options, each=chosen)
        return StepReport(configuration={"bytes": chosen.bytes})

    def execute(self, step: StepContext) -> StepReport:
        """Run each mode on each host alone, then on all concurrently."""
        phases: list[Phase] = []
        samples: list[Sample] = []
        began_s = step.since_start_s()
        for mode in self._options.each.modes:
            if self._alone:
                started_s = step.since_start_s()
                for place in tuple(self._places):
                    samples += self._run(mode, [place])
                took_s = step.since_start_s() - started_s
                phases.append(Phase(f"{mode}, each host alone", started_s, took_s))
            started_s = step.since_start_s()
            samples += self._run(mode, self._places)
            took_s = step.since_start_s() - started_s
            phases.append(Phase(f"{mode}, all hosts together", started_s, took_s))
        found = [*self._standings(), *self._shares()]
        return StepReport(
            phases=tuple(phases),
            samples=(*samples, *(sample for sample, _ in found)),
            warnings=(
                *(TrialWarning("VEN-MEASURE-HOSTS", each.text) for each in self._lost),
                *(warning for _, warning in found if warning is not None),
                *self._unsteady,
            ),
            configuration={"io_method": ", ".join(sorted(self._methods))},
            elapsed_s=step.since_start_s() - began_s,
        )

    def validate(self, step: StepContext) -> StepReport:
        """Invalid if a host was lost."""
        return StepReport(invalid="; ".join(each.text for each in self._lost) or None)

    def clean(self) -> None:
        """The agents remove their own files."""

    def _run(self, mode: str, places: Sequence[ProbedHost]) -> list[Sample]:
        """Run one mode on `places` concurrently; hosts that fail are lost."""
        alone = len(places) == 1 and self._count > 1
        told = on_all(
            {place.name: place.agent for place in places},
            "disk",
            {
                place.name: replace(
                    self._options.each, dirs=place.folders, modes=(mode,)
                ).arguments()
                for place in places
            },
        )
        words = f"in {mode.replace('_', ' ')} " + (
            "alone" if alone else "on all hosts concurrently"
        )
        samples: list[Sample] = []
        windows: list[tuple[float, float]] = []
        for place in places:
            outcome = told[place.name]
            if isinstance(outcome, VenturiError):
                self._lost.append(LostHost(place.name, words, outcome.message))
                continue
            samples += self._take(place, outcome, len(places), alone=alone)
            for phase in outcome.phases:
                if phase.name == mode:
                    start_s = outcome.started_at_s + phase.started_s
                    windows.append((start_s, start_s + phase.elapsed_s))
        gone = {each.host for each in self._lost}
        self._places = [place for place in self._places if place.name not in gone]
        if not self._places:
            raise JobFailed(
                "VEN-MEASURE-HOSTS",
                f"no host is left: {'; '.join(each.text for each in self._lost)}",
                where={"hosts": ", ".join(sorted(gone))},
            )
        if len(windows) > 1:
            labels: dict[str, Scalar] = {"mode": mode, AT_ONCE: len(places)}
            samples.append(Sample("disk_overlap", overlap(windows), "fraction", labels=labels))
        return samples

    def _take(
        self, place: ProbedHost, result: AgentResult, at_once: int, *, alone: bool
    ) -> Iterator[Sample]:
        report = result.read(DiskReport)
        self._methods |= {device.io_method for device in report.devices}
        kind = "alone" if alone else "together"
        for each in report.measurements:
            spread = each.iops if each.mode == _IN_REQUESTS else each.bytes_per_s
            if spread is not None:
                key = (place.name, kind, each.dir, each.mode, each.role)
                self._rates.setdefault(key, []).extend(spread.iterations)
            for sample in disk_samples(each):
                labels = {**sample.labels, HOST: place.name, AT_ONCE: at_once}
                yield replace(sample, labels=labels)
        self._unsteady += self._warnings(place, report.measurements)

    def _warnings(
        self, place: ProbedHost, measurements: Iterable[DiskMeasurement]
    ) -> Iterator[TrialWarning]:
        for each in measurements:
            if not each.steady and (each.dir is not None or len(place.folders) > 1):
                said = unsteady(each, place.folders, place.name)
                yield TrialWarning("VEN-MEASURE-UNSTEADY", said)

    def _standings(self) -> Iterator[tuple[Sample, TrialWarning | None]]:
        """Compare each disk with the others of its class, under load on all hosts."""
        places = {place.name: place for place in self._places}
        groups: dict[tuple[str, str, str], dict[str, float]] = {}
        for (host, kind, folder, mode, role), every in self._rates.items():
            rate = median(every)
            if kind == "together" and folder is not None and host in places and rate > 0:
                of = places[host].disk_class(folder)
                groups.setdefault((of, mode, role), {})[f"{host}:{folder}"] = rate
        for (of, mode, role), rates in groups.items():
            if len(rates) == 1:
                host, _, folder = next(iter(rates)).partition(":")
                labels: dict[str, Scalar] = {
                    HOST: host,
                    "dir": folder,
                    "class": of or None,
                    "mode": mode,
                    "role": role,
                    "slow": False,
                }
                why = "no other disk has its class"
                yield _share_of_others(None, labels, why), None
            for each in standings(rates, self._options.slow_factor):
                host, _, folder = each.name.partition(":")
                labels = {
                    HOST: host,
                    "dir": folder,
                    "class": of or None,
                    "mode": mode,
                    "role": role,
                    "slow": each.slow,
                }
                yield (
                    _share_of_others(each.share, labels),
                    _slow(each, mode, role) if each.slow else None,
                )

    def _shares(self) -> Iterator[tuple[Sample, TrialWarning | None]]:
        """Each host's rate with all hosts at work over its rate alone."""
        for (host, kind, folder, mode, role), every in self._rates.items():
            alone = self._rates.get((host, "alone", folder, mode, role))
            if kind != "together" or folder is not None or not alone or not median(alone):
                continue
            share = median(every) / median(alone)
            labels: dict[str, Scalar] = {HOST: host, "mode": mode, "role": role}
            warning = None
            if share < self._options.slow_factor:
                warning = TrialWarning(
                    "VEN-MEASURE-SHARED",
                    f"{host}: {_test(mode, role)} has {share:.0%} of its rate alone while "
                    "all hosts are active: they share a disk, or the path to it",
                )
            yield Sample("disk_share_of_alone", share, "fraction", labels=labels), warning


def _share_of_others(
    share: float | None, labels: Mapping[str, Scalar], why: str | None = None
) -> Sample:
    return Sample("disk_share_of_others", share, "fraction", labels=labels, missing_reason=why)


def overlap(windows: Sequence[tuple[float, float]]) -> float:
    """Return the share of the time from the first start to the last end in which all were
    active.
    """
    whole = max(end for _, end in windows) - min(start for start, _ in windows)
    common = min(end for _, end in windows) - max(start for start, _ in windows)
    return max(0.0, common) / whole if whole > 0 else 0.0


def _test(mode: str, role: str) -> str:
    return (
        mode.replace("_", " ") if mode != "read_write" else f"{role} of concurrent read and write"
    )


def _rate(rate: float, mode: str) -> str:
    return f"{rate:,.0f}/s" if mode == _IN_REQUESTS else format_rate(rate)


def _slow(standing: Standing, mode: str, role: str) -> TrialWarning:
    return TrialWarning(
        "VEN-MEASURE-SLOW",
        f"{standing.name}: {_test(mode, role)} at {_rate(standing.rate, mode)}, "
        f"{standing.share:.0%} of the others' median of {_rate(standing.others, mode)}",
    )
