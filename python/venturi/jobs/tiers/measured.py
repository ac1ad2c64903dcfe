"""Everything that is recorded about a trial, its job and its disks, read at one place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from venturi.core.errors import VenturiError
from venturi.jobs.stages.analysis import analyse
from venturi.jobs.stages.stage import Analysis
from venturi.record.account_tables import has_account
from venturi.record.job_account import JobAccount, load
from venturi.record.query.conditions import Condition
from venturi.record.query.paging import whole_trials
from venturi.record.store.series import host_of, read_parts
from venturi.record.trial import State, Trial

if TYPE_CHECKING:
    import polars as pl

    from venturi.record.store.repository import TrialRepository

PROBES_MAX = 50
BUSY, READ, WRITTEN = "disk_busy", "disk_read_bytes_per_s", "disk_write_bytes_per_s"


@dataclass(frozen=True)
class MeasuredJob:
    """A trial with its job account, probes of its hosts' disks, and its disk activity.

    `probes` are from the trial's hosts and `other_probes` from other hosts, the newest first.
    `disk_series` has a table for each host: time, device, busy share, bytes/s read and written.
    """

    trial: Trial
    account: JobAccount
    analysis: Analysis
    elapsed_s: float
    probes: tuple[Trial, ...]
    other_probes: tuple[Trial, ...]
    disk_series: Mapping[str, pl.DataFrame]


def cannot_tell(trial: Trial, why: str, hint: str) -> VenturiError:
    """The error for a trial that lacks something, with the remedy."""
    return VenturiError(
        "VEN-MODEL-INPUT",
        f"cannot tell how much fast storage trial {trial.id} needs: {why}",
        where={"trial": trial.id},
        hint=hint,
    )


def read_job(repository: TrialRepository, trial: Trial) -> MeasuredJob:
    """Read the data of a trial's job; VEN-MODEL-INPUT if the trial has no usable account."""
    account = load(repository, trial) if has_account(trial) else None
    if account is None:
        raise cannot_tell(
            trial,
            "no account of its engine was recorded with it",
            "give a trial that ran on Spark (venturi run WORKLOAD --engine spark), or the event "
            "log of an application (venturi import spark-eventlog FILE)",
        )
    analysis = analyse(account)
    elapsed_s = trial.elapsed_s or analysis.elapsed_s
    if trial.state is not State.SUCCEEDED or not elapsed_s or not analysis.path:
        raise cannot_tell(
            trial,
            f"it ended as {trial.state.value}, or its account does not say when",
            "give a trial that succeeded",
        )
    own, others = _probes(repository, {host.name for host in trial.cluster.hosts})
    # Without the time at which the job began, its stages can't be found in the series.
    series = {} if account.began_s is None else _disk_series(repository, trial)
    return MeasuredJob(trial, account, analysis, elapsed_s, tuple(own), tuple(others), series)


def _probes(repository: TrialRepository, hosts: set[str]) -> tuple[list[Trial], list[Trial]]:
    """Probes of the disks of `hosts`, and those of other hosts."""
    found = whole_trials(
        repository, Condition.equal("workload", "diskbench"), most=PROBES_MAX, skip=lambda _: None
    )
    both: tuple[list[Trial], list[Trial]] = [], []
    for each in found:
        both[hosts.isdisjoint(host.name for host in each.cluster.hosts)].append(each)
    return both


def _disk_series(repository: TrialRepository, trial: Trial) -> dict[str, pl.DataFrame]:
    names = [host.name for host in trial.cluster.hosts]
    return {
        names[0] if len(names) == 1 else host_of(artifact.name, names): _by_device(
            read_parts(repository.artifact_path(artifact))
        )
        for artifact in trial.artifacts
        if artifact.kind == "series"
    }


def _by_device(parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The three metrics of disks as columns, in the order of time."""
    from venturi.record.store.frames import pl

    metrics = [BUSY, READ, WRITTEN]
    found = [part.filter(pl.col("metric").is_in(metrics)) for part in parts]
    if not found:
        raise VenturiError("VEN-RECORD-ARTIFACT", "the series holds no values")
    by_metric: Mapping[str, pl.Expr] = {
        metric: pl.col("value").filter(pl.col("metric") == metric).first() for metric in metrics
    }
    return pl.concat(found).group_by("t_s", "device").agg(**by_metric).sort("t_s")
