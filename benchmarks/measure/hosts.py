"""`python -m benchmarks.measure.hosts copies DESTINATION | check | disk`: hosts over SSH.

`copies`: reading a file's facts, starting a process, and copying a file of random bytes each way,
alternately by the link and by scp. DESTINATION is an argument of `ssh`; VENTURI_SSH applies.
`check`: `venturi cluster check` of several hosts, compared with as many concurrent plain `ssh HOST
true`, the limit. `disk`: DiskBench over SSH compared with a local one. The latter two start their
own SSH server on the loopback, so both ends share this machine's CPUs.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click

from benchmarks.bench import find_agent
from tests.support.sshd import sshd
from venturi.core import settings
from venturi.measure.hosts.agent import Agent
from venturi.measure.hosts.agent_results import DiskReport
from venturi.measure.hosts.host import LiveHost
from venturi.measure.hosts.local import LocalHost
from venturi.measure.hosts.ssh import connected
from venturi.measure.probes.probes import DiskOptions

LOOKS = 300
STARTS = 50
CHECK_S = 3.0
LEAST, MOST = 0.98, 1.02


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Compare hosts over SSH with this machine."""
    click.echo(f"load {os.getloadavg()[0]:.1f}")


@main.command()
@click.argument("destination")
@click.option("--size-mb", default=400, show_default=True, help="Of the file that is copied.")
@click.option("--repeats", default=3, show_default=True, help="Of each copy.")
def copies(destination: str, size_mb: int, repeats: int) -> None:
    """Prints medians; of copies the slowest and the fastest, too."""
    ssh = settings.load().ssh
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="venturi-")))
        big, back = folder / "big", folder / "back"
        with big.open("wb") as file:
            for _ in range(size_mb):
                file.write(os.urandom(1_000_000))
        agent = _agent()
        began_s = time.perf_counter()
        host = stack.enter_context(connected(destination, agent, ssh=ssh))
        click.echo(f"connected in {time.perf_counter() - began_s:.2f} s")
        for name, each in (("here", LocalHost()), (destination, host)):
            look_s = _median_s(partial(each.files.stat, Path("/")), LOOKS)
            start_s = _median_s(partial(_run, each), STARTS)
            click.echo(f"{name}: stat {look_s * 1e6:.0f} us, start and end {start_s * 1e3:.2f} ms")
        there = stack.enter_context(host.files.temporary("venturi-")) / "big"
        scp = ["scp", "-q", *ssh[1:]]
        ways: dict[str, Callable[[], object]] = {
            "put": lambda: host.files.put(big, there),
            "scp there": lambda: subprocess.run([*scp, big, f"{destination}:{there}"], check=True),
            "get": lambda: host.files.get(there, back),
            "scp back": lambda: subprocess.run([*scp, f"{destination}:{there}", back], check=True),
        }
        took_s: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(repeats):
            for name, copy in ways.items():
                took_s[name].append(_median_s(copy, 1))
        for name, each_s in took_s.items():
            rates = sorted(size_mb / took for took in each_s)
            click.echo(
                f"{name}: {statistics.median(rates):.0f} MB/s ({rates[0]:.0f} to {rates[-1]:.0f})"
            )


