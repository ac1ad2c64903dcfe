"""`python -m benchmarks.lab`: whether a lab is made fast, and is as fast as its file says.

Needs root. Labs are made in a folder of their own and taken down again: how long that takes; what
disks of several rates give to `dd` (buffered: its fsync counts, reads are cold) and to DiskBench
(direct); what links of several rates carry, one connection and all to all; and what two hosts send
to two others over a core that is too small for them.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from benchmarks.bench import find_agent
from venturi.measure.lab import lab
from venturi.measure.lab.lab_file import lab_of

NAME = "bench"
NETWORK = '[network]\naddresses = "10.79.0.0/24"\n'
HOSTS = frozenset({"h1", "h2", "h3", "h4"})
FLOW_S = 5.0
FOUR = "name = 'h'\ncount = 4\n"
RATES_MB_PER_S = (20, 100, 300, 1000)
LINKS = ("50Mbit/s", "200Mbit/s", "1Gbit/s", "4Gbit/s")
CORE = ("200Mbit/s", "200Mbit/s")  # four hosts' links, and the uplink of each two
DISK_S = 4.0
PORT = 8199
_DD = re.compile(r"(\d+) bytes .* copied, ([\d.e-]+) s")


@dataclass(frozen=True, slots=True)
class Row:
    """A figure, and whether it is as good as it has to be."""

    what: str
    value: float
    bar: str
    good: bool


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", default="time,disks,links", show_default=True, metavar="PART,...")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="On the disk for the disks.")
def main(only: str, rounds: int, folder: Path | None) -> None:
    """Exit status 1 if a figure is not reached."""
    parts = {"time": _times, "disks": _disks, "links": _links}
    missed = False
    with tempfile.TemporaryDirectory(prefix="venturi-lab-", dir=folder) as home:
        for name in only.split(","):
            for row in parts[name](Path(home), rounds):
                verdict = "reached" if row.good else "MISSED"
                click.echo(f"{row.what:<44}  {row.value:8.3f}  {row.bar:<14}  {verdict}")
                missed |= not row.good
    sys.exit(1 if missed else 0)


def _times(home: Path, rounds: int) -> Iterator[Row]:
    ups, downs = [], []
    text = _text("[disks.ssd]\nsize = '1GB'\nrate = '100MB/s'\n", FOUR + "disks = { ssd = 3 }")
    for _ in range(rounds):
        begun_s = time.monotonic()
        with _lab(home, text):
            ups.append(time.monotonic() - begun_s)
            begun_s = time.monotonic()
        downs.append(time.monotonic() - begun_s)
    for what, found, most in (("up", ups, 10.0), ("down", downs, 5.0)):
        median = statistics.median(found)
        yield Row(f"4 hosts with 3 disks: {what}, s", median, f"<= {most:.0f}", median <= most)


def _disks(home: Path, rounds: int) -> Iterator[Row]:
    classes = "".join(
        f"[disks.r{rate}x]\nrate = '{rate}MB/s'\n"
        f"size = '{round(rate * _seconds(rate) * 4.2 + 200)}MB'\n"
        for rate in RATES_MB_PER_S
    )
    disks = ", ".join(f"r{rate}x = 1" for rate in RATES_MB_PER_S)
    with _lab(home, _text(classes, f"name = 'h'\ndisks = {{ {disks} }}")):
        for rate in RATES_MB_PER_S:
            folder = f"/venturi/r{rate}x0"
            for way, measure in (("buffered", _buffered), ("direct", _direct)):
                for what, found in measure(home, folder, rate, rounds).items():
                    ratio = statistics.median(found) / (rate * 1e6)
                    name = f"disk of {rate} MB/s: {way} {what} / set"
                    yield Row(name, ratio, "0.95 to 1.05", 0.95 <= ratio <= 1.05)


def _seconds(rate: int) -> float:
    """Long enough that the megabytes which the kernel lets through at first weigh little."""
    return max(DISK_S, 200 / rate)


def _direct(home: Path, folder: str, rate: int, rounds: int) -> dict[str, list[float]]:
    """Bytes/s of DiskBench, by what it measures."""
    seconds = _seconds(rate)
    said = _inside("h", _agent(), "disk", "--dir", folder, "--mode", "read,write", "--bytes",
                   str(round(rate * 1e6 * seconds)), "--min-seconds", str(seconds),
                   "--iterations", str(rounds), home=home)  # fmt: skip
    found = _result(said)["measurements"]
    return {each["mode"]: each["bytes_per_s"]["iterations"] for each in found}


def _buffered(home: Path, folder: str, rate: int, rounds: int) -> dict[str, list[float]]:
    """Bytes/s of `dd`: of a file that is written and made durable, and of it read from the disk."""
    found: dict[str, list[float]] = {"write": [], "read": []}
    file, count = f"{folder}/file", round(rate * _seconds(rate) * 1e6 / 2**20)
    for _ in range(rounds):
        _inside("h", "rm", "-f", file, home=home)
        found["write"].append(_dd("/dev/zero", file, count, "conv=fsync", home))
        _inside("h", "dd", f"if={file}", "iflag=nocache", "count=0", home=home)
        found["read"].append(_dd(file, "/dev/null", count, "iflag=nocache", home))
    _inside("h", "rm", "-f", file, home=home)
    return found


def _dd(source: str, target: str, count: int, flag: str, home: Path) -> float:
    said = _inside("h", "dd", f"if={source}", f"of={target}", "bs=1M", f"count={count}", flag,
                   home=home)  # fmt: skip
    copied = _DD.search(said)
    assert copied, said
    return int(copied[1]) / float(copied[2])


def _links(home: Path, rounds: int) -> Iterator[Row]:
    for rate in LINKS:
        with _lab(home, _text("", FOUR + f"rate = '{rate}'")):
            one = _flows(home, {"h1": ("h2",)}, rounds)
            every = _flows(home, {each: tuple(HOSTS - {each}) for each in HOSTS}, rounds) / 4
        for what, found in (("one connection", one), ("all to all, each host", every)):
            ratio = found * 8 / _bits(rate)
            yield Row(f"link of {rate}: {what} / set", ratio, ">= 0.93", ratio >= 0.93)
    link, uplink = CORE
    racks = "".join(f"[racks.{name}]\nuplink = '{uplink}'\n" for name in "ab")
    hosts = [f"name = 'h{n}'\nrack = '{rack}'\nrate = '{link}'" for n, rack in enumerate("aabb", 1)]
    with _lab(home, _text(racks, *hosts)):
        across = _flows(home, {"h1": ("h3", "h4"), "h2": ("h3", "h4")}, rounds)
    ratio = across * 8 / _bits(uplink)
    yield Row(f"core of {uplink}: two hosts to two / set", ratio, "0.93 to 1", 0.93 <= ratio <= 1)


# Listens, sends to all hosts that it is given once it is told to go, and says how many bytes/s it
# got in the seconds after the first.
_FLOWS = """
import socket, sys, threading, time
got, seconds, port = [0], float(sys.argv[1]), int(sys.argv[2])
server = socket.create_server(("", port), backlog=64)
def take(link):
    buffer = bytearray(1 << 20)
    while count := link.recv_into(buffer):
        got[0] += count
