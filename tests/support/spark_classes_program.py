"""Loads what a driver, a Master, a Worker and an executor need, all in one JVM."""

import sys

from pyspark.sql import SparkSession, functions


def main(folder: str) -> None:
    """A cluster inside the driver, then tasks inside it."""
    for number, master in enumerate(("local-cluster[1,1,512]", "local[2]")):
        builder = SparkSession.builder.master(master).config("spark.executor.memory", "512m")
        spark = builder.getOrCreate()
        table, text, sums = (f"{folder}/{name}{number}" for name in ("table", "text", "sums"))
        rows = spark.range(1000).selectExpr("id % 7 AS key", "CAST(id AS string) AS value")
        rows.write.parquet(table)
        stored = spark.read.parquet(table)
        stored.select("value").write.text(text)
        spark.read.text(text).orderBy("value").count()
        grouped = stored.groupBy("key").agg(functions.count("value").alias("values"))
        grouped.orderBy("key").write.parquet(sums)
        spark.sparkContext.parallelize(range(100), 2).map(str).count()
        spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
