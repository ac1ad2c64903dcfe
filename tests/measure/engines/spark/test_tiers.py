"""Tiered storage in a real Spark: the same results wherever files lie, and nothing of them left."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from spark_session import local_jvm, logged_session
from venturi.jobs.logs import spark as event_log
from venturi.jobs.tiers.recorded_tiers import last_reported, tier_uses
from venturi.measure.engines.spark import tiers
from venturi.record.importing.formats import Log
from venturi.record.job_account import TIERS_SETTING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.engines
Outcome = dict[str, Any]
KINDS = ("shuffle", "shuffle_index", "spill", "cached", "other")
COUNTED = ("present_bytes", "placements", "overflows")
ROWS = 6_000
WIDE_ROWS = 100_000
Job = Callable[["SparkSession", Callable[[], object]], object]
# Text of 2 kB that can hardly be compressed.
COLUMNS = (
    f"id * 7919 % {ROWS} AS key",
    "concat_ws('', transform(sequence(1, 16), n -> sha2(concat(id, ':', n), 512))) AS text",
)


@dataclass(frozen=True)
class Machine:
    """A JVM for successive applications, its two disks and its output."""

    folder: Path
    jar: Path

    @property
    def disks(self) -> dict[str, Path]:
        return {name: self.folder / name for name in ("hdd", "ssd")}

    def files(self) -> Counter[str]:
        """Files of blocks that are there now, by disk."""
        return Counter(
            name for name, disk in self.disks.items() for _ in disk.glob("blockmgr-*/*/*")
        )

    def said(self) -> str:
        return (self.folder / "stderr").read_text()

    def run(
        self,
        store: str | None,
        between: Callable[[], object] = bool,
        settings: Mapping[str, str] | None = None,
        job: Job | None = None,
    ) -> Outcome:
        """The job's result, and the files by disk before its end. None: stock Spark.

        `between` is called by the job, before its last stage.
        """
        before = len(self.said())
        events = self.folder / "events"
        shutil.rmtree(events, ignore_errors=True)
        events.mkdir()
        own = {} if store is None else {"spark.plugins": tiers.PLUGIN, TIERS_SETTING: store}
        own |= {
            "spark.local.dir": ",".join(map(str, self.disks.values())),
            "spark.shuffle.spill.numElementsForceSpillThreshold": "500",
            "spark.sql.warehouse.dir": (self.folder / "warehouse").as_uri(),
            **(settings or {}),
        }
        with logged_session("local[2,4]", events, own) as session:
            result = (job or cached_and_sorted)(session, between)
            during = self.files()
        (log,) = events.iterdir()
        account = event_log.read(Log(log, (log,)))
        return {
            "result": result,
            "during": during,
            "uses": tier_uses(account),
            "account": account,
            "said": self.said()[before:],
        }


def cached_and_sorted(session: SparkSession, between: Callable[[], object]) -> object:
    """Cached blocks, spills and shuffle files, of some MB in all; `between` after the caching."""
    from pyspark import StorageLevel

    cached = session.range(0, ROWS, 1, 6).selectExpr(*COLUMNS)
    cached = cached.persist(StorageLevel.DISK_ONLY)
    sums = cached.selectExpr("sum(length(text))", "sum(hash(text))").first()
    between()
    ordered = cached.repartition(5, "key").sortWithinPartitions("text")
    return sums, ordered.selectExpr("spark_partition_id()", "key").collect()


def wide_shuffle(session: SparkSession, between: Callable[[], object]) -> object:
    """Two tasks at a time write files of 50 MB for 400 partitions."""
    between()
    text = "repeat(CAST(id % 10 AS string), 2000) AS text"
    rows = session.range(0, WIDE_ROWS, 1, 4).selectExpr("id", text)
    return rows.repartition(400, "id").selectExpr("count(*)", "sum(length(text))").first()


WIDE = {
    "spark.shuffle.compress": "false",
    "spark.shuffle.spill.numElementsForceSpillThreshold": "2147483647",
}
WIDE_RESULT = (WIDE_ROWS, 2000 * WIDE_ROWS)


def sizes(folder: Path) -> list[int]:
    """The bytes of each file of blocks that is below `folder` now."""
    found = []
    # Folders and files may vanish; walking, unlike a glob, tolerates that.
    for parent, _, names in os.walk(folder):
        for name in names if "blockmgr-" in parent else ():
            with suppress(OSError):
                found.append(Path(parent, name).stat().st_size)
    return found


@contextmanager
def most_bytes(folder: Path, every_s: float = 0.005) -> Iterator[dict[str, int]]:
    """Watch the files below `folder`: their largest total bytes, and the largest single file."""
    found = {"together": 0, "largest": 0}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(every_s):
            now = sizes(folder)
            found["together"] = max(found["together"], sum(now))
            found["largest"] = max([found["largest"], *now])

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        yield found
    finally:
        done.set()
        watching.join()


@pytest.fixture(scope="module")
def machine(
    tiers_jar: Path, spark: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Machine]:
    made = Machine(tmp_path_factory.mktemp("machine"), tiers_jar)
    for disk in made.disks.values():
        disk.mkdir()
    with local_jvm({"spark.jars": str(tiers_jar)}, made.folder / "stderr"):
        yield made


@pytest.fixture(scope="module")
def stock(machine: Machine) -> Outcome:
    """The results of stock Spark."""
    done = machine.run(None)
    assert set(done["during"]) == {"hdd", "ssd"}
    assert done["account"].tiers is None
    return done


@pytest.fixture(autouse=True)
def _disks_are_empty(machine: Machine) -> Iterator[None]:
    yield
    left = [each for disk in machine.disks.values() for each in disk.rglob("blockmgr-*")]
    assert left == []


def test_everything_fits(machine: Machine, stock: Outcome) -> None:
    done = machine.run("ssd 1MB")
    assert done["result"] == stock["result"]
    assert set(done["during"]) == {"ssd"}
    uses = {use.kind: use for use in done["uses"] if use.tier == "ssd"}
    assert {"shuffle", "cached"} <= uses.keys()
    assert uses["cached"].seen_bytes > 5_000_000
    assert uses["shuffle"].rule == "leaves 1.0 MB free"
    assert not any(use.overflows for use in done["uses"])


def test_the_threshold_is_crossed_within_tasks(machine: Machine, stock: Outcome) -> None:
    # A file of unknown size may need all the space: one fits, then none.
    done = machine.run("ssd max 20MiB")
    assert done["result"] == stock["result"]
    assert set(done["during"]) == {"hdd", "ssd"}
    slow = [use for use in done["uses"] if use.tier == "last" and use.overflows]
    assert slow
    assert all(use.first_overflow_s is not None for use in slow)


def told_to_sink(sink: Path) -> dict[str, int]:
    """Return the last value of each metric of the plugin in a CsvSink."""
    found = {}
    for file in sink.glob("*.csv"):
        name = file.stem.partition(f".driver.plugin.{tiers.PLUGIN}.")[2]
        rows = file.read_text().splitlines()[1:]
        if name and rows:
            found[name] = int(rows[-1].partition(",")[2])
    return found


def test_spark_s_metrics_say_what_the_event_log_says(machine: Machine, stock: Outcome) -> None:
    sink = machine.folder / "metrics"
    sink.mkdir()
    of_sink = {
        "class": "org.apache.spark.metrics.sink.CsvSink",
        "directory": str(sink),
        "period": "1",
        "unit": "seconds",
    }
    disks = {"ssd": machine.disks["ssd"], "last": machine.disks["hdd"]}

    def present_bytes() -> dict[str, int]:
        told = told_to_sink(sink)
        return {
            tier: sum(told.get(f"tier.{tier}.{kind}.present_bytes", 0) for kind in KINDS)
            for tier in disks
        }

    def until_all_is_told(session: SparkSession, between: Callable[[], object]) -> object:
        result = cached_and_sorted(session, between)
        deadline = time.monotonic() + 60
        while present_bytes() != (there := {tier: sum(sizes(disks[tier])) for tier in disks}):
            assert time.monotonic() < deadline, (present_bytes(), there)
            time.sleep(0.1)
        assert all(there.values())
        return result

    settings = {f"spark.metrics.conf.driver.sink.csv.{key}": of for key, of in of_sink.items()}
    done = machine.run("ssd max 20MiB", settings=settings, job=until_all_is_told)
    assert done["result"] == stock["result"]
    logged = dict.fromkeys(
        (f"tier.{tier}.{kind}.{what}" for tier in disks for kind in KINDS for what in COUNTED), 0
    )
    for row in last_reported(done["account"].tiers).iter_rows(named=True):
        logged |= {f"tier.{row['tier']}.{row['kind']}.{what}": row[what] for what in COUNTED}
    told = told_to_sink(sink)
    assert {name: told.get(name) for name in logged} == logged
    assert sum(logged[f"tier.last.{kind}.overflows"] for kind in KINDS) > 0
    assert [told[f"tier.{tier}.errors"] for tier in disks] == [0, 0]


def test_an_allowance_is_overshot_by_one_file_at_most(machine: Machine) -> None:
    with most_bytes(machine.disks["ssd"]) as most:
        done = machine.run("ssd max 40MB", settings=WIDE, job=wide_shuffle)
    assert done["result"] == WIDE_RESULT
    assert 0 < most["largest"] <= most["together"] <= 40_000_000 + most["largest"]
    assert any(use.overflows for use in done["uses"])
    # Each map task renames its only spill to be its output, which is not to count twice. What the
    # last stage's writers make for one partition each is some bytes.
    seen: Counter[str] = Counter()
    for use in done["uses"]:
        seen[use.kind] += use.seen_bytes
    assert 200_000_000 < seen["shuffle"] < 210_000_000
    assert seen["spill"] < 1000


MANY = int(os.environ.get("VENTURI_TEST_TIERS_TASKS", "100"))  # a thousand take minutes


def many_to_many(session: SparkSession, between: Callable[[], object]) -> object:
    """Many tasks write files for as many partitions, which as many tasks read."""
    between()
    rows = session.range(0, 1_000_000, 1, MANY).repartition(MANY, "id")
    return rows.selectExpr("count(*)", "sum(id)").first()


@pytest.mark.long  # with fewer and larger files above
def test_many_tasks_with_as_many_partitions(machine: Machine) -> None:
    # A look at thousands of files takes a while.
    with most_bytes(machine.disks["ssd"], every_s=0.2) as most:
        done = machine.run("ssd max 2MB", job=many_to_many)
    assert done["result"] == (1_000_000, 499_999_500_000)
    assert set(done["during"]) == {"hdd", "ssd"}
    assert 1_000_000 < most["together"] <= 2_000_000 + most["largest"]
    placed: Counter[str] = Counter()
    for use in done["uses"]:
        placed[use.kind] += use.placements
    assert placed["shuffle"] >= 2 * MANY  # of the rows, and of the sums that tasks made


def test_what_python_workers_spill_is_on_no_tier(machine: Machine) -> None:
    """Their shuffle data are on the fast tier; each spills to any local directory, by chance."""
    keys, rows = 64, 40_000  # a worker looks at its memory every thousand
    folders = {name: str(disk) for name, disk in machine.disks.items()}

    def in_python(session: SparkSession, between: Callable[[], object]) -> object:
        def sums(groups: Iterator[tuple[int, list[int]]]) -> Iterator[tuple[int, int, list[str]]]:
            for key, numbers in groups:
                spilled = [
                    name
                    for name, folder in folders.items()
                    if any(Path(folder).glob("blockmgr-*/python/*/*/*/*"))
                ]
                yield key, sum(numbers), spilled

        between()
        pairs = session.sparkContext.parallelize(range(rows), 4).map(lambda n: (n % keys, n))
        return sorted(pairs.groupByKey(16).mapPartitions(sums).collect())

    done = machine.run("ssd 1MB", settings={"spark.python.worker.memory": "1m"}, job=in_python)
    found = [(key, total) for key, total, _ in done["result"]]
    assert found == [(key, sum(range(key, rows, keys))) for key in range(keys)]
    assert {name for *_, spilled in done["result"] for name in spilled} == {"hdd", "ssd"}
    assert {use.tier for use in done["uses"] if use.kind == "shuffle"} == {"ssd"}


def test_a_local_directory_that_is_a_link(machine: Machine, stock: Outcome) -> None:
    """Its name counts, not the target."""
    ssd, elsewhere = machine.disks["ssd"], machine.folder / "elsewhere"
    ssd.rename(elsewhere)
    ssd.symlink_to(elsewhere)
    try:
        done = machine.run("ssd 1MB")
        assert list(elsewhere.glob("blockmgr-*")) == []
    finally:
        ssd.unlink()
        elsewhere.rename(ssd)
    assert done["result"] == stock["result"]
    assert set(done["during"]) == {"ssd"}


def test_nothing_fits(machine: Machine, stock: Outcome) -> None:
    done = machine.run("ssd max 1B")
    assert done["result"] == stock["result"]
    assert set(done["during"]) == {"hdd"}
    assert {use.tier for use in done["uses"]} == {"last"}


def test_a_kind_may_leave_the_fast_tier_before_others(machine: Machine, stock: Outcome) -> None:
    done = machine.run("ssd 1MB", settings={f"{TIERS_SETTING}.reserves": "cached 1000TB"})
    assert done["result"] == stock["result"]
    seen = {(use.tier, use.kind) for use in done["uses"] if use.seen_bytes}
    assert ("last", "cached") in seen
    assert ("ssd", "shuffle") in seen


@contextmanager
def stops() -> Iterator[list[str]]:
    """Expect an application started within to fail immediately; then the list has the error."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import IllegalArgumentException

    said: list[str] = []
    with pytest.raises((IllegalArgumentException, Py4JJavaError)) as raised:
        yield said
    said.append(str(raised.value))


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("ssd 20XB", 'tier 1 of "ssd 20XB": "20XB" is no size'),
        ("nvme 1GB,ssd", 'tier 2 of "nvme 1GB,ssd": "ssd" is neither KEYWORD SIZE'),
    ],
)
def test_a_malformed_setting_stops_the_application(machine: Machine, store: str, said: str) -> None:
    with stops() as told:
        machine.run(store)
    assert f"{TIERS_SETTING}: {said}" in told[0]


