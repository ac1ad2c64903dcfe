"""Folders on the same disk: by the facts of the hosts that saw them, never by a mere guess."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import report_samples
from venturi.jobs.tiers.disks import DiskMap
from venturi.record.trial import Sample, Trial

DEVICES = [{"name": name} for name in ("sda", "sdb", "nvme0n1")]


def seen(mounts: dict[str, str | None], scratch: tuple[str, ...] = ()) -> Trial:
    """A trial on a host with file systems, each by its device, and its folders for scratch."""
    trial = report_samples.trial(930, "terasort", "spark")
    facts: dict[str, Any] = {
        "block_devices": DEVICES,
        "file_systems": [
            {"mount_point": mount, "kind": "ext4", "block_device": device}
            for mount, device in mounts.items()
        ],
    }
    host = replace(trial.cluster.hosts[0], facts=facts)
    cluster = replace(trial.cluster, hosts=(host,), disks_by_role={"scratch": scratch})
    return replace(trial, cluster=cluster)


def probe(mounts: dict[str, str | None], *folders: str) -> Trial:
    samples = [Sample("disk_read_bytes_per_s", 1.0, "B/s", labels={"dir": d}) for d in folders]
    return replace(seen(mounts), samples=tuple(samples))


ROOT: dict[str, str | None] = {"/": "sda"}
TWO = ROOT | {"/ssd": "nvme0n1"}


@pytest.mark.parametrize(
    ("trial", "probes", "folders", "is_one"),
    [
        (seen(ROOT, ("/home/a", "/home/b")), (), ("/home/a", "/home/b"), True),
        (seen(TWO, ("/home/a",)), (), ("/home/a", "/ssd/b"), False),
        (seen(TWO), (), ("/ssd/a", "/ssd/b"), True),
        (seen({"/a": "sdb", "/b": "sdb"}), (), ("/a/x", "/b/x"), True),  # two partitions
        (seen({"/a": None, "/b": None}), (), ("/a/x", "/b/x"), False),
        # Nothing is known of a folder on the root's file system that the trial did not use.
        (seen(ROOT, ("/home/a",)), (), ("/home/a", "/mnt/ssd"), False),
        (seen(ROOT, ("/home/a",)), (probe(ROOT, "/mnt/ssd"),), ("/home/a", "/mnt/ssd"), False),
        (
            seen(ROOT, ("/home/a",)),
            (probe(ROOT, "/mnt/ssd", "/home/a"),),
            ("/home/a", "/mnt/ssd"),
            True,
        ),
        # An event log has no file systems; the probe was of a folder above.
        (seen({}, ("/d/a/x", "/d/b/x")), (probe(ROOT, "/d"),), ("/d/a/x", "/d/b/x"), True),
        (
            seen({}, ("/d/a/x", "/d/b/x")),
            (probe(ROOT | {"/d/b": "sdb"}, "/d"),),
            ("/d/a/x", "/d/b/x"),
            False,
        ),
        # A disk that came after the trial.
        (seen(ROOT, ("/home/a",)), (probe(TWO, "/ssd", "/home/a"),), ("/home/a", "/ssd"), False),
        (
            seen(ROOT, ("/ssd/a", "/b")),
            (probe(TWO, "/ssd/a", "/b"), probe(ROOT, "/ssd/a", "/b")),
            ("/ssd/a", "/b"),
            False,
        ),
        # Memory file systems, which facts don't list.
        (seen(ROOT, ("/home/a", "/dev/shm")), (), ("/home/a", "/dev/shm"), False),
        # By their names alone.
        (seen({}), (), ("/a", "/a/b"), True),
        (seen({}), (), ("/a/b", "/a"), True),
        (seen({}), (), ("/a", "/ab"), False),
    ],
)
def test_two_folders(
    trial: Trial, probes: tuple[Trial, ...], folders: tuple[str, str], *, is_one: bool
) -> None:
    where = DiskMap(trial, probes)
    assert where.is_one(*folders) == is_one
    assert where.is_one(*reversed(folders)) == is_one
    assert where.is_on(folders[0], ("/nowhere", folders[1])) == is_one
