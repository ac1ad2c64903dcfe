"""A cluster's TOML file: its hosts and how to reach them, their roles, folders, networks and racks.

Parsing is strict and reports all mistakes together, each with its line. The file never contains a
password: OpenSSH has the keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, create_model

from venturi.core.errors import VenturiError
from venturi.core.toml_file import (
    BytesPerS,
    KeyLines,
    KeyPath,
    Mistake,
    Strict,
    Text,
    parse,
    refused,
)
from venturi.core.wording import count_of, did_you_mean
from venturi.measure.clusters.cluster_spec import (
    MASTER,
    ROLES,
    WORKER,
    ClusterSpec,
    HostPrice,
    HostSpec,
    Port,
    RackSpec,
)
from venturi.measure.clusters.names import expand
from venturi.measure.hosts.access import DEFAULT_KIND, HostAccess, host_kinds
from venturi.record.trial import DISK_ROLES

MOST_HOSTS = 1000
DATA_NETWORK = "data"
"""The network of a file that names none."""

_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?\Z")
_ADDRESS = re.compile(r"[A-Za-z0-9:](?:[A-Za-z0-9._:%-]{0,251}[A-Za-z0-9:])?\Z")
_BRACES = re.compile(r"\{([^{}]*)\}")
_ONLY_NETWORK = ""
"""The key of an address or a rate that names no network."""


PriceOf = Callable[[str, str | None, Path], HostPrice | None]
"""Look up the price of a host type (first argument) in a catalog (second; None for the default).
The third argument is the folder to which a catalog's path is relative. Returns None if the catalog
has no price for the type; raises VEN-CATALOG-... if the type is unknown.
"""


def _by_network(value: Any) -> Any:
    return value if isinstance(value, dict) else {_ONLY_NETWORK: value}


class NetworkTable(Strict):
    """A network of the cluster."""

    rate: BytesPerS | None = Field(
        default=None, description="of each host's link, such as 10Gbit/s"
    )


class RackTable(Strict):
    """A rack of the cluster."""

    within: Text | None = Field(default=None, description="the row or core that it connects to")
    uplink: BytesPerS | None = Field(
        default=None, description="rate of the link out of it, shared by its hosts"
    )


class PriceTable(Strict):
    """The price of a host."""

    per_hour: Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)] = Field(
        description="price per host and hour"
    )
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = Field(
        default="USD", description="such as USD or EUR"
    )
    source: Text = Field(description="source of the price, such as an invoice")
    as_of: date = Field(description="date of the price, such as 2026-11-01")


if TYPE_CHECKING:
    AccessKeys = Strict
else:
    AccessKeys = create_model(
        "AccessKeys",
        __base__=Strict,
        **{
            kind.key: (bool, Field(default=False, description=kind.description))
            if kind.is_flag
            else (Text | None, Field(default=None, description=kind.description))
            for kind in host_kinds().values()
        },
    )


class HostKeys(AccessKeys):
    """Settings of a host, or in [defaults] of all hosts that don't override them."""

    agent: Text | None = Field(
        default=None,
        description="agent built for that host's CPU: a local file, relative to the cluster file; "
        "default: the installed one",
    )
    agent_folder: Text | None = Field(
        default=None,
        description="folder on the host for the agent; default: ~/.cache/venturi/agents",
    )
    roles: tuple[Text, ...] = Field(
        default=(WORKER,), min_length=1, description="some of " + ", ".join(ROLES)
    )
    address: Annotated[dict[str, Text], BeforeValidator(_by_network)] = Field(
        default={},
        description="address for the other hosts: one, or one per network; default: its name",
    )
    rate: Annotated[dict[str, BytesPerS], BeforeValidator(_by_network)] = Field(
        default={}, description="rate of its link, if it differs from the network's"
    )
    flow_rate: Annotated[dict[str, BytesPerS], BeforeValidator(_by_network)] = Field(
        default={},
        description="rate of one flow, such as one port of a bond; default: the link's rate",
    )
    rack: Text | None = Field(default=None, description="its rack")
    disks: dict[str, Annotated[tuple[Text, ...], Field(min_length=1)]] = Field(
        default={}, description="folders by class of disk: one for each disk"
    )
    folders: dict[str, Annotated[tuple[Text, ...], Field(min_length=1)]] = Field(
        default={},
        description="folders, or classes of disk, by role: "
        + ", ".join(DISK_ROLES)
        + "; default: all disks for each",
    )
    type: Text | None = Field(default=None, description="instance type, for its price in a catalog")
    price: PriceTable | None = Field(
        default=None,
        description="per_hour, currency, source, as_of: its price, instead of its type's",
    )


