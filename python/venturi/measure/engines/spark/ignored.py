"""Settings that Spark takes and then ignores, and tiers that get nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from venturi.measure.engines.ignored_settings import IgnoredSettings
from venturi.measure.engines.spark.tiers import placeless
from venturi.measure.hosts.owned_folders import PREFIX
from venturi.record.job_account import TIERS_SETTING, has_tiers

_OWN = Path(f"{PREFIX}0/scratch")
_BELOW = {
    "local": _OWN / "spills",
    "standalone": _OWN,
    "yarn": _OWN / "NodeManager0/local/usercache/USER/appcache/application_0",
}
"""Parts of the paths of local folders, with varying numbers and names, below a scratch folder."""
_ONE_JVM = "local mode has one JVM, the driver, which is the only executor"
_CONFIGURATION = "Spark, Configuration"
_LOCAL = ("local",)
RULES = (
    IgnoredSettings(_LOCAL, "spark.executor.cores", _ONE_JVM, _CONFIGURATION, "--threads"),
    IgnoredSettings(
        _LOCAL,
        "spark.executor.instances",
        _ONE_JVM,
        _CONFIGURATION,
        "--engine spark:standalone --workers N",
    ),
    IgnoredSettings(_LOCAL, "spark.executor.memory*", _ONE_JVM, _CONFIGURATION, "--memory"),
    IgnoredSettings(_LOCAL, "spark.executor.pyspark.memory", _ONE_JVM, _CONFIGURATION),
    IgnoredSettings(
        _LOCAL,
        "spark.executor.*JavaOptions",
        _ONE_JVM,
        _CONFIGURATION,
        "spark.driver.extraJavaOptions",
    ),
    IgnoredSettings(
        _LOCAL,
        "spark.cores.max",
        "local mode has no cluster to get cores from",
        _CONFIGURATION,
        "--threads",
    ),
    IgnoredSettings(
        _LOCAL,
        "spark.dynamicAllocation.*",
        _ONE_JVM,
        "Spark, Job Scheduling: not in local mode",
    ),
    IgnoredSettings(
        ("standalone", "url"),
        "spark.executor.memoryOverhead*",
        "it is supported on YARN and Kubernetes only",
        _CONFIGURATION,
    ),
    IgnoredSettings(
        ("standalone", "url"),
        "spark.executor.instances",
        "a standalone master assigns executors by cores",
        "spark-submit --help: --num-executors",
        "spark.cores.max and spark.executor.cores",
    ),
    IgnoredSettings(
        ("yarn",),
        "spark.cores.max",
        "it applies to standalone clusters",
        _CONFIGURATION,
        "spark.executor.instances and spark.executor.cores",
    ),
    IgnoredSettings(
        ("yarn",),
        "spark.deploy.*",
        "it applies to standalone clusters",
        "Spark, Standalone Mode",
    ),
    IgnoredSettings(
        ("local", "standalone", "url"),
        "spark.yarn.*",
        "it does not run on YARN",
        "Spark, Running on YARN",
    ),
    IgnoredSettings(
        (),
        "spark.kubernetes.*",
        "it does not run on Kubernetes",
        "Spark, Running on Kubernetes",
    ),
    IgnoredSettings((), "spark.mesos.*", "it does not run on Mesos", "Spark 3, Running on Mesos"),
    IgnoredSettings(
        (),
        "spark.driver.cores",
        "it applies to cluster mode, but the driver runs in client mode",
        _CONFIGURATION,
    ),
)


def more(
    deployment: str | None, settings: Mapping[str, str], scratch: Collection[Path]
) -> Iterator[str]:
    """The tiers without a folder among `scratch`, in words."""
    below = _BELOW.get(deployment or "")
    if below is None or not scratch or not has_tiers(settings):
        return
    folders = dict.fromkeys(scratch)
    named = ", ".join(map(str, folders))
    for word, first in placeless(
        settings[TIERS_SETTING], [each / below for each in folders]
    ).items():
        why = (
            f"no folder for scratch ({named}) has it in its path: add one that does"
            if first is None
            else (
                f"{first!r} comes before it and matches all its folders for scratch ({named}): "
                f"put {word!r} first"
            )
        )
        yield f"the tier {word!r} of {TIERS_SETTING} gets nothing: {why}"
