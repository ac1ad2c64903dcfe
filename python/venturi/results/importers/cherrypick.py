"""CherryPick: five applications on clusters of 11 EC2 types, one trial a row of `CP_*.csv`.

Decisions:

- `time` is seconds; `ram` is GiB and `cpu_count` processor threads of one machine, as EC2 states
  them.
- `vm_cost` is USD per machine and hour, without its disks, and the source gives no date: the quote
  says so, and so does a warning. The source does not name the units of `disk_cost` and `disk_size`
  either: they are kept under its own names and no cost is computed from them.
- The numbers by which the source counts (`exp_id`, `config_id`, `num`, `machine_id`, `disk_id`,
  `vm_id`) choose nothing. They enter the id, so that two rows that differ only in them stay two.
- Which engine ran an application, and on how much data, is not in the file.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    SOFTWARE,
    Item,
    Source,
    Spelling,
    imported_id,
    of_rows,
    unnamed_hosts,
)
from venturi.record.importing.tables import Row, number, rows, text, whole
from venturi.record.trial import (
    Cluster,
    Engine,
    PriceQuote,
    State,
    Trial,
    TrialWarning,
    Workload,
)

FORMAT = Format(
    "cherrypick",
    "CherryPick: five applications on EC2",
    columns=("exp_name", "vm_name", "disk_name"),
)

_COLUMNS = (
    "exp_name",
    "exp_id",
    "config_id",
    "num_machines",
    "time",
    "num",
    "machine_id",
    "disk_id",
    "disk_name",
    "disk_count",
    "disk_speed",
    "disk_cost",
    "disk_size",
    "vm_id",
    "vm_name",
    "ram",
    "cpu_count",
    "vm_speed",
    "vm_cost",
)
_NAMES = ("exp_name", "disk_name", "disk_speed", "vm_name", "vm_speed")
UNDATED = "unknown"
"""The `as_of` of a price whose source gives no date."""


def read(file: BinaryIO, source: Source) -> Iterator[Item]:
    """The trials of one of CherryPick's tables, with what was refused and interpreted."""
    return of_rows(rows(file, source, _COLUMNS), lambda row: _items(row, source), source)


def _items(row: Row, source: Source) -> Iterator[Item]:
    names = {column: row.fields[column].casefold() for column in _NAMES}
    for column, taken_as in names.items():
        if taken_as != row.fields[column]:
            yield Spelling(row.line, column, row.fields[column], taken_as)
    yield _trial(Row(row.line, {**row.fields, **names}), source)


def _trial(row: Row, source: Source) -> Trial:
    nodes, machine = whole(row, "num_machines", least=1, most=10_000), text(row, "vm_name")
    price_usd = number(row, "vm_cost", above=0)
    facts = {
        "cpu_threads": whole(row, "cpu_count", least=1),
        "memory_total_bytes": round(number(row, "ram", above=0, most=1 << 20) * (1 << 30)),
    }
    return Trial(
        id=imported_id("cherrypick", *(row.fields[column] for column in _COLUMNS)),
        workload=Workload(text(row, "exp_name"), "cherrypick"),
        engine=Engine("unknown", "unknown"),
        cluster=Cluster(
            unnamed_hosts(f"cherrypick-{machine}", nodes, facts),
            instance_type=machine,
            price=PriceQuote(
                price_usd, "USD", "node-hour", "CherryPick, column vm_cost, without disks", UNDATED
            ),
        ),
        configuration={
            "nodes": nodes,
            "cpu_speed": text(row, "vm_speed"),
            "disk_name": text(row, "disk_name"),
            "disk_count": whole(row, "disk_count"),
            "disk_speed": text(row, "disk_speed"),
            "disk_size": number(row, "disk_size", least=0),
            "disk_cost": number(row, "disk_cost", least=0),
        },
        software=SOFTWARE,
        provenance=source.provenance("cherrypick"),
        started_at=None,
        state=State.SUCCEEDED,
        elapsed_s=number(row, "time", above=0),
        warnings=(
            TrialWarning(
                "VEN-IMPORT-UNSTATED",
                f"the price of {price_usd:g} USD per machine and hour has no date",
            ),
        ),
    )
