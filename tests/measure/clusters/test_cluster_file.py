"""A cluster's file: what it may say, and each mistake with its line."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.measure.clusters.cluster_file import cluster_of, parse_cluster
from venturi.measure.clusters.cluster_spec import (
    ClusterSpec,
    HostPrice,
    Port,
    RackSpec,
)
from venturi.measure.clusters.names import expand
from venturi.measure.hosts.kinds.here import LocalAccess
from venturi.measure.hosts.kinds.lab import LabAccess
from venturi.measure.hosts.kinds.ssh import SshAccess

FILE = Path("/etc/rack.toml")
FULL = """\
data_network = "infiniband"

[networks.ethernet]
rate = "1Gbit/s"
[networks.infiniband]
rate = "40Gbit/s"

[racks.core]
[racks.r1]
within = "core"
uplink = "10Gbit/s"

[defaults]
ssh = "root@{name}.example.org"
rack = "r1"
[defaults.disks]
sata = ["/data1", "/data2"]
ssd = ["/ssd/{name}"]
[defaults.folders]
input = ["sata"]
scratch = ["ssd", "/scratch"]

[[hosts]]
name = "head"
here = true
roles = ["master", "client"]
address.infiniband = "10.1.0.1"
address.ethernet = "10.0.0.1"
[hosts.price]
per_hour = 0.4
currency = "EUR"
source = "an invoice"
as_of = 2026-11-01

