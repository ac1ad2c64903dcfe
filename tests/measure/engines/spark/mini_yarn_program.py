"""Counts by key on YARN, by the settings that are given as JSON; fails if a count is wrong."""

from __future__ import annotations

import json
import sys

from pyspark import SparkConf
from pyspark.sql import SparkSession

ROWS, KEYS = 400_000, 1000


def main() -> None:
    conf = SparkConf(loadDefaults=False).setAll(json.loads(sys.argv[1]).items())
    session = SparkSession.builder.config(conf=conf).getOrCreate()
    rows = session.range(ROWS, numPartitions=8).selectExpr(f"id % {KEYS} as key", "id")
    counts = rows.repartition(8, "key").groupBy("key").count().collect()
    assert [row["count"] for row in counts] == KEYS * [ROWS // KEYS]
    session.stop()


if __name__ == "__main__":
    main()
