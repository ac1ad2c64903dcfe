"""The hosts of a trial over its time, side by side on one scale, with the narrowest marked.

Their series are on the trial's own clock: each host's was corrected by its clock's offset at the
trial's start (`Clock` of the record), so equal timestamps mean the same time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from venturi.core.errors import VenturiError
from venturi.jobs.stages.analysis import analyse
from venturi.record.job_account import has_tables, load
from venturi.results.hosts.use import HostOverTime, HostsOverTime
from venturi.results.hosts.watched import TimeSpan, WatchedHosts, narrowest_of

if TYPE_CHECKING:
    from venturi.record.store.repository import TrialRepository
    from venturi.record.trial import Trial

PARTS = 120
"""Parts of the time: more points are not distinguishable in a chart of many hosts."""


def hosts_over_time(repository: TrialRepository, trial: Trial, parts: int = PARTS) -> HostsOverTime:
    """The load of the hosts of `trial` in at most this many equal `parts` of its time."""
    kept = [artifact for artifact in trial.artifacts if artifact.kind == "series"]
    if len(kept) < 2:
        return _nothing("only one host was monitored" if kept else "no host was monitored")
    end_s = max((each.started_s + each.elapsed_s for each in trial.phases), default=0.0)
    if end_s <= 0:
        return _nothing("no phase was recorded with this trial")
    spans, what = _spans(repository, trial)
    watched = WatchedHosts(repository, trial, [(0.0, end_s), *spans.values()])
    if watched.reason is not None:
        return _nothing(watched.reason)
    uses = {key: use for key, span in spans.items() if (use := watched.narrowest(span)) is not None}
    narrowest = narrowest_of(uses, spans, what)
    device, said = (None, None) if narrowest is None else (narrowest.device, narrowest.sentence)
    interval_s = max(host.interval_s for host in watched.hosts)
    parts = max(1, min(parts, int(end_s / interval_s)))
    records = {host.name: host for host in trial.cluster.hosts}
    found = []
    for host, use in zip(watched.hosts, watched.uses((0.0, end_s)), strict=True):
        record = records[host.name or ""]
        link = trial.cluster.data_link(record)
        found.append(
            HostOverTime(
                record.name,
                record.rack,
                narrowest is not None and narrowest.host == record.name,
                host.lines(0.0, end_s, parts),
                use,
                None if link is None else link.bytes_per_s,
                None if record.clock is None else record.clock.error_s,
            )
        )
    order = {name: place for place, name in enumerate(records)}
    found.sort(key=lambda each: order[each.host])
    middles = tuple((place + 0.5) * end_s / parts for place in range(parts))
    return HostsOverTime(middles, tuple(found), device, said, None)


def _nothing(reason: str) -> HostsOverTime:
    return HostsOverTime((), (), None, None, reason)


def _spans(repository: TrialRepository, trial: Trial) -> tuple[dict[object, TimeSpan], str]:
    """The stages of its engine's account if that is on the trial's clock, else its phases."""
    try:
        account = load(repository, trial) if has_tables(trial) else None
    except VenturiError:  # the page of its job says so
        account = None
    if account is not None and account.began_s is not None:
        stages: dict[object, TimeSpan] = {
            stage.key: (account.began_s + stage.started_s, stage.elapsed_s)
            for stage in analyse(account).stages
            if stage.started_s is not None and stage.elapsed_s
        }
        if stages:
            return stages, "stages"
    return {
        place: (each.started_s, each.elapsed_s)
        for place, each in enumerate(trial.phases)
        if each.elapsed_s > 0
    }, "phases"
