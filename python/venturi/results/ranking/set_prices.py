"""The prices that a user has set, for rankings of trials by cost."""

from __future__ import annotations

import numpy as np

from venturi.core.wording import NAMES_SHOWN
from venturi.machines.cost.job_prices import CLUSTER, NODE, JobPrices, price_words
from venturi.record.query.columns import read_trials
from venturi.record.query.recorded_cores import recorded_cores
from venturi.record.query.trial_columns import CLUSTER_NAME
from venturi.record.store.repository import TrialRepository
from venturi.results.effects.strata import SucceededTrials
from venturi.results.ranking.rank_trials import RecordedPrices


def prices_set(
    repository: TrialRepository, trials: SucceededTrials, prices: JobPrices
) -> RecordedPrices | None:
    """The price per hour of each trial's cluster by the user's `prices`; None unless all have one.

    The price of a cluster precedes that of its nodes, and both precede that of a core-hour, which
    counts the recorded cores of all hosts.
    """
    if trials.serials is None or not len(trials.serials):
        return None
    if not any(prices):
        return None
    with repository.reading() as connection:
        serials, columns = read_trials(
            connection, (), ("instance_type", "hosts"), of_records=(CLUSTER_NAME,)
        )
    order = np.argsort(serials)
    places = order[np.searchsorted(serials[order], trials.serials)]
    keys = (CLUSTER_NAME, "instance_type", "hosts")
    of_each = [
        [columns[key].values[n] for n in columns[key].codes[places].tolist()] for key in keys
    ]
    usd_per_hour = np.full(len(places), np.nan)
    used: dict[str, float] = {}
    cores = np.full(len(places), np.nan)
    if prices.core_hour is not None:
        cores = recorded_cores(repository, trials.serials)
    for place, (cluster, type_, hosts) in enumerate(zip(*of_each, strict=True)):
        if cluster in prices.clusters:
            usd_per_hour[place] = used[price_words(CLUSTER, cluster)] = prices.clusters[cluster]
        elif type_ in prices.nodes and isinstance(hosts, int) and hosts > 0:
            used[price_words(NODE, type_)] = prices.nodes[type_]
            usd_per_hour[place] = hosts * prices.nodes[type_]
        elif prices.core_hour is not None and np.isfinite(cores[place]):
            used["each recorded core of the hosts"] = prices.core_hour
            usd_per_hour[place] = cores[place] * prices.core_hour
    if not np.isfinite(usd_per_hour).all():
        return None
    shown = [f"{words} ${usd:,.6g}/h" for words, usd in sorted(used.items())]
    more = f" and {len(shown) - NAMES_SHOWN} more" if len(shown) > NAMES_SHOWN else ""
    said = f"your prices (venturi prices): {', '.join(shown[:NAMES_SHOWN])}{more}"
    return RecordedPrices(usd_per_hour, said)