class HostTable(HostKeys):
    """A host, or several that differ only in the numbers in their names."""

    name: Text | None = Field(default=None, description="its name")
    names: Text | None = Field(
        default=None,
        description="several names by a pattern, such as node[01-16]; an address then is a "
        "pattern of as many, or has {name} in it",
    )


class ClusterFile(Strict):
    """All keys of a cluster file."""

    name: str = Field(default="", description="name of the cluster; default: the file's")
    data_network: Text | None = Field(
        default=None, description="the network for data; default: the first"
    )
    dilation: Annotated[float, Field(ge=1, allow_inf_nan=False)] | None = Field(
        default=None,
        description="for a lab: factor by which its rates are slower than the emulated ones",
    )
    dilate_cpu: Annotated[bool, Field(strict=True)] = Field(
        default=False, description="for a lab: its CPUs are slower by the dilation, too"
    )
    catalog: Text | None = Field(
        default=None,
        description="catalog with the prices of types: a shipped one, or a file, relative to the "
        "cluster file",
    )
    networks: dict[str, NetworkTable] = Field(
        default={}, description="rate of each network, by name"
    )
    racks: dict[str, RackTable] = Field(
        default={}, description="within and uplink of each rack, by name"
    )
    defaults: HostKeys = Field(default=HostKeys(), description="defaults for all hosts")
    hosts: tuple[HostTable, ...] = Field(min_length=1, description="the hosts, a table each")


def cluster_of(text: str, file: Path, price_of: PriceOf | None = None) -> ClusterSpec:
    """The cluster in the `text` of `file`; VEN-CLUSTER-FILE with every mistake in it.

    Without `price_of` a type has no price.
    """
    spec, mistakes = parse_cluster(text, file, price_of)
    if spec is None:
        hint = "`venturi cluster check FILE` checks it again; see docs/guide/measure/clusters.md"
        raise refused("VEN-CLUSTER-FILE", "the cluster file", file, mistakes, hint)
    return spec


def parse_cluster(
    text: str, file: Path, price_of: PriceOf | None = None
) -> tuple[ClusterSpec | None, tuple[Mistake, ...]]:
    """The cluster in `text`, or every mistake in it; `price_of` as `cluster_of` has it."""
    names = {
        "hosts": "a host",
        "defaults": "a host",
        "price": "a price",
        "networks": "a network",
        "racks": "a rack",
    }
    given, lines, mistakes = parse(ClusterFile, text, "a cluster", names)
    if given is None:
        return None, mistakes
    entries = [
        _HostEntry(given, index, lines, file.parent, price_of) for index in range(len(given.hosts))
    ]
    hosts = [(each.at, host) for each in entries for host in each.hosts()]
    own = [mistake for each in entries for mistake in each.mistakes]
    together = [] if own else _doubts(hosts)  # a misspelled host would cause false mistakes
    mistakes = lines.sorted((*own, *_doubtful_parts(given), *together))
    if mistakes:
        return None, mistakes
    spec = ClusterSpec(
        name=given.name or file.stem,
        file=file,
        hosts=tuple(host for _, host in hosts),
        networks={name: each.rate for name, each in _networks(given).items()},
        data_network=_data_network(given),
        racks={
            name: RackSpec(name, each.within, each.uplink) for name, each in given.racks.items()
        },
        dilation=given.dilation,
        dilate_cpu=given.dilate_cpu,
    )
    return spec, ()


