"""`python -m benchmarks.measure.lab`: how fast a lab is made, and whether it has the rates in its
file.

Needs root. Labs are made in a folder of their own and taken down again. Measured are: the time that
takes; the rates of disks with several limits and each model, with `dd` (buffered: its fsync counts,
reads are cold) and DiskBench (direct); the rates of links with several limits, one connection and
all to all; and the transfer from two hosts to two others over a core too small for them.

Each figure is compared with unlimited ones of the same run: for disks, a plain file of this machine
in the same folder and a lab's disk without limit; for links, those of a lab without limits. If
these are below the set rate, the machine is the reason for a missed one.
"""

from __future__ import annotations

import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from benchmarks.bench import find_agent
from venturi.measure.lab import lab
from venturi.measure.lab.lab_file import lab_of

NAME = f"bench-{os.getpid()}"
NETWORK = '[network]\naddresses = "10.79.0.0/24"\n'
HOSTS = frozenset({"h1", "h2", "h3", "h4"})
FLOW_S = 5.0
FOUR = "name = 'h'\ncount = 4\n"
FREE_MB = 1000.0
"""Megabytes to transfer without a limit."""
CORE_MBIT_PER_S = (200, 200)  # four hosts' links, and the uplink of each two
DISK_S = 4.0
MODELS = {
    "disks": "model = 'throttle'",
    "hdd": "model = 'spindle'\nseek = '8.5ms'\nrotation = '8.33ms'",
    "flash": "model = 'spindle'\niops = 5000",
}
"""Settings of the disks in the lab's file for each part that measures disks, except size and
rate.
"""
PORT = 8199
Run = Callable[..., str]
"""Runs a command, here or in a host, and returns its output."""
_DD = re.compile(r"(\d+) bytes .* copied, ([\d.e-]+) s")


@dataclass(frozen=True, slots=True)
class LabFigure:
    """A figure in `unit`, its share of the set value, and unlimited figures to compare."""

    what: str
    set: float
    measured: float
    unit: str
    least: float
    most: float = math.inf
    unlimited: tuple[float, ...] = ()

    @property
    def share(self) -> float:
        """The measured value over the set one."""
        return self.measured / self.set

    @property
    def good(self) -> bool:
        """Return whether the figure reaches its bar."""
        return self.least <= self.share <= self.most

    @property
    def verdict(self) -> str:
        """In a word; a share that this machine cannot give is missed, too."""
        if self.good:
            return "reached"
        short = self.unlimited and min(self.unlimited) < self.least * self.set
        return "MISSED: the machine gives less" if short and self.share < 1 else "MISSED"


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", default="time,disks,hdd,flash,links", show_default=True, metavar="PART,...")
@click.option("--rounds", type=click.IntRange(1), default=3, show_default=True)
@click.option("--dir", "folder", type=click.Path(path_type=Path), help="On the disk for the disks.")
@click.option("--disks", default="20,100,300,1000", show_default=True, help="MB/s, with commas.")
@click.option("--links", default="50,200,1000,4000", show_default=True, help="Mbit/s, with commas.")
def main(only: str, rounds: int, folder: Path | None, disks: str, links: str) -> None:
    """Exit status 1 if a figure is not reached."""
    rates = [int(each) for each in disks.split(",")]
    parts: dict[str, Callable[[Path, int], Iterator[LabFigure]]] = {
        "time": _times,
        **{part: partial(_disks, rates=rates, part=part) for part in MODELS},
        "links": partial(_links, rates=[float(each) for each in links.split(",")]),
    }
    missed = False
    click.echo(f"load {os.getloadavg()[0]:.1f}")
    click.echo(
        f"{'figure':<40} {'unit':<6} {'set':>8} {'measured':>8} {'share':>6}  "
        f"{'unlimited':>19}  verdict"
    )
    with tempfile.TemporaryDirectory(prefix="venturi-lab-", dir=folder) as home:
        for name in only.split(","):
            for row in parts[name](Path(home), rounds):
                beside = " / ".join(f"{each:.1f}" for each in row.unlimited)
                click.echo(
                    f"{row.what:<40} {row.unit:<6} {row.set:8.1f} {row.measured:8.1f} "
                    f"{row.share:6.3f}  {beside:>19}  {row.verdict}"
                )
                missed |= not row.good
    sys.exit(1 if missed else 0)


