"""Instance types and prices, each value with a kind, a source and a date.

A catalog is a CSV file in long format, with one value and its origin per line. Columns:
instance_type, attribute, value, low, high, unit, kind, source, as_of, note. An empty value is
unknown: it has no kind, and its note gives the reason. `low` and `high` may be empty or left out of
the file; then the range is unknown. Bandwidths are decimal. A type with a name that begins with
`volume:` is a kind of network volume, not a machine.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from importlib import resources
from pathlib import Path

from venturi.core.errors import ExitCode, VenturiError
from venturi.core.quantity import ValueKind
from venturi.core.text_file import read_text

COLUMNS = (
    "instance_type",
    "attribute",
    "value",
    "low",
    "high",
    "unit",
    "kind",
    "source",
    "as_of",
    "note",
)
MAX_FILE_BYTES = 64 * 2**20
DEFAULT = "current"  # if no catalog is named
_KINDS = frozenset(ValueKind)


# attribute -> (the one unit it is written in, what it is). Text attributes have no unit.
ATTRIBUTES: Mapping[str, tuple[str, str]] = {
    "price": ("USD/h", "on-demand price of one node"),
    "volume_optimised_price": ("USD/h", "surcharge for a dedicated path to network volumes"),
    "vcpus": ("1", "virtual CPUs"),
    "memory": ("GiB", "main memory"),
    "disk_count": ("1", "local disks"),
    "disk_size": ("GB", "size of each local disk"),
    "disk_kind": ("", "HDD, SSD or NVMe"),
    "local_size": ("GB", "all local disks together, if their number is unknown"),
    "network_class": ("", "the provider's word for the network: Low, Moderate, High"),
    "network_line_rate": ("Gbit/s", "advertised network bandwidth, an upper bound"),
    "network_rate": ("MB/s", "B_network between two nodes"),
    "network_rate_at_scale": ("MB/s", "B_network of the slowest node of a large cluster"),
    "storage_rate": ("MB/s", "B_storage: local disks, reading and writing concurrently"),
    "volume_line_rate": ("Mbit/s", "advertised bandwidth to network volumes, an upper bound"),
    "volume_read_rate": ("MB/s", "network volumes, reading alone"),
    "volume_write_rate": ("MB/s", "network volumes, writing alone"),
    "local_read_rate": ("MB/s", "local disks, only reading"),
    "local_write_rate": ("MB/s", "local disks, only writing"),
    "local_read_iops": ("1/s", "small random reads of all local disks"),
    "local_write_iops": ("1/s", "small random writes of all local disks"),
    "storage_rate_slowest": ("MB/s", "storage_rate of the slowest of `storage_nodes` nodes"),
    "storage_nodes": ("1", "nodes among which storage_rate_slowest was the slowest"),
    "network_nodes": ("1", "nodes at which network_rate_at_scale was measured"),
    "network_members": ("1", "bonded network interfaces; the network rates are those of one"),
    "network_ports": ("1", "ports or hashed flows that share the bonded interfaces"),
    "disk_path_rate": ("MB/s", "limit of the controller or hypervisor, both directions together"),
    "network_burst_rate": ("Gbit/s", "advertised network burst bandwidth"),
    "network_tier1_rate": ("Gbit/s", "advertised network bandwidth at extra cost"),
    "max_nodes": ("1", "number of nodes of this type that are available"),
    "provider": ("", "provider or vendor"),
    "region": ("", "region of the price"),
    "architecture": ("", "x86_64 or arm64"),
    "processor": ("", "CPU model"),
    "cores": ("1", "physical cores"),
    "numa_nodes": ("1", "NUMA nodes"),
    "coremark": ("1/s", "CoreMark iterations per second, all CPUs"),
    "cpu_factor": ("1", "speed of one virtual CPU relative to the reference"),
    "spot_price": ("USD/h", "price of one interruptible node"),
    "spot_loss_rate": ("1/h", "losses of an interruptible node per hour"),
    "platform_fee": ("USD/h", "fee of a managed platform, for each node"),
    "billing_granularity": ("s", "billing increment"),
    "billing_minimum": ("s", "minimum billed time"),
    "volume_price": ("USD/GiB-month", "price of network volumes"),
    "volume_iops_price": ("USD/IOPS-month", "price of IOPS beyond those included"),
    "volume_throughput_price": ("USD/(MiB/s)-month", "price of throughput beyond the included one"),
    "volume_iops_included": ("1/s", "free IOPS of a volume"),
    "volume_throughput_included": ("MiB/s", "free throughput of a volume"),
    "volume_iops_max": ("1/s", "maximum IOPS of a volume"),
    "volume_throughput_max": ("MiB/s", "maximum throughput of a volume"),
    "volume_throughput_per_gib": ("MiB/s", "throughput of a volume for each GiB of it"),
    "volume_size_max": ("GiB", "largest volume"),
    "store_node_rate": ("MB/s", "most that one node reads from or writes to object storage"),
    "store_request_rate": ("MB/s", "one request to object storage"),
    "store_read_size": ("MB", "bytes of a read request"),
    "store_write_size": ("MB", "bytes of a write request"),
    "store_price": ("USD/GB-month", "price of object storage"),
    "store_read_price": ("USD/1000", "price of a thousand read requests"),
    "store_write_price": ("USD/1000", "price of a thousand write requests"),
    "store_egress_price": ("USD/GB", "price of reading outside the provider's network"),
    "capital": ("USD", "purchase price of one node"),
    "power": ("W", "power drawn by one node"),
}
DISK_KINDS = ("HDD", "SSD", "NVMe")
BYTES_PER_S = {"MB/s": 1e6, "Gbit/s": 1e9 / 8, "Mbit/s": 1e6 / 8, "MiB/s": 2.0**20}
STORE = "store:"  # begins the name of an object storage service, likewise
VOLUME = "volume:"  # begins the name of a kind of network volumes, which stands among the types


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of a catalog, or None with the reason in `note`; `low` and `high` if given."""

    value: float | str | None
    unit: str
    kind: ValueKind | None
    source: str
    as_of: date | None
    note: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class InstanceType:
    """One kind of machine, the known facts about it, its network volumes and object storage."""

    name: str
    facts: Mapping[str, Fact]
    volumes: AttachedVolumes | None = None
    store: InstanceType | None = None

    def fact(self, attribute: str) -> Fact:
        """The fact, or an empty one with a note that the catalog doesn't have it."""
        known = self.facts.get(attribute)
        if known is not None:
            return known
        unit, meaning = ATTRIBUTES[attribute]
        return Fact(None, unit, None, "", None, f"the catalog doesn't give the {meaning}")

    def number(self, attribute: str) -> float | None:
        """The value in the attribute's unit, or None."""
        value = self.fact(attribute).value
        return value if isinstance(value, float) else None

    def word(self, attribute: str) -> str | None:
        """The text of an attribute, or None."""
        value = self.fact(attribute).value
        return value if isinstance(value, str) else None

    @property
    def has_disks(self) -> bool:
        """True if the catalog has data about local disks."""
        return any(self.number(name) is not None for name in ("disk_count", "local_size"))

    @property
    def local_bytes(self) -> int | None:
        """Local disk capacity of one node in bytes, or None if a part of it is unknown."""
        count, size_gb = self.number("disk_count"), self.number("disk_size")
        if count is None or size_gb is None:
            count, size_gb = 1, self.number("local_size")
        return None if size_gb is None else round(count * size_gb * 1e9)


