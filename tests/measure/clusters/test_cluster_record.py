"""A cluster's file as a trial's record has it."""

from __future__ import annotations

from pathlib import Path

from venturi.measure.clusters.clocks import ClockOffset
from venturi.measure.clusters.cluster_file import cluster_of
from venturi.measure.clusters.cluster_record import cluster_record, host_record
from venturi.record.trial import Clock, Host, Link, PriceQuote, Rack

TEXT = """\
name = "c"
dilation = 20
dilate_cpu = true
[networks.ib]
rate = "80Mbit/s"
[racks.r1]
uplink = "160Mbit/s"
[defaults]
rack = "r1"
disks.ssd = ["/ssd"]
type = "i2"
price = { per_hour = 0.5, source = "a bill", as_of = 2026-05-01 }
[[hosts]]
name = "m"
roles = ["master"]
folders = { input = ["/in"] }
[[hosts]]
names = "w[1-2]"
address = "10.0.0.[1-2]"
flow_rate = "20Mbit/s"
"""


def test_all_that_the_file_says_is_recorded() -> None:
    spec = cluster_of(TEXT, Path("c.toml"))
    clock = ClockOffset(0.2, 0.001)
    hosts = [host_record(each, {"cpu_threads": 2}, clock) for each in spec.hosts]
    assert hosts[1] == Host(
        "w1",
        {"cpu_threads": 2},
        ("worker",),
        {"ib": Link("10.0.0.1", 1e7, 2.5e6)},
        "r1",
        {"ssd": ("/ssd",)},
        Clock(0.2, 0.001),
    )
    found = cluster_record(spec, hosts)
    assert (found.name, found.network, found.dilation, found.instance_type) == (
        "c",
        "ib",
        20.0,
        "i2",
    )
    assert found.dilate_cpu is True
    assert found.racks == (Rack("r1", None, 2e7),)
    assert found.price == PriceQuote(1.5, "USD", "cluster-hour", "a bill", "2026-05-01")
    assert found.disks_by_role == {
        "input": ("/in", "/ssd"),
        "scratch": ("/ssd",),
        "output": ("/ssd",),
    }


def test_hosts_that_took_no_part_are_not_in_it() -> None:
    spec = cluster_of(TEXT, Path("c.toml"))
    found = cluster_record(spec, [host_record(spec.host("w2"), {})])
    assert [host.name for host in found.hosts] == ["w2"]
    assert found.price == PriceQuote(0.5, "USD", "cluster-hour", "a bill", "2026-05-01")
    assert found.disks_by_role["input"] == ("/ssd",)


def test_a_price_that_one_host_lacks_is_not_known() -> None:
    text = TEXT.replace("price =", "# price =") + 'type = "i3"\n'
    spec = cluster_of(text, Path("c.toml"))
    found = cluster_record(spec, [host_record(each, {}) for each in spec.hosts])
    assert found.price is None
    assert found.instance_type is None
