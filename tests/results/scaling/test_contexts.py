"""Contexts of a curve: equal in all but x, and factors that vary with x."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from venturi.record.query.columns import Column
from venturi.results.scaling.contexts import (
    Contexts,
    comparable_first,
    contexts_of,
    distinguishing_keys,
)


def found(rows: list[dict[str, Any]], x: str, *leave_out: str) -> Contexts:
    columns = {}
    for key in dict.fromkeys(key for row in rows for key in row):
        values = list(dict.fromkeys(row.get(key) for row in rows))
        codes = np.array([values.index(row.get(key)) for row in rows], dtype=np.int64)
        columns[key] = Column(values, codes)
    times = np.array([10.0 + place for place in range(len(rows))])
    return contexts_of(columns, times, x, leave_out)


C3O = [
    {
        "hosts": hosts,
        "nodes": str(hosts),
        "slots": str(hosts * per),
        "instance_type": machine,
        "data_size_MB": str(size),
        "observations": str(size * 9_000 + size % 7),
        "k": k,
    }
    for hosts in (2, 4, 8)
    for machine, per in (("m4", 8), ("r4", 4))
    for size in (1000, 2000, 4000)
    for k in ("3", "5")
]


def test_nothing_is_pooled_over_sizes_machines_or_parameters() -> None:
    """C3O's tables: a curve of hosts is of one machine type, one size and one set of parameters."""
    contexts = found(C3O, "hosts")
    assert len(contexts.contexts) == 2 * 3 * 2
    assert all(each.x == (2, 4, 8) and each.trials == 3 for each in contexts.contexts)
    assert set(distinguishing_keys(contexts.contexts)) == {"instance_type", "data_size_MB", "k"}
    assert contexts.along == ("nodes", "slots")


def test_the_records_of_a_size_grow_with_it_and_split_nothing() -> None:
    """As the source rounds its sizes, records in proportion are those within 2 %."""
    contexts = found(C3O, "data_size_MB")
    assert len(contexts.contexts) == 3 * 2 * 2
    assert contexts.along == ("observations",)


def test_measured_sizes_that_hardly_differ_are_one() -> None:
    rows = [
        {"hosts": hosts, "input_bytes": size * 1_000_000 + hosts * 17, "scale": name}
        for hosts in (4, 6, 8)
        for size, name in ((100, "large"), (1000, "huge"))
    ]
    contexts = found(rows, "hosts")
    assert [each.x for each in contexts.contexts] == [(4, 6, 8)] * 2
    assert distinguishing_keys(contexts.contexts) == ("input_bytes",)


def test_data_that_grow_with_the_hosts_are_said_to() -> None:
    rows = [{"hosts": hosts, "input_bytes": hosts * 10**9} for hosts in (1, 2, 4)]
    contexts = found(rows, "hosts")
    assert len(contexts.contexts) == 1
    assert contexts.along == ("input_bytes",)


def test_what_changes_only_together_with_x_is_named_and_left_out_by_wish() -> None:
    rows = [
        {"hosts": hosts, "cluster": cluster, "disk": disk}
        for hosts, cluster in ((3, "a"), (8, "b"), (16, "c"))
        for disk in ("SSD", "HDD")
    ]
    contexts = found(rows, "hosts")
    assert contexts.contexts == ()
    assert (contexts.single, contexts.confounded) == (6, ("cluster",))
    apart = found(rows, "hosts", "cluster")
    assert [each.x for each in apart.contexts] == [(3, 8, 16)] * 2
    assert apart.left_out == ("cluster",)


def test_confounded_by_two_keys_neither_of_which_says_x() -> None:
    rows = [
        {"hosts": 2, "machine": "m4", "disk": "SSD"},
        {"hosts": 4, "machine": "m4", "disk": "HDD"},
        {"hosts": 4, "machine": "r4", "disk": "SSD"},
        {"hosts": 2, "machine": "r4", "disk": "NVMe"},
    ]
    contexts = found(rows, "hosts")
    assert contexts.contexts == ()
    assert set(contexts.confounded) <= {"machine", "disk"}
    assert found(rows, "hosts", *contexts.confounded).contexts


def test_first_are_those_that_differ_in_the_key_asked_for_alone() -> None:
    rows = [
        *({"hosts": h, "type": t, "job": "sort"} for h in (2, 4, 8) for t in ("m4", "c4")),
        *({"hosts": h, "type": "m4", "job": "grep"} for h in (1, 2, 3, 4)),
    ]
    contexts = found(rows, "hosts")
    assert contexts.contexts[0].settings["job"] == "grep"
    first = comparable_first(contexts, ("type",)).contexts[:2]
    assert [(each.settings["job"], each.settings["type"]) for each in first] == [
        ("sort", "m4"),
        ("sort", "c4"),
    ]


@pytest.mark.parametrize("value", ["many", None, True])
def test_what_has_no_number_as_x_does_not_count(value: Any) -> None:
    rows = [{"maps": maps, "disk": "SSD"} for maps in ("2", 4, "6", value)]
    (context,) = found(rows, "maps").contexts
    assert context.x == (2, 4, 6)
    assert found(rows, "maps").distinct == 3
