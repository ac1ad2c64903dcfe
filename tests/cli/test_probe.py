"""`venturi probe` (on a stand-in agent): tables, JSON, recording, options."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from command_line import venturi
from venturi.measure.alone import alone


def test_disk(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = venturi("probe", "disk", "--dir", tmp_path, "--mode", "read,read_write", home=home)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("2,100 MB/s") == 1  # not again as "all directories"
    assert "read, while writing" in done.stdout
    assert "random" not in done.stdout
    assert "/slow: read" in done.stdout
    (listed,) = json.loads(venturi("ls", "--json", home=home).stdout)["data"]
    assert listed["id"] in done.stdout


def test_net_says_that_loopback_is_no_network(tmp_path: Path) -> None:
    done = venturi("probe", "net", "--no-record", home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("loopback: memory copying, not a network")
    assert "slowest peer" in done.stdout
    assert not (tmp_path / "home").exists()


def test_host(tmp_path: Path) -> None:
    done = venturi("probe", "host", home=tmp_path / "home")
    assert "8.0 GiB" in done.stdout
    assert "6.1.0-fake" in done.stdout
    done = venturi("probe", "host", "--json", home=tmp_path / "home")
    (host,) = json.loads(done.stdout)["data"]["cluster"]["hosts"]
    assert host["facts"]["hostname"] == "fake"


def test_lost_messages_exit_3(tmp_path: Path) -> None:
    done = venturi("probe", "net", home=tmp_path / "home", FAKE_FAULT="lost-message")
    assert done.returncode == 3
    assert "invalid" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("disk", "--mode", "sideways"), "sideways"),
        (("disk", "--random-block-bytes", "4KiB,4 furlongs"), "furlongs"),
        (("disk", "--iterations", "0"), "--iterations"),
        (("net", "--peer", "a:1", "--loopback", "2"), "either --peer or --loopback"),
        (("net", "--loopback", "1"), "--loopback"),
        (("net", "--scale", "2,x"), "x"),
    ],
)
def test_bad_options_exit_2(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    done = venturi("probe", *arguments, home=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [("probe", "disk"), ("probe", "net"), ("quickstart",)])
def test_nothing_measures_beside_a_measurement(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    with alone(Path(os.environ["VENTURI_LOCK"]), "a plan"):
        done = venturi(*arguments, home=tmp_path / "home")
    assert done.returncode == 1
    assert "VEN-MEASURE-BUSY" in done.stderr
    assert "a plan" in done.stderr
