"""The pages of a cluster and of a trial on many hosts, compared with the values that were set."""

from __future__ import annotations

import pytest
from chart_reading import Finding

from cluster_samples import SLOW

OF_THE_LAB = (
    "Cluster lab of four",
    "slow has number of ssd disks none (usual: 1)",
    "w2",
    "AMD",
    "data: 10.77.0.4, 100 Mbit/s",
    "/venturi/late0",
    "Clocks were within",
    "this host is slow: slow (28% of the others)",
    "Trials on this cluster (3)",
)
"""The text of the recorded lab's page."""


def is_matrix(step: Finding, hosts: int) -> None:
    """The network's matrix has the interface's rates, under the names of both hosts."""
    names = [f"node{number:02}" for number in range(1, hosts + 1)]
    corner, *heads = step["matrix"][0]
    assert (corner, [head.removesuffix(" slow") for head in heads]) == ("From", names)
    assert [head for head in heads if head.endswith(" slow")] == [f"{SLOW} slow"]
    rates = {row[0].removesuffix(" slow"): row[1:] for row in step["matrix"][1:]}
    for name, row in zip(names, step["asked"]["between_hosts"]["matrix"], strict=True):
        shown = [None if cell == "—" else float(cell.removesuffix(" MB/s")) for cell in rates[name]]
        known = [pair and pair["bytes_per_s"] / 1e6 for pair in row]
        assert shown == [value and pytest.approx(value, abs=0.51) for value in known]
    assert step["label"] == "Rates between pairs of hosts"
    assert step["scrolled"] > 0, "arrows move it"
    assert step["heard"] == hosts * (hosts - 1), "each pair has a row's and a column's head"
    assert step["colors"] > 3
    assert step["overflow_px"] <= 0


def are_multiples(step: Finding, hosts: int) -> None:
    """Each host has a small chart and a row of the table; the narrowest is marked in both."""
    words = [word["text"] for word in step["chart"]["words"]]
    assert [word for word in words if "narrowest" in word] == [f"{SLOW} · narrowest"]
    assert len([word for word in words if word.startswith("node")]) == hosts
    assert len(step["chart"]["lines"]) >= hosts
    rows = {row[0]: row for row in step["table"][1:]}
    assert len(rows) == hosts
    assert [name for name, row in rows.items() if row[-1] == "narrowest"] == [SLOW]
    assert step["sentence"].startswith(f"{SLOW} was the narrowest host")
