"""The machines that a run of a job used, from its trial and its engine's account."""

from __future__ import annotations

from typing import TYPE_CHECKING

from venturi.machines.cost.job_prices import CLUSTER_LABEL, TYPE_LABEL, JobUse
from venturi.record.cost import COST_USD, cost_of
from venturi.record.trial import CLUSTER_HOUR, Trial

if TYPE_CHECKING:
    from venturi.jobs.stages.timeline import Timeline

_NO_CORES = "its log doesn't record the cores of all executors"
_NO_END = "the end of the application is unknown"


def run_use(trial: Trial, line: Timeline | None, unread: str | None = None) -> JobUse:
    """The machines that `trial` used. Without a timeline, `unread` is the reason."""
    core_s = cores = None
    reason = unread
    if line is not None:
        if line.there is None:
            reason = _NO_CORES
        elif line.elapsed_s is None:
            reason = _NO_END
        else:
            core_s, cores = line.there.cores_until(line.elapsed_s)
    of_line = None if line is None else line.elapsed_s
    cluster = trial.cluster
    usd, basis, why = _recorded(trial)
    return JobUse(
        elapsed_s=of_line if trial.elapsed_s is None else trial.elapsed_s,
        cluster=cluster.name or trial.labels.get(CLUSTER_LABEL),
        instance_type=cluster.instance_type or trial.labels.get(TYPE_LABEL),
        nodes=len(cluster.hosts),
        core_s=core_s,
        cores=cores,
        cores_reason=reason,
        emulated=cluster.dilation is not None,
        recorded_usd=usd,
        recorded_basis=basis,
        recorded_reason=why,
    )


def _recorded(trial: Trial) -> tuple[float | None, str | None, str | None]:
    """The recorded cost of the whole trial in US dollars with its basis, or why it has none."""
    recorded = [
        each
        for each in trial.samples
        if each.metric == COST_USD and not each.labels and each.phase is None
    ]
    sample = recorded[0] if recorded else cost_of(trial)
    if sample is None or sample.value is None:
        return None, None, None if sample is None else sample.missing_reason
    price, basis = trial.cluster.price, "recorded cost"
    if price is not None and price.per == CLUSTER_HOUR:
        basis = f"recorded price, {price.amount:,.4g} {price.currency} per {price.per}"
    return sample.value, basis, None