def _networks(given: ClusterFile) -> Mapping[str, NetworkTable]:
    return given.networks or {given.data_network or DATA_NETWORK: NetworkTable()}


def _data_network(given: ClusterFile) -> str:
    return given.data_network or next(iter(_networks(given)))


class _HostEntry:
    """A table of [[hosts]]: the settings of its hosts, else those of [defaults]; `mistakes` by
    key.
    """

    def __init__(
        self,
        given: ClusterFile,
        index: int,
        lines: KeyLines,
        folder: Path,
        price_of: PriceOf | None,
    ) -> None:
        self.mistakes: list[tuple[KeyPath, str]] = []
        self._price_of = price_of
        self._given = given
        self._folder = folder
        self._table = given.hosts[index]
        self.at: KeyPath = ("hosts", index)
        self._line = lines.of(self.at)
        self._names = self._read_names()

    def hosts(self) -> Iterator[HostSpec]:
        """Yield the hosts of the table; mistaken keys are treated as missing."""
        roles, disks = self._roles(), self._disks()
        folders = self._folders(disks)
        reached, ports = self._reached(), self._ports()
        rack, at = self._value("rack")
        if rack is not None and self._given.racks and rack not in self._given.racks:
            self._mistake(at, f"there is no rack {rack!r}; {did_you_mean(rack, self._given.racks)}")
        price = self._price()
        agent, agent_folder = self._value("agent")[0], self._value("agent_folder")[0]
        for place, name in enumerate(self._names):
            yield HostSpec(
                name=name,
                reached=reached[place],
                roles=roles,
                ports=ports[place],
                rack=rack,
                disks=_filled(disks, name),
                folders=_filled(folders, name),
                instance_type=self._value("type")[0],
                price=price,
                agent=None if agent is None else self._folder / agent,
                agent_folder=agent_folder or "",
                line=self._line,
            )

    def _mistake(self, at: KeyPath, said: str) -> None:
        self.mistakes.append((at, said))

    def _value(self, key: str) -> tuple[Any, KeyPath]:
        """Return the value of `key`, and its place in the file."""
        defaults = self._given.defaults
        if key in self._table.model_fields_set:
            return getattr(self._table, key), (*self.at, key)
        if key in defaults.model_fields_set:
            return getattr(defaults, key), ("defaults", key)
        return getattr(self._table, key), self.at

    def _read_names(self) -> tuple[str, ...]:
        name, pattern = self._table.name, self._table.names
        if (name is None) == (pattern is None):
            self._mistake(self.at, 'a host has either a name = "..." or names = "...[1-4]"')
            return ()
        if name is not None:
            at = (*self.at, "name")
            found: tuple[str, ...] = (name,)
        else:
            assert pattern is not None
            at = (*self.at, "names")
            try:
                found = expand(pattern)
            except ValueError as error:
                self._mistake(at, f"names: {error}")
                return ()
        for each in found[:MOST_HOSTS]:
            if not _NAME.match(each):
                pattern_hint = "; a pattern is given as names" if "[" in each else ""
                self._mistake(at, f"{each[:80]!r} is not a host name{pattern_hint}")
                return ()
        return found[: MOST_HOSTS + 1]

    def _each(
        self, at: KeyPath, text: str, allowed: re.Pattern[str], nouns: str, problem: str
    ) -> list[str]:
        """`text` for each host: the same with its name filled in, or a pattern of as many."""
        count = len(self._names)
        try:
            found = expand(text)
        except ValueError as error:
            self._mistake(at, str(error))
            return [text] * count
        if len(found) not in {1, count}:
            self._mistake(
                at,
                f"{text!r} has {len(found)} {nouns} for {count_of(count, 'host')}",
            )
            return [text] * count
        if strange := next((m[0] for m in _BRACES.finditer(text) if m[1] != "name"), None):
            self._mistake(at, f"{strange} is unknown; {{name}} is the host's name")
        values = [found[place % len(found)] for place in range(count)]
        filled = [_fill(value, name) for value, name in zip(values, self._names, strict=True)]
        if wrong := next((each for each in filled if not allowed.match(each)), None):
            self._mistake(at, f"{wrong[:80]!r} {problem}")
        return filled

    def _price(self) -> HostPrice | None:
        """Return the price of each host: as stated in the file, else by its type."""
        said, _ = self._value("price")
        kind, at = self._value("type")
        if said is not None:
            return HostPrice(**dict(said))
        if kind is None or self._price_of is None:
            return None
        try:
            return self._price_of(kind, self._given.catalog, self._folder)
        except VenturiError as error:
            is_of_type = error.where.get("instance_type") is not None
            self._mistake(at if is_of_type else ("catalog",), f"{error.message}; {error.hint}")
            return None

    def _reached(self) -> list[HostAccess]:
        kinds = host_kinds()
        said = self._table.model_fields_set & kinds.keys()
        of = self._table if said else self._given.defaults
        at = self.at if said else ("defaults",)
        targets = {key: getattr(of, key) for key in kinds if getattr(of, key)}
        if len(targets) > 1:
            self._mistake(at, f"a host is reached in one way: {', '.join(targets)}")
        key, target = next(iter(targets.items()), (DEFAULT_KIND, "{name}"))
        kind = kinds[key]
        if kind.is_flag:
            return [kind() for _ in self._names]
        problem = f"is not {kind.target_name}"
        found = self._each((*at, key), target, kind.allowed, "targets", problem)
        return [kind(each) for each in found]

    def _roles(self) -> tuple[str, ...]:
        roles, at = self._value("roles")
        for role in roles:
            if role not in ROLES:
                self._mistake(at, f"there is no role {role!r}; {did_you_mean(role, ROLES)}")
        return tuple(dict.fromkeys(roles))

    def _ports(self) -> list[Mapping[str, Port]]:
        """By network, for each host."""
        networks, data = _networks(self._given), _data_network(self._given)
        addresses, at_address = self._value("address")
        rates, at_rate = self._value("rate")
        flows, at_flow = self._value("flow_rate")
        for table, at in ((addresses, at_address), (rates, at_rate), (flows, at_flow)):
            for name in table:
                if name not in networks and name != _ONLY_NETWORK:
                    hint = did_you_mean(name, networks, "networks of the file")
                    self._mistake((*at, name), f"there is no network {name!r}; {hint}")
        found: dict[str, list[str]] = {data: list(self._names)}
        for name, text in addresses.items():
            at = (*at_address, name) if name else at_address
            found[name or data] = self._each(at, text, _ADDRESS, "addresses", "is not an address")
        rate_of = {name or data: rate for name, rate in rates.items()}
        flow_of = {name or data: rate for name, rate in flows.items()}
        return [
            {
                network: Port(
                    each[place],
                    rate_of.get(network, _rate(networks, network)),
                    flow_of.get(network),
                )
                for network, each in found.items()
            }
            for place in range(len(self._names))
        ]

    def _disks(self) -> dict[str, tuple[Path, ...]]:
        """The folders of each class of disk."""
        found, at = self._value("disks")
        seen: set[str] = set()
        for name, paths in found.items():
            for path in paths:
                self._check_path((*at, name), path)
                if path in seen:
                    self._mistake((*at, name), f"{path} is given twice")
                seen.add(path)
        return {name: tuple(map(Path, paths)) for name, paths in found.items()}

    def _check_path(self, at: KeyPath, path: str) -> None:
        if not path.startswith("/") or "\x00" in path:
            self._mistake(at, f"{path[:80]!r} doesn't start with /")
        elif PurePosixPath(path) == PurePosixPath("/") or ".." in PurePosixPath(path).parts:
            self._mistake(at, f"{path[:80]!r} is not a folder for data")

    def _folders(self, disks: Mapping[str, tuple[Path, ...]]) -> dict[str, tuple[Path, ...]]:
        """The folders of each role; where the file says none of them, of all disks."""
        said, at = self._value("folders")
        every = tuple(path for paths in disks.values() for path in paths)
        found = {role: every for role in DISK_ROLES if every and role != "replica"}
        for role, places in said.items():
            where = (*at, role)
            if role not in DISK_ROLES:
                hint = did_you_mean(role, DISK_ROLES)
                self._mistake(where, f"folders have no role {role!r}; {hint}")
                continue
            paths: list[Path] = []
            for place in places:
                if place.startswith("/"):
                    self._check_path(where, place)
                    paths.append(Path(place))
                elif place in disks:
                    paths += disks[place]
                else:
                    hint = did_you_mean(place, disks, "classes of disk here")
                    self._mistake(where, f"{place!r} is neither a path nor a class of disk; {hint}")
            found[role] = tuple(dict.fromkeys(paths))
        return found


