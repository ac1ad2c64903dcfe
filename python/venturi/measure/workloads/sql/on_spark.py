"""SQL workloads as text: see `workloads/sql.py`; tables are Parquet folders in the input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

SCAN = "SELECT * FROM {visits}"

AGGREGATION = """
SELECT source_ip, sum(ad_revenue_cents) AS total_revenue_cents
FROM {visits}
GROUP BY source_ip
"""

JOIN = """
SELECT source_ip, avg(page_rank) AS average_page_rank,
       sum(ad_revenue_cents) AS total_revenue_cents
FROM {pages} JOIN {visits} ON page_url = dest_url
WHERE visit_date BETWEEN DATE'1999-01-01' AND DATE'2000-01-01'
GROUP BY source_ip
ORDER BY total_revenue_cents DESC, source_ip
"""

ANALYSIS = """
SELECT 'market' AS part, region AS first, device AS second, count(*) AS visits,
       count(DISTINCT source_ip) AS sources, sum(ad_revenue_cents) AS revenue_cents
FROM {visits} AS v
     LEFT OUTER JOIN {countries} AS c ON v.country_code = c.country_code
     LEFT OUTER JOIN {agents} AS a ON v.user_agent = a.user_agent
GROUP BY region, device
UNION ALL
SELECT 'interest', category, CAST(year(visit_date) AS STRING), count(*),
       count(DISTINCT source_ip), sum(ad_revenue_cents)
FROM {visits} AS v
     LEFT OUTER JOIN {words} AS w ON v.search_word = w.search_word
GROUP BY category, year(visit_date)
UNION ALL
SELECT 'page', CAST(page_rank AS STRING), region, count(*),
       count(DISTINCT source_ip), sum(ad_revenue_cents)
FROM {visits} AS v
     LEFT OUTER JOIN {pages} AS p ON v.dest_url = p.page_url
     LEFT OUTER JOIN {countries} AS c ON v.country_code = c.country_code
GROUP BY page_rank, region
"""


def _program(query: str, *tables: str) -> Callable[[SparkSession, dict[str, Any]], None]:
    def run(spark: SparkSession, task: dict[str, Any]) -> None:
        frames: dict[str, Any] = {
            name: spark.read.parquet(f"{task['input']}/{name}") for name in tables
        }
        spark.sql(query, **frames).write.parquet(task["output"])

    return run


PROGRAMS = {
    "sql-scan": _program(SCAN, "visits"),
    "sql-aggregation": _program(AGGREGATION, "visits"),
    "sql-join": _program(JOIN, "visits", "pages"),
    "sql-analysis": _program(ANALYSIS, "visits", "pages", "agents", "countries", "words"),
}
