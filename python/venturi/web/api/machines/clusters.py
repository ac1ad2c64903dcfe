"""A cluster: the known facts of its hosts, the trials on it, its newest probes."""

from __future__ import annotations

from typing import Annotated

from venturi.core.errors import VenturiError
from venturi.core.wording import did_you_mean
from venturi.record.query.clusters import clusters, newest_of, trials_on
from venturi.web.api import shapes
from venturi.web.api.context import Services
from venturi.web.api.request_arguments import NAME_LENGTH_MAX, Parameter
from venturi.web.cluster_page import ProbeSeen, cluster_card, probe_seen

TRIALS_MAX = 50


def cluster(
    services: Services,
    name: Annotated[
        str | None,
        Parameter(
            description="A cluster's name; default: the cluster of the newest trial.",
            min_length=1,
            max_length=NAME_LENGTH_MAX,
            examples=["rack7"],
        ),
    ] = None,
) -> shapes.ClusterPage:
    """The clusters that have trials, and one of them as recorded by its newest trial."""
    repository = services.repository
    known = clusters(repository)
    names = [each.name for each in known]
    if name is not None and name not in names:
        raise VenturiError(
            "VEN-RECORD-UNKNOWN",
            f"no trial ran on a cluster named {name!r}",
            where={"name": name},
            hint=did_you_mean(name, names, "clusters with trials"),
        )
    chosen = name if name is not None else next(iter(names), None)
    newest = None if chosen is None else newest_of(repository, chosen)
    if chosen is None or newest is None:
        return shapes.ClusterPage(known, None, (), None, None)

    def probe(workload: str) -> ProbeSeen | None:
        found = newest_of(repository, chosen, workload=workload)
        return None if found is None else probe_seen(repository.get(found))

    return shapes.ClusterPage(
        clusters=known,
        chosen=cluster_card(repository.get(newest)),
        trials=trials_on(repository, chosen, TRIALS_MAX),
        net=probe("netbench"),
        disk=probe("diskbench"),
    )
