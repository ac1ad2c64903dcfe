"""Milliseconds of the repository's queries: `python -m benchmarks.repository [--plans]`.

50,000 synthetic trials that resemble a benchmark repository's (12 configuration keys, a few of them
with many values) are stored in a new folder, on SQLite or in the empty database of
VENTURI_DATABASE_URL. Each query runs 20 times after a discarded one; the bar is 300 ms at the 95th
percentile, for the data behind any page. Then some of them run again with three exclusions in
force.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import sqlalchemy as sa

from venturi.core.settings import Settings
from venturi.record.access import exclusions
from venturi.record.query import counting, faceting, grouping, known_keys, paging
from venturi.record.query.conditions import Condition, Op
from venturi.record.query.selection import Query
from venturi.record.store.repository import TrialRepository
from venturi.record.trial import (
    Cluster,
    Engine,
    Failure,
    Host,
    Provenance,
    ProvenanceKind,
    Sample,
    Software,
    State,
    Trial,
    Workload,
)

TRIALS, REPEATS = 50_000, 20
WORKLOADS = ("terasort", "sort", "wordcount", "pagerank", "kmeans", "bayes", "dfsio_read", "dfsio")
VALUES: dict[str, tuple[str | int | float | bool, ...]] = {
    "disk": ("HDD", "HD2", "HD3", "HD4", "HD5", "SSD", "SS2", "HS5"),
    "net": ("ETH", "IB"),
    "maps": (2, 4, 6, 8, 10, 12, 16, 20, 24, 32),
    "io_sort_factor": (5, 10, 20, 50, 100),
    "replication": (1, 2, 3),
    "io_file_buffer_bytes": (1024, 16384, 32768, 65536, 131072, 262144),
    "compression": ("none", "zlib", "lzo", "snappy"),
    "block_mib": (32, 64, 128, 256),
    "vm_size": tuple(f"size-{number}" for number in range(20)),
    "speculative": (True, False),
    "suite": ("HiBench", "HiBench2", "HiBench3", "HiBench-1TB"),
}


def synthetic_trials(count: int = TRIALS, seed: int = 1) -> Iterator[Trial]:
    """Imported trials of random configurations, one in twenty of them failed."""
    draw = random.Random(seed)
    clusters = [
        Cluster(
            tuple(Host(f"node{node}") for node in range(2 + number % 15)),
            instance_type=f"type-{number % 12}",
            network=draw.choice(("1GbE", "IPoIB")),
        )
        for number in range(25)
    ]
    for number in range(count):
        failed = draw.random() < 0.05
        elapsed_s = draw.lognormvariate(6, 1)
        configuration = {key: draw.choice(values) for key, values in VALUES.items()}
        yield Trial(
            id=f"aloja-{draw.getrandbits(128):032x}",
            workload=Workload(draw.choice(WORKLOADS), "HiBench2", None, 10**11),
            engine=Engine("mapreduce", draw.choice(("1", "2"))),
            cluster=draw.choice(clusters),
            configuration={**configuration, "run": number},
            software=Software("unknown", None, None),
            provenance=Provenance(ProvenanceKind.IMPORTED, "aloja", "0" * 64),
            started_at=None,
            state=State.FAILED if failed else State.SUCCEEDED,
            failure=Failure("exit", "VEN-IMPORT-FAILED", "as the source says") if failed else None,
            warm_up=draw.random() < 0.1,
            elapsed_s=None if failed else elapsed_s,
            samples=(Sample("cost_usd", elapsed_s / 1000, "usd"),),
        )


def questions(repository: TrialRepository) -> dict[str, Callable[[], object]]:
    """Return the queries to time, by description."""
    two = (Condition("workload", Op.ONE_OF, ("terasort",)), Condition("disk", Op.ONE_OF, ("SSD",)))
    first = Query(two, sort="elapsed_s", descending=False)
    everything = Query()
    deep = Query(sort="elapsed_s", descending=False, limit=1_000)
    for _ in range(30):
        deep = replace(deep, cursor=paging.rows(repository, deep).next_cursor)
    deep_page = replace(deep, limit=50)
    numbers = (Condition("maps", Op.AT_LEAST, (8,)), Condition("elapsed_s", Op.BELOW, (500,)))
    eight = (
        "disk",
        "net",
        "maps",
        "io_sort_factor",
        "replication",
        "compression",
        "block_mib",
        "vm_size",
    )
    columns = (
        "workload",
        "engine",
        "state",
        "instance_type",
        "network",
        "hosts",
        "warm_up",
        "source",
    )
    three = ("disk", "maps", "replication")
    of_five = (Condition("io_sort_factor", Op.ONE_OF, (5, 10, 20, 50)),)
    return {
        "first page, no filter": lambda: paging.rows(repository, everything),
        "first page, two filters": lambda: paging.rows(repository, first),
        "page 601, no filter": lambda: paging.rows(repository, deep_page),
        "page by a configuration key": lambda: paging.rows(repository, Query(sort="maps")),
        "count, two filters": lambda: counting.count(repository, first),
        "count, two ranges": lambda: counting.count(repository, Query(numbers)),
        "facets of 8 keys": lambda: faceting.facets(repository, everything, eight),
        "facets of 8 keys, two filters": lambda: faceting.facets(repository, first, eight),
        "facets of 8 keys, two ranges": lambda: faceting.facets(repository, Query(numbers), eight),
        "facets of 8 columns, two ranges": lambda: faceting.facets(
            repository, Query(numbers), columns
        ),
        "facets of a unique key": lambda: faceting.facets(repository, everything, ["run"]),
        "240 groups by 3 keys": lambda: grouping.group_by(repository, everything, three),
        "240 groups by 3 keys, one filter": lambda: grouping.group_by(
            repository, Query(of_five), three
        ),
        "240 groups by 3 columns": lambda: grouping.group_by(
            repository, everything, ("workload", "instance_type", "network")
        ),
        "keys": lambda: known_keys.keys(repository),
    }


def measure(repository: TrialRepository) -> None:
    """Store the trials and print a line per query."""
    trials = list(synthetic_trials())
    for what in ("stored", "present already"):
        begun = time.perf_counter()
        report = repository.add_many(trials)
        print(f"{TRIALS:,} trials {what}: {time.perf_counter() - begun:.1f} s, {report}")
    begun = time.perf_counter()
    known_keys.keys(repository)
    print(f"keys, for the first time: {(time.perf_counter() - begun) * 1e3:.0f} ms")
    print(f"{'query':36} {'median ms':>10} {'p95 ms':>10}")
    _time(questions(repository))
    for texts in (("disk=HD3", "maps>=24"), ("elapsed_s>20000",), ("state=failed", "net=IB")):
        exclusions.add(repository, texts, "benchmark", "to see what it costs")
    print("with three exclusions in force")
    _time(questions(repository))


def _time(asked: dict[str, Callable[[], object]]) -> None:
    for name, ask in asked.items():
        ask()
        elapsed_ms = []
        for _ in range(REPEATS):
            begun = time.perf_counter()
            ask()
            elapsed_ms.append((time.perf_counter() - begun) * 1e3)
        elapsed_ms.sort()
        median, high = elapsed_ms[REPEATS // 2], elapsed_ms[REPEATS * 95 // 100 - 1]
        print(f"{name:36} {median:>10.1f} {high:>10.1f}")


def print_plans(repository: TrialRepository) -> None:
    """Print how the database answers each query."""

    def explain(
        connection: sa.Connection, cursor: object, statement: str, values: object, *_: object
    ) -> None:
        if statement.startswith(("SELECT", "WITH")):
            lite = connection.dialect.name == "sqlite"
            prefix = "EXPLAIN QUERY PLAN" if lite else "EXPLAIN ANALYZE"
            plan = connection.connection.cursor()
            plan.execute(f"{prefix} {statement}", values)  # type: ignore[arg-type]
            print(f"\n{statement}", *(f"    {row[-1]}" for row in plan.fetchall()), sep="\n")

    repository.add_many(synthetic_trials())
    asked = questions(repository)
    sa.event.listen(sa.Engine, "before_cursor_execute", explain)
    for name, ask in asked.items():
        print(f"\n=== {name}")
        ask()


def main() -> None:
    """Measures, or with --plans explains."""
    with tempfile.TemporaryDirectory() as home:
        url = os.environ.get("VENTURI_DATABASE_URL")
        settings = Settings(Path(home), url, None, allow_debug=False)
        with TrialRepository.open(settings) as repository:
            (print_plans if "--plans" in sys.argv else measure)(repository)


if __name__ == "__main__":
    main()
