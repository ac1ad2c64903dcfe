"""`python -m benchmarks.measure.locate_files`: cost of `getFile` with tiers and with stock Spark.

A local Spark of the installed PySpark locates new names and existing files; each variant runs in
its own JVM, in turn.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
from itertools import product
from pathlib import Path

import click
import pyspark

from venturi.measure.engines.spark import tiers
from venturi.record.job_account import TIERS_SETTING

_JARS = Path(pyspark.__file__).parent / "jars"
_SOURCE = Path(__file__).with_name("LocateFiles.java")
# Where the files are.
STORES = {"on the first tier": "ssd 1MB", "on the last": "ssd 1000TB"}
_OPENS = ("sun.nio.ch", "java.nio", "java.lang", "java.util")


def cost_ns(store: str | None, names: int) -> dict[str, float]:
    """Return the CPU time of a call in ns, by kind of file. `store`: tiers, or None: stock
    Spark.
    """
    with tempfile.TemporaryDirectory() as name:
        disks = [Path(name) / disk for disk in ("hdd", "ssd")]
        for disk in disks:
            disk.mkdir()
        settings = {
            "spark.app.name": "locate-files",
            "spark.driver.host": "127.0.0.1",
            "spark.local.dir": ",".join(map(str, disks)),
            "spark.master": "local[1]",
            "spark.ui.enabled": "false",
        }
        if store is not None:
            settings |= {"spark.plugins": tiers.PLUGIN, TIERS_SETTING: store}
        path = os.pathsep.join([name, f"{_JARS}/*", str(tiers.jar(pyspark.__version__))])
        subprocess.run(["javac", "-d", name, "-cp", path, _SOURCE], check=True)
        opens = [f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in _OPENS]
        properties = [f"-D{key}={value}" for key, value in settings.items()]
        command = ["java", "-Xmx2g", *opens, *properties, "-cp", path, _SOURCE.stem, str(names)]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: float(line.split()[1]) for line in told.splitlines()}


@click.command()
@click.option("--names", default=1_000_000, show_default=True)
@click.option("--pairs", default=3, show_default=True)
def main(*, names: int, pairs: int) -> None:
    """Print the median CPU time of a call in us."""
    stock: list[dict[str, float]] = []
    tiered: dict[str, list[dict[str, float]]] = {where: [] for where in STORES}
    for _ in range(pairs):
        stock.append(cost_ns(None, names))
        for where, store in STORES.items():
            tiered[where].append(cost_ns(store, names))
    for asked, (where, runs) in product(stock[0], tiered.items()):
        without = statistics.median(each[asked] for each in stock) / 1e3
        ours = statistics.median(each[asked] for each in runs) / 1e3
        more = statistics.median(b[asked] - a[asked] for a, b in zip(stock, runs, strict=True))
        click.echo(
            f"{asked}, {where}: stock {without:.2f}, tiers {ours:.2f}, more {more / 1e3:+.2f} us"
        )


if __name__ == "__main__":
    main()
