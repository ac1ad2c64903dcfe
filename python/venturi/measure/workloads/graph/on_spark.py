"""Graph workloads as data frames: `definition` describes them.

Weights have four decimals and are used as whole numbers of 1e-4, in doubles: their sums are exact
below 2^53 in any order, so the stronger of two associations doesn't depend on the order of tasks.
"""

from __future__ import annotations

from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from venturi.measure.workloads.shared.spark_levels import LEVELS

UNIT = 10_000


def nweight(spark: SparkSession, task: dict[str, Any]) -> None:
    """`vertex<TAB>target:score target:score ...`, the strongest first; no line where none is."""
    hops, limit = task["parameters"]["degree"], task["parameters"]["max_out_edges"]
    edges = _edges(spark, task)
    strongest = _strongest(_one_hop(edges), limit)
    for _ in range(1, hops):
        # By source, once: sums by source and target and ranks by source need no more shuffling.
        walks = _partitioned(_walks(edges, strongest), "source")
        strongest = _strongest(_associations(walks), limit)
    score = (f.col("score") / float(UNIT**hops)).alias("score")
    inner = f.sort_array(f.collect_list(f.struct("place", "target", score)))
    pairs = f.transform(inner, lambda pair: f.concat_ws(":", pair["target"], pair["score"]))
    lists = strongest.groupBy("source").agg(f.array_join(pairs, " ").alias("pairs"))
    lists.select(f.concat_ws("\t", "source", "pairs")).write.text(task["output"])


def nhop(spark: SparkSession, task: dict[str, Any]) -> None:
    """Write `source<TAB>target<TAB>score` of the pairs that are exactly `hops` apart."""
    hops = task["parameters"]["hops"]
    edges = _edges(spark, task)
    nearer, level = [_one_hop(edges)], _level(task)
    for hop in range(2, hops + 1):
        found = _associations(_walks(edges, nearer[-1]))
        for each in nearer:
            found = found.join(each.select("source", "target"), ["source", "target"], "left_anti")
        nearer.append(found.persist(level) if hop < hops else found)
    score = f.col("score") / float(UNIT**hops)
    nearer[-1].select(f.concat_ws("\t", "source", "target", score)).write.text(task["output"])


def pagerank(spark: SparkSession, task: dict[str, Any]) -> None:
    """`page<TAB>rank`."""
    iterations, damping = task["parameters"]["iterations"], task["parameters"]["damping"]
    level = _level(task)
    links = _partitioned(_read(spark, task, "source long, target long"), "source").persist(level)
    sources = links.groupBy("source").agg(f.count("*").alias("links")).persist(level)
    ranks = sources.withColumn("rank", f.lit(1.0))
    for _ in range(iterations):
        passed = links.join(ranks, "source").select(
            f.col("target").alias("source"), (f.col("rank") / f.col("links")).alias("share")
        )
        received = passed.groupBy("source").agg(f.sum("share").alias("share"))
        rank = f.lit(1 - damping) + damping * f.coalesce("share", f.lit(0.0))
        # Pages nothing links to, and pages without links, are ranked, too.
        ranks = sources.join(received, "source", "full").select(
            "source", "links", rank.alias("rank")
        )
    ranks.select(f.concat_ws("\t", "source", "rank")).write.text(task["output"])


PROGRAMS = {"nweight": nweight, "nhop": nhop, "pagerank": pagerank}


def _level(task: dict[str, Any]) -> StorageLevel:
    return LEVELS[task["parameters"]["storage_level"]]


def _read(spark: SparkSession, task: dict[str, Any], schema: str) -> DataFrame:
    return spark.read.csv(f"{task['input']}/part-*", sep="\t", schema=schema)


def _partitioned(frame: DataFrame, column: str) -> DataFrame:
    """Partition `frame` by hashes of `column`; grouping or joining by it needs no other shuffle."""
    partitions = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0)
    return frame.repartition(partitions, column)


def _edges(spark: SparkSession, task: dict[str, Any]) -> DataFrame:
    """`source`, `via` (where the edge leads) and `weight`; the weights of equal edges add up.

    Stored as the joins by `via` want them: shuffled once, not for each hop.
    """
    lines = _partitioned(_read(spark, task, "source long, via long, weight double"), "via")
    units = f.sum(f.round(f.col("weight") * UNIT)).alias("weight")
    return lines.groupBy("source", "via").agg(units).persist(_level(task))


def _one_hop(edges: DataFrame) -> DataFrame:
    return edges.select("source", f.col("via").alias("target"), f.col("weight").alias("score"))


def _walks(edges: DataFrame, hop: DataFrame) -> DataFrame:
    """Extend each path of `hop` (`source`, `target`, `score`) by one edge."""
    onward = hop.select(f.col("source").alias("via"), "target", "score")
    walks = edges.join(onward, "via").where("source != target")
    return walks.select("source", "target", f.expr("weight * score").alias("score"))


def _associations(walks: DataFrame) -> DataFrame:
    return walks.groupBy("source", "target").agg(f.sum("score").alias("score"))


def _strongest(hop: DataFrame, limit: int) -> DataFrame:
    order = Window.partitionBy("source").orderBy(f.desc("score"), "target")
    return hop.withColumn("place", f.row_number().over(order)).where(f.col("place") <= limit)
