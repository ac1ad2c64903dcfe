"""The judgment of a cluster from its hosts' surveys, and the differences between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from venturi.core.errors import VenturiError
from venturi.measure.clusters.check import ClusterCheck, judge
from venturi.measure.clusters.clocks import ClockOffset, RoundTrip, offset_of
from venturi.measure.clusters.cluster_file import cluster_of
from venturi.measure.clusters.cluster_spec import Port
from venturi.measure.clusters.survey import FolderSurvey, HostSurvey
from venturi.measure.clusters.traits import TraitValue, differences, sentence
from venturi.measure.hosts.agent import Identity

GIB = 1 << 30
NAMES = ("h1", "h2", "h3", "h4")
SPEC = cluster_of(
    """\
[defaults]
disks.ssd = ["/ssd"]
[[hosts]]
name = "h1"
roles = ["master", "worker"]
address = "10.0.0.1"
[[hosts]]
names = "h[2-4]"
address = "10.0.0.[2-4]"
""",
    Path("c.toml"),
)


def facts(**changes: Any) -> Mapping[str, Any]:
    return {
        "hostname": "a",
        "memory_total_bytes": 32 * GIB,
        "kernel_release": "6.1",
        "cpu_model": "a processor",
        "block_devices": [
            {"name": "sda", "size_bytes": 10**12, "scheduler": "none", "read_ahead_bytes": 131072}
        ],
        "file_systems": [
            {"mount_point": "/", "kind": "ext4", "device": "/dev/sdb", "block_device": "sdb"},
            {"mount_point": "/ssd", "kind": "xfs", "device": "/dev/sda", "block_device": "sda"},
        ],
        "network_interfaces": [
            {"name": "lo", "kind": "loopback", "mtu_bytes": 65536, "state": "unknown"},
            {"name": "eth0", "kind": "physical", "mtu_bytes": 9000, "state": "up"},
        ],
        "sysctls": {"vm.swappiness": "1", "fs.file-max": "77"},
        **changes,
    }


def said(name: str, **changes: Any) -> HostSurvey:
    survey = HostSurvey(
        agent=Identity("0.1.0", "abc", "release", "x86_64"),
        facts=facts(boot_id=f"boot of {name}"),
        clock=ClockOffset(0.0, 0.0001),
        folders=(FolderSurvey(Path("/ssd"), 500 * 10**9, 8),),
        java="17.0.15",
        names={other: f"10.0.0.{other[1]}" for other in NAMES},
    )
    return replace(survey, **changes)


def checked(
    failures: Mapping[str, VenturiError] | None = None, **changed: HostSurvey
) -> ClusterCheck:
    failures = failures or {}
    surveys = {name: said(name) for name in NAMES if name not in failures}
    return judge(SPEC, {**surveys, **changed}, failures)


def with_facts(name: str, **changes: Any) -> HostSurvey:
    return said(name, facts=facts(boot_id=f"boot of {name}", **changes))


def test_hosts_that_are_alike() -> None:
    found = checked()
    assert not found.wrong
    assert found.verdict == "4 hosts, reachable and equal, clocks within 0 ms ± 0.2 ms"


def test_less_memory() -> None:
    found = checked(h3=with_facts("h3", memory_total_bytes=24 * GIB))
    assert not found.wrong
    assert found.verdict == (
        "4 hosts, 1 differs: h3 has 8.0 GiB less memory (24.0 GiB; usual: 32.0 GiB)"
    )


def test_only_the_host_that_differs_from_the_usual_is_counted() -> None:
    # Each of the three workers has another kernel, so any of them may be the odd one.
    other = with_facts("h2", kernel_release="6.8")
    less = with_facts("h3", kernel_release="6.9", memory_total_bytes=24 * GIB)
    found = checked(h2=other, h3=less)
    assert found.verdict.startswith("4 hosts, 1 differs: h3 has 8.0 GiB less memory")
    assert [len(each.odd) for _, each in found.differences] == [1, 3]
    h3 = with_facts("h3", kernel_release="6.9")
    assert checked(h2=other, h3=h3).verdict.startswith("4 hosts, 3 differ: kernel differs")


def test_a_slower_link_that_the_file_tells() -> None:
    rates = {name: 12.5e6 if name == "h3" else 125e6 for name in NAMES}
    hosts = tuple(
        replace(host, ports={"data": Port("10.0.0.9", rates[host.name])}) for host in SPEC.hosts
    )
    found = judge(replace(SPEC, hosts=hosts), {name: said(name) for name in NAMES}, {})
    assert "h3 has link to data 100 Mbit/s (usual: 1 Gbit/s)" in found.verdict


def test_what_limits_a_host_is_what_is_compared() -> None:
    limits = {"cgroup_memory_limit_bytes": GIB, "cgroup_cpu_limit_cores": 0.5}
    found = checked(h3=with_facts("h3", cpu_threads_allowed=2, **limits))
    assert "h3 has 31.0 GiB less memory (1.0 GiB; usual: 32.0 GiB)" in found.verdict
    every = {name: with_facts(name, cpu_threads_allowed=2, **limits) for name in NAMES}
    assert not checked(**every).remarks
    every["h2"] = with_facts("h2", cpu_threads_allowed=2, cgroup_memory_limit_bytes=GIB)
    assert "h2 has CPU threads 2 (usual: 0.5)" in checked(**every).verdict
    unlimited = {"cgroup_memory_limit_bytes": "unlimited", "cgroup_cpu_limit_cores": "unlimited"}
    assert not checked(h3=with_facts("h3", **unlimited)).remarks


def test_some_memory_that_a_kernel_keeps_is_no_difference() -> None:
    assert not checked(h3=with_facts("h3", memory_total_bytes=32 * GIB - 10_000_000)).remarks


def test_what_the_kernel_makes_of_the_memory_is_no_difference() -> None:
    assert not checked(
        h3=with_facts("h3", sysctls={"vm.swappiness": "1", "fs.file-max": "78"})
    ).remarks


def test_hosts_of_other_roles_may_differ() -> None:
    assert not checked(h1=with_facts("h1", memory_total_bytes=8 * GIB)).remarks


FOUND = {
    "kernel": ({"kernel_release": "5.10"}, "h3 has kernel 5.10 (usual: 6.1)"),
    "MTU": (
        {
            "network_interfaces": [
                {"name": "eth0", "kind": "physical", "mtu_bytes": 1500, "state": "up"}
            ]
        },
        "h3 has MTU of eth0 1,500 (usual: 9,000)",
    ),
    "sysctl": ({"sysctls": {"vm.swappiness": "60"}}, "h3 has vm.swappiness 60 (usual: 1)"),
    "disk": (
        {
            "block_devices": [
                {
                    "name": "sda",
                    "size_bytes": 5 * 10**11,
                    "scheduler": "bfq",
                    "read_ahead_bytes": 131072,
                }
            ]
        },
        "h3 has 500.0 GB less size of ssd disk (500.0 GB; usual: 1.0 TB)",
    ),
    "scheduler": (
        {
            "block_devices": [
                {
                    "name": "sda",
                    "size_bytes": 10**12,
                    "scheduler": "bfq",
                    "read_ahead_bytes": 131072,
                }
            ]
        },
        "h3 has scheduler of ssd disk bfq (usual: none)",
    ),
    "read-ahead": (
        {
            "block_devices": [
                {
                    "name": "sda",
                    "size_bytes": 10**12,
                    "scheduler": "none",
                    "read_ahead_bytes": 262144,
                }
            ]
        },
        "h3 has 128.0 KiB more read-ahead of ssd disk (256.0 KiB; usual: 128.0 KiB)",
    ),
    "not known": ({"kernel_release": None}, "kernel of h3 is unknown (usual: 6.1)"),
}


@pytest.mark.parametrize(("changes", "text"), FOUND.values(), ids=FOUND)
def test_what_differs(changes: Mapping[str, Any], text: str) -> None:
    found = checked(h3=with_facts("h3", **changes))
    assert text in [each.text for each in found.remarks]
    assert not found.wrong


def test_java_agent_and_free_space_differ() -> None:
    odd = said(
        "h4",
        java=None,
        agent=Identity("0.1.0", "def", "release", "x86_64"),
        folders=(FolderSurvey(Path("/ssd"), 100 * 10**9, 8),),
    )
    assert [each.text for each in checked(h4=odd).remarks] == [
        "h4 has 400.0 GB less free space of ssd disk (100.0 GB; usual: 500.0 GB)",
        "h4 has Java none (usual: 17.0.15)",
        "h4 has agent 0.1.0 (def) (usual: 0.1.0 (abc))",
    ]


def test_where_no_value_is_the_usual_one_it_is_said() -> None:
    values = {
        "a": TraitValue("1"),
        "b": TraitValue("2"),
        "c": TraitValue("1"),
        "d": TraitValue("2"),
    }
    found = differences({host: {"kernel": value} for host, value in values.items()})
    assert [sentence(each) for each in found] == [
        "kernel differs, without a usual value: a, c: 1; b, d: 2"
    ]


CLOCKS = {
    "far apart": (1.2, 0.0001, True, "clocks differ by up to 1.2 s ± 0.2 ms (h3 is ahead of h1)"),
    "behind": (-1.2, 0.0001, True, "clocks differ by up to 1.2 s ± 0.2 ms (h4 is ahead of h3)"),
    "near": (0.09, 0.0001, False, None),
    "nobody can tell": (
        0.05,
        0.08,
        False,
        "clocks differ by 50 ms ± 80 ms: hosts answer too slowly",
    ),
}


@pytest.mark.parametrize(("offset_s", "error_s", "wrong", "text"), CLOCKS.values(), ids=CLOCKS)
def test_clocks(offset_s: float, error_s: float, wrong: bool, text: str | None) -> None:
    found = checked(h3=said("h3", clock=ClockOffset(offset_s, error_s)))
    assert found.wrong is wrong
    assert [each.text.startswith(text or "-") for each in found.remarks] == [True] * bool(text)
    if wrong:
        assert found.verdict.endswith(": series would not align; run chronyd on all hosts")


def test_a_host_that_does_not_answer_is_named_and_the_others_are_judged() -> None:
    refused = VenturiError("VEN-HOST-START", "connection refused", hint="start sshd there")
    found = checked({"h2": refused}, h3=with_facts("h3", kernel_release="5"))
    assert found.wrong
    assert found.verdict == (
        "4 hosts, 1 did not answer, 2 differ: h2: connection refused: start sshd there (and 1 more)"
    )


def test_folders() -> None:
    found = checked(
        h2=said("h2", folders=(FolderSurvey(Path("/ssd"), problem="the folder does not exist"),)),
        h3=said("h3", folders=(FolderSurvey(Path("/ssd"), 1, 8, shared_with=("h4",)),)),
        h4=said("h4", folders=(FolderSurvey(Path("/ssd"), 1, 8, shared_with=("h3",)),)),
    )
    assert found.wrong
    assert [(each.code, each.hosts) for each in found.remarks if each.severity == "problem"] == [
        ("VEN-CLUSTER-FOLDER", ("h2",)),
        ("VEN-CLUSTER-SHARED", ("h3", "h4")),
    ]


def test_one_folder_of_two_hosts_is_told_once() -> None:
    mounted = [{"mount_point": "/ssd", "kind": "nfs4", "device": "nas:/export"}]

    def sharing(name: str, other: str) -> HostSurvey:
        folder = FolderSurvey(Path("/ssd"), 500 * 10**9, 8, shared_with=(other,))
        return replace(with_facts(name, file_systems=mounted), folders=(folder,))

    found = checked(h2=sharing("h2", "h3"), h3=sharing("h3", "h2"))
    assert [each.text for each in found.remarks if each.code != "VEN-CLUSTER-DIFFERS"] == [
        "h2, h3 share one folder: /ssd of h2"
    ]


def test_names_of_one_machine() -> None:
    found = checked(
        h3=said("h3", facts=facts(boot_id="boot of h2")),
        h4=said("h4", facts=facts(boot_id="boot of h2")),
    )
    same = [each for each in found.remarks if each.code == "VEN-CLUSTER-SAME"]
    assert [each.text for each in same] == ["h2, h3, h4 are the same machine, a"]
    assert found.wrong


def test_disks_of_two_hosts_on_one_server() -> None:
    mounted = [{"mount_point": "/ssd", "kind": "nfs4", "device": "nas:/export"}]
    found = checked(
        h2=with_facts("h2", file_systems=mounted), h3=with_facts("h3", file_systems=mounted)
    )
    assert "/ssd of h2, /ssd of h3 are on one file system and share its speed" in [
        each.text for each in found.remarks
    ]


def test_addresses_and_names() -> None:
    found = checked(
        h1=said("h1", unreached=("h4",)),
        h2=said("h2", unreached=("h4",), names={"h1": None, "h2": "127.0.1.1", "h3": "10.0.0.3"}),
        h3=said("h3", listen_problem="cannot assign requested address"),
    )
    texts = [each.text for each in found.remarks]
    assert "h1, h2 cannot reach h4 at 10.0.0.4" in texts
    assert "h3 cannot listen at 10.0.0.3: cannot assign requested address" in texts
    assert "h2 cannot resolve h1" in texts
    assert "h2 resolves its own name to 127.0.1.1, where the others cannot reach it" in texts
    assert found.wrong


values = st.one_of(
    st.none(),
    st.sampled_from([TraitValue("a"), TraitValue("b")]),
    st.integers(0, 4).map(lambda n: TraitValue(str(n), 100.0 * n, 0.01, "B")),
)
clusters = st.dictionaries(st.sampled_from("abcdefgh"), values, min_size=1)


@given(clusters)
def test_the_majority_decides(hosts: dict[str, TraitValue | None]) -> None:
    found = differences({host: {"trait": value} for host, value in hosts.items()})
    known = [value for value in hosts.values() if value is not None]
    if len(set(hosts.values())) == 1 or not known:
        assert found == ()
        return
    (difference,) = found
    assert sentence(difference)
    counts = {value: known.count(value) for value in known}
    most = max(counts.values())
    usual = [value for value, count in counts.items() if count == most]
    if len(usual) > 1:
        assert difference.usual is None
        assert difference.odd == hosts
    else:
        assert difference.usual == usual[0]
        assert difference.odd == {h: v for h, v in hosts.items() if v != usual[0]}


@given(clusters, st.randoms())
def test_the_order_of_hosts_changes_nothing(hosts: dict[str, TraitValue | None], draw: Any) -> None:
    order = list(hosts)
    draw.shuffle(order)
    one = differences({host: {"trait": hosts[host]} for host in hosts})
    other = differences({host: {"trait": hosts[host]} for host in order})
    assert [(each.usual, dict(each.odd)) for each in one] == [
        (each.usual, dict(each.odd)) for each in other
    ]


@given(
    st.floats(-1e6, 1e6),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=9),
)
def test_the_true_offset_is_within_the_error(
    offset_s: float, ways: list[tuple[float, float]]
) -> None:
    rounds = [
        RoundTrip(100.0 * n, 100.0 * n + there_s + offset_s, 100.0 * n + there_s + back_s)
        for n, (there_s, back_s) in enumerate(ways)
    ]
    found = offset_of(rounds)
    assert abs(found.offset_s - offset_s) <= found.error_s + 1e-6
    assert found.error_s <= min(sum(each) for each in ways) / 2 + 1e-6