def _rate(networks: Mapping[str, NetworkTable], name: str) -> float | None:
    found = networks.get(name)
    return None if found is None else found.rate


def _fill(text: str, name: str) -> str:
    return text.replace("{name}", name)


def _filled(paths: Mapping[str, Sequence[Path]], name: str) -> dict[str, tuple[Path, ...]]:
    return {
        key: tuple(Path(_fill(str(each), name)) for each in found) for key, found in paths.items()
    }


def _doubtful_parts(given: ClusterFile) -> Iterator[tuple[KeyPath, str]]:
    """Yield the problems of networks and racks."""
    if given.data_network is not None and given.data_network not in _networks(given):
        hint = did_you_mean(given.data_network, given.networks)
        yield ("data_network",), f"there is no network {given.data_network!r}; {hint}"
    if given.dilate_cpu and given.dilation is None:
        yield ("dilate_cpu",), "dilate_cpu needs a dilation"
    yield from _doubtful_racks(given.racks)


def _doubts(hosts: Sequence[tuple[KeyPath, HostSpec]]) -> Iterator[tuple[KeyPath, str]]:
    """Yield the problems that appear only when hosts are compared."""
    if len(hosts) > MOST_HOSTS:
        yield ("hosts",), f"more than {MOST_HOSTS:,} hosts"
        return
    namesakes = list(_twice(hosts, lambda host: [host.name], "two hosts have the name {1}"))
    yield from namesakes
    if namesakes:  # their addresses are the same, too
        return
    yield from _twice(
        hosts,
        lambda host: [] if host.reached.emulated else [str(host.reached)],
        "{2} and {0} are the same machine: {1}",
    )
    yield from _twice(
        hosts,
        lambda host: [f"{port.address} on {name}" for name, port in host.ports.items()],
        "{2} and {0} have the same address: {1}",
    )
    masters = [(at, host.name) for at, host in hosts if MASTER in host.roles]
    if not masters:
        yield ("hosts",), 'no host is the master: give one of them roles = ["master"]'
    elif len(masters) > 1:
        names = ", ".join(name for _, name in masters[:5])
        yield masters[1][0], f"{len(masters)} hosts are the master, but only one can be: {names}"


def _twice(
    hosts: Sequence[tuple[KeyPath, HostSpec]],
    values_of: Callable[[HostSpec], Iterable[str]],
    said: str,
) -> Iterator[tuple[KeyPath, str]]:
    """The hosts that have a value of an earlier one: {0} is the host, {1} the value, {2} that."""
    first: dict[str, HostSpec] = {}
    for at, host in hosts:
        for value in values_of(host):
            if (other := first.setdefault(value, host)) is not host:
                yield at, said.format(host.name, value, other.name)


def _doubtful_racks(racks: Mapping[str, RackTable]) -> Iterator[tuple[KeyPath, str]]:
    told: set[str] = set()
    for name, rack in racks.items():
        if rack.within is not None and rack.within not in racks:
            hint = did_you_mean(rack.within, racks)
            yield ("racks", name, "within"), f"there is no rack {rack.within!r}; {hint}"
        path, at = [name], rack.within
        while at is not None and at in racks and at not in path:
            path.append(at)
            at = racks[at].within
        if at == name and name not in told:
            told.update(path)
            cycle = " within ".join((*path, name))
            yield ("racks", name, "within"), f"racks form a cycle: {cycle}"
