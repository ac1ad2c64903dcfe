"""`python -m benchmarks.diagnosis.shares`: predicted and measured times with more and fewer
executors.

As root. Workloads run on Spark in labs of one, two and four hosts, each with one executor and 0.3
of one of this machine's CPUs: with two CPUs, some is left for the system. From each trial the time
with the other numbers is predicted by replay, as in `venturi show`, and compared with that lab's
time. The number of tasks is the same. `--page` writes the table into docs/studies/diagnosis.md.
Needs Spark, Hadoop, and `--home`, the VENTURI_HOME with that Hadoop.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import click

from benchmarks.into_page import write_table

HOSTS = (1, 2, 4)
LAB = """
name = "{name}"
[disks.data]
size = "2GB"
[[hosts]]
name = "master"
roles = ["master"]
disks = {{ data = 1 }}
cpus = 0.4
[[hosts]]
name = "worker"
count = {hosts}
disks = {{ data = 1 }}
cpus = 0.3
"""
TASKS = 12
WORKLOADS = {
    "terasort": "240MB",
    "wordcount": "240MB",
    "sql-aggregation": "240MB",
}
HEAD = (
    "| workload | recorded on | measured there | on | predicted | measured | error |",
    "|---|--:|--:|--:|--:|--:|--:|",
)


class Venturi:
    """The product as a user starts it, with a record of its own."""

    def __init__(self, home: Path) -> None:
        self._environ = os.environ | {"VENTURI_HOME": str(home)}

    def __call__(self, *words: str) -> str:
        """Run the command and return its stdout."""
        command = [sys.executable, "-m", "venturi", *words]
        done = subprocess.run(
            command, env=self._environ, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise click.ClickException(f"venturi {' '.join(words)}: {done.stderr[-2000:]}")
        return done.stdout

    @contextmanager
    def lab(self, folder: Path, hosts: int) -> Iterator[str]:
        """Make a lab with this number of workers; yield its name."""
        name = f"shares-{hosts}"
        file = folder / f"{name}.toml"
        file.write_text(LAB.format(name=name, hosts=hosts), encoding="utf-8")
        self("lab", "up", str(file))
        try:
            yield name
        finally:
            self("lab", "down", "--lab", name)

    def job(self, lab: str, workload: str, size: str) -> dict[str, Any]:
        """Run a trial there and return the output of `show` about its job."""
        settings = {
            "spark.default.parallelism": f"{TASKS}",
            "spark.sql.shuffle.partitions": f"{TASKS}",
            "spark.sql.adaptive.enabled": "false",
            "spark.hadoop.dfs.blocksize": "20m",
            "spark.sql.files.maxPartitionBytes": "20m",
        }
        sets = [word for each in settings.items() for word in ("--set", "=".join(each))]
        told = self(
            "run",
            workload,
            "--engine",
            "spark:standalone",
            "--cluster",
            f"lab:{lab}",
            "--bytes",
            size,
            "--threads",
            "1",
            "--memory",
            "1GiB",
            "--repeat",
            "1",
            "--warm-up",
            "0",
            "--quiet",
            "--json",
            *sets,
        )
        (trial,) = json.loads(told)["data"]
        job: dict[str, Any] = json.loads(self("show", trial["id"], "--json"))["data"]["job"]
        return job


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(tuple(WORKLOADS)))
@click.option("--home", type=click.Path(path_type=Path), required=True, help="A VENTURI_HOME.")
@click.option("--page", type=click.Path(path_type=Path, exists=True), help="Write the table there.")
def main(names: tuple[str, ...], home: Path, page: Path | None) -> None:
    """Run all workloads, or those named, and print how far predictions are from measurements."""
    venturi, errors = Venturi(home), []
    jobs: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in names or WORKLOADS}
    with tempfile.TemporaryDirectory() as folder:
        for hosts in HOSTS:
            with venturi.lab(Path(folder), hosts) as lab:
                for name, found in jobs.items():
                    found[hosts] = venturi.job(lab, name, WORKLOADS[name])
    click.echo("\n".join(HEAD))
    for name, found in jobs.items():
        rows = []
        for here in HOSTS:
            for there in HOSTS:
                foretold_s = _predicted_s(found[here], there)
                if here == there or foretold_s is None:
                    continue
                measured_s = found[there]["elapsed_s"]
                errors.append(abs(foretold_s / measured_s - 1))
                rows.append(
                    f"| {name} | {here} | {found[here]['elapsed_s']:.1f} s | {there} "
                    f"| {foretold_s:.1f} s | {measured_s:.1f} s "
                    f"| {foretold_s / measured_s - 1:+.0%} |"
                )
                click.echo(rows[-1])
        if page is not None:
            write_table(page, "shares", HEAD, rows)
    click.echo(f"\nmedian error {median(errors):.0%}, largest {max(errors):.0%}")


def _predicted_s(job: dict[str, Any], slots: int) -> float | None:
    """Return the predicted time with this many slots, one per executor, if `show` has it."""
    found = (each["time_s"] for each in job["outlook"]["found"] if each["slots"] == slots)
    return next(found, None)


if __name__ == "__main__":
    main()
