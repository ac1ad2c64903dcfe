"""IBM's multi-cloud set: Dask workloads on three anonymised clouds, one trial a row.

Families, types and sizes of machines are codes that mean something only within their provider;
each row has those of its own. A `status` other than `ok` is a failed trial: its `target_runtime`
is the time until then, and its `target_cost` is not kept, because it bought no result.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from venturi.record.importing.formats import Format
from venturi.record.importing.items import (
    FAILED,
    SOFTWARE,
    Item,
    Source,
    imported_id,
    of_rows,
    unnamed_hosts,
)
from venturi.record.importing.tables import (
    Row,
    UnreadableError,
    number,
    positive_or_none,
    rows,
    text,
    whole,
)
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Sample,
    Scalar,
    State,
    Trial,
    Workload,
)

FORMAT = Format(
    "ibm",
    "IBM multi-cloud: Dask on three anonymous clouds",
    columns=("A_family", "target_runtime"),
)

_CODES = {
    "A": {"family_code": "A_family", "vcpu_code": "A_vcpu"},
    "B": {"family_code": "B_family", "vcpu_code": "B_vcpu"},
    "C": {"family_code": "C_family", "type_code": "C_type", "vcpu_code": "C_vcpu"},
}
_COLUMNS = (
    "provider",
    *(column for codes in _CODES.values() for column in codes.values()),
    "nodes",
    "workload",
    "target_cost",
    "target_runtime",
    "status",
)
_INDEX = ""  # a first column without a name, which counts the rows
# What a status contains -> the class of the failure; the first that fits.
_FAILURES = (
    ("timed out", "timeout"),
    ("stream is closed", "connection"),
    ("<worker ", "worker"),
    ("no module named", "software"),
)


def read(file: BinaryIO, source: Source) -> Iterator[Item]:
    """The trials of the set, with what was refused."""
    found = rows(file, source, _COLUMNS, (_INDEX,))
    return of_rows(found, lambda row: [_trial(row, source)], source)


def _trial(row: Row, source: Source) -> Trial:
    provider, status = row.fields["provider"], text(row, "status")
    if provider not in _CODES:
        raise UnreadableError(row.refuse("provider", "none of A, B and C"))
    nodes = whole(row, "nodes", least=1, most=10_000)
    chosen: dict[str, Scalar] = {"provider": provider, "nodes": nodes}
    chosen |= {key: whole(row, column) for key, column in _CODES[provider].items()}
    succeeded = status == "ok"
    return Trial(
        id=imported_id("ibm", *(row.fields[name] for name in _COLUMNS)),
        workload=Workload(text(row, "workload"), "ibm-multicloud"),
        engine=Engine("dask", "unknown"),
        cluster=Cluster(unnamed_hosts(f"ibm-{provider}", nodes, {})),
        configuration=chosen,
        software=SOFTWARE,
        provenance=source.provenance("ibm"),
        started_at=None,
        state=State.SUCCEEDED if succeeded else State.FAILED,
        elapsed_s=number(row, "target_runtime", above=0) if succeeded else None,
        samples=(_cost(row) if succeeded else _time_to_failure(row),),
        failure=None if succeeded else Failure(_failure_kind(status), FAILED, status),
    )


def _cost(row: Row) -> Sample:
    return Sample("cost_usd", number(row, "target_cost", above=0), "USD")


def _time_to_failure(row: Row) -> Sample:
    seconds = positive_or_none(row, "target_runtime")
    reason = "not stated" if seconds is None else None
    return Sample("time_to_failure_s", seconds, "s", missing_reason=reason)


def _failure_kind(status: str) -> str:
    lower = status.casefold()
    return next((kind for part, kind in _FAILURES if part in lower), "workload")
