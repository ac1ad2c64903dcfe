"""The hosts of a trial compared, and its cluster."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import cluster_samples
from api_client import client_of
from cluster_samples import LAB, SLOW
from venturi.measure.clusters.traits import recorded_differences, sentence
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import SeriesWriter
from venturi.record.trial import Cluster, Host, Trial
from venturi.results.hosts.use import HostUse
from venturi.results.hosts.watched import narrowest_of
from venturi.web.hosts_over_time import hosts_over_time


@pytest.fixture
def many(repository: TrialRepository, tmp_path: Path) -> Trial:
    """A trial on 16 hosts."""
    return cluster_samples.many(repository, tmp_path, 16, 1)


def test_hosts_stand_on_one_axis_and_the_narrowest_is_marked(
    repository: TrialRepository, many: Trial
) -> None:
    found = hosts_over_time(repository, many)
    assert [each.host for each in found.hosts] == [host.name for host in many.cluster.hosts]
    assert [each.host for each in found.hosts if each.narrowest] == [SLOW]
    assert found.device == "disk sda"
    said = found.sentence or ""
    assert said.startswith(f"{SLOW} was the narrowest host in 100% of the time of the phases")
    assert "its disk sda was 97% busy, on the others up to 32%" in said
    assert len(found.t_s) == 24, "no finer than the samples"
    slow = next(each for each in found.hosts if each.narrowest)
    assert slow.lines.disk_busy[5] == pytest.approx(0.97)
    assert slow.lines.processor[5] == pytest.approx(0.25)
    assert slow.mean is not None
    assert slow.mean.network_busy == pytest.approx(slow.mean.net_receive_bytes_per_s / 125e6)
    assert slow.clock_error_s == 2e-4
    thinned = hosts_over_time(repository, many, parts=6)
    assert len(thinned.t_s) == 6
    assert thinned.t_s[0] == pytest.approx(2.0)
    seen = thinned.hosts[0].lines.disk_busy
    # Seconds 1 to 4 of a host that is asked at whole ones; the first has no sample before it.
    assert seen[0] == pytest.approx((0.31 + 0.32 + 0.33 + 0.34) / 4)


def test_series_are_those_of_one_host_at_its_own_moments(
    repository: TrialRepository, many: Trial
) -> None:
    names = [host.name for host in many.cluster.hosts]
    with client_of(repository) as client:

        def of(**asked: str) -> dict[str, Any]:
            found: dict[str, Any] = client.get(f"/api/trials/{many.id}/series", params=asked).json()
            return found

        first, slow = of(), of(host=SLOW)
        wrong = client.get(f"/api/trials/{many.id}/series", params={"host": "node77"})
    assert (first["hosts"], first["host"]) == (names, names[0])
    assert (slow["hosts"], slow["host"]) == (names, SLOW)
    assert first["t_s"] == list(range(25))
    assert slow["t_s"] == pytest.approx([second + 6 / 16 for second in range(25)])
    assert [line["metric"] for line in slow["lines"]] == [
        "cpu_user",
        "disk_busy",
        "disk_read_bytes_per_s",
        "net_receive_bytes_per_s",
    ]
    assert slow["lines"][1]["values"] == [0.97] * 25
    assert wrong.status_code == 404
    assert "node07" in wrong.json()["hint"]


def test_a_host_of_a_lab_has_the_lines_of_its_own_disks(
    repository: TrialRepository, make_trial: Callable[..., Trial], tmp_path: Path
) -> None:
    """In a lab each host sees the disks of all, and the machine's own below them."""

    def asked(*boots: str) -> list[str | None]:
        hosts = tuple(
            Host(
                f"w{number}",
                {
                    "boot_id": boot,
                    "file_systems": [{"mount_point": "/ssd", "block_device": f"loop{number}"}],
                    "block_devices": [{"name": f"loop{number}"}],
                },
                disks={"ssd": ("/ssd",)},
            )
            for number, boot in enumerate(boots)
        )
        path = tmp_path / f"series.{hosts[1].name}.parquet"
        with SeriesWriter(path) as writer:
            for second in range(3):
                for disk in ("vda", "loop0", "loop1"):
                    writer.append(float(second), "disk_busy", disk, 0.5, "fraction")
                writer.append(float(second), "cpu_user", None, 0.5, "fraction")
        trial = make_trial(cluster=Cluster(hosts))
        repository.add(repository.attach(trial, "series", path.name, path))
        with client_of(repository) as client:
            found = client.get(f"/api/trials/{trial.id}/series", params={"host": "w1"}).json()
        return [line["device"] for line in found["lines"]]

    assert asked("one", "one") == [None, "loop1"]
    assert asked("one", "another") == [None, "loop0", "loop1", "vda"]


def test_one_host_is_beside_no_other(repository: TrialRepository, many: Trial) -> None:
    alone = replace(many, artifacts=many.artifacts[:1])
    assert hosts_over_time(repository, alone).missing_reason == "only one host was monitored"
    none = replace(many, artifacts=())
    assert hosts_over_time(repository, none).missing_reason == "no host was monitored"
    untimed = replace(many, phases=())
    assert "no phase" in (hosts_over_time(repository, untimed).missing_reason or "")


