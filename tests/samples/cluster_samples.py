"""Trials on clusters: some that were recorded in a lab, and one on as many hosts as wanted."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import report_samples
from venturi.record.importing.exchange import import_archive
from venturi.record.store.repository import TrialRepository
from venturi.record.store.series import SeriesWriter, series_name
from venturi.record.trial import Clock, Cluster, Host, Link, Phase, Sample, Trial

ARCHIVE = Path(__file__).parents[1] / "data" / "several_hosts" / "lab-of-four.zip"
LAB = "lab of four"
NET, DISK, SORT = (
    f"01M82{end}"
    for end in ("VD6A0XSJK4D68Q4EKX8XK", "V3SD34YHT3B0KQSE9AA29", "TV7T1WBQA4JMC0JYJ0FT0")
)
SLOW = "node07"
_RATE = 110e6


def recorded(repository: TrialRepository) -> None:
    """Adds the trials of the lab."""
    import_archive(repository, ARCHIVE)


def cluster(hosts: int, name: str) -> Cluster:
    """So many machines, each with a disk sda under /data; SLOW is among them from 7 on."""
    facts = {
        "memory_total_bytes": 64 << 30,
        "cpu_threads": 16,
        "cpu_threads_allowed": 16,
        "block_devices": [{"name": "sda", "model": "HDD 4", "size_bytes": 4e12}],
        "file_systems": [{"mount_point": "/data", "block_device": "sda", "kind": "ext4"}],
    }
    return Cluster(
        tuple(
            Host(
                f"node{number:02}",
                {**facts, "boot_id": f"boot {number}"},
                ("worker",),
                {"data": Link(f"10.0.0.{number}", 125e6)},
                f"r{number % 2}",
                {"hdd": ("/data",)},
                Clock(number * 1e-3, 2e-4),
            )
            for number in range(1, hosts + 1)
        ),
        network="data",
        name=name,
    )


def many(repository: TrialRepository, folder: Path, hosts: int, number: int) -> Trial:
    """A network probe of so many hosts with their series, added; SLOW has a fifth of the others'
    rate, and a disk that is always busy. Its id is `report_samples.trial`'s of the `number`.
    """
    of = cluster(hosts, f"{hosts} hosts")
    names = [host.name for host in of.hosts]

    def rate(*ends: str) -> float:
        spread = sum(int(end[-2:]) for end in ends) % 7
        return _RATE * (0.2 if SLOW in ends else 1.0) * (1 - spread / 100)

    pairs = [
        Sample("net_pair_bytes_per_s", rate(a, b), "B/s", labels={"from": a, "to": b})
        for a, b in itertools.permutations(names, 2)
    ]
    standings = [
        sample
        for name in names
        for sample in (
            Sample(
                "net_host_bytes_per_s",
                rate(name),
                "B/s",
                labels={"host": name, "slow": name == SLOW},
            ),
            Sample(
                "net_host_share_of_others", rate(name) / _RATE, "fraction", labels={"host": name}
            ),
        )
    ]
    trial = replace(
        report_samples.trial(number, "netbench", "netbench"),
        cluster=of,
        samples=(*pairs, *standings),
        phases=(Phase("round 0", 0.0, 12.0), Phase("round 1", 12.0, 12.0)),
    )
    for place, name in enumerate(names):
        path = folder / series_name(name)
        with SeriesWriter(path) as writer:
            for second in range(25):
                at_s = second + place / len(names)  # each host at its own times
                busy = 0.97 if name == SLOW else 0.3 + 0.01 * (second % 5)
                for metric, device, value, unit in (
                    ("cpu_user", None, 0.25, "1"),
                    ("disk_busy", "sda", busy, "1"),
                    ("disk_read_bytes_per_s", "sda", busy * 1e8, "B/s"),
                    ("net_receive_bytes_per_s", "eth0", rate(name) / 4, "B/s"),
                ):
                    writer.append(at_s, metric, device, value, unit)
        trial = repository.attach(trial, "series", path.name, path)
    repository.add(trial)
    return trial
