"""`python -m benchmarks.measure.traces`: `venturi-agent trace analyze` against blkparse and btt.

All read one generated trace (`benchmarks.measure.block_traces`) from the page cache, in turns:
ours, then `blkparse -d` and btt. A figure is the median of the rounds' CPU seconds (user+sys of the
processes), and of their ratios. Comparing with blkparse's own summary checks the counts of
requests. With --large, a trace of ten times the records is read, too, for its CPU seconds and
memory, and parts of its charts over time are requested, as by zooming into a page.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click
from pydantic import TypeAdapter

from benchmarks import process
from benchmarks.bench import REPOSITORY, find_agent
from benchmarks.measure.block_traces import EVENTS, PACE_NS, write_trace
from benchmarks.process import ProcessOutcome
from venturi.web.io.heat import Chart, HeatFile, HeatWindow
from venturi.web.io.page import IoHeat

PEERS = ("blkparse", "btt")
PARTS = 200
CHARTS: tuple[Chart, ...] = ("places", "times")


def checked(*command: object) -> ProcessOutcome:
    """A command that has to work."""
    outcome = process.run([str(word) for word in command])
    if outcome.ending != "ok":
        raise click.ClickException(f"{command[0]}: {outcome.complaint}")
    return outcome


def cpu_s(*outcomes: ProcessOutcome) -> float:
    """Processor seconds of all of them."""
    return sum(each.user_s + each.system_s for each in outcomes)


def analyzed(agent: Path, trace: Path) -> tuple[ProcessOutcome, dict[str, Any]]:
    """Run our analysis of a trace; return the outcome and the result."""
    outcome = checked(agent, "trace", "analyze", trace)
    (result,) = (
        event["data"]["trace"]
        for event in map(json.loads, outcome.stdout.splitlines())
        if event["event"] == "result"
    )
    return outcome, result


def of_peers(trace: Path, scratch: Path) -> tuple[ProcessOutcome, ProcessOutcome]:
    """blkparse joins the files of all processors into one, which btt reads."""
    joined = scratch / "joined.bin"
    parse = checked("blkparse", "-i", "sdb", "-D", trace, "-O", "-q", "-d", joined)
    # It writes files into the folder in which it is.
    summary = checked("env", "-C", scratch, "btt", "-i", joined)
    return parse, summary


def counted(summary: str) -> Counter[str]:
    """Count issues and completions in blkparse's final summary.

    Adds the counts per CPU, which are exact up to 10^6; the total is rounded.
    """
    of_cpus = summary[summary.index("\nCPU0") : summary.rindex("\nTotal")]
    counts: Counter[str] = Counter()
    for name, count in re.findall(r"(Dispatches|Completed):\s+(\d+)[,\s]", of_cpus):
        counts[name] += int(count)
    return counts


def text_of(trace: Path, into: Path) -> Counter[str]:
    """Let blkparse write the trace as text; return its counts."""
    checked("blkparse", "-i", "sdb", "-D", trace, "-o", into)
    with into.open("rb") as file:
        file.seek(max(into.stat().st_size - (1 << 16), 0))
        return counted(file.read().decode("ascii"))


def figure_line(name: str, values: Sequence[float], bar: str, form: str = "{:.3f}") -> None:
    """Print the figure, its median, its range, and its bar."""
    low, high = form.format(min(values)), form.format(max(values))
    click.echo(f"{name:48} {form.format(median(values)):>9}  {low} to {high}  {bar}")


def compare(agent: Path, folder: Path, requests: int, rounds: int) -> None:
    """Compare Venturi with its peers on one trace, and on its text."""
    records = f"{requests * EVENTS / 1e6:g} M"
    trace = write_trace(folder / "trace", requests)
    text = folder / "trace.txt"
    by_peer = text_of(trace, text)
    ours, peers, of_text, ratios, memory = [], [], [], [], []
    for _ in range(rounds):
        outcome, result = analyzed(agent, trace)
        actions = result["actions"]
        mine = Counter(Dispatches=actions["issue"], Completed=actions["complete"])
        if mine != by_peer:
            raise click.ClickException(f"counted differently: {mine} here, {by_peer} by blkparse")
        ours.append(cpu_s(outcome))
        memory.append(outcome.max_rss_bytes / 1e6)
        peers.append(cpu_s(*of_peers(trace, folder)))
        ratios.append(peers[-1] / ours[-1])
        outcome, result = analyzed(agent, text)
        if result["actions"] != actions:
            raise click.ClickException("the text has other records than the files")
        of_text.append(cpu_s(outcome))
    click.echo(f"D and C counted alike: {by_peer['Dispatches']:,} and {by_peer['Completed']:,}")
    figure_line(f"{records} records: processor s", ours, "0.3 for 10 M")
    figure_line(f"{records} records, blkparse -d and btt: processor s", peers, "")
    figure_line("times less than blkparse -d and btt", ratios, "30", "{:.1f}")
    figure_line(f"{records} records: memory, MB", memory, "", "{:.0f}")
    figure_line(f"{records} lines of blkparse's text: processor s", of_text, "0.8 for 10 M")


def zoomed(agent: Path, trace: Path, requests: int, cells: Path) -> None:
    """Parts of charts, from a tenth of a thousandth of the trace to all of it, as JSON."""
    checked(agent, "trace", "analyze", trace, "--heat", cells)
    draw = random.Random(1)
    end_s, took_s = requests * PACE_NS / 1e9, []
    for _ in range(PARTS):
        length_s = end_s * 10 ** draw.uniform(-4, 0)
        from_s = draw.uniform(0, end_s - length_s)
        operation, chart = draw.choice(("read", "written")), draw.choice(CHARTS)
        asked = HeatWindow("8,16", operation, chart, from_s, from_s + length_s)
        began_s = time.perf_counter()
        part = HeatFile(cells).part(asked)
        if part is None or not part.cells:
            raise click.ClickException(f"nothing in {asked}")
        TypeAdapter(IoHeat).dump_json(part)
        took_s.append(time.perf_counter() - began_s)
    p95_ms = 1e3 * sorted(took_s)[round(0.95 * PARTS) - 1]
    figure_line(f"{requests / 1e6:g} M I/Os, a part of a chart: p95, ms", [p95_ms], "200", "{:.1f}")


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--requests", default=2_000_000, show_default=True, help=f"{EVENTS} records each.")
@click.option("--rounds", default=5, show_default=True, help="How often each is measured.")
@click.option("--large", is_flag=True, help="Also ten times the records: 50 bytes of disk each.")
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPOSITORY / "target",
    show_default="target",
    help="Where the traces are.",
)
def main(requests: int, rounds: int, *, large: bool, folder: Path) -> None:
    """Compare `trace analyze` with blkparse and btt: CPU time, memory, counts."""
    agent, reason = find_agent(os.environ)
    missing = [name for name in PEERS if shutil.which(name) is None]
    if agent is None or missing:
        raise click.ClickException(reason or f"not installed: {', '.join(missing)}")
    click.echo(f"load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory(prefix="traces-", dir=folder) as made:
        compare(agent, Path(made), requests, rounds)
        if large:
            trace = write_trace(Path(made) / "large", 10 * requests)
            outcome, _ = analyzed(agent, trace)
            records = f"{10 * requests * EVENTS / 1e6:g} M records"
            figure_line(f"{records}: processor s", [cpu_s(outcome)], "3 for 100 M")
            figure_line(f"{records}: memory, MB", [outcome.max_rss_bytes / 1e6], "600", "{:.0f}")
            zoomed(agent, trace, 10 * requests, Path(made) / "cells")


if __name__ == "__main__":
    main()
