"""The general job equals the paper's equations where they apply, and goes beyond where it says."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import io_cost
from venturi.core.errors import VenturiError
from venturi.core.quantity import Quantity, ValueKind
from venturi.machines import catalog
from venturi.machines.catalog import load_shipped
from venturi.machines.cost.choices import Durability, Exchange, NetworkChoice
from venturi.machines.cost.dataflow import MAP, REDUCE, Bounds, job_time
from venturi.machines.cost.job import Job, parse_job
from venturi.machines.cost.job import sort_job as remote_sort
from venturi.machines.cost.node import Node, node_of

TB = 1e12
I2 = load_shipped("ec2-2014").types["i2.8xlarge"]


def sort_job(size: float, durability: Durability = Durability.TWO_IO) -> Job:
    """As the paper's equations have it: every byte of the shuffle crosses the network."""
    return remote_sort(size, durability, Exchange.ALL)


def rate(mb_per_s: float, spread: float = 0.0) -> Quantity:
    value = mb_per_s * 1e6
    return Quantity(value, value * (1 - spread), value * (1 + spread), ValueKind.MEASURED, "test")


def node(
    storage: float = 1000, network: float = 500, disks: int | None = 8, **more: object
) -> Node:
    return replace(Node("n", rate(storage), network=rate(network), disks=disks), **more)  # type: ignore[arg-type]


def seconds(job: Job, machine: Node, nodes: int = 10) -> float:
    return job_time(job, machine, nodes).span().value


RATES = st.floats(1, 1e5)


@given(RATES, RATES, st.integers(2, 1000), st.floats(1e-3, 1e4))
def test_a_sort_is_equation_6(storage: float, network: float, nodes: int, size_tb: float) -> None:
    expected = io_cost.sort_s(size_tb * TB / nodes, storage * 1e6, network * 1e6)
    assert seconds(sort_job(size_tb * TB), node(storage, network), nodes) == pytest.approx(expected)


@given(RATES, RATES, RATES, RATES, st.integers(2, 1000))
def test_volumes_are_equations_10_and_11(
    read: float, write: float, local: float, network: float, nodes: int
) -> None:
    each = TB / nodes
    machine = node(local, network, volume_read=rate(read), volume_write=rate(write))
    expected = io_cost.volume_map_shuffle_s(
        each, read * 1e6, local * 1e6, network * 1e6
    ) + io_cost.volume_sort_reduce_s(each, local * 1e6, write * 1e6)
    assert seconds(sort_job(TB, Durability.VOLUMES), machine, nodes) == pytest.approx(expected)


@given(RATES, RATES, st.integers(1, 1000))
def test_what_is_a_nodes_own_does_not_cross_the_network(
    storage: float, network: float, nodes: int
) -> None:
    each, job = TB / nodes, remote_sort(TB)
    expected = (
        max(each / storage, each * (nodes - 1) / nodes / network) / 1e6 + each / storage / 1e6
    )
    assert seconds(job, node(storage, network), nodes) == pytest.approx(expected)
    copied = job_time(remote_sort(TB, Durability.REPLICATED), node(storage, network), max(2, nodes))
    replicas = next(t for t in copied.phases[1].terms if t.what == "replicas")
    assert replicas.demand_bytes == pytest.approx(TB)  # a copy is always on another node


def test_replication_splits_the_disks_as_the_paper_did_and_predicts_what_its_text_implies() -> None:
    """186 nodes, 434.5 MB/s a disk, 879 MB/s of network: 5 of 8 disks, 1,223 s (really 1,378)."""
    time = job_time(sort_job(100 * TB, Durability.REPLICATED), node(1738, 879), 186)
    assert time.span().value == pytest.approx(1223, abs=1)
    assert "5 of 8 disks hold input and output" in time.assumptions
    assert "5 disks of 8" in time.phases[1].equation


def test_fed_with_the_rates_probed_before_the_run_the_sort_takes_1010_s() -> None:
    assert seconds(sort_job(100 * TB), node(1515, 879), 178) == pytest.approx(1010, abs=1)


def test_one_shared_disk_has_the_sum_form_which_for_a_sort_is_the_same() -> None:
    one = node(disks=1, network=1e9)
    assert seconds(sort_job(TB), one) == pytest.approx(2 * TB / 10 / 1e9)
    shrinking = replace(sort_job(TB), output_bytes=0.0, intermediate_bytes=TB / 2)
    assert seconds(shrinking, one) == pytest.approx((1.5 + 0.5) * TB / 10 / 2e9)


