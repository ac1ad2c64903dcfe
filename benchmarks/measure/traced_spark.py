"""`python -m benchmarks.measure.traced_spark`: share of a Spark job's I/O attributed to its files.

As root. A job on two threads keeps an RDD on disk, reads it, writes a shuffle and reads that, all
on its own ext4 or xfs in an image file; in between, its files are made durable and dropped from
memory, so that every read reaches the disk. The recording starts before the job and ends after its
files have been removed.

Reports the share of bytes without a known file, and the bytes written and read of RDD blocks and
shuffle data, compared with the sizes of their files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from benchmarks.bench import REPOSITORY, find_agent
from benchmarks.measure.traces import checked

# The job. It prints, as JSON, the bytes of its files by kind.
JOB = """
import json, os, sys
from pathlib import Path
from pyspark import SparkConf, SparkContext, StorageLevel

local, records, maps, reducers = Path(sys.argv[1]), *map(int, sys.argv[2:])
conf = SparkConf().setMaster("local[2]").setAll([
    ("spark.local.dir", str(local)), ("spark.driver.memory", "1g"), ("spark.ui.enabled", "false"),
    ("spark.shuffle.compress", "false"), ("spark.rdd.compress", "false"),
    ("spark.driver.host", "127.0.0.1"), ("spark.log.level", "ERROR"),
])
spark = SparkContext(conf=conf)

def files():
    return [each for each in local.rglob("*") if each.is_file()]

def settle():
    for each in files():
        with each.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)

def value(number):
    return number, os.urandom(1000)

rdd = spark.parallelize(range(records), maps).map(value).persist(StorageLevel.DISK_ONLY)
rdd.count()
settle()
pairs = rdd.partitionBy(reducers)
pairs.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
settle()
pairs.mapPartitions(lambda rows: [sum(len(row[1]) for row in rows)]).collect()
found = {}
for each in files():
    kind = "rdd" if each.name.startswith("rdd_") else each.suffix
    found[kind] = found.get(kind, 0) + each.stat().st_size
spark.stop()
print(json.dumps(found))
"""


FORCE = {"ext4": "-F", "xfs": "-f"}


@contextmanager
def disk_in(image: Path, folder: Path, size_bytes: int, kind: str = "ext4") -> Iterator[Path]:
    """A file system of its own, mounted at the folder."""
    with image.open("wb") as file:
        file.truncate(size_bytes)
    checked(f"mkfs.{kind}", "-q", FORCE[kind], image)
    folder.mkdir()
    checked("mount", "-o", "loop", image, folder)
    try:
        yield folder
    finally:
        checked("umount", folder)


@contextmanager
def recorder(agent: Path, folder: Path, output: Path) -> Iterator[list[dict[str, Any]]]:
    """Record the disk of `folder` until the block is left; then the list has the recorder's
    report.
    """
    found: list[dict[str, Any]] = []
    recording = subprocess.Popen(
        [agent, "trace", "record", "--dir", folder, "--output", output], stdout=subprocess.PIPE
    )
    assert recording.stdout is not None
    for line in iter(recording.stdout.readline, b""):
        if json.loads(line)["event"] == "ready":
            break
    try:
        yield found
    finally:
        recording.terminate()
        said, _ = recording.communicate()
        events = map(json.loads, said.splitlines())
        found += [each["data"] for each in events if each["event"] == "result"]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--records", default=96_000, show_default=True, help="Of 1 kB each.")
@click.option("--maps", default=8, show_default=True)
@click.option("--reducers", default=64, show_default=True)
@click.option(
    "--file-system", "kind", type=click.Choice(list(FORCE)), default="ext4", show_default=True
)
@click.option(
    "--dir",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=REPOSITORY / "target",
    show_default="target",
    help="Where the disk's image is.",
)
def main(records: int, maps: int, reducers: int, *, kind: str, folder: Path) -> None:
    """How much of a Spark job's disk I/O is attributed to its files."""
    agent, reason = find_agent(os.environ)
    if agent is None:
        raise click.ClickException(reason)
    with tempfile.TemporaryDirectory(prefix="traced-", dir=folder) as made:
        place = Path(made)
        size_bytes = 8_000 * records + (320 << 20)
        with disk_in(place / "image", place / "disk", size_bytes, kind) as disk:
            program = place / "job.py"
            program.write_text(JOB)
            words = [sys.executable, program, disk, records, maps, reducers]
            with recorder(agent, disk, place / "out"):
                done = subprocess.run(
                    [str(word) for word in words], check=True, capture_output=True, text=True
                )
                os.sync()
            of_files = json.loads(done.stdout.splitlines()[-1])
        events = checked(agent, "trace", "analyze", place / "out").stdout.splitlines()
    print_attribution(json.loads(events[-1])["data"]["trace"]["whose"]["shares"], of_files)


def print_attribution(shares: list[dict[str, Any]], of_files: dict[str, int]) -> None:
    """Print the attribution."""
    sums: Counter[tuple[str, str]] = Counter()
    for each in shares:
        if each["operation"] != "discard":
            sums[each["file_class"], each["operation"]] += each["bytes"]
    lost = sum(size for (kind, _), size in sums.items() if kind in {"unknown", "unnamed"})
    click.echo(f"not attributed: {100 * lost / sum(sums.values()):.3f} % of the bytes")
    for kind, name in (("rdd", "rdd_block"), (".data", "shuffle_data")):
        size = of_files[kind]
        written, read = sums[name, "write"], sums[name, "read"]
        click.echo(
            f"{name}: files of {size:,} bytes, {written:,} written ({written / size:.4f}), "
            f"{read:,} read"
        )
    for (kind, operation), size in sums.most_common():
        click.echo(f"  {operation:8} {kind:18} {size:>14,}")


if __name__ == "__main__":
    main()