def accept():
    while True:
        threading.Thread(target=take, args=(server.accept()[0],), daemon=True).start()
def send(host):
    link, data = socket.create_connection((host, port)), bytes(1 << 18)
    while True:
        link.sendall(data)
threading.Thread(target=accept, daemon=True).start()
print("ready", flush=True)
sys.stdin.readline()
for host in sys.argv[3:]:
    threading.Thread(target=send, args=(host,), daemon=True).start()
time.sleep(1.5)
first, begun = got[0], time.monotonic()
time.sleep(seconds)
print((got[0] - first) / (time.monotonic() - begun), flush=True)
sys.stdin.readline()
"""


def _flows(home: Path, targets: Mapping[str, Sequence[str]], rounds: int) -> float:
    """Bytes/s that all hosts got together while each sent to its targets; median of rounds."""
    found = []
    for _ in range(rounds):
        hosts = [
            subprocess.Popen(
                [*lab.enter(home, NAME, host), sys.executable, "-c", _FLOWS, str(FLOW_S),
                 str(PORT), *targets.get(host, ())],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            )
            for host in sorted(HOSTS)
        ]  # fmt: skip
        for word in ("ready", "rate"):
            said = [each.stdout.readline() for each in hosts if each.stdout]
            if word == "rate":
                found.append(sum(map(float, said)))
            for each in hosts:
                assert each.stdin
                each.stdin.write("go\n")
                each.stdin.flush()
        for each in hosts:
            each.communicate(timeout=30)
    return statistics.median(found)


def _result(said: str) -> Any:
    (result,) = (e["data"] for e in map(json.loads, said.splitlines()) if e["event"] == "result")
    return result


def _agent() -> str:
    agent, why = find_agent(os.environ)
    if agent is None:
        raise click.ClickException(why)
    return str(agent)


def _bits(rate: str) -> float:
    number, unit = float(rate[: -len("Xbit/s")]), rate[-len("Xbit/s")]
    return number * {"M": 1e6, "G": 1e9}[unit]


def _text(before: str, *hosts: str) -> str:
    return f"name = '{NAME}'\n{NETWORK}{before}" + "".join(f"[[hosts]]\n{each}\n" for each in hosts)


def _inside(host: str, *command: str, home: Path) -> str:
    done = subprocess.run(
        [*lab.enter(home, NAME, host), *command], capture_output=True, text=True, check=False,
        env={"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )  # fmt: skip
    if done.returncode:
        raise click.ClickException(f"{command[0]}: {done.stderr.strip()[-500:]}")
    return done.stdout + ("" if command[0].endswith("agent") else done.stderr)


@contextmanager
def _lab(home: Path, text: str) -> Iterator[None]:
    lab.up(lab_of(text, Path("lab.toml")), home, cores=2)
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            lab.down(home, NAME)


if __name__ == "__main__":
    main()
