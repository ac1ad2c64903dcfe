"""Hadoop: its clusters, HDFS, and MapReduce."""

from venturi.measure.engines.kind import EngineKind

KIND = EngineKind(
    "mapreduce",
    f"{__name__}.engine:MapReduce",
    programs="on_mapreduce",
    aliases=("hadoop", "mr"),
    prefixes=("mapreduce.", "io.", "fs.", "file.", "hadoop.", "dfs.", "yarn.app.mapreduce."),
    deployments=("local", "cluster"),
    clusters=frozenset({"cluster"}),
    on_hdfs=frozenset({"cluster"}),
)
