"""The newest rates of each host from several probes of it, its own and imported ones.

Each metric comes from the newest run that measured it. The trials of one imported file are one run:
fio writes a trial for each job.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from venturi.record.trial import ProvenanceKind, Sample, Trial, started

# A sample with one of these labels is no rate of a disk alone, or not of all that it can do.
_NOT_ALONE = ("concurrent_jobs", "no_disk", "limited", "skips")


@dataclass(frozen=True, slots=True)
class ProbeRuns:
    """A combined trial for each kind of probe and host.

    `parts` has the recorded trials of each by its id, `left_out` the reason for each unused trial.
    """

    trials: tuple[Trial, ...]
    parts: Mapping[str, tuple[Trial, ...]]
    left_out: Mapping[str, str]


def newest_runs(trials: Iterable[Trial]) -> ProbeRuns:
    """Combine probes of the same kind on the same host, the newest values first."""
    by_host: dict[tuple[str, str], list[Trial]] = {}
    for trial in trials:
        by_host.setdefault((trial.workload.name, trial.cluster.hosts[0].name), []).append(trial)
    made: list[Trial] = []
    parts: dict[str, tuple[Trial, ...]] = {}
    left_out: dict[str, str] = {}
    for of_host in by_host.values():
        newest_first = sorted(of_host, key=started, reverse=True)
        newest = newest_first[0]
        taken_from: dict[str, str] = {}  # metric -> the run that gives it
        samples: list[Sample] = []
        used: list[Trial] = []
        for trial in newest_first:
            own = [
                sample
                for sample in _usable(trial)
                if taken_from.setdefault(sample.metric, _run_of(trial)) == _run_of(trial)
            ]
            if own or trial is newest:
                samples += own
                used.append(trial)
            elif trial.id != newest.id:
                left_out[trial.id] = f"trial {newest.id} of the same host is newer"
        made.append(replace(newest, samples=tuple(samples)))
        parts[newest.id] = (*parts.get(newest.id, ()), *used)
    return ProbeRuns(tuple(made), parts, left_out)


def is_imported(trial: Trial) -> bool:
    """Return whether another tool measured it."""
    return trial.provenance.kind is ProvenanceKind.IMPORTED


def _run_of(trial: Trial) -> str:
    if is_imported(trial) and trial.provenance.digest is not None:
        return trial.provenance.digest
    return trial.id


def _usable(trial: Trial) -> Sequence[Sample]:
    """Return the samples that are rates of the device alone.

    Files of another tool's jobs aren't separate disks, so their label is dropped.
    """
    if not is_imported(trial):
        return trial.samples
    return [
        replace(sample, labels={k: v for k, v in sample.labels.items() if k != "dir"})
        for sample in trial.samples
        if not any(label in sample.labels for label in _NOT_ALONE)
    ]