@main.command()
@click.option("--hosts", type=click.IntRange(1, 200), default=8, show_default=True)
@click.option("--pairs", type=click.IntRange(1), default=5, show_default=True)
def check(hosts: int, pairs: int) -> None:
    """Prints medians, the slowest and the fastest; exit status 1 above 3 s."""
    names = [f"h{number}" for number in range(1, hosts + 1)]
    took_s: dict[str, list[float]] = {"ssh HOST true": [], "venturi cluster check": []}
    with tempfile.TemporaryDirectory(prefix="venturi-") as place, sshd(Path(place) / "sshd"):
        folder = Path(place)
        client = folder / "sshd" / "client"
        client.write_text(client.read_text().replace("Host far", "Host *"))
        cluster, programs = folder / "cluster.toml", folder / "bin"
        programs.mkdir()
        ssh = shutil.which("ssh")
        (programs / "ssh").write_text(f'#!/bin/sh\nexec {ssh} -F {client} "$@"\n')
        (programs / "ssh").chmod(0o755)
        env = os.environ | {
            "PATH": f"{programs}:{os.environ['PATH']}",
            "VENTURI_AGENT": str(_agent()),
            "VENTURI_HOME": str(folder / "home"),
        }
        cluster.write_text(
            "".join(
                f'[[hosts]]\nname = "{name}"\naddress = "127.0.0.{number}"\n'
                f'roles = ["{"worker" if number > 1 else "master"}"]\n'
                for number, name in enumerate(names, start=1)
            )
        )

        def plain() -> None:
            begun = [
                subprocess.Popen(["ssh", "-T", "-oBatchMode=yes", name, "true"], env=env)
                for name in names
            ]
            statuses = [each.wait() for each in begun]  # all, also after one that failed
            if any(statuses):
                raise click.ClickException("ssh failed")

        def ours(verb: str = "check") -> None:
            # Hosts that are one machine are a problem, which it says by its status.
            command = ["cluster", verb, str(cluster), "--json", "-q"]
            venturi = [sys.executable, "-m", "venturi", *command]
            done = subprocess.run(venturi, env=env, capture_output=True, check=False)
            data = json.loads(done.stdout)["data"]
            if verb == "check" and any(host["said"] is None for host in data["hosts"]):
                raise click.ClickException(data["verdict"])

        ours("push")
        for number in range(pairs):
            both = list(zip(took_s, (plain, ours), strict=True))
            for name, act in both if number % 2 else both[::-1]:
                took_s[name].append(_median_s(act, 1))
    for name, each_s in took_s.items():
        click.echo(
            f"{name}, {hosts} hosts: {statistics.median(each_s):.2f} s "
            f"({min(each_s):.2f} to {max(each_s):.2f})"
        )
    if statistics.median(took_s["venturi cluster check"]) > CHECK_S:
        raise SystemExit(1)


@main.command()
@click.option("--dir", "folder", type=click.Path(path_type=Path), default=Path("target"))
@click.option("--pairs", type=click.IntRange(1), default=10, show_default=True)
@click.option("--size-mb", default=1000, show_default=True, help="Of each file.")
def disk(folder: Path, pairs: int, size_mb: int) -> None:
    """Prints the median ratios of pairs, over SSH / here; exit status 1 outside 0.98 to 1.02."""
    options = DiskOptions((folder.resolve(),), ("read", "write"), bytes=size_mb * 1_000_000)
    ratios: dict[str, list[float]] = {mode: [] for mode in options.modes}
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="venturi-")))
        server = stack.enter_context(sshd(place / "sshd"))
        agent = _agent()
        far = stack.enter_context(connected("far", agent, ssh=server.ssh))
        agents = {"here": Agent(str(agent), LocalHost()), "far": Agent(str(far.agent), far)}
        for number in range(pairs):
            rates: dict[str, dict[str, float]] = {}
            for name in list(agents)[:: 1 if number % 2 else -1]:
                told = agents[name].run("disk", *options.arguments()).read(DiskReport)
                rates[name] = {
                    each.mode: statistics.median(each.bytes_per_s.iterations)
                    for each in told.measurements
                    if each.dir is None
                }
            for mode, each in ratios.items():
                each.append(rates["far"][mode] / rates["here"][mode])
    for mode, each in ratios.items():
        click.echo(
            f"{mode}: {statistics.median(each):.3f} ({min(each):.3f} to {max(each):.3f}), "
            f"{pairs} pairs"
        )
    if any(not LEAST <= statistics.median(each) <= MOST for each in ratios.values()):
        raise SystemExit(1)


def _agent() -> Path:
    agent, reason = find_agent(os.environ)
    if agent is None:
        raise click.ClickException(reason)
    return agent


def _run(host: LiveHost) -> None:
    process = host.start(["true"])
    for _ in process.lines():
        pass
    process.wait()


def _median_s(act: Callable[[], object], times: int) -> float:
    found_s = []
    for _ in range(times):
        began_s = time.perf_counter()
        act()
        found_s.append(time.perf_counter() - began_s)
    return statistics.median(found_s)


if __name__ == "__main__":
    main()
