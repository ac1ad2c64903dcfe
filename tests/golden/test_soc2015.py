"""The published numbers of the SoCC 2015 paper, recomputed; the misses of its model too."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest

import io_cost
from venturi.machines.advice.hardware import predict
from venturi.machines.advice.option import least_nodes
from venturi.machines.catalog import load_shipped
from venturi.machines.cost.charges import Volumes
from venturi.machines.cost.choices import Exchange, NetworkChoice
from venturi.machines.cost.job import nodes_for_capacity, sort_job
from venturi.machines.cost.node import node_of

ROOT = Path(__file__).parents[2]
MB = 1e6
SORTED_BYTES = 100 * 10**12
SORT = sort_job(SORTED_BYTES, exchange=Exchange.ALL)  # as equation (6) is printed

with (ROOT / "tests/data/soc2015/facts.csv").open(newline="", encoding="utf-8") as _file:
    ROWS = list(csv.DictReader(_file))
FACTS = {row["quantity"]: float(row["value"]) for row in ROWS}
TYPES = load_shipped("ec2-2014").types


def fact(name: str) -> float:
    return FACTS[name]


def usd_per_hour(name: str) -> float:
    value = TYPES[name].number("price")
    assert value is not None
    return value


def nodes(name: str) -> int:
    count = least_nodes(SORT, node_of(TYPES[name]))
    assert count is not None
    return count


def sort_cost(name: str, network: NetworkChoice) -> float:
    usd = predict(SORT, "ec2-2014", TYPES[name], nodes(name), network).metered_usd
    assert usd is not None
    return float(usd[0, 0])


def storage_mb_per_s() -> float:
    """i2.8xlarge's B_storage, in MB/s, solved from its published storage-only cost.

    The cost is in inverse proportion to the bandwidth, so the equation itself inverts.
    """
    at_1_mb = io_cost.sort_cost_usd(SORTED_BYTES, usd_per_hour("i2.8xlarge"), MB, math.inf)
    return at_1_mb / fact("i2_8xlarge_cost_storage_only")


def i2_cost(nodes: str, time: str) -> float:
    return io_cost.cost_usd(usd_per_hour("i2.8xlarge"), fact(time), int(fact(nodes)))


def r3_usd_per_hour() -> float:
    optimised = TYPES["r3.4xlarge"].number("volume_optimised_price")
    assert optimised is not None
    return usd_per_hour("r3.4xlarge") + optimised


def cloudsort_cost() -> float:
    volumes = Volumes(
        fact("r3_ebs_volumes_per_vm"),
        fact("r3_ebs_volume_size_gib"),
        fact("ebs_usd_per_gib_month"),
        "USD",
        "the paper",
        None,
    )
    per_hour = sum(part.total_per_hour for part in volumes.parts())
    return io_cost.cost_usd(
        r3_usd_per_hour() + per_hour, fact("cloudsort_time"), int(fact("cloudsort_r3_vms"))
    )


def ideal_end_to_end_mb_per_s() -> float:
    size = 1e12
    elapsed_s = io_cost.volume_map_shuffle_s(
        size, fact("ebs_read_ideal") * MB, math.inf, math.inf
    ) + io_cost.volume_sort_reduce_s(size, math.inf, fact("ebs_write_ideal") * MB)
    return size / elapsed_s / MB


def achieved_mb_per_s() -> float:
    return SORTED_BYTES / fact("cloudsort_r3_vms") / fact("cloudsort_time") / MB


def premium_percent() -> float:
    optimised = TYPES["c3.4xlarge"].number("volume_optimised_price")
    assert optimised is not None
    return 100 * (r3_usd_per_hour() / (usd_per_hour("c3.4xlarge") + optimised) - 1)


ALONE = NetworkChoice.UNLIMITED
SPARK = "spark_vms", "spark_time"
INDY = "indy_gray_vms", "indy_gray_time"
DAYTONA = "daytona_gray_vms", "daytona_gray_time"

# published quantity, what the equations give, tolerance in the quantity's own unit
CASES: list[tuple[str, Callable[[], float], float]] = [
    ("indy_gray_cost", lambda: i2_cost(*INDY), 0.02),  # the printed time is rounded to a second
    ("daytona_gray_cost", lambda: i2_cost(*DAYTONA), 0.005),
    ("durability_extra_cost", lambda: i2_cost(*DAYTONA) - i2_cost(*INDY), 0.02),
    ("durability_extra_pct", lambda: 100 * (i2_cost(*DAYTONA) / i2_cost(*INDY) - 1), 0.5),
    ("spark_extra_cost", lambda: i2_cost(*SPARK) - i2_cost(*DAYTONA), 0.5),
    ("spark_extra_pct", lambda: 100 * (1 - i2_cost(*DAYTONA) / i2_cost(*SPARK)), 0.5),
    ("cloudsort_cost", cloudsort_cost, 0.05),
    ("r3_price_premium", premium_percent, 0.5),
    ("cloudsort_saving", lambda: i2_cost(*DAYTONA) - cloudsort_cost(), 0.5),
    ("ideal_end_to_end", ideal_end_to_end_mb_per_s, 0.5),
    ("achieved_pct", lambda: 100 * achieved_mb_per_s() / ideal_end_to_end_mb_per_s(), 0.5),
    ("i2_8xlarge_rw_bw", lambda: storage_mb_per_s() / 1000, 0.05),
    ("diskbench_vs_baseline", lambda: 100 * fact("diskbench_slowest") / storage_mb_per_s(), 0.5),
    ("i2_8xlarge_cost_storage_only", lambda: sort_cost("i2.8xlarge", ALONE), 0.5),
    ("i2_8xP_cost_scaled", lambda: sort_cost("i2.8xlarge", NetworkChoice.AT_SCALE), 1.0),
    ("c3_large_cost", lambda: sort_cost("c3.large", ALONE), 0.5),
    ("m3_cost_approx", lambda: sort_cost("m3.large", ALONE), 1.0),
    ("m3_cost_approx", lambda: sort_cost("m3.medium", ALONE), 1.0),
    ("cr1_8xlarge_cost", lambda: sort_cost("cr1.8xlarge", ALONE), 3.0),
    ("m1_xlarge_cost_scaled", lambda: sort_cost("m1.xlarge", NetworkChoice.AT_SCALE), 3.7),
    ("i2_8xlarge_vms", lambda: nodes("i2.8xlarge"), 0),
    ("c3_large_vms", lambda: nodes("c3.large"), 0),
    ("hs1_8xlarge_vms_for_100TB_sort", lambda: nodes("hs1.8xlarge"), 0),
    ("indy_gray_rate", lambda: 100 / fact("indy_gray_time") * 60, 0.005),
]


@pytest.mark.parametrize(
    ("quantity", "computed", "tolerance"),
    [pytest.param(*case, id=f"{case[0]}-{i}") for i, case in enumerate(CASES)],
)
def test_published_number(quantity: str, computed: Callable[[], float], tolerance: float) -> None:
    assert computed() == pytest.approx(fact(quantity), abs=tolerance, rel=0)


def test_network_of_i2_8xlarge_agrees_from_both_sides() -> None:
    catalogued = TYPES["i2.8xlarge"].number("network_rate")
    assert catalogued is not None
    share = fact("i2_8xlarge_net_over_storage") / 100
    assert catalogued == pytest.approx(share * storage_mb_per_s(), rel=0.01)
    assert catalogued == pytest.approx(
        fact("netbench_at_scale") / (fact("netbench_vs_baseline") / 100), rel=0.01
    )
    ideal_network = sort_cost("i2.8xlarge", NetworkChoice.BASELINE)
    assert ideal_network == pytest.approx(282, abs=1.5)


def test_rank_inverts_with_the_network_and_the_capacity() -> None:
    # Storage alone: c3.large is by far the cheapest, but needs 9,375 nodes.
    assert sort_cost("c3.large", ALONE) < 0.2 * sort_cost("i2.8xlarge", ALONE)
    # cr1.8xlarge costs "more than 100 times" the cheapest.
    assert sort_cost("cr1.8xlarge", ALONE) > 100 * sort_cost("c3.large", ALONE)
    # In a placement group i2.8xlarge beats m1.xlarge, though alone they cost nearly the same.
    alone = sort_cost("m1.xlarge", ALONE) / sort_cost("i2.8xlarge", ALONE)
    assert alone == pytest.approx(1, abs=0.02)
    saving = sort_cost("m1.xlarge", NetworkChoice.AT_SCALE) - sort_cost(
        "i2.8xlarge", NetworkChoice.AT_SCALE
    )
    assert saving == pytest.approx(fact("placement_group_saving"), abs=4)


def test_volumes_hold_input_and_output_and_local_disks_the_rest() -> None:
    for name in ("c3.4xlarge", "r3.4xlarge"):
        capacity = TYPES[name].local_bytes
        assert capacity is not None
        assert nodes_for_capacity(SORTED_BYTES, capacity, copies=1) == 313
    assert min(fact("cloudsort_c3_vms"), fact("cloudsort_r3_vms")) >= 313


def test_cloudsort_saving_percent_fits_only_the_cheaper_base() -> None:
    saving = fact("daytona_gray_cost") - fact("cloudsort_cost")
    assert round(100 * saving / fact("cloudsort_cost")) == fact("cloudsort_saving_pct")
    assert round(100 * saving / fact("daytona_gray_cost")) == fact("cloudsort_saving_pct") - 1


def test_formula_misses_the_indy_run_by_a_seventh() -> None:
    """An honest failure: fed with the rates measured before the run, (6) is 13.7 % too slow."""
    each = SORTED_BYTES / fact("indy_gray_vms")
    slowest, at_scale = fact("diskbench_slowest") * MB, fact("netbench_at_scale") * MB
    predicted_s = io_cost.sort_s(each, slowest, at_scale)
    assert predicted_s == pytest.approx(1010, abs=1)
    cost = io_cost.cost_usd(usd_per_hour("i2.8xlarge"), predicted_s, int(fact("indy_gray_vms")))
    assert cost == pytest.approx(340.6, abs=0.2)
    assert predicted_s / fact("indy_gray_time") - 1 == pytest.approx(0.137, abs=0.002)


def test_first_phase_of_the_indy_run_was_faster_than_the_probe() -> None:
    """Why (6) misses: 500 s of shuffle need 1,123 MB/s a node, where the probe gave 879."""
    each = SORTED_BYTES / fact("indy_gray_vms")
    needed = each / fact("phase1_network_bound")
    assert needed / MB == pytest.approx(1123, abs=1)
    assert fact("netbench_at_scale") * MB < needed < 10e9 / 8
    assert io_cost.sort_map_shuffle_s(each, 2 * needed, needed) == pytest.approx(500)


@pytest.mark.parametrize(
    ("network_mb_per_s", "predicted_s", "optimism"), [(1123, 974, 0.41), (879, 1223, 0.13)]
)
def test_formula_is_optimistic_for_the_replicated_run(
    network_mb_per_s: float, predicted_s: float, optimism: float
) -> None:
    """An honest failure: (1) and (9) promise the replicated run 13 to 41 % too little time."""
    each = SORTED_BYTES / fact("daytona_gray_vms")
    ssd = storage_mb_per_s() * MB / (fact("i2_8xlarge_ssds") * fact("disk_split_read"))
    outer = fact("daytona_ssds_input_output") * ssd
    inner = fact("daytona_ssds_intermediate") * ssd
    network = network_mb_per_s * MB
    total_s = io_cost.map_shuffle_s(each, each, outer, inner, network)
    total_s += io_cost.replicated_sort_sort_reduce_s(each, inner, outer, network)
    assert total_s == pytest.approx(predicted_s, abs=1)
    assert fact("daytona_gray_time") / total_s - 1 == pytest.approx(optimism, abs=0.01)


def test_typed_facts_equal_the_published_reference() -> None:
    folder = Path(os.environ.get("PUBLISHED_NUMBERS_DIR") or ROOT.parent / "shared" / "reference")
    path = folder / "004_text_facts.csv"
    if not path.is_file():
        pytest.skip("the folder of published numbers is absent (PUBLISHED_NUMBERS_DIR)")
    with path.open(newline="", encoding="utf-8") as file:
        reference = {row["quantity"]: row for row in csv.DictReader(file)}
    typed = [row for row in ROWS if row["origin"] == "prose"]
    assert len(typed) >= 40
    for row in typed:
        published = reference[row["quantity"]]
        assert float(row["value"]) == float(published["value"]), row["quantity"]
        assert row["unit"] == published["unit"], row["quantity"]
