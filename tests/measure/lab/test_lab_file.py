"""The content of a lab's file, and every mistake in it with its line and key."""

from __future__ import annotations

import tomllib
from ipaddress import IPv4Network
from pathlib import Path

import pytest

from venturi.core.errors import VenturiError
from venturi.measure.clusters.cluster_file import cluster_of
from venturi.measure.lab.cluster_file import cluster_text
from venturi.measure.lab.disk_steps import Image
from venturi.measure.lab.lab_file import lab_of, parse_lab
from venturi.measure.lab.lab_spec import LabSpec, dilated
from venturi.measure.lab.network import host_tc, hosts_file, switch_tc, with_free_addresses
from venturi.measure.lab.plan import steps_of

FILE = Path("/some/lab.toml")
LAB = """
name = "aloja"
dilation = 20
dilate_cpu = true

[network]
rate = "1Gbit/s"

[racks.left]
uplink = "2Gbit/s"

[racks.inner]
within = "left"

[bonds.big]
ports = 4
rate = "1Gbit/s"
rack = "inner"

[disks.ssd]
size = "20GB"
rate = "450MB/s"
iops = 40000

[disks.sata]
model = "spindle"
size = "20GB"
rate = "90MB/s"
seek = "8ms"
rotation = "8.3ms"

[[hosts]]
name = "master"
roles = ["master"]

[[hosts]]
name = "h"
count = 3
rack = "left"
disks = { ssd = 1, sata = 2 }
memory = "4GiB"

[[hosts]]
name = "vm"
count = 2
bond = "big"
cpus = 3
"""


POOL = """
[disks.ssd]
size = "64MB"

[disks.hdd]
size = "64MB"

[pools.all]
disks = ["ssd", "hdd"]
free = "10MB"

[[hosts]]
name = "h"
disks = { ssd = 1, hdd = 2 }
pools = ["all"]
"""


def lab(text: str = LAB) -> LabSpec:
    return lab_of(text, FILE)


def test_a_file_says_hosts_links_disks_and_what_they_share() -> None:
    spec = lab()
    assert [host.name for host in spec.hosts] == ["master", "h1", "h2", "h3", "vm1", "vm2"]
    assert [host.address for host in spec.hosts] == [f"10.77.0.{n}" for n in range(1, 7)]
    assert [disk.name for disk in spec.hosts[1].disks] == ["ssd0", "sata0", "sata1"]
    assert spec.hosts[1].link_bytes_per_s == 125e6
    assert spec.hosts[4].link_bytes_per_s == 4 * 125e6  # of a bond that is shared: all its ports
    assert {each.name: each.within for each in spec.switches} == {
        "left": "core",
        "inner": "left",
        "big": "inner",
    }


def test_dilation_divides_rates_and_multiplies_times_and_nothing_else() -> None:
    spec = lab()
    made = dilated(spec, cores=2)
    ssd, sata, _ = made.hosts[1].disks
    assert (ssd.read_bytes_per_s, ssd.read_iops) == (22.5e6, 2000)
    assert (sata.read_bytes_per_s, sata.seek_s) == (4.5e6, pytest.approx(0.16))
    assert sata.rotation_s == pytest.approx(0.166)
    assert sata.size_bytes == spec.hosts[1].disks[1].size_bytes
    assert made.hosts[1].link_bytes_per_s == 125e6 / 20
    assert made.hosts[1].memory_bytes == 4 * 2**30
    assert made.hosts[1].cpus == 2 / 20  # a host that says none has all
    assert made.hosts[4].cpus == 3 / 20
    uplinks = {each.name: each.uplink_bytes_per_s for each in made.switches}
    assert uplinks == {"left": 12.5e6, "inner": None, "big": 6.25e6}


def test_a_disk_may_pass_for_one_of_another_class() -> None:
    spec = lab_of(
        '[disks.hdd]\nsize = "1GB"\n[disks.worn]\nclass = "hdd"\nsize = "1GB"\n'
        '[[hosts]]\nname = "h"\ndisks = { hdd = 1, worn = 1 }\n',
        FILE,
    )
    cluster = tomllib.loads(cluster_text(spec, spec))
    assert cluster["hosts"][0]["disks"] == {"hdd": ["/venturi/hdd0", "/venturi/worn0"]}


def test_a_lab_is_a_cluster_too() -> None:
    spec = lab()
    cluster = tomllib.loads(cluster_text(spec, dilated(spec, cores=2)))
    assert (cluster["name"], cluster["dilation"]) == ("aloja", 20.0)
    assert cluster["racks"]["left"] == {"uplink": "100Mbit/s"}
    assert cluster["hosts"][1] == {
        "name": "h1",
        "lab": "aloja",
        "address": "10.77.0.2",
        "roles": ["worker"],
        "rack": "left",
        "rate": "50Mbit/s",
        "disks": {"ssd": ["/venturi/ssd0"], "sata": ["/venturi/sata0", "/venturi/sata1"]},
    }