[[hosts]]
names = "node[09-11]"
address.infiniband = "10.1.0.[9-11]"
rate = "20Gbit/s"
"""


def read(text: str) -> ClusterSpec:
    spec, mistakes = parse_cluster(text, FILE)
    assert spec is not None, mistakes
    return spec


def test_all_of_a_file() -> None:
    spec = read(FULL)
    assert (spec.name, spec.data_network, spec.dilation) == ("rack", "infiniband", None)
    assert spec.networks == {"ethernet": 125e6, "infiniband": 5e9}
    assert spec.racks["r1"] == RackSpec("r1", "core", 1.25e9)
    assert [each.name for each in spec.hosts] == ["head", "node09", "node10", "node11"]
    head, node = spec.master, spec.host("node10")
    assert (head.name, head.reached, spec.client) == ("head", LocalAccess(), head)
    assert head.ports == {"infiniband": Port("10.1.0.1", 5e9), "ethernet": Port("10.0.0.1", 125e6)}
    assert head.price == HostPrice(0.4, "EUR", "an invoice", date(2026, 11, 1))
    assert (node.reached, node.roles) == (SshAccess("root@node10.example.org"), ("worker",))
    assert node.ports == {"infiniband": Port("10.1.0.10", 2.5e9)}
    assert spec.address(node) == "10.1.0.10"
    assert node.disks["ssd"] == (Path("/ssd/node10"),)
    assert node.folders == {
        "input": (Path("/data1"), Path("/data2")),
        "scratch": (Path("/ssd/node10"), Path("/scratch")),
        "output": (Path("/data1"), Path("/data2"), Path("/ssd/node10")),
    }
    assert len(node.all_folders) == 4
    assert node.line == 35


def test_the_least_that_a_file_says() -> None:
    spec = read('[[hosts]]\nname = "a"\nroles = ["master", "worker"]\n[[hosts]]\nname = "b"\n')
    assert [each.reached for each in spec.hosts] == [SshAccess("a"), SshAccess("b")]
    assert [spec.address(each) for each in spec.hosts] == ["a", "b"]
    assert spec.networks == {"data": None}
    assert spec.having("worker") == spec.hosts


def test_hosts_of_a_lab() -> None:
    spec = read(
        'dilation = 20\n[defaults]\nlab = "l"\n[[hosts]]\nname = "h1"\nroles = ["master"]\n'
    )
    assert (spec.hosts[0].reached, spec.dilation) == (LabAccess("l"), 20)


HEAD = '[[hosts]]\nname = "a"\nroles = ["master"]\n'
MISTAKES = {
    "not TOML": ("[[hosts]]\nname =\n", 2, "Invalid value"),
    "no host": ('name = "x"\n', 1, "hosts is missing"),
    "a key unknown": (HEAD + 'rak = "r1"\n', 4, "a host has; did you mean rack?"),
    "a key of a price": (
        HEAD + '[hosts.price]\nperhour = 1\nper_hour = 1.0\nsource = "x"\nas_of = 2026-01-01\n',
        5,
        "not a key that a price has; did you mean per_hour?",
    ),
    "a key of the defaults": ('[defaults]\nrole = "x"\n' + HEAD, 2, "did you mean roles?"),
    "no name": ('[[hosts]]\nroles = ["master"]\n', 1, "either a name"),
    "two names": (HEAD + 'names = "b[1-2]"\n', 1, "either a name"),
    "a name that is none": (HEAD.replace('"a"', '"a b"'), 2, "'a b' is not a host name"),
    "a pattern as name": (HEAD.replace('"a"', '"a[1-2]"'), 2, "a pattern is given as names"),
    "a pattern that is none": (HEAD + '[[hosts]]\nnames = "b[1-x]"\n', 5, "[1-x] is not a range"),
    "no master": ('[[hosts]]\nname = "a"\n', 1, "no host is the master"),
    "two masters": (HEAD + '[[hosts]]\nname = "b"\nroles = ["master"]\n', 4, "2 hosts are"),
    "a role unknown": (HEAD + '[[hosts]]\nname = "b"\nroles = ["wroker"]\n', 6, "did you mean w"),
    "one name twice": (HEAD + '[[hosts]]\nname = "a"\n', 4, "two hosts have the name a"),
    "one address twice": (
        HEAD + 'address = "10.0.0.1"\n[[hosts]]\nname = "b"\naddress = "10.0.0.1"\n',
        5,
        "a and b have the same address: 10.0.0.1 on data",
    ),
    "one machine twice": (
        HEAD + '[[hosts]]\nname = "b"\nssh = "a"\n',
        4,
        "a and b are the same machine: ssh a",
    ),
    "here twice": (
        HEAD + 'here = true\n[[hosts]]\nname = "b"\nhere = true\n',
        5,
        "the same machine: this machine",
    ),
    "two ways": (HEAD + 'here = true\nssh = "a"\n', 1, "reached in one way"),
    "an option as destination": (HEAD + 'ssh = "-oProxyCommand=x"\n', 4, "a destination for ssh"),
    "more addresses than hosts": (HEAD + 'address = "10.0.0.[1-3]"\n', 4, "3 addresses for 1 host"),
    "an address that is none": (HEAD + 'address = "10.0.0.1 "\n', 4, "is not an address"),
    "a rate of zero": ('[networks.n]\nrate = "0Gbit/s"\n' + HEAD, 2, "a rate of 0"),
    "a rate without unit": ("[networks.n]\nrate = 10\n" + HEAD, 2, "'10' is not a rate"),
    "a network unknown": (
        "[networks.ether]\n" + HEAD + 'address.eter = "a"\n',
        5,
        "did you mean ether?",
    ),
    "a data network unknown": ('data_network = "x"\n[networks.n]\n' + HEAD, 1, "no network 'x'"),
    "a cycle of racks": (
        '[racks.a]\nwithin = "b"\n[racks.b]\nwithin = "c"\n[racks.c]\nwithin = "a"\n' + HEAD,
        2,
        "racks form a cycle: a within b within c within a",
    ),
    "a rack within itself": ('[racks.a]\nwithin = "a"\n' + HEAD, 2, "a within a"),
    "a rack within none": ('[racks.a]\nwithin = "b"\n' + HEAD, 2, "there is no rack 'b'"),
    "a rack unknown": ("[racks.r1]\n" + HEAD + 'rack = "r2"\n', 5, "no rack 'r2'"),
    "a folder that is no path": (HEAD + 'disks.ssd = ["data"]\n', 4, "doesn't start with /"),
    "the root as folder": (HEAD + 'disks.ssd = ["/"]\n', 4, "'/' is not a folder for data"),
    "a folder twice": (HEAD + 'disks.ssd = ["/d"]\ndisks.hdd = ["/d"]\n', 5, "/d is given twice"),
    "a folder's role unknown": (HEAD + 'folders.inptu = ["/d"]\n', 4, "did you mean input?"),
    "a class unknown": (
        HEAD + 'disks.sata = ["/d"]\nfolders.input = ["stat"]\n',
        5,
        "did you mean sata?",
    ),
    "a price without a source": (
        HEAD + "[hosts.price]\nper_hour = 1.0\nas_of = 2026-01-01\n",
        4,
        "price.source is missing",
    ),
    "hosts that are a number": ("hosts = 3\n", 1, "hosts is a list of tables: [[hosts]]"),
    "racks that are a number": ("racks = 3\n" + HEAD, 1, "racks is a table: [racks.NAME]"),
    "a price that is a number": (HEAD + "price = 3\n", 4, "hosts.price is a table: [hosts.price]"),
    "folders that are text": (HEAD + 'disks.ssd = "/d"\n', 4, "disks.ssd is a list: ssd = [...]"),
    "a rate that is true": (HEAD + "rate = true\n", 4, 'such as "10Gbit/s"'),
    "no role": (HEAD.replace('"master"', ""), 3, "hosts.roles: it needs at least 1, not 0"),
    "what is not known in braces": (HEAD + 'ssh = "{nam}.org"\n', 4, "{name} is the host's name"),
}


@pytest.mark.parametrize(("text", "line", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_told_with_its_line(text: str, line: int, says: str) -> None:
    spec, mistakes = parse_cluster(text, FILE)
    assert spec is None
    assert [(each.line, says in each.message) for each in mistakes] == [(line, True)], mistakes


def test_the_error_names_file_and_lines() -> None:
    with pytest.raises(VenturiError) as raised:
        cluster_of(HEAD + 'rak = "r1"\nrols = 1\n', FILE)
    assert raised.value.code == "VEN-CLUSTER-FILE"
    assert raised.value.where.keys() == {"file", "line 4", "line 5"}


def test_patterns() -> None:
    assert expand("node[08-11]") == ("node08", "node09", "node10", "node11")
    assert expand("r[1-2]n[3,7]x") == ("r1n3x", "r1n7x", "r2n3x", "r2n7x")
    assert expand("alone") == ("alone",)


@given(st.text(alphabet="[]0-19,a ", max_size=20))
def test_a_pattern_is_names_or_a_mistake(text: str) -> None:
    try:
        found = expand(text)
    except ValueError:
        return
    assert found
    assert not any(bracket in each for each in found for bracket in "[]")
