"""Volumes as parts of a machine: what they move by their count, what they cost, what they hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import pytest

from venturi.core.errors import VenturiError
from venturi.machines.advice.hardware import ClassAdvice, advise, predict
from venturi.machines.advice.option import Candidate, least_nodes, measured_job
from venturi.machines.advice.question import HardwareRequest
from venturi.machines.advice.volumes import attach, parse_volumes
from venturi.machines.catalog import Catalog, load_shipped
from venturi.machines.cost.choices import Durability, NetworkChoice
from venturi.machines.cost.job import sort_job
from venturi.machines.cost.node import node_of

CURRENT, EC2 = load_shipped("current"), load_shipped("ec2-2014")
SORT = sort_job(100e12, Durability.VOLUMES)
MIB = 2**20


def given(catalog: Catalog, text: str) -> Catalog:
    return attach(catalog, *parse_volumes(text))


def predicted(
    text: str, name: str, nodes: int, network: NetworkChoice = NetworkChoice.AT_SCALE
) -> Candidate:
    return predict(SORT, "current", given(CURRENT, text).types[name], nodes, network)


def answer(text: str) -> ClassAdvice:
    asked = HardwareRequest(SORT, today=date(2026, 11, 22))
    return advise(asked, [given(CURRENT, text)]).classes[0]


def test_their_rate_goes_by_their_count_until_the_machine_ends_it() -> None:
    rates = []
    for count in (1, 2, 4, 8, 32):
        node = node_of(given(CURRENT, f"gp3:{count}").types["i8g.8xlarge"])
        assert node.volume_read is not None
        assert node.volume_read.low < node.volume_read.value
        rates.append(node.volume_read.value)
    included = 125 * MIB
    path = 10_000e6 / 8  # the line to volumes
    assert rates == pytest.approx([included, 2 * included, 4 * included, 8 * included, path])
    small = node_of(given(CURRENT, "gp3:32").types["i8g.4xlarge"])
    assert small.volume_read is not None
    assert small.volume_read.value == pytest.approx(path / 2)  # sustained; the path is for bursts
    assert small.volume_read.high == pytest.approx(path)
    fast = node_of(given(CURRENT, "gp3:2,throughput=500MiB/s").types["i8g.8xlarge"])
    assert fast.volume_write is not None
    assert fast.volume_write.value == pytest.approx(1000 * MIB)


def test_a_machine_without_disks_keeps_all_on_its_volumes_and_both_directions_share_them() -> None:
    found = predicted("gp3:4", "m6i.8xlarge", 100)
    each = 4 * 125 * MIB / 2
    assert found.seconds[0, 0] == pytest.approx(2 * 1e12 / each)
    assert found.price is not None
    (held,) = found.price.whole
    assert held.per_hour == pytest.approx(300e12 / 2**30 * 0.08 / 720)  # input, between, output
    names = {option.instance_type for option in answer("gp3:4").ranked}
    assert {"m6i.8xlarge", "c8g.16xlarge", "i8g.4xlarge"} <= names


def test_what_is_provisioned_beyond_what_is_included_is_paid() -> None:
    plain = predicted("gp3:4", "i8g.4xlarge", 80)
    more = predicted("gp3:4,iops=4000,throughput=225MiB/s", "i8g.4xlarge", 80)
    assert plain.price is not None
    assert more.price is not None
    a_node = more.price.node.node_per_hour - plain.price.node.node_per_hour
    assert a_node == pytest.approx(4 * (1000 * 0.005 + 100 * 0.04) / 720)


def test_volumes_of_a_size_must_hold_their_data() -> None:
    types = given(CURRENT, "gp3:8,size=135GiB").types
    held = 8 * 135 * 2**30
    assert least_nodes(SORT, node_of(types["i8ge.48xlarge"])) == -(-200 * 10**12 // held)
    assert least_nodes(SORT, node_of(types["m6i.8xlarge"])) == -(-300 * 10**12 // held)
    by_size = predicted("pd-ssd:2,size=500GiB", "z3-highmem-8-highlssd", 400)
    assert by_size.node.volume_read is not None
    assert by_size.node.volume_read.value == pytest.approx(2 * 500 * 0.48 * MIB)


def test_the_volumes_of_one_provider_are_not_anothers() -> None:
    found = answer("gp3:4")
    assert {option.provider for option in found.ranked} == {"aws"}
    why = {each.instance_type: (each.detail, *each.also) for each in found.excluded}
    assert any("volume:gp3 is aws's, not azure's" in text for text in why["Standard_L8s_v3"])


def test_the_sort_of_2014_on_volumes_costs_what_was_published() -> None:
    """330 r3.4xlarge with eight volumes of 135 GiB: $450.84, the mean of three runs."""
    r3 = given(EC2, "gp2:8,size=135GiB").types["r3.4xlarge"]
    disk = replace(EC2.types["i2.8xlarge"].fact("storage_rate"), value=500.0, low=None, high=None)
    r3 = replace(r3, facts={**r3.facts, "storage_rate": disk})
    found = predict(SORT, "ec2-2014", r3, 330, NetworkChoice.UNLIMITED)
    run = measured_job(found, 2980.76)
    assert run.usd is not None
    assert round(run.usd, 2) == 450.84
    assert run.model_s == pytest.approx(100e12 / 330 * (1 / 243e6 + 1 / 226e6))
    assert run.error == pytest.approx(-0.132, abs=0.001)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("gp3", "KIND:COUNT"),
        ("gp3:0", "KIND:COUNT"),
        (":4", "KIND:COUNT"),
        ("gp3:4,size=135", "size"),
        ("gp3:4,colour=red", "colour"),
        ("gp3:4,iops=-1", "above 0"),
        ("gp3:4,iops=5,iops=6", "given twice"),
        ("gp3:4,iops=many", "many"),
    ],
)
def test_what_is_not_understood_is_refused_with_an_example(text: str, words: str) -> None:
    with pytest.raises(VenturiError, match=words) as caught:
        parse_volumes(text)
    assert caught.value.exit_code == 2
    assert "gp3:4" in caught.value.hint


def test_kinds_and_limits_are_checked() -> None:
    with pytest.raises(VenturiError, match="no volumes of the kind 'gp33'") as caught:
        given(CURRENT, "gp33:4")
    assert "gp3" in caught.value.hint
    with pytest.raises(VenturiError, match="at most 2000"):
        given(CURRENT, "gp3:4,throughput=4000MiB/s")
    unpriced = given(CURRENT, "premium-ssd-v2:4").types["Standard_L8s_v3"]
    found = predict(SORT, "current", unpriced, 400, NetworkChoice.AT_SCALE)
    assert found.metered_usd is None
    assert "no dated public price" in found.no_price