def test_a_pool_is_of_the_disks_of_a_host_one_for_each_of_the_last_class() -> None:
    spec = lab(POOL)
    (host,) = spec.hosts
    assert [(pool.name, pool.disks, pool.free_bytes) for pool in host.pools] == [
        ("all0", ("ssd0", "hdd0"), 10_000_000),
        ("all1", ("ssd0", "hdd1"), 10_000_000),
    ]
    cluster = tomllib.loads(cluster_text(spec, spec))
    assert cluster["hosts"][0]["disks"]["all"] == ["/venturi/all0", "/venturi/all1"]


def test_what_up_writes_is_read_as_a_cluster() -> None:
    spec = lab()
    cluster = cluster_of(cluster_text(spec, dilated(spec, cores=2)), FILE)
    assert [host.name for host in cluster.hosts] == [host.name for host in spec.hosts]
    assert (cluster.dilation, cluster.dilate_cpu, cluster.master.name) == (20, True, "master")
    ports = {host.name: host.ports["data"] for host in cluster.hosts}
    assert (ports["vm1"].bytes_per_s, ports["vm1"].flow_bytes_per_s) == (25e6, 6.25e6)
    assert ports["h1"].flow_bytes_per_s is None
    assert cluster.racks["big"].within == "inner"


def test_of_a_lab_without_a_master_the_first_host_is_one() -> None:
    spec = lab('[[hosts]]\nname = "h"\ncount = 2\n')
    cluster = cluster_of(cluster_text(spec, spec), FILE)
    assert (cluster.master.name, cluster.having("worker")[0].name) == ("h1", "h1")


def test_every_host_finds_every_other_by_name() -> None:
    text = hosts_file(lab())
    assert "10.77.0.5\tvm1\n" in text
    assert "10.77.0.254\tmachine\n" in text


def test_the_connections_of_a_bond_are_shared_out_evenly_between_its_ports() -> None:
    filters = [
        line for line in switch_tc(lab()).splitlines() if line.startswith("filter add dev u")
    ]
    ports = [line.rpartition(":")[2] for line in filters]
    assert len(filters) == 16
    assert {port: ports.count(port) for port in ports} == {"1": 4, "2": 4, "3": 4, "4": 4}


def test_no_two_disks_are_one_file() -> None:
    spec = lab(
        "[disks.c]\nsize = '64MB'\n[disks.b-c]\nsize = '64MB'\n"
        "[[hosts]]\nname = 'a'\ndisks = { b-c = 1 }\n"
        "[[hosts]]\nname = 'a-b'\ndisks = { c = 1 }\n"
    )
    steps = steps_of(spec, 8 * "0", Path("/x"), {}, None)
    images = [step.path for step in steps if isinstance(step, Image)]
    assert len(set(images)) == len(images) == 2