def _times(home: Path, rounds: int) -> Iterator[LabFigure]:
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
        yield LabFigure(f"4 hosts with 3 disks: {what}", most, median, "s", 0, 1)


def _disks(home: Path, rounds: int, rates: Sequence[int], part: str) -> Iterator[LabFigure]:
    classes = "".join(
        f"[disks.r{rate}x]\n{MODELS[part]}\nrate = '{rate}MB/s'\n"
        f"size = '{round(rate * _seconds(rate) * 4.2 + 200)}MB'\n"
        for rate in rates
    )
    disks = ", ".join(f"r{rate}x = 1" for rate in rates)
    plain = home / "plain"
    plain.mkdir(exist_ok=True)
    classes += f"[disks.free]\nsize = '{round(FREE_MB * 4.2 + 200)}MB'\n"
    with _lab(home, _text(classes, f"name = 'h'\ndisks = {{ {disks}, free = 1 }}")):
        for way, measure in (("buffered", _buffered), ("direct", _direct)):
            machine = measure(_here, str(plain), FREE_MB, 0.0, rounds)
            free = measure(partial(_inside, home, "h"), "/venturi/free0", FREE_MB, 0.0, rounds)
            for rate in rates:
                inside, seconds = partial(_inside, home, "h"), _seconds(rate)
                folder = f"/venturi/r{rate}x0"
                for what, found in measure(inside, folder, rate * seconds, seconds, rounds).items():
                    limits = tuple(statistics.median(each[what]) / 1e6 for each in (machine, free))
                    measured = statistics.median(found) / 1e6
                    yield LabFigure(
                        f"{part}, {way} {what} (plain file / no limit)",
                        rate,
                        measured,
                        "MB/s",
                        0.95,
                        1.05,
                        limits,
                    )


def _seconds(rate: int) -> float:
    """Long enough that the megabytes which the kernel lets through at first weigh little."""
    return max(DISK_S, 200 / rate)


def _direct(
    run: Run, folder: str, megabytes: float, seconds: float, rounds: int
) -> dict[str, list[float]]:
    """Return DiskBench's bytes/s by role, for `seconds` at least."""
    said = run(
        _agent(),
        "disk",
        "--dir",
        folder,
        "--mode",
        "read,write",
        "--bytes",
        str(round(megabytes * 1e6)),
        "--min-seconds",
        str(seconds),
        "--iterations",
        str(rounds),
    )
    found = _result(said)["measurements"]
    return {each["mode"]: each["bytes_per_s"]["iterations"] for each in found}


def _buffered(
    run: Run, folder: str, megabytes: float, _seconds: float, rounds: int
) -> dict[str, list[float]]:
    """Bytes/s of `dd`: of a file that is written and made durable, and of it read from the disk."""
    found: dict[str, list[float]] = {"write": [], "read": []}
    file, count = f"{folder}/file", round(megabytes * 1e6 / 2**20)
    for _ in range(rounds):
        run("rm", "-f", file)
        found["write"].append(_dd(run, "/dev/zero", file, count, "conv=fsync"))
        run("dd", f"if={file}", "iflag=nocache", "count=0")
        found["read"].append(_dd(run, file, "/dev/null", count, "iflag=nocache"))
    run("rm", "-f", file)
    return found


def _dd(run: Run, source: str, target: str, count: int, flag: str) -> float:
    said = run("dd", f"if={source}", f"of={target}", "bs=1M", f"count={count}", flag)
    copied = _DD.search(said)
    assert copied, said
    return int(copied[1]) / float(copied[2])


