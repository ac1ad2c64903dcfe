"""Use of the host while each stage ran, from its own series.

The engine records why its tasks waited, the host which of its devices was busy. Neither corrects
the other: where they differ, both are shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from venturi.core.units import format_rate
from venturi.jobs.stages.causes import TO_COMPUTE
from venturi.jobs.stages.stage import Analysis, Stage
from venturi.jobs.stages.verdict import in_words
from venturi.results.hosts.use import PROCESSOR, HostUse
from venturi.results.hosts.watched import BUSY, NarrowestHost, WatchedHosts, narrowest_of

if TYPE_CHECKING:
    from venturi.record.job_account import JobAccount
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial

# The host device behind an engine's cause; the other causes have none.
_ASKS = {
    "cpu": PROCESSOR,
    "garbage collection": PROCESSOR,
    "deserialization": PROCESSOR,
    "result serialization": PROCESSOR,
    TO_COMPUTE: PROCESSOR,
    "shuffle write": "disk",
}


@dataclass(frozen=True, slots=True)
class HostUseByStage:
    """Host use by stage, on the busiest host if there are several.

    `reason` explains missing data; `watched` is False if the hosts can't be sampled.
    """

    uses: Mapping[tuple[int, int], HostUse]
    reason: str | None
    watched: bool = True
    narrowest: NarrowestHost | None = None


def host_use_by_stage(
    repository: TrialRepository, trial: Trial, account: JobAccount, analysis: Analysis
) -> HostUseByStage:
    """Host use in each stage of a job that is long enough for the sampling interval."""
    spans = {
        stage.key: (account.began_s + stage.started_s, stage.elapsed_s)
        for stage in analysis.stages
        if account.began_s is not None and stage.started_s is not None and stage.elapsed_s
    }
    watched = WatchedHosts(repository, trial, list(spans.values()))
    if not watched.any_series:
        return HostUseByStage({}, watched.reason, watched=False)
    if account.began_s is None:
        return HostUseByStage(
            {}, account.origin_reason or "the engine's clock differs from the host's"
        )
    if watched.reason is not None:
        return HostUseByStage({}, watched.reason)
    found = {key: watched.narrowest(span) for key, span in spans.items()}
    uses = {key: use for key, use in found.items() if use is not None}
    reason = None if uses else "every stage was shorter than the sampling interval"
    return HostUseByStage(uses, reason, narrowest=narrowest_of(uses, spans, "stages"))


def python_cpu_s(
    found: HostUseByStage, trial: Trial, analysis: Analysis
) -> dict[tuple[int, int], float]:
    """The CPU time of the Python workers in each stage, as far as it was sampled.

    On several hosts it is known in a lab only, where they share the CPUs.
    """
    hosts = trial.cluster.hosts
    threads = hosts[0].facts.get("cpu_threads") if hosts else None
    if not isinstance(threads, int) or (len(hosts) > 1 and trial.cluster.dilation is None):
        return {}
    return {
        stage.key: use.cpu_python * threads * stage.elapsed_s
        for stage in analysis.stages
        if (use := found.uses.get(stage.key)) is not None
        and use.cpu_python is not None
        and stage.elapsed_s
    }


def sentence(stage: Stage, use: HostUse) -> str:
    """The host's evidence on the bottleneck of `stage`, compared with the engine's."""
    narrowest = stage.verdict.narrowest
    engine = "cannot tell" if narrowest is None else f"says {in_words(narrowest)}"
    if use.busiest is None:
        return f"the engine's log {engine}; the host metrics name no device"
    device, busy = use.busiest
    whose = use.host or "the host"
    agrees, thing, its = f"{whose} agrees", f"{whose}'s {device}", f"its {device}"
    if use.processor_shared:
        agrees, thing = "the hosts agree", "the CPU that all hosts share"
        its = thing
    peers = "" if use.peers_busy is None else f", on the others up to {use.peers_busy:.0%}"
    if busy < BUSY:
        none_of = "the host" if use.host is None else "any host"
        said = f"no device of {none_of} was {BUSY:.0%} busy"
    elif narrowest is not None and device.startswith(_ASKS.get(narrowest, "-")):
        return f"{agrees}: {its} was {busy:.0%} busy{peers} ({_facts(use)})"
    else:
        said = f"{thing} was {busy:.0%} busy at that time{peers}"
    return f"the engine's log {engine}; {said} ({_facts(use)})"


def _facts(use: HostUse) -> str:
    def share(value: float | None) -> str:
        return "—" if value is None else f"{value:.0%}"

    parts = [
        f"{whose} {share(value)}"
        for whose, value in (("others", use.cpu_others), ("Python workers", use.cpu_python))
        if value is not None
    ]
    others = f" ({', '.join(parts)})" if parts else ""
    return (
        f"CPU {share(use.cpu_busy)}{others}, waiting for I/O {share(use.cpu_iowait)}; disk "
        f"{use.disk or '—'} {share(use.disk_busy)}, read "
        f"{format_rate(use.disk_read_bytes_per_s)}, written "
        f"{format_rate(use.disk_write_bytes_per_s)}; network in "
        f"{format_rate(use.net_receive_bytes_per_s)}, out "
        f"{format_rate(use.net_transmit_bytes_per_s)}"
    )