def test_many_node_counts_at_once_are_the_same_as_one_by_one() -> None:
    counts = [1, 2, 47, 178]
    together = job_time(sort_job(TB), node(), counts)
    for at, count in enumerate(counts):
        alone = job_time(sort_job(TB), node(), count)
        assert together.span(at) == alone.span()
        assert together.phases[0].binding(at) == alone.phases[0].binding()
    assert together.phases[0].binding(0) == "storage"  # nothing crosses the network of one node
    assert together.phases[0].binding(1) == "network"


def test_the_span_is_what_the_ranges_of_the_rates_allow() -> None:
    machine = Node("n", rate(1000, 0.1), network=rate(2000, 0.1), disks=8)
    span = job_time(sort_job(TB), machine, 10).span()
    assert span == Bounds(pytest.approx(200), pytest.approx(200 / 1.1), pytest.approx(200 / 0.9))
    assert job_time(sort_job(TB), machine, 10).phases[0].certain()
    close = Node("n", rate(1000, 0.1), network=rate(1050, 0.1), disks=8)
    assert not job_time(sort_job(TB), close, 10).phases[0].certain()
    assert Bounds(1, 1, 2).beats(Bounds(3, 2.5, 4))
    assert not Bounds(1, 1, 3).beats(Bounds(3, 2.5, 4))


def test_computing_bounds_a_phase_and_startup_is_added_once() -> None:
    job = replace(sort_job(TB), map_core_s_per_byte=1e-8, startup_s=30.0)
    machine = node(network=1e9, cores=4.0)
    time = job_time(job, machine, 10)
    assert time.phases[0].binding() == "cpu"
    assert time.phases[0].span().value == pytest.approx(TB * 1e-8 / 40)
    assert time.span().value == pytest.approx(TB * 1e-8 / 40 + 100 + 30)
    unknown = job_time(job, node(), 10)
    assert unknown.missing["cores"]
    assert unknown.phases == ()


def test_skew_slows_what_depends_on_the_partitions_and_memory_saves_what_it_keeps() -> None:
    skewed = job_time(replace(sort_job(TB), partition_skew=1.5), node(network=1e9), 10)
    assert skewed.phases[1].span().value == pytest.approx(150)
    half = replace(sort_job(TB), retained_share=0.5)
    machine = node(network=1e9, disks=8, memory_bytes=TB / 10)  # half of the data fits
    terms = {t.what: t.seconds[0, 0] for t in job_time(half, machine, 10).phases[0].terms}
    assert terms["intermediate"] == pytest.approx(50)
    assert terms["input"] == pytest.approx(100)


def test_what_is_unknown_is_missing_with_its_reason() -> None:
    time = job_time(sort_job(TB), Node("n", None, network=rate(1), missing={"storage": "why"}), 3)
    assert time.phases == ()
    assert time.missing == {"storage": "why"}
    with pytest.raises(VenturiError, match="nodes is"):
        job_time(sort_job(TB), node(), 0)


@given(
    st.sampled_from([each for each in Durability if each is not Durability.OBJECTS]),
    st.integers(1, 500),
    st.floats(1.0, 3.0),
    st.sampled_from(["storage", "network", "volume_read", "volume_write"]),
    st.integers(1, 9),
)
def test_a_faster_resource_never_makes_a_job_slower_and_more_bytes_never_faster(
    durability: Durability, nodes: int, factor: float, faster: str, disks: int
) -> None:
    machine = node(700, 300, disks, volume_read=rate(250), volume_write=rate(220))
    job = sort_job(TB, durability)
    before = seconds(job, machine, nodes)
    better = replace(machine, **{faster: getattr(machine, faster).times(factor, "")})
    assert seconds(job, better, nodes) <= before * (1 + 1e-12)
    assert seconds(sort_job(TB * factor, durability), machine, nodes) >= before
    assert seconds(job, machine, nodes + 1) <= before * (1 + 1e-12) or nodes == 1


def test_a_catalogue_entry_as_a_node() -> None:
    at_scale = node_of(I2)
    assert at_scale.storage is not None
    assert at_scale.storage.value == pytest.approx(1738e6)
    assert at_scale.network is not None
    assert (at_scale.network.value, at_scale.network.high) == (879e6, 1090e6)
    baseline = node_of(I2, NetworkChoice.BASELINE).network
    assert baseline is not None
    assert (baseline.low, baseline.value, baseline.high) == (1085e6, 1090e6, 1095e6)
    free = node_of(I2, NetworkChoice.UNLIMITED)
    assert free.network is not None
    assert math.isinf(free.network.value)
    # 218 USD by storage alone, as printed
    cost = io_cost.cost_usd(6.82, job_time(sort_job(100 * TB), free, 178).span().value, 178)
    assert cost == pytest.approx(218, abs=0.5)
    other = node_of(load_shipped("ec2-2014").types["r3.4xlarge"])
    assert other.storage is None
    assert "never printed" in other.missing["storage"]
    assert other.volume_read is not None
    assert other.volume_read.value == 243e6