HOSTS = '[[hosts]]\nname = "h"\n'
DISKS = "[disks.ssd]\nsize = '64MB'\n[disks.hdd]\nsize = '64MB'\n"


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (
            "[[hosts]]\nname = 'a'\naddress = '10.77.0.9'\n"
            "[[hosts]]\nname = 'b'\naddress = '10.77.0.9'",
            6,
            "a and b have the same address, 10.77.0.9 (the other is in line 3)",
        ),
        ("[[hosts]]\nname = 'a'\n[[hosts]]\nname = 'a'", 4, "two hosts have the name a"),
        (
            "[[hosts]]\nname = 'a1'\n[[hosts]]\nname = 'a'\ncount = 2",
            4,
            "two hosts have the name a1",
        ),
        (
            "[disks.d]\nsize = '1GB'\n[[hosts]]\nname = 'a'\nimages = '/x'\ndisks = { d = 1 }\n"
            "[[hosts]]\nname = 'b'\nimages = '/x'\ndisks = { d = 1 }",
            9,
            "a and b share a disk folder, /x",
        ),
        ("[network]\nrate = '0MB/s'\n" + HOSTS, 2, "0MB/s is too slow"),
        ("[network]\nrate = 100\n" + HOSTS, 2, "a rate is text with its unit"),
        ("[disks.d]\nsize = '1GB'\nrate = '10Gb/s'\n" + HOSTS, 3, "bits or bytes"),
        ("[disks.d]\nsize = '1GB'\niops = 0\n" + HOSTS, 3, "disks.d.iops"),
        (
            "[racks.a]\nwithin = 'b'\n[racks.b]\nwithin = 'a'\n" + HOSTS,
            2,
            "racks are in a cycle: a in b in a",
        ),
        ("[racks.a]\nwithin = 'a'\n" + HOSTS, 2, "racks are in a cycle: a in a"),
        ("[racks.a]\nwithin = 'c'\n" + HOSTS, 2, "there is no rack 'c'"),
        (HOSTS + "rak = 'x'", 3, "hosts.rak is not a key that a host has; did you mean rack?"),
        ("dilaton = 2\n" + HOSTS, 1, "did you mean dilation?"),
        (HOSTS + "disks = { ssd = 1 }", 3, "there is no class of disks 'ssd'"),
        (HOSTS + "rack = 'r'", 3, "there is no rack 'r'"),
        (HOSTS + "count = 2\naddress = '10.77.0.3'", 4, "2 hosts cannot share it"),
        (HOSTS + "address = '10.78.0.3'", 3, "10.78.0.3 is not for a host of 10.77.0.0/24"),
        ("[network]\naddresses = '8.8.8.0/24'\n" + HOSTS, 2, "give a private network"),
        (
            HOSTS + "count = 150\n[network]\naddresses = '10.1.1.0/29'",
            1,
            "too many for 10.1.1.0/29",
        ),
        (
            "[bonds.b]\nports = 2\nrate = '1Gbit/s'\nshared = false\n"
            + HOSTS
            + "count = 3\nbond = 'b'",
            2,
            "3 hosts cannot have one of 2 ports each",
        ),
        ("[disks.d]\nsize = '1GB'\nseek = '8ms'\n" + HOSTS, 3, 'only model = "spindle" has it'),
        ("[disks.d]\nsize = '1GB'\nmodel = 'spindle'\n" + HOSTS, 1, "a spindle needs a rate"),
        (
            "[disks.d]\nsize = '1GB'\nmodel = 'spindle'\nrate = '9MB/s'\nseek = '8ms'\n" + HOSTS,
            1,
            "either seek and rotation or, if it doesn't rotate, iops",
        ),
        ("[disks.d]\nsize = '1MB'\n" + HOSTS, 2, "16 MiB at least"),
        ("[[hosts]]\nname = 'machine'", 2, "another host has the name machine"),
        ("name = 'Two Words'\n" + HOSTS, 1, "is not a valid name"),
        (
            HOSTS + "count = 2\nroles = ['master']",
            4,
            "2 hosts are the master, but only one can be",
        ),
        (f"name = '{'a' * 33}'\n" + HOSTS, 1, "32 at most"),
        ("[network]\nrate = '-5Mbit/s'\n" + HOSTS, 2, "'-5Mbit/s' is not a rate"),
        (
            DISKS + "[pools.a]\ndisks = ['ssd', 'nvme']\n" + HOSTS,
            6,
            "pools.a.disks: there is no class of disks 'nvme'",
        ),
        (DISKS + "[pools.a]\ndisks = ['ssd']\n" + HOSTS, 6, "pools.a.disks"),
        (DISKS + "[pools.ssd]\ndisks = ['ssd', 'hdd']\n" + HOSTS, 5, "disks has this name"),
        (
            DISKS
            + "[pools.a]\ndisks = ['ssd', 'hdd']\n"
            + HOSTS
            + "disks = { hdd = 1 }\npools = ['a']",
            10,
            "the host lacks disks of the pool a: ssd",
        ),
        (
            DISKS + "[pools.a]\ndisks = ['ssd', 'hdd']\nfree = '9TB'\n" + HOSTS,
            7,
            "pools.a.free: ssd is no larger than that, so it would never be used",
        ),
        (HOSTS + "pools = ['a']", 3, "there is no pool 'a'"),
        ("dilation = 0.5\n" + HOSTS, 1, "dilation"),
        ("name = \n", 1, "Invalid value"),
        ("", 1, "hosts"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else "",
)
def test_a_mistake_is_told_with_line_and_key(text: str, line: int, said: str) -> None:
    spec, mistakes = parse_lab(text, FILE)
    assert spec is None
    assert any(each.line == line and said in each.message for each in mistakes), mistakes


def test_a_value_of_another_form_is_told_in_words_of_the_file() -> None:
    text = """hosts = 3
disks = 3
network = "x"
racks.a = 3
dilation = "x"
dilate_cpu = 7
name = 3
"""
    assert [each.message for each in parse_lab(text, FILE)[1]] == [
        "hosts is a list of tables: [[hosts]]",
        "disks is a table: [disks.NAME]",
        "network is a table: [network]",
        "racks.a is a table: [racks.a]",
        "dilation: write a number",
        "dilate_cpu: write true or false",
        "name: write text, in quotes",
    ]
    text = """[[hosts]]
name = ""
roles = "worker"
disks = 3
memory = []
count = 1.5
"""
    assert [each.message for each in parse_lab(text, FILE)[1]] == [
        "hosts.name: it needs at least 1 character",
        "hosts.roles is a list: roles = [...]",
        "hosts.disks is a table: disks = { NAME = ... }",
        'hosts.memory: write it as text with its unit, such as "4GiB"',
        "hosts.count: write a whole number",
    ]