@dataclass(frozen=True, slots=True)
class AttachedVolumes:
    """A number of network volumes of one kind on a machine.

    `gib` is the size of each; None for as much as a job needs. `iops` and `mib_per_s` are
    provisioned for each; None for the included rates. `hours` is the length of the month in monthly
    prices.
    """

    kind: InstanceType
    count: int
    gib: float | None
    iops: float | None
    mib_per_s: float | None
    hours: float

    @property
    def throughput(self) -> Fact | None:
        """MiB/s of one volume, as provisioned, included or by its size; None if unknown."""
        included = self.kind.fact("volume_throughput_included")
        if self.mib_per_s is not None:
            known = self.kind.facts.get("volume_throughput_max", included)
            return Fact(
                self.mib_per_s, "MiB/s", ValueKind.ADVERTISED, known.source, known.as_of, ""
            )
        by_size = self.kind.fact("volume_throughput_per_gib")
        if isinstance(by_size.value, float) and self.gib is not None:
            most = self.kind.number("volume_throughput_max") or math.inf
            return replace(by_size, value=min(by_size.value * self.gib, most))
        return included if included.value is not None else None


@dataclass(frozen=True, slots=True)
class Catalog:
    """The instance types of one file, in its order, with its network volumes and object storage.

    `volumes` has their kinds by their names without `volume:`, such as gp3; `stores` has the
    services for object storage, such as s3.
    """

    name: str
    types: Mapping[str, InstanceType]
    volumes: Mapping[str, InstanceType] = field(default_factory=dict)
    stores: Mapping[str, InstanceType] = field(default_factory=dict)

    @property
    def entries(self) -> Mapping[str, InstanceType]:
        """Types and volumes by the names that the file has."""
        services = (*self.volumes.values(), *self.stores.values())
        return {**self.types, **{each.name: each for each in services}}

    @classmethod
    def of(cls, name: str, entries: Mapping[str, InstanceType]) -> Catalog:
        """The catalog of `entries`; a name prefix separates volumes from machines."""
        types = {n: each for n, each in entries.items() if not n.startswith((VOLUME, STORE))}
        volumes, stores = (
            {n.removeprefix(prefix): e for n, e in entries.items() if n.startswith(prefix)}
            for prefix in (VOLUME, STORE)
        )
        return cls(name, types, volumes, stores)