def _links(home: Path, rounds: int, rates: Sequence[float]) -> Iterator[LabFigure]:
    everywhere = {each: tuple(HOSTS - {each}) for each in HOSTS}
    with _lab(home, _text("", FOUR)):
        free_one = _flows(home, {"h1": ("h2",)}, rounds).goodput
        free_every = _flows(home, everywhere, rounds).goodput / len(HOSTS)
    for rate in rates:
        with _lab(home, _text("", FOUR + f"rate = '{rate:g}Mbit/s'")):
            one = _flows(home, {"h1": ("h2",)}, rounds)
            every = _flows(home, everywhere, rounds)
        yield LabFigure(
            "link: one connection", rate, one.goodput, "Mbit/s", 0.93, unlimited=(free_one,)
        )
        for what, found in (("", every.goodput), (", with headers", every.wire)):
            yield LabFigure(
                f"link: all to all, each host{what}",
                rate,
                found / len(HOSTS),
                "Mbit/s",
                0.93,
                unlimited=(free_every,),
            )
    link, uplink = CORE_MBIT_PER_S
    racks = "".join(f"[racks.{name}]\nuplink = '{uplink}Mbit/s'\n" for name in "ab")
    hosts = [
        f"name = 'h{n}'\nrack = '{rack}'\nrate = '{link}Mbit/s'" for n, rack in enumerate("aabb", 1)
    ]
    with _lab(home, _text(racks, *hosts)):
        across = _flows(home, {"h1": ("h3", "h4"), "h2": ("h3", "h4")}, rounds)
    yield LabFigure("core: two hosts to two", uplink, across.goodput, "Mbit/s", 0.93, 1)


# Listens, sends to all given hosts after a signal, and prints two rates in bytes/s for the seconds
# after the first: received, and sent including all headers, acknowledgements and retransmissions; 0
# for a link without a limit, which doesn't count.
_FLOWS = """
import re, socket, subprocess, sys, threading, time
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
def seen():
    said = subprocess.run(["tc", "-s", "qdisc", "show", "dev", "eth0"], stdout=subprocess.PIPE)
    return got[0], int(re.search(rb"Sent ([0-9]+) bytes", said.stdout)[1]), time.monotonic()
time.sleep(1.5)
first = seen()
time.sleep(seconds)
data, link, passed = (now - then for now, then in zip(seen(), first))
print(data / passed, link / passed, flush=True)
sys.stdin.readline()
"""


@dataclass(frozen=True, slots=True)
class Flows:
    """Mbit/s of all hosts together: received by programs, and carried by links for that."""

    goodput: float
    wire: float


def _flows(home: Path, targets: Mapping[str, Sequence[str]], rounds: int) -> Flows:
    """Return the hosts' rates while each sends to its targets; medians of rounds."""
    found = []
    for _ in range(rounds):
        hosts = [
            subprocess.Popen(
                [
                    *lab.enter(home, NAME, host),
                    sys.executable,
                    "-c",
                    _FLOWS,
                    str(FLOW_S),
                    str(PORT),
                    *targets.get(host, ()),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            for host in sorted(HOSTS)
        ]
        for word in ("ready", "rate"):
            said = [each.stdout.readline() for each in hosts if each.stdout]
            if word == "rate":
                rows = [[float(part) for part in line.split()] for line in said]
                found.append([sum(row) * 8 / 1e6 for row in zip(*rows, strict=True)])
            for each in hosts:
                assert each.stdin
                each.stdin.write("go\n")
                each.stdin.flush()
        for each in hosts:
            each.communicate(timeout=30)
    goodput, wire = (statistics.median(each) for each in zip(*found, strict=True))
    return Flows(goodput, wire)


def _result(said: str) -> Any:
    (result,) = (e["data"] for e in map(json.loads, said.splitlines()) if e["event"] == "result")
    return result


def _agent() -> str:
    agent, why = find_agent(os.environ)
    if agent is None:
        raise click.ClickException(why)
    return str(agent)


def _text(before: str, *hosts: str) -> str:
    return f"name = '{NAME}'\n{NETWORK}{before}" + "".join(f"[[hosts]]\n{each}\n" for each in hosts)


def _inside(home: Path, host: str, *command: str) -> str:
    return _here(*lab.enter(home, NAME, host), *command)


def _here(*command: str) -> str:
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={"LC_ALL": "C", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"},
    )
    if done.returncode:
        raise click.ClickException(f"{command[-1]}: {done.stderr.strip()[-500:]}")
    return done.stdout or done.stderr


@contextmanager
def _lab(home: Path, text: str) -> Iterator[None]:
    lab.up(lab_of(text, Path("lab.toml")), home, cores=2, agent=Path(_agent()))
    try:
        yield
    finally:
        with suppress(FileNotFoundError):
            lab.down(home, NAME)


if __name__ == "__main__":
    main()
