"""TeraSort on the native engine, Spark local and MapReduce local: the same input, disk and cores,
interleaved, every output validated by `venturi run` itself.

The bar applies to the work without start-up of the others' JVMs, the comparison to their advantage.
All outputs are durable (fsync) inside the timed region. The heap of the others is 4 GiB, the native
engine's budget too.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

from benchmarks import rows
from benchmarks.bench import REPOSITORY, Bench, Unavailable, settle_disk
from benchmarks.figures import Figure, figure, missing, ratio_figure
from benchmarks.suites.startup import find_cli
from venturi.measure.engines.hadoop.cluster import open_cluster
from venturi.measure.engines.hadoop.install import HADOOP_VERSION, look_for_hadoop
from venturi.measure.engines.nodes import LOCALHOST, on_one_host
from venturi.measure.engines.protocol import Resources
from venturi.measure.hosts.local import LocalHost

_BYTES = 320_000_000
_MEMORY = "4GiB"
_RECORD_BYTES = 100
_OTHERS = ("mapreduce", "spark")
# Hadoop is fetched once and kept with the build, not fetched for each measurement.
_CACHE = REPOSITORY / "target" / "bench-engines"
_UNOBSERVED = ("--no-series", "--set", "spark.eventLog.enabled=false")


def run(bench: Bench) -> list[Figure]:
    """The three engines in turn, Spark with and without being observed, then a cluster's start."""
    bench.agent()
    size_bytes = bench.options.size(_BYTES, _RECORD_BYTES)
    bench.need(6 * size_bytes)
    home = _ready(bench)
    env = {"VENTURI_HOME": str(home)}
    figures = _compared(bench, size_bytes, env)
    try:
        figures.append(_observing(bench, size_bytes, env))
    except Unavailable as reason:
        figures.append(missing(rows.OBSERVING, str(reason)))
    return [*figures, _cluster_up(bench, home)]


def _ready(bench: Bench) -> Path:
    """A repository of this measurement, with engines that are all usable."""
    _CACHE.mkdir(parents=True, exist_ok=True)
    cache = {"VENTURI_HOME": str(_CACHE)}
    label = ("engines", "install", "mapreduce", 0)
    if not os.environ.get("HADOOP_HOME"):
        done = bench.run(label, [find_cli(), "engines", "install", "mapreduce"], env=cache)
        if done.problem is not None:
            raise Unavailable(f"Hadoop: {done.problem}")
    found = bench.run(
        ("engines", "available", "venturi", 0),
        [find_cli(), "engines", "--json"],
        env=cache,
        read=lambda text: {"engines": json.loads(text)["data"]},
    )
    for engine in found.data["engines"]:
        if not engine["usable"]:
            raise Unavailable(f"{engine['engine']}: {engine['missing'][0]['what']}")
    home = bench.work / "engines-home"
    home.mkdir(exist_ok=True)
    if not (home / "engines").exists():
        (home / "engines").symlink_to(_CACHE / "engines")
    return home


def _run(
    bench: Bench,
    case: tuple[str, int],
    size_bytes: int,
    env: Mapping[str, str],
    arguments: Sequence[str],
) -> list[Mapping[str, Any]]:
    """The trials of one `venturi run`; Unavailable if it failed or one was not valid."""
    name, turn = case
    settle_disk()
    with bench.folder(f"engines-{name}-{turn}".replace(" ", "-")) as folder:
        done = bench.run(
            ("engines", name, "venturi run", turn),
            [
                find_cli(),
                "run",
                "terasort",
                "--bytes",
                str(size_bytes),
                "--memory",
                _MEMORY,
                "--threads",
                str(bench.threads),
                "--dir",
                folder,
                "--json",
                *arguments,
            ],
            env=env,
            read=lambda text: {"trials": [_essence(t) for t in json.loads(text)["data"]]},
        )
    if done.problem is not None:
        raise Unavailable(f"venturi run: {done.problem}")
    trials: list[Mapping[str, Any]] = done.data["trials"]
    return [trial for trial in trials if not trial["warm_up"]]


def _essence(trial: Mapping[str, Any]) -> dict[str, Any]:
    samples = {s["metric"]: s["value"] for s in trial["samples"] if not s["labels"]}
    return {
        "engine": trial["engine"]["name"],
        "version": trial["engine"]["version"],
        "warm_up": trial["warm_up"],
        "elapsed_s": trial["elapsed_s"],
        "work_s": samples.get("elapsed_without_start_s", trial["elapsed_s"]),
        "cpu_s": samples["cpu_user_s"] + samples["cpu_system_s"],
    }


def _compared(bench: Bench, size_bytes: int, env: Mapping[str, str]) -> list[Figure]:
    repeat = str(bench.options.pairs + 1)
    arguments = ("--engine", "native,mapreduce,spark", "--repeat", repeat, "--warm-up", "1")
    trials = _run(bench, ("three engines", 0), size_bytes, env, arguments)

    def times_s(engine: str, key: str) -> list[float]:
        return [float(trial[key]) for trial in trials if trial["engine"] == engine]

    figures = []
    for row, key in ((rows.ENGINES_TIME, "work_s"), (rows.ENGINES_WHOLE, "elapsed_s")):
        fastest = [min(pair) for pair in zip(*(times_s(e, key) for e in _OTHERS), strict=True)]
        versions = {t["engine"]: t["version"] for t in trials}
        note = ", ".join(f"{name} {versions[name]}" for name in _OTHERS)
        figures.append(ratio_figure(row, fastest, times_s("native", key), note))
    for name, row in rows.ENGINES_WORK_S.items():
        cpu_s = sum(times_s(name, "cpu_s")) / max(1, len(times_s(name, "cpu_s")))
        figures.append(figure(row, times_s(name, "work_s"), f"{cpu_s:.1f} core-s with start-up"))
    return figures


def _observing(bench: Bench, size_bytes: int, env: Mapping[str, str]) -> Figure:
    """Spark alone, observed and not, in turn; the first pair warms up."""
    times_s: dict[str, list[float]] = {"on": [], "off": []}
    for turn in range(-1, bench.options.pairs):
        for name in ("on", "off") if turn % 2 else ("off", "on"):
            off = _UNOBSERVED if name == "off" else ()
            arguments = ("--engine", "spark", "--repeat", "1", "--warm-up", "0", *off)
            (trial,) = _run(bench, (f"observed {name}", turn + 1), size_bytes, env, arguments)
            if turn >= 0:
                times_s[name].append(float(trial["elapsed_s"]))
    return ratio_figure(rows.OBSERVING, times_s["on"], times_s["off"])


def _cluster_up(bench: Bench, home: Path) -> Figure:
    """From nothing to all daemons of one worker having reported, formatting included."""
    host = LocalHost()
    hadoop = look_for_hadoop(host, home, os.environ).hadoop
    if hadoop is None:
        return missing(rows.CLUSTER_UP, "there is no Hadoop, or no Java for it")
    times_s = []
    for turn in range(bench.options.pairs):
        with bench.folder(f"engines-cluster-{turn}") as folder:
            begun_s = monotonic()
            ground = Resources({"output": (folder,), "scratch": (folder,)})
            cluster = open_cluster(on_one_host(host, ground.dirs, 1), {LOCALHOST: hadoop}, ground)
            times_s.append(monotonic() - begun_s)
            cluster.stop()
    return figure(rows.CLUSTER_UP, times_s, f"Hadoop {HADOOP_VERSION}, one worker")
