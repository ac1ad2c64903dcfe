"""Words, lines and pi on Spark."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from pyspark.sql import SparkSession, functions

from venturi.measure.workloads.shared.halton import points_inside


def sort(spark: SparkSession, task: dict[str, Any]) -> None:
    """Text lines in the order of their bytes."""
    spark.read.text(task["input"]).orderBy("value").write.text(task["output"])


def wordcount(spark: SparkSession, task: dict[str, Any]) -> None:
    """`word<TAB>count` in the order of the words."""
    lines = spark.read.text(task["input"])
    words = lines.select(functions.explode(functions.split("value", " ")).alias("word"))
    counts = words.where("word != ''").groupBy("word").count().orderBy("word")
    counts.select(functions.concat_ws("\t", "word", "count")).write.text(task["output"])


def pi(spark: SparkSession, task: dict[str, Any]) -> dict[str, Any]:
    """Points of the Halton sequence, counted in vectors."""
    points, parts = task["records"], task["parts"]
    bounds = [points * part // parts for part in range(parts + 1)]
    ranges = list(pairwise(bounds))
    counted = spark.sparkContext.parallelize(ranges, parts).map(
        lambda each: points_inside(each[1] - each[0], each[0])
    )
    return {"inside": counted.sum()}


PROGRAMS = {
    "sort": sort,
    "wordcount": wordcount,
    "pi": pi,
}
