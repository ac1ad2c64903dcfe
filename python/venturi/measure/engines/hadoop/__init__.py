"""Hadoop: its clusters, HDFS, and MapReduce."""

from venturi.measure.engines.kind import EngineKind

KIND = EngineKind(
    "mapreduce",
    f"{__name__}.engine:MapReduce",
    order=2,
    aliases=("hadoop", "mr"),
    prefixes=("mapreduce.", "io.", "fs.", "file.", "hadoop.", "dfs.", "yarn.app.mapreduce."),
    deployments=("local", "cluster"),
    clusters=frozenset({"cluster"}),
    on_hdfs=frozenset({"cluster"}),
    brings_hdfs=True,
    installer=f"{__name__}.install:install",
)
