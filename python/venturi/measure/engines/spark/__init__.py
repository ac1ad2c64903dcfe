"""Apache Spark, and where its applications run."""

from venturi.measure.engines.kind import EngineKind

KIND = EngineKind(
    "spark",
    f"{__name__}.engine:Spark",
    order=3,
    aliases=("pyspark",),
    prefixes=("spark.",),
    deployments=("local", "standalone", "yarn"),
    urls="spark://",
    clusters=frozenset({"standalone", "yarn"}),
    on_hdfs=frozenset({"yarn"}),
    many_at_once=True,
)
