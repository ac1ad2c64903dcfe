"""Settings that an engine takes and then ignores, by how it is deployed, each with why.

A trial measured with one of them says nothing about it: it is told before the trial begins, and on
its record. Only what the engine's own documentation or its behaviour here settles is listed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from venturi.measure.engines.spark.tiers import placeless
from venturi.measure.hosts.owned import PREFIX
from venturi.record.job_account import TIERS_SETTING, has_tiers

CODE = "VEN-ENGINE-IGNORED"
_OWN = Path(f"{PREFIX}0/scratch")
_BELOW = {
    "local": _OWN / "spills",
    "standalone": _OWN,
    "yarn": _OWN / "NodeManager0/local/usercache/USER/appcache/application_0",
}
"""What paths of local folders have, by other numbers and names, below a folder for scratch."""

_ONE_JVM = "local mode has one JVM, the driver, which is the only executor"
_CONFIGURATION = "Spark, Configuration"
_LOCAL_JOBS = "Hadoop, LocalJobRunner and mapred-default.xml"
_SHARED = "LocalJobRunner runs every task in the client's JVM"


@dataclass(frozen=True, slots=True)
class Ignored:
    """Settings with names like `pattern` have no effect on `engine` where it is deployed as one of
    `deployments` (empty: wherever); `instead` is what has one.
    """

    engine: str
    deployments: tuple[str, ...]
    pattern: str
    why: str
    source: str
    instead: str = ""


_LOCAL = ("local",)
RULES = (
    Ignored("spark", _LOCAL, "spark.executor.cores", _ONE_JVM, _CONFIGURATION, "--threads"),
    Ignored(
        "spark",
        _LOCAL,
        "spark.executor.instances",
        _ONE_JVM,
        _CONFIGURATION,
        "--engine spark:standalone --workers N",
    ),
    Ignored("spark", _LOCAL, "spark.executor.memory*", _ONE_JVM, _CONFIGURATION, "--memory"),
    Ignored("spark", _LOCAL, "spark.executor.pyspark.memory", _ONE_JVM, _CONFIGURATION),
    Ignored(
        "spark",
        _LOCAL,
        "spark.executor.*JavaOptions",
        _ONE_JVM,
        _CONFIGURATION,
        "spark.driver.extraJavaOptions",
    ),
    Ignored(
        "spark",
        _LOCAL,
        "spark.cores.max",
        "local mode has no cluster to take cores of",
        _CONFIGURATION,
        "--threads",
    ),
    Ignored(
        "spark",
        _LOCAL,
        "spark.dynamicAllocation.*",
        _ONE_JVM,
        "Spark, Job Scheduling: not in local mode",
    ),
    Ignored(
        "spark",
        ("standalone", "url"),
        "spark.executor.memoryOverhead*",
        "it is supported on YARN and Kubernetes only",
        _CONFIGURATION,
    ),
    Ignored(
        "spark",
        ("standalone", "url"),
        "spark.executor.instances",
        "a standalone master gives executors by cores",
        "spark-submit --help: --num-executors",
        "spark.cores.max and spark.executor.cores",
    ),
    Ignored(
        "spark",
        ("yarn",),
        "spark.cores.max",
        "it is of standalone clusters",
        _CONFIGURATION,
        "spark.executor.instances and spark.executor.cores",
    ),
    Ignored(
        "spark",
        ("yarn",),
        "spark.deploy.*",
        "it is of standalone clusters",
        "Spark, Standalone Mode",
    ),
    Ignored(
        "spark",
        ("local", "standalone", "url"),
        "spark.yarn.*",
        "it does not run on YARN",
        "Spark, Running on YARN",
    ),
    Ignored(
        "spark",
        (),
        "spark.kubernetes.*",
        "it does not run on Kubernetes",
        "Spark, Running on Kubernetes",
    ),
    Ignored("spark", (), "spark.mesos.*", "it does not run on Mesos", "Spark 3, Running on Mesos"),
    Ignored(
        "spark",
        (),
        "spark.driver.cores",
        "it is of cluster mode, and the driver runs in client mode",
        _CONFIGURATION,
    ),
    *(
        Ignored("mapreduce", _LOCAL, pattern, _SHARED, _LOCAL_JOBS, instead)
        for pattern, instead in (
            ("mapreduce.map.memory.mb", "--memory"),
            ("mapreduce.reduce.memory.mb", "--memory"),
            ("mapreduce.map.java.opts", "--memory"),
            ("mapreduce.reduce.java.opts", "--memory"),
            ("mapreduce.map.cpu.vcores", "--threads"),
            ("mapreduce.reduce.cpu.vcores", "--threads"),
            ("mapreduce.job.jvm.numtasks", ""),
            ("mapreduce.map.speculative", ""),
            ("mapreduce.reduce.speculative", ""),
            ("yarn.app.mapreduce.*", ""),
        )
    ),
    Ignored(
        "mapreduce",
        _LOCAL,
        "mapreduce.job.reduce.slowstart.completedmaps",
        "LocalJobRunner begins to reduce when all maps have ended",
        _LOCAL_JOBS,
    ),
    Ignored(
        "mapreduce",
        _LOCAL,
        "dfs.*",
        "files are the host's own, not in HDFS",
        "Hadoop, Single Node Setup: Standalone Operation",
    ),
    Ignored("mapreduce", ("cluster",), "mapreduce.local.*", "it is of LocalJobRunner", _LOCAL_JOBS),
)


def without_effect(
    engine: str,
    deployment: str | None,
    settings: Mapping[str, str],
    scratch: Collection[Path] = (),
) -> Iterator[str]:
    """What to say of each of `settings` that has no effect; `scratch` are the folders named for
    local files, where these decide.
    """
    for setting, rule in ignored(engine, deployment, settings).items():
        yield in_words(setting, rule, deployment)
    below = _BELOW.get(deployment or "")
    if below is None or not scratch or not has_tiers(settings):
        return
    folders = dict.fromkeys(scratch)
    named = ", ".join(map(str, folders))
    for word, first in placeless(
        settings[TIERS_SETTING], [each / below for each in folders]
    ).items():
        why = (
            f"no folder for scratch ({named}) has that in its path: name one that has"
            if first is None
            else f"{first!r} before it takes every folder for scratch that has it ({named}): put "
            f"{word!r} first"
        )
        yield f"the tier {word!r} of {TIERS_SETTING} gets nothing: {why}"


def ignored(engine: str, deployment: str | None, settings: Iterable[str]) -> Mapping[str, Ignored]:
    """Those of `settings` that have no effect on `engine`, each with its rule.

    `deployment` is a name of the engine's, or the URL of a master that is there.
    """
    place = "url" if deployment is not None and "://" in deployment else deployment
    return {
        setting: rule
        for setting in settings
        for rule in RULES
        if rule.engine == engine
        and (not rule.deployments or place in rule.deployments)
        and fnmatchcase(setting, rule.pattern)
    }


def in_words(setting: str, rule: Ignored, deployment: str | None) -> str:
    """`spark.executor.cores has no effect on spark local: ...; --threads has`."""
    where = f"{rule.engine} {deployment}" if deployment else rule.engine
    instead = f"; {rule.instead} has" if rule.instead else ""
    return f"{setting} has no effect on {where}: {rule.why} ({rule.source}){instead}"
