"""Shared by the verbs of clusters: a cluster as an option, and connections to its hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from venturi.cli.measure.measuring import find_agent
from venturi.cli.options import F
from venturi.core import settings
from venturi.core.errors import UsageError, VenturiError
from venturi.measure.clusters import clocks
from venturi.measure.clusters.cluster_record import cluster_record, host_record
from venturi.measure.clusters.cluster_spec import ClusterSpec, HostPrice, HostSpec
from venturi.measure.clusters.connect import HostResults, connected, on_each
from venturi.measure.hosts.access import HostOpening

if TYPE_CHECKING:
    from venturi.measure.hosts.host import LiveHost
    from venturi.measure.trial.runner import Session

LAB = "lab:"
CLOCK_S = 10.0


class ClusterType(click.ParamType["ClusterSpec"]):
    """A cluster's file, or `lab:NAME` for a lab that is up."""

    name = "cluster"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> ClusterSpec:
        from venturi.core.text_file import read_text
        from venturi.measure.clusters.cluster_file import cluster_of

        if not isinstance(value, str):
            return value  # type: ignore[no-any-return]
        file = _of_lab(value.removeprefix(LAB)) if value.startswith(LAB) else Path(value)
        hint = "docs/guide/measure/clusters.md has an example; lab:NAME is a lab that is up"
        text = read_text(file, "VEN-CLUSTER-FILE", hint)
        try:
            return cluster_of(text, file, catalog_price)
        except VenturiError:
            _require_no_lab(text, file)
            raise


def _require_no_lab(text: str, file: Path) -> None:
    from venturi.measure.lab.lab_file import parse_lab

    spec, _ = parse_lab(text, file)
    if spec is not None:
        raise UsageError(
            "VEN-CLUSTER-FILE",
            f"{file} describes a lab, not a cluster",
            where={"file": str(file)},
            hint=f"`venturi lab up {file}` makes it; lab:{spec.name} is its cluster then",
        ) from None


def _of_lab(name: str) -> Path:
    from venturi.measure.lab import lab

    return lab.cluster_file(settings.load().home, name)


def catalog_price(type_name: str, catalog: str | None, folder: Path) -> HostPrice | None:
    """The price of a host of a type by a catalog, as `PriceOf` requires."""
    from venturi.machines.catalog import shipped
    from venturi.machines.catalog.find import find, shipped_with, unknown
    from venturi.machines.cost.price import tariff_of

    if catalog is None or catalog in shipped():
        names = shipped_with([type_name]) if catalog is None else (catalog,)
    elif (folder / catalog).is_file():
        names = (str(folder / catalog),)
    else:
        raise unknown(
            f"{catalog!r} is neither a shipped catalog nor a file in {folder}",
            catalog,
            shipped(),
            "shipped",
            {"catalog": catalog},
        )
    found = [find(name) for name in names]
    known = next((each for each in found if type_name in each.types), None)
    if known is None:
        raise unknown(
            f"catalog {found[0].name} has no instance type {type_name!r}",
            type_name,
            found[0].types,
            "it has",
            {"instance_type": type_name},
        )
    tariff = tariff_of(known.types[type_name])
    if tariff is None or tariff.as_of is None:
        return None
    return HostPrice(tariff.node_per_hour, tariff.currency, tariff.source, tariff.as_of)


CLUSTER = ClusterType()

cluster_option: Callable[[F], F] = click.option(
    "--cluster",
    metavar="FILE|lab:NAME",
    type=CLUSTER,
    help="Measure on this cluster: a cluster file (docs/guide/measure/clusters.md) or a running "
    "lab.",
)


def agent_for(spec: HostSpec) -> Path:
    """This machine's copy of the agent that runs on the host."""
    chosen = spec.agent if spec.reached.takes_agent else None
    return chosen or Path(find_agent().path)


def open_host(
    spec: HostSpec, on_send: Callable[[int], None] = lambda sent_bytes: None
) -> AbstractContextManager[LiveHost]:
    """The connected host; `on_send` is called with the agent's size if it has to be sent."""
    return spec.reached.open(
        HostOpening(
            name=spec.name,
            agent=lambda: agent_for(spec),
            agent_folder=spec.agent_folder,
            on_send=on_send,
            enter_lab=_enter_lab,
        )
    )


def _enter_lab(lab: str, host: str) -> Sequence[str]:
    from venturi.measure.lab.lab import enter

    return enter(settings.load().home, lab, host)


@contextmanager
def cluster_hosts(
    spec: ClusterSpec, *, on_done: Callable[[int], None] = lambda done: None
) -> Iterator[HostResults[LiveHost]]:
    """The hosts of a cluster by name, connected, until the block is left."""
    with connected(spec, open_host, on_done=on_done) as outcome:
        yield outcome


def described(spec: ClusterSpec, session: Session) -> Session:
    """The session with the file's facts of its hosts and of the cluster, and with their clocks."""
    by_name = {member.host.name: member for member in session.members}
    offsets = on_each(
        by_name, lambda name: clocks.measure(by_name[name].agent.host), timeout_s=CLOCK_S
    )
    members = tuple(
        replace(
            member,
            host=host_record(spec.host(name), member.host.facts, offsets.results.get(name)),
        )
        for name, member in by_name.items()
    )
    cluster = cluster_record(spec, [member.host for member in members])
    return replace(session, host=members[0].host, members=members, cluster=cluster)
