"""Hosts in their own network namespaces, on one switch. Nothing is made in this machine's own
network; names contain the process id, and everything is removed afterwards.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from venturi.measure.hosts.host import Process
from venturi.measure.hosts.local import LocalHost

NETWORK = "10.213.7"


class NamespaceHost(LocalHost):
    """This machine in another network namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace

    def start(
        self,
        argv: Sequence[str | Path],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Process:
        inside = ["nsenter", f"--net=/run/netns/{self.namespace}", *argv]
        return super().start(inside, cwd=cwd, env=env)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


def _limit(namespace: str, device: str, mbit_per_s: float) -> None:
    rate = f"{mbit_per_s}mbit"
    burst = max(65536, int(mbit_per_s * 1e6 / 8 * 0.008))
    shaper = ["tbf", "rate", rate, "burst", str(burst), "latency", "50ms"]
    subprocess.run(
        ["tc", "-n", namespace, "qdisc", "add", "dev", device, "root", *shaper],
        check=True,
        capture_output=True,
    )


@contextmanager
def switched(mbit_per_s: Mapping[str, float]) -> Iterator[dict[str, tuple[LocalHost, str]]]:
    """A host for each name, its link that fast in both directions: the host and its address."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "tc", "nsenter"))):
        pytest.skip("network namespaces need root, ip and tc")
    prefix = f"vennet{os.getpid()}"
    with ExitStack() as stack:

        def namespace(name: str) -> str:
            full = f"{prefix}{name}"
            try:
                _ip("netns", "add", full)
            except subprocess.CalledProcessError as error:
                pytest.skip(f"network namespaces cannot be made: {error.stderr.decode()}")
            stack.callback(_ip, "netns", "delete", full)
            _ip("-n", full, "link", "set", "lo", "up")
            return full

        switch = namespace("sw")
        _ip("-n", switch, "link", "add", "br0", "type", "bridge")
        _ip("-n", switch, "link", "set", "br0", "up")
        found: dict[str, tuple[LocalHost, str]] = {}
        for place, (name, rate) in enumerate(mbit_per_s.items(), start=1):
            own, port, address = namespace(name), f"p{place}", f"{NETWORK}.{place}"
            _ip(
                "link",
                "add",
                port,
                "netns",
                switch,
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                own,
            )
            _ip("-n", switch, "link", "set", port, "master", "br0", "up")
            _ip("-n", own, "address", "add", f"{address}/24", "dev", "eth0")
            _ip("-n", own, "link", "set", "eth0", "up")
            _limit(switch, port, rate)
            _limit(own, "eth0", rate)
            found[name] = NamespaceHost(own), address
        yield found
