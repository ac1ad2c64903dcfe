"""A trial of several hosts as one of a single host: its part of the record."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from venturi.record.trial import Sample, Trial

HOST, AT_ONCE = "host", "hosts_at_once"
"""Labels of a sample: its host, and how many hosts were active when it was measured."""


def of_host(trial: Trial, name: str) -> Trial:
    """Return the part of `trial` about the host `name`: its samples (preferably those with all
    hosts active), and its folders, which such a trial has as `HOST:FOLDER`.
    """
    own = [sample for sample in trial.samples if sample.labels.get(HOST) == name]
    most = most_at_once(own)
    return replace(
        trial,
        cluster=replace(
            trial.cluster,
            hosts=tuple(host for host in trial.cluster.hosts if host.name == name),
            disks_by_role={
                role: tuple(d.removeprefix(f"{name}:") for d in dirs if d.startswith(f"{name}:"))
                for role, dirs in trial.cluster.disks_by_role.items()
            },
        ),
        samples=tuple(
            replace(
                sample,
                labels={k: v for k, v in sample.labels.items() if k not in {HOST, AT_ONCE}},
            )
            for sample in own
            if _at_once(sample) in {0, most}
        ),
    )


def most_at_once(samples: Iterable[Sample]) -> int:
    """The highest number of active hosts; 0 where it isn't recorded."""
    return max((_at_once(sample) for sample in samples), default=0)


def _at_once(sample: Sample) -> int:
    found = sample.labels.get(AT_ONCE)
    return found if isinstance(found, int) else 0
