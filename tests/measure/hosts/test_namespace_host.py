"""A host in namespaces of its own (network, name, mounts), entered by `nsenter`: what every kind of
host does, and that it is another host.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from host_contract import HostContract, sh
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.remote import connected

NAME = "venturi-test-host"

pytestmark = pytest.mark.root


@pytest.fixture(scope="module")
def enter() -> Iterator[list[str]]:
    """The command that enters the host's namespaces, which end with a process that waits there."""
    if os.getuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("only root, with util-linux, may make namespaces")
    script = f"hostname {NAME} && echo ready && exec sleep 3600"
    holder = subprocess.Popen(
        ["unshare", "--net", "--uts", "--mount", "sh", "-c", script], stdout=subprocess.PIPE
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"ready\n"
        yield ["nsenter", "-t", str(holder.pid), "--net", "--uts", "--mount"]
    finally:
        holder.kill()
        holder.communicate()


class TestInNamespaces(HostContract):
    """The agent in namespaces."""

    @pytest.fixture(autouse=True)
    def _made_by(self, enter: list[str], agent_binary: Path) -> None:
        command = [*enter, str(agent_binary), "host"]
        type(self).MADE_BY = (
            "from venturi.measure.hosts.remote import connected; "
            f"context = connected({command!r}, 'far'); host = context.__enter__()"
        )

    @pytest.fixture
    def host(self, enter: list[str], agent_binary: Path) -> Iterator[LiveHost]:
        with connected([*enter, agent_binary, "host"], "far") as host:
            yield host

    @pytest.fixture
    def place(self, tmp_path: Path) -> Path:
        folder = tmp_path / "place"
        folder.mkdir()
        return folder

    def test_it_is_another_host(self, host: LiveHost, place: Path) -> None:
        assert host.name == NAME
        sh(host, 'mount -t tmpfs venturi-test "$1"', place)
        try:
            host.files.write(place / "file", b"there")
            assert host.files.read(place / "file") == b"there"
            assert not (place / "file").exists()
        finally:
            sh(host, 'umount "$1"', place)