def test_a_bond_and_the_path_to_the_disks_limit_the_node() -> None:
    body = """\
h,storage_rate,900,MB/s,measured,probe,2026-01-01,
h,local_read_rate,1800,MB/s,measured,probe,2026-01-01,
h,disk_path_rate,600,MB/s,advertised,PCIe 1.1 x4,2012-01-01,
h,network_rate,1200,MB/s,measured,probe,2026-01-01,
h,network_members,2,1,advertised,sheet,2026-01-01,
h,network_ports,4,1,advertised,sheet,2026-01-01,
"""
    columns = [name for name in catalog.COLUMNS if name not in {"low", "high"}]

    def machine(text: str) -> Node:
        return node_of(catalog.parse(f"{','.join(columns)}\n{text}", "t").types["h"])

    both = machine(body)
    assert both.storage is not None
    assert both.storage.value == 300e6
    assert "disk path" in both.storage.note
    assert both.local_read is not None
    assert both.local_read.value == 600e6
    assert both.network is not None
    assert both.network.value == 2400e6
    one_port = machine(body.replace("network_ports,4", "network_ports,1")).network
    assert one_port is not None
    assert one_port.value == 1200e6


def test_an_advertised_line_rate_makes_a_lower_bound() -> None:
    line = Quantity(1.25e9, 8e8, 1.25e9, ValueKind.ADVERTISED, "list", upper_bound=True)
    time = job_time(sort_job(TB), Node("n", rate(1000), network=line, disks=8), 4)
    assert time.lower_bound


JOB = """
name = "join"
input = "10TB"
intermediate = "4TB"
output = "1TB"
durability = "replicated"
copies = 2
map_core_s_per_gb = 2.0
startup = "30s"
"""


def test_a_job_file_says_sizes_with_units() -> None:
    job = parse_job(JOB)
    assert (job.input_bytes, job.intermediate_bytes, job.output_bytes) == (1e13, 4e12, 1e12)
    assert job.durability is Durability.REPLICATED
    assert job.local_bytes == pytest.approx(10e12 + 4e12 + 3e12)
    assert job.map_core_s_per_byte == pytest.approx(2e-9)
    assert job.startup_s == 30
    plain = parse_job('input = "1TB"')
    assert plain.exchange is Exchange.REMOTE
    assert parse_job('input = "1TB"\nexchange = "all"').exchange is Exchange.ALL
    assert plain.output_bytes == plain.intermediate_bytes == 1e12
    assert plain.local_bytes == 3e12


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ('input = "10 parsecs"', "input"),
        ("input = -1", "input"),
        ('intput = "1TB"', "intput|input"),
        ('input = "1TB"\ndurability = "eternal"', "durability"),
        ('input = "1TB"\ncopies = 0', "copies"),
        ('input = "1TB"\npartition_skew = nan', "partition_skew"),
        ("input = ", "TOML"),
    ],
)
def test_a_bad_job_file_is_named_by_its_field(text: str, field: str) -> None:
    with pytest.raises(VenturiError, match=field) as caught:
        parse_job(text, "my.toml")
    assert caught.value.code == "VEN-JOB-FORMAT"
    assert caught.value.where["file"] == "my.toml"


def test_seconds_have_three_rows_and_a_column_a_count() -> None:
    assert np.shape(job_time(sort_job(TB), node(), [1, 2, 3]).seconds) == (3, 3)
    assert [p.name for p in job_time(sort_job(TB), node(), 2).phases] == [MAP, REDUCE]


def test_no_node_has_more_than_everything() -> None:
    skewed = replace(sort_job(TB), partition_skew=4.0)
    assert seconds(skewed, node(), 1) == seconds(sort_job(TB), node(), 1)
    # Two nodes, all partitions on one of them: it writes, and then sorts, everything.
    assert seconds(skewed, node(network=1e9), 2) == pytest.approx(2 * TB / 1e9)
    assert seconds(skewed, node(), 8) == pytest.approx(4 * TB / 8 / 5e8 + 4 * TB / 8 / 1e9)


def test_on_one_shared_disk_only_what_is_shuffled_is_skewed() -> None:
    skewed = replace(sort_job(TB), partition_skew=2.0)
    time = job_time(skewed, node(disks=1, network=1e9), 10)
    assert time.phases[0].span().value == pytest.approx((1 + 2) * TB / 10 / 2e9)
    assert time.phases[1].span().value == pytest.approx((2 + 2) * TB / 10 / 2e9)


