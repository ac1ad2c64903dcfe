"""The table: every figure Venturi holds itself to, with its bar. Explicit, in one place.

Bars are in the row's unit. Sizes are those of scale 1.
"""

from __future__ import annotations

from benchmarks.figures import Bar, FigureRow

TWO_PASS_FLOOR = FigureRow(
    "sort.two_pass.over_floor", "two-pass sort, 4 GiB in 1 GiB: time / floor", "x", Bar(high=1.15)
)
TWO_PASS_RSS = FigureRow(
    "sort.two_pass.rss", "two-pass sort: peak RSS over the budget", "MiB", Bar(high=64)
)
IN_MEMORY_FLOOR = FigureRow(
    "sort.in_memory.over_new_file_floor",
    "in-memory sort, 4 GiB in 10 GiB: time / (D/B_read + D/B_write)",
    "x",
    Bar(high=1.15),
)
CLI_OVERHEAD = FigureRow("sort.cli", "`venturi sort` / the agent alone, time", "x")
TWO_PASS_CPU = FigureRow(
    "cpu.two_pass", "two-pass sort: CPU, user+sys, per record", "core-ns", Bar(high=80)
)
PEER_CASES = ("2 GB in 1 GB", "4 GiB in 1 GiB")
PEER_TIME = {
    case: FigureRow(
        f"peers.{case}.time", f"sort {case}: fastest peer / ours, time", "x", Bar(low=3)
    )
    for case in PEER_CASES
}
PEER_CPU = {
    case: FigureRow(
        f"peers.{case}.cpu", f"sort {case}: fastest peer / ours, CPU per record", "x", Bar(low=10)
    )
    for case in PEER_CASES
}
GEN = FigureRow("gen.gen", "gen to /dev/null, per core", "GB/s", Bar(low=2))
VALIDATE = FigureRow("gen.validate", "validate from memory, per core", "GB/s", Bar(low=3))
_NEAR = Bar(low=0.95, high=1.05)
DISK = {
    key: FigureRow(f"disk.{key}", f"DiskBench / fio, {title}", "x", _NEAR)
    for key, title in {
        "read": "read, 4 MiB, depth 4",
        "write": "write + fsync, 4 MiB, depth 4",
        "mixed_read": "read and write concurrently, 4 MiB, depth 4: read",
        "mixed_write": "read and write concurrently, 4 MiB, depth 4: write",
        "mixed": "read and write concurrently, 4 MiB, depth 4: sum",
        "random_1": "random read, 4 KiB, depth 1",
        "random_32": "random read, 4 KiB, depth 32",
    }.items()
}
NET = {
    sockets: FigureRow(
        f"net.{sockets}",
        f"NetBench pair / iperf3 on loopback, {sockets} socket{'s' if sockets > 1 else ''}",
        "x",
        Bar(low=0.95),
    )
    for sockets in (1, 2)
}
SAMPLER = FigureRow("sampler.cpu", "sampler at 1 Hz: CPU, of one core", "%", Bar(high=0.5))
STARTUP = FigureRow("startup.help", "`venturi --help`", "s", Bar(high=0.3))
PREDICT = {
    regime: FigureRow(
        f"predict.{regime}",
        f"predicted / measured, {regime}, 1 2 4 8 GiB: median error",
        "%",
        Bar(high=8),
    )
    for regime in ("two-pass", "hybrid", "in-memory")
}
PREDICT_ALL = FigureRow(
    "predict.all", "predicted / measured, all three budgets: median error", "%", Bar(high=8)
)
ENGINES_TIME = FigureRow(
    "engines.work",
    "TeraSort 320 MB: faster of Spark local and MapReduce local / ours, without start-up",
    "x",
    Bar(low=8),
)
ENGINES_WHOLE = FigureRow(
    "engines.whole", "the same from the submission on, start-up of the engine included", "x"
)
ENGINES_WORK_S = {
    name: FigureRow(f"engines.{name}", f"TeraSort 320 MB on {name}, without start-up", "s")
    for name in ("native", "mapreduce", "spark")
}
CLUSTER_UP = FigureRow(
    "engines.cluster", "pseudo-cluster of Hadoop daemons, up and healthy", "s", Bar(high=60)
)
OBSERVING = FigureRow(
    "engines.observing",
    "Spark TeraSort 320 MB: event log and 1 Hz sampler on / off, time",
    "x",
    Bar(high=1.02),
)

# Rows that each suite must fill; a row that it can't fill is printed with the reason.
ROWS: dict[str, tuple[FigureRow, ...]] = {
    "startup": (STARTUP,),
    "sampler": (SAMPLER,),
    "gen": (GEN, VALIDATE),
    "disk": tuple(DISK.values()),
    "net": tuple(NET.values()),
    "sort": (TWO_PASS_FLOOR, TWO_PASS_RSS, IN_MEMORY_FLOOR, CLI_OVERHEAD),
    "cpu": (TWO_PASS_CPU,),
    "peers": tuple(row for case in PEER_CASES for row in (PEER_TIME[case], PEER_CPU[case])),
    "engines": (ENGINES_TIME, ENGINES_WHOLE, *ENGINES_WORK_S.values(), OBSERVING, CLUSTER_UP),
    "predict": (*PREDICT.values(), PREDICT_ALL),
}
