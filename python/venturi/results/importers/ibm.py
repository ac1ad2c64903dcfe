"""IBM's multi-cloud set: Dask workloads on three anonymised clouds, one trial a row.

Families, types and sizes of machines are codes that mean something only within their provider;
each row has those of its own. A `status` other than `ok` is a failed trial: its `target_runtime`
is the time until then, and its `target_cost` is not kept, because it bought no result.
"""

from __future__ import annotations

from functools import partial

from venturi.record.importing.formats import Format
from venturi.record.importing.items import FAILED
from venturi.record.importing.tables import TableRow, UnreadableError, number, text, whole
from venturi.record.trial import Engine, Failure, Sample
from venturi.results.importers.column_mapped import ColumnMapping, read_nodes

FORMAT = Format(
    "ibm",
    "IBM multi-cloud: Dask on three anonymous clouds",
    columns=("A_family", "target_runtime"),
)
_SUCCEEDED = "ok"
# Part of a status -> the class of the failure; the first match counts.
_FAILURES = (
    ("timed out", "timeout"),
    ("stream is closed", "connection"),
    ("<worker ", "worker"),
    ("no module named", "software"),
)


def _provider(row: TableRow, column: str) -> str:
    if row.fields[column] not in ("A", "B", "C"):
        raise UnreadableError(row.refuse(column, "none of A, B and C"))
    return row.fields[column]


def _code(provider: str, row: TableRow, column: str) -> int | None:
    """Return the code in `column`, which only rows of `provider` have."""
    return whole(row, column) if row.fields["provider"] == provider else None


def _cost(row: TableRow, column: str) -> Sample | None:
    if row.fields["status"] != _SUCCEEDED:
        return None
    return Sample("cost_usd", number(row, column, above=0), "USD")


def _failure(row: TableRow) -> Failure | None:
    status = text(row, "status")
    if status == _SUCCEEDED:
        return None
    lower = status.casefold()
    kind = next((kind for part, kind in _FAILURES if part in lower), "workload")
    return Failure(kind, FAILED, status)


read = ColumnMapping(
    "ibm",
    columns={
        "provider": {"configuration.provider": _provider},
        "A_family": {"configuration.family_code": partial(_code, "A")},
        "A_vcpu": {"configuration.vcpu_code": partial(_code, "A")},
        "B_family": {"configuration.family_code": partial(_code, "B")},
        "B_vcpu": {"configuration.vcpu_code": partial(_code, "B")},
        "C_family": {"configuration.family_code": partial(_code, "C")},
        "C_type": {"configuration.type_code": partial(_code, "C")},
        "C_vcpu": {"configuration.vcpu_code": partial(_code, "C")},
        "nodes": {"nodes": read_nodes},
        "workload": {"workload.name": text},
        "target_cost": {"sample.cost": _cost},
        "target_runtime": {},
        "status": {},
    },
    elapsed_s="target_runtime",
    constants={"workload.version": "ibm-multicloud", "engine": Engine("dask", "unknown")},
    failure=_failure,
    hosts="configuration.provider",
    unused=("",),  # a first column without a name, which counts the rows
).read