def test_the_fullest_node_keeps_no_more_in_memory_than_another() -> None:
    half = replace(sort_job(TB), retained_share=0.5, partition_skew=1.5)
    machine = node(network=1e9, memory_bytes=TB / 10)  # half of the mean share fits
    terms = {t.what: t.seconds[0, 0] for t in job_time(half, machine, 10).phases[0].terms}
    assert terms["intermediate"] == pytest.approx((1.5 - 0.5) * TB / 10 / 1e9)
    unknown = job_time(half, node(), 10)
    assert any("memory keeps nothing" in text for text in unknown.assumptions)


@given(st.integers(2, 9), st.floats(0, 0.99), st.floats(1, 5), st.integers(1, 3))
def test_the_split_of_the_disks_is_the_best_for_each_number_of_nodes(
    disks: int, retained: float, skew: float, copies: int
) -> None:
    job = Job(
        "j",
        TB,
        TB / 2,
        TB,
        Durability.REPLICATED,
        copies,
        retained_share=retained,
        partition_skew=skew,
        exchange=Exchange.ALL,
    )
    machine = node(1000, 700, disks, memory_bytes=64e9)
    if disks == 1:
        return
    counts = [1, 2, 5, 9, 40]
    together = job_time(job, machine, counts)
    for at, count in enumerate(counts):
        most = min(skew, count)
        spilled = max(0.0, most * TB / 2 / count - retained * 64e9)
        link = 0.0 if count == 1 else most / count / 700e6
        by_hand = min(
            max(TB / count / outer, spilled / inner, TB / 2 * link)
            + max(spilled / inner, most * (1 + copies) * TB / count / outer, copies * TB * link)
            for kept in range(1, disks)
            for outer, inner in [(2e9 * kept / disks, 2e9 * (disks - kept) / disks)]
        )
        assert together.span(at).value == pytest.approx(by_hand)
        assert job_time(job, machine, count).span() == together.span(at)


def test_an_unknown_number_of_disks_is_not_one_shared_disk() -> None:
    each, job = TB / 10, sort_job(TB, Durability.REPLICATED)
    expected = io_cost.sort_map_shuffle_s(each, 1e9, 5e8) + io_cost.replicated_sort_sort_reduce_s(
        each, 1e9, 1e9, 5e8
    )
    time = job_time(job, node(disks=None), 10)
    assert time.span().value == pytest.approx(expected)
    assert any("is unknown" in text for text in time.assumptions)


def test_what_moves_nothing_need_not_be_known() -> None:
    dark = replace(node(), network=None)
    assert seconds(sort_job(TB), dark, 1) == pytest.approx(2 * TB / 1e9)
    scan = replace(sort_job(TB), intermediate_bytes=0.0, output_bytes=0.0)
    assert seconds(scan, dark, 10) == pytest.approx(TB / 10 / 1e9)
    assert job_time(sort_job(TB), dark, [1, 2]).missing == {"network": "not given"}
    line = Quantity(1e9, 7e8, 1e9, ValueKind.ADVERTISED, "sheet", upper_bound=True)
    assert not job_time(scan, replace(node(), network=line), 10).lower_bound
    reading = Job("read", TB, 0, 0, Durability.VOLUMES)
    bare = Node("n", volume_read=rate(200), missing={"storage": "no disks"})
    assert seconds(reading, bare, 10) == pytest.approx(TB / 10 / 2e8)


def test_disks_must_hold_the_fullest_node() -> None:
    skewed = replace(sort_job(TB, Durability.REPLICATED), partition_skew=2.0)
    assert skewed.local_bytes == TB + 2 * 2 * TB + TB
    assert replace(skewed, durability=Durability.VOLUMES).local_bytes == 2 * TB


def network_of(*rows: str) -> Quantity:
    body = "".join(f"h,{row},MB/s,measured,probe,2026-01-01,\n" for row in rows)
    columns = ",".join(catalog.COLUMNS)
    found = node_of(catalog.parse(f"{columns}\n{body}", "t").types["h"]).network
    assert found is not None
    return found


def test_what_two_nodes_gave_may_well_halve_at_scale() -> None:
    """8 of 9 types fell below 80 % of their baseline: that is no lower bound for the ninth."""
    alone = network_of("network_rate,1000,,")
    assert alone.low < 0.8 * alone.value
    at_scale = network_of("network_rate_at_scale,879,,")
    assert at_scale.low < 879e6 < 1123e6 < at_scale.high  # measured, and then used


def test_a_range_that_was_measured_at_scale_is_not_narrowed() -> None:
    plain = network_of("network_rate,1000,,", "network_rate_at_scale,800,,")
    assert (plain.low, plain.high) == (800e6, 1000e6)
    ranged = network_of("network_rate,1000,,", "network_rate_at_scale,800,600,1100")
    assert (ranged.low, ranged.value, ranged.high) == (600e6, 800e6, 1100e6)