def use(host: str | None, disk_busy: float, *, shared: bool = False) -> HostUse:
    return replace(
        HostUse(
            disk_busy if shared else 0.1,
            0.0,
            None,
            "sda",
            0.0 if shared else disk_busy,
            None,
            None,
            None,
            None,
        ),
        host=host,
        processor_shared=shared,
    )


def test_the_host_that_was_narrowest_for_the_longest_is_named() -> None:
    spans = {"a": (0.0, 10.0), "b": (10.0, 30.0), "c": (40.0, 60.0)}
    uses = {"a": use("h1", 0.95), "b": use("h2", 0.9), "c": use("h1", 0.5)}
    found = narrowest_of(uses, spans, "stages")
    assert found is not None
    assert (found.host, found.device) == ("h2", "disk sda")
    assert "in 30% of the time of the stages" in found.sentence
    idle = narrowest_of({"a": use("h1", 0.5)}, spans, "stages")
    assert idle is not None
    assert idle.host is None
    assert "no device of any host was 80% busy" in idle.sentence
    shared = narrowest_of({"a": use(None, 0.99, shared=True)}, spans, "stages")
    assert shared is not None
    assert (shared.host, shared.device) == (None, "processor")
    assert "the processor that all share was busy 99%" in shared.sentence
    assert narrowest_of({"a": use(None, 0.99)}, spans, "stages") is None, "of one host"


def test_hosts_that_lack_a_class_of_disks_have_none_of_it() -> None:
    first, second, third = cluster_samples.cluster(3, "c").hosts
    other = replace(
        third,
        disks={"ssd": ("/data",)},
        facts={**third.facts, "cpu_threads": 8, "cpu_threads_allowed": 8},
    )
    said = [sentence(each) for each in recorded_differences((first, second, other))]
    assert said == [
        "node03 has CPU threads 8 (usual: 16)",
        "node03 has number of hdd disks none (usual: 1)",
        "node03 has number of ssd disks 1 (usual: none)",
    ]
    master = replace(other, roles=("master",))
    assert recorded_differences((first, second, master)) == (), "only like is compared with like"


def test_a_cluster_has_its_hosts_its_probes_and_its_trials(repository: TrialRepository) -> None:
    with client_of(repository) as client:
        nothing = client.get("/api/clusters").json()
        assert (nothing["clusters"], nothing["chosen"]) == ([], None)
        cluster_samples.recorded(repository)
        found = client.get("/api/clusters").json()
        (known,) = found["clusters"]
        assert (known["name"], known["trials"]) == (LAB, 3)
        card = found["chosen"]
        assert card["as_of_trial"] == cluster_samples.NET
        assert [host["name"] for host in card["hosts"]] == ["master", "w1", "w2", "slow"]
        (link,) = card["hosts"][3]["links"].values()
        assert link["bytes_per_s"] == 12.5e6
        assert [*card["hosts"][3]["links"]] == [card["network"]]
        (disk,) = card["hosts"][3]["disks"]
        assert (disk["folder"], disk["size_bytes"]) == ("/venturi/late0", 599998464)
        assert "slow has number of ssd disks none (usual: 1)" in card["differences"]
        assert card["clocks"].startswith("clocks were within")
        assert found["net"]["trial"] == cluster_samples.NET
        assert found["net"]["sentence"].startswith("this host is slow: slow (28% of the others)")
        assert found["disk"]["trial"] == cluster_samples.DISK
        assert found["disk"]["sentence"]
        ids = [row["id"] for row in found["trials"]]
        assert ids == [cluster_samples.NET, cluster_samples.DISK, cluster_samples.SORT]
        by_name = client.get("/api/clusters", params={"name": LAB}).json()
        assert by_name == found
        wrong = client.get("/api/clusters", params={"name": "lab of for"})
        assert wrong.status_code == 404
        assert wrong.json()["hint"] == f"did you mean {LAB}?"


def test_recorded_hosts_stand_at_their_own_moments_on_one_axis(
    repository: TrialRepository,
) -> None:
    cluster_samples.recorded(repository)
    with client_of(repository) as client:
        found = client.get(f"/api/trials/{cluster_samples.SORT}/hosts").json()
    assert [host["host"] for host in found["hosts"]] == ["master", "w1", "w2", "slow"]
    assert all(a < b for a, b in itertools.pairwise(found["t_s"]))
    for host in found["hosts"]:
        known = [value for value in host["lines"]["processor"] if value is not None]
        assert len(known) > 0.9 * len(found["t_s"]), host["host"]
    late = found["hosts"][3]["lines"]["disk_busy"]
    assert max(value or 0 for value in late) > 0.95, "its disk was written to as fast as it is"
    assert set(found["hosts"][0]["lines"]["disk_busy"]) == {None}, "it has no disk"
    assert "the processor that all share" in found["sentence"], "a lab's hosts are one machine"
