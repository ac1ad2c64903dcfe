"""Plans on clusters: their files, folders and prices, and every mistake named."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_samples import FILES, QUICK, parsed, plan, require_mistake

from venturi.core.errors import VenturiError
from venturi.measure.clusters.cluster_record import cluster_record, host_record
from venturi.measure.clusters.cluster_spec import HostPrice
from venturi.measure.studies.study import (
    Combination,
    Plan,
    disks_by_role,
    matches_plan,
    peak_bytes,
)
from venturi.measure.workloads.registry import workload
from venturi.record.trial import Engine, State, Trial, Workload

CLUSTERS = """repeats = 2
warm_ups = 0
[factors]
workload = ['terasort']
engine = ['spark:yarn']
cluster = ['local', 'ether', 'there']
disk = ['ssd']
[clusters.ether]
lab = 'lab.toml'
[clusters.there]
file = 'hosts.toml'
[disks.ssd]
input = ['/data']
scratch = ['/data']
output = ['/data']
"""


def clusters(**changes: str) -> str:
    """Return a plan of two clusters, with changed parts."""
    text = CLUSTERS.replace("'local', 'ether', 'there'", "'there'")
    for part, other in changes.items():
        text = text.replace(
            {
                "cluster": "['there']",
                "engine": "['spark:yarn']",
                "folders": "['/data']",
                "lab": "lab = 'lab.toml'",
                "file": "file = 'hosts.toml'",
            }[part],
            other,
        )
    return text


def test_hosts_of_a_type_have_the_price_that_is_asked_for() -> None:
    rented = clusters(file="file = 'rented.toml'")
    price = HostPrice(0.5, "USD", "a list", date(2026, 5, 1))
    found, mistakes = parsed(rented, lambda name, catalog, folder: price)
    assert found is not None, mistakes
    assert [host.price for host in found.clusters["there"].spec.hosts] == [price]

    def unknown(name: str, catalog: str | None, folder: Path) -> HostPrice | None:
        raise VenturiError("VEN-CATALOG-UNKNOWN", f"no type {name}", where={"instance_type": name})

    found, mistakes = parsed(rented, unknown)
    assert found is None
    assert "rented.toml, line 4: no type big" in mistakes[0].message


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("trace = true\n" + clusters(), 1, "only records disks of this machine"),
        (clusters(cluster="['their']"), 6, "there is no cluster 'their'; did you mean there or"),
        (clusters(file="file = 'none.toml'"), 11, "none.toml cannot be read"),
        (clusters(file="file = 'odd.toml'"), 11, "odd.toml, line 2: hots is not a key"),
        (clusters(file="lab = 'odd.toml'"), 11, "odd.toml, line 2: hots is not a key that a lab"),
        (clusters(file=""), 10, "cluster there: give either lab"),
        (clusters(file="file = 'hosts.toml'\nlab = 'lab.toml'"), 10, "give either lab"),
        (clusters(file="files = 'hosts.toml'"), 11, "did you mean file?"),
        (clusters(file="file = 'idle.toml'"), 10, "no host of there is a worker"),
        (clusters(engine="['native', 'spark']"), 5, "native runs on one host, not on the cluster"),
        (clusters(engine="['spark:local']"), 5, "write one of mapreduce:cluster, spark:standalone"),
        (
            clusters(folders="['data']"),
            13,
            "on the cluster there, folders must start with /",
        ),
        (clusters(folders="['/a/../b']"), 14, "folders must start with /"),
        (
            clusters(cluster="['ether']"),
            13,
            "/data is on no disk of w1 of the cluster ether, which "
            "has /venturi/ssd0, /venturi/ssd1",
        ),
        (clusters(cluster="['ether']", folders="['/venturi/ssd2']"), 13, "is on no disk of w1"),
        (CLUSTERS.replace("[clusters.ether]", "[clusters.local]"), 8, "use another name"),
    ],
)
def test_mistakes_of_clusters_have_lines(text: str, line: int, says: str) -> None:
    require_mistake(text, line, says)


def test_a_plan_has_what_its_files_say() -> None:
    made = plan(clusters(cluster="['there', 'ether']", folders="['/venturi/ssd1']"))
    assert [each.place for each in made.combinations] == ["there", "ether"]
    there, ether = (made.cluster(each) for each in made.combinations)
    assert there is not None
    assert ether is not None
    assert (there.dilation, ether.dilation) == (None, 20)
    folders = {host.name: host.folders.get("output", ()) for host in ether.hosts}
    disk = (Path("/venturi/ssd1"),)
    assert folders == {"m": (), "w1": disk, "w2": disk}
    assert made.combinations[1].labels == {"cluster": "ether", "disk": "ssd"}


def test_without_a_disk_a_cluster_says_where_data_are() -> None:
    made = plan(clusters(cluster="['there']").replace("disk = ['ssd']", ""))
    (one,) = made.combinations
    spec = made.cluster(one)
    assert spec is not None
    assert {host.folders["scratch"] for host in spec.hosts} == {(Path("/data"),)}


def test_other_content_of_a_file_is_another_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [
        plan(clusters()).id,
        plan(CLUSTERS.replace("'local', ", "").replace("/data", "/venturi/ssd0")).id,
    ]
    monkeypatch.setitem(FILES, "lab.toml", FILES["lab.toml"].replace("1Gbit/s", "4Gbit/s"))
    after = [
        plan(clusters()).id,
        plan(CLUSTERS.replace("'local', ", "").replace("/data", "/venturi/ssd0")).id,
    ]
    assert before[0] == after[0], "of what it does not use"
    assert before[1] != after[1]


def test_here_is_a_place_like_others() -> None:
    made = plan(CLUSTERS.replace("'local', 'ether', 'there'", "'local', 'there'"))
    assert [each.place for each in made.combinations] == ["local", "there"]
    assert made.cluster(made.combinations[0]) is None
    assert made.combinations[0].values()["cluster"] == "local"


@QUICK
@given(seed=st.integers(0, 99), repeats=st.integers(1, 4))
def test_a_cluster_changes_once_a_repetition(seed: int, repeats: int) -> None:
    text = clusters(cluster="['local', 'ether', 'there']").replace("disk = ['ssd']", "")
    text = text.replace("repeats = 2", f"repeats = {repeats}\norder = 'split-plot'\nseed = {seed}")
    made = plan(text.replace("[clusters.e", "memory = ['1GiB', '2GiB', '3GiB']\n[clusters.e"))
    places = [place.combination.place for place in made.ordered()]
    for block in range(repeats):
        own = places[block * 9 : block * 9 + 9]
        assert sum(one != other for one, other in itertools.pairwise(own)) == 2


def test_the_inputs_of_a_cluster_go_with_it() -> None:
    text = clusters(cluster="['local', 'there']").replace("disk = ['ssd']", 'bytes = ["1MB"]')
    made = plan(text.replace("repeats = 2", "repeats = 2\norder = 'blocked'"))
    peaks = peak_bytes(made, dict.fromkeys(made.combinations, 1_000_000))
    assert peaks == {"local": 6_200_000, "there": 6_200_000}


def test_what_was_done_on_other_hosts_is_not_alike(make_trial: Callable[..., Trial]) -> None:
    made = plan(clusters(cluster="['there', 'ether']", folders="['/venturi/ssd1']"))
    for one in made.combinations:
        trial = did(make_trial, made, one)
        assert [matches_plan(trial, each, None, made) for each in made.combinations] == [
            each == one for each in made.combinations
        ]
        slower = replace(trial, cluster=replace(trial.cluster, dilation=3.0))
        assert not matches_plan(slower, one, None, made)
        moved = replace(
            trial,
            cluster=replace(
                trial.cluster, disks_by_role={"output": ("w1:/venturi/ssd0", "one:/venturi/ssd0")}
            ),
        )
        assert not matches_plan(moved, one, None, made)


def did(make: Callable[..., Trial], made: Plan, one: Combination) -> Trial:
    """A trial that did what a combination on a cluster is to do."""
    spec = made.cluster(one)
    assert spec is not None
    cluster = cluster_record(spec, [host_record(host, {}) for host in spec.taking_part])
    folders = {**disks_by_role(made, one)}
    if one.place == "ether":  # its master has no disk of its own
        folders["output"] = ("m:/tmp", *folders["output"])
    return make(
        workload=Workload("terasort", workload("terasort").version),
        engine=Engine("spark", "4"),
        cluster=replace(cluster, disks_by_role=folders),
        configuration={"deployment": "yarn"},
        state=State.SUCCEEDED,
        elapsed_s=1.0,
    )