def disk_kind(text: str) -> str:
    """`text` in the catalog's spelling if only the case differs, such as `nvme`."""
    return {kind.lower(): kind for kind in DISK_KINDS}.get(text.lower(), text)


def shipped() -> tuple[str, ...]:
    """Names of the catalogs that come with Venturi."""
    files = resources.files(__name__).iterdir()
    return tuple(sorted(f.name.removesuffix(".csv") for f in files if f.name.endswith(".csv")))


@cache
def load_shipped(name: str) -> Catalog:
    """The shipped catalog `name`, such as `ec2-2014`; read once."""
    if name not in shipped():
        raise VenturiError(
            "VEN-CATALOG-FORMAT",
            f"there is no shipped catalog {name!r}",
            where={"catalog": name},
            hint="shipped: " + ", ".join(shipped()),
        )
    text = (resources.files(__name__) / f"{name}.csv").read_text(encoding="utf-8")
    return parse(text, name, f"{name}.csv")


def load(path: Path) -> Catalog:
    """Reads the catalog in the file `path`."""
    text = read_text(path, "VEN-CATALOG-FORMAT", most_bytes=MAX_FILE_BYTES)
    return parse(text, path.stem, str(path))


def parse(text: str, name: str, file: str = "catalog") -> Catalog:
    """Parses the catalog in `text`; errors name file, line, field and value."""
    facts: dict[str, dict[str, Fact]] = {}
    for line, row in _rows(text, file):
        attribute, type_name = row["attribute"], row["instance_type"]
        if not type_name:
            raise _error(file, "instance_type", "is empty", line, type_name)
        if attribute not in ATTRIBUTES:
            raise _error(
                file, "attribute", "is not known", line, attribute, hint=", ".join(ATTRIBUTES)
            )
        of_type = facts.setdefault(type_name, {})
        if attribute in of_type:
            raise _error(file, "attribute", f"is given twice for {type_name}", line, attribute)
        of_type[attribute] = _fact(file, line, attribute, row)
    return Catalog.of(name, {n: InstanceType(n, of_type) for n, of_type in facts.items()})


def _rows(text: str, file: str) -> Iterator[tuple[int, dict[str, str]]]:
    # A spreadsheet may put a byte-order mark before the header, and empty lines at the end.
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), strict=True)
    try:
        header = next(reader, [])
        without_range = [column for column in COLUMNS if column not in {"low", "high"}]
        if header not in (list(COLUMNS), without_range):
            raise _error(
                file,
                "header",
                "differs from the catalog's",
                1,
                ",".join(header)[:200],
                hint=_header_hint(header),
            )
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if len(cells) != len(header):
                raise _error(
                    file, "line", f"has {len(cells)} fields, not {len(header)}", reader.line_num
                )
            row = {column: cell.strip() for column, cell in zip(header, cells, strict=True)}
            yield reader.line_num, {"low": "", "high": ""} | row
    except csv.Error as error:
        raise _error(file, "line", f"is not CSV: {error}", reader.line_num) from error


