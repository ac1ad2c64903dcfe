"""`python -m benchmarks.measure.traced_load`: cost of `trace record` while it records. As root.

`rate`: records random reads of 4 KiB on an ext4 in memory, limited by the kernel to 75,000 a second
(control groups, version 1), with four events each. Reports events per second, lost events, and the
recorder's share of a CPU at 200,000 events a second, from its CPU time per event.

`slowdown`: TeraSort without and with `venturi run --trace`, in successive pairs of alternating
order; reports the median of the pairs' ratios. A shared disk varies by more than recording can
cost; with --in-memory the data are on an ext4 in memory, which has a constant speed, so that only
the recorder's CPU use remains.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from benchmarks.bench import REPOSITORY, find_agent
from benchmarks.figures import Bar, Figure, FigureRow, figure, ratio_figure, verdict
from benchmarks.measure.traced_spark import disk_in, recorder
from benchmarks.measure.traces import checked

AT_EVENTS_PER_S = 200_000
_FILE_BYTES = 128 << 20
_MEMORY = Path("/dev/shm")
_READS_PER_S = 75_000
_LIMIT = Path("/sys/fs/cgroup/blkio/blkio.throttle.read_iops_device")
RATE = FigureRow("rate", "events a second", "/s", Bar(low=AT_EVENTS_PER_S))
LOST = FigureRow("lost", "events lost", "", Bar(high=0))
SHARE = FigureRow("share", "of a processor at 200,000 events a second", "%", Bar(high=2))
SLOWDOWN = FigureRow("slowdown", "traced / not traced", "x", Bar(high=1.02))


@contextmanager
def limited(folder: Path) -> Iterator[None]:
    """Limit the reads per second of the disk of `folder` until the block is left."""
    number = folder.stat().st_dev
    disk = f"{os.major(number)}:{os.minor(number)}"
    _LIMIT.write_text(f"{disk} {_READS_PER_S}")
    try:
        yield
    finally:
        _LIMIT.write_text(f"{disk} 0")


def figure_line(found: Figure) -> None:
    """A line: the figure, its interval, its bar."""
    value, low, high = (
        "-" if each is None else f"{each:,.3f}" for each in (found.value, found.low, found.high)
    )
    row = found.row
    click.echo(
        f"{row.title}: {value} {row.unit} ({low} to {high}), bar {row.bar}: {verdict(found)}"
    )


def _agent() -> Path:
    agent, reason = find_agent(os.environ)
    if agent is None:
        raise click.ClickException(reason)
    return agent


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def main() -> None:
    """Measure the cost of `trace record` while it records."""
    click.echo(f"load {os.getloadavg()[0]:.1f}")


@main.command()
@click.option("--seconds", default=5, show_default=True, help="Of each round.")
@click.option("--rounds", default=5, show_default=True)
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPOSITORY / "target",
    show_default="target",
    help="Where the recording is.",
)
def rate(*, seconds: int, rounds: int, folder: Path) -> None:
    """Measure the rate that is recorded without loss, and its cost."""
    agent = _agent()
    per_s, lost, shares = [], [], []
    with (
        tempfile.TemporaryDirectory(prefix="traced-", dir=_MEMORY) as memory,
        tempfile.TemporaryDirectory(prefix="traced-", dir=folder) as made,
        disk_in(Path(memory) / "image", Path(memory) / "disk", 4 * _FILE_BYTES) as disk,
        limited(disk),
    ):
        load = [
            agent,
            "disk",
            "--dir",
            disk,
            "--mode",
            "random_read",
            "--bytes",
            _FILE_BYTES,
            "--random-block-bytes",
            4096,
            "--random-queue-depth",
            32,
            "--iterations",
            1,
            "--random-seconds",
            seconds,
        ]
        for number in range(rounds):
            with recorder(agent, disk, Path(made) / f"{number}") as found:
                checked(*load)
            (result,) = found
            per_s.append(result["events"] / result["elapsed_s"])
            lost.append(result["lost"])
            shares.append(100 * AT_EVENTS_PER_S * result["cpu_s"] / result["events"])
    for row, values in ((RATE, per_s), (LOST, lost), (SHARE, shares)):
        figure_line(figure(row, values))


@main.command()
@click.option(
    "--engine", type=click.Choice(["native", "spark"]), default="native", show_default=True
)
@click.option("--bytes", "size", default="1GB", show_default=True, help="Of the sort.")
@click.option("--pairs", default=6, show_default=True)
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPOSITORY / "target",
    show_default="target",
    help="Where the data are.",
)
@click.option("--in-memory", is_flag=True, help="Have the data in memory, whatever --dir.")
def slowdown(*, engine: str, size: str, pairs: int, folder: Path, in_memory: bool) -> None:
    """How much longer TeraSort takes when it is recorded."""
    agent = _agent()
    took_s: dict[bool, list[float]] = {False: [], True: []}
    with ExitStack() as stack:
        place = _MEMORY if in_memory else folder
        made = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="traced-", dir=place)))
        data = made / "data"
        if in_memory:
            room_bytes = shutil.disk_usage(made).free // 2
            stack.enter_context(disk_in(made / "image", data, room_bytes))
        else:
            data.mkdir()
        env = {**os.environ, "VENTURI_HOME": f"{made}/home", "VENTURI_AGENT": str(agent)}
        command = [
            sys.executable,
            "-m",
            "venturi",
            "run",
            "terasort",
            "--engine",
            engine,
            "--bytes",
            size,
            "--repeat",
            "1",
            "--warm-up",
            "0",
            "--dir",
            str(data),
            "--quiet",
            "--json",
        ]

        def once(*, traced: bool) -> float:
            words = [*command, *(["--trace"] if traced else [])]
            done = subprocess.run(words, env=env, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise click.ClickException(done.stderr)
            (trial,) = json.loads(done.stdout)["data"]
            if traced != any(each["name"] == "io-trace.json" for each in trial["artifacts"]):
                raise click.ClickException(f"traced: {traced}, but the trial says otherwise")
            elapsed_s: float = trial["elapsed_s"]
            return elapsed_s

        once(traced=False)  # makes the input and fills caches
        for number in range(pairs):
            for traced in (False, True) if number % 2 else (True, False):
                took_s[traced].append(once(traced=traced))
    click.echo(f"{engine}, {size}: {min(took_s[False]):.2f} to {max(took_s[False]):.2f} s alone")
    figure_line(ratio_figure(SLOWDOWN, took_s[True], took_s[False]))


if __name__ == "__main__":
    main()
