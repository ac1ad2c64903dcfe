"""The verdict on a probe: the class of a device by the host's facts, and how fast that class is."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import Any

import pytest

from doctor_facts import tuned
from venturi.machines.health.devices import disk_class, load_devices, mount_of
from venturi.machines.health.verdict import AgainstClass, DeviceVerdict, verdicts
from venturi.record.trial import (
    Cluster,
    Engine,
    Host,
    Provenance,
    ProvenanceKind,
    Sample,
    Software,
    Trial,
    TrialWarning,
    Workload,
)

SATA = {"transport": "sata", "rotational": False, "model": "Samsung SSD 870"}


def probe(name: str, facts: dict[str, Any], samples: tuple[Sample, ...], **cluster: Any) -> Trial:
    return Trial(
        id="01JABCDEFGHJKMNPQRSTVWXYZ0",
        workload=Workload(name, "1"),
        engine=Engine(name, "1"),
        cluster=Cluster((Host("here", facts),), **cluster),
        configuration={},
        software=Software("0.1.0", None, None),
        provenance=Provenance(ProvenanceKind.MEASURED, "venturi"),
        started_at=datetime(2026, 1, 1, tzinfo=UTC),
        samples=samples,
    )


def of_disk(device: dict[str, Any], *rates_mb_per_s: float, kind: str = "xfs") -> DeviceVerdict:
    """The verdict on /data/test, which is on a disk with these facts."""
    facts = {
        "block_devices": [{"name": "sdz", **device}],
        "file_systems": [
            {"mount_point": "/", "kind": "ext4", "block_device": "sda"},
            {"mount_point": "/data", "kind": kind, "block_device": "sdz"},
        ],
    }
    samples = tuple(
        Sample("disk_read_bytes_per_s", mb * 1e6, "B/s", labels={"dir": "/data/test"})
        for mb in rates_mb_per_s
    )
    (verdict,) = verdicts(
        probe("diskbench", facts, samples, disks_by_role={"input": ("/data/test",)})
    )
    return verdict


def of_network(label: str, *rates_mb_per_s: float, links: list[dict[str, Any]]) -> DeviceVerdict:
    samples = tuple(
        Sample("net_pairwise_bytes_per_s", mb * 1e6, "B/s", labels={"slowest": False})
        for mb in rates_mb_per_s
    )
    facts = {"network_interfaces": links}
    (verdict,) = verdicts(probe("netbench", facts, samples, network=label))
    return verdict


def link(
    speed_gbit_per_s: float | None, mtu_bytes: int = 1500, name: str = "eth0"
) -> dict[str, Any]:
    speed = None if speed_gbit_per_s is None else speed_gbit_per_s * 1e9
    return {
        "name": name,
        "kind": "physical",
        "state": "up",
        "mtu_bytes": mtu_bytes,
        "speed_bits_per_s": speed,
    }


@pytest.mark.parametrize(
    ("device", "rates", "standing", "title"),
    [
        (SATA, (540, 545, 550), AgainstClass.AS_FAST, "SATA SSD"),
        (SATA, (250, 265, 270), AgainstClass.SLOWER, "SATA SSD"),
        (SATA, (2900, 3000, 3100), AgainstClass.FASTER, "SATA SSD"),
        (SATA, (380, 490, 530), AgainstClass.CANNOT_TELL, "SATA SSD"),  # too unsteady
        ({"transport": "sata", "rotational": True}, (180,), AgainstClass.AS_FAST, "hard disk"),
        ({"transport": "sas", "rotational": True}, (20,), AgainstClass.SLOWER, "hard disk"),
        ({"transport": "nvme", "rotational": False}, (6900,), AgainstClass.AS_FAST, "NVMe SSD"),
        (
            {"transport": "nvme", "model": "Amazon Elastic Block Store"},
            (131,),
            AgainstClass.AS_FAST,
            "Amazon EBS volume",
        ),
    ],
)
def test_a_disk_beside_its_class(
    device: dict[str, Any], rates: tuple[float, ...], standing: AgainstClass, title: str
) -> None:
    verdict = of_disk(device, *rates)
    assert verdict.standing is standing
    assert verdict.device_class == title
    assert verdict.low_bytes_per_s is not None
    assert verdict.source is not None
    assert verdict.source in verdict.text
    assert title in verdict.text
    assert ("cache of the host" in verdict.text) == (standing is AgainstClass.FASTER)


def test_the_sentence_of_a_known_class() -> None:
    verdict = of_disk(SATA, 540)
    assert verdict.subject == "/data/test (sdz)"
    assert verdict.text.startswith(
        "this disk is as fast as its class (SATA SSD: 500-560 MB/s sequential read; source: "
    )
    assert verdict.text.endswith(" It reads 540 MB/s.")


@pytest.mark.parametrize(
    ("mb_per_s", "says"),
    [
        (30, "less than any hard disk"),
        (200, "as fast as one hard disk (64-285 MB/s)"),
        (400, "more than one hard disk and less than one SATA SSD"),
        (3000, "as fast as one NVMe SSD"),
        (20000, "more than any single disk; a cache of the host"),
    ],
)
def test_a_virtual_disk_is_set_beside_known_ones(mb_per_s: float, says: str) -> None:
    verdict = of_disk({"transport": "virtio", "rotational": True}, mb_per_s)
    assert verdict.standing is AgainstClass.CANNOT_TELL
    assert verdict.device_class == "virtual disk"
    assert "the hypervisor hides the medium" in verdict.text
    assert says in verdict.text
    assert verdict.high_bytes_per_s is None


def test_memory_and_network_file_systems_are_no_disks() -> None:
    assert "it is memory" in of_disk(SATA, 5000, kind="tmpfs").text
    assert "server" in of_disk(SATA, 100, kind="nfs4").text
    assert "don't give the kind" in of_disk({"transport": None}, 100).text


def test_a_folder_in_memory_has_no_disk() -> None:
    """The facts list disks only, so that /dev/shm seems to lie on the disk of /."""
    facts = {
        "block_devices": [{"name": "vda", "transport": "virtio", "rotational": True}],
        "file_systems": [{"mount_point": "/", "kind": "ext4", "block_device": "vda"}],
    }
    rate = Sample("disk_read_bytes_per_s", 5e9, "B/s", labels={"dir": "/memory/a"})
    trial = probe("diskbench", facts, (rate,), disks_by_role={"any": ("/memory/a",)})
    warning = TrialWarning("VEN-DISK-MEMORY", "/memory/a is in memory, not on a disk")
    (verdict,) = verdicts(replace(trial, warnings=(warning,)))
    assert verdict.subject == "/memory/a"
    assert verdict.text.startswith("in memory, not on a disk: ")
    assert verdict.standing is AgainstClass.CANNOT_TELL


def test_what_was_not_measured_has_no_rate() -> None:
    verdict = of_disk(SATA)
    assert verdict.standing is AgainstClass.CANNOT_TELL
    assert verdict.measured_bytes_per_s is None
    assert "--mode read" in verdict.text


def test_each_directory_has_its_own_verdict() -> None:
    facts = tuned()
    facts["block_devices"][0] |= {"rotational": True}
    samples = tuple(
        Sample("disk_read_bytes_per_s", mb * 1e6, "B/s", labels={"dir": folder})
        for folder, mb in (("/", 150), ("/data", 5000), (None, 5150))
    )
    disks = {"input": ("/", "/data"), "output": ("/", "/data")}
    found = verdicts(probe("diskbench", facts, samples, disks_by_role=disks))
    assert [(v.device_class, v.standing) for v in found] == [
        ("hard disk", AgainstClass.AS_FAST),
        ("NVMe SSD", AgainstClass.AS_FAST),
    ]


@pytest.mark.parametrize(
    ("gbit", "mtu", "mb_per_s", "standing"),
    [
        (10, 1500, 1176, AgainstClass.AS_FAST),
        (10, 9000, 1236, AgainstClass.AS_FAST),
        (10, 1500, 600, AgainstClass.SLOWER),
        (1, 1500, 600, AgainstClass.FASTER),
        (25, 1500, 2900, AgainstClass.AS_FAST),
    ],
)
def test_a_network_beside_its_link(
    gbit: float, mtu: int, mb_per_s: float, standing: AgainstClass
) -> None:
    verdict = of_network("network", mb_per_s, links=[link(gbit, mtu)])
    assert verdict.standing is standing
    assert f"({gbit} GbE: " in verdict.text


def test_a_network_that_does_not_say_its_speed() -> None:
    verdict = of_network("network", 1100, links=[link(None)])
    assert verdict.standing is AgainstClass.CANNOT_TELL
    assert "this needs a 10 GbE link" in verdict.text
    both = of_network("network", 1100, links=[link(10), link(25, name="eth1")])
    assert "different speeds" in both.text
    assert "more than any Ethernet" in of_network("network", 5e5, links=[link(None)]).text


def test_loopback_is_no_network() -> None:
    verdict = of_network("loopback: memory copying, not a network", 4000, links=[link(10)])
    assert verdict.standing is AgainstClass.CANNOT_TELL
    assert "--peer" in verdict.text


def test_a_host_is_told_by_its_devices_and_settings() -> None:
    facts = tuned()
    facts["sysctls"]["vm.swappiness"] = "60"
    (verdict,) = verdicts(probe("hostfacts", facts, ()))
    assert verdict.subject == "worker7"
    assert "nvme0n1 NVMe SSD" in verdict.text
    assert "eth0 10 GbE" in verdict.text
    assert "1 of 25 settings checked is known" in verdict.text
    assert "venturi doctor" in verdict.text


def test_other_trials_have_no_verdict() -> None:
    sort = replace(probe("hostfacts", {}, ()), workload=Workload("terasort", "1"))
    assert verdicts(sort) == ()


def test_the_table_has_dates_and_ranges() -> None:
    for each in load_devices().disk:
        if each.read_mb_per_s is not None:
            assert each.as_of is not None
            date.fromisoformat(each.as_of)
            low, high = each.read_mb_per_s
            assert 0 < low < high
    assert disk_class({}, {"transport": "sata", "rotational": None}) is None


def test_a_mount_point_is_a_folder_and_no_prefix() -> None:
    facts = {"file_systems": [{"mount_point": "/"}, {"mount_point": "/data"}]}
    assert mount_of(facts, "/database/x") == {"mount_point": "/"}
    assert mount_of(facts, "/data") == {"mount_point": "/data"}
    assert mount_of({}, "/data") is None
