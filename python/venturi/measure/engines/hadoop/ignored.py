"""Settings that MapReduce takes and then ignores."""

from __future__ import annotations

from venturi.measure.engines.ignored_settings import IgnoredSettings

_LOCAL_JOBS = "Hadoop, LocalJobRunner and mapred-default.xml"
_SHARED = "LocalJobRunner runs every task in the client's JVM"
_LOCAL = ("local",)
RULES = (
    *(
        IgnoredSettings(_LOCAL, pattern, _SHARED, _LOCAL_JOBS, instead)
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
    IgnoredSettings(
        _LOCAL,
        "mapreduce.job.reduce.slowstart.completedmaps",
        "LocalJobRunner starts reduces when all maps have ended",
        _LOCAL_JOBS,
    ),
    IgnoredSettings(
        _LOCAL,
        "dfs.*",
        "files are local, not in HDFS",
        "Hadoop, Single Node Setup: Standalone Operation",
    ),
    IgnoredSettings(("cluster",), "mapreduce.local.*", "it applies to LocalJobRunner", _LOCAL_JOBS),
)
