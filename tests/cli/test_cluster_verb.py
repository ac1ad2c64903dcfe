"""`venturi cluster`: what a user sees of a cluster, of hosts over SSH, and of one that fails."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import AGENT, venturi
from sshd import Sshd, sshd

HERE = """\
[[hosts]]
name = "me"
here = true
roles = ["master", "worker"]
disks.any = ["{folder}"]
"""


def test_a_host_here(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(HERE.format(folder=tmp_path))
    told = venturi("cluster", "check", file, home=tmp_path, VENTURI_AGENT=str(AGENT))
    assert told.returncode in {0, 1}, told.stderr
    assert told.stdout.startswith("1 host")
    data = json.loads(
        venturi("cluster", "check", file, "--json", home=tmp_path, VENTURI_AGENT=str(AGENT)).stdout
    )["data"]
    (host,) = data["hosts"]
    assert (host["name"], host["reached_by"]) == ("me", "this machine")
    assert host["said"]["folders"][0]["free_bytes"] > 0
    assert data["usable"] == (told.returncode == 0)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(HERE.format(folder=tmp_path / "none"))
    told = venturi("cluster", "check", file, home=tmp_path, VENTURI_AGENT=str(AGENT))
    assert told.returncode == 1
    assert f"1 host, 1 has a problem: me cannot use {tmp_path}/none" in told.stdout


def test_mistakes_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(HERE + "rak = 1\n")
    told = venturi("cluster", "check", file, home=tmp_path)
    assert told.returncode == 2
    assert "line 6" in told.stderr
    assert "did you mean rack?" in told.stderr
    assert venturi("cluster", "check", tmp_path / "none", home=tmp_path).returncode == 1
    assert "there is no lab" in venturi("cluster", "push", "lab:none", home=tmp_path).stderr


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Sshd]:
    """A server, and an `ssh` that leads to it by any name but `shut`."""
    with sshd(tmp_path / "sshd") as running:
        client = running.folder / "client"
        text = client.read_text()
        client.write_text("Host shut\n  HostName 127.0.0.1\n  Port 1\n" + text.replace("far", "*"))
        programs = tmp_path / "bin"
        programs.mkdir()
        ssh = programs / "ssh"
        ssh.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F {client} "$@"\n')
        ssh.chmod(0o755)
        monkeypatch.setenv("PATH", str(programs), prepend=":")
        yield running


def test_hosts_over_ssh(tmp_path: Path, server: Sshd) -> None:
    file = tmp_path / "c.toml"
    file.write_text(
        '[[hosts]]\nname = "a"\nroles = ["master"]\naddress = "127.0.0.1"\n'
        '[[hosts]]\nname = "shut"\naddress = "127.0.0.2"\n'
    )

    def pushed() -> dict[str, str]:
        told = venturi("cluster", "push", file, "--json", home=tmp_path, VENTURI_AGENT=str(AGENT))
        assert told.returncode == 1
        return {row["name"]: row["state"] for row in json.loads(told.stdout)["data"]}

    assert pushed()["a"].startswith("sent, ")
    again = pushed()
    assert again["a"] == "was there"
    assert "refuses connections" in again["shut"]
    told = venturi("cluster", "check", file, home=tmp_path, VENTURI_AGENT=str(AGENT))
    assert told.returncode == 1
    assert told.stdout.startswith("2 hosts, 1 did not answer")
    assert "ssh a" in told.stdout
