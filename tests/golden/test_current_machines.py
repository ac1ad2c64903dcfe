"""100 TB on today's machines: the table of plausibility, from the shipped catalogue.

Time = max(d/S, d (N-1)/N / B) + d/S with d = 100 TB/N, on the fewest nodes that hold input,
intermediate and output data; cost = N * price * time, by the second. Reckoned by hand from the
same public sources.
"""

from __future__ import annotations

from collections import Counter
from datetime import date

import pytest

from venturi.core.quantity import ValueKind
from venturi.machines.advice.hardware import advise, predict
from venturi.machines.advice.option import least_nodes
from venturi.machines.advice.question import HardwareRequest
from venturi.machines.catalog import DEFAULT, load_shipped
from venturi.machines.cost.choices import NetworkChoice
from venturi.machines.cost.job import sort_job
from venturi.machines.cost.node import node_of

CURRENT = load_shipped("current")
SORT = sort_job(100e12)
# type, nodes, minutes, US dollars, the ends of both that the range of S alone makes
TABLE = [
    ("i8g.4xlarge", 80, 28.8, 52.71, "network"),
    ("i7i.4xlarge", 80, 28.8, 57.99, "network"),
    ("i4i.32xlarge", 10, 32.0, 58.50, "network"),
    ("i3.16xlarge", 20, 43.6, 72.61, "network"),
    ("i8ge.48xlarge", 3, 67.9, 77.34, "storage"),
    ("z3-highmem-8-highlssd", 94, 24.8, 44.76, "storage"),
    ("n2d-standard-32+24lssd", 32, 39.9, 49.79, "storage"),
    ("n2-standard-32+24lssd", 32, 39.9, 54.10, "storage"),
    ("c4a-standard-16-lssd", 187, 19.4, 58.40, "storage"),
    ("c3-standard-22-lssd", 187, 18.6, 73.64, "storage"),
    ("Standard_L8s_v3", 157, 14.3, 25.98, "network"),
    ("Standard_L8as_v3", 157, 17.6, 28.67, "storage"),
    ("Standard_L4aos_v4", 105, 43.3, 34.22, "storage"),
    ("Standard_L4as_v4", 313, 21.3, 38.17, "storage"),
    ("Standard_L2s_v4", 625, 21.3, 38.69, "storage"),
]


@pytest.mark.parametrize(("name", "nodes", "minutes", "usd", "narrow"), TABLE)
def test_100_tb_by_hand(name: str, nodes: int, minutes: float, usd: float, narrow: str) -> None:
    machine = CURRENT.types[name]
    assert least_nodes(SORT, node_of(machine)) == nodes
    found = predict(SORT, "current", machine, nodes, NetworkChoice.AT_SCALE)
    assert found.metered_usd is not None
    assert found.seconds[0, 0] / 60 == pytest.approx(minutes, abs=0.06)
    assert found.metered_usd[0, 0] == pytest.approx(usd, abs=0.006)
    assert found.time.phases[0].binding() == narrow


def test_the_default_ranks_types_of_three_clouds_each_figure_with_source_and_range() -> None:
    assert DEFAULT == "current"
    (found,) = advise(HardwareRequest(SORT, today=date(2026, 11, 22)), [CURRENT]).classes
    by_provider = Counter(option.provider for option in found.ranked)
    assert len(found.ranked) >= 20
    assert set(by_provider) == {"aws", "gcp", "azure"}
    for option in found.ranked:
        node = node_of(CURRENT.types[option.instance_type])
        for rate in (node.storage, node.network):
            assert rate is not None
            assert rate.source
            assert rate.as_of is not None
            assert rate.range_from
            assert rate.low < rate.high


def test_where_two_sources_disagree_the_lower_is_taken_and_the_other_is_the_high_end() -> None:
    for name in ("i7i.8xlarge", "i8g.16xlarge", "i8g.48xlarge"):
        fact = CURRENT.types[name].fact("network_line_rate")
        assert isinstance(fact.value, float)
        assert fact.high is not None
        assert 1.7 < fact.high / fact.value <= 2
        assert "disagree" in fact.note
        payload = CURRENT.types[name].fact("network_rate")
        assert payload.high == pytest.approx(fact.high * 1000 / 8 * 0.99, rel=1e-3)


def test_no_rate_of_both_directions_at_once_is_called_measured() -> None:
    facts = [each.fact("storage_rate") for each in CURRENT.types.values()]
    known = [fact for fact in facts if fact.value is not None]
    assert len(known) > 200
    assert {fact.kind for fact in known} == {ValueKind.DERIVED}
    for fact in known:
        assert fact.low is not None
        assert fact.high is not None
        assert fact.low < fact.high
    assert all(fact.note for fact in facts if fact.value is None)


def test_no_disk_is_said_to_do_more_small_reads_than_its_rate_carries() -> None:
    carried = 0
    for each in CURRENT.types.values():
        for direction in ("read", "write"):
            iops = each.fact(f"local_{direction}_iops")
            mb_per_s = each.number(f"local_{direction}_rate")
            if not isinstance(iops.value, float) or mb_per_s is None:
                continue
            least = iops.value if iops.low is None else iops.low
            assert least * 4096 <= 1.1 * mb_per_s * 1e6, (each.name, direction)
            if iops.low is not None:
                carried += 1
                assert iops.high == iops.value
                assert "(measured) carry" in iops.note
    assert carried == 24  # both directions of 8 types with 16 disks, reading of 8 with 24
