"""`venturi cluster`: what a user sees of a cluster, of hosts over SSH, and of one that fails."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from command_line import AGENT, started, venturi
from sshd import Sshd, sshd
from venturi.machines.catalog import load_shipped
from venturi.measure.hosts.lock import alone

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
    file.write_text('name = "small"\n[[hosts]]\nname = "h"\nmemory = "64MiB"\n')
    told = venturi("cluster", "check", file, home=tmp_path)
    assert told.returncode == 2
    assert "describes a lab, not a cluster" in told.stderr
    assert "lab:small is its cluster then" in told.stderr


OF_TYPES = """\
[[hosts]]
name = "me"
here = true
type = "i4i.4xlarge"
roles = ["master", "worker"]
disks.any = ["{folder}"]
"""


def test_the_price_of_a_type_is_the_catalogues_with_source_and_date(tmp_path: Path) -> None:
    fact = load_shipped("current").types["i4i.4xlarge"].fact("price")
    (tmp_path / "own.csv").write_text(
        "instance_type,attribute,value,unit,kind,source,as_of,note\n"
        "i4i.4xlarge,price,0.3,EUR/h,assumed,our books,2026-02-03,\n"
    )
    given = '{ per_hour = 0.2, source = "a bill", as_of = 2026-05-01 }'
    for top, price, amount, currency, source, as_of in (
        ("", "", fact.value, "USD", fact.source, str(fact.as_of)),
        ('catalog = "own.csv"\n', "", 0.3, "EUR", "our books", "2026-02-03"),
        ("", f"price = {given}\n", 0.2, "USD", "a bill", "2026-05-01"),
    ):
        file = tmp_path / "c.toml"
        file.write_text(top + OF_TYPES.format(folder=tmp_path) + price)
        told = venturi("cluster", "check", file, home=tmp_path, VENTURI_AGENT=str(AGENT)).stdout
        assert f"price: {amount:.4g} {currency} per cluster-hour ({source}; {as_of})" in told
        words = ("cluster", "check", file, "--json")
        answer = venturi(*words, home=tmp_path, VENTURI_AGENT=str(AGENT)).stdout
        data = json.loads(answer)["data"]
        assert (data["price"]["amount"], data["price"]["as_of"]) == (amount, as_of)
        assert data["price_missing_reason"] is None


@pytest.mark.parametrize(
    ("top", "kind", "line", "says"),
    [
        ("", "i4i.4xlagre", 4, "did you mean i4i.4xlarge"),
        ('catalog = "ec2-2014"\n', "i4i.4xlarge", 5, "ec2-2014 has no instance type 'i4i.4xlarge'"),
        ('catalog = "curent"\n', "i4i.4xlarge", 1, "did you mean current?"),
    ],
)
def test_a_type_that_no_catalogue_has_is_a_mistake_with_its_line(
    tmp_path: Path, top: str, kind: str, line: int, says: str
) -> None:
    file = tmp_path / "c.toml"
    text = top + OF_TYPES.format(folder=tmp_path).replace("i4i.4xlarge", kind)
    file.write_text(text)
    told = venturi("cluster", "check", file, home=tmp_path)
    assert told.returncode == 2
    assert f"line {line}: " in told.stderr
    assert says in " ".join(told.stderr.split())
    file.write_text(text + 'price = { per_hour = 1, source = "x", as_of = 2026-01-01 }\n')
    assert venturi("cluster", "check", file, home=tmp_path).returncode != 2


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
    assert again["a"] == "already installed"
    assert "refuses connections" in again["shut"]
    told = venturi("cluster", "check", file, home=tmp_path, VENTURI_AGENT=str(AGENT))
    assert told.returncode == 1
    assert told.stdout.startswith("2 hosts, 1 did not answer")
    assert "ssh a" in told.stdout


def test_a_host_on_which_another_measures(tmp_path: Path, server: Sshd) -> None:
    file = tmp_path / "c.toml"
    file.write_text('[[hosts]]\nname = "a"\nroles = ["master"]\naddress = "127.0.0.1"\n')
    with alone(server.folder / "measuring.lock", "theirs"):
        told = started(  # a lock that this process holds itself doesn't block it
            "probe",
            "disk",
            "--cluster",
            file,
            "--dir",
            tmp_path,
            home=tmp_path / "home",
            VENTURI_AGENT=str(AGENT),
        )
        _, stderr = told.communicate()
    assert told.returncode == 1
    assert "VEN-MEASURE-BUSY" in stderr
    assert "measuring on a: theirs" in stderr