def _header_hint(header: Sequence[str]) -> str:
    separated = not_commas(header)
    if separated:
        return separated
    if not header:
        return "the file is empty; its first line must be " + ",".join(COLUMNS)
    return (
        "the first line must be "
        + ",".join(COLUMNS)
        + (
            ". To import a sheet with one row per type, use `venturi catalog import wide`; for "
            "your own machines, `venturi catalog import onprem`"
        )
    )


def not_commas(header: Sequence[str]) -> str:
    """Advice about a header with other separators than commas; "" if it has commas."""
    for name, mark in (("semicolons", ";"), ("tabs", "\t")):
        if len(header) == 1 and mark in header[0]:
            return (
                f"its columns are separated by {name}: save it with commas, and with decimal points"
            )
    return ""


def _fact(file: str, line: int, attribute: str, row: Mapping[str, str]) -> Fact:
    unit = ATTRIBUTES[attribute][0]
    if not _means(row["unit"], unit):
        raise _error(file, "unit", f"of {attribute} must be {unit!r}", line, row["unit"])
    unit = row["unit"]
    if not row["value"]:
        if row["kind"] or not row["note"]:
            raise _error(
                file, "note", "must say why the value is unknown, with no kind", line, row["note"]
            )
        return Fact(None, unit, None, row["source"], _as_of(file, line, row, True), row["note"])
    if row["kind"] not in _KINDS:
        raise _error(file, "kind", "is not one", line, row["kind"], hint=", ".join(ValueKind))
    if not row["source"]:
        raise _error(file, "source", "is empty", line, "")
    as_of = _as_of(file, line, row, False)
    kind, source, note = ValueKind(row["kind"]), row["source"], row["note"]
    if not unit:
        if attribute == "disk_kind":
            row = {**row, "value": disk_kind(row["value"])}
        return Fact(row["value"], unit, kind, source, as_of, note)
    value = _number(file, line, "value", row["value"])
    low = _number(file, line, "low", row["low"]) if row["low"] else None
    high = _number(file, line, "high", row["high"]) if row["high"] else None
    if not (low or value) <= value <= (high or value):
        raise _error(file, "low and high", f"do not enclose {value:g}", line, f"{low} to {high}")
    return Fact(value, unit, kind, source, as_of, note, low, high)


def _means(given: str, unit: str) -> bool:
    """Whether `given` is `unit`, or a price in another currency, such as `EUR/h` for `USD/h`."""
    if not unit.startswith("USD"):
        return given == unit
    return re.fullmatch("[A-Z]{3}" + re.escape(unit.removeprefix("USD")), given) is not None


def _number(file: str, line: int, field: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        raise _error(
            file,
            field,
            "must be a number above 0",
            line,
            text,
            hint="if it is unknown or doesn't exist, leave it empty and explain in the note",
        )
    return value


def _as_of(file: str, line: int, row: Mapping[str, str], may_be_empty: bool) -> date | None:
    if not row["as_of"] and may_be_empty:
        return None
    try:
        return date.fromisoformat(row["as_of"])
    except ValueError as error:
        raise _error(
            file, "as_of", "is not a date", line, row["as_of"], hint="write it like 2014-09-06"
        ) from error


def format_error(
    file: str,
    problem: str,
    *,
    line: int | None = None,
    field: str = "",
    value: object = None,
    hint: str = "",
    exit_code: ExitCode = ExitCode.USER,
) -> VenturiError:
    """Return VEN-CATALOG-FORMAT for a `problem` in a file."""
    where: dict[str, object] = {"file": file}
    where |= {} if line is None else {"line": line}
    where |= {"field": field} if field else {}
    where |= {} if value is None else {"value": value}
    place = file if line is None else f"{file}, line {line}"
    return VenturiError(
        "VEN-CATALOG-FORMAT", f"{place}: {problem}", where=where, hint=hint, exit_code=exit_code
    )


def _error(
    file: str,
    field: str,
    problem: str,
    line: int | None = None,
    value: str | None = None,
    *,
    hint: str = "",
) -> VenturiError:
    return format_error(file, f"{field} {problem}", line=line, field=field, value=value, hint=hint)
