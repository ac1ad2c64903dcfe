"""`python -m benchmarks.hosts DESTINATION`: a host over SSH beside this machine and beside scp.

A look at a file, the start of a process, and copies of a file of random bytes each way, by the link
and by scp in turn. DESTINATION is what one types after `ssh`; VENTURI_SSH is heeded.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import click

from benchmarks.bench import find_agent
from venturi import settings
from venturi.measure.hosts.host import Host
from venturi.measure.hosts.local import LocalHost
from venturi.measure.hosts.ssh import connected

LOOKS = 300
STARTS = 50


@click.command()
@click.argument("destination")
@click.option("--size-mb", default=400, show_default=True, help="Of the file that is copied.")
@click.option("--repeats", default=3, show_default=True, help="Of each copy.")
def command(destination: str, size_mb: int, repeats: int) -> None:
    """Prints medians; of copies the slowest and the fastest, too."""
    ssh = settings.load().ssh
    click.echo(f"load {os.getloadavg()[0]:.1f}")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="venturi-")))
        big, back = folder / "big", folder / "back"
        with big.open("wb") as file:
            for _ in range(size_mb):
                file.write(os.urandom(1_000_000))
        agent, reason = find_agent(os.environ)
        if agent is None:
            raise click.ClickException(reason)
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


def _run(host: Host) -> None:
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
    command()
