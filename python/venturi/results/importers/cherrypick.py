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

from functools import partial

from venturi.record.importing.formats import Format
from venturi.record.importing.items import UNSTATED
from venturi.record.importing.tables import TableRow, bytes_of_gib, number, text, whole
from venturi.record.trial import PriceQuote, TrialWarning
from venturi.results.importers.column_mapped import ColumnMapping, read_nodes

FORMAT = Format(
    "cherrypick",
    "CherryPick: five applications on EC2",
    columns=("exp_name", "vm_name", "disk_name"),
)
UNDATED = "unknown"
"""The `as_of` of a price without a date in its source."""


def _price(row: TableRow, column: str) -> PriceQuote:
    source = "CherryPick, column vm_cost, without disks"
    return PriceQuote(number(row, column, above=0), "USD", "node-hour", source, UNDATED)


def _price_warning(row: TableRow, column: str) -> TrialWarning:
    message = f"the price of {number(row, column):g} USD per machine and hour has no date"
    return TrialWarning(UNSTATED, message)


read = ColumnMapping(
    "cherrypick",
    columns={
        "exp_name": {"workload.name": text},
        "exp_id": {},
        "config_id": {},
        "num_machines": {"nodes": read_nodes},
        "time": {},
        "num": {},
        "machine_id": {},
        "disk_id": {},
        "disk_name": {"configuration.disk_name": text},
        "disk_count": {"configuration.disk_count": whole},
        "disk_speed": {"configuration.disk_speed": text},
        "disk_cost": {"configuration.disk_cost": partial(number, least=0)},
        "disk_size": {"configuration.disk_size": partial(number, least=0)},
        "vm_id": {},
        "vm_name": {"instance_type": text},
        "ram": {"host.memory_total_bytes": bytes_of_gib},
        "cpu_count": {"host.cpu_threads": partial(whole, least=1)},
        "vm_speed": {"configuration.cpu_speed": text},
        "vm_cost": {"price": _price, "warning.price": _price_warning},
    },
    elapsed_s="time",
    casefolded=("exp_name", "disk_name", "disk_speed", "vm_name", "vm_speed"),
).read
