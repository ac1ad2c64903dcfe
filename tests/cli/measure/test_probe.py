"""`venturi probe` (on a stand-in agent): tables, JSON, recording, options."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from command_line import FAKE_AGENT, PROGRAM, venturi
from venturi.measure.hosts.lock import alone
from venturi.record.trial import TrialWarning
from venturi.terminal.measurements import folded


def test_disk(tmp_path: Path) -> None:
    home = tmp_path / "home"
    done = venturi("probe", "disk", "--dir", tmp_path, "--mode", "read,read_write", home=home)
    assert done.returncode == 0, done.stderr
    assert "this takes at most about 60.0 s" in done.stderr
    verdict, *table = done.stdout.splitlines()
    assert "It reads 2,100 MB/s" in verdict
    assert sum("2,100 MB/s" in row for row in table) == 1  # not again as "all directories"
    assert "read, while writing" in done.stdout
    assert "random" not in done.stdout
    assert "/slow: read" in done.stdout
    (listed,) = json.loads(venturi("ls", "--json", home=home).stdout)["data"]
    assert listed["id"] in done.stdout


def test_net_says_that_loopback_is_no_network(tmp_path: Path) -> None:
    done = venturi("probe", "net", "--no-record", home=tmp_path / "home")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("loopback: cannot tell: the peers are on this machine")
    assert "\nloopback: memory copying, not a network" in done.stdout
    assert "slowest peer" in done.stdout
    assert not (tmp_path / "home").exists()


@pytest.mark.slow
def test_the_verdict_is_in_the_json(tmp_path: Path) -> None:
    done = venturi("probe", "disk", "--dir", tmp_path, "--mode", "read", "--json", home=tmp_path)
    (verdict,) = json.loads(done.stdout)["data"]["verdicts"]
    assert verdict["standing"] == "cannot tell"  # the stand-in's facts name no file system
    assert verdict["measured_bytes_per_s"] == 2.1e9


def test_tests_that_did_not_settle_are_one_line(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("a", "b")]
    for folder in folders:
        folder.mkdir()
    dirs = [word for folder in folders for word in ("--dir", str(folder))]
    arguments = ("probe", "disk", *dirs, "--mode", "write", "--no-record")
    done = venturi(*arguments, home=tmp_path / "home")
    (line,) = (row for row in done.stdout.splitlines() if "did not settle" in row)
    assert line.startswith("warning: 2 tests did not settle (--verbose says how each varied)")
    for place in (folders[0], "all directories together"):
        assert f"4.0 MiB blocks, depth 4 on {place}" in line
    each = venturi(*arguments, "--verbose", home=tmp_path / "home").stdout
    assert each.count("the last third was 30 % slower") == 2
    assert "did not settle" not in each


def test_host(tmp_path: Path) -> None:
    done = venturi("probe", "host", home=tmp_path / "home")
    assert "8.0 GiB" in done.stdout
    assert "core: integer" in done.stdout
    assert "200.0 million/s (100.0 million/s to 300.0 million/s)" in done.stdout
    assert "6.1.0-fake" in done.stdout
    done = venturi("probe", "host", "--json", home=tmp_path / "home")
    (host,) = json.loads(done.stdout)["data"]["cluster"]["hosts"]
    assert host["facts"]["hostname"] == "fake"


@pytest.mark.slow
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


def test_a_watch_says_how_the_machine_varies_and_goes_on(tmp_path: Path) -> None:
    home = tmp_path / "home"
    watch = ("probe", "disk", "--dir", tmp_path, "--every", "50ms")
    first = venturi(*watch, "--watch", "120ms", home=home)
    assert first.returncode == 0, first.stderr
    listed = json.loads(venturi("ls", "--json", home=home).stdout)["data"]
    probes = len(listed)
    assert probes >= 2
    assert {row["experiment"] for row in listed} == {"watch"}
    trial = json.loads(venturi("show", "last", "--json", home=home).stdout)["data"]
    brief = trial["configuration"]
    assert (brief["modes"], brief["iterations"], brief["max_seconds"]) == ("read,write", 1, 5.0)
    again = venturi(*watch, "--watch", "1h", "--every", "2h", "--json", home=home)
    assert f"goes on with {probes} probes of before" in again.stderr
    answer = json.loads(again.stdout)["data"]
    assert len(answer["trials"]) == probes + 1
    read, write = answer["rates"]
    assert (read["what"], read["n"], read["median"]) == ("read", probes + 1, pytest.approx(2.1e9))
    assert read["variation"] == 0
    assert read["peers"] == 0
    assert write["what"] == "write"


def test_ctrl_c_ends_a_watch_with_its_answer(tmp_path: Path) -> None:
    child = subprocess.Popen(
        [*PROGRAM, "probe", "disk", "--dir", str(tmp_path), "--watch", "1h", "--quiet"],
        env={
            **os.environ,
            "VENTURI_HOME": str(tmp_path / "home"),
            "VENTURI_AGENT": str(FAKE_AGENT),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stderr is not None
    while "probe 1:" not in (line := child.stderr.readline()):
        assert line, "it ended before its first probe"
    child.send_signal(signal.SIGINT)
    said, talk = child.communicate(timeout=60)
    assert child.returncode == 130, talk
    assert "read: cannot tell how it varies: 1 of at least 3 probes" in said
    assert "no other host of this type is in the repository" in said
    assert "the same command goes on" in talk


def test_every_without_watch_is_refused(tmp_path: Path) -> None:
    done = venturi("probe", "disk", "--every", "5min", home=tmp_path / "home")
    assert done.returncode == 2
    assert "add --watch TIME" in done.stderr


def test_a_test_that_did_not_settle_several_times_is_named_once() -> None:
    said = "read (4.0 MiB blocks, depth 4 on h1): the last third was 30 % slower"
    (line,) = folded([TrialWarning("VEN-MEASURE-UNSTEADY", said)] * 3)
    assert line.count("on h1") == 1
    assert line.startswith("3 tests did not settle")