@pytest.mark.parametrize("interval", ["0", "-5s"])
def test_an_interval_that_is_none_stops_the_application(machine: Machine, interval: str) -> None:
    with stops() as said:
        machine.run("ssd 1MB", settings={f"{TIERS_SETTING}.interval": interval})
    assert f'{TIERS_SETTING}.interval: "{interval}" is not more than 0, as 5s is' in said[0]


def test_a_blank_setting_leaves_files_where_spark_has_them(
    machine: Machine, stock: Outcome
) -> None:
    done = machine.run(" ")
    assert done["result"] == stock["result"]
    assert set(done["during"]) == {"hdd", "ssd"}
    assert f"{TIERS_SETTING} is not set: files are where Spark has them" in done["said"]
    assert done["account"].tiers is None


def test_a_keyword_that_matches_nothing_warns(machine: Machine, stock: Outcome) -> None:
    done = machine.run("nvme 1GB,optane 2GB")
    assert done["result"] == stock["result"]
    assert set(done["during"]) == {"hdd", "ssd"}
    assert 'no local directory has "nvme" in its path' in done["said"]
    assert 'no local directory has "optane" in its path' in done["said"]
    assert done["account"].tiers is None


def test_another_scala_than_spark_s(machine: Machine) -> None:
    """Spark's inside is not as expected: it runs as if the plugin were not there, or refuses."""
    from pyspark.find_spark_home import _find_spark_home

    wrong = machine.jar.with_name(f"venturi-tiered-storage_{tiers.SCALA_OF_SPARK_3}.jar")
    command = [
        Path(_find_spark_home()) / "bin" / "spark-submit",
        "--master",
        "local[2]",
        "--jars",
        wrong,
        "--conf",
        f"spark.plugins={tiers.PLUGIN}",
        "--conf",
        f"{TIERS_SETTING}=ssd 1MB",
        "--conf",
        "spark.ui.enabled=false",
        "--conf",
        f"spark.local.dir={','.join(map(str, machine.disks.values()))}",
    ]
    # One JVM for both: the application that is refused comes first.
    program = machine.folder / "program.py"
    program.write_text(
        "from pyspark import SparkConf, SparkContext\n"
        "try:\n"
        f"    SparkContext(conf=SparkConf().set('{TIERS_SETTING}.strict', 'true'))\n"
        "except Exception as error:\n"
        "    print('refused:', error)\n"
        "context = SparkContext()\n"
        "print(context.parallelize(range(10), 2).map(lambda n: (n % 3, n)).groupByKey().count())\n"
        "context.stop()\n"
    )
    done = subprocess.run([*command, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    refused, _, rest = done.stdout.rpartition("\n3\n")
    assert rest == ""
    assert refused.startswith("refused:")
    assert "tiers cannot be used with this Spark: this jar is for Scala 2.12" in refused
    assert done.stderr.count("tiers are off, files are where Spark has them") == 1
    assert "this jar is for Scala 2.12, and this Spark has another" in done.stderr


needs_root = [
    pytest.mark.root,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system, which needs root"),
]


@contextmanager
def small_disk(folder: Path, mib: int) -> Iterator[None]:
    """A file system of `mib` in memory, at `folder`."""
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", folder], check=True)
    try:
        yield
    finally:
        if folder.is_mount():
            subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.parametrize(
    "change", [pytest.param(each, marks=needs_root) for each in ("gone", "read-only")]
)
def test_the_fast_disk_fails_in_the_middle_of_a_job(
    machine: Machine, stock: Outcome, change: str
) -> None:
    ssd = machine.disks["ssd"]
    with small_disk(ssd, 200):
        command = ["umount", "-l", ssd] if change == "gone" else ["mount", "-o", "remount,ro", ssd]
        done = machine.run("ssd 1MB", between=lambda: subprocess.run(command, check=True))
        assert done["result"] == stock["result"]
        assert done["during"]["hdd"] > 0
        # It was in use before: what lay there may have been too short-lived to be seen.
        placed = {(use.tier, use.kind) for use in done["uses"] if use.placements}
        assert {("ssd", "cached"), ("last", "shuffle")} <= placed


@pytest.mark.parametrize("left_mib", [pytest.param(each, marks=needs_root) for each in (0, 8)])
def test_the_fast_disk_is_full_to_the_last_byte(machine: Machine, left_mib: int) -> None:
    """The first file is larger than the free space: its task is retried on the next tier."""
    ssd = machine.disks["ssd"]
    with small_disk(ssd, 32):
        (ssd / "of-others").write_bytes(bytes((31 - left_mib) << 20))

        def fill() -> None:
            with suppress(OSError), (ssd / "more-of-others").open("wb", buffering=0) as file:
                while left_mib == 0:
                    file.write(bytes(4096))

        done = machine.run("ssd 0B", between=fill, settings=WIDE, job=wide_shuffle)
        assert done["result"] == WIDE_RESULT
        assert done["during"]["hdd"] > 0
        errors = sum(use.errors for use in done["uses"] if use.tier == "ssd")
        assert (errors > 0) == (left_mib > 0)
