"""Facts of hosts, as the agent gives them: a worker tuned as the field recommends, and changes."""

from __future__ import annotations

import copy
from typing import Any

TUNED_WORKER: dict[str, Any] = {
    "schema_version": 1,
    "hostname": "worker7",
    "memory_total_bytes": 512 * 2**30,
    "swap_total_bytes": 8 * 2**30,
    "swap_free_bytes": 8 * 2**30,
    "transparent_huge_pages": "never",
    "transparent_huge_pages_defrag": "never",
    "limit_open_files_soft": 65536,
    "limit_processes_soft": "unlimited",
    "cpu_governors": ["performance"],
    "numa_nodes": 1,
    "sysctls": {
        "vm.swappiness": "1",
        "vm.dirty_ratio": "20",
        "vm.dirty_background_ratio": "5",
        "vm.dirty_bytes": "0",
        "vm.dirty_background_bytes": "0",
        "vm.zone_reclaim_mode": "0",
        "net.core.rmem_max": "4194304",
        "net.core.wmem_max": "16777216",
        "net.core.somaxconn": "4096",
        "kernel.numa_balancing": "0",
        "kernel.io_uring_disabled": "0",
    },
    "block_devices": [
        {"name": "sda", "transport": "sata", "scheduler": "kyber", "read_ahead_bytes": 524288},
        {"name": "nvme0n1", "transport": "nvme", "scheduler": "none", "read_ahead_bytes": 1048576},
        {"name": "loop0", "transport": "loop", "scheduler": "bfq", "read_ahead_bytes": 1},
    ],
    "file_systems": [
        {
            "mount_point": "/",
            "kind": "ext4",
            "device": "/dev/sda1",
            "block_device": "sda",
            "options": ["rw", "noatime"],
        },
        {
            "mount_point": "/var/lib/bound",
            "kind": "ext4",
            "device": "/dev/sda1",
            "block_device": "sda",
            "options": ["rw", "relatime"],
        },
        {
            "mount_point": "/data",
            "kind": "xfs",
            "device": "/dev/nvme0n1",
            "block_device": "nvme0n1",
            "options": ["rw", "noatime", "attr2"],
        },
        {
            "mount_point": "/boot/efi",
            "kind": "vfat",
            "device": "/dev/sda9",
            "block_device": "sda",
            "options": ["rw", "relatime"],
        },
        {
            "mount_point": "/tmp",
            "kind": "tmpfs",
            "device": "tmpfs",
            "block_device": None,
            "options": ["rw"],
        },
    ],
    "network_interfaces": [
        {"name": "lo", "kind": "loopback", "state": "unknown", "mtu_bytes": 65536},
        {
            "name": "eth0",
            "kind": "physical",
            "state": "up",
            "mtu_bytes": 9000,
            "speed_bits_per_s": 10_000_000_000,
            "driver": "ixgbe",
        },
        {
            "name": "eth1",
            "kind": "physical",
            "state": "down",
            "mtu_bytes": 1500,
            "speed_bits_per_s": 10_000_000_000,
        },
        {"name": "docker0", "kind": "virtual", "state": "up", "mtu_bytes": 1500},
    ],
    "missing": {},
}


def tuned() -> dict[str, Any]:
    """A fresh copy of the tuned worker's facts."""
    return copy.deepcopy(TUNED_WORKER)


def changed(path: str, value: Any) -> dict[str, Any]:
    """The tuned worker's facts with another value at `path`, parts set apart by `/`."""
    facts = tuned()
    target: Any = facts
    *parents, last = path.split("/")
    for part in parents:
        target = target[int(part) if part.isdecimal() else part]
    target[int(last) if last.isdecimal() else last] = value
    return facts