def test_addresses_that_nobody_named_may_be_others() -> None:
    spec = with_free_addresses(lab(), [IPv4Network("10.77.0.0/16"), IPv4Network("10.78.0.128/25")])
    assert (spec.network, spec.machine_address) == ("10.79.0.0/24", "10.79.0.254")
    assert [host.address for host in spec.hosts] == [f"10.79.0.{n}" for n in range(1, 7)]
    assert with_free_addresses(lab(), []) == lab()


@pytest.mark.parametrize(
    "named",
    ['[network]\naddresses = "10.77.0.0/24"\n', '[[hosts]]\nname="x"\naddress="10.77.0.9"\n'],
)
def test_addresses_that_are_named_stay(named: str) -> None:
    spec = lab(named + '[[hosts]]\nname = "a"\n')
    assert with_free_addresses(spec, [IPv4Network("10.77.0.0/16")]) == spec


def test_where_all_addresses_are_taken_it_is_said() -> None:
    with pytest.raises(VenturiError) as refused:
        with_free_addresses(lab(), [IPv4Network("10.0.0.0/8")])
    assert refused.value.code == "VEN-LAB-ADDRESS"


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(VenturiError) as refused:
        lab("dilation = 0\n[network]\nrate = '0MB/s'\n[[hosts]]\nnme = 'h'\n")
    assert refused.value.code == "VEN-LAB-FILE"
    assert {"line 1", "line 3", "line 5"} <= refused.value.where.keys()


def test_a_link_has_a_queue_of_a_thousand_frames_or_of_what_it_carries_in_50_ms() -> None:
    limits = {}
    for rate in ("50Mbit/s", "4Gbit/s"):
        (host,) = lab_of(f"[[hosts]]\nname = 'h'\nrate = '{rate}'", FILE).hosts
        words = host_tc(host).split()
        burst, limit = (int(words[words.index(key) + 1][:-1]) for key in ("burst", "limit"))
        limits[rate] = limit - burst
    assert limits == {"50Mbit/s": 1000 * 1514, "4Gbit/s": 25_000_000}


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        (
            '[network]\nrate = "1Gbit/s"',
            '[network]\nrate = "1bit/s"',
            7,
            "network.rate: a link has",
        ),
        ('uplink = "2Gbit/s"', 'uplink = "900000Tbit/s"', 10, "racks.left.uplink: a link has"),
        ('rate = "450MB/s"', 'rate = "1B/s"', 22, "disks.ssd.rate: a disk has 100kB/s"),
        ("iops = 40000", "iops = 2", 23, "disks.ssd.iops: a disk has 1 to"),
        ('seek = "8ms"', 'seek = "1h"', 29, "disks.sata.seek: it is 10 s at most"),
        ("cpus = 3", "cpus = 0.1", 47, "hosts.cpus: a host needs at least 0.01"),
        ('memory = "4GiB"', 'memory = "1B"', 41, "hosts.memory: programs need at least"),
    ],
)
def test_a_speed_or_size_at_which_nothing_works_is_a_mistake(
    old: str, new: str, line: int, said: str
) -> None:
    assert old in LAB
    spec, mistakes = parse_lab(LAB.replace(old, new), FILE.parent)
    assert spec is None
    assert [each.line for each in mistakes] == [line]
    assert said in mistakes[0].message
    if "memory" not in said:
        assert mistakes[0].message.endswith(", after a dilation of 20")


def test_a_dilation_counts_for_what_a_disk_has() -> None:
    spec, mistakes = parse_lab(LAB.replace("dilation = 20", "dilation = 1e300"), FILE.parent)
    assert spec is None
    assert len(mistakes) == 9  # links, disks, seeks and a share of processors


def test_a_name_twice_is_told_once_and_not_as_an_address() -> None:
    text = LAB + '\n[[hosts]]\nname = "vm1"\n'
    spec, mistakes = parse_lab(text, FILE.parent)
    assert spec is None
    assert [each.message for each in mistakes] == [
        "hosts.name: two hosts have the name vm1 (the other is in line 44)"
    ]


def test_a_folder_with_a_character_that_none_has_is_a_mistake() -> None:
    spec, mistakes = parse_lab(LAB.replace("dilation", 'images = "a\\u0000b"\ndilation', 1), FILE)
    assert spec is None
    assert [each.line for each in mistakes] == [3]
    assert "NUL" in mistakes[0].message
